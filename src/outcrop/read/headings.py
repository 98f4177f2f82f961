"""READ PATH: which headings a chunk holds, and under which of them a search matched.

Small sections share a chunk, and what is stored of a chunk is the path of its largest section. The headings of the
others stand in its text, so their paths are worked out from there: an index made by any version has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from outcrop.index.seam import Matches
from outcrop.records import Heading, StoredChunk
from outcrop.text.phrases import phrase_spans
from outcrop.text.terms import Terms

_WITHOUT_MARKS: Final = frozenset({"code", "csv", "json", "pdf", "text", "toml", "yaml"})
"""Kinds whose text does not show what a heading is."""
_MAY_BE_HEADING: Final = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)|\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)

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
    headings = _headings_in(text, chunk.document.kind)
    starts = [heading.start for heading in headings]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    if len(starts) < 2:
        return (Section(0, len(text), chunk.heading_path),)
    paths = _paths(text, headings, chunk.heading_path)
    if len(starts) > len(headings):
        paths = [_path_before(paths, chunk.heading_path), *paths]
    stretches = pairwise([0, *starts[1:], len(text)])
    return tuple(Section(start, end, path) for (start, end), path in zip(stretches, paths, strict=True))


def name_headings(chunk: StoredChunk) -> StoredChunk:
    """The chunk with the path of every section it holds."""
    return replace(chunk, headings=paths_of(sections_of(chunk)))


def paths_of(sections: tuple[Section, ...]) -> tuple[Path, ...]:
    """The paths of sections, each once; none for text without a heading."""
    return tuple(dict.fromkeys(section.path for section in sections if section.path))


def under_its_heading(chunk: StoredChunk, seen: Matches, terms: Terms) -> StoredChunk:
    """The chunk with all headings it holds, and as its path the one that the words of the query stand under."""
    sections = sections_of(chunk)
    path = chunk.heading_path
    if len(sections) > 1 and seen.words is not None:
        found = matching_section(chunk.text, sections, seen.words.weights, seen.phrases, terms)
        path = path if found is None else found.path
    return replace(chunk, heading_path=path, headings=paths_of(sections))


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


def _headings_in(text: str, kind: str) -> list[Heading]:
    if kind in _WITHOUT_MARKS:
        return []
    if kind == "rst":
        from outcrop.parse.rst import find_sections  # each where a hit needs it

        return find_sections(text)
    if not _MAY_BE_HEADING.search(text):
        return []
    from outcrop.parse.markdown import find_headings

    return find_headings(text)


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
