"""The model that ships with Outcrop: a table of token vectors, summed. Needs numpy and nothing else.

The vector of a text is `Σ count(token) ** tf_exponent * row(token)`; a query multiplies each token's share by
that token's query weight and ends at unit length; a path is the plain sum of the rows of its tokens.

Tokens come from words: camelCase and snake_case come apart, letters and digits come apart, everything is lower-cased,
and a word that is not in the vocabulary is spelled by the longest tokens that fit. No word crosses an ASCII character
that is neither letter nor digit, so a text is first cut at those (translate and split, both in C), and the ids of each
stretch, such as `getUserName`, are cached as packed bytes: a known text is one join of dictionary values. On chunks of
1.06 kB of English documentation, one core: 27 µs a chunk once the stretches are known and 68 while they are learnt;
a regular expression over every text and a look-up a word took 92 and 143.

A text in another language is read as English, word by word, if the folder holds a dictionary for that (see
`lexicon`). A model is a folder of four files:

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
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from outcrop.embed.keys import find_damage, path_text, split_context
from outcrop.embed.lexicon import CARD as LEXICON_CARD
from outcrop.embed.lexicon import Lexicon
from outcrop.errors import EmbedError
from outcrop.records import Matrix, Model, Trust, Vector
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import PART

ID_BYTES = array("I").itemsize
"""Width of a packed token id, in the machine's own byte order."""

_MAX_PIECES = 8
"""Tokens that spell one unknown word at most: more says nothing of its meaning. The model was trained so."""
_MAX_NUMBER_PIECES = 3
"""The same for numbers, whose tokens carry even less."""
_NUMBER_PIECE = 4
"""Longest piece of a number: a year is one token, a longer number is cut in fours, as in training."""

_TELLING_PIECE = 4
"""Letters of a piece that tells what an unknown word is about, if it is half of the word. Of 2 000 words of random
letters 1.3 % are known by that, of 15 misspelt words 11."""

_CACHED_STRETCHES = 1 << 17
"""At 120 bytes an entry the cache stays near 16 MB. When full it is emptied: the common come back."""
_CACHED_STRETCH_BYTES = 64
"""Longer stretches are blobs or text without spaces, hardly ever seen twice."""

# Bytes of UTF-8: ASCII letters and digits and all of a non-ASCII character stay, the rest becomes a space.
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_TO_STRETCHES = bytes(c if c >= 0x80 or c in _KEPT else 0x20 for c in range(256))


def words(text: str) -> list[str]:
    """The words of a text, cut as the model's tokens are, in lower case."""
    return [word.lower() for word in PART.findall(text)]


class Vocabulary:
    """The tokens of a static model and how text is spelled in them. Safe to use from any thread."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.ids = dict(zip(tokens, range(len(tokens)), strict=True))
        self._stretches = _Stretches(self.ids, tokens)

    def __len__(self) -> int:
        return len(self.ids)

    def spell(self, word: str) -> list[int]:
        """The tokens that spell a word."""
        return array("I", self.pack(word)).tolist()

    def knows(self, text: str) -> bool:
        """Whether any word of a text is a token, or begins or ends as one does: `autogenrate`, not `zzqqxx`."""
        return any(self._stretches.knows(match.group().lower()) for match in PART.finditer(text))

    def pack(self, text: str) -> bytes:
        """The ids of a text's tokens in their order, `ID_BYTES` each."""
        # A lone surrogate becomes `?`: like it, no part of any word.
        stretches = text.encode("utf-8", "replace").translate(_TO_STRETCHES).split()
        return b"".join(map(self._stretches.__getitem__, stretches))


