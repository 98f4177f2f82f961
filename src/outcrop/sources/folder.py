"""Walk a folder: every file worth reading, and a report line for each that is left out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from outcrop.errors import SourceError
from outcrop.records import Failure, Skipped, SourceFile
from outcrop.sources.archives import archive_kind
from outcrop.sources.checkout import Checkout, Checkouts, excludes_file
from outcrop.sources.exclusions import (
    BOOKKEEPING,
    CREDENTIALS,
    INSTALLED,
    MARKERS,
    looks_secret,
    reason_of_kind,
)
from outcrop.sources.files import explain, read_plain
from outcrop.sources.ignore import Level, compile_rules, descend, ruling
from outcrop.sources.mailbox import is_large_mailbox
from outcrop.system.dataclass import dataclass

# Highest precedence first within one folder; and whether the file is git's.
_IGNORE_FILES = {".outcropignore": False, ".gitignore": True}
# The largest ignore files in the wild have tens of kilobytes; half a megabyte compiles in a second or two.
_MAX_IGNORE_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class _Walk:
    root: str
    max_file_bytes: int
    include_secrets: bool
    checkouts: Checkouts
    pictures: bool
    archives: bool


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder still to be read. `path` is "" for the root, else ends with a slash; `levels`: deepest first. `inner` is
    its path below the top of its checkout, in the same form. `ignored` is set inside a folder that git ignores, where
    only tracked files count. `notice` is what to report about the folder itself."""

    path: str
    levels: tuple[Level, ...]
    checkout: Checkout | None
    inner: str
    ignored: bool = False
    notice: str | None = None

    @property
    def ignore_case(self) -> bool:
        return self.checkout is not None and self.checkout.ignore_case

    def tracks(self, name: str, is_dir: bool) -> bool:
        """Whether git tracks the entry, or anything below it."""
        tracked = None if self.checkout is None else self.checkout.tracked
        if tracked is None:
            return False
        path = self.inner + name
        return path in tracked or (is_dir and tracked.holds_below(f"{path}/"))


def walk(
    root: Path,
    *,
    max_file_bytes: int,
    include_secrets: bool = False,
    checkouts: Checkouts | None = None,
    pictures: bool = False,
    archives: bool = False,
) -> Iterator[SourceFile | Skipped | Failure]:
    """Everything below a folder in a fixed order, or the one file that `root` names.

    The root itself is walked even if an ignore rule would exclude it; the rules apply to what lies below. These come
    from every .gitignore and .outcropignore (which wins) from the top of the git repository down, its info/exclude and
    the user's core.excludesFile. A nested repository (a submodule, a worktree, a clone) has its own rules; of the outer
    ones only .outcropignore still applies. As in git, tracked files are not ignored, except by .outcropignore. Links
    are never followed.

    A path that ends with a slash is a folder. A Failure of a folder means that nothing is known about what lies below
    it: see `shields`. A root that is missing or cannot be read is a SourceError. Share `checkouts` with whatever else
    asks about the same files in this run. With `pictures` and `archives` those are files to read as well.
    """
    try:
        real = root.resolve(strict=True)
        is_dir = real.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(f"{root} cannot be added: {explain(error)}") from error
    if not _is_utf8(str(real)):
        raise SourceError(f"{_printable(str(real))} cannot be added: its name is not UTF-8; rename it")
    if not is_dir:
        return iter((_single(real, max_file_bytes, include_secrets, pictures, archives),))
    run = _Walk(str(real), max_file_bytes, include_secrets, checkouts or Checkouts(), pictures, archives)
    checkout = run.checkouts.holding(str(real))
    levels = () if checkout is None else _levels_above(real, checkout)
    inner = "" if checkout is None else _below(real, checkout.repository.top)
    try:
        os.scandir(real).close()
    except OSError as error:
        raise SourceError(f"{real} cannot be added: {explain(error)}") from error
    return _walk(run, _Folder("", levels, checkout, inner))


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
            if ".git" in names and folder.path:
                folder = _entered(run, here, folder)
            levels = _own_levels(here, folder, names) + folder.levels
        except (OSError, SourceError) as error:
            if isinstance(error, FileNotFoundError):
                continue  # removed since its parent was listed
            yield Failure(folder.path or "./", f"folder cannot be read: {explain(error)}")
            continue
        marker = next((name for name in MARKERS if name in names), None)
        if marker is not None and folder.path:
            yield Skipped(folder.path, MARKERS[marker])
            continue
        if folder.notice is not None:
            yield Skipped(folder.path, folder.notice)
        yield from _unread_index(folder)
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


def _unread_index(folder: _Folder) -> Iterator[Skipped]:
    """Report a git index that could not be used, at the folder where the repository is entered."""
    checkout = folder.checkout
    if checkout is not None and checkout.unread and not (folder.path and folder.inner):
        git_dir = f"{folder.path}.git" if not folder.inner else str(checkout.repository.git_dir)
        yield Skipped(f"{git_dir}/index", checkout.unread)


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
    if folder.ignored and not folder.tracks(name, is_dir):
        return None  # reported with its folder
    reason = _rule_against(levels, name, is_dir)
    notice = None
    if reason is not None:
        ours = tuple(level for level in levels if not level.of_git)
        firm = _rule_against(ours, name, is_dir) if folder.tracks(name, is_dir) else reason
        if firm is not None:
            return Skipped(path, firm)
        levels, notice = ours, f"{reason} (what git tracks in it is kept)"
    if is_dir:
        inner = f"{folder.inner}{name}/"
        below = descend(levels, name)
        return _Folder(path, below, folder.checkout, inner, folder.ignored or notice is not None, notice)
    if entry.is_symlink():
        return Skipped(path, _link_reason(run.root, entry.path))
    if not entry.is_file(follow_symlinks=False):
        return Skipped(path, "not a plain file (a pipe, socket or device)")
    opened = run.archives and archive_kind(name) is not None
    reason = None if opened else _reason_by_name(entry.path, run.include_secrets, run.pictures)
    if reason is not None:
        return Skipped(path, reason)
    status = entry.stat(follow_symlinks=False)
    uri = f"{run.root.rstrip('/')}/{path}"
    return stat_file(uri, path, run.root, status, run.max_file_bytes, archives=opened)


