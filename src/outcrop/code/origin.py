"""Which commits made some lines: their hunks are followed back through the commits, from what is in the file now.

As `git blame` does, a line belongs to the latest commit that added it; as `git log -L` does, the commits that changed
the lines before that are listed too. A merge belongs to whichever parent has the lines already. A file that came while
a similar one went was renamed, and is followed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from outcrop.errors import NotFound, QueryError, SourceError
from outcrop.records import CommitInfo, LineChange, LineHistory
from outcrop.sources.commits import Commit, History
from outcrop.sources.files import read_plain
from outcrop.sources.gitpacks import MissingObject, ObjectTooLarge
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import BoundedCache, check_wanted
from outcrop.text.linediff import Hunk, diff_lines

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_COMMITS: Final = 100_000
"""Commits that are looked at: some minutes at worst, and it can be called off."""
_MAX_CANDIDATES: Final = 200
"""Files that went when one came, compared to tell a rename (not measured)."""
_MAX_CHANGES: Final = 5_000
_MIN_ALIKE: Final = 0.5
"""Share of lines in common from which a file counts as renamed: git's."""

Lines = dict[int, int]
"""Lines of a version, from 0, that are still there, each with its number in the file as it is asked about."""
Ranges = list[tuple[int, int]]
"""Stretches of lines of a version, from 0, the end excluded."""


@dataclass(slots=True)
class _Waiting:
    """What is asked of a version of a file."""

    lines: Lines = field(default_factory=dict)
    ranges: Ranges = field(default_factory=list)


class _Before(NamedTuple):
    """A file in a parent of a commit, and what the commit changed in it."""

    commit: Commit
    path: str
    blob: str
    hunks: list[Hunk]


def info_of(commit: Commit) -> CommitInfo:
    """A commit in short."""
    return CommitInfo(commit.name, commit.subject, commit.author, commit.date.isoformat())


def trace_lines(history: History, path: str, first: int, last: int) -> LineHistory:
    """The commits that made these lines (from 1) of a file below the repository's top, as it is in the folder now."""
    tip = history.repository.revision
    if tip is None:
        raise NotFound("the repository has no commit yet")
    if first < 1 or last < first:
        raise QueryError(f"{first}-{last} are no lines of a file; they count from 1")
    tracer = _Tracer(history)
    commit = history.commit(tip)
    committed = tracer.lines(history.blob_at(commit.tree, path))
    now = _read_now(history.repository.top / path, committed)
    if now is None:
        raise NotFound(f"there is no file {path!r} in the repository's folder, nor in its last commit")
    if first > len(now):
        raise NotFound(f"{path} has {len(now)} lines; there is no line {first}")
    last = min(last, len(now))
    asked = _Waiting({at: at for at in range(first - 1, last)}, [(first - 1, last)])
    kept, _ = pass_back(asked, diff_lines(committed, now))
    fresh = sorted(set(asked.lines.values()) - set(kept.lines.values()))
    tracer.trace(commit, path, kept)
    return LineHistory(path, first, last, tuple(tracer.changes), tuple(_runs(fresh)), tracer.detail)


def _read_now(file: Path, committed: list[str]) -> list[str] | None:
    """The lines of a file as it is; those of its last commit where it is gone."""
    try:
        data = read_plain(file, MAX_FILE_BYTES)
    except SourceError:
        if file.exists():
            raise
        return committed or None
    lines = split_lines(data)
    if lines != committed and [line.rstrip("\r") for line in lines] == committed:
        return committed  # git converts line ends
    return lines


