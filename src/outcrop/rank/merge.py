"""Ordered chunks to hits: identical texts once, neighbours joined (L1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from outcrop.records import Explanation, Hit, MatchType, StoredChunk

MAX_MERGED: Final = 6
"""Chunks in one hit at most: past about a thousand tokens a hit is a document, not a passage."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A chunk with its final score and the reasons for it."""

    chunk: StoredChunk
    score: float
    why: Explanation


def merge_hits(ordered: Iterable[Scored], limit: int, *, merge: bool = True) -> list[Hit]:
    """The best `limit` hits from chunks in order of score.

    A chunk whose text was seen already is left out. A chunk next to one already taken, in the same document and on
    the same page, joins it: the hit keeps the better score, all chunk ids, the smaller page and index.
    """
    groups: list[list[Scored]] = []
    at: dict[tuple[int, int], list[Scored]] = {}
    texts: set[str] = set()
    for scored in ordered:
        chunk = scored.chunk
        text = " ".join(chunk.text.split())
        if text in texts:
            continue
        beside = _groups_beside(chunk, at) if merge else []
        if not beside:
            if len(groups) == limit:
                break
            groups.append([])
        group = beside[0] if beside else groups[-1]
        group.append(scored)
        texts.add(text)
        if len(beside) > 1 and len(group) + len(beside[1]) <= MAX_MERGED:
            # This chunk closes the gap between two hits: they become one, at the place of the better.
            first, second = sorted(beside, key=lambda g: -g[0].score)
            first.extend(second)
            groups = [g for g in groups if g is not second]
            group = first
        for member in group:
            at[chunk.document.id, member.chunk.index] = group
    return [_as_hit(group) for group in groups]


def _groups_beside(chunk: StoredChunk, at: dict[tuple[int, int], list[Scored]]) -> list[list[Scored]]:
    found: list[list[Scored]] = []
    for index in (chunk.index - 1, chunk.index + 1):
        group = at.get((chunk.document.id, index))
        if group is not None and len(group) < MAX_MERGED and group[0].chunk.page == chunk.page:
            found.append(group)
    return found


def _as_hit(group: Sequence[Scored]) -> Hit:
    best = group[0]
    chunks = sorted((scored.chunk for scored in group), key=lambda chunk: chunk.index)
    first, last = chunks[0], chunks[-1]
    similarity = best.why.similarity
    return Hit(
        chunk_ids=tuple(chunk.id for chunk in chunks),
        document=first.document,
        text=_join(chunks),
        start=first.start,
        end=max(chunk.end for chunk in chunks),
        line_start=first.line_start,
        line_end=last.line_end,
        page=first.page,
        heading_path=first.heading_path,
        index=first.index,
        tokens=sum(chunk.tokens for chunk in chunks),
        score=best.score,
        distance=None if similarity is None else 1 - similarity,
        match_type=match_type(best.why),
        why=replace(best.why, matched_terms=_all_terms(group)),
    )


def match_type(why: Explanation) -> MatchType:
    """By which leg a hit was found."""
    if why.lexical_rank is None:
        return "semantic"
    return "keyword" if why.dense_rank is None else "both"


def _join(chunks: Sequence[StoredChunk]) -> str:
    """One text from neighbours: what overlaps stands once; what separates them is at most blank space."""
    text, end = chunks[0].text, chunks[0].end
    for chunk in chunks[1:]:
        text += chunk.text[end - chunk.start :] if chunk.start < end else chunk.gap + chunk.text
        end = max(end, chunk.end)
    return text


def _all_terms(group: Sequence[Scored]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for scored in group for term in scored.why.matched_terms))
