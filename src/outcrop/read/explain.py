"""READ PATH: under which heading a chunk matched, why it stands where it stands, and why others were left out.

Small sections share a chunk, and what is stored of a chunk is the path of its largest section. The headings of the
others stand in its text, so their paths are worked out from there: an index made by any version has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.bm25 import HeldWords
from outcrop.index.seam import Matches
from outcrop.rank.merge import Fate
from outcrop.read.rank import is_above_floor, may_be_returned
from outcrop.records import (
    Boost,
    Explanation,
    Filter,
    Heading,
    Hit,
    LeftOut,
    Reason,
    SearchOptions,
    StoredChunk,
    WhyLeftOut,
)
from outcrop.records.candidates import Candidates
from outcrop.system.dataclass import dataclass
from outcrop.text.phrases import phrase_spans
from outcrop.text.terms import Terms

_WITHOUT_MARKS: Final = frozenset(
    {"code", "csv", "json", "mail", "mailbox", "pdf", "session", "text", "toml", "yaml"}
)
"""Kinds whose text does not show what a heading is."""
_MAY_BE_HEADING: Final = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)|\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
NOT_HERE: Final = "probably not here: nothing that is indexed stands out for this question"

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch `text[start:end]` of a chunk under one heading; `path` has the titles above it, top level first."""

    start: int
    end: int
    path: Path


def sections_of(chunk: StoredChunk) -> tuple[Section, ...]:
    """The sections that a chunk holds, in order; one where its text shows no other heading than its own."""
    text = chunk.text
    headings = _headings_in(text, chunk.document.kind, first=chunk.start == 0)
    starts = [heading.start for heading in headings]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    if len(starts) < 2:
        return (Section(0, len(text), chunk.shown_path),)
    paths = _paths(text, headings, chunk.heading_path)
    if len(starts) > len(headings):
        paths = [_path_before(paths, chunk.heading_path), *paths]
    stretches = pairwise([0, *starts[1:], len(text)])
    return tuple(Section(start, end, path) for (start, end), path in zip(stretches, paths, strict=True))


def name_headings(chunk: StoredChunk) -> StoredChunk:
    """The chunk with the path of every section it holds."""
    return replace(chunk, heading_path=chunk.shown_path, headings=paths_of(sections_of(chunk)))


def paths_of(sections: tuple[Section, ...]) -> tuple[Path, ...]:
    """The paths of sections, each once; none for text without a heading."""
    return tuple(dict.fromkeys(section.path for section in sections if section.path))


def under_its_heading(chunk: StoredChunk, seen: Matches, terms: Terms) -> tuple[Path, tuple[Path, ...]]:
    """The path of the heading that the words of the query stand under in a chunk, and those of all it holds."""
    sections = sections_of(chunk)
    path = chunk.heading_path
    if len(sections) > 1 and seen.words is not None:
        found = matching_section(chunk.text, sections, seen.words.weights, seen.phrases, terms)
        path = path if found is None else found.path
    return chunk.shown(path), paths_of(sections)


def matching_section(
    text: str,
    sections: tuple[Section, ...],
    weights: Mapping[int, float],
    phrases: tuple[str, ...],
    terms: Terms,
) -> Section | None:
    """The section with the heaviest words of a query, one with its phrases before all; None where none has any. Of
    equal ones the first."""
    best, most = None, (0, 0.0)
    for section in sections:
        part = text[section.start : section.end]
        held = sum(bool(phrase_spans(part, phrase)) for phrase in phrases)
        score = (held, sum(weights.get(term, 0.0) for term in set(terms.of(part))))
        if score > most:
            best, most = section, score
    return best


def _headings_in(text: str, kind: str, *, first: bool) -> list[Heading]:
    """The headings of a chunk; the `first` of its document may begin with front matter, which would read as one."""
    if kind in _WITHOUT_MARKS:
        return []
    if kind == "rst":
        from outcrop.parse.rst import find_sections  # each where a hit needs it

        return find_sections(text)
    if not _MAY_BE_HEADING.search(text):
        return []
    from outcrop.parse.markdown import find_headings

    if not (first and kind == "markdown" and text.startswith(("---", "+++"))):
        return find_headings(text)
    from outcrop.parse.front_matter import read_front_matter

    return find_headings(text, read_front_matter(text).end)


