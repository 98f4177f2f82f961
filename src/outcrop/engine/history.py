"""What is asked of a repository's past, and of a change to it. What does the work is imported when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from outcrop.contracts import Stop
from outcrop.engine.code import CodeQuestions
from outcrop.engine.writing import Writing
from outcrop.errors import NotFound, QueryError, SourceError
from outcrop.read.ask import as_timestamp, at_least_one
from outcrop.records import Failure, Filter, SearchArguments

if TYPE_CHECKING:
    from outcrop.records import Answer, Impact, IngestReport, LineHistory, OnProgress
    from outcrop.records.asked import When


class HistoryQuestions(Writing, CodeQuestions):
    """The part of an Engine that reads commits. Git itself is never started."""

    def add_history(
        self,
        repository: str | Path = ".",
        *,
        collection: str | None = None,
        since: When = None,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add the commits of the repository that holds a folder, or bring them up to date: message, author, date, files
        and hunks, a document each, in a collection named after that of the files (`project history`). `since` leaves
        out older ones, and holds for later calls. What is there already costs next to nothing."""
        from outcrop.write.history import sync_history
        from outcrop.write.plan import WriteOptions

        options = WriteOptions(progress=progress, stopped=stopped)
        return sync_history(self._adder, Path(repository), collection, as_timestamp(since), options)

    def sync(
        self,
        path: str | Path | None = None,
        *,
        collection: str | None = None,
        force: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Bring folders up to date: those added before, or the one given. Deleted files leave the index. Without a path
        or a collection new commits of repositories whose history was added come in as well."""
        from outcrop.records import IngestReport

        report = super().sync(path, collection=collection, force=force, progress=progress, stopped=stopped)
        for top in () if path is not None or collection is not None else self.histories():
            try:
                report += self.add_history(top, progress=progress, stopped=stopped)
            except SourceError as error:  # an unplugged disk must not empty the index
                report += IngestReport(failed=(Failure(top, f"{error}; its commits are kept"),))
        return report

    def histories(self) -> dict[str, str]:
        """The collections that hold commits, by the folder of their repository."""
        from outcrop.write.history import histories

        return {top: known.collection for top, known in histories(self._store).items()}

    def history(
        self,
        query: str,
        *,
        repository: str | Path | None = None,
        stopped: Stop | None = None,
        **options: Unpack[SearchArguments],
    ) -> Answer:
        """The commits that answer a query, of one repository or of all whose history was added. Takes the options of
        `search`; `paths` are those of files that a commit changed, `since` and `until` bound the author's date."""
        known = self.histories()
        if repository is not None:
            top = str(find_top(repository))
            known = {top: known[top]} if top in known else {}
        if not known:
            raise NotFound("there is no history in the index yet; `outcrop add REPOSITORY --history` reads it")
        chosen = tuple(known.values())
        paths = options.pop("paths", ())
        if paths:
            options["documents"] = self._touching(chosen, paths) or (-1,)  # which no document has
        options["collections"] = chosen
        return self.search(query, stopped=stopped, **options)

    def _touching(self, collections: Sequence[str], paths: Sequence[str]) -> tuple[int, ...]:
        """The commits that changed a file whose path matches one of some patterns."""
        import re

        from outcrop.store.filters import glob_regex

        wanted = re.compile(glob_regex(tuple(paths)), re.DOTALL)
        commits = self._store.documents(Filter(collections=tuple(collections)))
        return tuple(
            commit.id
            for commit in commits
            if any(map(wanted.fullmatch, str(commit.meta.get("files", "")).split("\n")))
        )

    def line_history(self, place: str, *, folder: str | Path = ".") -> LineHistory:
        """The commits that made some lines, `FILE:LINE` or `FILE:FIRST-LAST`, the latest first. FILE is a path from
        `folder`, or from the top of its repository. Reads the repository alone: nothing need be indexed."""
        return read_line_history(place, folder)

    def impact(
        self,
        change: str = "HEAD",
        *,
        diff: str | None = None,
        folder: str | Path = ".",
        limit: int = 20,
    ) -> Impact:
        """What depends on a change: callers, tests and documents of the declarations it touches, at most `limit` of
        each kind for each, with the line that says so. The change is `A..B`, two revisions; `A...B`, what B
        changed since it left A; a revision against the working folder; or a unified `diff`. `folder` lies in the
        repository that changes."""
        from outcrop.code import changes
        from outcrop.code.impact import find_impact
        from outcrop.code.related import retry_on_write
        from outcrop.sources.commits import open_history

        at_least_one("limit", limit)
        if diff is not None:
            try:
                top = open_history(Path(folder)).repository.top
            except SourceError:
                top = Path(folder).expanduser().resolve()  # a patch needs no repository
            deltas = changes.read_deltas(diff, top)
        else:
            history = open_history(Path(folder))
            top = history.repository.top
            old, dots, new = change.partition("..")
            if not dots:
                deltas = changes.compare_folder(history, change)
            else:
                first, last = history.resolve(old or "HEAD"), history.resolve(new.removeprefix(".") or "HEAD")
                first = history.merge_base(first, last) if new.startswith(".") else first
                deltas = changes.compare_commits(history, first, last)
        names = self._known.names()
        return retry_on_write(
            self._store, lambda: find_impact(self._view(), self.codebase, deltas, top, names, limit)
        )


def find_top(folder: str | Path) -> Path:
    """The top of the repository that holds a folder."""
    from outcrop.sources.commits import open_history

    return open_history(Path(folder)).repository.top


def is_place(text: str) -> bool:
    """Whether this is `FILE:LINE`, rather than a question."""
    from outcrop.code.related import read_place

    return read_place(text) is not None and not any(map(str.isspace, text))


def read_line_history(place: str, folder: str | Path) -> LineHistory:
    """As `Engine.line_history`, without an index."""
    from outcrop.code.origin import trace_lines
    from outcrop.code.related import read_place
    from outcrop.sources.commits import open_history

    asked = read_place(place)
    if asked is None:
        raise QueryError(f"{place!r} is no place; write FILE:LINE or FILE:FIRST-LAST")
    base = Path(folder).expanduser().resolve()
    file = base / Path(asked.path).expanduser()
    history = open_history(file.parent if file.exists() else base)
    top = history.repository.top
    path = file.resolve() if file.exists() else top / asked.path
    try:
        below = path.relative_to(top).as_posix()
    except ValueError as error:
        raise SourceError(f"{asked.path} is not in the repository {top}") from error
    return trace_lines(history, below, asked.first, asked.last)