def split_lines(data: bytes) -> list[str]:
    """The lines of a file as git counts them."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


class _Tracer:
    """Follows lines back through commits, the latest first."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._texts: BoundedCache[str, list[str]] = BoundedCache(256, 32 * 1024 * 1024)
        self.changes: list[LineChange] = []
        self.detail = ""

    def lines(self, blob: str | None) -> list[str]:
        """The lines of a blob."""
        if blob is None:
            return []
        known = self._texts.get(blob)
        if known is None:
            data = self._history.objects.read(blob, "blob", MAX_FILE_BYTES)
            known = split_lines(data)
            self._texts.put(blob, known, len(data))
        return known

    def trace(self, tip: Commit, path: str, asked: _Waiting) -> None:
        """Follow what is asked of a file in a commit until nothing is left of it."""
        waiting: dict[tuple[str, str], _Waiting] = {(tip.name, path): asked}
        queue = [(-tip.committed_at, 0, tip, path)]
        steps = 0
        while queue:
            check_wanted()
            _, _, commit, path = heapq.heappop(queue)
            part = waiting.pop((commit.name, path), None)
            if part is None or not (part.ranges or part.lines):
                continue
            steps += 1
            if steps > MAX_COMMITS:
                self.detail = f"older than the {MAX_COMMITS:,} commits that were looked at"
                return
            for parent, before, passed in self._follow(commit, path, part):
                key = (parent.name, before)
                known = waiting.get(key)
                if known is None:
                    waiting[key] = passed
                    heapq.heappush(queue, (-parent.committed_at, steps, parent, before))
                else:
                    known.lines.update(passed.lines)
                    known.ranges = _join([*known.ranges, *passed.ranges])

    def _follow(self, commit: Commit, path: str, part: _Waiting) -> Iterator[tuple[Commit, str, _Waiting]]:
        """What is left to ask of each parent; a commit that made or changed some of it is noted."""
        blob = self._history.blob_at(commit.tree, path)
        befores = list(self._before(commit, path, blob))
        same = next((item for item in befores if item.blob == blob), None)
        if same is not None:  # it came from this parent as it is
            yield same.commit, same.path, part
            return
        rest, touched = dict(part.lines), True
        passed: list[tuple[Commit, str, _Waiting]] = []
        for item in befores:
            kept, changed = pass_back(_Waiting(rest, part.ranges), item.hunks)
            gone = set(kept.lines.values())
            rest = {at: number for at, number in rest.items() if number not in gone}
            if touched and not changed:
                touched = False
                passed = [(*each[:2], _Waiting(each[2].lines)) for each in passed]
            elif not touched:
                kept.ranges = []
            passed.append((item.commit, item.path, kept))
        if rest or (touched and len(commit.parents) < 2):
            self.changes.append(LineChange(info_of(commit), path, tuple(_runs(sorted(rest.values())))))
        if commit.name in self._history.shallow:
            self.detail = "the clone is shallow: what was before its first commits is not there"
        yield from passed

    def _before(self, commit: Commit, path: str, blob: str | None) -> Iterator[_Before]:
        """The file in each parent that has it."""
        for name in commit.parents:
            try:
                parent = self._history.commit(name)
                old_path, old = self._file_before(parent, commit, path, blob)
                if old is not None:
                    hunks = [] if old == blob else diff_lines(self.lines(old), self.lines(blob))
                    yield _Before(parent, old_path, old, hunks)
            except (MissingObject, ObjectTooLarge) as error:
                self.detail = str(error)

    def _file_before(
        self, parent: Commit, commit: Commit, path: str, blob: str | None
    ) -> tuple[str, str | None]:
        """The file's name and content in a parent; None where it was not there."""
        old = self._history.blob_at(parent.tree, path)
        if old is not None or blob is None:
            return path, old
        changes, _ = self._history.changes(parent.tree, commit.tree, _MAX_CHANGES)
        own = next((change for change in changes if change.path == path), None)
        if own is not None and own.renamed_from:
            return own.renamed_from, blob
        gone = [change for change in changes if change.new is None and change.old is not None]
        gone.sort(key=lambda change: _unlikeness(change.path, path))
        best: tuple[float, str, str | None] = (_MIN_ALIKE, path, None)
        for change in gone[:_MAX_CANDIDATES]:
            alike = _likeness(self.lines(change.old), self.lines(blob))
            if alike >= best[0]:
                best = (alike, change.path, change.old)
        return best[1], best[2]


def _unlikeness(one: str, other: str) -> tuple[bool, bool]:
    """Sorts names first that could be a file's former one: the same in another folder, then of the same kind."""
    names = [path.rpartition("/")[2] for path in (one, other)]
    return names[0] != names[1], names[0].rpartition(".")[2] != names[1].rpartition(".")[2]


def _likeness(old: Sequence[str], new: Sequence[str]) -> float:
    """The share of characters, of the longer text, that stand in lines of both."""
    common = sum(len(line) * count for line, count in (Counter(old) & Counter(new)).items())
    return common / max(sum(map(len, old)), sum(map(len, new)), 1)


def pass_back(asked: _Waiting, hunks: Sequence[Hunk]) -> tuple[_Waiting, bool]:
    """What is asked of the version before, and whether any hunk touched what is asked of this one."""
    lines: Lines = {}
    place, shift = 0, 0
    for at in sorted(asked.lines):
        while place < len(hunks) and hunks[place].new + hunks[place].new_count <= at:
            shift = hunks[place].old + hunks[place].old_count - hunks[place].new - hunks[place].new_count
            place += 1
        if place == len(hunks) or at < hunks[place].new:
            lines[at + shift] = asked.lines[at]
    changed = False
    ranges: Ranges = []
    for start, end in asked.ranges:
        touching = [hunk for hunk in hunks if _touches(hunk, start, end)]
        changed = changed or bool(touching)
        before = (_map_back(start, hunks, end=False), _map_back(end, hunks, end=True))
        if before[0] < before[1]:
            ranges.append(before)
    return _Waiting(lines, _join(ranges)), changed


def _touches(hunk: Hunk, start: int, end: int) -> bool:
    if hunk.new_count:
        return hunk.new < end and start < hunk.new + hunk.new_count
    return start < hunk.new < end  # lines were removed between two that are asked about


def _map_back(at: int, hunks: Sequence[Hunk], *, end: bool) -> int:
    """Where an edge between two lines was before: of an edge within a hunk, at its far side."""
    shift = 0
    for hunk in hunks:
        after = hunk.new + hunk.new_count
        if at < hunk.new or (end and at == hunk.new):
            break
        if at < after or (end and at == after and hunk.new_count):
            return hunk.old + hunk.old_count if end else hunk.old
        shift = hunk.old + hunk.old_count - after
    return at + shift


def _join(ranges: Ranges) -> Ranges:
    """Ranges that meet, as one."""
    joined: Ranges = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _runs(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Places from 0, in order, as runs of lines from 1."""
    found = list(places)
    cuts = [0, *(at + 1 for at, (one, other) in enumerate(pairwise(found)) if other != one + 1), len(found)]
    for start, end in pairwise(cuts):
        if start < end:
            yield found[start] + 1, found[end - 1] + 1
