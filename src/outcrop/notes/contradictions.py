"""Which statements of different notes contradict each other: the same subject, another value.

By rules and similarity alone. Two statements are about the same subject when the words of their subjects are nearly the
same, or, where both hold a value of the same type, when what is around the values means nearly the same. It is a list
for people and agents to look through, not a verdict: a value may be true of another case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from outcrop.notes.statements import Statement
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted

SAME_WORDS: Final = 0.6
"""Share of the words of two subjects that are the same."""
SAME_HEADING: Final = 0.3
"""The same of headings, where a subject is one word: `limit: 3` says nothing without what it stands under."""
SAME_FACT: Final = 0.75
"""Share of all words that are the same where only a negation makes the difference."""
SAME_VALUE: Final = 0.34
"""Values that share more of their words than this say the same in other words."""
MAX_PER_TERM: Final = 60
"""Statements that a word may be in to bring them together: of commoner words all statements speak (not measured)."""
MAX_PAIRS: Final = 200_000
"""Pairs that are looked at, so that a list takes seconds at most (not measured)."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements that cannot both be true."""

    first: Statement
    second: Statement


def find_contradictions(statements: Sequence[Statement], only: str | None = None) -> list[Contradiction]:
    """The pairs of statements of different notes that contradict each other, in their order; `only` of one note with
    others."""
    found: dict[tuple[str, int, str, int], Contradiction] = {}
    for first, second in _pair_up(statements):
        if first.path == second.path or only not in (None, first.path, second.path):
            continue
        if contradict(first, second):
            key = (first.path, first.line, second.path, second.line)
            found.setdefault(key, Contradiction(first, second))
    return list(found.values())


def _pair_up(statements: Sequence[Statement]) -> Iterable[tuple[Statement, Statement]]:
    """Pairs that share a word of their subjects, rare words first, within bounds."""
    holders: dict[int, list[int]] = {}
    for place, statement in enumerate(statements):
        for term in statement.subject:
            holders.setdefault(term, []).append(place)
    seen: set[tuple[int, int]] = set()
    for places in sorted(holders.values(), key=len):
        if len(places) > MAX_PER_TERM or len(seen) >= MAX_PAIRS:
            break
        check_wanted()
        seen.update(combinations(places, 2))
    for first, second in sorted(seen):
        yield statements[first], statements[second]


def contradict(first: Statement, second: Statement) -> bool:
    """Whether two statements are about the same subject and give it different values."""
    if not _is_same_subject(first, second):
        return False
    if first.typed or second.typed:
        return _differing(first, second) and not _agreeing(first, second)
    if first.is_negated != second.is_negated:
        return share(first.subject | first.value, second.subject | second.value) >= SAME_FACT
    if first.shape != second.shape or not first.shape:
        return False
    return bool(first.value and second.value) and share(first.value, second.value) < SAME_VALUE


def _is_same_subject(first: Statement, second: Statement) -> bool:
    """Whether one subject is the other with further words: a word on either side tells two subjects apart. One word is
    enough between sentences of notes in one folder; notes of different folders, which may be of different projects,
    need more or the same heading, and so does `limit: 3`, which says nothing without what it stands under."""
    one, other = first.subject, second.subject
    if not (one <= other or other <= one):
        return False
    common, is_pair = len(one & other), "pair" in (first.shape, second.shape)
    needed = 1 + is_pair + 2 * (not _is_near(first.path, second.path))
    is_sure = common >= needed and (share(one, other) >= SAME_WORDS or common > 1)
    return is_sure or share(first.heading, second.heading) >= SAME_HEADING


def _is_near(path: str, other: str) -> bool:
    """Whether two notes are in one folder, or one of them is further down."""
    here, there = (f"{place.rpartition('/')[0]}/".lstrip("/") for place in (path, other))
    return here.startswith(there) or there.startswith(here)


def _differing(first: Statement, second: Statement) -> bool:
    """Whether both have values of one type, and none of them in common."""
    kinds = first.typed.keys() & second.typed.keys()
    return any(not first.typed[kind] & second.typed[kind] for kind in kinds)


def _agreeing(first: Statement, second: Statement) -> bool:
    """Whether they differ in more than one type or hold several values, and so speak of several things."""
    kinds = first.typed.keys() & second.typed.keys()
    return sum(not first.typed[kind] & second.typed[kind] for kind in kinds) > 1 and any(
        first.typed[kind] & second.typed[kind] for kind in kinds
    )


def share(one: frozenset[int], other: frozenset[int]) -> float:
    """How much of two sets is in both."""
    return len(one & other) / max(len(one | other), 1)


def count_by_path(found: Iterable[Contradiction]) -> Counter[str]:
    """How many contradictions each note is part of."""
    return Counter(path for each in found for path in {each.first.path, each.second.path})
