"""Hits in source code to one XML text within a token budget: the bodies of what is most likely right before breadth.

Chunks are taken whole in the order of what they are worth a token, and with them what stands beside a hit in its file:
the body below a docstring, the rest of a long function. What no longer fits is shortened to its signature and the lines
that matched. The text is one well-formed document whatever the code holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from outcrop.code.elements import (
    CLOSING,
    DESCRIBED_FROM_TOKENS,
    attributes_of,
    clean,
    content_of,
    element,
    lines_of,
    say_commits,
)
from outcrop.code.elide import elide, matched_lines
from outcrop.code.worth import order_by_worth
from outcrop.config import DEFAULT_TOKENIZER
from outcrop.rank.merge import join_hits
from outcrop.records import Context, Hit, PackedSource
from outcrop.system.dataclass import dataclass
from outcrop.text.tokens import vocabulary

Count = Callable[[str], int]
COUNT_EXACTLY: Final = vocabulary(DEFAULT_TOKENIZER).count

MATCHED_LINES: Final = 12
"""Lines that matched and are kept; where more match they are no longer what sets this chunk apart."""
WORTHWHILE_TOKENS: Final = 24
"""Room below this is not given back: it buys no line and its header."""
MIN_TOKENS: Final = 40
"""A chunk is shortened to no less than this beside its frame, unless it is that short or there is nothing else; a stump
helps nobody (not measured)."""
COMMENTARY_SHARE: Final = 0.25
"""Commentary may cost this share of the content that it explains (not measured)."""


def pack_code(
    hits: Sequence[Hit],
    budget_tokens: int,
    *,
    must: Sequence[Hit] = (),
    beside: Sequence[Hit] = (),
    count: Count = COUNT_EXACTLY,
) -> Context:
    """Put hits, best first, into one text of at most `budget_tokens`; empty when not one of them fits.

    The hits of `must` come first: whole if they fit, else shortened, else in `left_out` and named in `detail` with the
    budget that would do. Those of `beside` come along where they are worth it, and are not missed where they are not.
    """
    pieces = _line_up(must, hits, beside, budget_tokens, count)
    shelf = _Shelf(pieces, budget_tokens, count)
    needed = shelf.place_musts()
    shelf.fill()
    text, sources = shelf.settle()
    found = {hit.chunk_ids for hit in (*must, *hits)}
    return Context(
        text=text,
        tokens=count(text),
        budget_tokens=budget_tokens,
        sources=tuple(sources),
        left_out=tuple(piece.hit for piece in pieces if piece.shown is None and piece.hit.chunk_ids in found),
        detail="; ".join(
            f"must {piece.hit.place} did not fit: raise the length to at least {max(needed, budget_tokens + 1)}"
            for piece in pieces
            if piece.must and piece.shown is None
        ),
    )


@dataclass(eq=False)
class _Piece:
    """A hit on its way into the text: what of it is shown, and what that costs."""

    hit: Hit
    rank: int
    must: bool
    attributes: str
    count: Count
    shown: str | None = None
    commented: bool = False
    content_cost: int = 0
    comment_cost: int = 0

    @property
    def cost(self) -> int:
        """What it takes of the budget now."""
        return 0 if self.shown is None else self.frame_cost + self.content_cost

    @property
    def is_whole(self) -> bool:
        return self.shown == self.hit.text

    @cached_property
    def keep(self) -> list[int]:
        """The lines that matched, the most telling first."""
        why = self.hit.why
        return matched_lines(self.hit.text, why.matched_terms, why.matched_phrases)[:MATCHED_LINES]

    @cached_property
    def whole_cost(self) -> int:
        """What its whole content adds to the element around it."""
        return self._add_content(self.hit.text)

    @cached_property
    def bare_cost(self) -> int:
        """What the element costs with neither content nor commentary."""
        return self.count(element(self.attributes, "", ""))

    @property
    def frame_cost(self) -> int:
        """What the element costs around its content; the content's own cost is counted apart, once."""
        return self.bare_cost + self.comment_cost

    @property
    def commentary(self) -> str:
        notes = self.hit.code
        return clean(" ".join(notes.summary.split())) if self.commented and notes else ""

    def count_content(self, text: str) -> int:
        """What so much of it adds to the element around it."""
        return self.whole_cost if text == self.hit.text else self._add_content(text)

    def _add_content(self, text: str) -> int:
        """Counted in its place, not alone: between two tags that meet, `></`, it takes a token apart."""
        return self.count(element(self.attributes, "", content_of(text))) - self.bare_cost

    def shorten(self, room: int, keep: Sequence[int], *, least_only: bool = False) -> str | None:
        """The content in at most `room` tokens, frame included; None when it cannot be."""
        room -= self.frame_cost
        if room <= 0:
            return None
        return elide(self.hit.text, keep, room, self.count_content, least_only=least_only)


