"""Walk a folder: every file worth reading, and a line for each that is left out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outcrop.errors import SourceError
from outcrop.records import Failure, Skipped, SourceFile
from outcrop.sources.gitrepo import Repository, core_setting, excludes_file, repository_of
from outcrop.sources.ignore import Level, compile_rules, descend, ruling
from outcrop.sources.left_out import BOOKKEEPING, INSTALLED, MARKERS, binary_kind, looks_secret
from outcrop.sources.read import explain, read_plain

# Lowest precedence first, within one folder.
_IGNORE_FILES = (".gitignore", ".outcropignore")
# The largest ignore files in the wild have some tens of kilobytes; half a megabyte compiles in a second or two.
_MAX_IGNORE_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class _Walk:
    root: str
    max_file_bytes: int
    include_secrets: bool
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be read. `path` is "" for the root, else ends with a slash; `levels`: deepest first."""

    path: str
    levels: tuple[Level, ...]


def walk(
    root: Path, *, max_file_bytes: int, include_secrets: bool = False
) -> Iterator[SourceFile | Skipped | Failure]:
    """Everything below a folder in a fixed order, or the one file that `root` names.

    What was named is walked even where an ignore rule would leave it out; the rules apply to what lies below.
    They are those of every .gitignore and .outcropignore (which wins) from the top of the git repository
    down, of its info/exclude and of the user's core.excludesFile. Git's index is not asked: a tracked file that
    matches a rule is left out. Links are never followed.

    A path that ends with a slash is a folder's. A Failure of a folder means that nothing is known of what lies
    below it: see `shields`. A root that is missing or cannot be read is a SourceError.
    """
    try:
        real = root.resolve(strict=True)
        is_dir = real.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        reason = explain(error) if isinstance(error, OSError) else str(error)
        raise SourceError(f"{root} cannot be added: {reason}") from error
    if not _is_utf8(str(real)):
        raise SourceError(f"{_printable(str(real))} cannot be added: its name is not UTF-8; rename it")
    if not is_dir:
        return iter((_single(real, max_file_bytes, include_secrets),))
    repository = repository_of(real)
    ignore_case = repository is not None and core_setting(repository, "ignorecase") in (
        "true",
        "yes",
        "on",
        "1",
    )
    run = _Walk(str(real), max_file_bytes, include_secrets, ignore_case)
    levels = () if repository is None else _levels_above(real, repository, ignore_case)
    try:
        os.scandir(real).close()
    except OSError as error:
        raise SourceError(f"{real} cannot be added: {explain(error)}") from error
    return _walk(run, _Folder("", levels))


def shields(failure: Failure, path: str) -> bool:
    """Whether a failure of the walk explains why `path` was not seen, so that its document must be kept."""
    failed = failure.path.rstrip("/")
    return failed in (".", path) or path.startswith(f"{failed}/")


def _walk(run: _Walk, top: _Folder) -> Iterator[SourceFile | Skipped | Failure]:
    pending = [top]
    while pending:
        folder = pending.pop()
        here = os.path.join(run.root, folder.path)  # noqa: PTH118  (one of these per folder; Path is 20 times slower)
        try:
            with os.scandir(here) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
            names = {entry.name for entry in entries}
            levels = _own_levels(run, here, folder, names) + folder.levels
        except (OSError, SourceError) as error:
            if isinstance(error, FileNotFoundError):
                continue  # removed since its parent was listed
            reason = explain(error) if isinstance(error, OSError) else str(error)
            yield Failure(folder.path or "./", f"folder cannot be read: {reason}")
            continue
        marker = next((name for name in MARKERS if name in names), None)
        if marker is not None and folder.path:
            yield Skipped(folder.path, MARKERS[marker])
            continue
        inner: list[_Folder] = []
        for entry in entries:
            try:
                found = _visit(run, folder, levels, entry)
            except FileNotFoundError:
                continue  # removed since the folder was listed
            except OSError as error:
                yield Failure(_printable(folder.path + entry.name), explain(error))
                continue
            if isinstance(found, _Folder):
                inner.append(found)
            elif found is not None:
                yield found
        pending.extend(reversed(inner))


