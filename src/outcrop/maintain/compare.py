"""Do two indexes hold the same? Counts and digests of everything, and which documents differ.

Both are read once, batch by batch. The name and a digest of each document are kept, so that one that differs can be
named.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from outcrop.contracts import Store
from outcrop.records import DocumentWrite, Holdings, Model, MovedCollection, Vector
from outcrop.store.quantized import pack_vectors
from outcrop.store.shaping import keys_of

READ_AT_ONCE: Final = 256
"""Documents read at a time; a store makes it fewer where they are large."""
NAMED: Final = 10
"""How many of the documents that differ are named; the rest are counted."""

OnChecked = Callable[[int, int, str], None]
"""Told (documents read, documents in all, path)."""


def compare_stores(
    source: Store, target: Store, tell: OnChecked | None = None
) -> tuple[tuple[MovedCollection, ...], list[str]]:
    """What both hold, collection by collection, and a sentence for each difference.

    Ids do not count, nor the order in which documents were written. Vectors are those of the source's active model.
    """
    model = source.active_model()
    with source.snapshot(), target.snapshot():
        total = sum(info.documents for store in (source, target) for info in store.collections())
        read = 0

        def tell_read(path: str) -> None:
            nonlocal read
            read += 1
            if tell is not None:
                tell(read, total, path)

        here = _Side(source, model, tell_read)
        known = dict(here.survey())
        there = _Side(target, model, tell_read)
        changed, extra = [], []
        for name, digest in there.survey():
            wanted = known.pop(name, None)
            if wanted is None:
                extra.append(name)
            elif wanted != digest:
                changed.append(name)
    problems = [
        *_named(changed, "is not the same in the copy", "are not the same in the copy"),
        *_named(list(known), "is missing in the copy", "are missing in the copy"),
        *_named(extra, "is in the copy alone", "are in the copy alone"),
    ]
    if model != target.active_model():
        problems.append(f"the copy is searched with {target.active_model()}, the source with {model}")
    names = sorted({*here.sums, *there.sums})
    return tuple(
        MovedCollection(name, here.sums[name].holdings(), there.sums[name].holdings()) for name in names
    ), problems


def compare_settings(wanted: Mapping[str, str], target: Store) -> list[str]:
    """A sentence for each setting that is not the same in the target."""
    there = target.settings()
    return [
        f"the setting {name!r} is not the same in the copy"
        for name, value in wanted.items()
        if there.get(name) != value
    ]


def compare_folders(source: Store, target: Store) -> list[str]:
    """A sentence for each folder of which the target does not remember the same."""
    known = set(target.folders())
    return [
        f"what is remembered of {folder.root} (in {folder.collection}) is not the same in the copy"
        for folder in source.folders()
        if folder not in known
    ]


Name = tuple[str, str]
"""The collection and the uri of a document."""


@dataclass(slots=True)
class _Sum:
    """What was read of a collection so far. Digests of documents are added up: their order does not matter."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    digest: int = 0

    def holdings(self) -> Holdings:
        digest = (self.digest % 2**128).to_bytes(16).hex() if self.documents else ""
        return Holdings(self.documents, self.chunks, self.vectors, digest)


class _Side:
    """One of the two stores, and what it holds."""

    def __init__(self, store: Store, model: Model | None, tell: Callable[[str], None]) -> None:
        self._store = store
        self._model = model
        self._tell = tell
        self.sums: dict[str, _Sum] = defaultdict(_Sum)

    def survey(self) -> Iterator[tuple[Name, bytes]]:
        """The name and the digest of every document."""
        store, model = self._store, self._model
        pending = set(store.pending())
        after = 0
        while batch := store.export(after, READ_AT_ONCE):
            keys = {key for _, write in batch for key in keys_of(write)}
            vectors = store.kept_vectors(model, keys) if model is not None else {}
            for after, write in batch:
                digest, places = _digest(write, vectors, after in pending)
                sums = self.sums[write.collection]
                sums.documents += 1
                sums.chunks += len(write.chunks)
                sums.vectors += places
                sums.digest += int.from_bytes(digest)
                self._tell(write.file.path)
                yield (write.collection, write.file.uri), digest


def _digest(write: DocumentWrite, vectors: Mapping[bytes, Vector], is_pending: bool) -> tuple[bytes, int]:
    """A digest of everything stored of a document, and how many of its keys have a vector."""
    file, document = write.file, write.document
    told = (
        *(write.collection, file.uri, file.path, file.origin, file.root, file.mtime_ns, file.size),
        *(document.kind, document.title, sorted(document.meta.items()), document.role, sorted(write.tags)),
        *(document.outline.language if document.outline else "", write.sha256),
        *(write.created_at, write.updated_at, is_pending),
        [
            (
                *(chunk.index, chunk.start, chunk.end, chunk.tokens, chunk.heading_path),
                *(chunk.line_start, chunk.line_end, chunk.page),
                code and (code.symbol, code.kind, code.signature, code.summary, code.defines, code.mentions),
            )
            for chunk in write.chunks
            for code in (chunk.code,)
        ],
    )
    digest = hashlib.sha256(json.dumps(told).encode())
    digest.update(document.text.encode())
    places = 0
    for key in (*write.text_keys, *write.summary_keys, write.path_key):
        vector = vectors.get(key)
        digest.update(key + b"/")
        if vector is not None:
            # In the coarsest form that a store keeps them in, in which whatever was moved is the same again.
            digest.update(pack_vectors(vector[None, :])[0])
            places += 1
    return digest.digest()[:16], places


def _named(names: list[Name], one: str, many: str) -> list[str]:
    said = [f"{uri} (in {collection}) {one}" for collection, uri in names[:NAMED]]
    return said + ([f"{len(names) - NAMED} more {many}"] if len(names) > NAMED else [])
