"""Queries of which nothing is known, names of one letter, and names in the other number."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.embed.static import StaticEmbedder
from outcrop.index.describe import _read_words
from outcrop.text.terms import Terms, words_of

SOURCES = Path(outcrop.__file__).parent


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder = tmp_path_factory.mktemp("tree") / "project"
    folder.mkdir()
    (folder / "globals.py").write_text("g = make_proxy()\n")
    (folder / "aliases.py").write_text(
        'def resolve(name):\n    """Give the target of an alias."""\n    return name\n'
    )
    (folder / "other.py").write_text(
        'def expand(name):\n    """The alias of a name, an alias."""\n    return name\n'
    )
    with outcrop.open(folder.parent / "index.db") as engine:
        engine.add(SOURCES / "index")
        engine.add(SOURCES / "rank")
        engine.add(folder)
        yield engine


def test_words_that_nobody_knows_have_no_hits_and_the_answer_says_why(kb: outcrop.Engine) -> None:
    answer = kb.search("zzqqxx")
    assert (answer.hits, answer.reason) == ((), "no_hits")
    assert "none of these words is known" in answer.detail


def test_hardly_any_random_letters_find_something(kb: outcrop.Engine) -> None:
    letters = random.Random(4)
    words = ["".join(letters.choices(string.ascii_lowercase, k=letters.randint(5, 10))) for _ in range(100)]
    assert sum(bool(kb.search(word).hits) for word in words) <= 5


@pytest.mark.parametrize("query", ["the zzqqxx of a segment", "merging", "combine rankings", "similiarity"])
def test_known_and_misspelt_words_are_searched_as_ever(kb: outcrop.Engine, query: str) -> None:
    assert kb.search(query).hits


def test_no_floor_means_no_floor(kb: outcrop.Engine) -> None:
    assert kb.search("zzqqxx", floor=0.0).hits


def test_another_model_need_not_say_what_it_knows(kb: outcrop.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(StaticEmbedder, "knows")
    assert kb.search("zzqqxx ").reason in (None, "no_hits")


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("zzqqxx", False),
        ("qwrtp 2024", False),
        ("x y z", False),
        ("", False),
        ("таблица", True),
        ("საქართველო", False),  # of a language that the model has no words of
        ("reboot", True),
        ("zzqqxx reboot", True),
        ("autogenrate", True),
        ("getUserNme", True),
        ("a" * 100_000, False),
    ],
)
def test_the_model_tells_what_it_knows(text: str, is_known: bool) -> None:
    assert StaticEmbedder().knows(text) is is_known


@pytest.mark.parametrize("letter", ["g", "G", " g "])
def test_a_declared_name_of_one_letter_is_found(kb: outcrop.Engine, letter: str) -> None:
    assert [hit.document.path for hit in kb.search(letter).hits] == ["globals.py"]


@pytest.mark.parametrize("letter", ["q", "7", "?", "_"])
def test_any_other_character_is_no_query(kb: outcrop.Engine, letter: str) -> None:
    answer = kb.search(letter)
    assert (answer.hits, answer.reason) == ((), "empty_query")


def test_a_file_is_found_by_its_name_in_the_other_number(kb: outcrop.Engine) -> None:
    (first, *_) = kb.search("alias").hits
    assert first.document.path == "aliases.py"
    assert "file name" in {boost.name for boost in first.why.boosts}


@pytest.mark.parametrize(
    ("query", "name"),
    [("alias", "aliases"), ("aliases", "alias"), ("bias", "biases"), ("CanvasView", "canvases")],
)
def test_a_word_counts_once_in_whichever_number(query: str, name: str) -> None:
    terms = Terms()
    words = _read_words(query, terms)
    assert set(words_of(name, terms)) <= set(words.forms.tolist())
    assert words.count == len(words_of(query, terms))
