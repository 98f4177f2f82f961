"""What is told of a repository's past: commits, who made lines, and what depends on a change."""

from __future__ import annotations

from typing import Literal

from outcrop.records.reports import Relation
from outcrop.records.stored import DocumentInfo
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit in short. `date` is when it was authored, ISO 8601 with its zone."""

    name: str
    subject: str
    author: str
    date: str


@dataclass(frozen=True, slots=True)
class LineChange:
    """A commit that changed some lines. `path` is the file's name then; `made` are the runs (first, last) of the lines
    asked about that are still as it made them; none where a later commit changed all of them again."""

    commit: CommitInfo
    path: str
    made: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LineHistory:
    """The commits that made some lines of a file, the latest first. `uncommitted` are runs of lines that no commit
    holds yet. `detail` says why it may be incomplete: a shallow clone, a limit."""

    path: str
    first: int
    last: int
    changes: tuple[LineChange, ...]
    uncommitted: tuple[tuple[int, int], ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ChangedDeclaration:
    """A declaration that a change touches, by its qualified name; `line` is where it stands after the change, or stood
    before where it was removed."""

    name: str
    kind: str
    path: str
    line: int
    change: Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Dependent:
    """Something that depends on a changed declaration: a caller, a test or a document, with the line that says so.
    `via` names the caller through which a test reaches it; empty where it names it itself."""

    relation: Relation
    name: str
    document: DocumentInfo
    line: int
    evidence: str
    weight: float
    via: str = ""


@dataclass(frozen=True, slots=True)
class Affected:
    """A changed declaration with what depends on it, strongest first."""

    declaration: ChangedDeclaration
    dependents: tuple[Dependent, ...]

    def of(self, relation: Relation) -> tuple[Dependent, ...]:
        """Those of one kind."""
        return tuple(item for item in self.dependents if item.relation == relation)


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change affects. `files` are the paths it touches; `remarks` say what could not be told, and why."""

    files: tuple[str, ...]
    affected: tuple[Affected, ...]
    remarks: tuple[str, ...] = ()
