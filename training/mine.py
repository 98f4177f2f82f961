"""`python -m training.mine --from DIR`: for each pair of a data set, documents of its package that only look like
answers.

Writes DIR/neg.npy, int32 (pairs, 10), filled up with -1: up to six documents that share the most telling words (BM25),
then up to four more that the current static model holds to be the nearest. Left out are the answer itself, documents
that read (nearly) like it or stand in the same place, answers of the same query, and documents that both measures
place far above the answer: those are likely to answer, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from outcrop.embed.static import StaticEmbedder
from outcrop.text.terms import STOP_WORDS, Terms
from training.pairs.moulds import SPOKEN

LEXICAL: Final = 6
DENSE: Final = 4
MAX_DOCS: Final = 4000
"""Documents compared with one another at a time; a larger package is taken in stretches."""
MAX_CHARS: Final = 1000
"""Of a document's text for its words: what comes later seldom decides."""
NEARLY_SAME: Final = 0.985
"""Cosine of two documents from which on one is no wrong answer to the other's question."""
FAR_LEXICAL: Final = 1.5
FAR_DENSE: Final = 0.08
"""How far above the answer both measures must place a document for it to count as another answer (not measured)."""
_K1: Final = 1.2
_B: Final = 0.75

_NOISE: Final = STOP_WORDS | {name for names in SPOKEN.values() for name in names} | {"example", "script", "3"}
"""What a query says of itself, not of what it looks for."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where the documents and pairs of a package lie in their files, and the number of the first pair."""

    docs: tuple[int, int]
    pairs: tuple[int, int]
    first_pair: int


@cache
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()


@cache
def _terms() -> Terms:
    return Terms()


def stretches(folder: Path) -> Iterator[Stretch]:
    """The packages of a data set, in order, each at most MAX_DOCS documents at a time."""
    ends = _document_ends(folder / "docs.jsonl")
    with (folder / "pairs.jsonl").open("rb") as file:
        pairs_at, number = 0, 0
        line = file.readline()
        start = 0
        for last_doc, end in ends:
            began, first = pairs_at, number
            while line and json.loads(line)["doc"] <= last_doc:
                pairs_at += len(line)
                number += 1
                line = file.readline()
            yield Stretch((start, end), (began, pairs_at), first)
            start = end


def _document_ends(path: Path) -> Iterator[tuple[int, int]]:
    """The last document of each stretch and the offset behind it."""
    at, count, package, last = 0, 0, "", -1
    with path.open("rb") as file:
        for line in file:
            # The order of the keys is ours: id and package come first.
            head = json.loads(line[: line.index(b', "path"')] + b"}")
            if count and (head["package"] != package or count >= MAX_DOCS):
                yield last, at
                count = 0
            package, last = head["package"], head["id"]
            at += len(line)
            count += 1
    if count:
        yield last, at


def _read(path: Path, start: int, end: int) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        file.seek(start)
        return [json.loads(line) for line in file.read(end - start).splitlines()]


class Words:
    """BM25 over the documents of one package."""

    def __init__(self, texts: Sequence[str]) -> None:
        terms = [np.frombuffer(_terms().of(text), np.uint64) for text in texts]
        lengths = np.array([len(found) for found in terms], np.float32)
        vocabulary, flat = np.unique(
            np.concatenate(terms) if terms else np.zeros(0, np.uint64), return_inverse=True
        )
        of = np.repeat(np.arange(len(texts), dtype=np.int64), lengths.astype(np.int64))
        keys, counts = np.unique(flat.astype(np.int64) * len(texts) + of, return_counts=True)
        self._docs = keys % len(texts)
        term = keys // len(texts)
        self._starts = np.searchsorted(term, np.arange(len(vocabulary) + 1))
        holders = np.diff(self._starts)
        idf = np.log1p((len(texts) - holders + 0.5) / (holders + 0.5)).astype(np.float32)
        norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
        self._weights = idf[term] * counts * (_K1 + 1) / (counts + norm[self._docs])
        self._number = {int(value): place for place, value in enumerate(vocabulary)}
        self._size = len(texts)

    def scores(self, query: str) -> NDArray[np.float64]:
        """How well each document matches a query."""
        said = {term for word, terms in _terms().words(query) if word.lower() not in _NOISE for term in terms}
        found = [self._number[term] for term in sorted(said) if term in self._number]
        if not found:
            return np.zeros(self._size)
        parts = [slice(self._starts[term], self._starts[term + 1]) for term in found]
        docs = np.concatenate([self._docs[part] for part in parts])
        weights = np.concatenate([self._weights[part] for part in parts])
        return np.bincount(docs, weights, minlength=self._size).astype(np.float64, copy=False)


