"""Commits and trees of a repository, and what a commit changed. Read from the object store; git is never started.

Grafts and replacements are not followed. A shallow or partial clone ends where its objects do.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Final, NamedTuple

from outcrop.errors import NotFound, SourceError
from outcrop.records import Failure
from outcrop.sources.checkout import Repository, find_ref, repository_holding, shallow_commits
from outcrop.sources.gitobjects import ObjectStore
from outcrop.sources.gitpacks import Damaged
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import BoundedCache, check_wanted

MAX_COMMIT_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 128
"""Folders within folders: no path that a system takes has more."""
MAX_STEPS: Final = 1_000_000
"""Of `~`: longer than any history that is read."""
MAX_TREES: Final = 20_000
"""Trees that one comparison reads: a few small trees can stand for billions of files."""
_MODE_KIND: Final = 0o170000
_FOLDER, _PLAIN, _LINK = 0o040000, 0o100000, 0o120000
_PERSON: Final = re.compile(r"(.*?) ?<([^<>]*)> (-?\d{1,15}) ([+-]\d{4})")
_REVISION: Final = re.compile(r"(.*?)((?:[~^]\d*)*)", re.DOTALL)
# Python knows more, some of which take quadratic time (punycode).
_ENCODING: Final = re.compile(
    r"(?i)utf-?8|(us-)?ascii|latin-?1|iso-?8859-?\d+|(windows|cp)-?\d+|koi8-[ru]|euc-?(jp|kr|cn)|shift_?jis|gbk|gb\d+|big5"
)
_ENTRIES: Final = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0/]++)\0(.{%d})" % size, re.DOTALL) for size in (20, 32)
}
_CACHED_TREES: Final = 4_000
_CACHED_ENTRIES: Final = 400_000


class Entry(NamedTuple):
    """A file, link, folder or submodule in a tree."""

    mode: int
    name: str

    @property
    def is_folder(self) -> bool:
        """Whether it is a tree of its own."""
        return self.mode & _MODE_KIND == _FOLDER

    @property
    def is_file(self) -> bool:
        """Whether it has content: a plain file, or a link with its target."""
        return self.mode & _MODE_KIND in (_PLAIN, _LINK)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode & _MODE_KIND == _LINK


Tree = dict[str, Entry]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. `date` is the author's, with the zone it was made in; `committed_at` is in seconds since the epoch."""

    name: str
    tree: str
    parents: tuple[str, ...]
    author: str
    date: datetime
    committed_at: float
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.split("\n", 1)[0].strip() or "(no message)"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs between two trees, by the names of its blobs; None where it is not there. `renamed_from` is
    its path before, where a file of the same content is gone."""

    path: str
    old: str | None
    new: str | None
    renamed_from: str = ""


class History:
    """The commits of one repository, by name."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.objects = ObjectStore(repository)
        self.shallow = shallow_commits(repository)
        self.problems: list[Failure] = []
        """Commits that a walk had to leave out, with all that is behind them."""
        self._trees: BoundedCache[str, Tree] = BoundedCache(_CACHED_TREES, _CACHED_ENTRIES)

    def commit(self, name: str) -> Commit:
        """A commit; one whose parents a shallow clone lacks has none."""
        return _read_commit(name, self.objects.read(name, "commit", MAX_COMMIT_BYTES), self.shallow)

    def tree(self, name: str) -> Tree:
        """The entries of one folder."""
        known = self._trees.get(name)
        if known is None:
            data = self.objects.read(name, "tree")
            known = _read_tree(data, 20 if self.objects.algorithm == "sha1" else 32)
            self._trees.put(name, known, 1 + len(known))
        return known

    def blob_at(self, tree: str, path: str) -> str | None:
        """The name of the content of a file; None where there is no such file."""
        *folders, last = path.split("/")
        for folder in folders:
            entry = self.tree(tree).get(folder)
            if entry is None or not entry.is_folder:
                return None
            tree = entry.name
        entry = self.tree(tree).get(last)
        return entry.name if entry is not None and entry.is_file else None

    def resolve(self, text: str) -> str:
        """The commit that a revision means: a branch, a tag, HEAD, (part of) a name, each perhaps with ~ and ^."""
        found = _REVISION.fullmatch(text)
        base, steps = (found[1], found[2]) if found else (text, "")
        name = self._peel(self._named(base or "HEAD"))
        for sign, digits in re.findall(r"([~^])(\d*)", steps):
            number = int(digits[:9] or 1)
            if number > MAX_STEPS:
                raise NotFound(f"there is no revision {text!r}")
            for _ in range(number if sign == "~" else min(number, 1)):
                check_wanted()
                parents = self.commit(name).parents
                place = 0 if sign == "~" else number - 1
                if place >= len(parents):
                    raise NotFound(f"there is no revision {text!r}: {name[:12]} has {len(parents)} parents")
                name = parents[place]
        return name

    def _named(self, base: str) -> str:
        name = find_ref(self.repository, base)
        if name is not None:
            return name
        names = self.objects.complete(base)
        if len(names) == 1:
            return names[0]
        why = (
            f"it may be {', '.join(name[:12] for name in names)}"
            if names
            else "name a branch, a tag or a commit"
        )
        raise NotFound(f"there is no revision {base!r}; {why}")

    def _peel(self, name: str) -> str:
        for _ in range(8):  # a tag of a tag of …
            kind, data = self.objects.read_any(name, MAX_COMMIT_BYTES)
            if kind == "commit":
                return name
            found = re.match(rb"object ([0-9a-f]{40,64})\n", data)
            if kind != "tag" or found is None:
                break
            name = found[1].decode()
        raise NotFound(f"{name[:12]} is not a commit")

    def walk(self, tip: str, enter: Callable[[Commit], bool]) -> Iterator[Commit]:
        """A commit and its ancestors, the latest first; those behind one that is not entered are left out."""
        seen = {tip}
        waiting = [(-(first := self.commit(tip)).committed_at, tip, first)]
        while waiting:
            check_wanted()
            _, _, commit = heapq.heappop(waiting)
            if not enter(commit):
                continue
            yield commit
            for parent in commit.parents:
                if parent not in seen:
                    seen.add(parent)
                    try:
                        found = self.commit(parent)
                    except SourceError as error:
                        self.problems.append(Failure(parent[:12], str(error)))
                        continue
                    heapq.heappush(waiting, (-found.committed_at, parent, found))

    def merge_base(self, one: str, other: str) -> str:
        """The latest commit that both of two commits have behind them."""
        behind = {commit.name for commit in self.walk(one, lambda _: True)}
        for commit in self.walk(other, lambda _: True):
            if commit.name in behind:
                return commit.name
        raise NotFound(f"{one[:12]} and {other[:12]} have no commit in common")

    def changes(self, old: str | None, new: str | None, most: int) -> tuple[list[FileChange], bool]:
        """The files that differ between two trees, by path, at most `most`; and whether these are all."""
        found: list[FileChange] = []
        waiting: list[tuple[str, str | None, str | None]] = [("", old, new)]
        trees = 0
        while waiting:
            check_wanted()
            prefix, before, after = waiting.pop()
            trees += 1
            if trees > MAX_TREES or len(found) > most:
                return _with_renames(found[:most]), False
            if prefix.count("/") > MAX_DEPTH:
                raise Damaged(f"{prefix[:80]}… lies deeper than any file can")
            left = self.tree(before) if before else {}
            right = self.tree(after) if after else {}
            for name in left.keys() | right.keys():
                one, other = left.get(name), right.get(name)
                if one == other:
                    continue
                folders = [item.name if item and item.is_folder else None for item in (one, other)]
                if any(folders):
                    waiting.append((f"{prefix}{name}/", folders[0], folders[1]))
                files = [item.name if item and item.is_file else None for item in (one, other)]
                if files[0] != files[1]:
                    found.append(FileChange(f"{prefix}{name}", files[0], files[1]))
        return _with_renames(found), True


