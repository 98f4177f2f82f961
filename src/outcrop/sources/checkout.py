"""Checked-out repositories, read from plain files: what git tracks in each, and whether a file is what git recorded.

Git itself is never started: a stranger's repository can carry configuration that runs programs.

A file is *dirty* when its content is not what the repository's index records for it: edited and not staged, never
added, or in conflict. Changes that are staged but not committed count as clean: telling them apart would mean reading
trees from git's packs. Line endings that git would convert do not make a file dirty.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from outcrop.errors import SourceError
from outcrop.sources.files import read_plain
from outcrop.sources.gitindex import Algorithm, IndexTooLarge, Tracked, TrackedFile, read_index
from outcrop.system.dataclass import dataclass

# HEAD, gitdir and loose refs are one line; a configuration this large has thousands of sections.
_MAX_SMALL_BYTES = 256 * 1024
# A hundred thousand packed tags take about 8 MB.
_MAX_PACKED_REFS_BYTES = 32 * 1024 * 1024

_TRUE = ("true", "yes", "on", "1")
_REVISION = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs(?:/(?!\.)[^/\x00-\x20\x7f~^:?*\[\\]+)+")
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?")
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(\s+"[^"]*")?\s*\](.*)')


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository's working tree. `common_dir` differs from `git_dir` in a linked worktree. `branch` is None when
    HEAD is detached, `revision` is None before the first commit (or where the references are kept in a format other
    than plain files). A bare one has no working tree: its `top` is the folder of its objects."""

    top: Path
    git_dir: Path
    common_dir: Path
    branch: str | None
    revision: str | None

    @property
    def is_bare(self) -> bool:
        """Whether nothing is checked out in it."""
        return self.top == self.git_dir


def repository_holding(place: Path) -> Repository | None:
    """The innermost repository that a folder or file (a real path) is in, bare or not."""
    for folder in (place, *place.parents):
        found = bare_at(folder) or repository_at(folder)
        if found is not None:
            return found
    return None


def bare_at(folder: Path) -> Repository | None:
    """The bare repository that this folder (a real path) is, or that its `.git` leads to, as where worktrees lie around
    a repository that has no other."""
    for git_dir in (folder, _git_dir(folder / ".git")):
        if git_dir is not None and _is_bare(git_dir):
            branch, revision = _head(git_dir, git_dir)
            return Repository(git_dir, git_dir, git_dir, branch, revision)
    return None


def _is_bare(git_dir: Path) -> bool:
    try:
        is_whole = (git_dir / "objects").is_dir() and (git_dir / "refs").is_dir()
    except OSError:
        return False
    if not is_whole or not first_line(git_dir / "HEAD"):
        return False
    return (_value(_text(git_dir / "config", _MAX_SMALL_BYTES), "core", "bare") or "").lower() in _TRUE


def repository_at(folder: Path) -> Repository | None:
    """The repository, linked worktree or submodule whose top is this very folder (a real path)."""
    git_dir = _git_dir(folder / ".git")
    if git_dir is None:
        return None
    common = first_line(git_dir / "commondir")
    common_dir = _resolved(git_dir / common) if common else git_dir
    if common_dir is None:
        return None
    branch, revision = _head(git_dir, common_dir)
    return Repository(folder, git_dir, common_dir, branch, revision)


def core_setting(repository: Repository, name: str) -> str | None:
    """The value of `core.<name>`: the repository's own, else the user's, else the system's. Includes are not followed,
    and the user's folder is `~/.config` whatever XDG_CONFIG_HOME says."""
    home = _home()
    files = (
        repository.common_dir / "config",
        home / ".gitconfig",
        home / ".config" / "git" / "config",
        Path("/etc/gitconfig"),
    )
    for file in files:
        value = _value(_text(file, _MAX_SMALL_BYTES), "core", name)
        if value is not None:
            return value
    return None


def ignores_case(repository: Repository) -> bool:
    """Whether git treats names that differ only in case as the same here."""
    return (core_setting(repository, "ignorecase") or "").lower() in _TRUE


def object_format(repository: Repository) -> str:
    """How the repository names its objects: `sha1`, or what its own configuration says (`sha256`)."""
    own = _text(repository.common_dir / "config", _MAX_SMALL_BYTES)
    return (_value(own, "extensions", "objectformat") or "sha1").lower()