def _single(
    real: Path, max_file_bytes: int, include_secrets: bool, pictures: bool, archives: bool
) -> SourceFile | Skipped | Failure:
    if not real.is_file():
        return Skipped(real.name, "not a plain file (a pipe, socket or device)")
    opened = archives and archive_kind(real.name) is not None
    reason = None if opened else _reason_by_name(str(real), include_secrets, pictures)
    if reason is not None:
        return Skipped(real.name, reason)
    try:
        status = real.stat()
    except OSError as error:
        return Failure(real.name, explain(error))
    return stat_file(str(real), real.name, str(real), status, max_file_bytes, archives=opened)


def stat_file(
    uri: str, path: str, root: str, status: os.stat_result, max_file_bytes: int, *, archives: bool = False
) -> SourceFile | Skipped:
    """A file as a source, by its status, or why it is left out. Of `archives` each file has a size of its own."""
    if status.st_size == 0:
        return Skipped(path, "empty")
    if status.st_size > max_file_bytes and not archives and not is_large_mailbox(uri):
        return Skipped(path, f"{_size(status.st_size)} is over the limit of {_size(max_file_bytes)}")
    return SourceFile(uri, path, "file", root, status.st_mtime_ns, status.st_size)


def _reason_by_name(path: str, include_secrets: bool, pictures: bool) -> str | None:
    if not include_secrets and looks_secret(path):
        return CREDENTIALS
    reason = reason_of_kind(path, pictures=pictures)
    if reason is not None and archive_kind(path):
        return "an archive; add it with --archives to read the files in it"
    return reason


def _link_reason(root: str, path: str) -> str:
    try:
        target = Path(path).resolve(strict=True)
    except (OSError, RuntimeError):
        return "a link that leads nowhere"
    if target.is_relative_to(root):
        return f"a link to {target.relative_to(root).as_posix()}, which is itself part of the folder"
    return "a link that leads out of the folder; add its target on its own"


def _rule_against(levels: tuple[Level, ...], name: str, is_dir: bool) -> str | None:
    """The rule that leaves an entry out, in words."""
    decision = ruling(levels, name, is_dir)
    if decision is None or decision[1].negated:
        return None
    level, rule = decision
    return f"ignored by {level.label}, line {rule.line}: {rule.text}"


def _entered(run: _Walk, here: str, folder: _Folder) -> _Folder:
    """A folder that contains .git: if it is a repository's top, other rules apply from here on."""
    checkout = run.checkouts.at(here.rstrip("/"))
    if checkout is None:
        return folder
    ours = tuple(level for level in folder.levels if not level.of_git)
    return _Folder(folder.path, ours + _levels_above(Path(here), checkout), checkout, "")


def _own_levels(here: str, folder: _Folder, names: set[str]) -> tuple[Level, ...]:
    """The ignore files of a folder, highest precedence first."""
    return tuple(
        level
        for name, of_git in _IGNORE_FILES.items()
        if name in names
        and not (of_git and folder.ignored)
        and (level := _level(Path(here, name), folder.path + name, "", folder.ignore_case, of_git)) is not None
    )


def _levels_above(root: Path, checkout: Checkout) -> tuple[Level, ...]:
    """The ignore files that apply to a root from outside, deepest first, then git's own two."""
    repository = checkout.repository
    files: list[tuple[Path, Path, bool]] = []
    if root != repository.top:
        for folder in root.parents:
            files += [(folder / name, folder, of_git) for name, of_git in _IGNORE_FILES.items()]
            if folder == repository.top:
                break
    # Unlike a .gitignore these two may be links: git follows them, and people keep dotfiles that way.
    for file in (repository.common_dir / "info" / "exclude", excludes_file(repository)):
        files.append((Path(os.path.realpath(file)), repository.top, True))
    levels = []
    for file, base, of_git in files:
        level = _level(file, str(file), _below(root, base), checkout.ignore_case, of_git)
        if level is not None:
            levels.append(level)
    return tuple(levels)


def _below(folder: Path, base: Path) -> str:
    """The relative path from `base` to a folder below it: "" or ending with a slash."""
    inner = folder.relative_to(base).as_posix()
    return "" if inner == "." else f"{inner}/"


def _level(file: Path, label: str, prefix: str, ignore_case: bool, of_git: bool) -> Level | None:
    """The rules of one ignore file; None when it has none, does not exist, or is a link (which git does not read
    either). A file that exists but cannot be read is a SourceError: what it would have excluded must not be indexed."""
    try:
        if file.is_symlink() or not file.is_file():
            return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise SourceError(f"{file} cannot be read: {explain(error)}") from error
    content = read_plain(file, _MAX_IGNORE_BYTES)
    try:
        rules = compile_rules(content, ignore_case)
    except SourceError as error:
        raise SourceError(f"{file}: {error}") from error
    return None if rules is None else Level(label, rules, prefix, of_git)


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
