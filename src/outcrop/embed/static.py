"""The model that ships with Outcrop: a table of token vectors, summed. Needs numpy and nothing else.

The vector of a text is `Σ count(token) ** tf_exponent * row(token)`; a query multiplies each token's share by
that token's query weight and ends at unit length; a path is the plain sum of the rows of its tokens.

A model is a folder of four files:

    card.json     name, version, dimensions, tokens, tf_exponent, path_weight, head_weight, trust, licence, and
                  the sha256 of the others
    static.npy    int8 (tokens, dimensions), C order, memory-mapped
    weights.npy   float32 (2, tokens): row 0 what a row of the table is multiplied by, row 1 the query weights
    vocab.txt     UTF-8, one token a line, lower case, in the order of the rows

Lengths and shapes are checked when it is opened (14 ms of CPU in all, nearly all of it the dictionary of 50 000
tokens); the hashes only by `damage()`.

Field weights are learnt with the table (a heading's word counts 2.4 times a word of the text, one of the path about
once). Trust was measured in the engine on packages the model had not seen (`training.tune`): NDCG@10 of code .555 by
words alone, .643 at a trust of .3 and within .002 of that from .2 to .5; of prose .580, and .610 to .612 from .1 to .4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from outcrop.embed.fingerprint import find_damage
from outcrop.embed.keys import path_text, split_context
from outcrop.embed.vocabulary import ID_BYTES, Vocabulary
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Trust, Vector
from outcrop.system.arrays import NDArray

PACKAGED_MODEL = Path(__file__).parent / "data"
"""The folder of the model that comes with the package."""

_TABLE, _WEIGHTS, _VOCABULARY, _CARD = "static.npy", "weights.npy", "vocab.txt", "card.json"
_REINSTALL = "reinstall outcrop, or choose another model"

_ROWS_AT_ONCE = 512
"""Rows made float at a time: half a megabyte, which stays in the second-level cache. Few chunks have more."""
_TOKENS_AT_ONCE = 1 << 16
"""Tokens counted in one sort, over all texts of it: enough to make the fixed cost of numpy calls vanish."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """The distinct tokens of some texts: those of text i lie at `bounds[i]:bounds[i + 1]`, ascending."""

    tokens: NDArray[np.int64]
    counts: NDArray[np.int64]
    bounds: list[int]


class StaticEmbedder:
    """Token vectors summed: thousands of chunks a second on one core, offline, the same bits in any batch."""

    def __init__(self, folder: Path = PACKAGED_MODEL) -> None:
        self._folder = folder
        try:
            card = json.loads((folder / _CARD).read_text("utf-8"))
            mapped = np.load(folder / _TABLE, mmap_mode="r", allow_pickle=False)
            weights = np.load(folder / _WEIGHTS, allow_pickle=False)
            # Split at line feeds only: splitlines would cut at exotic separators a token may hold.
            tokens = (folder / _VOCABULARY).read_text("utf-8").removesuffix("\n").split("\n")
            self._model = Model(str(card["name"]), str(card["version"]), int(card["dimensions"]))
            self._tf_exponent = float(card["tf_exponent"])
            self._path_weight = float(card["path_weight"])
            self._head_weight = np.float32(card["head_weight"])
            self._trust = Trust(float(card["trust"]["prose"]), float(card["trust"]["code"]))
            rows = int(card["tokens"])
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise EmbedError(f"the model in {folder} cannot be read ({error}): {_REINSTALL}") from error
        self._hashes: Mapping[str, Any] = card.get("sha256", {})
        self._vocabulary = Vocabulary(tokens)
        self._table: NDArray[np.int8] = mapped
        self._check_sizes(rows, weights)
        self._scales: Vector = weights[0]
        self._query_scales: Vector = weights[0] * weights[1]

    def __repr__(self) -> str:
        return f"StaticEmbedder({self._model})"

    @property
    def model(self) -> Model:
        """Name, version and dimensions as the model's card has them."""
        return self._model

    @property
    def path_weight(self) -> float:
        """How much the vector of the path counts, as the model was trained."""
        return self._path_weight

    @property
    def trust(self) -> Trust:
        """How much its similarities weigh, as measured for this table."""
        return self._trust

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text, not of unit length; zeros for a text without a known token.

        The title and headings before a chunk count by themselves, each word in full: among the words of the chunk
        they would hardly weigh.
        """
        heads, bodies = zip(*map(split_context, texts), strict=True) if texts else ((), ())
        distinct = list(dict.fromkeys(heads))
        at = {head: row for row, head in enumerate(distinct)}
        weighted = self._head_weight * self._embed(distinct, 1.0, self._scales)
        rows: Matrix = self._embed(bodies, self._tf_exponent, self._scales)
        rows += weighted[[at[head] for head in heads]]
        return rows

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        """One row a path: the plain sum of the rows of its last components' tokens."""
        return self._embed([path_text(path) for path in paths], 1.0, self._scales)

    def embed_query(self, text: str) -> Vector:
        """A unit vector; zeros when no token of the query is known."""
        vector: Vector = self._embed([text], self._tf_exponent, self._query_scales)[0]
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length > 0 else vector

    def knows(self, text: str) -> bool:
        """Whether any word of a text is known, or nearly; others are spelled in fragments, which say little."""
        return self._vocabulary.knows(text)

    def damage(self) -> list[str]:
        """What is wrong with the model's files, by their hashes; empty when all is well. Reads them whole."""
        expected = {name: self._hashes.get(name) for name in (_TABLE, _WEIGHTS, _VOCABULARY)}
        return find_damage(self._folder, expected, _REINSTALL)

    def _check_sizes(self, rows: int, weights: NDArray[Any]) -> None:
        expected = {
            _TABLE: (self._table.dtype == np.int8, self._table.shape == (rows, self._model.dimensions)),
            _WEIGHTS: (weights.dtype == np.float32, weights.shape == (2, rows)),
            _VOCABULARY: (len(self._vocabulary) == rows,),
        }
        for name, checks in expected.items():
            if not all(checks):
                raise EmbedError(f"{self._folder / name} does not have the size its card tells: {_REINSTALL}")

    def _embed(self, texts: Sequence[str], exponent: float, scales: Vector) -> Matrix:
        out = np.zeros((len(texts), self._model.dimensions), np.float32)
        first = 0
        for packed in self._packed(texts):
            self._sum_rows(_count_tokens(packed), exponent, scales, out[first : first + len(packed)])
            first += len(packed)
        return out

    def _packed(self, texts: Sequence[str]) -> Iterator[list[bytes]]:
        """The texts' token ids, in groups of about `_TOKENS_AT_ONCE`."""
        group: list[bytes] = []
        room = _TOKENS_AT_ONCE * ID_BYTES
        for text in texts:
            group.append(self._vocabulary.pack(text))
            room -= len(group[-1])
            if room <= 0:
                yield group
                group, room = [], _TOKENS_AT_ONCE * ID_BYTES
        if group:
            yield group

    def _sum_rows(self, found: _Counts, exponent: float, scales: Vector, out: Matrix) -> None:
        """Add up each text's weighted rows.

        Text by text, rows taken as int8 and made float in a buffer that stays in cache: 11 µs for a chunk of
        91 distinct tokens. Also measured: a float table 8 µs, but 51 MB and 23 ms to make; making each row of a
        batch float once 15 µs; add.reduceat over the batch 73 µs. A matrix product of a dense count matrix
        would sum in an order that depends on the batch. einsum, not dot (2–3 µs less): BLAS may split the sum
        among threads, and then the last bits depend on the machine's load.
        """
        shares = (found.counts**exponent).astype(np.float32) * scales[found.tokens]
        largest = max(map(int.__sub__, found.bounds[1:], found.bounds), default=0)
        raw = np.empty((min(largest, _ROWS_AT_ONCE), out.shape[1]), np.int8)
        rows = np.empty(raw.shape, np.float32)
        for number in range(len(out)):
            start, end = found.bounds[number], found.bounds[number + 1]
            for at in range(start, end, _ROWS_AT_ONCE):
                upto = min(end, at + _ROWS_AT_ONCE)
                # mode: ids are of this table, and checking them makes numpy buffer the output.
                self._table.take(found.tokens[at:upto], axis=0, out=raw[: upto - at], mode="clip")
                rows[: upto - at] = raw[: upto - at]
                out[number] += np.einsum("i,ij->j", shares[at:upto], rows[: upto - at])


def _count_tokens(packed: Sequence[bytes]) -> _Counts:
    """Count each text's tokens, all texts in one sort of (text, token) numbers: 7 µs a chunk."""
    lengths = [len(ids) // ID_BYTES for ids in packed]
    pairs = np.repeat(np.arange(len(packed), dtype=np.int64) << 32, lengths)
    pairs |= np.frombuffer(b"".join(packed), np.dtype(f"u{ID_BYTES}"))
    pairs.sort()
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    distinct = pairs[starts]
    bounds = np.searchsorted(distinct, np.arange(len(packed) + 1, dtype=np.int64) << 32)
    return _Counts(distinct & 0xFFFFFFFF, np.diff(starts, append=len(pairs)), bounds.tolist())
