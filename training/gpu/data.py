"""The pairs, on the GPU: documents, queries, hard negatives, and their tokens as ragged arrays."""

from __future__ import annotations

import json
import multiprocessing
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from outcrop.embed.keys import context_head, path_text
from outcrop.embed.static import ID_BYTES, Vocabulary

HEAD_TOKENS = 32
"""Of the title and headings above a text, in training."""
BLOCK = 32
"""Pairs of one package that stand together in a batch: what is hard to tell apart is what lies side by side."""


@dataclass(frozen=True)
class Pairs:
    """Everything training reads. `negatives` are document numbers, −1 where there is none."""

    texts: list[str]
    heads: list[str]
    paths: list[str]
    said: list[str]
    """What its doc comment says of a document, where a query was made of that and its text does not hold it."""
    files: list[str]
    places: list[list[str]]
    code: NDArray[np.bool_]
    languages: NDArray[np.str_]
    document_package: NDArray[np.int32]
    same_text: NDArray[np.int64]
    queries: list[str]
    same_query: NDArray[np.int64]
    document: NDArray[np.int32]
    kind: NDArray[np.str_]
    negatives: NDArray[np.int32]
    package: NDArray[np.int32]
    validation: NDArray[np.bool_]

    def training(self) -> NDArray[np.int64]:
        """Numbers of the pairs that are learnt from."""
        return np.flatnonzero(~self.validation)


def _read_documents(lines: Sequence[str]) -> list[tuple[Any, ...]]:
    found = []
    for line in lines:
        one = json.loads(line)
        path = one["path"]
        told = (
            one["id"],
            one["package"],
            one["text"],
            document_head(one),
            path_text(path),
            path,
            document_place(one),
        )
        found.append((*told, one["code"], one["lang"], _hash(one["text"])))
    return found


def _read_pairs(lines: Sequence[str]) -> list[tuple[Any, ...]]:
    rows = map(json.loads, lines)
    return [(one["q"], one["doc"], one["kind"], _hash(one["q"].lower())) for one in rows]


def load_pairs(folder: Path) -> Pairs:
    """Read what `training.pairs` and `training.mine` wrote."""
    held_out = set(json.loads((folder / "split.json").read_text("utf-8"))["validation"])
    lines = (folder / "docs.jsonl").read_text("utf-8").removesuffix("\n").split("\n")
    documents = [one for part in spread(_read_documents, lines, 20_000) for one in part]
    lines = (folder / "pairs.jsonl").read_text("utf-8").removesuffix("\n").split("\n")
    rows = [one for part in spread(_read_pairs, lines, 40_000) for one in part]
    numbers, packages, texts, heads, paths, files, places, code, languages, same_text = zip(
        *documents, strict=True
    )
    place = np.full(max(numbers) + 2, -1, np.int32)
    place[list(numbers)] = np.arange(len(numbers))
    names, in_package = np.unique(np.array(packages), return_inverse=True)
    queries, target, kinds, same_query = zip(*rows, strict=True)
    document = place[list(target)]
    package = in_package[document].astype(np.int32)
    said = [""] * len(documents)
    for query, number, kind in zip(queries, document.tolist(), kinds, strict=True):
        if kind == "doc":
            said[number] = query
    out = np.array([name in held_out for name in names])
    return Pairs(
        texts=list(texts),
        heads=list(heads),
        paths=list(paths),
        said=said,
        files=list(files),
        places=list(places),
        code=np.array(code),
        languages=np.array(languages),
        document_package=in_package.astype(np.int32),
        same_text=np.array(same_text),
        queries=list(queries),
        same_query=np.array(same_query),
        document=document,
        kind=np.array(kinds),
        negatives=place[np.load(folder / "neg.npy")],
        package=package,
        validation=out[package],
    )


