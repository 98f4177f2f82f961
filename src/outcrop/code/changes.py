"""What a change touches: the lines of a patch, of the folder against a commit, or between two commits; and the
declarations these lines stand in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from outcrop.code.origin import split_lines
from outcrop.errors import ParseError, QueryError, SourceError
from outcrop.parse.code import find_language
from outcrop.parse.formats import read_code
from outcrop.records import ChangedDeclaration, Declaration
from outcrop.sources.checkout import blob_id, read_checkout
from outcrop.sources.checkout import records as records_content
from outcrop.sources.commits import History
from outcrop.sources.exclusions import looks_binary
from outcrop.sources.files import read_plain
from outcrop.sources.gitindex import Tracked
from outcrop.sources.gitpacks import MissingObject, ObjectTooLarge
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted, limit_time
from outcrop.text.linediff import FilePatch, changed_lines, diff_lines, read_patch

MAX_FILES: Final = 2_000
"""Files of one change. More is a merge of branches or a new vendored library: nobody reads what depends on it."""
MAX_TRACKED: Final = 500_000
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
_PARSE_SECONDS: Final = 20.0
_INNER_KINDS: Final = frozenset({"local", "field", "variable", "property", "member", "constant"})
"""Where they stand in something, that is what changed."""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """A file that a change touches. `old` and `new` are its lines on both sides, `removed` and `added` the numbers,
    from 1, of those that differ. A path is empty where there is no file on that side. `remark` says why its lines are
    not known."""

    old_path: str
    new_path: str
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    removed: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()
    remark: str = ""

    @property
    def path(self) -> str:
        """The path by which it is known."""
        return self.new_path or self.old_path


def compare_commits(history: History, old: str, new: str) -> list[FileDelta]:
    """The files that differ between two revisions."""
    before, after = (history.commit(history.resolve(name)).tree for name in (old, new))
    changes, complete = history.changes(before, after, MAX_FILES)
    if not complete:
        raise QueryError(f"{old} and {new} differ in more than {MAX_FILES:,} files; name a smaller change")
    found = []
    for change in changes:
        was = change.renamed_from or (change.path if change.old else "")
        try:
            sides = [_read_blob(history, blob) for blob in (change.old, change.new)]
        except (MissingObject, ObjectTooLarge) as error:
            found.append(FileDelta(was, change.path if change.new else "", remark=str(error)))
            continue
        found.append(_delta(was, change.path if change.new else "", *sides))
    return found


def compare_folder(history: History, revision: str) -> list[FileDelta]:
    """The files of the working folder that differ from a revision. What git does not track does not count."""
    repository = history.repository
    tracked = read_checkout(repository).tracked
    files, complete = history.changes(None, history.commit(history.resolve(revision)).tree, MAX_TRACKED)
    if tracked is None or not complete:
        raise SourceError(
            "git's index cannot be read; write the change with `git diff` and give that: --diff FILE"
        )
    blobs = {change.path: change.new for change in files}
    found = []
    for path in sorted({*blobs, *tracked}):
        check_wanted()
        delta = _compare_file(history, tracked, path, blobs.get(path))
        if delta is not None:
            found.append(delta)
        if len(found) > MAX_FILES:
            raise QueryError(f"more than {MAX_FILES:,} files differ from {revision}; name a smaller change")
    return found


def _compare_file(history: History, tracked: Tracked, path: str, blob: str | None) -> FileDelta | None:
    """How a file in the folder differs from its blob in a commit; None where it does not."""
    file, entry = history.repository.top / path, tracked.get(path)
    if entry is not None and not entry.is_plain:
        return None  # links and submodules hold no declarations
    try:
        status = file.lstat()
    except OSError:
        return None if blob is None else _delta(path, "", _read_blob(history, blob), [])
    unchanged = tracked.proves_unchanged(path, status.st_mtime_ns, status.st_size)
    if unchanged and entry is not None and entry.blob == blob:
        return None
    try:
        data = read_plain(file, MAX_FILE_BYTES)
        if blob is not None:
            same = entry is not None and entry.blob == blob and records_content(entry, data, tracked.algorithm)
            if same or blob_id(data, tracked.algorithm) == blob:
                return None
        new = [] if looks_binary(data[:8192]) else split_lines(data)
        return _delta(path if blob else "", path, _read_blob(history, blob), new)
    except SourceError as error:
        return FileDelta(path if blob else "", path, remark=str(error))


def _read_blob(history: History, blob: str | None) -> list[str]:
    if blob is None:
        return []
    data = history.objects.read(blob, "blob", MAX_FILE_BYTES)
    return [] if looks_binary(data[:8192]) else split_lines(data)


def _delta(old_path: str, new_path: str, old: list[str], new: list[str]) -> FileDelta:
    removed: set[int] = set()
    added: set[int] = set()
    for hunk in diff_lines(old, new):
        removed.update(range(hunk.old + 1, hunk.old + hunk.old_count + 1))
        added.update(range(hunk.new + 1, hunk.new + hunk.new_count + 1))
    return FileDelta(old_path, new_path, tuple(old), tuple(new), frozenset(removed), frozenset(added))


# ------------------------------------------------------------------ patches


def read_deltas(text: str, top: Path) -> list[FileDelta]:
    """The files of a unified diff. Both sides of each are made from the file in the folder, whether the patch is
    applied there or not yet."""
    patches = read_patch(text)
    if not patches and text.strip():
        raise QueryError("this is not a unified diff; `git diff` and `diff -u` write one")
    if len(patches) > MAX_FILES:
        raise QueryError(f"the diff touches more than {MAX_FILES:,} files; name a smaller change")
    return [_from_patch(patch, top) for patch in patches]


def _from_patch(patch: FilePatch, top: Path) -> FileDelta:
    marks = [mark for hunk in patch.hunks for mark in changed_lines(hunk)]
    removed = frozenset(line for sign, line in marks if sign == "-")
    added = frozenset(line for sign, line in marks if sign == "+")
    for path, is_new in ((patch.new_path, True), (patch.old_path, False)):
        now = _read_lines(top, path)
        other = None if now is None else _apply(patch, now, backwards=is_new)
        if now is not None and other is not None:
            old, new = (other, now) if is_new else (now, other)
            return FileDelta(patch.old_path, patch.new_path, tuple(old), tuple(new), removed, added)
    whole = patch.hunks[0] if len(patch.hunks) == 1 and not (patch.old_path and patch.new_path) else None
    if whole is not None:  # all of a file that comes or goes stands in its only hunk
        return FileDelta(patch.old_path, patch.new_path, whole.old, whole.new, removed, added)
    path = patch.new_path or patch.old_path
    return FileDelta(
        patch.old_path, patch.new_path, remark=f"{path} in this folder is not what the diff is about"
    )


def _read_lines(top: Path, path: str) -> list[str] | None:
    parts = Path(path).parts
    if not path or ".." in parts or Path(path).is_absolute():
        return None
    try:
        return split_lines(read_plain(top / path, MAX_FILE_BYTES))
    except SourceError:
        return None


def _apply(patch: FilePatch, lines: list[str], *, backwards: bool) -> list[str] | None:
    """The other side of a patch; None where the lines are not those of this side."""
    out: list[str] = []
    done = 0
    for hunk in patch.hunks:
        start, here, there = (
            (hunk.new_start, hunk.new, hunk.old) if backwards else (hunk.old_start, hunk.old, hunk.new)
        )
        at = start - 1 if here else start
        if at < done or tuple(lines[at : at + len(here)]) != here:
            return None
        out += [*lines[done:at], *there]
        done = at + len(here)
    return [*out, *lines[done:]]


# ------------------------------------------------------------------ declarations


def changed_declarations(delta: FileDelta) -> list[ChangedDeclaration]:
    """The innermost declarations that the changed lines of a file stand in, in order."""
    old = _touched(delta.old_path, delta.old, delta.removed)
    new = _touched(delta.new_path, delta.new, delta.added)
    names_before = {item.qualified for item in _declarations(delta.old_path, delta.old)}
    names_after = {item.qualified for item in _declarations(delta.new_path, delta.new)}
    found: dict[str, ChangedDeclaration] = {}
    for item, line in new:
        found[item.qualified] = ChangedDeclaration(
            item.qualified,
            item.kind,
            delta.path,
            line,
            "changed" if item.qualified in names_before else "added",
        )
    for item, line in old:  # where lines only went, of a declaration that stays or of one that goes
        gone = item.qualified not in names_after
        was = ChangedDeclaration(item.qualified, item.kind, delta.path, line, "removed" if gone else "changed")
        found.setdefault(item.qualified, was)
    return sorted(found.values(), key=lambda item: item.line)


def _declarations(path: str, lines: tuple[str, ...]) -> tuple[Declaration, ...]:
    text = "\n".join(lines)
    if not path or find_language(path, text[:200]) is None:
        return ()
    try:
        with limit_time(_PARSE_SECONDS):
            outline = read_code(text, path).outline
    except ParseError:
        return ()  # the index has no declarations of it either
    return outline.declarations if outline is not None else ()


def _touched(path: str, lines: tuple[str, ...], numbers: frozenset[int]) -> Iterator[tuple[Declaration, int]]:
    """The declarations that some lines stand in, and the line each begins at."""
    if not numbers:
        return
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def line_of(offset: int) -> int:
        return bisect_right(starts, offset)

    spans = [
        (line_of(item.start), line_of(max(item.end - 1, item.start)), item)
        for item in _declarations(path, lines)
        if not (item.scope and item.kind in _INNER_KINDS)
    ]
    chosen: dict[str, tuple[Declaration, int]] = {}
    for number in sorted(numbers):
        holding = [span for span in spans if span[0] <= number <= span[1]]
        if holding and lines[number - 1].strip():
            item = min(holding, key=lambda span: span[1] - span[0])[2]
            chosen.setdefault(item.qualified, (item, line_of(item.at)))
    yield from chosen.values()
