"""Near copies among hits: a passage that many files repeat is shown once, with the places of the others.

Two passages are near copies where nine in ten of their words are the same. What they differ in must not be what was
asked for: of two sections that differ in an error's number, both are shown to whoever asks for one of the numbers. In
prose numbers are never a detail: a report says the same of each year, and means another year.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from outcrop.records import Copy, Hit

SAME_SHARE: Final = 0.9
"""Words of the longer passage that the other must hold too, each as often: a helper of thirty words with its name, a
constant and a message changed is a copy, two functions of one shape are not (not measured)."""
MIN_WORDS: Final = 12
"""In a shorter passage a single word may be all that matters; there only equal texts are copies (not measured)."""
MAX_LONGER: Final = 1.3
"""How much longer one text may be, with its spaces and marks, before words are compared at all (not measured)."""
MAX_PLACES: Final = 20
"""Copies of a hit that are named; more are counted (not measured)."""

_WORD: Final = re.compile(r"\w+")


class _Passage:
    """A passage as copies are told by; most are never compared, so its words are read when one is."""

    def __init__(self, hit: Hit) -> None:
        self.chunk_id = hit.chunk_ids[0]
        self._text = hit.text
        self._asked = frozenset(hit.why.matched)
        self._is_code = hit.document.kind == "code"

    @cached_property
    def words(self) -> list[str]:
        """All its words."""
        return _WORD.findall(self._text.lower())

    @cached_property
    def distinct(self) -> frozenset[str]:
        """Each of its words once."""
        return frozenset(self.words)

    @cached_property
    def numbers(self) -> list[str]:
        """Its words with a digit, in the order they stand in."""
        return [word for word in self.words if not word.isalpha() and any(map(str.isdigit, word))]

    def is_copy_of(self, other: _Passage) -> bool:
        """Whether the two say the same, but for words that nobody asked for."""
        # What was not found by words (a chunk that others refer to) was not asked for by any.
        if self._asked != other._asked and self._asked and other._asked:
            return False
        if not 1 / MAX_LONGER < (len(self._text) + 1) / (len(other._text) + 1) < MAX_LONGER:
            return False
        most = max(len(self.words), len(other.words))
        may_differ = int((1 - SAME_SHARE) * most + 1e-9)
        if most < MIN_WORDS or len(self.distinct ^ other.distinct) > 2 * may_differ:
            return False
        if (Counter(self.words) & Counter(other.words)).total() < most - may_differ:
            return False
        return (self._is_code and other._is_code) or self.numbers == other.numbers


class Copies:
    """The hits that are taken, and the copies of them that were left out."""

    def __init__(self) -> None:
        self._taken: list[_Passage] = []
        self._found: dict[int, list[Copy]] = {}

    def __bool__(self) -> bool:
        """Whether any copy was found."""
        return bool(self._found)

    def take(self, hit: Hit) -> None:
        """Remember a hit that is shown."""
        self._taken.append(_Passage(hit))

    def original(self, hit: Hit) -> int | None:
        """The chunk that is shown already and of which a hit is a near copy."""
        passage = _Passage(hit)
        return next((taken.chunk_id for taken in self._taken if passage.is_copy_of(taken)), None)

    def note(self, original: int, hit: Hit) -> None:
        """Remember where else a chunk that is shown stands."""
        document = hit.document
        copy = Copy(hit.chunk_ids[0], document.id, document.collection, document.path, hit.place)
        self._found.setdefault(original, []).append(copy)

    def told(self, hit: Hit, parts: Sequence[Hit] = ()) -> Hit:
        """A hit with the places of its copies; `parts` are the hits it was joined from."""
        places = [copy for id_ in hit.chunk_ids for copy in self._found.get(id_, ())]
        before = [part for part in parts or (hit,) if part.copies]
        # Neighbours are repeated together: a file that repeats both is one more place.
        known = {copy.document_id: copy for copy in (*(c for part in before for c in part.also), *places)}
        if not known:
            return hit
        unnamed = max((part.copies - len(part.also) for part in before), default=0)
        also = tuple(known.values())
        return replace(hit, copies=len(also) + unnamed, also=also[:MAX_PLACES])


def join_copies(hits: Iterable[Hit]) -> list[Hit]:
    """Hits, best first, without near copies of earlier ones, which name the places instead."""
    copies = Copies()
    shown: list[Hit] = []
    for hit in hits:
        original = copies.original(hit)
        if original is None:
            copies.take(hit)
            shown.append(hit)
        else:
            copies.note(original, hit)
    return [copies.told(hit) for hit in shown]
