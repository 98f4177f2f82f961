"""Pages of words at any place: each word is in the lines once, headings and what is left out are lines of the page."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from outcrop.parse.layout.cover import title_of
from outcrop.parse.layout.edges import find_running
from outcrop.parse.layout.headings import find_headings
from outcrop.parse.layout.letters import Box, Font, Piece
from outcrop.parse.layout.order import Line, arrange
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target, need

WORDS = (
    "Total",
    "1,452.4",
    "$",
    "2019",
    "%",
    "•",
    "and",
    "a|b",
    "(56.7)",
    "3",
    "Page4",
    "end-\x02",
    "Abstract",
    "ships",
)
HEIGHT = 1_020.0
OF_PIECE = 6
OF_RULE = 4
MAX_PIECES = 60
"""Of a page."""


def _make(chance: random.Random, seeds: Seeds) -> bytes:  # noqa: ARG001
    """Bytes at any place, or in columns and rows as pages have them."""
    pages = []
    for _ in range(chance.randrange(1, 5)):
        pieces = []
        columns = [chance.randrange(200) for _ in range(chance.randrange(1, 5))]
        for row in range(chance.randrange(1, 14)):
            for column in columns:
                jitter = chance.choice((0, 0, 0, chance.randrange(30)))
                place = (min(column + jitter, 255), min(12 * row + jitter // 4, 255))
                pieces.append(
                    bytes((*place, chance.randrange(80), chance.choice((8, 8, 8, 20)), *chance.randbytes(2)))
                )
        rules = chance.randbytes(OF_RULE * chance.choice((0, 0, 3, 8)))
        pages.append(
            bytes((len(pieces[:MAX_PIECES]), len(rules) // OF_RULE)) + b"".join(pieces[:MAX_PIECES]) + rules
        )
    data = b"".join(pages)
    return data if chance.random() < 0.7 else chance.randbytes(len(data))


def _read(data: bytes) -> list[tuple[list[Piece], list[Box], list[Box]]]:
    """The pages that some bytes mean."""
    pages: list[tuple[list[Piece], list[Box], list[Box]]] = []
    at = 0
    while at + 2 <= len(data) and len(pages) < 8:
        count, drawn = data[at] % (MAX_PIECES + 1), data[at + 1] % 40
        at += 2
        pieces: list[Piece] = []
        for part in (data[start : start + OF_PIECE] for start in range(at, at + count * OF_PIECE, OF_PIECE)):
            if len(part) == OF_PIECE:
                pieces.append(_as_piece(part, pieces[-1].line if pieces else 0))
        at += count * OF_PIECE
        rules = [data[start : start + OF_RULE] for start in range(at, at + drawn * OF_RULE, OF_RULE)]
        at += drawn * OF_RULE
        whole = (rule for rule in rules if len(rule) == OF_RULE)
        boxes = [(2.0 * x, 4.0 * y, 2.0 * (x + far), 4.0 * (y + low)) for x, y, far, low in whole]
        pages.append((pieces, boxes[::2], boxes[1::2]))
    return pages


def _as_piece(part: bytes, line: int) -> Piece:
    left, top, width, height, style, word = part
    words = [WORDS[word % len(WORDS)]] * (1 + style % 3)
    step = width / len(words)
    return Piece(
        " ".join(words),
        2.0 * left,
        4.0 * top,
        2.0 * left + width,
        4.0 * top + height / 2,
        line + (style >> 6 > 0),
        float(style % 24),
        Font(bool(style & 32), bool(style & 16)),
        [2.0 * left + step * number for number in range(len(words))],
    )


def check_pages(data: bytes) -> None:
    """Arrange pages and hold each step to its promise."""
    pages: list[list[Line]] = []
    for pieces, across, down in _read(data):
        lines = arrange(pieces, across, down)
        need(
            _letters(line.text for line in lines) == _letters(piece.text for piece in pieces), "each word once"
        )
        pages.append(lines)
    running = find_running(pages, [HEIGHT] * len(pages))
    need(all(0 <= at < len(pages[page]) for page, at in running), "what is left out are lines")
    for number, lines in enumerate(pages):
        need(not lines or len({at for page, at in running if page == number}) < len(lines), "no page loses all")
    places = [(page, at) for page, at, _, _ in find_headings(pages)]
    need(places == sorted(set(places)), "headings are in order")
    need(all(0 <= at < len(pages[page]) for page, at in places), "headings are lines")
    title_of(pages).encode("utf-8")


def _letters(texts: Iterable[str]) -> Counter[str]:
    return Counter(letter for text in texts for letter in text if letter.isalnum())


LAYOUTS = (Target("layout", 10_000, _make, check_pages, "each word once, in some order, with bounded work"),)
"""What reads the places of words on pages."""
