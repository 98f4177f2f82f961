"""Do questions find the turns of a conversation that answer them? `python -m benchmarks.dialogue --data FOLDER`.

FOLDER holds the conversations of LoCoMo (a JSON file each: `session_1`, `session_2` … with turns that have a `dia_id`,
and `qa` with questions and the turns that are their `evidence`). Every session is written as a coding agent writes
one, and all of them make one index: of turns as sections of any document, of turns whose own words count for more,
and of turns that are searched with what was said around them. Every other conversation is for choosing constants
(`--choose`); the rest judges.

A turn counts as found where one of the ten best hits holds it. The reciprocal rank and the share of questions with a
right turn first go by hits of single turns, so that they show whether a turn that answers stands before its neighbours.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import outcrop
from benchmarks.report import Report
from outcrop.chunk import dialogue
from outcrop.index import columns

FOUND_WITHIN = 10
MIN_GAIN = 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it, as (conversation, `dia_id`)."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out of one index: shares of questions or turns, and tokens a question."""

    recall: float
    rank: float
    first: float
    tokens: float


def read_set(data: Path, *, choose: bool) -> tuple[dict[str, str], list[Question]]:
    """Session files by name, and the questions on them, of one half of the conversations."""
    files: dict[str, str] = {}
    questions: list[Question] = []
    for path in sorted(data.glob("*.json"))[0 if choose else 1 :: 2]:
        talk = json.loads(path.read_text("utf-8"))
        for name, turns in talk.items():
            if name.removeprefix("session_").isdecimal():
                files[f"{path.stem}-{name}.jsonl"] = "".join(_records(path.stem, talk["speaker_a"], turns))
        known = {mark for text in files.values() for mark in _marks(text)}
        for asked in talk["qa"]:
            evidence = frozenset(f"{path.stem}:{turn}" for turn in asked.get("evidence", ())) & known
            if evidence and asked.get("category") != 5:  # of which the answer is not there
                questions.append(Question(asked["question"], evidence))
    return files, questions


def _records(conversation: str, asker: str, turns: list[dict[str, Any]]) -> Iterator[str]:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    for number, turn in enumerate(turns):
        kind = "user" if turn["speaker"] == asker else "assistant"
        text = " ".join(filter(None, (turn.get("text"), turn.get("blip_caption"))))
        record = {
            "parentUuid": None,
            "sessionId": conversation,
            "uuid": f"{conversation}:{turn['dia_id']}",
            "timestamp": (began + timedelta(minutes=number)).isoformat(),
            "type": kind,
            "message": {"role": kind, "content": text},
        }
        yield f"{json.dumps(record)}\n"


def _marks(text: str) -> Iterator[str]:
    return (json.loads(line)["uuid"] for line in text.splitlines())


def place_turns(files: dict[str, str]) -> dict[tuple[str, str], set[str]]:
    """The marks of turns by file and heading. Speakers who speak twice are one turn with one heading."""
    places: dict[tuple[str, str], set[str]] = {}
    for name, text in files.items():
        head, speaker = "", ""
        for record in map(json.loads, text.splitlines()):
            if record["type"] != speaker:
                speaker = record["type"]
                who = "User" if speaker == "user" else "Claude"
                head = f"{who}, {datetime.fromisoformat(record['timestamp']):%Y-%m-%d %H:%M}"
            places.setdefault((name, head), set()).add(record["uuid"])
    return places


def measure(files: dict[str, str], questions: list[Question]) -> Measured:
    """Index the sessions and ask all questions."""
    places = place_turns(files)
    recall = rank = first = tokens = 0.0
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "sessions"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
        with outcrop.open(str(Path(work) / "index.db"), readers=0) as index:
            index.add_sessions(folder)
            for question in questions:
                hits = index.search(question.text, limit=FOUND_WITHIN).hits
                held = {
                    mark for hit in hits for path in hit.headings for mark in places[hit.document.path, path[0]]
                }
                recall += len(question.evidence & held) / len(question.evidence)
                tokens += sum(hit.tokens for hit in hits)
                single = index.search(question.text, limit=FOUND_WITHIN, merge=False).hits
                right = [
                    bool(places[hit.document.path, hit.heading_path[0]] & question.evidence) for hit in single
                ]
                rank += 1 / (right.index(True) + 1) if any(right) else 0
                first += bool(right and right[0])
    count = len(questions)
    return Measured(recall / count, rank / count, first / count, tokens / count)


def main() -> int:
    """Compare turns alone with turns that know what was said around them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversations")
    parser.add_argument("--choose", action="store_true", help="ask the half that constants are chosen on")
    given = parser.parse_args()
    files, questions = read_set(given.data, choose=given.choose)
    if not questions:
        parser.error(f"there are no conversations with questions in {given.data}")
    report = Report("dialogue", {"half": "choose" if given.choose else "judge", "questions": len(questions)})
    turns, weight = dialogue.TURNS_AROUND, columns.OWN_WEIGHT
    ways = {
        "sections of any document": (0, 1),
        "turns alone": (0, weight),
        "turns and those around": (turns, weight),
    }
    measured: dict[str, Measured] = {}
    for name, (dialogue.TURNS_AROUND, columns.OWN_WEIGHT) in ways.items():
        measured[name] = measure(files, questions)
    report.add_table(
        "conversations", [{"turns": name, **asdict(figures)} for name, figures in measured.items()]
    )
    plain, alone, now = measured.values()
    best = max(plain.recall, alone.recall)
    report.add("recall@10, gain over turns alone", now.recall - best, "", at_least=MIN_GAIN)
    report.add(
        "right turn first, gain over turns alone", now.first - max(plain.first, alone.first), "", at_least=0
    )
    if not given.choose:
        report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
