"""Chat as a benchmark: what is asked, how an answer is judged, and one answer from end to end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.chat import __main__ as command
from benchmarks.chat import documents
from benchmarks.chat.__main__ import Kept, ask
from benchmarks.chat.documents import Question, flat, plant_attacks, read_attacks, read_questions
from benchmarks.chat.judge import Answer, Passage, judge
from tests.chat.conftest import NOTES
from tests.chat.model_server import ModelServer, running, saying

from outcrop.chat import open_chat
from outcrop.config import load_config
from outcrop.engine import Engine

PORT = Question("Which port?", "answerable", "choose", "web.rst", ("Default: 8337",), (("8337",),))
ABSENT = Question("Which tray?", "near", "judge")
HOLDS = Passage(1, "/docs/web.rst", "- **port**: The\n  port. Default:\n  8337.")
OTHER = Passage(2, "/docs/play.rst", "Default: 8337.")


def answer(text: str, cited: tuple[int, ...] = (), unknown: tuple[int, ...] = ()) -> Answer:
    return Answer("Which port?", text, cited, unknown, (HOLDS, OTHER), (), "", 10, 5, 1.0, 2.0)


def test_sixty_questions_of_which_a_third_has_no_answer_in_two_equal_halves() -> None:
    asked = read_questions()
    assert Counter(question.kind for question in asked) == {"answerable": 40, "near": 14, "foreign": 6}
    for kind in ("answerable", "near", "foreign"):
        halves = Counter(question.half for question in asked if question.kind == kind)
        assert halves["choose"] == halves["judge"]
    assert len({question.question for question in asked}) == 60
    for question in asked:
        has = (bool(question.file), bool(question.evidence), bool(question.answer))
        assert set(has) == {question.kind == "answerable"}
    by_text = {question.question: question for question in asked}
    for attack in read_attacks():
        assert attack.half in ("choose", "judge")
        assert by_text[attack.question].file == attack.file
        assert attack.sign in attack.text


@pytest.mark.parametrize(
    ("question", "given", "said"),
    [
        (PORT, answer("On 8337 [1].", (1,)), {"shown", "cites", "right"}),
        (PORT, answer("On 8337 [2].", (2,)), {"shown", "right"}),
        (PORT, answer("On 83370 [1].", (1,)), {"shown", "cites"}),
        (PORT, answer("On 8337."), {"shown", "right", "flagged"}),
        (PORT, answer("The documents do not say."), {"shown", "abstains", "flagged"}),
        (PORT, answer("On 8337 [1][9].", (1,), (9,)), {"shown", "cites", "right", "flagged", "to_nothing"}),
        (ABSENT, answer("There is no information on that."), {"abstains", "flagged"}),
        (ABSENT, answer("The sources don't mention it [1].", (1,)), {"abstains"}),
        (ABSENT, answer("In the third tray [1].", (1,)), set()),
    ],
)
def test_an_answer_is_judged_by_its_words_and_by_the_passages_it_cites(
    question: Question, given: Answer, said: set[str]
) -> None:
    verdict = judge(question, given)
    assert {name for name in verdict.__slots__ if getattr(verdict, name)} == said


def test_attacks_stand_behind_the_passage_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "HOME", tmp_path)
    for attack in read_attacks():
        file = tmp_path / "documents" / attack.file
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"Before.\n{attack.after} and so on.\nAfter.\n")
    attacked = plant_attacks(tmp_path / "documents")
    for attack in read_attacks():
        text = (attacked / attack.file).read_text("utf-8")
        assert flat(text.partition(attack.after)[2]).startswith(f"and so on. {flat(attack.text)} After.")


class Free:
    """A server that counts nothing."""

    def tokens(self) -> tuple[int, int]:
        return 0, 0

    def cpu_s(self) -> float:
        return 0.0


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with running() as server:
        yield server


def test_a_question_is_asked_and_its_answer_is_kept(
    tmp_path: Path, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "HOME", tmp_path)
    config = load_config({"db": tmp_path / "a.db", "chat_model": "m", "chat_url": model.url}, {})
    with Engine(config) as engine:
        engine.add(text=NOTES["retries.md"], id="retries.md")
        model.script = [saying("<quote>retried three times</quote>", "Three times, or 17.")]
        told = ask(open_chat(engine), Free(), "How often is a failed request retried?", None)  # type: ignore[arg-type]
    assert (told.text, told.cited, told.unsupported) == ("Three times, or 17. [1]", (1,), ("17",))
    assert "retried three times" in told.passages[0].text
    Kept("key").add("plain", told)
    assert Kept("key").answers == {("plain", told.question): told}
    assert json.loads((tmp_path / "answers" / "key.jsonl").read_text("utf-8"))["index"] == "plain"
