"""Which branch or checkout of a repository is meant, and an index as it looks from there.

Trees are never mixed: of each repository one counts, the one that is asked for, the one that one stands in, or its own
checkout. What belongs to no repository that is kept this way is always there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from outcrop.contracts import Store
from outcrop.errors import NotFound
from outcrop.records import DocumentInfo, FileState, Filter, Hit, Manifest, StoredChunk
from outcrop.system.arrays import NDArray

NONE: Final = -1
"""The number of no manifest."""
_NAMED: Final = 8


def choose_manifests(
    known: Sequence[Manifest], where: Filter, here: Sequence[str] = ()
) -> tuple[Manifest, ...]:
    """The trees that a filter means, at most one of each repository and collection; `here` are the folders one stands
    in, the first counts most. NotFound, with what there is, where none is called that."""
    if where.ref is not None and where.worktree is not None:
        raise NotFound("a ref and a worktree cannot both be meant; give one of them")
    if where.collections:
        known = [each for each in known if each.collection in where.collections]
    if where.ref is not None:
        return _by_ref(known, where.ref)
    if where.worktree is not None:
        place = os.path.realpath(Path(where.worktree).expanduser())
        found = _holding(known, place)
        if not found:
            folders = [each.folder for each in known if each.folder]
            raise NotFound(
                f"no checkout in the index holds {where.worktree}; {_list(folders)} `outcrop add` adds one"
            )
        return found
    return _by_default(known, here)


def _by_ref(known: Sequence[Manifest], ref: str) -> tuple[Manifest, ...]:
    """A ref by its full or short name, else a checkout that had it when it was read."""
    for test in (_is_named, _is_checked_out):
        found = [each for each in known if test(each, ref)]
        if found:
            return tuple({(each.repository, each.collection): each for each in reversed(found)}.values())
    names = [_short(each) for each in known if each.folder is None]
    raise NotFound(
        f"there is no ref {ref!r} in the index; {_list(names)} `outcrop add REPOSITORY --branches {ref}` adds it"
    )


def _is_named(manifest: Manifest, ref: str) -> bool:
    return manifest.folder is None and ref in (
        manifest.name,
        manifest.name.removeprefix("refs/"),
        _short(manifest),
    )


def _is_checked_out(manifest: Manifest, ref: str) -> bool:
    return manifest.folder is not None and manifest.branch == ref.removeprefix("refs/heads/")


def _short(manifest: Manifest) -> str:
    return manifest.name.split("/", 2)[-1]


def _list(names: Iterable[str]) -> str:
    listed = list(dict.fromkeys(names))
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"there are: {', '.join(listed[:_NAMED])}{more};" if listed else "there are none yet;"


def _holding(known: Sequence[Manifest], place: str) -> tuple[Manifest, ...]:
    """The checkouts that a folder is in, the innermost."""
    found = [each for each in known if each.folder and f"{place}/".startswith(f"{each.folder.rstrip('/')}/")]
    longest = max((len(each.name) for each in found), default=0)
    return tuple(each for each in found if len(each.name) == longest)


def _by_default(known: Sequence[Manifest], here: Sequence[str]) -> tuple[Manifest, ...]:
    """The tree one stands in; of other repositories their own checkout, else the oldest one, else the first ref."""
    chosen: dict[tuple[str, str], Manifest] = {}
    for each in (holding for folder in here for holding in _holding(known, folder)):
        if (each.repository, each.collection) not in chosen:
            chosen[each.repository, each.collection] = _follow_switch(each, known)
    for each in sorted(
        known, key=lambda one: (one.folder is None, f"{one.folder}/.git" != one.repository, one.id)
    ):
        chosen.setdefault((each.repository, each.collection), each)
    return tuple(chosen.values())


def _key(manifest: Manifest) -> tuple[str, str]:
    return manifest.repository, manifest.collection


def _follow_switch(manifest: Manifest, known: Sequence[Manifest]) -> Manifest:
    """A checkout that was switched to another branch since it was read: that branch, if it is known as it is now."""
    from outcrop.sources.checkout import repository_at  # only for who stands in a checkout

    repository = repository_at(Path(manifest.name))
    revision = None if repository is None else repository.revision
    if revision is None or revision == manifest.revision:
        return manifest
    same = (each for each in known if _key(each) == _key(manifest))
    return next((each for each in same if each.folder is None and each.revision == revision), manifest)


def place_switched(
    chosen: Sequence[Manifest], known: Sequence[Manifest], here: Sequence[str]
) -> tuple[Manifest, ...]:
    """The same trees; a branch that the checkout one stands in was switched to is one of files there."""
    refs = [each for each in chosen if each.folder is None]
    placed: dict[int, Manifest] = {}
    for held in (each for folder in here for each in _holding(known, folder)) if refs else ():
        followed = _follow_switch(held, known)
        if followed in refs:
            placed.setdefault(followed.id, replace(followed, name=held.name))
    return tuple(placed.get(each.id, each) for each in chosen)


def narrow(where: Filter, chosen: Sequence[Manifest]) -> Filter:
    """A filter that lets only documents of these trees through, beside those of none. One that names a ref or a
    worktree looks in its collections alone."""
    named = where.ref is not None or where.worktree is not None
    collections = tuple(dict.fromkeys(each.collection for each in chosen)) if named else where.collections
    ids = tuple(sorted(each.id for each in chosen)) or (NONE,)
    return replace(where, ref=None, worktree=None, collections=collections, manifests=ids)


class TreeView:
    """A store as it looks from some trees: documents of others are not there, those of checkouts are files. Whatever
    is not about documents is the store's own."""

    def __init__(self, store: Store, chosen: Sequence[Manifest]) -> None:
        self._store = store
        self._chosen = tuple(chosen)
        self._scope = narrow(Filter(), chosen)
        self._held: dict[int, frozenset[int]] = {}
        self._listed: dict[tuple[str, str], DocumentInfo] = {}
        """Files of checkouts that `states` listed, for who then asks for one after the other."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def place(self, document: DocumentInfo) -> DocumentInfo:
        """A document of a checkout as the file it is there; any other as it is."""
        manifest = self._manifest_of(document)
        if manifest is None or manifest.folder is None:
            return document
        uri = f"{manifest.folder.rstrip('/')}/{document.path}"
        return replace(document, uri=uri, origin="file", root=manifest.folder)

    def dated(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Hits with the commit of their tree, and whether their files have changed since."""
        from outcrop.sources.revisions import looks_stale

        found = []
        for hit in hits:
            manifest = self._manifest_of(hit.document)
            if manifest is None:
                found.append(hit)
                continue
            document = self.place(hit.document)
            stale = looks_stale(document)
            found.append(replace(hit, document=document, stale=stale, revision=manifest.revision or None))
        return tuple(found)

    def _manifest_of(self, document: DocumentInfo) -> Manifest | None:
        """The chosen tree that holds a document of a tree."""
        if document.origin != "tree":
            return None
        mine = [each for each in self._chosen if each.collection == document.collection]
        return (
            mine[0] if len(mine) == 1 else next((e for e in mine if document.id in self._documents_of(e)), None)
        )

    def _documents_of(self, manifest: Manifest) -> frozenset[int]:
        if manifest.id not in self._held:
            where = Filter(collections=(manifest.collection,), manifests=(manifest.id,))
            self._held[manifest.id] = frozenset(self._store.select(where).tolist())
        return self._held[manifest.id]

    def _passes(self, document: DocumentInfo) -> bool:
        return document.origin != "tree" or any(
            document.id in self._documents_of(each)
            for each in self._chosen
            if each.collection == document.collection
        )

    # ------------------------------------------------------------------ what differs from the store

    def documents(self, where: Filter, limit: int | None = None, offset: int = 0) -> list[DocumentInfo]:
        """As the store's, of these trees."""
        found = self._store.documents(replace(where, manifests=self._scope.manifests), limit, offset)
        return [self.place(info) for info in found]

    def select(self, where: Filter) -> NDArray[np.int64]:
        """As the store's, of these trees."""
        return self._store.select(replace(where, manifests=self._scope.manifests))

    def document(self, document_id: int) -> DocumentInfo | None:
        """As the store's: a number names a document of whatever tree."""
        found = self._store.document(document_id)
        return None if found is None else self.place(found)

    def find(self, collection: str, uri: str) -> DocumentInfo | None:
        """As the store's; also the file of a checkout."""
        if (collection, uri) in self._listed:
            return self._listed[collection, uri]
        found = self._store.find(collection, uri)
        for each in () if found else self._chosen:
            folder = f"{(each.folder or '').rstrip('/')}/"
            if each.folder and each.collection == collection and uri.startswith(folder):
                from outcrop.read.lookup import glob_of

                path = uri.removeprefix(folder)
                where = Filter(collections=(collection,), paths=(f"/{glob_of(path)}",), manifests=(each.id,))
                found = next((info for info in self._store.documents(where) if info.path == path), None)
        return None if found is None else self.place(found)

    def states(self, collection: str, root: str | None = None) -> dict[str, FileState]:
        """As the store's, without documents of trees; with the files of checkouts, which are looked at anew (0)."""
        stored = self._store.states(collection, root)
        found = {uri: state for uri, state in stored.items() if not uri.startswith("blob:")}
        for each in self._chosen:
            if each.folder is None or each.collection != collection:
                continue
            folder = each.folder.rstrip("/")
            for info in self._store.documents(Filter(collections=(collection,), manifests=(each.id,))):
                uri = f"{folder}/{info.path}"
                if info.origin == "tree" and (root is None or f"{uri}/".startswith(f"{root.rstrip('/')}/")):
                    found[uri] = FileState(info.id, 0, info.size, info.sha256)
                    self._listed[collection, uri] = replace(info, uri=uri, origin="file", root=each.folder)
        return found

    def files(self, collection: str, root: str | None = None) -> dict[str, int]:
        """As the store's, without documents of trees; with the files of checkouts."""
        if any(each.folder is not None and each.collection == collection for each in self._chosen):
            found = self.states(collection, root).items()
            return {uri: state.document_id for uri, state in found if state.mtime_ns is not None}
        stored = self._store.files(collection, root)
        return {uri: id_ for uri, id_ in stored.items() if not uri.startswith("blob:")}

    def chunks(self, chunk_ids: Sequence[int]) -> list[StoredChunk]:
        """As the store's, of these trees."""
        return self._placed(self._store.chunks(chunk_ids))

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """As the store's: a number names a document of whatever tree."""
        found = self._store.chunks_of(document_id)
        return [replace(chunk, document=self.place(chunk.document)) for chunk in found]

    def _placed(self, chunks: Collection[StoredChunk]) -> list[StoredChunk]:
        return [
            replace(chunk, document=self.place(chunk.document))
            for chunk in chunks
            if self._passes(chunk.document)
        ]


def view_store(store: Store, chosen: Sequence[Manifest]) -> Store:
    """A store as it looks from some trees."""
    return cast("Store", TreeView(store, chosen))
