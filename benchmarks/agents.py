"""How much must an agent read until it has seen the lines it needs?

    python -m benchmarks.agents --data FOLDER --repos FOLDER [--only a,b]

Scripted agents, without a language model, on the labelled questions of benchmarks.code (`--data`, `--repos`: as there).
An agent is done when lines of a target of the question have been shown to it; naming the file is not enough. Tokens
are those of all answers and CALL_TOKENS for each call, estimated alike for all.

`grep` works as coding agents do: it looks for the words of the question, lists the best twenty files, then for each
file asks for the matching lines and reads a window around the densest of them. It is given more than grep gives: files
come by how many different words they hold, rare words counting more, then by how often. Three sizes of window are tried
and all are told. `outcrop` asks search for places and reads them one after another; `passages` asks for passages.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.report import Report, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from benchmarks.code.set import Question, Repository, lay_out, load_repositories  # isort: skip
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
PAGE: Final = 10

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
    """The agent that has Outcrop: places first, then what stands there."""
    for offset in range(0, 5 * PAGE, PAGE):
        text = search.search(call, reader.question.text, detail="places", limit=PAGE, offset=offset).text
        reader.hear(text)
        places = list(places_in(text)) if "<data" in text else []
        for path, first, last in places:
            if reader.ended:
                return
            shown = find.read_document(call, f"{path}:{first}-{last}", max_tokens=READ_TOKENS).text
            lines = re.match(r"Lines (\d+)-(\d+) of", shown)
            reader.hear(shown, [(path, int(lines[1]), int(lines[2]))] if lines else ())
        if not places:
            return


def search_passages(call: Call, reader: Reader) -> None:
    """The agent that reads what search shows."""
    for offset in range(0, 50, PAGE):
        if reader.ended:
            return
        answer = search.search(call, reader.question.text, limit=PAGE, offset=offset)
        hits = (answer.data or {}).get("hits", ())
        reader.hear(answer.text, [(hit["filePath"], hit["lineStart"], hit["lineEnd"]) for hit in hits])
        if not hits:
            return


def study(repository: Repository, repos: Path) -> dict[str, list[Reader]]:
    """Every agent on every question about a repository."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / repository.name
        lay_out(repos / repository.name / repository.root, folder)
        files = Files.read(folder)
        with outcrop.open(Path(place) / "index.db") as engine:
            engine.add(folder)
            call = Call(make_state(engine, read_only=True), lambda: False, lambda _: None, lambda: None)
            agents: dict[str, Callable[[Reader], None]] = {
                "outcrop": lambda reader: search_and_read(call, reader),
                "passages": lambda reader: search_passages(call, reader),
            }
            for size in WINDOWS:
                agents[f"grep, windows of {size}"] = lambda reader, size=size: grep_and_read(
                    files, reader, size
                )  # type: ignore[misc]
            found: dict[str, list[Reader]] = {}
            for name, agent in agents.items():
                found[name] = [Reader(question, repository) for question in repository.questions]
                for reader in found[name]:
                    _let(agent, reader)
            return found


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
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    found: dict[str, list[Reader]] = {}
    names = []
    for repository in load_repositories(given.data, [name for name in given.only.split(",") if name]):
        names.append(repository.name)
        for agent, readers in study(repository, given.repos).items():
            found.setdefault(agent, []).extend(readers)
        say(f"{repository.name}: {len(repository.questions)} questions")
    report = Report("agents", {"repositories": names, "questions": len(next(iter(found.values())))})
    report.add_table(
        "until the lines have been seen", [row_of(name, readers) for name, readers in found.items()]
    )
    report.keep()


if __name__ == "__main__":
    main()
