"""Trees of public repositories as they were before their newest commits, which then ask for the files they changed."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from training.ranking.records import Asked

HELD_BACK: Final = 500
"""Commits after the one whose tree is asked, or a third of all."""
MAX_CHANGED: Final = 4
"""Files that a commit may change to be asked for: one that changes more seldom says of each why."""
MAX_FILE_BYTES: Final = 400_000
MAX_FILES: Final = 3_000
NO_CODE: Final = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|testdata|testing|docs?|examples?|changelog\w*|\.github)/"
    r"|(^|/)(changelog|changes|history|news|readme)"
    r"|(_test|_spec|\.test|\.spec|Tests?)\.\w+$|(^|/)test_[^/]*$"
    r"|\.(md|rst|txt|adoc|lock|png|svg|json|ya?ml|toml|cfg|ini)$"
)
"""Paths of what is no source of the program itself."""
_NO_REQUEST: Final = re.compile(
    r"(?i)^(?:merge|revert|bump|release|prepare|version|v?\d+\.\d"
    r"|update (?:dependenc|changelog|readme|copyright)|\[?(?:ci|docs?|chore|build|test|style|release)\b)"
    r"|\b(?:typo|changelog|copyright|lint|rubocop|formatting)\b"
)
_LABEL: Final = re.compile(
    r"^(?:[a-z]+(?:\([^)]*\))?!?:|\[[^\]]*\])\s*|\s*\(?(?:(?:fix(?:es)?|close[sd]?|refs?) )?#\d+\)?"
)


def run_git(git: Path, *arguments: str, given: bytes = b"") -> bytes:
    """What git prints."""
    command = ["git", "--git-dir", str(git), *arguments]
    return subprocess.run(command, check=True, capture_output=True, input=given).stdout


def find_git(folder: Path, name: str) -> Path:
    """The git directory of a repository: a bare one, `NAME/repo`, or that of a clone."""
    for place in (folder / name / "repo", folder / name / ".git", folder / f"{name}.git", folder / name):
        if (place / "HEAD").exists():
            return place
    raise FileNotFoundError(f"{folder} holds no repository {name}: clone it there, with its history")


def choose_commit(git: Path) -> str:
    """The commit whose tree is asked: far enough back that later ones ask for enough."""
    count = int(run_git(git, "rev-list", "--count", "--first-parent", "HEAD"))
    back = min(HELD_BACK, count // 3)
    return run_git(git, "rev-list", "--first-parent", f"--skip={back}", "-1", "HEAD").decode().strip()


def lay_out(git: Path, commit: str, folder: Path) -> list[str]:
    """Write the text files of a commit; their paths."""
    listing = run_git(git, "ls-tree", "-r", "-z", "-l", commit).decode("utf-8", "surrogateescape")
    wanted = []
    for entry in filter(None, listing.split("\0")):
        about, _, path = entry.partition("\t")
        mode, kind, blob, size = about.split()
        is_file = mode.startswith("100") and kind == "blob" and size.isdigit()
        if is_file and int(size) <= MAX_FILE_BYTES and path.isprintable():
            wanted.append((blob, path))
    random.Random(1).shuffle(wanted)
    wanted = wanted[:MAX_FILES]
    blobs = "".join(f"{blob}\n" for blob, _ in wanted).encode()
    data, at = run_git(git, "cat-file", "--batch", given=blobs), 0
    paths = []
    for _, path in wanted:
        start = data.index(b"\n", at) + 1
        at = start + int(data[at:start].split()[2]) + 1
        content = data[start : at - 1]
        if b"\0" in content[:4000]:
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        paths.append(path)
    return sorted(paths)


def read_commits(git: Path, commit: str, there: set[str]) -> Iterator[Asked]:
    """Subjects of later commits that changed few source files, all of which were there."""
    log = run_git(
        git, "log", "--no-merges", "--no-renames", "--name-only", "--format=%x01%s", f"{commit}..HEAD"
    )
    for entry in log.decode("utf-8", "replace").split("\x01")[1:]:
        subject, *names = [line for line in entry.strip().splitlines() if line.strip()] or [""]
        source = [name for name in names if not NO_CODE.search(name)]
        text = _LABEL.sub("", subject).strip()
        if _NO_REQUEST.search(text) or len(text.split()) < 3 or not 0 < len(source) <= MAX_CHANGED:
            continue
        if all(name in there for name in source):
            yield Asked("commit", text, tuple((name, 0, 0) for name in source))