class _Stretches(dict[bytes, bytes]):
    """Stretch of text → its packed token ids, worked out at first sight."""

    def __init__(self, ids: dict[str, int], tokens: Sequence[str]) -> None:
        super().__init__()
        self._ids = ids
        self._tokens = tokens

    @cached_property  # most searches hold no word that has to be spelled
    def _longest(self) -> int:
        return max(map(len, self._ids), default=0)

    @cached_property
    def _first_letters(self) -> frozenset[str]:
        return frozenset(map(itemgetter(slice(1)), self._ids))

    def __missing__(self, stretch: bytes) -> bytes:
        text = stretch.decode("utf-8")
        if len(stretch) > _CACHED_STRETCH_BYTES:
            # One match at a time: a blob of megabytes must not become a list of millions of words.
            return self._pack(match.group() for match in PART.finditer(text))
        packed = self._pack(PART.findall(text))
        if len(self) >= _CACHED_STRETCHES:
            self.clear()
        self[stretch] = packed
        return packed

    def knows(self, word: str) -> bool:
        """Whether a word is a token, or one of its pieces is long enough to tell what it is about. No number is."""
        if word.isdigit() or len(word) == 1:
            return False
        if word in self._ids:
            return True
        lengths = (len(self._tokens[id_]) for id_ in self._spell(word, self._longest, _MAX_PIECES))
        longest = max(lengths, default=0)
        return longest >= _TELLING_PIECE and 2 * longest >= len(word)

    def _pack(self, words: Iterable[str]) -> bytes:
        ids = array("I")
        for surface in words:
            word = surface.lower()
            known = self._ids.get(word)
            if known is not None:
                ids.append(known)
            elif word.isdigit():
                ids.extend(self._spell(word, _NUMBER_PIECE, _MAX_NUMBER_PIECES))
            else:
                ids.extend(self._spell(word, self._longest, _MAX_PIECES))
        return ids.tobytes()

    def _spell(self, word: str, longest: int, most: int) -> list[int]:
        """The word as at most `most` tokens, each the longest that fits; other characters are passed over."""
        found: list[int] = []
        # `most` tokens cover no more than this: the rest of a word of megabytes need not be looked at.
        word = word[: longest * most]
        at = 0
        while at < len(word) and len(found) < most:
            step = 1
            if word[at] in self._first_letters:
                for end in range(min(len(word), at + longest), at, -1):
                    piece = self._ids.get(word[at:end])
                    if piece is not None:
                        found.append(piece)
                        step = end - at
                        break
            at += step
        return found