def excludes_file(repository: Repository) -> Path:
    """The user's own ignore file, which may not exist: `core.excludesFile` or git's default."""
    value = core_setting(repository, "excludesfile")
    if value is None:
        return _home() / ".config" / "git" / "ignore"
    if value == "~" or value.startswith("~/"):
        return _home() / value[2:]
    return repository.top / value


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a container whose user has none
        return Path("/nonexistent")


def _git_dir(dot_git: Path) -> Path | None:
    try:
        is_dir, is_file = dot_git.is_dir(), dot_git.is_file()
    except OSError:
        return None
    if is_dir:
        # An empty .git folder is not a repository; git continues with the parent, and so do we.
        return dot_git if first_line(dot_git / "HEAD") else None
    if is_file:
        line = first_line(dot_git) or ""
        target = _resolved(dot_git.parent / line.removeprefix("gitdir:").strip())
        if line.startswith("gitdir:") and target is not None and first_line(target / "HEAD"):
            return target
    return None


def _head(git_dir: Path, common_dir: Path) -> tuple[str | None, str | None]:
    line = first_line(git_dir / "HEAD") or ""
    if _REVISION.fullmatch(line):
        return None, line
    ref = line.removeprefix("ref:").strip()
    if not line.startswith("ref:") or not _REF.fullmatch(ref):
        return None, None
    return ref.removeprefix("refs/heads/"), _ref_revision(git_dir, common_dir, ref)


def _ref_revision(git_dir: Path, common_dir: Path, ref: str) -> str | None:
    for folder in (git_dir, common_dir):
        loose = first_line(folder / ref) or ""
        if _REVISION.fullmatch(loose):
            return loose
    return _packed_revision(common_dir / "packed-refs", ref)


def find_ref(repository: Repository, name: str) -> str | None:
    """The revision of a branch, a tag or a remote's branch by its short or full name, looked for in git's order."""
    if name == "HEAD":
        return repository.revision
    for pattern in (
        "{}",
        "refs/{}",
        "refs/tags/{}",
        "refs/heads/{}",
        "refs/remotes/{}",
        "refs/remotes/{}/HEAD",
    ):
        ref = pattern.format(name)
        if _REF.fullmatch(ref) and (found := _ref_revision(repository.git_dir, repository.common_dir, ref)):
            return found
    return None


def shallow_commits(repository: Repository) -> frozenset[str]:
    """The commits of a shallow clone whose parents it does not have."""
    text = _text(repository.common_dir / "shallow", _MAX_PACKED_REFS_BYTES)
    return frozenset(_REVISION.findall(text))


def packed_refs(repository: Repository) -> dict[str, str]:
    """Full name → revision of the references that are kept in one file."""
    text = _text(repository.common_dir / "packed-refs", _MAX_PACKED_REFS_BYTES)
    lines = re.finditer(rf"^({_REVISION.pattern}) ({_REF.pattern})\r?$", text, re.MULTILINE)
    return {line[2]: line[1] for line in lines}


def _packed_revision(file: Path, ref: str) -> str | None:
    """The revision of a packed reference. The file is not split into lines: one full of line ends would take 300 MB."""
    text = _text(file, _MAX_PACKED_REFS_BYTES)
    found = re.search(rf"^({_REVISION.pattern}) {re.escape(ref)}\r?$", text, re.MULTILINE)
    return None if found is None else found[1]


def _resolved(path: Path) -> Path | None:
    """The real path; None where links form a loop."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return None


def _text(path: Path, max_bytes: int) -> str:
    """The text of one of git's files; empty when it is missing, cannot be read, or holds a NUL, which git never writes
    and no path may contain. Links are followed, as git does: many people link ~/.gitconfig to a dotfiles repository."""
    try:
        data = read_plain(path.resolve(), max_bytes)
    except (OSError, RuntimeError, SourceError):
        return ""
    return "" if b"\0" in data else data.decode("utf-8", "surrogateescape")


def first_line(path: Path) -> str | None:
    """The first line of one of git's small files; None where there is nothing in it."""
    text = _text(path, _MAX_SMALL_BYTES)
    return text.split("\n", 1)[0].strip() if text.strip() else None


def _value(config: str, wanted: str, name: str) -> str | None:
    """The last value of a setting in a section without a sub-section."""
    value: str | None = None
    inside = False
    for line in config.replace("\\\n", "").splitlines():
        rest = line
        section = _SECTION.fullmatch(line)
        if section is not None:
            inside = section[1].lower() == wanted and section[2] is None
            rest = section[3]
        setting = _SETTING.fullmatch(rest)
        if inside and setting is not None and setting[1].lower() == name:
            # A name alone means true, as in git.
            value = "true" if setting[2] is None else _plain_value(setting[2])
    return value


