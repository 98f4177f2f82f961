"""Ordered chunks to hits: neighbours are joined, and what repeats an earlier hit is left out: the same text, a near
copy, the boilerplate of another file (its licence, its imports, its stubs).

A passage that many files repeat is shown once, with the places of the others. Two passages are near copies where nine
in ten of their words are the same. What they differ in must not be what was asked for: of two sections that differ in
an error's number, both are shown to whoever asks for one of the numbers. In prose numbers are never a detail: a report
says the same of each year, and means another year.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from outcrop.records import Copy, Hit, WhyLeftOut

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
_ASCII_WORDS: Final = "".join(
    chr(code).lower() if chr(code).isalnum() or chr(code) == "_" else " " for code in range(128)
)
"""What each character of ASCII becomes before a text is split into words: a quarter of the time of the pattern."""


class _Passage:
    """A passage as copies are told by; most are never compared, so its words are read when one is."""

    __slots__ = ("_words", "asked", "chunk_id", "distinct", "is_code", "size", "text")

    def __init__(self, hit: Hit) -> None:
        self.chunk_id = hit.chunk_ids[0]
        self.text = hit.text
        self.size = len(hit.text) + 1
        self.asked = frozenset(hit.why.matched)
        self.is_code = hit.document.kind == "code"
        self._words: list[str] | None = None

    @property
    def words(self) -> list[str]:
        """All its words; from then on `distinct` has each of them once."""
        if self._words is None:
            text = self.text
            self._words = (
                text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text.lower())
            )
            self.distinct = frozenset(self._words)
        return self._words

    @property
    def numbers(self) -> list[str]:
        """Its words with a digit, in the order they stand in."""
        return [word for word in self.words if not word.isalpha() and any(map(str.isdigit, word))]

    def is_copy_of(self, other: _Passage) -> bool:
        """Whether the two say the same, but for words that nobody asked for."""
        if not 1 / MAX_LONGER < self.size / other.size < MAX_LONGER:
            return False
        # What was not found by words (a chunk that others refer to) was not asked for by any.
        if self.asked != other.asked and self.asked and other.asked:
            return False
        least, most = sorted((len(self.words), len(other.words)))
        may_differ = int((1 - SAME_SHARE) * most + 1e-9)
        if most < MIN_WORDS or least < most - may_differ:
            return False
        mine, theirs = self.distinct, other.distinct
        if abs(len(mine) - len(theirs)) > 2 * may_differ or len(mine ^ theirs) > 2 * may_differ:
            return False
        if (Counter(self.words) & Counter(other.words)).total() < most - may_differ:
            return False
        return (self.is_code and other.is_code) or self.numbers == other.numbers


class Copies:
    """The hits that are taken, and the copies of them that were left out."""

    def __init__(self) -> None:
        self._taken: list[_Passage] = []
        self._found: dict[int, list[Copy]] = {}
        self._last: tuple[Hit, _Passage] | None = None

    def __bool__(self) -> bool:
        """Whether any copy was found."""
        return bool(self._found)

    def take(self, hit: Hit) -> None:
        """Remember a hit that is shown."""
        self._taken.append(self._as_passage(hit))

    def original(self, hit: Hit) -> int | None:
        """The chunk that is shown already and of which a hit is a near copy."""
        passage = self._as_passage(hit)
        for taken in self._taken:
            if passage.is_copy_of(taken):
                return taken.chunk_id
        return None

    def _as_passage(self, hit: Hit) -> _Passage:
        """A hit is first compared and then taken."""
        if self._last is None or self._last[0] is not hit:
            self._last = (hit, _Passage(hit))
        return self._last[1]

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


MAX_MERGED: Final = 6
"""Chunks in one hit at most: past about a thousand tokens a hit is a document, not a passage."""
REPEATED_SHARE: Final = 0.5
"""Boilerplate is repetition from this share of equal lines on: a licence is most of a file's head, and imports are the
rest of it (not measured). It costs nothing on the code set (`benchmarks.code`)."""

MAX_LOOKED: Final = 40
"""Chunks that are no copies and are looked at behind the last hit, for more copies: those score about as their hit
does, and each chunk costs a tenth of a millisecond (not measured)."""

Group = list[Hit]
"""Neighbours in a document that make one hit, the best first."""


class Fate(NamedTuple):
    """Why a chunk is not a hit of its own, and the chunk to which that is due."""

    reason: WhyLeftOut
    other: int | None = None


class Merger:
    """Makes the best `limit` hits from hits of one chunk each, which are added in order of score.

    A chunk whose text was seen already is left out; so are near copies, and boilerplate that repeats an earlier hit's,
    unless `repeats` lets them in. A hit says where else it stands, as far as that was looked at: once there is a copy,
    some way on. A chunk next to one already taken, in the same document and on the same page, joins it. `fates` tells
    of every chunk that did not become a hit of its own.
    """

    def __init__(self, limit: int, *, merge: bool = True, repeats: bool = False) -> None:
        self.fates: dict[int, Fate] = {}
        self._limit = limit
        self._merge = merge
        self._repeats = repeats
        self._groups: list[Group] = []
        self._at: dict[tuple[int, int], Group] = {}
        self._texts: dict[str, int] = {}
        self._boilerplate = Boilerplate()
        self._copies = Copies()
        self._looked = 0

    def add(self, hit: Hit) -> bool:
        """Take the next hit; False when no further one can change anything."""
        text = " ".join(hit.text.split())
        beside = self._groups_beside(hit)
        fate = self._find_repeated(hit, text, beside)
        if fate is not None:
            self.fates[hit.chunk_ids[0]] = fate
            if fate.other is not None:
                self._copies.note(fate.other, hit)
        elif self._looked or not (beside or len(self._groups) < self._limit):
            self._looked += 1  # there are enough hits: the rest is only looked at for more copies
            return bool(self._copies) and self._looked < MAX_LOOKED
        else:
            self._place(hit, text, beside)
        return True

    def hits(self) -> list[Hit]:
        """The hits, best first."""
        return [self._copies.told(join_hits(group, group[0]), group) for group in self._groups]

    def _find_repeated(self, hit: Hit, text: str, beside: Sequence[Group]) -> Fate | None:
        """What a hit repeats, if it does."""
        if text in self._texts:
            return Fate("same text as", self._texts[text])
        if self._repeats:
            return None
        if self._boilerplate.repeats(hit):
            return Fate("boilerplate")
        original = self._copies.original(hit)
        if original is None or any(original in part.chunk_ids for group in beside for part in group):
            return None
        return Fate("near copy of", original)

    def _place(self, hit: Hit, text: str, beside: Sequence[Group]) -> None:
        """Put a hit beside its neighbours, or by itself."""
        if beside:
            group = beside[0]
            self.fates[hit.chunk_ids[0]] = Fate("merged into", group[0].chunk_ids[0])
        else:
            group = []
            self._groups.append(group)
        group.append(hit)
        self._texts[text] = hit.chunk_ids[0]
        self._boilerplate.add(hit)
        self._copies.take(hit)
        if len(beside) > 1 and len(group) + len(beside[1]) <= MAX_MERGED:
            # This chunk closes the gap between two hits: they become one, at the place of the better.
            # Scores may be equal, so the order of the groups tells which that is.
            group, second = (group for group in self._groups if any(group is one for one in beside))
            group.extend(second)
            self.fates[second[0].chunk_ids[0]] = Fate("merged into", group[0].chunk_ids[0])
            self._groups = [g for g in self._groups if g is not second]
        for member in group:
            self._at[hit.document.id, member.index] = group

    def _groups_beside(self, hit: Hit) -> list[Group]:
        found: list[Group] = []
        for index in (hit.index - 1, hit.index + 1) if self._merge and not self._looked else ():
            group = self._at.get((hit.document.id, index))
            if group is not None and len(group) < MAX_MERGED and group[0].page == hit.page:
                found.append(group)
        return found


def merge_hits(hits: Iterable[Hit], limit: int, *, merge: bool = True, repeats: bool = False) -> list[Hit]:
    """The best `limit` hits from hits of one chunk each, in order of score (see `Merger`)."""
    merger = Merger(limit, merge=merge, repeats=repeats)
    for hit in hits:
        if not merger.add(hit):
            break
    return merger.hits()


def join_hits(hits: Sequence[Hit], best: Hit) -> Hit:
    """Neighbours as one hit, with the score, the heading and the code of the best; what overlaps stands once, and what
    separates them is at most whitespace."""
    if len(hits) == 1:
        return best
    ordered = sorted(hits, key=lambda hit: hit.index)
    first = ordered[0]
    text, end = first.text, first.end
    for hit in ordered[1:]:
        text += hit.text[end - hit.start :] if hit.start < end else hit.gap + hit.text
        end = max(end, hit.end)
    why = replace(
        best.why,
        matched_terms=tuple(dict.fromkeys(term for hit in hits for term in hit.why.matched_terms)),
        matched_phrases=tuple(dict.fromkeys(phrase for hit in hits for phrase in hit.why.matched_phrases)),
    )
    return replace(
        best,
        chunk_ids=tuple(id_ for hit in ordered for id_ in hit.chunk_ids),
        text=text,
        start=first.start,
        end=end,
        line_start=first.line_start,
        line_end=ordered[-1].line_end,
        index=first.index,
        gap=first.gap,
        tokens=sum(hit.tokens for hit in hits),
        headings=tuple(dict.fromkeys(path for hit in ordered for path in hit.headings)),
        why=why,
    )


class Boilerplate:
    """The boilerplate among the hits that are shown, by its lines. Code that does something counts in every place,
    however alike two places are."""

    def __init__(self) -> None:
        self._holders: dict[str, list[int]] = {}

    def add(self, hit: Hit) -> None:
        """Remember a hit that is taken."""
        for line in _lines(hit) if _is_boilerplate(hit) else ():
            self._holders.setdefault(line, []).append(hit.document.id)

    def repeats(self, hit: Hit) -> bool:
        """Whether a hit is boilerplate, and half of it or more is boilerplate of one other file that is shown."""
        if not self._holders or not _is_boilerplate(hit):
            return False
        lines = _lines(hit)
        same: Counter[int] = Counter()
        for line in lines:
            for document_id in self._holders.get(line, ()):
                same[document_id] += len(line)
        del same[hit.document.id]
        return max(same.values(), default=0) >= REPEATED_SHARE * sum(map(len, lines))


def _is_boilerplate(hit: Hit) -> bool:
    return hit.code is not None and hit.code.kind == "header"


def _lines(hit: Hit) -> set[str]:
    return {stripped for line in hit.text.split("\n") if any(map(str.isalnum, stripped := line.strip()))}
