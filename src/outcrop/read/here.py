"""Where one stands is the scope: the project that holds a folder is asked first, others are named if clearly better."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from outcrop.records import Answer, Elsewhere

CLEARLY: Final = 1.25
"""How many times the best score here a hit elsewhere must have to be worth a line (not measured)."""
MIN_SCORE: Final = 0.3
"""What scores less is seldom right, so it is no better than what is here."""
MAX_NAMED: Final = 3
NOTES: Final = "kb"
"""The collection of notes that agents keep, which belongs to every project."""


def projects_at(here: str, roots: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The collections of the innermost added folder that holds this one; none where it is in no project."""
    place = f"{here.rstrip('/')}/"
    holding = [(len(root), name) for name, root in roots if place.startswith(f"{root.rstrip('/')}/")]
    longest = max((length for length, _ in holding), default=-1)
    return tuple(sorted({name for length, name in holding if length == longest}))


def find_better(inside: Answer, beyond: Answer) -> tuple[Elsewhere, ...]:
    """The best hit of each other collection that is clearly better than all that is here, best first."""
    best = inside.hits[0].score if inside.hits else 0.0
    least = max(CLEARLY * best, MIN_SCORE)
    found: dict[str, Elsewhere] = {}
    for hit in beyond.hits:
        if hit.score >= least:
            name = hit.document.collection
            found.setdefault(name, Elsewhere(name, hit.place, hit.score))
    return tuple(found.values())[:MAX_NAMED]


def tell_better(found: Iterable[Elsewhere]) -> str:
    """The same as a sentence."""
    named = ", ".join(f"{each.collection} ({each.place}, {each.score:.2f})" for each in found)
    return f"better matches elsewhere: {named}" if named else ""
