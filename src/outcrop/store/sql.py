"""What both stores answer with the same SQL: documents by name, folders, settings, collections, what is pending; and
what must hold in either."""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from outcrop.errors import Conflict
from outcrop.records import CollectionInfo, DocumentInfo, FileState, Filter, Folder, Manifest
from outcrop.system.arrays import NDArray

_EVERYTHING: Final = Filter()
_NO_LIMIT: Final = 2**62

T = TypeVar("T")
Ask = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs one statement with its values; its rows, where it has any."""
Remove = Callable[[Collection[int]], int]
"""Removes documents with everything that belongs to them; how many there were."""


class SqlStore(ABC):
    """The part of the `Store` contract whose statements are the same in both dialects. Placeholders are `%s`."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything this thread reads inside comes from one snapshot; may be nested."""

    @abstractmethod
    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query."""

    @abstractmethod
    def _change(self, statement: str, values: Sequence[Any]) -> None:
        """One statement, as a write of its own."""

    @abstractmethod
    def _transact(self, work: Callable[[Ask, Remove], T]) -> T:
        """Several statements, as one write."""

    _EACH: ClassVar[str]
    """Selects the numbers of a JSON list that is bound."""

    @abstractmethod
    def _filter(self, where: Filter) -> tuple[str, Sequence[Any]]:
        """A condition on `documents d`, and the values to bind in it."""

    def _bound(self, *texts: str) -> Sequence[str]:
        """Texts as they are bound in a condition."""
        return texts

    @abstractmethod
    def _documents(self, condition: str, values: Sequence[Any]) -> list[DocumentInfo]:
        """The documents `d` for which a condition holds."""

    # ------------------------------------------------------------------ documents

    def find(self, collection: str, uri: str) -> DocumentInfo | None:
        found = self._documents("d.collection = %s AND d.uri = %s", self._bound(collection, uri))
        return found[0] if found else None

    def document(self, document_id: int) -> DocumentInfo | None:
        found = self._documents("d.id = %s", (int(document_id),))
        return found[0] if found else None

    def documents(
        self, where: Filter = _EVERYTHING, limit: int | None = None, offset: int = 0
    ) -> list[DocumentInfo]:
        condition, values = self._filter(where)
        return self._documents(
            f"{condition} ORDER BY d.collection, d.path, d.id LIMIT %s OFFSET %s",
            (*values, _NO_LIMIT if limit is None else limit, offset),
        )

    def with_entries(self, collection: str, names: Collection[str]) -> list[DocumentInfo]:
        wanted = " OR ".join(["d.meta LIKE %s"] * len(names))
        found = self._documents(
            f"d.collection = %s AND d.kind = 'markdown' AND d.origin != 'tree' AND ({wanted or 'false'}) ORDER BY d.id",
            self._bound(collection, *(f'%"{name}"%' for name in names)),
        )
        return [info for info in found if not info.meta.keys().isdisjoint(names)]

    def states(self, collection: str, root: str | None = None) -> dict[str, FileState]:
        condition, values = self._below(collection, root)
        rows = self._ask(f"SELECT uri, id, mtime_ns, size, sha256 FROM documents WHERE {condition}", values)
        return {uri: FileState(*state) for uri, *state in rows}

    def files(self, collection: str, root: str | None = None) -> dict[str, int]:
        condition, values = self._below(collection, root)
        return dict(
            self._ask(f"SELECT uri, id FROM documents WHERE {condition} AND mtime_ns IS NOT NULL", values)
        )

    def _below(self, collection: str, root: str | None) -> tuple[str, list[str]]:
        if root is None:
            return "collection = %s", [collection]
        below = root.rstrip(os.sep)
        return (
            "collection = %s AND (root = %s OR (origin IN ('file', 'part') AND uri > %s AND uri < %s))",
            [collection, root, below + os.sep, below + chr(ord(os.sep) + 1)],
        )

    def collections(self) -> list[CollectionInfo]:
        rows = self._ask(
            "SELECT collection, count(*), sum(chunk_count), max(updated_at) FROM documents"
            " GROUP BY collection ORDER BY collection"
        )
        return [CollectionInfo(*row) for row in rows]

    # ------------------------------------------------------------------ folders and settings

    def roots(self) -> list[tuple[str, str]]:
        rows = self._ask(
            "SELECT DISTINCT collection, root FROM documents WHERE root IS NOT NULL ORDER BY collection, root"
        )
        return [(collection, root) for collection, root in rows]

    def folder(self, collection: str, root: str) -> Folder:
        found = self._ask(f"{_FOLDERS} WHERE collection = %s AND root = %s", (collection, root))
        return _folder(found[0]) if found else Folder(collection, root)

    def folders(self) -> list[Folder]:
        return [_folder(row) for row in self._ask(f"{_FOLDERS} ORDER BY collection, root")]

    def put_folder(
        self, collection: str, root: str, *, tags: Sequence[str] | None = None, survey: str | None = None
    ) -> None:
        listed = None if tags is None else json.dumps(list(tags))
        self._change(
            "INSERT INTO folders (collection, root, tags, survey) VALUES (%s, %s, coalesce(%s, '[]'), coalesce(%s, ''))"
            " ON CONFLICT (collection, root) DO UPDATE"
            " SET tags = coalesce(%s, folders.tags), survey = coalesce(%s, folders.survey)",
            (collection, root, listed, survey, listed, survey),
        )

    # ------------------------------------------------------------------ branches and checkouts

    def manifests(self) -> list[Manifest]:
        rows = self._ask("SELECT id, collection, name, repository, branch, revision FROM manifests ORDER BY id")
        return [Manifest(*row) for row in rows]

    def put_manifest(
        self,
        collection: str,
        name: str,
        documents: Collection[int],
        *,
        repository: str,
        branch: str = "",
        revision: str = "",
    ) -> int:
        wanted = json.dumps(sorted({int(id_) for id_ in documents}))

        def work(ask: Ask, remove: Remove) -> int:
            ((there,),) = ask(f"SELECT count(*) FROM documents WHERE id IN ({self._EACH})", (wanted,))
            if there != len(json.loads(wanted)):
                raise Conflict("documents of a tree were removed while it was read: read it again")
            ((id_,),) = ask(
                "INSERT INTO manifests (collection, name, repository, branch, revision) VALUES (%s, %s, %s, %s, %s)"
                " ON CONFLICT (collection, name) DO UPDATE SET repository = excluded.repository,"
                " branch = excluded.branch, revision = excluded.revision RETURNING id",
                (collection, name, repository, branch, revision),
            )
            left = ask(
                f"DELETE FROM manifest_documents WHERE manifest_id = %s AND document_id NOT IN ({self._EACH})"
                " RETURNING document_id",
                (id_, wanted),
            )
            ask(
                f"INSERT INTO manifest_documents (manifest_id, document_id) SELECT %s, id FROM documents"
                f" WHERE id IN ({self._EACH}) ON CONFLICT DO NOTHING",
                (id_, wanted),
            )
            return self._remove_unheld(ask, remove, left)

        return self._transact(work)

    def drop_manifest(self, manifest_id: int) -> int:
        def work(ask: Ask, remove: Remove) -> int:
            left = ask(
                "DELETE FROM manifest_documents WHERE manifest_id = %s RETURNING document_id",
                (int(manifest_id),),
            )
            ask("DELETE FROM manifests WHERE id = %s", (int(manifest_id),))
            return self._remove_unheld(ask, remove, left)

        return self._transact(work)

    def drop_unlisted(self, older_than_s: float) -> int:
        before = time.time() - older_than_s
        old = f"origin = 'tree' AND updated_at < %s AND {_UNHELD}"
        if not self._ask(f"SELECT 1 FROM documents WHERE {old} LIMIT 1", (before,)):
            return 0
        return self._transact(
            lambda ask, remove: remove(
                [id_ for (id_,) in ask(f"SELECT id FROM documents WHERE {old}", (before,))]
            )
        )

    def _remove_unheld(self, ask: Ask, remove: Remove, left: Sequence[tuple[Any, ...]]) -> int:
        ids = json.dumps([id_ for (id_,) in left])
        gone = ask(f"SELECT id FROM documents WHERE id IN ({self._EACH}) AND {_UNHELD}", (ids,)) if left else []
        return remove([id_ for (id_,) in gone]) if gone else 0

    # ------------------------------------------------------------------ settings

    def setting(self, name: str) -> str | None:
        rows = self._ask("SELECT value FROM settings WHERE name = %s", (name,))
        return str(rows[0][0]) if rows else None

    def settings(self) -> dict[str, str]:
        return dict(self._ask("SELECT name, value FROM settings ORDER BY name"))

    def put_setting(self, name: str, value: str) -> None:
        self._change(
            "INSERT INTO settings (name, value) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    # ------------------------------------------------------------------ what is missing, and what is gone

    def pending(self, limit: int | None = None) -> list[int]:
        most = _NO_LIMIT if limit is None else limit
        rows = self._ask("SELECT document_id FROM pending ORDER BY document_id LIMIT %s", (most,))
        return [id_ for (id_,) in rows]

    def removals(self, after: int) -> tuple[NDArray[np.int64], int]:
        with self.snapshot():
            rows = self._ask("SELECT chunk_id FROM removals WHERE seq > %s ORDER BY seq", (after,))
            now = self._ask("SELECT coalesce(max(seq), 0) FROM removals")
        return np.array([id_ for (id_,) in rows], dtype=np.int64), int(now[0][0])


_UNHELD: Final = "id NOT IN (SELECT document_id FROM manifest_documents)"
_FOLDERS: Final = "SELECT collection, root, tags, survey FROM folders"


def _folder(row: tuple[Any, ...]) -> Folder:
    collection, root, tags, survey = row
    return Folder(collection, root, tuple(json.loads(tags)), survey)


Count = Callable[[str], int]
"""Runs a query for one number."""
Rule = tuple[str, str]
"""A query that counts rows that should not exist, and the sentence that says how many there are."""

RULES: Final[tuple[Rule, ...]] = (
    (
        "SELECT count(*) FROM pending WHERE document_id NOT IN (SELECT id FROM documents)",
        "documents that wait for vectors are not there: {}",
    ),
    (
        "SELECT count(*) FROM tags t WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = t.document_id)",
        "tags belong to no document: {}",
    ),
    (
        "SELECT count(*) FROM meta_values m WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = m.document_id)",
        "metadata belongs to no document: {}",
    ),
    (
        "SELECT count(*) FROM manifest_documents h WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = h.document_id)"
        " OR NOT EXISTS (SELECT 1 FROM manifests WHERE id = h.manifest_id)",
        "branches or checkouts hold documents that are not there: {}",
    ),
    (
        "SELECT count(*) FROM documents d LEFT JOIN (SELECT document_id, count(*) AS many FROM chunks"
        " GROUP BY document_id) c ON c.document_id = d.id WHERE d.chunk_count != coalesce(many, 0)",
        "documents do not have as many chunks as they should: {}",
    ),
    (
        "SELECT count(*) FROM (SELECT start_offset, end_offset, lag(start_offset) OVER"
        " (PARTITION BY document_id ORDER BY position) AS before FROM chunks) placed"
        " WHERE end_offset < start_offset OR start_offset < before",
        "chunks are out of order in their document: {}",
    ),
    (
        "SELECT count(*) FROM removals r WHERE EXISTS (SELECT 1 FROM chunks WHERE id = r.chunk_id)",
        "chunks are listed as removed but are there: {}",
    ),
)


def broken_rules(count: Count, rules: Iterable[Rule]) -> list[str]:
    """One sentence for each rule that is broken."""
    counted = ((count(query), sentence) for query, sentence in rules)
    return [sentence.format(found) for found, sentence in counted if found]
