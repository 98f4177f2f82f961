"""One index over many worktrees: python -m benchmarks.branches [--repository FOLDER] [--worktrees 50]

Makes a repository of 2 500 files (or clones a real one), then worktrees of it, each on a branch that edits ten
files, and brings them into one index. Compares its size with that of the first checkout alone, counts the CPU time of
adding one more that differs by twenty files, and checks that each edit is found in its worktree and in no other.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.report import WORK, Report
from outcrop.engine import Engine, open_engine

FILES: Final = 2_500
WORKTREES: Final = 50
EDITED: Final = 10
"""Files that a worktree of the fifty edits; the one that is added last edits twenty."""
LAST_EDITED: Final = 20
MAX_RATIO: Final = 1.3
MAX_SECONDS: Final = 1.0
_WORDS: Final = (
    "parcel tariff zone depot route driver invoice customs weight label scanner gate pallet crate ledger refund address"
    " window signature courier manifest freight harbour container barcode warehouse shelf picker sorter conveyor"
).split()


def git(folder: Path, *arguments: str) -> str:
    """Run git with a name of its own; what it printed."""
    named = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")
    done = subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write_module(random_: random.Random, number: int) -> str:
    """A module of some forty lines, unlike any other."""
    lines = [f'"""Module {number}: {" ".join(random_.choices(_WORDS, k=8))}."""', ""]
    for part in range(6):
        first, second, third = random_.choices(_WORDS, k=3)
        lines += [
            f"def {first}_{second}_{number}_{part}({third}, limit={random_.randrange(1000)}):",
            f'    """{" ".join(random_.choices(_WORDS, k=12)).capitalize()}."""',
            f"    {second} = {third}.{first}({random_.randrange(10_000)})",
            f"    return {second} if {second} > limit else {first}_{third}",
            "",
        ]
    return "\n".join(lines)


def make_repository(top: Path, count: int) -> None:
    """A repository of so many files."""
    random_ = random.Random(19)
    for number in range(count):
        file = top / f"src/{_WORDS[number % len(_WORDS)]}/module_{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(write_module(random_, number))
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "start")


def add_worktree(top: Path, folder: Path, number: int, edited: int) -> None:
    """A worktree on a branch of its own that edits some files, one of which says a word that no other says."""
    git(top, "worktree", "add", "-q", "-b", f"work/{number}", str(folder))
    random_ = random.Random(number)
    files = sorted(path for path in folder.rglob("*.py") if path.stat().st_size > 200)
    for place, file in enumerate(random_.sample(files, edited)):
        lines = file.read_text().split("\n")
        at = random_.randrange(len(lines))
        lines[at:at] = [f"# work{number}x edit {place}: {' '.join(random_.choices(_WORDS, k=6))}"]
        file.write_text("\n".join(lines))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"work {number}")


def size_of(index: Engine, db: Path) -> int:
    """Bytes of the index on disk, arrays and all."""
    index.close()
    beside = [*db.parent.glob(f"{db.name}*")]
    files = [
        path for each in beside for path in ([each] if each.is_file() else each.rglob("*")) if path.is_file()
    ]
    return sum(path.stat().st_size for path in files)


def read_arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, help="a real repository, which is cloned")
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--worktrees", type=int, default=WORKTREES)
    parser.add_argument("--edited", type=int, default=EDITED)
    return parser.parse_args()


def count_mixed(index: Engine, trees: list[Path], last: Path) -> int:
    """Worktrees whose own edit is not found in them, or is found in another one."""
    mixed = 0
    for number, folder in enumerate(trees, 1):
        word = f"work{number}x"
        own, other = (
            any(word in hit.text for hit in index.search(word, worktree=str(tree), mode="keyword").hits)
            for tree in (folder, last)
        )
        mixed += not own or other
    return mixed


def main() -> int:
    """Run it; 1 where a bar is missed."""
    given = read_arguments()
    work = WORK / "branches"
    shutil.rmtree(work, ignore_errors=True)
    top = work / "project"
    top.mkdir(parents=True)
    if given.repository:
        git(work, "clone", "-q", "--no-hardlinks", str(given.repository.resolve()), str(top))
    else:
        make_repository(top, given.files)
    os.chdir(work)
    report = Report("branches", {name: str(value) for name, value in vars(given).items()})
    db = work / "index.db"
    trees = [work / f"tree{number}" for number in range(1, given.worktrees)]

    with open_engine(db) as index:
        git(top, "worktree", "add", "-q", "--detach", str(work / "first"))
        cpu = time.process_time()
        added = index.add(work / "first")
        report.add("files of the first checkout", added.added, "documents")
        report.add("adding the first checkout", time.process_time() - cpu, "s CPU")
        one = size_of(index, db)
    report.add("index of one checkout", one / 1e6, "MB")

    with open_engine(db) as index:
        spent = []
        for number, folder in enumerate(trees, 1):
            add_worktree(top, folder, number, given.edited)
            cpu = time.process_time()
            index.add(folder)
            spent.append(time.process_time() - cpu)
        report.add("adding a worktree, median", sorted(spent)[len(spent) // 2], "s CPU")
        last = work / "last"
        add_worktree(top, last, 999, LAST_EDITED)
        many = size_of(index, db)
    report.add(f"index of {given.worktrees} worktrees", many / 1e6, "MB")
    report.add("size, many to one", many / one, "×", at_most=MAX_RATIO)

    with open_engine(db) as index:
        index.search("warm")
        cpu = time.process_time()
        added = index.add(last)
        report.add("documents that the last one brings", added.added, "documents")
        report.add(
            "adding one that differs by 20 files", time.process_time() - cpu, "s CPU", at_most=MAX_SECONDS
        )
        mixed = count_mixed(index, trees, last)
        report.add("worktrees whose edit is not found, or found elsewhere", mixed, "worktrees", at_most=0)
    report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