def _paths(text: str, headings: list[Heading], known: Path) -> list[Path]:
    """The path of each heading, from the one that is known: that of the largest section."""
    chains = _chains(headings)
    ends = [heading.start for heading in headings[1:]] + [len(text)]
    sizes = [end - heading.start for heading, end in zip(headings, ends, strict=True)]
    named = [number for number, heading in enumerate(headings) if known and heading.title.strip() == known[-1]]
    above = known
    if named:
        anchor = max(named, key=lambda number: sizes[number])
        chain = [headings[number].title.strip() for number in chains[anchor]]
        while chain and above and above[-1] == chain[-1]:
            chain, above = chain[:-1], above[:-1]
    paths = []
    for chain_numbers in chains:
        root = headings[chain_numbers[0]]
        titles = (headings[number].title.strip() for number in chain_numbers)
        # A heading of level 2 has one heading above it at most.
        paths.append((*above[: root.level - 1], *(title for title in titles if title)))
    return paths


def _chains(headings: list[Heading]) -> list[list[int]]:
    """For each heading the numbers of those above it in the chunk, and its own."""
    open_: list[int] = []
    chains = []
    for number, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            open_.pop()
        open_.append(number)
        chains.append(list(open_))
    return chains


def _path_before(paths: list[Path], known: Path) -> Path:
    """The path of the text before the first heading: the known one, unless that is a heading's in the chunk."""
    return known if known not in paths else paths[0][: max(len(paths[0]) - 1, 0)]


MAX_LEFT_OUT: Final = 50
"""Chunks left out that are told of: nobody goes through more than five pages of hits (not measured)."""


class Explainer:
    """Makes hits of chunks that came up: each under its heading, with its score and why it has that."""

    def __init__(self, seen: Matches, terms: Terms) -> None:
        self._seen = seen
        self._terms = terms
        self._words = None if seen.words is None else HeldWords(seen.words)
        self._boosts = [(name, amount) for name, amount in seen.found.boosts.items() if amount.any()]

    def as_hits(self, chunks: Sequence[tuple[StoredChunk, int]]) -> Iterator[Hit]:
        """Some chunks, each with its place among what was found, as hits."""
        found = self._seen.found
        places = np.array([place for _, place in chunks], np.intp)
        columns = (
            *(found.segment, found.row, found.lexical_rank, found.lexical, found.dense_rank, found.cosine),
            *(found.fused, found.words, found.meaning, found.final, found.score),
        )
        numbers = zip(*(column[places].tolist() for column in columns), strict=True)
        amounts = [amount[places].tolist() for _, amount in self._boosts]
        times = found.times[places].tolist() if self._words is not None else [()] * len(places)
        for at, ((chunk, place), values) in enumerate(zip(chunks, numbers, strict=True)):
            boosts = zip(self._boosts, amounts, strict=True)
            added = tuple([Boost(name, of[at]) for (name, _), of in boosts if of[at]])
            why = self._explain(place, values, added, times[at])
            path, headings = under_its_heading(chunk, self._seen, self._terms)
            yield Hit.of(chunk, values[-1], why, path, headings)

    def _explain(
        self, place: int, values: Sequence[Any], boosts: tuple[Boost, ...], times: Sequence[int]
    ) -> Explanation:
        seen = self._seen
        number, row, lexical_rank, lexical, dense_rank, cosine, fused, words, meaning, total, _ = values
        has_vector = bool(seen.view.segments[number].scales[row] > 0)
        held = (*seen.phrases, *(phrase for phrase, where in seen.found.held.items() if where[place]))
        single = [phrase for phrase in held if " " not in phrase]  # a phrase of one word is a word
        terms = () if self._words is None else self._words.matched(times)
        return Explanation(
            lexical_rank=lexical_rank or None,
            lexical_score=lexical if lexical > 0 else None,
            dense_rank=dense_rank or None,
            similarity=cosine if has_vector and cosine else None,
            fused=fused,
            boosts=boosts,
            matched_terms=tuple(dict.fromkeys((*single, *terms))),
            words=words,
            meaning=meaning,
            total=total,
            coverage=0.0 if self._words is None else self._words.coverage(times),
            matched_phrases=tuple(dict.fromkeys([phrase for phrase in held if " " in phrase])),
            language="" if seen.words is None else seen.words.language,
        )