TRUST_ACROSS = 2.0
"""How much more the model is trusted where the words of a query have to be translated to be found. On questions about
news in nine pairs of languages (`training/README.md`) NDCG@10 .677 at 1, .685 at 2 and at 3."""

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
            self.model = Model(str(card["name"]), str(card["version"]), int(card["dimensions"]))
            self._tf_exponent = float(card["tf_exponent"])
            self.path_weight = float(card["path_weight"])
            self._head_weight = np.float32(card["head_weight"])
            self.trust = Trust(float(card["trust"]["prose"]), float(card["trust"]["code"]))
            rows = int(card["tokens"])
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise EmbedError(f"the model in {folder} cannot be read ({error}): {_REINSTALL}") from error
        self._hashes: Mapping[str, Any] = card.get("sha256", {})
        self._vocabulary = Vocabulary(tokens)
        self.lexicon: Lexicon | None = None
        if (folder / LEXICON_CARD).exists():
            self.lexicon = Lexicon(folder, self._vocabulary.ids, self._vocabulary.spell)
        self.trust_across = self.trust
        if self.lexicon is not None:
            self.trust_across = Trust(TRUST_ACROSS * self.trust.prose, TRUST_ACROSS * self.trust.code)
        self._table: NDArray[np.int8] = mapped
        self._check_sizes(rows, weights)
        self._scales: Vector = weights[0]
        self._query_scales: Vector = weights[0] * weights[1]

    def __repr__(self) -> str:
        return f"StaticEmbedder({self.model})"

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """One row a text, not of unit length; zeros for a text without a known token. The title and headings before a
        chunk count by themselves, each word in full: among the words of the chunk they would hardly weigh."""
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
        """A unit vector; zeros when no token of the query is known, or hardly a word of one in another language."""
        if self.lexicon is not None and not self.lexicon.understands(text):
            return np.zeros(self.model.dimensions, np.float32)
        vector: Vector = self._embed([text], self._tf_exponent, self._query_scales)[0]
        length = float(np.linalg.norm(vector))
        return vector / np.float32(length) if length > 0 else vector

    def weigh(self, words: Sequence[str]) -> list[float]:
        """How much each word tells of what a question is about: the length of its vector, about .7 for `otherwise` or
        `keep`, 1.2 for `alarm` or `calendar`."""
        rows = self._embed(words, self._tf_exponent, self._query_scales)
        return [float(length) for length in np.linalg.norm(rows, axis=1)]

    def knows(self, text: str) -> bool:
        """Whether any word of a text is known, or nearly; others are spelled in fragments, which say little."""
        if self.lexicon is not None:
            text, foreign = self.lexicon.split(text)
            if foreign and self.lexicon.knows(foreign):
                return True
        return self._vocabulary.knows(text)

    def damage(self) -> list[str]:
        """What is wrong with the model's files, by their hashes; empty when all is well. Reads them whole."""
        expected = {name: self._hashes.get(name) for name in (_TABLE, _WEIGHTS, _VOCABULARY)}
        problems = find_damage(self._folder, expected, _REINSTALL)
        return problems + ([] if self.lexicon is None else self.lexicon.damage())

    def _check_sizes(self, rows: int, weights: NDArray[Any]) -> None:
        expected = {
            _TABLE: (self._table.dtype == np.int8, self._table.shape == (rows, self.model.dimensions)),
            _WEIGHTS: (weights.dtype == np.float32, weights.shape == (2, rows)),
            _VOCABULARY: (len(self._vocabulary) == rows,),
        }
        for name, checks in expected.items():
            if not all(checks):
                raise EmbedError(
                    f"{self._folder / name} does not have the size that its card states: {_REINSTALL}"
                )

    def _embed(self, texts: Sequence[str], exponent: float, scales: Vector) -> Matrix:
        out = np.zeros((len(texts), self.model.dimensions), np.float32)
        english, foreign = self._split(texts)
        first = 0
        for packed in self._packed(english):
            self._sum_rows(_count_tokens(packed), exponent, scales, out[first : first + len(packed)])
            first += len(packed)
        for row, text in foreign.items():
            out[row] += self._sum_senses(self.lexicon, text, exponent, scales) if self.lexicon else 0
        return out

    def _split(self, texts: Sequence[str]) -> tuple[Sequence[str], dict[int, str]]:
        """What of the texts is read as English, and by their rows those parts that are not."""
        if self.lexicon is None:
            return texts, {}
        english, foreign = [], {}
        for row, text in enumerate(texts):
            part, other = self.lexicon.split(text)
            english.append(part)
            if other:
                foreign[row] = other
        return english, foreign

    def _sum_senses(self, lexicon: Lexicon, text: str, exponent: float, scales: Vector) -> Vector:
        """The weighted rows of the English tokens that a foreign text is read as."""
        tokens, shares = lexicon.weigh_tokens(text, exponent)
        shares *= scales[tokens]
        total = np.zeros(self.model.dimensions, np.float32)
        for at in range(0, len(tokens), _ROWS_AT_ONCE):
            rows = self._table[tokens[at : at + _ROWS_AT_ONCE]].astype(np.float32)
            total += np.einsum("i,ij->j", shares[at : at + _ROWS_AT_ONCE], rows)
        return total

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
    is_first = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    distinct = pairs[starts]
    bounds = np.searchsorted(distinct, np.arange(len(packed) + 1, dtype=np.int64) << 32)
    return _Counts(distinct & 0xFFFFFFFF, np.diff(starts, append=len(pairs)), bounds.tolist())
