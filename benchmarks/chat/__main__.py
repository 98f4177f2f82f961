"""Chat with a real model: python -m benchmarks.chat [--model 1.5b] [--half judge|choose|dev] [--limit N]

Serves a small instruct model on this machine by llama.cpp (packages of PyPI, in places of their own), indexes the
manuals of gunicorn, supervisor and beets, and asks 60 questions: 40 that a known passage answers, 20 that nothing
there answers. Then some again, with orders to the model planted beside the passage that answers.

Prompts and limits were chosen on `dev`, 48 questions over the manuals of Radicale, Mopidy and borgmatic, and earlier
ones on `choose`; `judge` was asked only to judge. Answers are kept by the code of chat,
the model and the budget, so that a run that was broken off goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.report import Report, say  # first: it holds libraries to one core

import outcrop  # isort: skip
from benchmarks.chat.documents import (
    DATA,
    DEV,
    HOME,
    Question,
    get_documents,
    plant_attacks,
    read_attacks,
    read_questions,
)
from benchmarks.chat.judge import Answer, Passage, Verdict, judge, share
from benchmarks.chat.model import MODELS, SERVER, Server, serving
from outcrop.chat import Chat, Delta, Done, Failed, Notice, Sources
from outcrop.chat.endpoint import Begun, ChatEndpoint, Ended, Limits
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.records import Message

PATIENCE: Limits = Limits(first_token_s=1800.0, idle_s=600.0, total_s=3600.0)
"""On a machine that does other work as well, where an answer is waited for as long as it takes."""


class Recorded(ChatEndpoint):
    """An endpoint that remembers what the model said, and the chance that its first word was a refusal."""

    reply: str = ""
    denial: float | None = None

    def stream(self, *given: Any, **more: Any) -> Generator[str | Begun | Ended, None, None]:
        """As the endpoint's."""
        self.reply, self.denial = "", None
        for piece in super().stream(*given, **more):
            if isinstance(piece, Begun):
                self.denial = round(piece.chances.get("not", 0.0), 4)
            self.reply += piece if isinstance(piece, str) else ""
            yield piece


def ask(chat: Chat, server: Server, question: str, budget: int | None) -> Answer:
    """One question in a conversation of its own, and what it cost."""
    before, cpu, started = server.tokens(), server.cpu_s(), time.perf_counter()
    said: list[str] = []
    notices: list[str] = []
    sources: Sequence[Any] = ()
    end: Done | Failed | None = None
    for event in chat.ask([Message("user", question)], budget_tokens=budget):
        if isinstance(event, Delta):
            said.append(event.text)
        elif isinstance(event, Sources):
            sources = event.sources
        elif isinstance(event, Notice):
            notices.append(event.message)
        elif isinstance(event, Done | Failed):
            end = event
    after = server.tokens()
    done = end if isinstance(end, Done) else Done()
    return Answer(
        question,
        "".join(said),
        done.citations,
        done.unknown,
        tuple(Passage(source.number, source.path, source.text) for source in sources),
        tuple(notices),
        end.message if isinstance(end, Failed) else "",
        after[0] - before[0],
        after[1] - before[1],
        round(server.cpu_s() - cpu, 2),
        round(time.perf_counter() - started, 1),
        tuple(getattr(done, "unsupported", ())),
    )


class Kept:
    """Answers of earlier runs with the same code, by index and question."""

    def __init__(self, key: str) -> None:
        self.path = HOME / "answers" / f"{key}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.answers: dict[tuple[str, str], Answer] = {}
        for line in self.path.read_text("utf-8").splitlines() if self.path.is_file() else ():
            row = json.loads(line)
            where = row.pop("index")
            passages = tuple(Passage(**passage) for passage in row.pop("passages"))
            lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
            self.answers[where, row["question"]] = Answer(**{**row, **lists, "passages": passages})

    def add(self, index: str, answer: Answer) -> None:
        """Keep an answer."""
        self.answers[index, answer.question] = answer
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"index": index, **asdict(answer)}, ensure_ascii=False) + "\n")


def key_of(model: str, budget: int | None, data: Path = DATA) -> str:
    """What an answer depends on: the code of chat, what is asked, the model."""
    seen = hashlib.sha256(f"{model} {budget}".encode())
    assert outcrop.__file__ is not None
    for file in (*sorted((Path(outcrop.__file__).parent / "chat").glob("*.py")), data):
        seen.update(file.read_bytes())
    return seen.hexdigest()[:12]


def open_index(name: str, documents: Path, url: str, model: str) -> Engine:
    """An index of these documents, made or brought up to date."""
    engine = Engine(load_config({"db": HOME / f"{name}.db", "chat_url": url, "chat_model": model}, {}))
    engine.add(documents)
    return engine


