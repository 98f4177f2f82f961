"""Documents that the best hits name come along, where the question leaves something open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.index.query import Query
from outcrop.index.seam import Matches
from outcrop.read import rank
from outcrop.read.hops import MAX_BEARERS, MAX_NAMES, spoken_names
from outcrop.records import Answer

QUESTION = "in which town was the director of the film Plan Nine raised?"
FILM = "The film Plan Nine is about graves and saucers. It was directed by Ed Wood in four days."
LIFE = "He grew up in Poughkeepsie and served with the marines."


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "kb.db") as engine:
        for number in range(60):
            engine.add(text=f"Bed {number} has soil, carrots and a town of ants.", title=f"Bed {number}")
        engine.add(text=FILM, id="film", title="Plan Nine (film)")
        yield engine


def named_by(answer: Answer) -> dict[str, str]:
    """Which document came along, and what explains it."""
    return {
        hit.document.title: boost.name
        for hit in answer.hits
        for boost in hit.why.boosts
        if boost.name.startswith("named by")
    }


def ask(kb: outcrop.Engine, question: str = QUESTION, **options: object) -> Answer:
    return kb.search(question, floor=0.0, limit=5, **options)  # type: ignore[arg-type]


def test_a_document_that_the_first_hit_names_comes_second_and_says_why(kb: outcrop.Engine) -> None:
    kb.add(text=LIFE, title="Ed Wood (director)")
    answer = ask(kb)
    assert [hit.document.title for hit in answer.hits[:2]] == ["Plan Nine (film)", "Ed Wood (director)"]
    assert named_by(answer) == {"Ed Wood (director)": "named by Plan Nine (film)"}
    assert answer.hits[0].score > answer.hits[1].score


def test_one_that_no_leg_lists_is_found_unless_a_floor_keeps_it_out(kb: outcrop.Engine) -> None:
    kb.add(text="Poughkeepsie, marines, nothing else.", title="Ed Wood")
    found = ask(kb, mode="keyword")
    assert [hit.document.title for hit in found.hits[:2]] == ["Plan Nine (film)", "Ed Wood"]
    why = found.hits[1].why
    assert (why.lexical_rank, why.dense_rank, why.matched_terms) == (None, None, ())
    assert named_by(found) == {"Ed Wood": "named by Plan Nine (film)"}
    assert not named_by(kb.search(QUESTION, mode="keyword", floor=0.25))


@pytest.mark.parametrize(
    "question", ["Plan Nine", "film directed graves saucers Plan Nine", '"Plan Nine" film director town']
)
def test_what_asks_for_one_thing_goes_no_further(kb: outcrop.Engine, question: str) -> None:
    kb.add(text=LIFE, title="Ed Wood")
    assert ask(kb, question).hits[0].document.title == "Plan Nine (film)"
    assert not named_by(ask(kb, question))


def test_a_filter_holds_for_what_is_named(kb: outcrop.Engine) -> None:
    kb.add(text=LIFE, title="Ed Wood", collection="people")
    assert named_by(ask(kb))
    assert not named_by(ask(kb, collections=["default"]))


def test_a_title_that_many_bear_names_none(kb: outcrop.Engine) -> None:
    for number in range(MAX_BEARERS):
        kb.add(text=f"{LIFE} ({number})", title=f"Ed Wood ({number})")
    assert len(named_by(ask(kb))) >= 1
    kb.add(text=f"{LIFE} Again.", title="Ed Wood")
    assert not named_by(ask(kb))


def test_a_title_of_common_words_is_no_name(kb: outcrop.Engine) -> None:
    kb.add(text=LIFE, title="Soil")
    kb.add(text=FILM.replace("Ed Wood", "a man of the Soil"), id="film", title="Plan Nine (film)")
    assert not named_by(ask(kb))


def test_a_document_does_not_name_itself(kb: outcrop.Engine) -> None:
    kb.add(text=FILM.replace("Ed Wood", "Plan Nine"), id="film", title="Plan Nine (film)")
    assert not named_by(ask(kb))


def test_the_clauses_of_a_pasted_text_do_not_hop(kb: outcrop.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    hops: list[str] = []

    def note(query: Query, _options: object, seen: Matches, *_others: object) -> Matches:
        hops.append(query.text)
        return seen

    monkeypatch.setattr(rank, "follow_names", note)
    ask(kb, "Saucers do not fly\n\nThe film Plan Nine stops after four days.\n\nThe graves are empty.\n")
    assert hops == []
    ask(kb)
    assert hops == [QUESTION]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was directed by Ed Wood in 1957.", ["Ed Wood in 1957", "Ed Wood", "Wood in 1957"]),
        ("He read the Lord of the Rings.", ["Lord of the Rings"]),
        ("by J. R. R. Tolkien, who", ["J. R. R. Tolkien", "R. Tolkien"]),
        ("In London they met.", ["London", "In London"]),
        ("they met in Portland, Oregon", ["Portland, Oregon"]),
        ("see `connection pooling` and “crash recovery”", ["connection pooling", "crash recovery"]),
        ("they moved to Paris.", ["Paris"]),
    ],
)
def test_names_are_read(text: str, names: list[str]) -> None:
    assert set(names) <= set(spoken_names(text))


@pytest.mark.parametrize(
    "text", ["Usage", "Usage. Run it", "- Introduction\n- Overview", "no name here at all"]
)
def test_a_first_word_is_no_name(text: str) -> None:
    assert list(spoken_names(text)) == []


def test_a_page_of_capitals_is_read_in_time() -> None:
    assert len(list(spoken_names("Aaa " * 1000))) < 40 * MAX_NAMES
