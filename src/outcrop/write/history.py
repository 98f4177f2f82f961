"""HISTORY: the commits of a repository become documents of a collection of their own.

A commit never changes, so each is written once, parents before children: whatever is in the collection, all that came
before it is there too. So a later run walks from the tip down to what it knows, and a run that was killed goes on where
it stopped. Commits that a rebase left behind leave the collection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from outcrop.contracts import Store
from outcrop.errors import NotFound, SourceError
from outcrop.parse.roles import role_of
from outcrop.parse.title import cut_title
from outcrop.read.known import HISTORY
from outcrop.records import Document, Failure, Heading, IngestReport, SourceFile
from outcrop.sources.commits import Commit, FileChange, History, open_history
from outcrop.sources.exclusions import looks_binary, looks_secret
from outcrop.sources.gitpacks import MissingObject, ObjectTooLarge
from outcrop.system.dataclass import dataclass
from outcrop.text.linediff import diff_lines
from outcrop.write.add import Adder, collection_of
from outcrop.write.plan import WriteOptions

MAX_COMMITS: Final = 100_000
"""Of one repository, the latest: some 100 MB of index."""
MAX_CHANGES: Final = 2_000
MAX_MESSAGE_CHARS: Final = 20_000
MAX_HUNK_CHARS: Final = 12_000
"""Hunks of one commit: a dozen chunks. A commit that changes more is found by its message and its files."""
MAX_LINES: Final = 200
MAX_WHOLE_LINES: Final = 40
"""Of a file that came or went: what is in it now is in the index anyway."""
MAX_BLOB_BYTES: Final = 1024 * 1024
SHORT: Final = 12
_UNREAD_ROLES: Final = frozenset({"generated", "vendored", "minified", "lock"})


@dataclass(frozen=True, slots=True)
class Remembered:
    """How far the history of a repository is in the index. `since` bounds it (seconds since the epoch), `shallow`
    names the commits at which a shallow clone ended."""

    collection: str
    tip: str
    since: float | None = None
    shallow: str = ""

    def to_json(self) -> str:
        """As a setting of the index."""
        return json.dumps([self.collection, self.tip, self.since, self.shallow])


def recall(store: Store, top: Path) -> Remembered | None:
    """What is remembered of the history of a repository, unless it was removed since."""
    text = store.setting(f"{HISTORY}{top}")
    known = Remembered(*json.loads(text)) if text else None
    return known if known is not None and store.find(known.collection, uri_of(known.tip)) else None


def histories(store: Store) -> dict[str, Remembered]:
    """All histories of the index, by the folder of their repository."""
    tops = [name.removeprefix(HISTORY) for name in store.settings() if name.startswith(HISTORY)]
    found = ((top, recall(store, Path(top))) for top in tops)
    return {top: known for top, known in found if known is not None}


def uri_of(name: str) -> str:
    """The name of a commit's document."""
    return f"git:{name}"


def sync_history(
    adder: Adder, folder: Path, collection: str | None, since: float | None, options: WriteOptions
) -> IngestReport:
    """Bring the commits of the repository that holds a folder into the index, or up to date. `collection` is that of
    the repository's files; `since`, once given, holds until another is."""
    history = open_history(folder)
    top, tip = history.repository.top, history.repository.revision
    if tip is None:
        raise NotFound(f"{top} has no commit yet; there is no history to read")
    known = recall(adder.store, top)
    since = known.since if since is None and known is not None else since
    name = (
        known.collection
        if known and not collection
        else f"{collection_of(adder.store, top, collection)} history"
    )
    shallow = sha256("".join(sorted(history.shallow)).encode()).hexdigest()[:16]
    wanted = Remembered(name, tip, since, shallow)
    if wanted == known:
        return IngestReport()
    plan = _plan(history, adder.store, wanted, known)

    if known is None:  # so that a search leaves the collection out from its first commit on
        adder.store.put_setting(f"{HISTORY}{top}", replace(wanted, tip="").to_json())

    def documents() -> Iterator[tuple[SourceFile, Document] | Failure]:
        yield from history.problems
        for each in plan.missing:
            yield from describe(history, each)

    report = adder.run(
        lambda ingestor: ingestor.add_parsed(
            documents(), name, options, total=len(plan.missing), gone=plan.gone
        )
    )
    adder.store.put_setting(f"{HISTORY}{top}", wanted.to_json())
    return replace(report, unchanged=plan.unchanged)


@dataclass(frozen=True, slots=True)
class _Plan:
    missing: Sequence[str]
    gone: Sequence[int]
    unchanged: int


def _plan(history: History, store: Store, wanted: Remembered, known: Remembered | None) -> _Plan:
    """Which commits to add, parents first, and which documents to remove."""
    states = store.states(wanted.collection)
    resumes = known is None or (known.since, known.shallow) == (wanted.since, wanted.shallow)
    met: set[str] = set()

    def enter(commit: Commit) -> bool:
        if wanted.since is not None and commit.committed_at < wanted.since:
            return False
        met.add(commit.name)
        return not (stops and uri_of(commit.name) in states)

    stops = resumes
    walked = _walk(history, wanted.tip, enter)
    gone: list[int] = []
    if states and (known is None or known.tip not in met or not resumes):
        # Rebased, switched, or bounded otherwise: what is not reached any more has to be told from what is.
        stops = False
        met.clear()
        walked = _walk(history, wanted.tip, enter)
        gone = [state.document_id for uri, state in states.items() if uri.removeprefix("git:") not in met]
    missing = [name for name in _parents_first(walked) if uri_of(name) not in states]
    return _Plan(missing, gone, len(states) - len(gone))