def _visit(
    run: _Walk, folder: _Folder, levels: tuple[Level, ...], entry: os.DirEntry[str]
) -> SourceFile | Skipped | _Folder | None:
    name = entry.name
    if name in BOOKKEEPING:
        return None
    is_dir = entry.is_dir(follow_symlinks=False)
    path = f"{folder.path}{name}/" if is_dir else folder.path + name
    if not _is_utf8(name):
        return Skipped(_printable(path), "its name is not UTF-8; rename it")
    if is_dir and name in INSTALLED:
        return Skipped(path, INSTALLED[name])
    if levels:
        decision = ruling(levels, name, is_dir)
        if decision is not None and not decision[1].negated:
            level, rule = decision
            return Skipped(path, f"ignored by {level.label}, line {rule.line}: {rule.text}")
    if is_dir:
        return _Folder(path, descend(levels, name))
    if entry.is_symlink():
        return Skipped(path, _link_reason(run.root, entry.path))
    if not entry.is_file(follow_symlinks=False):
        return Skipped(path, "not a plain file (a pipe, socket or device)")
    reason = _reason_by_name(name, run.include_secrets)
    if reason is not None:
        return Skipped(path, reason)
    status = entry.stat(follow_symlinks=False)
    return _file(f"{run.root.rstrip('/')}/{path}", path, run.root, status, run.max_file_bytes)


def _single(real: Path, max_file_bytes: int, include_secrets: bool) -> SourceFile | Skipped | Failure:
    if not real.is_file():
        return Skipped(real.name, "not a plain file (a pipe, socket or device)")
    reason = _reason_by_name(real.name, include_secrets)
    if reason is not None:
        return Skipped(real.name, reason)
    try:
        status = real.stat()
    except OSError as error:
        return Failure(real.name, explain(error))
    return _file(str(real), real.name, str(real), status, max_file_bytes)


def _file(uri: str, path: str, root: str, status: os.stat_result, max_file_bytes: int) -> SourceFile | Skipped:
    if status.st_size == 0:
        return Skipped(path, "empty")
    if status.st_size > max_file_bytes:
        return Skipped(path, f"{_size(status.st_size)} is over the limit of {_size(max_file_bytes)}")
    return SourceFile(uri, path, "file", root, status.st_mtime_ns, status.st_size)


def _reason_by_name(name: str, include_secrets: bool) -> str | None:
    if not include_secrets and looks_secret(name):
        return "looks like credentials, which are not indexed"
    kind = binary_kind(name)
    return None if kind is None else f"{kind}, no text to read"


def _link_reason(root: str, path: str) -> str:
    try:
        target = Path(path).resolve(strict=True)
    except (OSError, RuntimeError):
        return "a link that leads nowhere"
    if target.is_relative_to(root):
        return f"a link to {target.relative_to(root).as_posix()}, which is itself part of the folder"
    return "a link that leads out of the folder; add its target on its own"


def _own_levels(run: _Walk, here: str, folder: _Folder, names: set[str]) -> tuple[Level, ...]:
    """The ignore files in a folder, the one that wins first."""
    return tuple(
        level
        for name in reversed(_IGNORE_FILES)
        if name in names
        and (level := _level(Path(here, name), folder.path + name, "", run.ignore_case)) is not None
    )


def _levels_above(root: Path, repository: Repository, ignore_case: bool) -> tuple[Level, ...]:
    """The ignore files that apply to a root from outside of it, deepest first, then git's own two."""
    files: list[tuple[Path, Path]] = []
    if root != repository.top:
        for folder in root.parents:
            files += [(folder / name, folder) for name in reversed(_IGNORE_FILES)]
            if folder == repository.top:
                break
    files.append((repository.common_dir / "info" / "exclude", repository.top))
    files.append((excludes_file(repository), repository.top))
    levels = []
    for file, base in files:
        inner = root.relative_to(base).as_posix()
        level = _level(file, str(file), "" if inner == "." else f"{inner}/", ignore_case)
        if level is not None:
            levels.append(level)
    return tuple(levels)


def _level(file: Path, label: str, prefix: str, ignore_case: bool) -> Level | None:
    """The rules of one ignore file; None when it has none, is not there, or is a link (git reads none either).

    One that is there and cannot be read is a SourceError: what it would have left out must not be taken in.
    """
    try:
        if file.is_symlink() or not file.is_file():
            return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise SourceError(f"{file} cannot be read: {explain(error)}") from error
    rules = compile_rules(read_plain(file, _MAX_IGNORE_BYTES), ignore_case)
    return None if rules is None else Level(label, rules, prefix)


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.4g} {unit}"
    return f"{count} bytes"