def _with_renames(changes: list[FileChange]) -> list[FileChange]:
    """By path; a file that came while one of the same content went has moved."""
    gone = {change.old: change.path for change in changes if change.new is None}
    moved = {change.path: gone[change.new] for change in changes if change.old is None and change.new in gone}
    sources = set(moved.values())
    return sorted(
        (
            FileChange(change.path, change.new, change.new, moved[change.path])
            if change.path in moved
            else change
            for change in changes
            if change.path not in sources
        ),
        key=lambda change: change.path,
    )


def open_history(folder: Path) -> History:
    """The history of the repository that holds a folder or a file."""
    repository = repository_holding(folder.expanduser().resolve())
    if repository is None:
        raise SourceError(f"{folder} is not in a git repository; history is read from one")
    return History(repository)


def _read_commit(name: str, data: bytes, shallow: frozenset[str]) -> Commit:
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key:  # a line that begins with a space continues a signature
            fields.setdefault(key.decode("ascii", "replace"), []).append(value)
    encoding = b"".join(fields.get("encoding", [])).decode("ascii", "replace") or "utf-8"
    author, date = _read_person(b"".join(fields.get("author", [])[:1]), encoding)
    _, committed = _read_person(b"".join(fields.get("committer", [])[:1]), encoding)
    trees = fields.get("tree", [])
    if len(trees) != 1:
        raise Damaged(f"commit {name[:12]} has no tree")
    parents = (
        () if name in shallow else tuple(each.decode("ascii", "replace") for each in fields.get("parent", []))
    )
    return Commit(
        name,
        trees[0].decode("ascii", "replace"),
        parents,
        author,
        date,
        committed.timestamp(),
        _decode(body, encoding).strip(),
    )


def _read_person(line: bytes, encoding: str) -> tuple[str, datetime]:
    """Who, and when; the beginning of time where the line is malformed, which old tools wrote."""
    found = _PERSON.fullmatch(_decode(line, encoding))
    if found is None:
        return "", datetime.fromtimestamp(0, UTC)
    sign = -1 if found[4][0] == "-" else 1
    offset = sign * timedelta(hours=int(found[4][1:3]), minutes=int(found[4][3:]))
    try:
        return found[1], datetime.fromtimestamp(int(found[3]), timezone(offset))
    except (ValueError, OverflowError, OSError):
        return found[1], datetime.fromtimestamp(0, UTC)


def _decode(data: bytes, encoding: str) -> str:
    known = encoding if _ENCODING.fullmatch(encoding) else "utf-8"
    try:
        return data.decode(known, "replace").replace("\0", "")
    except LookupError:
        return data.decode("utf-8", "replace").replace("\0", "")


def _read_tree(data: bytes, digest_bytes: int) -> Tree:
    found = _ENTRIES[digest_bytes].findall(data)
    if sum(len(mode) + len(name) + digest_bytes + 2 for mode, name, _ in found) != len(data):
        raise Damaged("a tree of the repository is damaged; `git fsck` tells more")
    return {
        name.decode("utf-8", "surrogateescape"): Entry(int(mode, 8), digest.hex())
        for mode, name, digest in found
    }