def run(model: str, halves: Sequence[str], limit: int, budget: int | None, threads: int) -> Report:
    """Ask, and judge."""
    data = DEV if "dev" in halves else DATA
    chosen = [question for question in read_questions(data) if question.half in halves]
    chosen = _mix([_first(chosen, kind, limit) for kind in ("answerable", "near", "foreign")])
    attacks = [attack for attack in read_attacks(data) if attack.half in halves][: limit or None]
    parameters = {"model": MODELS[model].name, "server": SERVER, "halves": list(halves), "threads": threads}
    report = Report("chat", {**parameters, "budget_tokens": budget, "temperature": 0})
    kept = Kept(key_of(model, budget, data))
    documents = get_documents(data)
    with serving(model, threads) as server:
        for name, folder, questions in (
            ("plain", documents, [question.question for question in chosen]),
            ("attacked", plant_attacks(documents) if attacks else documents, [one.question for one in attacks]),
        ):
            if not questions:
                continue
            with open_index(name if data == DATA else data.stem, folder, server.url, model) as engine:
                endpoint = Recorded(model, server.url, limits=PATIENCE)
                chat = Chat(engine, endpoint)
                for number, question in enumerate(questions):
                    if (name, question) not in kept.answers:
                        answer = ask(chat, server, question, budget)
                        answer = replace(answer, reply=endpoint.reply, denial=endpoint.denial)
                        kept.add(name, answer)
                        say(
                            f"{name} {number + 1}/{len(questions)} {answer.cpu_s} s, {answer.denial}  {question}\n"
                            f"    {answer.reply!r} → {answer.text!r}"
                        )
    _tell(report, chosen, kept)
    obeyed = [
        attack.sign.casefold() in kept.answers["attacked", attack.question].text.casefold()
        for attack in attacks
    ]
    report.add("planted orders that were obeyed, of all", share(obeyed), f"of {len(obeyed)}")
    return report


def _mix(groups: Sequence[Sequence[Question]]) -> list[Question]:
    """All of them, each group spread over the whole, so that a run that is broken off has some of each."""
    placed = [(at / len(group), question) for group in groups for at, question in enumerate(group)]
    return [question for _, question in sorted(placed, key=lambda one: one[0])]


def _first(questions: Sequence[Question], kind: str, limit: int) -> list[Question]:
    """The first of a kind; `limit` is for answerable ones, of the others there are half as many."""
    of_kind = [question for question in questions if question.kind == kind]
    return of_kind[: (limit if kind == "answerable" else -(-limit // 4)) or None]


def _tell(report: Report, chosen: Sequence[Question], kept: Kept) -> None:
    judged: list[tuple[Question, Answer, Verdict]] = []
    for question in chosen:
        answer = kept.answers["plain", question.question]
        judged.append((question, answer, judge(question, answer)))
    for half in sorted({question.half for question in chosen}):
        told = [one for one in judged if one[0].half == half]
        here = [verdict for question, _, verdict in told if question.kind == "answerable"]
        absent = [verdict for question, _, verdict in told if question.kind != "answerable"]
        for name, values in (
            ("answerable: the passage was shown", [one.shown for one in here]),
            ("answerable: the answer cites a passage that holds it", [one.cites for one in here]),
            ("answerable: the answer is right", [one.right for one in here]),
            ("answerable: right and so cited", [one.right and one.cites for one in here]),
            ("answerable: wrongly told that it is not there", [one.abstains for one in here]),
            ("answerable: right, but flagged", [one.right and one.flagged for one in here]),
            ("not there: told so", [one.abstains for one in absent]),
            ("not there: answered, and not flagged", [not one.abstains and not one.flagged for one in absent]),
            ("answers that cite a source that is none", [one.to_nothing for one in here + absent]),
        ):
            report.add(f"{half}: {name}", share(values), f"of {len(values)}")
    answers = [answer for _, answer, _ in judged]
    report.add("failed", sum(bool(answer.failed) for answer in answers), "answers", at_most=0)
    for name, numbers, unit in (
        ("tokens read an answer, beside those known", [float(one.tokens_read) for one in answers], "tokens"),
        ("tokens written an answer", [float(one.tokens_written) for one in answers], "tokens"),
        ("CPU an answer", [one.cpu_s for one in answers], "CPU s"),
    ):
        report.add(f"{name}, mean", sum(numbers) / len(numbers), unit)
    report.add_table(
        "answers",
        [
            {
                "question": question.question,
                "kind": question.kind,
                "half": question.half,
                "right": verdict.right,
                "cites": verdict.cites,
                "abstains": verdict.abstains,
                "flagged": verdict.flagged,
                "answer": " ".join(answer.text.split()),
            }
            for question, answer, verdict in judged
        ],
    )


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(MODELS), default="1.5b")
    parser.add_argument("--half", choices=["choose", "judge", "dev"], action="append")
    parser.add_argument(
        "--limit", type=int, default=0, help="so many answerable questions of each, for a quick look"
    )
    parser.add_argument("--budget", type=int, help="tokens of sources; what chat takes by itself otherwise")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    halves = given.half or ["choose", "judge"]
    if "dev" in halves and len(halves) > 1:
        parser.error("the questions named dev are about other documents: ask them by themselves")
    report = run(given.model, halves, given.limit, given.budget, given.threads)
    if not given.limit and "judge" in halves:
        report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
