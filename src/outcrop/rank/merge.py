"""Ordered chunks to hits: identical texts once and neighbours joined (L1), near copies and boilerplate once (C11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from outcrop.rank.copies import Copies
from outcrop.rank.repeats import Shown
from outcrop.records import Explanation, Hit, MatchType, StoredChunk

MAX_MERGED: Final = 6
"""Chunks in one hit at most: past about a thousand tokens a hit is a document, not a passage."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk with its final score and the reasons for it."""

    chunk: StoredChunk
    score: float
    why: Explanation


class Fate(NamedTuple):
    """What became of a chunk that is no hit of its own, and of which other chunk's sake."""

    reason: str
    other: int | None = None


def as_hit(scored: Scored) -> Hit:
    """One chunk as a hit."""
    chunk, similarity = scored.chunk, scored.why.similarity
    return Hit(
        chunk_ids=(chunk.id,),
        document=chunk.document,
        text=chunk.text,
        start=chunk.start,
        end=chunk.end,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        page=chunk.page,
        heading_path=chunk.heading_path,
        index=chunk.index,
        tokens=chunk.tokens,
        score=scored.score,
        distance=None if similarity is None else 1 - similarity,
        match_type=match_type(scored.why),
        why=scored.why,
        gap=chunk.gap,
        code=chunk.code,
        headings=chunk.headings,
    )


def merge_hits(
    ordered: Iterable[Hit],
    limit: int,
    *,
    merge: bool = True,
    repeats: bool = False,
    fates: dict[int, Fate] | None = None,
) -> list[Hit]:
    """The best `limit` hits from hits of one chunk each, in order of score.

    A chunk whose text was seen already is left out; so are near copies, and boilerplate that repeats an earlier hit's,
    unless `repeats` lets them in. A hit says where else it stands, as far as that was looked at: all of `ordered` is,
    once there is a copy. A chunk next to one already taken, in the same document and on the same page, joins it: the
    hit keeps the better score, its heading and its code, all chunk ids, the smaller page and index. `fates` is told of
    every chunk that did not become a hit of its own.
    """
    fates = {} if fates is None else fates
    groups: list[list[Hit]] = []
    at: dict[tuple[int, int], list[Hit]] = {}
    texts: dict[str, int] = {}
    shown = Shown()
    copies = Copies()
    is_full = False
    for hit in ordered:
        text = " ".join(hit.text.split())
        if text in texts:
            fates[hit.chunk_ids[0]] = Fate("same text as", texts[text])
            copies.note(texts[text], hit)
            continue
        if not repeats and shown.repeats(hit):
            fates[hit.chunk_ids[0]] = Fate("boilerplate")
            continue
        beside = _groups_beside(hit, at) if merge and not is_full else []
        original = None if repeats else copies.original(hit)
        if original is not None and not any(original in part.chunk_ids for group in beside for part in group):
            fates[hit.chunk_ids[0]] = Fate("near copy of", original)
            copies.note(original, hit)
            continue
        if is_full:
            continue
        if not beside:
            if len(groups) == limit:
                if not copies:
                    break
                is_full = True  # the rest is only looked at for more copies
                continue
            groups.append([])
        group = beside[0] if beside else groups[-1]
        group.append(hit)
        if beside:
            fates[hit.chunk_ids[0]] = Fate("merged into", group[0].chunk_ids[0])
        texts[text] = hit.chunk_ids[0]
        shown.add(hit)
        copies.take(hit)
        if len(beside) > 1 and len(group) + len(beside[1]) <= MAX_MERGED:
            # This chunk closes the gap between two hits: they become one, at the place of the better.
            first, second = sorted(beside, key=lambda g: -g[0].score)
            first.extend(second)
            fates[second[0].chunk_ids[0]] = Fate("merged into", first[0].chunk_ids[0])
            groups = [g for g in groups if g is not second]
            group = first
        for member in group:
            at[hit.document.id, member.index] = group
    return [copies.told(_join(group), group) for group in groups]


def _groups_beside(hit: Hit, at: dict[tuple[int, int], list[Hit]]) -> list[list[Hit]]:
    found: list[list[Hit]] = []
    for index in (hit.index - 1, hit.index + 1):
        group = at.get((hit.document.id, index))
        if group is not None and len(group) < MAX_MERGED and group[0].page == hit.page:
            found.append(group)
    return found


def _join(group: Sequence[Hit]) -> Hit:
    """Neighbours, best first, as one hit; what overlaps stands once, what separates them is at most blank space."""
    best = group[0]
    if len(group) == 1:
        return best
    first, *others = sorted(group, key=lambda hit: hit.index)
    text, end = first.text, first.end
    for hit in others:
        text += hit.text[end - hit.start :] if hit.start < end else hit.gap + hit.text
        end = max(end, hit.end)
    terms = tuple(dict.fromkeys(term for hit in group for term in hit.why.matched_terms))
    return replace(
        first,
        chunk_ids=tuple(id_ for hit in (first, *others) for id_ in hit.chunk_ids),
        text=text,
        end=end,
        line_end=others[-1].line_end,
        tokens=sum(hit.tokens for hit in group),
        score=best.score,
        distance=best.distance,
        match_type=best.match_type,
        heading_path=best.heading_path,
        headings=tuple(dict.fromkeys(path for hit in (first, *others) for path in hit.headings)),
        why=replace(best.why, matched_terms=terms),
        code=best.code,
    )


def match_type(why: Explanation) -> MatchType:
    """By which leg a hit was found."""
    if why.lexical_rank is None:
        return "semantic"
    return "keyword" if why.dense_rank is None else "both"