def _walk(history: History, tip: str, enter: Callable[[Commit], bool]) -> dict[str, tuple[str, ...]]:
    """The latest commits that are entered, each with its parents."""
    history.problems.clear()
    found: dict[str, tuple[str, ...]] = {}
    for commit in history.walk(tip, enter):
        found[commit.name] = commit.parents
        if len(found) == MAX_COMMITS:
            reason = (
                f"older commits are left out: {MAX_COMMITS:,} are read of one repository; --since names fewer"
            )
            history.problems.append(Failure(commit.name[:SHORT], reason))
            break
    return found


def _parents_first(commits: dict[str, tuple[str, ...]]) -> list[str]:
    done: dict[str, None] = {}
    for first in reversed(commits):
        stack = [first]
        while stack:
            waiting = [name for name in commits[stack[-1]] if name in commits and name not in done]
            if waiting:
                stack.append(waiting[0])
            else:
                done[stack.pop()] = None
    return list(done)


# ------------------------------------------------------------------ a commit as a document


def describe(history: History, name: str) -> Iterator[tuple[SourceFile, Document] | Failure]:
    """A commit as a document: its message, then each file with its hunks. What cannot be read is a line in the report
    and missing from the document."""
    try:
        commit = history.commit(name)
    except SourceError as error:
        yield Failure(name[:SHORT], str(error))
        return
    changes: list[FileChange] = []
    complete = True
    try:
        if len(commit.parents) < 2:  # a merge changes nothing that its parents do not tell
            before = history.commit(commit.parents[0]).tree if commit.parents else None
            if commit.parents or commit.name not in history.shallow:
                changes, complete = history.changes(before, commit.tree, MAX_CHANGES)
    except MissingObject:
        complete = False  # a partial clone without trees
    except SourceError as error:
        yield Failure(name[:SHORT], str(error))
    writer = _Writer(history)
    yield from writer.write(commit, changes, complete)


class _Writer:
    """Writes the text of one commit."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._room = MAX_HUNK_CHARS

    def write(
        self, commit: Commit, changes: Sequence[FileChange], complete: bool
    ) -> Iterator[tuple[SourceFile, Document] | Failure]:
        """The document, after what is to be reported of it."""
        self._add(f"{commit.message[:MAX_MESSAGE_CHARS] or commit.subject}\n\n")
        self._add(f"{commit.author}, {commit.date.date()}\n")
        failed: dict[str, None] = {}
        for change in changes:
            self._headings.append(Heading(2, change.path, self._length + 1))
            self._add(f"\n{change.path}{_remark(change)}\n")
            try:
                self._add_hunks(change)
            except MissingObject:
                self._add("(not in this clone)\n")
            except ObjectTooLarge:
                self._add("(too large)\n")
            except SourceError as error:
                failed[str(error)] = None
        if not complete:
            self._add("\n(and more files)\n")
        for reason in failed:
            yield Failure(commit.name[:SHORT], reason)
        meta = {
            "commit": commit.name,
            "author": commit.author,
            "date": commit.date.isoformat(),
            "files": "\n".join(
                path for change in changes for path in (change.path, change.renamed_from) if path
            ),
        }
        text = "".join(self._parts).encode("utf-8", "replace").decode("utf-8")
        document = Document(
            text,
            "commit",
            cut_title(commit.subject),
            headings=tuple(self._headings),
            meta={key: value.encode("utf-8", "replace").decode() for key, value in meta.items()},
        )
        yield SourceFile(uri_of(commit.name), commit.name[:SHORT], "text", size=len(text)), document

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _add_hunks(self, change: FileChange) -> None:
        if self._room <= 0 or change.renamed_from or looks_secret(change.path):
            return
        sides = [self._lines(change.path, blob) for blob in (change.old, change.new)]
        if None in sides:
            return
        old, new = (side or [] for side in sides)
        left = MAX_LINES if change.old and change.new else MAX_WHOLE_LINES
        for hunk in diff_lines(old, new):
            body = [f"-{line}" for line in old[hunk.old : hunk.old + hunk.old_count]]
            body += [f"+{line}" for line in new[hunk.new : hunk.new + hunk.new_count]]
            head = f"@@ -{hunk.old + 1},{hunk.old_count} +{hunk.new + 1},{hunk.new_count} @@"
            text = "\n".join((head, *body[:left]))[: self._room] + "\n"
            self._add(text)
            self._room -= len(text)
            left -= len(body)
            if left <= 0 or self._room <= 0:
                self._add("…\n")
                return

    def _lines(self, path: str, blob: str | None) -> list[str] | None:
        """The lines of one side; None where nobody would read them."""
        if blob is None:
            return []
        data = self._history.objects.read(blob, "blob", MAX_BLOB_BYTES)
        if looks_binary(data[:8192]):
            return None
        text = data.decode("utf-8", "replace")
        return None if role_of(path, text) in _UNREAD_ROLES else text.splitlines()


def _remark(change: FileChange) -> str:
    if change.renamed_from:
        return f" (renamed from {change.renamed_from})"
    return " (added)" if change.old is None else " (removed)" if change.new is None else ""