def _plain_value(raw: str) -> str:
    """A value without its quotes, escapes and comment."""
    out: list[str] = []
    quoted = False
    at = 0
    while at < len(raw):
        char = raw[at]
        if char == "\\" and at + 1 < len(raw):
            at += 1
            out.append({"n": "\n", "t": "\t", "b": "\b"}.get(raw[at], raw[at]))
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            return "".join(out).rstrip()
        else:
            out.append(char)
        at += 1
    return "".join(out)


_MAX_HELD_BYTES: Final = 512 * 1024 * 1024
"""Limit for the indexes of all repositories in one run: a tree can hold any number of them, each a link to the same
large one. Enough for five repositories of a million files (not measured)."""
_ALGORITHMS: Final[dict[str, Algorithm]] = {"sha1": "sha1", "sha256": "sha256"}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository's working tree as it is now; `tracked` is None where git's index cannot be read reliably. `unread`
    says why an index that is too large was not read; empty otherwise."""

    repository: Repository
    tracked: Tracked | None
    ignore_case: bool
    unread: str = ""

    @property
    def top(self) -> str:
        """The folder that holds the working tree."""
        return str(self.repository.top)


def read_checkout(repository: Repository, room_bytes: int = _MAX_HELD_BYTES) -> Checkout:
    """A repository with what it tracks, if that fits into `room_bytes`."""
    algorithm = _ALGORITHMS.get(object_format(repository))
    unread = ""
    tracked: Tracked | None = None
    try:
        if algorithm is not None:
            tracked = read_index(repository.git_dir / "index", algorithm, room_bytes)
    except IndexTooLarge as error:
        unread = (
            f"{error}; the folder is walked without it: what git tracks does not count against ignore rules"
        )
    return Checkout(repository, tracked, ignores_case(repository), unread)


class Checkouts:
    """The repositories that files belong to, each read once. A snapshot: make a new one for every run."""

    def __init__(self) -> None:
        self._at: dict[str, Checkout | None] = {}
        self._holding: dict[str, Checkout | None] = {}
        self._room_bytes = _MAX_HELD_BYTES

    def at(self, folder: str) -> Checkout | None:
        """The checkout whose top is this folder (a real path)."""
        if folder not in self._at:
            # Most folders are not the top of a repository: one check saves the others.
            there = os.path.lexists(f"{folder.rstrip('/')}/.git")
            repository = repository_at(Path(folder)) if there else None
            found = None if repository is None else read_checkout(repository, self._room_bytes)
            if found is not None and found.tracked is not None:
                self._room_bytes -= found.tracked.held_bytes
            self._at[folder] = found
        return self._at[folder]

    def holding(self, folder: str) -> Checkout | None:
        """The innermost checkout that this folder (a real path) is part of."""
        passed: list[str] = []
        found: Checkout | None = None
        while folder not in self._holding:
            passed.append(folder)
            found = self.at(folder)
            parent = os.path.dirname(folder)  # noqa: PTH120 - one a folder of the walk; Path is 20 times slower
            if found is not None or parent == folder:
                break
            folder = parent
        else:
            found = self._holding[folder]
        self._holding.update(dict.fromkeys(passed, found))
        return found


def blob_id(data: bytes, algorithm: Algorithm = "sha1") -> str:
    """The name git gives to a file's content."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def is_dirty(checkout: Checkout, path: str, data: bytes) -> bool | None:
    """Whether `data`, the content of the file at `path` below the top, differs from what the index records; None if
    unknown.

    Two of git's conversions are tried: line endings, and the pointer that git-lfs stores in place of a large file.
    Under another filter (encryption, `ident`, another encoding) a clean file counts as dirty, unless its stat already
    proved it clean.
    """
    if checkout.tracked is None:
        return None
    entry = checkout.tracked.get(path)
    return entry is None or not records(entry, data, checkout.tracked.algorithm)


def records(entry: TrackedFile, data: bytes, algorithm: Algorithm) -> bool:
    """Whether an entry of the index records this content."""
    if entry.intent_to_add or entry.conflicted or not entry.is_plain:
        return False
    if blob_id(data, algorithm) == entry.blob:
        return True
    if b"\r\n" in data and blob_id(data.replace(b"\r\n", b"\n"), algorithm) == entry.blob:
        return True
    return blob_id(_lfs_pointer(data), algorithm) == entry.blob


def _lfs_pointer(data: bytes) -> bytes:
    oid = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n".encode()