class _Shelf:
    """The pieces and the room that is left. Costs are of pieces apart; `settle` counts the text they make together."""

    def __init__(self, pieces: Sequence[_Piece], budget_tokens: int, count: Count) -> None:
        self.pieces = pieces
        self.budget_tokens = budget_tokens
        self.count = count
        self.opening = say_commits([piece.hit for piece in pieces], budget_tokens).opening
        self.room = budget_tokens - count(self.opening + CLOSING)

    def place_musts(self) -> int:
        """Each must in its shortest form, then each as long as there is room; the budget that all of them need."""
        musts = [piece for piece in self.pieces if piece.must]
        needed = self.budget_tokens - self.room
        for piece in musts:
            least = piece.shorten(sys.maxsize, (), least_only=True) or piece.hit.text
            shortest = min(least, piece.hit.text, key=piece.count_content)
            cost = piece.frame_cost + piece.count_content(shortest)
            needed += cost
            if cost <= self.room:
                self._put(piece, shortest)
        for piece in musts:
            if piece.shown is not None and (longer := piece.shorten(piece.cost + self.room, piece.keep)):
                self._put(piece, longer)
        return needed

    def fill(self) -> None:
        """Give the room to the pieces in their order: each whole, or as much of it as there is room for."""
        least = MIN_TOKENS if any(piece.shown is not None for piece in self.pieces) else 0
        for piece in self.pieces:
            if self.room < WORTHWHILE_TOKENS:
                return
            if piece.is_whole:
                continue
            text = piece.shorten(piece.cost + self.room, piece.keep)
            if text is None or len(text) <= len(piece.shown or ""):
                continue
            if piece.shown or text == piece.hit.text or piece.count_content(text) >= least:
                self._put(piece, text)
                least = MIN_TOKENS
        for piece in self.pieces:
            if piece.shown is not None:
                self._comment(piece)

    def _comment(self, piece: _Piece) -> None:
        """Say what a piece is about, from room that its lines do not need."""
        notes = piece.hit.code
        if (
            piece.commented
            or self.budget_tokens < DESCRIBED_FROM_TOKENS
            or not (notes and notes.summary.strip())
        ):
            return
        piece.commented = True
        more = self.count(element(piece.attributes, piece.commentary, "")) - piece.bare_cost
        if more + WORTHWHILE_TOKENS > self.room or more > COMMENTARY_SHARE * piece.content_cost:
            piece.commented = False
        else:
            piece.comment_cost = more
            self.room -= more

    def _put(self, piece: _Piece, text: str) -> None:
        """Show this text of a piece, for which there is room."""
        self.room += piece.cost
        piece.shown, piece.content_cost = text, piece.count_content(text)
        self.room -= piece.cost

    def settle(self) -> tuple[str, list[PackedSource]]:
        """The text, counted as a whole: over the budget its last pieces go, well under it the best ones grow.

        Joining neighbours sets room free, which is given back until nobody takes it. That ends, for a piece only
        becomes longer: of 3 000 packs by chance, 6 had something to give a second time.
        """
        text, sources = self._render()
        while (tokens := self.count(text)) > self.budget_tokens:
            next(piece for piece in reversed(self.pieces) if piece.shown is not None).shown = None
            text, sources = self._render()
        while True:
            self.room = self.budget_tokens - tokens
            before = [piece.shown for piece in self.pieces]
            self.fill()
            longer, longer_sources = self._render()
            if longer == text:
                return text, sources
            if (more := self.count(longer)) > self.budget_tokens:
                for piece, previous in zip(self.pieces, before, strict=True):
                    piece.shown = previous  # the text of the round before stands
                return text, sources
            text, sources, tokens = longer, longer_sources, more

    def _count_whole(self, piece: _Piece) -> int:
        return self.count(content_of(piece.hit.text))

    def _count_shown(self, piece: _Piece) -> int:
        return self.count(content_of(piece.shown or ""))

    def _render(self) -> tuple[str, list[PackedSource]]:
        """One element for each run of neighbouring chunks; files by their best piece, within a file by line."""
        shown = [piece for piece in self.pieces if piece.shown is not None]
        if not shown:
            return "", []
        best: dict[int, int] = {}
        for piece in shown:
            best.setdefault(piece.hit.document.id, piece.rank)
        shown.sort(key=lambda piece: (best[piece.hit.document.id], piece.hit.start, piece.hit.index))
        elements: list[str] = []
        sources: list[PackedSource] = []
        for run in _runs(shown):
            hit, text = _join(run)
            leader = min(run, key=lambda piece: piece.rank)
            attributes = (
                leader.attributes
                if len(run) == 1
                else leader.attributes.replace(lines_of(leader.hit), lines_of(hit))
            )
            commentary = next((piece.commentary for piece in [leader, *run] if piece.commentary), "")
            elements.append(element(attributes, commentary, content_of(text)))
            truncated = not all(piece.is_whole for piece in run)
            tokens = (
                (sum(map(self._count_whole, run)), sum(map(self._count_shown, run)))
                if truncated
                else (None, None)
            )
            sources.append(PackedSource(len(sources) + 1, hit, text, truncated, *tokens))
        return f"{self.opening}{''.join(elements)}{CLOSING}", sources


