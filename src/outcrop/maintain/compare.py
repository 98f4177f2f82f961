"""Do two indexes hold the same, and answer alike? Counts and digests of everything, and queries drawn from their text.

Both are read once, batch by batch. The name and a digest of each document are kept, so that one that differs can be
named.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from outcrop.contracts import Store
from outcrop.records import (
    DocumentWrite,
    FeedRow,
    Filter,
    Hit,
    Holdings,
    Manifest,
    Model,
    MovedCollection,
    RankingParity,
    Vector,
)
from outcrop.records.meta import dump_meta
from outcrop.store.quantized import pack_vectors
from outcrop.store.rows import keys_of
from outcrop.system.dataclass import dataclass

READ_AT_ONCE: Final = 256
"""Documents read at a time; a store makes it fewer where they are large."""
NAMED: Final = 10
"""How many of the documents that differ are named; the rest are counted."""

OnChecked = Callable[[int, int, str], None]
"""Told (documents read, documents in all, path)."""


def compare_stores(
    source: Store, target: Store, tell: OnChecked | None = None
) -> tuple[tuple[MovedCollection, ...], list[str]]:
    """What both hold, collection by collection, and a sentence for each difference. Ids do not count, nor the order in
    which documents were written. Vectors are those of the source's active model."""
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


def listed_uris(store: Store, manifest: Manifest) -> list[str]:
    """The names of the documents that a manifest holds."""
    where = Filter(collections=(manifest.collection,), manifests=(manifest.id,))
    return sorted(info.uri for info in store.documents(where) if info.origin == "tree")


def compare_manifests(source: Store, target: Store) -> list[str]:
    """A line for each branch or checkout that differs."""
    there = {(each.collection, each.name): each for each in target.manifests()}
    problems = []
    for each in source.manifests():
        other = there.get((each.collection, each.name))
        same = other is not None and (other.repository, other.branch, other.revision) == (
            each.repository,
            each.branch,
            each.revision,
        )
        if other is None or not same or listed_uris(source, each) != listed_uris(target, other):
            problems.append(f"the copy has other documents of {each.name}")
    return problems


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
        *(document.kind, document.title, dump_meta(dict(sorted(document.meta.items())))),
        *(document.role, sorted(write.tags)),
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


# ------------------------------------------------------------------ rankings

QUERIES: Final = 48
"""Questions asked; each costs two searches. Of ten hits each, one odd hit moves the mean by .0002 (not measured)."""
TRIES: Final = 4
"""Chunks looked at for each question: some have no words, in a small index some come twice."""
TOP: Final = 10
SEED: Final = 20_260_101
MIN_WORDS: Final = 3
MAX_WORDS: Final = 12
MAX_CHARACTERS: Final = 120
"""A question is a few words; of scripts without spaces, some dozens of characters."""

_SENTENCES: Final = re.compile(r"[.!?。！？\n]+")
_WORDS: Final = re.compile(r"\w[\w'.-]*\w|\w")


def draw_queries(store: Store, count: int = QUERIES, seed: int = SEED) -> list[str]:
    """Questions that this index can answer: sentences, headings and names of declarations. Always the same ones."""
    with store.snapshot():
        last = _last_chunk(store)
        return _draw(store, last, count, seed) if last else []


def _draw(store: Store, last: int, count: int, seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311 - the same ones every time is what is wanted
    found: dict[str, None] = {}
    for _ in range(TRIES * count):
        query = _query_of(store.feed(draw.randrange(last), 1)[0], draw)
        if query:
            found[query] = None
        if len(found) == count:
            break
    return list(found)


def compare_rankings(
    queries: Sequence[str],
    source: Callable[[str, int], Sequence[Hit]],
    target: Callable[[str, int], Sequence[Hit]],
) -> RankingParity:
    """Ask both each query, and compare which passages are among the best hits."""
    overlaps: list[float] = []
    different: list[tuple[str, float]] = []
    for query in queries:
        here, there = _passages(source(query, TOP)), _passages(target(query, TOP))
        most = max(len(here), len(there))
        overlap = len(here & there) / most if most else 1.0
        overlaps.append(overlap)
        if overlap < 1:
            different.append((query, overlap))
    mean = sum(overlaps) / len(overlaps) if overlaps else 1.0
    return RankingParity(len(queries), mean, tuple(different))


def _passages(hits: Sequence[Hit]) -> set[str]:
    """By their text: of several copies of a passage a search shows one, and the order of writing decides which."""
    return {" ".join(hit.text.split()) for hit in hits}


def _last_chunk(store: Store) -> int:
    """The highest id of a chunk, 0 where there is none: found by bisection, since no store says."""
    low, high = 0, 1
    while store.feed(high - 1, 1):
        low, high = high, 2 * high
    while low + 1 < high:  # there is a chunk with an id of at least low, and none of at least high
        middle = (low + high) // 2
        if store.feed(middle - 1, 1):
            low = middle
        else:
            high = middle
    return low


def _query_of(row: FeedRow, draw: random.Random) -> str:
    """A question that this chunk answers; empty where it has no words."""
    kind = draw.randrange(3)
    if kind == 0 and row.code is not None and row.code.symbol:
        return row.code.symbol[:MAX_CHARACTERS]
    if kind == 1 and row.heading_path:
        return _words(row.heading_path[-1])
    sentences = [_words(sentence) for sentence in _SENTENCES.split(row.text)]
    long = [words for words in sentences if words.count(" ") >= MIN_WORDS - 1]
    return draw.choice(long or [words for words in sentences if words] or [""])


def _words(text: str) -> str:
    """Only the words of a text: no quotes or signs that mean something in a query."""
    return " ".join(_WORDS.findall(text)[:MAX_WORDS])[:MAX_CHARACTERS]