def mine(docs: Sequence[dict[str, Any]], pairs: Sequence[dict[str, Any]]) -> tuple[NDArray[np.int32], int]:
    """The hard negatives of each pair of one package, and how many candidates were too good."""
    negatives = np.full((len(pairs), LEXICAL + DENSE), -1, np.int32)
    if len(docs) < 2:
        return negatives, 0
    ids = np.array([doc["id"] for doc in docs], np.int32)
    place_of = {int(id_): place for place, id_ in enumerate(ids)}
    words = Words([f"{doc['head']}\n{doc['text'][:MAX_CHARS]}" for doc in docs])
    texts, vectors = _document_vectors(docs)
    alike = texts @ texts.T > NEARLY_SAME
    same: dict[str, list[int]] = defaultdict(list)
    for pair in pairs:
        same[_folded(pair["q"])].append(place_of[pair["doc"]])
    kin = _kin(docs)
    queries = _query_vectors([pair["q"] for pair in pairs])
    near = queries @ vectors.T
    too_good = 0
    for row, pair in enumerate(pairs):
        own = place_of[pair["doc"]]
        lexical, dense = words.scores(pair["q"]), near[row]
        barred = alike[own].copy()
        barred[own] = True
        barred[same[_folded(pair["q"])]] = True
        for group in kin[own]:
            barred[group] = True
        if pair["kind"] == "path":  # the words at the top of a file are true of all of it
            barred[[docs[place]["path"] == docs[own]["path"] for place in range(len(docs))]] = True
        far = (lexical > FAR_LEXICAL * lexical[own]) & (dense > dense[own] + FAR_DENSE) & ~barred
        too_good += int(far.sum())
        barred |= far
        chosen = _best(np.where(barred, 0.0, lexical), LEXICAL)
        barred[chosen] = True
        chosen += _best(np.where(barred, 0.0, dense), DENSE)
        negatives[row, : len(chosen)] = ids[chosen]
    return negatives, too_good


def _kin(docs: Sequence[dict[str, Any]]) -> list[tuple[list[int], list[int]]]:
    """For each document those of the same text, and those of the same place: a function holds its blocks."""
    texts: dict[str, list[int]] = defaultdict(list)
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    keys = [("".join(filter(str.isalnum, doc["text"][:400])), (doc["path"], doc["head"])) for doc in docs]
    for place, (text, where) in enumerate(keys):
        texts[text].append(place)
        places[where].append(place)
    return [(texts[text], places[where]) for text, where in keys]


def _best(scores: NDArray[Any], count: int) -> list[int]:
    """The places of the highest positive scores, best first; the earlier of two equal ones."""
    count = min(count, len(scores))
    top = np.argpartition(-scores, count - 1)[:count]
    top = top[np.lexsort((top, -scores[top]))]
    return [int(place) for place in top if scores[place] > 0]


def _folded(query: str) -> str:
    return " ".join(query.lower().split())


def _document_vectors(docs: Sequence[dict[str, Any]]) -> tuple[Floats, Floats]:
    """Unit vectors of the texts alone, and mixed with their paths' as the engine does."""
    embedder = _embedder()
    paths = list(dict.fromkeys(doc["path"] for doc in docs))
    path_rows = embedder.embed_paths(paths)
    at = {path: row for row, path in enumerate(paths)}
    rows = embedder.embed_documents(
        [f"Document: {doc['head']}\n\n{doc['text'][: 2 * MAX_CHARS]}" for doc in docs]
    )
    mixed = rows + np.float32(embedder.path_weight) * path_rows[[at[doc["path"]] for doc in docs]]
    return _unit(rows), _unit(mixed)


def _query_vectors(queries: Sequence[str]) -> Floats:
    embedder = _embedder()
    return np.array([embedder.embed_query(query) for query in queries], np.float32)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def mine_stretch(folder: Path, stretch: Stretch) -> tuple[int, NDArray[np.int32], int]:
    """The number of the first pair of a stretch, its negatives, and how many candidates were too good."""
    docs = _read(folder / "docs.jsonl", *stretch.docs)
    pairs = _read(folder / "pairs.jsonl", *stretch.pairs)
    return stretch.first_pair, *mine(docs, pairs)


def main(arguments: list[str] | None = None) -> int:
    """Mine a data set."""
    parser = argparse.ArgumentParser(prog="python -m training.mine", description=__doc__)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    work = list(stretches(options.source))
    with (options.source / "pairs.jsonl").open("rb") as file:
        total = sum(1 for _ in file)
    new = options.source / "neg.npy.new"
    negatives = np.lib.format.open_memmap(new, "w+", np.int32, (total, LEXICAL + DENSE))
    negatives[:] = -1
    too_good = 0
    for done, (first, found, good) in enumerate(_results(options.source, work, options.workers), 1):
        negatives[first : first + len(found)] = found
        too_good += good
        if done % 200 == 0 or done == len(work):
            sys.stdout.write(f"{done} of {len(work)} packages, {time.monotonic() - began:.0f} s\n")
            sys.stdout.flush()
    negatives.flush()
    new.rename(options.source / "neg.npy")
    each = float((negatives >= 0).sum() / max(1, total))
    sys.stdout.write(
        f"{total} pairs, {each:.2f} negatives each, {too_good} candidates left out as likely answers\n"
    )
    return 0


def _results(
    folder: Path, work: Sequence[Stretch], workers: int
) -> Iterator[tuple[int, NDArray[np.int32], int]]:
    """What the workers find, as they finish, never more than a few packages ahead."""
    with ProcessPoolExecutor(workers) as pool:
        running: set[Future[tuple[int, NDArray[np.int32], int]]] = set()
        for stretch in work:
            running.add(pool.submit(mine_stretch, folder, stretch))
            if len(running) >= 4 * workers:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in running)


if __name__ == "__main__":
    sys.exit(main())
