"""Does a pasted bug report find the files that its fix changed? Hit@1, 5 and 10 of files.

    python -m benchmarks.issues --data FOLDER --repos FOLDER [--only a,b] [--sample N] [--dry]
    python -m benchmarks.issues --history --repos FOLDER --only owner+name,… [--sample N]

`--data` holds one JSON file a repository: `repo` (owner/name) and `tasks`, each with `text`, `base_commit` and the
`files` of the fix. `--repos` holds git directories, `owner+name` or `owner+name/repo`. `--history` asks commit messages
that contain a quotation mark instead, of the repositories named: what constants may be chosen on. Each text is asked as
it is and with its quotation marks removed, of the tree before the fix. Tests, changelogs and documentation do not
count.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop  # isort: skip

TOP = (1, 5, 10)
HITS = 60
"""Hits that are asked for, so that ten different files are among them."""
MAX_FILE_BYTES = 1_000_000
MAX_CHANGED = 6
"""Files a commit of `--history` may change: one that changes more is about none of them."""
MIN_WORDS = 8
MARKS = re.compile('["“”]')
_NO_CODE = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|testdata|docs?|examples?|changelog\w*)/|(^|/)(changelog|changes|history|news|readme)"
    r"|(_test|_spec|\.test|\.spec)\.\w+$|(^|/)test_[^/]*$|\.(md|rst|txt|adoc|lock|png|svg)$"
)


@dataclass(frozen=True, slots=True)
class Task:
    """A text, the commit before its fix, and the files that count."""

    id: str
    text: str
    commit: str
    files: frozenset[str]


def counts(path: str) -> bool:
    """Whether a changed file is one that should be found."""
    return _NO_CODE.search(path) is None


def load_reports(path: Path) -> tuple[str, list[Task]]:
    """The repository of a JSON file, and its reports that have a file to find."""
    content = json.loads(path.read_text("utf-8"))
    reports = [
        Task(task["id"], task["text"], task["base_commit"], frozenset(filter(counts, _paths(task))))
        for task in content["tasks"]
    ]
    return content["repo"].replace("/", "+"), [report for report in reports if report.files]


def _paths(task: dict[str, Any]) -> list[str]:
    return [file["path"] for file in task["files"]]


def read_history(git: Path) -> list[Task]:
    """Commit messages with a quotation mark in them, and the files they changed."""
    log = run_git(git, "log", "--no-merges", '--grep="', "--format=%H%x00%P%x00%B%x01").decode(
        "utf-8", "replace"
    )
    found = []
    for entry in log.split("\x01"):
        commit, _, rest = entry.strip().partition("\x00")
        parent, _, text = rest.partition("\x00")
        if not parent or len(text.split()) < MIN_WORDS or len(MARKS.findall(text)) < 2:
            continue
        names = run_git(git, "diff", "--name-only", "--diff-filter=M", parent, commit).decode(
            "utf-8", "replace"
        )
        files = frozenset(filter(counts, names.splitlines()))
        if 0 < len(files) <= MAX_CHANGED:
            found.append(Task(commit[:12], text, parent, files))
    return found


def git_directory(repos: Path, name: str) -> Path:
    """Where the git directory of a repository lies."""
    named = [
        path.name for path in repos.iterdir() if path.name.lower() == name.lower()
    ]  # as GitHub takes names
    name = name if name in named else next(iter(named), name)
    for place in (repos / name / "repo", repos / name / "repo" / ".git", repos / name / ".git", repos / name):
        if (place / "HEAD").is_file():
            return place
    raise SystemExit(f"{repos} holds no git directory {name}: clone it there with --bare")


def run_git(git: Path, *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(git), *arguments]
    return subprocess.run(command, check=True, capture_output=True, input=given).stdout


def lay_out(git: Path, commit: str, folder: Path) -> None:
    """Make a folder hold the files of a commit; those that stay the same keep their times."""
    wanted: set[Path] = set()
    with tarfile.open(fileobj=io.BytesIO(run_git(git, "archive", commit))) as archive:
        for member in archive:
            if not member.isfile() or member.size > MAX_FILE_BYTES:
                continue
            target = folder / PurePosixPath(member.name)
            content = archive.extractfile(member).read()  # type: ignore[union-attr]
            wanted.add(target)
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    for path in list(folder.rglob("*")):
        if path.is_file() and path not in wanted:
            path.unlink()


def first_files(engine: outcrop.Engine, text: str, folder: Path) -> list[str]:
    """The files of an answer, best first, each once, as paths in the repository."""
    hits = engine.search(text, limit=HITS).hits
    paths = (hit.document.path.removeprefix(f"{folder.name}/") for hit in hits)
    return list(dict.fromkeys(paths))


def score(found: Sequence[str], files: frozenset[str]) -> dict[int, float]:
    """Hit@k: whether one of the files is among the first k."""
    return {k: float(any(path in files for path in found[:k])) for k in TOP}


def judge(git: Path, reports: Sequence[Task]) -> Iterator[dict[str, Any]]:
    """A row for each report: Hit@k as it is and with its marks removed."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "tree"
        with outcrop.open(Path(place) / "index.db") as engine:
            for report in reports:
                folder.mkdir(exist_ok=True)
                lay_out(git, report.commit, folder)
                engine.add(folder)
                as_is = first_files(engine, report.text, folder)
                bare = first_files(engine, MARKS.sub(" ", report.text), folder)
                yield {
                    "id": report.id,
                    "quoted": len(MARKS.findall(report.text)) > 1,
                    "as_is": score(as_is, report.files),
                    "bare": score(bare, report.files),
                }
        shutil.rmtree(folder, ignore_errors=True)


def _choose(options: argparse.Namespace) -> list[tuple[str, list[Task]]]:
    """The repositories with the reports that are asked, no more than the sample."""
    only = [name for name in options.only.split(",") if name]
    if options.history:
        sets = [(name, read_history(git_directory(options.repos, name))) for name in only]
    else:
        names = only or sorted(path.stem for path in options.data.glob("*.json"))
        sets = [load_reports(options.data / f"{name}.json") for name in names]
    every = [(name, report) for name, reports in sets for report in reports]
    random.Random(15).shuffle(every)
    chosen = every[: options.sample]
    return [(name, [report for owner, report in chosen if owner == name]) for name, _ in sets]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of reports, a JSON file a repository")
    parser.add_argument("--repos", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--history", action="store_true", help="ask commit messages instead of reports")
    parser.add_argument("--only", default="", help="names, separated by commas; all by default")
    parser.add_argument("--sample", type=int, default=40, help="reports that are asked, drawn at random")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    if options.history != (options.data is None) or (options.history and not options.only):
        parser.error("give --data FOLDER, or --history with --only")
    rows: list[dict[str, Any]] = []
    for name, reports in _choose(options):
        if reports:
            say(f"{name}: {len(reports)}")
            rows += judge(git_directory(options.repos, name), reports)
    report = Report("issues", {"history": options.history, "only": options.only, "sample": options.sample})
    for title, some in (("all", rows), ("with a quotation", [row for row in rows if row["quoted"]])):
        report.add(f"{title}: texts", len(some), "")
        for way in ("as_is", "bare") if some else ():
            for k in TOP:
                report.add(f"{title}, {way.replace('_', ' ')}: Hit@{k}", fmean(row[way][k] for row in some), "")
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
