"""How much must an agent read until it has seen the lines it needs?

    python -m benchmarks.agents --data FOLDER --repos FOLDER [--only a,b] [--reports FOLDER --gits FOLDER [--sample N]]

Scripted agents, without a language model, on the labelled questions of benchmarks.code (`--data`, `--repos`: as there)
and on the bug reports of benchmarks.issues (`--reports`, `--gits`: its `--data` and `--repos`). An agent is done when
lines of a target have been shown to it; naming the file is not enough. Targets of a report are the lines its fix
changed. Tokens are those of all answers and CALL_TOKENS for each call, estimated alike for all.

`grep` works as coding agents do: it looks for the words of the question, lists the best twenty files, then for each
file asks for the matching lines and reads a window around the densest of them. It is given more than grep gives: files
come by how many different words they hold, rare words counting more, then by how often. Three sizes of window are tried
and all are told. `outcrop` asks search for places and reads them one after another; `passages` asks for passages.
`semble` reads what semble's search shows, ten chunks a call. `aider` is given aider's map of the repository, then reads
the files that the map names, those first whose part of the map holds more words of the question. Both are installed
into places of their own below `--work`, in the versions of benchmarks.compare, semble with the stand-in model there.
What was done on a report is kept there too, so that a run that was ended goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.report import ROOT, WORK, Report, commit_of, run_child, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks import issues  # isort: skip
from benchmarks.code.set import Question, Repository, Target, lay_out, load_repositories  # isort: skip
from benchmarks.compare.install import install, model_of  # isort: skip
from benchmarks.compare.peers import peer_named  # isort: skip
from outcrop.errors import OutcropError  # isort: skip
from outcrop.serve.mcp import find, search  # isort: skip
from outcrop.serve.mcp.desk import Call  # isort: skip
from outcrop.serve.state import make_state  # isort: skip
from outcrop.text.terms import STOP_WORDS  # isort: skip
from outcrop.text.tokens.estimate import estimate_tokens  # isort: skip

CALL_TOKENS: Final = 40
"""What an agent writes to make a call, about: the name of the tool and its arguments."""
MAX_CALLS: Final = 60
LISTED: Final = 20
MATCHING: Final = 30
"""Matching lines of a file that are shown."""
WINDOWS: Final = (40, 100, 400)
READ_TOKENS: Final = 4_000
WIDE: Final = 400
"""Lines around a place, where it did not say enough: as wide as the widest window of the agent that has grep."""
PAGE: Final = 10
PAGES: Final = 5
"""Of one search that an agent looks at."""
MAP_TOKENS: Final = 8_192
"""What aider allows its map while no file is in the chat."""
MAP_WINDOW: Final = 400

Seen = tuple[str, int, int]


@dataclass
class Reader:
    """What an agent has been shown so far."""

    question: Question
    repository: Repository
    tokens: int = 0
    calls: int = 0
    done: bool = False

    def hear(self, text: str, seen: Sequence[Seen] = ()) -> None:
        """The answer to one call, and which lines of which files it shows."""
        if self.done:
            return
        self.calls += 1
        self.tokens += CALL_TOKENS + estimate_tokens(text)
        for path, first, last in seen:
            place = (self.repository.path_of(path), first, last)
            self.done = self.done or any(target.is_met(place) for target in self.question.targets)

    @property
    def ended(self) -> bool:
        return self.done or self.calls >= MAX_CALLS


@dataclass
class Files:
    """A tree in memory, lower case beside the lines as they are."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    lower: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Files:
        files = cls()
        for path in sorted(folder.rglob("*")):
            if path.is_file() and b"\0" not in (data := path.read_bytes()):
                name = path.relative_to(folder).as_posix()
                text = data.decode("utf-8", "replace")
                files.lines[name], files.lower[name] = text.split("\n"), text.lower()
        return files


def words_of(question: str) -> list[str]:
    """What somebody would grep for."""
    words = re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", question)
    return list(dict.fromkeys(word.lower() for word in words if word.lower() not in STOP_WORDS))


def grep_and_read(files: Files, reader: Reader, window: int) -> None:
    """The agent that has grep."""
    words = words_of(reader.question.text)
    held = {word: {name for name, text in files.lower.items() if word in text} for word in words}
    weights = {word: math.log(1 + len(files.lines) / len(names)) for word, names in held.items() if names}
    scores: dict[str, tuple[float, int]] = {}
    for name in set().union(*held.values()) if held else ():
        score = sum(weight for word, weight in weights.items() if name in held[word])
        scores[name] = score, sum(files.lower[name].count(word) for word in weights)
    best = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
    for start in range(0, len(best), LISTED):
        page = best[start : start + LISTED]
        reader.hear("\n".join(f"{name}:{scores[name][1]}" for name in page))
        for name in page:
            if reader.ended:
                return
            _read_file(files, reader, name, list(weights), window)


