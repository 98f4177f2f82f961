"""Hits in source code to one XML text within a token budget: many files at a small one, whole declarations at a large.

Every file that is likely to matter first gets its best chunk, shortened to the signature and the line that matched;
what is left of the budget then makes the best ones whole. The text is one well-formed document whatever the code holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from outcrop.code.elements import (
    CLOSING,
    DESCRIBED_FROM_TOKENS,
    OPENING,
    attributes_of,
    clean,
    content_of,
    element,
    lines_of,
    repository_of,
)
from outcrop.code.elide import elide, matched_lines
from outcrop.config import DEFAULT_TOKENIZER
from outcrop.rank.merge import join_hits
from outcrop.records import Context, Hit, PackedSource
from outcrop.text.tokens import vocabulary

Count = Callable[[str], int]
COUNT_EXACTLY: Final = vocabulary(DEFAULT_TOKENIZER).count

# How a budget is shared out was not tuned; `benchmarks/code/budget.py` shows what comes of it.
FILES_AT_500: Final = 5.5
FILES_EXPONENT: Final = 0.72
"""5 or 6 files at 500 tokens, 15 at 2 000, 40 at 8 000: ever more files, and ever more of each."""
BEST_SHARE: Final = 0.4
SHARE_DECAY: Final = 0.5
"""The best hit may take 40 % of the budget, the second 27 %, the third 20 %: who is wrong about the best is not wrong
about everything."""
MATCHED_LINES: Final = 12
"""Lines that matched and are kept; where more match they are no longer what sets this chunk apart."""
WORTHWHILE_TOKENS: Final = 24
"""Room below this is not given back: it buys no line and its header."""


def pack_code(
    hits: Sequence[Hit],
    budget_tokens: int,
    *,
    must: Sequence[Hit] = (),
    count: Count = COUNT_EXACTLY,
) -> Context:
    """Put hits, best first, into one text of at most `budget_tokens`; empty when not one of them fits.

    The hits of `must` come first: whole if they fit, else shortened, else in `left_out` and named in `detail` with the
    budget that would do.
    """
    pieces = _line_up(must, hits, budget_tokens, count)
    shelf = _Shelf(pieces, budget_tokens, count)
    needed = shelf.place_musts()
    files = _first_of_each_file(pieces)
    target = max(1, round(FILES_AT_500 * (max(shelf.room, 1) / 500) ** FILES_EXPONENT))
    share = shelf.room // target
    shelf.spread(files[:target], share)
    shelf.grow()
    shelf.spread(files, share)
    shelf.spread(files, shelf.room)  # what was too long for its share
    shelf.grow(capped=False)
    text, sources = shelf.settle()
    return Context(
        text=text,
        tokens=count(text),
        budget_tokens=budget_tokens,
        sources=tuple(sources),
        left_out=tuple(piece.hit for piece in pieces if piece.shown is None),
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

    def __post_init__(self) -> None:
        self.weigh()

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

    def weigh(self) -> None:
        """What the element costs around its content; the content's own cost is counted apart, once."""
        self.frame_cost = self.count(element(self.attributes, self.commentary, ""))

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
        self.room = budget_tokens - count(OPENING + CLOSING)

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

    def spread(self, pieces: Iterable[_Piece], share: int) -> None:
        """Give each piece that is not in yet its signature and the line that matched best, or the signature alone."""
        for piece in pieces:
            if piece.shown is not None:
                continue
            tries = ((share, piece.keep[:1]), (share, ()), (2 * share, ()))
            for room, keep in tries:
                text = piece.shorten(min(room, self.room), keep, least_only=True)
                if text is not None:
                    self._put(piece, text)
                    break

    def grow(self, *, capped: bool = True) -> None:
        """Give what is left to the best: more of their lines, commentary, and further chunks of their files."""
        here = {piece.hit.document.id for piece in self.pieces if piece.shown is not None}
        for rank, piece in enumerate(self.pieces):
            if self.room < WORTHWHILE_TOKENS:
                return
            if piece.hit.document.id not in here:
                continue
            self._comment(piece)
            room = piece.cost + self.room
            if capped:
                room = min(room, int(BEST_SHARE / (1 + SHARE_DECAY * rank) * self.budget_tokens))
            text = piece.shorten(room, piece.keep)
            if text is not None and len(text) > len(piece.shown or ""):
                self._put(piece, text)

    def _comment(self, piece: _Piece) -> None:
        notes = piece.hit.code
        if (
            piece.commented
            or self.budget_tokens < DESCRIBED_FROM_TOKENS
            or notes is None
            or not notes.summary.strip()
        ):
            return
        plain_cost = piece.frame_cost
        piece.commented = True
        piece.weigh()
        more = piece.frame_cost - plain_cost
        if piece.shown is None:
            return
        if more + WORTHWHILE_TOKENS > self.room:
            piece.commented, piece.frame_cost = False, plain_cost
        else:
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
            shown = [piece for piece in self.pieces if piece.shown is not None]
            last = max(shown, key=lambda piece: (not piece.must, piece.rank))
            last.shown = None
            text, sources = self._render()
        while True:
            self.room = self.budget_tokens - tokens
            before = [piece.shown for piece in self.pieces]
            self.grow(capped=False)
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
        return f"{OPENING}{''.join(elements)}{CLOSING}", sources


def _line_up(must: Sequence[Hit], hits: Sequence[Hit], budget_tokens: int, count: Count) -> list[_Piece]:
    """Musts, then the other hits; a chunk that comes twice counts once, where it comes first."""
    seen: set[int] = set()
    chosen: list[tuple[Hit, bool]] = []
    for hit, wanted in [*((hit, True) for hit in must), *((hit, False) for hit in hits)]:
        if not seen.issuperset(hit.chunk_ids):
            chosen.append((hit, wanted))
            seen.update(hit.chunk_ids)
    several = len({repository_of(hit) for hit, _ in chosen} - {""}) > 1
    pieces = []
    for rank, (hit, wanted) in enumerate(chosen):
        pieces.append(_Piece(hit, rank, wanted, attributes_of(hit, budget_tokens, several), count))
    return pieces


def _first_of_each_file(pieces: Sequence[_Piece]) -> list[_Piece]:
    first: dict[int, _Piece] = {}
    for piece in pieces:
        first.setdefault(piece.hit.document.id, piece)
    return list(first.values())


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
