"""Does a context hold the lines that matter? The share of changed hunks and of gold spans in 2 000 and 8 000 tokens.

    python -m benchmarks.lines --data FOLDER --repos FOLDER [--only a,b] [--sample N] [--prose FOLDER] [--dry]
    python -m benchmarks.lines --history --repos FOLDER --only owner+name,… [--sample N] [--prose FOLDER]

`--data` and `--repos` are those of `benchmarks.issues`; the lines of a fix are the `hunks` of its files, first and last
line before the fix with the three lines around it that git shows. A hunk is held when at least half of its lines stand
in the context. `--history` asks commit messages instead, of the repositories named: what constants may be chosen on.
A few snapshots of each are indexed, and only later commits count whose files were byte for byte the same until then.
`--prose` is a folder with `corpus.jsonl` (id, text) and `queries.jsonl` (text, corpus_id, references with start and
end), of which the share of gold characters in a context of prose is told. Content is what a context shows of files, the
rest are marks, places and commentary.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.issues import MAX_CHANGED, MIN_WORDS, counts, git_directory, lay_out, run_git  # isort: skip
from outcrop.code.elide import ELLIPSIS  # isort: skip
from outcrop.records import Context, PackedSource  # isort: skip
from outcrop.text.tokens import vocabulary  # isort: skip

BUDGETS_TOKENS = (2000, 8000)
BARS = {2000: 0.15, 8000: 0.35}
CONTENT_BAR = 0.80
HELD = 0.5
"""The share of a hunk's lines that have to stand in the context."""
SNAPSHOTS_BACK = (1500, 500)
"""How many commits before the newest the snapshots of `--history` lie, in steps along first parents."""
MAX_HUNKS = 12
"""A commit with more is a sweep, about no place in particular."""
MAX_TEXT_CHARS = 20_000

Lines = tuple[int, int]
Hunks = Mapping[str, tuple[Lines, ...]]

