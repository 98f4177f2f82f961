"""What stands beside a hit in its document: the body below a docstring, the rest of a section or of a page.

A search finds chunks, and what answers is often the one after. In a trial on 96 commits of six repositories, asked with
`context`, parts of declarations that came along from unspent room lifted the share of hunks in 2 000 tokens from .48 to
.50 and in 8 000 from .50 to .55; for 97 commits that change pages of documentation it stayed the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from outcrop.records import Boost, Explanation, Hit, StoredChunk

Fetch = Callable[[Sequence[int]], Sequence[StoredChunk]]
"""The chunks of some ids, as far as they are there and may be shown."""

FILES: Final = 12
REACH: Final = 5
"""In how many documents, and how far on both sides of a hit, other chunks may come along: of commit messages the hunks
in 2 000 and 8 000 tokens are .46 and .52 with hits alone, .51 and .63 with one chunk, .52 and .68 with three, .52 and
.69 with five, .52 and .68 with all of the file (a trial on 269 commits of 11 repositories, outside the engine)."""
NEAR_SHARE: Final = 0.3
PART_SHARE: Final = 0.9
"""What a chunk scores against a hit beside it: 2.6 % of the hits hold a changed hunk there, .8 % of their neighbours.
In the same declaration it is 1.0 %; shares of .3 to .9 give the same within .01, and its parts belong together."""

_NOT_FOUND: Final = Explanation(None, None, None, None, 0.0)


def look_beside(hits: Sequence[Hit], fetch: Fetch, *, parts_only: bool = False) -> tuple[list[Hit], list[Hit]]:
    """The hits, those beside a better one lifted, and the chunks beside them in the best documents, with `parts_only`
    only those of the same declaration, section or page. The ids of a document's chunks are consecutive; where they are
    not, as after a change of it, a hit stays alone."""
    best = list(dict.fromkeys(hit.document.id for hit in hits))[:FILES]
    seeds = [hit for hit in hits if hit.document.id in best]
    ids = {hit.chunk_ids[0] + step for hit in seeds for step in range(-REACH, REACH + 1)}
    ids.difference_update(id_ for hit in hits for id_ in hit.chunk_ids)
    near: dict[tuple[int, int], Hit | StoredChunk] = {(hit.document.id, hit.index): hit for hit in hits}
    for chunk in fetch(sorted(ids)) if ids else ():  # where the store failed there are no hits
        near.setdefault((chunk.document.id, chunk.index), chunk)
    scores: dict[tuple[int, int], float] = {}
    for hit in seeds:
        for side in (-1, 1):
            score = hit.score
            for step in range(1, REACH + 1):
                place = (hit.document.id, hit.index + side * step)
                if place not in near:
                    break
                is_part = _is_part(hit, near[place])
                if parts_only and not is_part:
                    break
                score *= PART_SHARE if is_part else NEAR_SHARE
                scores[place] = max(score, scores.get(place, 0.0))
    lifted = [lift(hit, scores.get((hit.document.id, hit.index), 0.0), "beside") for hit in hits]
    fresh = ((chunk, scores[place]) for place, chunk in near.items() if place in scores)
    beside = [bring_in(chunk, score, "beside") for chunk, score in fresh if isinstance(chunk, StoredChunk)]
    return sorted(lifted, key=lambda hit: -hit.score), beside


def _is_part(hit: Hit, other: Hit | StoredChunk) -> bool:
    """Whether both are parts of one declaration, or of one section or page."""
    if hit.code is not None and other.code is not None:
        return hit.code.symbol != "" and hit.code.symbol == other.code.symbol
    if hit.page is not None or other.page is not None:
        return hit.page == other.page
    path = other.heading_path if isinstance(other, Hit) else other.shown_path
    return hit.heading_path != () and hit.heading_path == path


def lift(hit: Hit, least: float, name: str) -> Hit:
    """The hit with at least this score, and the reason."""
    if least <= hit.score:
        return hit
    why = replace(hit.why, boosts=(*hit.why.boosts, Boost(name, round(least - hit.score, 4))))
    return replace(hit, score=least, why=why)


def bring_in(chunk: StoredChunk, score: float, reason: str) -> Hit:
    """A chunk that no search found, as a hit."""
    return Hit.of(chunk, score, replace(_NOT_FOUND, boosts=(Boost(reason, round(score, 4)),)))
