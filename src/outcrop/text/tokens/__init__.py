"""Exact token counts for OpenAI's vocabularies, o200k_base and cl100k_base.

A text is split into pieces by a pattern, and the bytes of each piece are merged, lowest-ranked pair first, until no
pair is a token. Vocabularies and character classes are data files made by `scripts/vocabularies.py`, loaded at the
first count.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Final

_DATA: Final = Path(__file__).parent / "data"
SINGLE_BYTES: Final = 256
SEPARATOR: Final = b"\xff"
STRETCH_CHARS: Final = 500
LONGEST_REMEMBERED: Final = 2_000
"""A longer stretch had nowhere to be cut, and is hardly ever counted twice."""
LONGEST_WORD: Final = 64
LONGEST_SCANNED: Final = 100
"""Up to this many bytes, rescanning all pairs after each merge is fastest; beyond it a heap avoids quadratic time."""
NO_TOKEN: Final = 1 << 30
"""The rank of a pair that is not a token, above all others."""

_CONTRACTION: Final = r"'(?:[sdmtSDMT\u017f]|[lL][lL]|[vV][eE]|[rR][eE])"
_PATTERNS: Final = {
    "o200k": (
        rf"[^\r\n%letter%number]?[%upper]*[%lower]+(?:{_CONTRACTION})?"
        rf"|[^\r\n%letter%number]?[%upper]+[%lower]*(?:{_CONTRACTION})?"
        r"|[%number]{1,3}| ?[^%space%letter%number]+[\r\n/]*|[%space]*[\r\n]+|[%space]+(?![^%space])|[%space]+"
    ),
    "cl100k": (
        rf"{_CONTRACTION}|[^\r\n%letter%number]?+[%letter]++|[%number]{{1,3}}+| ?[^%space%letter%number]++[\r\n]*+"
        r"|[%space]++\Z|[%space]*[\r\n]|[%space]+(?![^%space])|[%space]"
    ),
}
VOCABULARIES: Final = frozenset(_PATTERNS)
_ASCII: Final = {"letter": "A-Za-z", "number": "0-9", "upper": "A-Z", "lower": "a-z", "space": r"\t-\r "}

# Places that no piece spans, whatever surrounds them. A line break ends a piece unless it is followed by whitespace up
# to another line break, or by a slash, which o200k attaches to punctuation; a word ends before a space.
_LINE_END: Final = re.compile(r"\n(?=(?!/)[^\S\r\n]*\S)")
_WORD_END: Final = re.compile(r"[A-Za-z](?= )")


class Vocabulary:
    """Counts the tokens of one vocabulary; safe to share between threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._remembered = lru_cache(maxsize=4_096)(self._count_stretch)
        self._words = lru_cache(maxsize=16_384)(self._count_piece)

    def count(self, text: str) -> int:
        """The tokens of a text. Special tokens count as plain text."""
        total = 0
        for stretch in cut(text):
            total += (self._remembered if len(stretch) <= LONGEST_REMEMBERED else self._count_stretch)(stretch)
        return total

    def split(self, text: str) -> list[str]:
        """The pieces of a text: no token spans two of them."""
        return _compile(self.name, ascii_only=text.isascii()).findall(text)

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Every token with its rank."""
        return _load(self.name)

    def _count_stretch(self, text: str) -> int:
        total, ranks = 0, self.ranks
        for piece in self.split(_without_surrogates(text)):
            encoded = piece.encode()
            if encoded in ranks:
                total += 1
            else:
                total += (self._words if len(encoded) <= LONGEST_WORD else self._count_piece)(encoded)
        return total

    def _count_piece(self, piece: bytes) -> int:
        return count_merged(piece, self.ranks)


@cache
def vocabulary(name: str) -> Vocabulary:
    """The counter for a vocabulary, one per process so that it is loaded once."""
    if name not in VOCABULARIES:
        raise KeyError(name)
    return Vocabulary(name)


def cut(text: str) -> Iterator[str]:
    """Stretches of a text that can be counted separately: lines, long ones cut between words. A text that grows or
    shrinks at its end differs in its last stretch only; the others are cached."""
    start = 0
    for match in _LINE_END.finditer(text):
        yield from _cut_line(text[start : match.end()])
        start = match.end()
    if start < len(text):
        yield from _cut_line(text[start:])


def _cut_line(line: str) -> Iterator[str]:
    start = 0
    while len(line) - start > STRETCH_CHARS and (match := _WORD_END.search(line, start + STRETCH_CHARS)):
        yield line[start : match.end()]
        start = match.end()
    yield line[start:]


def _without_surrogates(text: str) -> str:
    """A text that can be encoded: lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _load(name: str) -> dict[bytes, int]:
    content = zlib.decompress((_DATA / f"{name}.zlib").read_bytes())
    ranks = {content[rank : rank + 1]: rank for rank in range(SINGLE_BYTES)}
    longer = content[SINGLE_BYTES:].split(SEPARATOR)
    ranks.update(zip(longer, range(SINGLE_BYTES, SINGLE_BYTES + len(longer)), strict=True))
    return ranks


@cache
def _compile(name: str, *, ascii_only: bool) -> re.Pattern[str]:
    """The pattern of a vocabulary. The one for ASCII gives the same pieces and compiles at once."""
    pattern, classes = _PATTERNS[name], _ASCII
    if not ascii_only:
        classes = json.loads((_DATA / "classes.json").read_text("utf-8"))
    for class_name, ranges in classes.items():
        pattern = pattern.replace(f"%{class_name}", ranges)
    return re.compile(pattern)


def count_merged(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """The tokens of a piece; of two pairs with the same rank the left one merges first."""
    return _scan(piece, ranks) if len(piece) <= LONGEST_SCANNED else _merge_by_heap(piece, ranks)


def _scan(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    parts = [piece[at : at + 1] for at in range(len(piece))]
    costs = [ranks.get(piece[at : at + 2], NO_TOKEN) for at in range(len(piece) - 1)]
    while costs and (lowest := min(costs)) < NO_TOKEN:
        at = costs.index(lowest)
        parts[at] += parts.pop(at + 1)
        del costs[at]
        if at < len(costs):
            costs[at] = ranks.get(parts[at] + parts[at + 1], NO_TOKEN)
        if at:
            costs[at - 1] = ranks.get(parts[at - 1] + parts[at], NO_TOKEN)
    return len(parts)


def _merge_by_heap(piece: bytes, ranks: Mapping[bytes, int]) -> int:
    """The same for a long piece. A part is identified by its first byte; stale heap entries are skipped."""
    size = len(piece)
    end = list(range(1, size + 1))  # end of the part that starts here
    before = list(range(-1, size))  # start of the part to the left; one extra for the end of the piece
    cost = [ranks.get(piece[at : at + 2], NO_TOKEN) for at in range(size - 1)] + [NO_TOKEN]
    heap = [rank * size + at for at, rank in enumerate(cost) if rank < NO_TOKEN]
    heapify(heap)
    parts = size
    while heap:
        rank, at = divmod(heappop(heap), size)
        if cost[at] != rank:
            continue
        parts -= 1
        taken = end[at]
        cost[taken] = NO_TOKEN
        middle = end[at] = end[taken]
        before[middle] = at
        cost[at] = ranks.get(piece[at : end[middle]], NO_TOKEN) if middle < size else NO_TOKEN
        if cost[at] < NO_TOKEN:
            heappush(heap, cost[at] * size + at)
        left = before[at]
        if left >= 0:
            cost[left] = ranks.get(piece[left:middle], NO_TOKEN)
            if cost[left] < NO_TOKEN:
                heappush(heap, cost[left] * size + left)
    return parts