def _read_file(files: Files, reader: Reader, name: str, words: Sequence[str], window: int) -> None:
    lines = files.lines[name]
    counts = [sum(word in line.lower() for word in words) for line in lines]
    matching = [number for number, count in enumerate(counts) if count]
    if len(lines) > window:
        shown = matching[:MATCHING]
        seen = [(name, number + 1, number + 1) for number in shown]
        reader.hear("\n".join(f"{number + 1}:{lines[number][:200]}" for number in shown), seen)
    sums = [
        sum(counts[at : at + window]) for at in range(0, max(1, len(lines) - window + 1), max(1, window // 4))
    ]
    first = sums.index(max(sums)) * max(1, window // 4)
    text = "\n".join(f"{first + at + 1}\t{line}" for at, line in enumerate(lines[first : first + window]))
    if not reader.ended:
        reader.hear(text, [(name, first + 1, min(len(lines), first + window))])


def places_in(text: str) -> Iterator[Seen]:
    """The places that an answer names, in order."""
    body = text.split(">\n", 1)[-1].split("\n</data", 1)[0]
    for line in body.split("\n"):
        path, _, rest = line.partition(":")
        for first, last in re.findall(r"(?:^|, )(\d+)(?:-(\d+))?", rest):
            yield path, int(first), int(last or first)


def search_and_read(call: Call, reader: Reader) -> None:
    """The agent that has Outcrop: places first, then what stands there, then the best places of each file with more
    around them."""
    for offset in range(0, PAGES * PAGE, PAGE):
        text = search.search(call, reader.question.text, detail="places", limit=PAGE, offset=offset).text
        reader.hear(text)
        places = list(places_in(text)) if "<data" in text else []
        around = {path: (first + last) // 2 - WIDE // 2 for path, first, last in reversed(places)}
        wide = [(path, max(1, around[path]), max(1, around[path]) + WIDE - 1) for path, _, _ in places]
        for path, first, last in (*places, *dict.fromkeys(wide)):
            if reader.ended:
                return
            shown = find.read_document(call, f"{path}:{first}-{last}", max_tokens=READ_TOKENS).text
            lines = re.match(r"Lines (\d+)-(\d+) of", shown)
            reader.hear(shown, [(path, int(lines[1]), int(lines[2]))] if lines else ())
        if not places:
            return


def search_passages(call: Call, reader: Reader) -> None:
    """The agent that reads what search shows."""
    for offset in range(0, PAGES * PAGE, PAGE):
        if reader.ended:
            return
        answer = search.search(call, reader.question.text, limit=PAGE, offset=offset)
        hits = (answer.data or {}).get("hits", ())
        reader.hear(answer.text, [(hit["filePath"], hit["lineStart"], hit["lineEnd"]) for hit in hits])
        if not hits:
            return


def read_chunks(files: Files, found: Sequence[Seen], reader: Reader) -> None:
    """The agent that reads the chunks of another search, a page of them a call."""
    for start in range(0, len(found), PAGE):
        if reader.ended:
            return
        page = [(path, first, last) for path, first, last in found[start : start + PAGE] if path in files.lines]
        shown = [
            f"{path}:{first}-{last}\n" + "\n".join(files.lines[path][first - 1 : last])
            for path, first, last in page
        ]
        reader.hear("\n\n".join(shown), page)


def read_map(files: Files, text: str, reader: Reader) -> None:
    """The agent that has a map: it chooses files by what the map shows of them, and reads them from their beginning."""
    reader.hear(text)
    words = words_of(reader.question.text)
    parts: dict[str, str] = {}
    for block in re.split(r"\n\n+", text):
        name, _, rest = block.strip().partition("\n")
        parts[name.removesuffix(":").strip()] = (name + rest).lower()
    names = [name for name in parts if name in files.lines]
    names.sort(key=lambda name: -sum(word in parts[name] for word in words))  # the map's own order among equals
    for name in names:
        lines = files.lines[name]
        for first in range(0, len(lines), MAP_WINDOW):
            if reader.ended:
                return
            window = lines[first : first + MAP_WINDOW]
            shown = "\n".join(f"{first + at + 1}\t{line}" for at, line in enumerate(window))
            reader.hear(shown, [(name, first + 1, first + len(window))])


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the others are installed."""

    semble: Path
    aider: Path

    @classmethod
    def install(cls, work: Path) -> Peers:
        homes = []
        for name in ("semble", "aider"):
            done = install(peer_named(name), work, None)
            if done.problem:
                raise SystemExit(f"{name} cannot be installed: {done.problem}")
            homes.append(Path(done.home))
        return cls(*homes)

    def search(self, folder: Path, questions: Sequence[Question], place: Path) -> dict[str, list[Seen]]:
        """What semble finds for each question."""
        plan = place / "semble.json"
        asked = [(question.id, question.text) for question in questions]
        job = {"name": "tree", "folder": str(folder), "questions": asked}
        model = str(model_of(self.semble))
        plan.write_text(json.dumps({"model": model, "top": PAGES * PAGE, "jobs": [job]}), "utf-8")
        done = run_child(
            ["benchmarks.code.engines", "semble", str(plan)], python=str(self.semble / "bin" / "python")
        )
        found = done["jobs"]["tree"]["found"]
        return {name: [(path, first, last) for path, first, last in hits] for name, hits in found.items()}

    def draw(self, folder: Path, place: Path) -> str:
        """Aider's map."""
        plan = place / "aider.json"
        plan.write_text(
            json.dumps({"budgets_tokens": [MAP_TOKENS], "jobs": [{"name": "tree", "folder": str(folder)}]}),
            "utf-8",
        )
        try:
            done = run_child(["benchmarks.code.aider", str(plan)], python=str(self.aider / "bin" / "python"))
        except SystemExit as error:  # a grammar it has no query for ends it
            say(f"aider has no map of {folder.name}: {str(error).strip().splitlines()[-1]}")
            return ""
        return str(done["tree"]["maps"][str(MAP_TOKENS)])


def study(repository: Repository, folder: Path, peers: Peers) -> dict[str, list[Reader]]:
    """Every agent on every question about a tree."""
    files = Files.read(folder)
    with tempfile.TemporaryDirectory() as place, outcrop.open(Path(place) / "index.db") as engine:
        engine.add(folder)
        call = Call(make_state(engine, read_only=True), lambda: False, lambda _: None, lambda: None)
        chunks = peers.search(folder, repository.questions, Path(place))
        drawn = peers.draw(folder, Path(place))
        agents: dict[str, Callable[[Reader], None]] = {
            "outcrop": lambda reader: search_and_read(call, reader),
            "passages": lambda reader: search_passages(call, reader),
            "semble": lambda reader: read_chunks(files, chunks.get(reader.question.id, []), reader),
            "aider": lambda reader: read_map(files, drawn, reader),
        }
        for size in WINDOWS:
            agents[f"grep, windows of {size}"] = lambda reader, size=size: grep_and_read(files, reader, size)  # type: ignore[misc]
        found: dict[str, list[Reader]] = {}
        for name, agent in agents.items():
            found[name] = [Reader(question, repository) for question in repository.questions]
            for reader in found[name]:
                _let(agent, reader)
        return found


def study_questions(data: Path, repos: Path, only: Sequence[str], peers: Peers) -> Studied:
    """The labelled questions about repositories."""
    studied = Studied()
    for repository in load_repositories(data, only):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / repository.name
            lay_out(repos / repository.name / repository.root, folder)
            studied.add(repository.name, study(repository, folder, peers))
    return studied


def load_reports(path: Path) -> tuple[str, list[tuple[str, Question]]]:
    """The repository of a JSON file, and its reports, each with the commit before its fix."""
    content = json.loads(path.read_text("utf-8"))
    found = []
    for task in content["tasks"]:
        targets = [
            Target(file["path"], (first, last))
            for file in task["files"]
            if issues.counts(file["path"])
            for first, last in file["hunks"]
        ]
        if targets:
            question = Question(task["id"], task["text"], "report", tuple(targets))
            found.append((task["base_commit"], question))
    return content["repo"].replace("/", "+"), found


def study_reports(
    data: Path, gits: Path, only: Sequence[str], sample: int, peers: Peers, work: Path
) -> Studied:
    """Bug reports, each asked of the tree before its fix."""
    names = [name for name in sorted(path.stem for path in data.glob("*.json")) if not only or name in only]
    sets = [load_reports(data / f"{name}.json") for name in names]
    every = [(name, commit, question) for name, reports in sets for commit, question in reports]
    random.Random(15).shuffle(every)
    studied = Studied()
    for name, commit, question in every[:sample]:
        repository, kept = Repository(name, "", "", (question,)), place_of(question, work)
        if kept.is_file():
            done = json.loads(kept.read_text("utf-8"))
            studied.add(name, {agent: [Reader(question, repository, *row)] for agent, row in done.items()})
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "tree"
            folder.mkdir()
            issues.lay_out(issues.git_directory(gits, name), commit, folder)
            found = study(repository, folder, peers)
        rows = {agent: (one.tokens, one.calls, one.done) for agent, (one,) in found.items()}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(rows), "utf-8")
        studied.add(name, found)
    return studied


def place_of(question: Question, work: Path) -> Path:
    """Where what the agents did on a report is kept, by commit."""
    return work / "agents" / commit_of(ROOT)[0] / f"{question.id}.json"


@dataclass
class Studied:
    """What the agents did, by agent, and the repositories they did it on."""

    names: list[str] = field(default_factory=list)
    found: dict[str, list[Reader]] = field(default_factory=dict)

    def add(self, name: str, found: dict[str, list[Reader]]) -> None:
        """What they did on one tree."""
        self.names += [] if name in self.names else [name]
        for agent, readers in found.items():
            self.found.setdefault(agent, []).extend(readers)
        say(f"{name}: {len(next(iter(found.values())))}")

    def each(self) -> list[dict[str, Any]]:
        """A row for each question: tokens and calls of every agent that has seen the lines."""
        return [
            {"question": readers[0].question.id}
            | {
                agent: f"{reader.tokens:,} in {reader.calls}" if reader.done else None
                for agent, reader in zip(self.found, readers, strict=True)
            }
            for readers in zip(*self.found.values(), strict=True)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each agent."""
        return [row_of(agent, readers) for agent, readers in self.found.items()]


def _let(agent: Callable[[Reader], None], reader: Reader) -> None:
    try:
        agent(reader)
    except OutcropError as error:
        say(f"{reader.repository.name} {reader.question.id}: {error}")


def at_share(values: Sequence[float], share: float) -> float:
    """What so many of the questions need at most; infinite where fewer are answered at all."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def row_of(name: str, readers: Sequence[Reader]) -> dict[str, Any]:
    """Figures of one agent; a question that it never answers needs infinitely much."""
    tokens = [reader.tokens if reader.done else math.inf for reader in readers]
    calls = [reader.calls if reader.done else math.inf for reader in readers]
    row: dict[str, Any] = {
        "agent": name,
        "answered %": round(100 * sum(r.done for r in readers) / len(readers), 1),
    }
    for what, values in (("tokens", tokens), ("calls", calls)):
        for title, value in (("median", median(values)), ("at 90 %", at_share(values, 0.9))):
            row[f"{what} {title}"] = None if math.isinf(value) else round(value)
    row["mean tokens read"] = round(sum(reader.tokens for reader in readers) / len(readers))
    return row


def main() -> None:
    """Study, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of labelled repositories")
    parser.add_argument("--repos", type=Path, help="folder where they are checked out")
    parser.add_argument("--reports", type=Path, help="folder of bug reports")
    parser.add_argument("--gits", type=Path, help="folder of their git directories")
    parser.add_argument("--only", default="", help="names of either, separated by commas; all by default")
    parser.add_argument("--sample", type=int, default=30, help="reports that are asked, drawn at random")
    parser.add_argument("--work", type=Path, default=WORK / "compare", help="where peers are installed")
    parser.add_argument("--dry", action="store_true", help="do not keep the results")
    given = parser.parse_args()
    if (given.data is None) != (given.repos is None) or (given.reports is None) != (given.gits is None):
        parser.error("--data goes with --repos, --reports with --gits")
    if given.data is None and given.reports is None:
        parser.error("give --data and --repos, --reports and --gits, or all four")
    only = [name for name in given.only.split(",") if name]
    peers = Peers.install(given.work.resolve())
    parameters: dict[str, Any] = {}
    report = Report("agents", parameters)
    for title, studied in _studies(given, only, peers):
        parameters |= {f"{title}, repositories": studied.names}
        parameters |= {title: len(next(iter(studied.found.values())))}
        report.add_table(f"{title}: until the lines have been seen", studied.rows())
        if title == "reports":
            report.add_table("reports, each", studied.each())
    if not given.dry:
        report.keep()


def _studies(given: argparse.Namespace, only: Sequence[str], peers: Peers) -> Iterator[tuple[str, Studied]]:
    if given.data is not None:
        names = [name for name in only if (given.data / f"{name}.json").is_file()]
        if only and not names:
            raise SystemExit(f"{given.data} holds none of {', '.join(only)}")
        yield "questions", study_questions(given.data, given.repos, names, peers)
    if given.reports is not None:
        names = [name for name in only if (given.reports / f"{name}.json").is_file()]
        if only and not names:
            raise SystemExit(f"{given.reports} holds none of {', '.join(only)}")
        yield (
            "reports",
            study_reports(given.reports, given.gits, names, given.sample, peers, given.work.resolve()),
        )


if __name__ == "__main__":
    main()
