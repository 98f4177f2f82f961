"""What a reranker learns from: the engine's own lists of passages, and the rows that are picked from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from training.ranking.passages import SUFFIX, pick_rows, pick_sources, read_passages, write_passages
from training.ranking.records import Asked

import outcrop

CLOCK = """def wind_clock(turns):
    for turn in range(turns):
        spring.tighten(turn)


def stop_clock():
    spring.release()
"""


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """The lists of one small tree, asked for a function and for a file that holds it."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "clock.py").write_text(CLOCK)
    (tree / "door.py").write_text("def open_door(spring):\n    spring.release()\n    return True\n")
    (tree / "notes.md").write_text("# Springs\n\nA spring that is wound too often breaks.\n")
    asked = [
        Asked("question", "how is the spring of a clock wound", (("clock.py", 1, 3),)),
        Asked("commit", "release the spring", (("clock.py", 0, 0),)),
        Asked("topic", "spring", (("door.py", 0, 0),)),
    ]
    with outcrop.open(tmp_path / "i.db") as engine:
        engine.add(tree)
        write_passages(engine, asked, tmp_path / "lists" / f"acme+clock{SUFFIX}")
    return tmp_path / "lists"


def test_a_list_has_the_passages_in_the_engines_order_and_says_which_are_right(lists: Path) -> None:
    found = list(read_passages(sorted(lists.iterdir())))
    assert {source for source, _ in found} == {"acme+clock"}
    with_answer = {one["kind"]: one for _, one in found if not one["without"]}
    assert with_answer.keys() == {"question", "commit", "topic"}
    asked = with_answer["question"]
    assert asked["rank"] == list(range(len(asked["passages"])))
    assert asked["final"] == sorted(asked["final"], reverse=True)
    right = [text for text, level in zip(asked["passages"], asked["right"], strict=True) if level == 2]
    assert len(right) == 1
    assert right[0].startswith("clock.py wind_clock\n")
    commit = with_answer["commit"]
    levels = {text.split()[0]: level for text, level in zip(commit["passages"], commit["right"], strict=True)}
    assert (levels["clock.py"], levels["door.py"]) == (2, 0), "any passage of the file is right"
    assert all(with_answer["topic"]["code"]), "the heading itself is no candidate"


def test_without_its_answer_nothing_in_a_list_is_right(lists: Path) -> None:
    without = [one for _, one in read_passages(sorted(lists.iterdir())) if one["without"]]
    assert without
    for one in without:
        assert not any(one["right"])
        assert not (one["kind"] == "question" and any(text.startswith("clock.py") for text in one["passages"]))


def test_rows_are_right_ones_and_wrong_ones_and_those_in_the_right_file_are_neither() -> None:
    rng = np.random.default_rng(1)
    level, rank = np.array([0, 2, 1, 0, 0, 2, 0, 0, 2, 2]), np.arange(10)
    for _ in range(20):
        picked = pick_rows(level, rank, 6, rng)
        assert picked is not None
        rows, right = picked
        assert len(set(rows.tolist())) == len(rows) == 6
        assert right.sum() == 2
        assert (level[rows[right]] == 2).all()
        assert (level[rows[~right]] == 0).all()
        assert 0 in rows, "the first wrong one always has to be passed"
    assert pick_rows(np.array([0, 1, 0]), np.arange(3), 6, rng) is None
    assert pick_rows(np.array([2, 1, 2]), np.arange(3), 6, rng) is None


def test_one_source_in_three_judges_however_often_it_is_named() -> None:
    assert pick_sources(["d", "a", "b", "a", "c", "e"]) == {"a", "d"}
