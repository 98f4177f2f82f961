"""What is wrong with notes that know time: dates, links to older notes, and statements that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from outcrop.notes.contradictions import find_contradictions
from outcrop.notes.statements import Statement, TermsOf, find_statements
from outcrop.records import DocumentInfo
from outcrop.records.validity import VALID_FROM, VALID_UNTIL, moment_in, text_in
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from outcrop.engine import Timeline

ProblemKind = Literal["contradiction", "dangling", "circular", "date"]
MAX_RIVALS: Final = 3
"""Notes on the same subject that a writer is told of (not measured)."""


@dataclass(frozen=True, slots=True)
class NoteProblem:
    """Something to look at: two notes that contradict each other on these lines, a note that supersedes one that is not
    there (`dangling`) or, over some steps, itself (`circular`), or a date that cannot be right."""

    kind: ProblemKind
    path: str
    detail: str
    line: int | None = None
    other_path: str = ""
    other_line: int | None = None

    @property
    def told(self) -> str:
        """The problem on one line."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.detail}"


@dataclass(frozen=True, slots=True)
class SameSubject:
    """A valid note on the subject of one that was just written, and the line that says so."""

    path: str
    line: int
    text: str


def find_problems(
    documents: Sequence[DocumentInfo],
    timeline: Timeline,
    read: Callable[[str], str],
    terms_of: TermsOf,
) -> list[NoteProblem]:
    """All problems of these notes, by path; contradictions last. `read` gives the text of a note."""
    problems = [problem for info in documents for problem in _check_time(info, timeline)]
    outdated = set(timeline.outdated())
    statements: list[Statement] = []
    for info in documents:
        if info.id not in outdated:
            statements += find_statements(info.path, read(info.path), terms_of)
    for found in find_contradictions(statements):
        one, other = found.first, found.second
        detail = f"“{one.text}” contradicts {other.path}:{other.line} “{other.text}”"
        problems.append(NoteProblem("contradiction", one.path, detail, one.line, other.path, other.line))
    return problems


def _check_time(info: DocumentInfo, timeline: Timeline) -> Iterator[NoteProblem]:
    for name in (VALID_FROM, VALID_UNTIL):
        if name in info.meta and moment_in(info.meta, name) is None:
            wrong = f"{name} is {text_in(info.meta, name)!r}, which is no date; write 2026-01-31"
            yield NoteProblem("date", info.path, wrong)
    span = timeline.spans.get(info.id)
    if span is None:
        return
    if span.since is not None and span.until is not None and span.until < span.since:
        yield NoteProblem("date", info.path, f"{VALID_UNTIL} lies before {VALID_FROM}, so it never was valid")
    for name in span.missing:
        yield NoteProblem("dangling", info.path, f"supersedes {name}, which is not there")
    for id_ in span.circular:
        older = timeline.spans[id_].document.path
        yield NoteProblem(
            "circular", info.path, f"supersedes {older}, which supersedes it in turn", None, older
        )


def find_rivals(
    info: DocumentInfo, others: Iterable[DocumentInfo], texts: Mapping[str, str], terms_of: TermsOf
) -> tuple[SameSubject, ...]:
    """Which of some valid notes are on the subject of a note: those that contradict it, then those of its title."""
    mine = find_statements(info.path, texts[info.path], terms_of)
    title = terms_of(info.title)
    found: dict[str, SameSubject] = {}
    alike: dict[str, SameSubject] = {}
    for other in others:
        theirs = find_statements(other.path, texts[other.path], terms_of)
        for clash in find_contradictions([*mine, *theirs], only=info.path):
            one = clash.second if clash.first.path == info.path else clash.first
            found.setdefault(other.path, SameSubject(one.path, one.line, one.text))
        if title and title == terms_of(other.title):
            alike.setdefault(other.path, SameSubject(other.path, 1, other.title))
    return tuple({**alike, **found}[path] for path in dict.fromkeys((*found, *alike)))[:MAX_RIVALS]