def find_left_out(
    store: Store,
    seen: Matches,
    options: SearchOptions,
    hits: Sequence[Hit],
    fates: Mapping[int, Fate],
    terms: Terms,
) -> tuple[LeftOut, ...]:
    """The best candidates that are no hits of their own, with the reason. `hits` are those of all pages so far, and
    `fates` what became of chunks when they were merged; what went into an earlier page's hit was told there."""
    number_of = {id_: number for number, hit in enumerate(hits, 1) for id_ in hit.chunk_ids}
    reasons = _Reasons(options, seen.found)
    found = seen.found
    chosen: dict[int, tuple[int, WhyLeftOut, int | None]] = {}
    for place in np.lexsort((found.chunk_id, -found.final)).tolist():
        id_ = int(found.chunk_id[place])
        fate = fates.get(id_)
        if fate is None and id_ in number_of:
            continue
        number = None if fate is None or fate.other is None else number_of.get(fate.other, 0) - options.offset
        if number is not None and number < 1:
            continue
        chosen[id_] = (place, reasons.of(place) if fate is None else fate.reason, number)
        if len(chosen) == MAX_LEFT_OUT:
            break
    chunks = store.chunks(list(chosen))
    made = Explainer(seen, terms).as_hits([(chunk, chosen[chunk.id][0]) for chunk in chunks])
    left_out = [LeftOut(hit, *chosen[chunk.id][1:]) for chunk, hit in zip(chunks, made, strict=True)]
    return tuple(sorted(left_out, key=lambda item: -item.hit.score))


MAX_PHRASES_TOLD: Final = 3
MAX_PHRASE_CHARS: Final = 60
_SAMPLED: Final = 200
"""Documents whose names of metadata are offered (not measured)."""
_NAMES_TOLD: Final = 12


def tell_empty(seen: Matches, store: Store, where: Filter, *, is_strange: bool) -> tuple[Reason, str]:
    """Why there is no hit, and what to do."""
    if seen.filtered_out:
        return "filtered_out", f"no document passes the filters{_tell_names(store, where.where or '')}"
    if is_strange:
        return (
            "no_hits",
            "none of these words is known, here or to the model, and nothing is near: try other words",
        )
    return "no_hits", "nothing came close enough: try other words, or a lower floor"


def _tell_names(store: Store, condition: str) -> str:
    """Which name in a condition no document has, with names that some have: most likely it is misspelt."""
    if not condition:
        return ""
    from difflib import get_close_matches

    from outcrop.records.where import Exists, names_in, read_where

    for name in names_in(read_where(condition)):
        if store.documents(Filter(where=str(Exists(name))), limit=1):
            continue
        known = sorted({key for info in store.documents(Filter(), limit=_SAMPLED) for key in info.meta})
        close = get_close_matches(name, known, 1)
        meant = f"did you mean {close[0]}?" if close else f"they have {', '.join(known[:_NAMES_TOLD])}"
        return f": none has {shorten(name)}; {meant if known else 'none has metadata'}"
    return ""


def tell_unread(unread: int) -> str:
    """That more passages could hold the phrases a query requires than are read for one."""
    return f"{unread:,} more passages have all words of the phrase and were not read: add a word that is rarer"


def tell_phrases(
    unmatched: Sequence[str], unread: int, options: SearchOptions, hits: Sequence[Hit], reason: Reason | None
) -> str:
    """What became of the phrases that a query requires; empty where there is nothing to say."""
    if unmatched and reason != "filtered_out":
        return tell_unmatched(unmatched, options, hits, unread)
    return tell_unread(unread) if unread else ""


def tell_unmatched(phrases: Sequence[str], options: SearchOptions, hits: Sequence[Hit], unread: int = 0) -> str:
    """That no passage holds the phrases a query requires, and what was done instead."""
    told = ", ".join(f'"{shorten(phrase)}"' for phrase in phrases[:MAX_PHRASES_TOLD])
    more = f" and {len(phrases) - MAX_PHRASES_TOLD} more" if len(phrases) > MAX_PHRASES_TOLD else ""
    where = "" if options.where.is_empty() else " that passes the filters"
    together = " together" if len(phrases) > 1 else ""
    instead = ": these hits match the words without the quotation marks" if hits else ""
    which = " that was read" if unread else ""
    rest = f"; {tell_unread(unread)}" if unread else ""
    return f"no passage{which}{where} holds {told}{more}{together} word for word{instead}{rest}"


def shorten(phrase: str) -> str:
    """A phrase as short as a message can hold it."""
    return phrase if len(phrase) <= MAX_PHRASE_CHARS else phrase[: MAX_PHRASE_CHARS - 1] + "…"


class _Reasons:
    """Why a candidate did not come as far as merging."""

    def __init__(self, options: SearchOptions, found: Candidates) -> None:
        self._above = is_above_floor(options, found)
        self._near = may_be_returned(options, found)
        self._ordered = set(found.order.tolist())

    def of(self, place: int) -> WhyLeftOut:
        if not self._above[place]:
            return "below floor"
        if not self._near[place]:
            return "too far"
        return "past the limit" if place in self._ordered else "below cutoff"
