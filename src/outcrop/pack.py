"""Hits to one text within a token budget: never over it, sources numbered, nearest passages whole.

The budget covers everything in the text: the passages, their headers, the blank lines between. Without a tokenizer
tokens are counted by an estimate that errs on the safe side; with one, by the tokenizer itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from outcrop.contracts import Tokenizer
from outcrop.records import Answer, Context, Hit, PackedSource

SEPARATOR: Final = "\n\n"
MIN_TRUNCATED_TOKENS: Final = 40
"""A passage is cut to fit only if at least this much of it can stay; a stump helps nobody."""

_PIECES: Final = re.compile(r"[A-Za-z]+|[0-9]+|[^\S\n]+|\n+|[^\x00-\x7f]+|[^\sA-Za-z0-9]")
_BREAK: Final = re.compile(r"\n+|(?<=[.!?…。！？])\s*|\s+")


class SafeEstimate:
    """Counts tokens a little high for every tokenizer in wide use (the margin is measured in the benchmarks).

    Words of up to six letters count one, longer ones one for every four letters begun; digits in threes; each
    punctuation mark one; white space nothing beside a word, one for each further run; other scripts by bytes.
    """

    def count(self, text: str) -> int:
        """Estimated tokens, never fewer than one for text that is not empty."""
        total = 0
        for piece in _PIECES.findall(text):
            first = piece[0]
            size = len(piece)
            if first.isascii() and first.isalpha():
                total += 1 if size <= 6 else math.ceil(size / 4)
            elif first.isdigit() and first.isascii():
                total += math.ceil(size / 2)
            elif first == "\n":
                total += 1 + (size > 2)
            elif first.isspace() and first.isascii():
                total += 0 if size == 1 else 1 + size // 8
            elif first.isascii():
                total += 1
            else:
                total += len(piece.encode("utf-8", "replace")) * 2 // 3 + 1
        return total


def pack(answer: Answer, budget_tokens: int, tokenizer: Tokenizer | None = None) -> Context:
    """Put the hits of an answer into one text of at most `budget_tokens`, best first."""
    count = (tokenizer or SafeEstimate()).count
    blocks: list[str] = []
    sources: list[PackedSource] = []
    left_out: list[Hit] = []
    for hit in answer.hits:
        number = len(sources) + 1
        header = source_line(number, hit)
        block = f"{header}\n{hit.text}"
        truncated = False
        if count(_join([*blocks, block])) > budget_tokens:
            block = _cut_to_fit(blocks, header, hit.text, budget_tokens, count)
            truncated = True
        if not block:
            left_out.append(hit)
            continue
        blocks.append(block)
        sources.append(PackedSource(number, hit, block[len(header) + 1 :], truncated))
    text = _join(blocks)
    return Context(
        text=text,
        tokens=count(text),
        budget_tokens=budget_tokens,
        sources=tuple(sources),
        left_out=tuple(left_out),
        reason=answer.reason,
        detail=answer.detail,
    )


def source_line(number: int, hit: Hit) -> str:
    """`[1] notes/plan.md:12-30 (Plan > Risks)`: the number to cite, where to look, what it is about."""
    where = f"p. {hit.page}" if hit.page is not None else f"{hit.line_start}-{hit.line_end}"
    joint = " " if hit.page is not None else ":"
    about = " > ".join(hit.heading_path) or hit.document.title
    line = f"[{number}] {hit.document.path}{joint}{where}" + (f" ({about})" if about else "")
    return " ".join(line.split())


def _join(blocks: Sequence[str]) -> str:
    return SEPARATOR.join(blocks)


def _cut_to_fit(
    blocks: Sequence[str], header: str, text: str, budget_tokens: int, count: Callable[[str], int]
) -> str:
    """The longest beginning of `text`, cut at a break, that still fits behind what is packed; empty if too short."""
    ends = [match.start() for match in _BREAK.finditer(text) if match.start() > 0]
    low, high, best = 0, len(ends) - 1, ""
    while low <= high:
        middle = (low + high) // 2
        block = f"{header}\n{text[: ends[middle]].rstrip()} …"
        if count(_join([*blocks, block])) <= budget_tokens:
            best, low = block, middle + 1
        else:
            high = middle - 1
    return best if best and count(best) - count(header) >= MIN_TRUNCATED_TOKENS else ""
