"""What a pattern matches: files and their lines, as they are on the disk now."""

from __future__ import annotations

from dataclasses import field

from outcrop.records.asked import Filter
from outcrop.records.stored import DocumentInfo
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepOptions:
    """How lines are matched, and where. `literal` takes the pattern as it stands instead of as a regular expression.
    `below` are full paths of files or folders; empty means everything indexed. `without` are globs of paths to leave
    out. `max_per_file` ends a file after so many lines."""

    literal: bool = False
    ignore_case: bool = False
    whole_words: bool = False
    before: int = 0
    after: int = 0
    where: Filter = field(default_factory=Filter)
    below: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    max_per_file: int | None = None


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """A line of a file, `matched` or context. `spans` are where the pattern matches, in characters."""

    number: int
    text: str
    matched: bool
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class MatchedFile:
    """A file with the lines that match, and those around them that were asked for. `ref` is the branch it was read
    out of, where it is none of a folder."""

    document: DocumentInfo
    lines: tuple[MatchedLine, ...]
    ref: str | None = None

    @property
    def count(self) -> int:
        """How many of the lines match."""
        return sum(1 for line in self.lines if line.matched)


@dataclass(frozen=True, slots=True)
class Grepped:
    """The files that match, by path, as many as were asked for; whether there are `more`; and a line for each file that
    could not be read."""

    files: tuple[MatchedFile, ...]
    more: bool = False
    problems: tuple[str, ...] = ()