def _line_up(
    must: Sequence[Hit], hits: Sequence[Hit], beside: Sequence[Hit], budget_tokens: int, count: Count
) -> list[_Piece]:
    """Musts, then the others by their worth; a chunk that comes twice counts once, where it comes first."""
    seen: set[int] = set()
    chosen: list[tuple[Hit, bool]] = []
    others = order_by_worth(hits, beside)
    for hit, wanted in [*((hit, True) for hit in must), *((hit, False) for hit in others)]:
        if not seen.issuperset(hit.chunk_ids):
            chosen.append((hit, wanted))
            seen.update(hit.chunk_ids)
    said = say_commits([hit for hit, _ in chosen], budget_tokens)
    by_score = [*must, *sorted((*hits, *beside), key=lambda hit: -hit.score)]
    rank = {hit.chunk_ids: len(by_score) - i for i, hit in enumerate(reversed(by_score))}
    return [
        _Piece(hit, rank[hit.chunk_ids], wanted, attributes_of(hit, budget_tokens, said), count)
        for hit, wanted in chosen
    ]


def _runs(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """Pieces in order of file and line, those that are neighbours in their document together."""
    runs: list[list[_Piece]] = []
    for piece in pieces:
        before = runs[-1][-1].hit if runs else None
        if (
            before is not None
            and before.document.id == piece.hit.document.id
            and before.page == piece.hit.page
            and before.index + len(before.chunk_ids) == piece.hit.index
            and before.end <= piece.hit.start
        ):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return runs


def _join(run: Sequence[_Piece]) -> tuple[Hit, str]:
    """Neighbours as one hit, and the text that is shown of it."""
    shown = run[0].shown or ""
    for piece in run[1:]:
        shown += (piece.hit.gap if "\n" in piece.hit.gap else "\n") + (piece.shown or "")
    best = min(run, key=lambda piece: piece.rank).hit
    return join_hits([piece.hit for piece in run], best), shown