def document_head(document: dict[str, Any]) -> str:
    """What the engine would put before this document's text."""
    parts = [part for part in document["head"].split(" > ") if part]
    if document["code"]:
        return context_head(PurePosixPath(document["path"]).name, parts)
    return context_head(parts[0] if parts else "", parts[1:])


def document_place(document: dict[str, Any]) -> list[str]:
    """Where in its file a document stands, in names: what a reranker reads beside the path."""
    parts = [part for part in document["head"].split(" > ") if part]
    return parts[1:] if parts and parts[0] == PurePosixPath(document["path"]).name else parts


def _hash(text: str) -> int:
    squeezed = "".join(text.split()).encode("utf-8", "replace")
    return zlib.crc32(squeezed) | zlib.adler32(squeezed) << 32


# ------------------------------------------------------------------ tokens


@dataclass(frozen=True)
class Ragged:
    """Token rows of unequal length, on the device."""

    flat: Tensor
    start: Tensor
    length: Tensor

    def block(self, rows: Tensor, pad: int = 0) -> tuple[Tensor, Tensor]:
        """Some rows as one padded block, and where there are tokens."""
        lengths = self.length[rows]
        longest = max(8, -(-int(lengths.max()) // 8) * 8)
        places = torch.arange(longest, device=rows.device)[None, :]
        mask = places < lengths[:, None]
        at = (self.start[rows][:, None] + places).clamp(max=len(self.flat) - 1)
        return self.flat[at].masked_fill(~mask, pad).long(), mask


Flat = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Token ids one after the other, and how many each text has."""
T = TypeVar("T")
R = TypeVar("R")


def spread(work: Callable[[Sequence[T]], R], items: Sequence[T], at_once: int = 5_000) -> list[R]:
    """The same work on parts of a list, on all cores, in order."""
    parts = [items[start : start + at_once] for start in range(0, len(items), at_once)]
    with multiprocessing.get_context("fork").Pool() as pool:
        return pool.map(work, parts, chunksize=1)


def ragged(parts: Sequence[Flat], device: str) -> Ragged:
    """Parts as one array on the device."""
    flat = np.concatenate([*(ids for ids, _ in parts), np.zeros(1, np.int32)])
    lengths = np.concatenate([lengths for _, lengths in parts])
    start = np.cumsum(lengths) - lengths
    return Ragged(*(torch.from_numpy(one).to(device) for one in (flat, start, lengths)))


def flatten(rows: Sequence[Sequence[int]]) -> Flat:
    """Rows of ids as one array."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.fromiter((token for row in rows for token in row), np.int32, int(lengths.sum())), lengths


def _reader(tokenizer: str, most: int) -> Tokenizer:
    reader = Tokenizer.from_file(tokenizer)
    reader.no_padding()
    reader.enable_truncation(most)
    return reader


def encode_texts(texts: Sequence[Any], tokenizer: str, most: int) -> Flat:
    """Tokens of texts, or of pairs of texts, in this process."""
    return flatten([one.ids for one in _reader(tokenizer, most).encode_batch_fast(list(texts))])


def _encode_documents(documents: Sequence[tuple[str, str, str]], tokenizer: str, most: int) -> tuple[Flat, ...]:
    reader = _reader(tokenizer, most)
    first, last = reader.encode("").ids
    heads, said, texts = (
        [one.ids for one in reader.encode_batch_fast(list(column), add_special_tokens=False)]
        for column in zip(*documents, strict=True)
    )
    made: tuple[list[list[int]], ...] = ([], [], [], [])
    for head, comment, text in zip(heads, said, texts, strict=True):
        named, told = head[:HEAD_TOKENS], comment[:HEAD_TOKENS]
        for rows, above in zip(made, ([], named, told, named + told), strict=True):
            rows.append([first, *above, *text[: most - 2 - len(above)], last])
    return tuple(map(flatten, made))


def tokenise(tokenizer: Path, texts: Sequence[Any], most: int, device: str) -> Ragged:
    """A transformer's tokens of texts, or of pairs of texts, special tokens included."""
    return ragged(spread(partial(encode_texts, tokenizer=str(tokenizer), most=most), texts), device)


def tokenise_documents(tokenizer: Path, pairs: Pairs, most: int, device: str) -> tuple[Ragged, ...]:
    """Documents by themselves, below their headings, below what their doc comments say, and below both."""
    documents = list(
        zip(pairs.heads, [f"{said}\n" if said else "" for said in pairs.said], pairs.texts, strict=True)
    )
    parts = spread(partial(_encode_documents, tokenizer=str(tokenizer), most=most), documents)
    return tuple(ragged(made, device) for made in zip(*parts, strict=True))


# ------------------------------------------------------------------ the static model's tokens


@dataclass(frozen=True)
class Bags:
    """Distinct tokens of texts and how often each occurs, padded."""

    ids: Tensor
    counts: Tensor


def _count(texts: Sequence[str], tokens: list[str], most: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    reader = Vocabulary(tokens)
    ids = np.full((len(texts), most), len(tokens), np.int32)
    counts = np.zeros((len(texts), most), np.uint8)
    for number, text in enumerate(texts):
        row = np.frombuffer(reader.pack(text), f"u{ID_BYTES}")[: 4 * most]
        distinct, first, found = np.unique(row, return_index=True, return_counts=True)
        keep = np.argsort(first)[:most]
        ids[number, : len(keep)] = distinct[keep]
        counts[number, : len(keep)] = np.minimum(found[keep], 255)
    return ids, counts


def bags(tokens: list[str], texts: Sequence[str], most: int, device: str) -> Bags:
    """Tokens by the engine's own code; the first `most` distinct ones of a text count."""
    parts = spread(partial(_count, tokens=tokens, most=most), texts, 20_000)
    ids = torch.from_numpy(np.concatenate([ids for ids, _ in parts])).to(device)
    return Bags(ids, torch.from_numpy(np.concatenate([counts for _, counts in parts])).to(device))


# ------------------------------------------------------------------ batches


def blocks(pairs: Pairs, numbers: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs in rows of `BLOCK` of one package, in random order; what is left of each package is mixed."""
    order = np.lexsort((rng.random(len(numbers)), pairs.package[numbers]))
    shuffled = numbers[order]
    packages = pairs.package[shuffled]
    first = np.flatnonzero(np.diff(packages, prepend=-1))
    last = np.append(first[1:], len(shuffled))
    whole, rest = [], []
    for start, end in zip(first, last, strict=True):
        middle = start + (end - start) // BLOCK * BLOCK
        whole.append(shuffled[start:middle])
        rest.append(shuffled[middle:end])
    mixed = np.concatenate(rest)
    rng.shuffle(mixed)
    rows = np.concatenate((*whole, mixed[: len(mixed) // BLOCK * BLOCK])).reshape(-1, BLOCK)
    rng.shuffle(rows)
    return rows


def pick_negatives(
    pairs: Pairs, numbers: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """`count` mined documents of each pair, at random; where there are too few, any of the others' positives."""
    found = pairs.negatives[numbers]
    order = np.argsort(rng.random(found.shape) + (found < 0), axis=1)[:, :count]
    picked = np.take_along_axis(found, order, axis=1)
    others = rng.choice(pairs.document[numbers], picked.shape)
    filled: NDArray[np.int32] = np.where(picked < 0, others, picked)
    return filled


def even_kinds(
    pairs: Pairs, numbers: NDArray[np.int64], weights: dict[str, float], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Some kinds of pair more often or more seldom than they occur."""
    share = np.ones(len(numbers))
    for kind, weight in weights.items():
        share[pairs.kind[numbers] == kind] = weight
    times = np.floor(share).astype(int) + (rng.random(len(numbers)) < share % 1)
    return np.repeat(numbers, times)


Log = Callable[..., None]
