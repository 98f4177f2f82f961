"""The files of a branch, read out of the object store without a checkout; the branches and worktrees of a repository.

Git is never started. Everything is bounded: a few small trees can stand for billions of files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Final

from outcrop.errors import NotFound, SourceError
from outcrop.records import Failure, Skipped, SourceFile
from outcrop.sources.checkout import Repository, first_line, packed_refs
from outcrop.sources.commits import MAX_DEPTH, Entry, History
from outcrop.sources.exclusions import CREDENTIALS, looks_secret, reason_of_kind
from outcrop.sources.gitpacks import MissingObject
from outcrop.sources.ignore import Level, compile_rules, descend, ruling
from outcrop.system.limits import check_wanted

BLOB: Final = "blob:"
IGNORE_FILE: Final = ".outcropignore"
MAX_FILES: Final = 300_000
"""Of one tree; more than that and it is a line in the report (not measured)."""
MAX_FOLDERS: Final = 100_000
MAX_REFS: Final = 50_000
"""Loose refs that are looked at; packed ones are bounded by the size of their file."""
_MAX_WORKTREES: Final = 5_000
_MAX_IGNORE_BYTES: Final = 512 * 1024
_KINDS: Final = ("refs/heads/", "refs/remotes/", "refs/tags/")
"""Where a pattern is looked for, in this order: the first kind that has a match counts."""


def blob_uri(blob: str, path: str) -> str:
    """The name of a document that holds this content at this path, in whatever tree."""
    return f"{BLOB}{blob}/{path}"


def blob_of(uri: str) -> str:
    """The content that a name of `blob_uri` stands for."""
    return uri.removeprefix(BLOB).partition("/")[0]


def match_refs(repository: Repository, patterns: Sequence[str]) -> dict[str, str]:
    """Full name → revision of the branches that match (`main`, `release/*`), in the order of the patterns; remote
    branches (`origin/*`) and tags where no branch matches. NotFound for a pattern without any."""
    found, unmatched = match_known_refs(repository, patterns)
    if unmatched:
        raise NotFound(f"{repository.top} has no branch {unmatched[0]!r}; `git branch --all` lists them")
    return found


def match_known_refs(repository: Repository, patterns: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """As `match_refs`, and the patterns that match nothing (any more)."""
    refs = list_refs(repository)
    found: dict[str, str] = {}
    unmatched: list[str] = []
    for pattern in patterns:
        wanted = re.compile(translate(pattern))
        for kind in _KINDS:
            names = [name for name in refs if name.startswith(kind) and wanted.match(name.removeprefix(kind))]
            if names:
                break
        else:
            names = [name for name in refs if name == pattern]
        unmatched += [] if names else [pattern]
        found |= {name: refs[name] for name in sorted(names) if not name.endswith("/HEAD")}
    return found, unmatched


def list_refs(repository: Repository) -> dict[str, str]:
    """Full name → revision of branches, remote branches and tags, as far as they are kept in plain files."""
    found = packed_refs(repository)
    seen = 0
    for kind in _KINDS:
        base = repository.common_dir / kind
        for folder, _, names in os.walk(base):  # which follows no links
            for name in names:
                seen += 1
                if seen > MAX_REFS:
                    raise SourceError(
                        f"{base} holds more than {MAX_REFS:,} refs; `git pack-refs --all` packs them"
                    )
                file = Path(folder, name)
                revision = first_line(file) or ""
                if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", revision):
                    found[f"{kind}{file.relative_to(base).as_posix()}"] = revision
    return found


def worktree_folders(repository: Repository) -> set[str]:
    """The folders of all checkouts of a repository that it knows of: its own, and the linked ones."""
    common = repository.common_dir
    found = {str(common.parent)} if common.name == ".git" else set()
    try:
        entries = sorted((common / "worktrees").iterdir())[:_MAX_WORKTREES]
    except OSError:
        entries = []
    for entry in entries:
        line = first_line(entry / "gitdir")
        if line:
            found.add(os.path.realpath((entry / line).parent))
    return found


def walk_tree(
    history: History, tree: str, *, include_secrets: bool = False
) -> Iterator[SourceFile | Skipped | Failure]:
    """The files of a tree, each named by `blob_uri`, under the rules that hold for tracked files in a folder: only
    .outcropignore leaves any out. Links and submodules have no content here."""
    waiting: list[tuple[str, str, tuple[Level, ...]]] = [("", tree, ())]
    files = folders = 0
    while waiting:
        check_wanted()
        prefix, name, levels = waiting.pop()
        folders += 1
        if files > MAX_FILES or folders > MAX_FOLDERS:
            yield Failure(
                prefix or ".", f"a tree of more than {MAX_FILES:,} files or {MAX_FOLDERS:,} folders is cut off"
            )
            return
        if prefix.count("/") > MAX_DEPTH:
            yield Failure(f"{prefix[:80]}…", "lies deeper than any file can")
            continue
        try:
            entries = history.tree(name)
            levels = (*_own_rules(history, prefix, entries), *levels)
        except SourceError as error:
            yield Failure(prefix or ".", str(error))
            continue
        for entry_name, entry in sorted(entries.items(), reverse=True):
            path = f"{prefix}{entry_name}"
            reason = _reason(levels, entry_name, path, entry, include_secrets)
            if reason is not None:
                if reason:
                    yield Skipped(path.encode("utf-8", "replace").decode(), reason)
            elif entry.is_folder:
                waiting.append((f"{path}/", entry.name, descend(levels, entry_name)))
            else:
                files += 1
                yield SourceFile(blob_uri(entry.name, path), path, "tree")


def _own_rules(history: History, prefix: str, entries: dict[str, Entry]) -> tuple[Level, ...]:
    entry = entries.get(IGNORE_FILE)
    if entry is None or not entry.is_file:
        return ()
    try:
        rules = compile_rules(history.objects.read(entry.name, "blob", _MAX_IGNORE_BYTES))
    except MissingObject as error:
        raise SourceError(f"{prefix}{IGNORE_FILE}: {error}") from error
    return () if rules is None else (Level(f"{prefix}{IGNORE_FILE}", rules, "", of_git=False),)


def _reason(levels: tuple[Level, ...], name: str, path: str, entry: Entry, include_secrets: bool) -> str | None:
    """Why an entry is left out: in words, or empty where nobody need be told; None where it is not."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    decision = ruling(levels, name, entry.is_folder)
    if decision is not None and not decision[1].negated:
        level, rule = decision
        return f"ignored by {level.label}, line {rule.line}: {rule.text}"
    if entry.is_folder:
        return None
    if not entry.is_file or entry.is_link:
        return ""
    if not include_secrets and looks_secret(path):
        return CREDENTIALS
    return reason_of_kind(path)