_RAW = re.compile(r"^:\d+ \d+ ([0-9a-f]+) [0-9a-f]+ (\w)\d*\t(.+)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A text, the commit to ask it of, and the hunks that were changed for it."""

    id: str
    text: str
    commit: str
    hunks: Hunks


def load_changes(path: Path) -> tuple[str, list[Change]]:
    """The repository of a JSON file, and its reports that have a hunk to find."""
    content = json.loads(path.read_text("utf-8"))
    changes = []
    for task in content["tasks"]:
        hunks = {
            file["path"]: tuple((first, last) for first, last in file["hunks"])
            for file in task["files"]
            if file["hunks"] and counts(file["path"])
        }
        if hunks:
            changes.append(Change(task["id"], task["text"], task["base_commit"], hunks))
    return content["repo"].replace("/", "+"), changes


def read_history(git: Path) -> list[Change]:
    """Commits after a snapshot that change files as the snapshot has them: their messages and hunks."""
    main = (
        run_git(git, "rev-list", "--first-parent", f"--max-count={SNAPSHOTS_BACK[0] + 1}", "HEAD")
        .decode()
        .split()
    )
    places = [main[back] for back in SNAPSHOTS_BACK if back < len(main)]
    return [
        change for first, last in pairwise([*places, main[0]]) for change in _changes_between(git, first, last)
    ]


def _changes_between(git: Path, snapshot: str, until: str) -> list[Change]:
    tree = run_git(git, "ls-tree", "-r", "-z", snapshot).decode("utf-8", "replace").split("\0")
    blobs = {name: head.split()[2] for head, _, name in (line.partition("\t") for line in tree) if name}
    log = run_git(
        git, "log", "--no-merges", "--format=%x01%H%x00%B%x00", "--raw", "--no-abbrev", "--no-renames", "-p",
        f"{snapshot}..{until}",
    ).decode("utf-8", "replace")  # fmt: skip
    found = []
    for entry in log.split("\x01")[1:]:
        commit, _, rest = entry.partition("\0")
        text, _, patch = rest.partition("\0")
        hunks = _read_patch(patch, blobs)
        few = 0 < len(hunks) <= MAX_CHANGED and sum(map(len, hunks.values())) <= MAX_HUNKS
        if few and len(text.split()) >= MIN_WORDS:
            found.append(Change(commit[:12], text, snapshot, hunks))
    return found


def _read_patch(patch: str, blobs: Mapping[str, str]) -> dict[str, tuple[Lines, ...]]:
    """The hunks of each file that counts; none at all where a file is not as the snapshot has it."""
    changed = {path: (old, kind) for old, kind, path in _RAW.findall(patch) if counts(path)}
    if any(kind != "M" or blobs.get(path) != old for path, (old, kind) in changed.items()):
        return {}
    hunks = {}
    for part in patch.split("\ndiff --git a/")[1:]:
        path = part.partition(" b/")[0]
        if path in changed and (places := _HUNK.findall(part)):
            hunks[path] = tuple((int(first), int(first) + int(many or 1) - 1) for first, many in places)
    return hunks


def shown_lines(source: PackedSource) -> set[int]:
    """Which lines of its file a source shows. A block between two `...` stands at the first place that has it."""
    lines = source.hit.text.split("\n")
    shown: set[int] = set()
    at = 0
    for block in _blocks(source.text.split("\n")):
        place = max(range(at, len(lines)), key=lambda i: (_agreement(lines, i, block), -i), default=None)
        if place is None:
            break
        length = _agreement(lines, place, block)
        shown.update(range(place, place + length))
        at = place + length
    return {source.hit.line_start + i for i in shown}


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in lines:
        if line.strip() != ELLIPSIS:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _agreement(lines: Sequence[str], at: int, block: Sequence[str]) -> int:
    """How many lines of a block stand here, one after the other."""
    for i, line in enumerate(block):
        if at + i >= len(lines) or lines[at + i] != line:
            return i
    return len(block)


def held_hunks(context: Context, hunks: Hunks, folder: str) -> dict[str, float]:
    """The share of hunks that a context holds, and of files of which it shows anything."""
    shown: dict[str, set[int]] = {}
    for source in context.sources:
        path = source.hit.document.path.removeprefix(f"{folder}/")
        if path in hunks:
            shown.setdefault(path, set()).update(shown_lines(source))
    held = [
        len(shown.get(path, set()).intersection(range(first, last + 1))) >= HELD * (last - first + 1)
        for path, places in hunks.items()
        for first, last in places
    ]
    return {"hunks": fmean(held), "held": sum(held), "of": len(held), "file": float(bool(shown))}


def content_share(context: Context) -> float:
    """The share of a context's tokens that is content of files."""
    count = vocabulary("o200k").count
    return sum(count(source.text) for source in context.sources) / max(context.tokens, 1)


def judge(git: Path, changes: Sequence[Change]) -> Iterator[dict[str, Any]]:
    """A row for each text and budget."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "tree"
        with outcrop.open(Path(place) / "index.db") as engine:
            for change in sorted(changes, key=lambda change: change.commit):
                folder.mkdir(exist_ok=True)
                lay_out(git, change.commit, folder)
                engine.add(folder)
                for budget in BUDGETS_TOKENS:
                    context = engine.code_context(change.text[:MAX_TEXT_CHARS], budget_tokens=budget)
                    if context.tokens > budget:
                        raise AssertionError(f"{context.tokens} tokens in a context of {budget}")
                    row = held_hunks(context, change.hunks, folder.name)
                    yield {
                        "id": change.id,
                        "budget": budget,
                        **row,
                        "content": content_share(context) if context.text else None,
                        "sources": len(context.sources),
                    }


def judge_prose(data: Path, sample: int) -> Iterator[dict[str, Any]]:
    """A row for each question and budget: the share of its gold characters that its context shows."""
    documents = {row["id"]: row["text"] for row in _read_jsonl(data / "corpus.jsonl")}
    queries = _read_jsonl(data / "queries.jsonl")
    random.Random(15).shuffle(queries)
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as engine:
        for id_, text in documents.items():
            engine.add(text=text, id=id_)
        for query in queries[:sample]:
            gold = {i for span in query["references"] for i in range(span["start"], span["end"])}
            for budget in BUDGETS_TOKENS:
                context = engine.context(query["text"], budget_tokens=budget)
                shown = {
                    i
                    for source in context.sources
                    if source.hit.document.uri == query["corpus_id"]
                    for i in _shown_span(source)
                }
                yield {
                    "budget": budget,
                    "gold": len(gold & shown) / len(gold),
                    "content": content_share(context),
                }


def _shown_span(source: PackedSource) -> range:
    length = len(source.text) if source.truncated else source.hit.end - source.hit.start
    return range(source.hit.start, source.hit.start + length)


def _read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _choose(options: argparse.Namespace) -> list[tuple[str, list[Change]]]:
    """The repositories with the texts that are asked, no more than the sample."""
    only = [name for name in options.only.split(",") if name]
    if options.history:
        sets = [(name, read_history(git_directory(options.repos, name))) for name in only]
    else:
        names = only or sorted(path.stem for path in options.data.glob("*.json"))
        sets = [load_changes(options.data / f"{name}.json") for name in names]
    every = [(name, change) for name, changes in sets for change in changes]
    random.Random(15).shuffle(every)
    chosen = every[: options.sample]
    return [(name, [change for owner, change in chosen if owner == name]) for name, _ in sets]


def _report(report: Report, rows: Sequence[dict[str, Any]], prose: Sequence[dict[str, Any]]) -> None:
    for budget in BUDGETS_TOKENS:
        some = [row for row in rows if row["budget"] == budget]
        if some:
            packed = [row["content"] for row in some if row["content"] is not None]
            pooled = sum(row["held"] for row in some) / sum(row["of"] for row in some)
            report.add(f"{budget} tokens: texts", len(some), "")
            mean = fmean(row["hunks"] for row in some)
            report.add(f"{budget} tokens: share of hunks, mean of texts", mean, "", at_least=BARS[budget])
            report.add(f"{budget} tokens: share of hunks, of all", pooled, "")
            report.add(f"{budget} tokens: a changed file is there", fmean(row["file"] for row in some), "")
            report.add(f"{budget} tokens: content", fmean(packed), "of tokens", at_least=CONTENT_BAR)
            report.add(f"{budget} tokens: sources", fmean(row["sources"] for row in some), "")
        if said := [row for row in prose if row["budget"] == budget]:
            report.add(
                f"{budget} tokens of prose: gold characters", fmean(row["gold"] for row in said), "of them"
            )
            report.add(f"{budget} tokens of prose: content", fmean(row["content"] for row in said), "of tokens")
    report.tables["texts"] = list(rows)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of reports, a JSON file a repository")
    parser.add_argument("--repos", type=Path, required=True, help="folder of git directories")
    parser.add_argument("--history", action="store_true", help="ask commit messages instead of reports")
    parser.add_argument("--prose", type=Path, help="folder of documents with questions and gold spans")
    parser.add_argument("--only", default="", help="names, separated by commas; all by default")
    parser.add_argument("--sample", type=int, default=60, help="texts that are asked, drawn at random")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    if options.history != (options.data is None) or (options.history and not options.only):
        parser.error("give --data FOLDER, or --history with --only")
    rows: list[dict[str, Any]] = []
    for name, changes in _choose(options):
        if changes:
            say(f"{name}: {len(changes)}")
            rows += judge(git_directory(options.repos, name), changes)
    prose = list(judge_prose(options.prose, options.sample)) if options.prose else []
    report = Report("lines", {"history": options.history, "only": options.only, "sample": options.sample})
    _report(report, rows, prose)
    if not options.dry:
        report.keep()


if __name__ == "__main__":
    main()
