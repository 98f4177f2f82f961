"""The map of a codebase: within its budget, the most central first, the same every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import outcrop
from outcrop.errors import NotFound, QueryError
from outcrop.records import Filter
from outcrop.text.tokens.estimate import SafeEstimate

HUB = "def hub_{0}(x):\n    return x\n\n\n"


class Quarters:
    """Counts a token for every four characters."""

    def count(self, text: str) -> int:
        return len(text) // 4


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def codebase() -> dict[str, str]:
    users = {
        f"app/user_{i}.py": f"from core.hub import hub_central\n\n\ndef user_{i}(x):\n    return hub_central(x)\n"
        for i in range(8)
    }
    return {
        **users,
        "core/hub.py": HUB.format("central") + HUB.format("lonely"),
        "core/side.py": "class SideShow:\n    def perform(self):\n        return 1\n",
        "app/side_user.py": "from core.side import SideShow\n\n\ndef show():\n    return SideShow().perform()\n",
        "tests/test_hub.py": "from core.hub import hub_central\n\n\ndef test_central():\n    assert hub_central(1)\n"
        "\n\ndef helper_of_tests():\n    return 1\n",
    }


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[outcrop.Engine]:
    folder = tmp_path_factory.mktemp("map")
    write(folder / "repo", codebase())
    with outcrop.open(folder / "index.db") as engine:
        engine.add(folder / "repo")
        yield engine


def test_the_most_central_declaration_stands_first(kb: outcrop.Engine) -> None:
    drawn = kb.map(budget_tokens=2000)
    assert drawn.entries[0].symbol == "hub_central"
    assert drawn.entries[0].rank == 1.0
    assert drawn.text.startswith("core/hub.py\n  1: def hub_central(x)\n")
    ranks = [entry.rank for entry in drawn.entries]
    assert ranks == sorted(ranks, reverse=True)
    assert drawn.files == len({entry.path for entry in drawn.entries})


@settings(max_examples=40, deadline=None)
@given(budget=st.integers(1, 400), safe=st.booleans())
def test_a_map_is_never_over_its_budget(kb: outcrop.Engine, budget: int, safe: bool) -> None:
    tokenizer = SafeEstimate() if safe else Quarters()
    drawn = kb.map(budget_tokens=budget, tokenizer=tokenizer)
    assert drawn.tokens == tokenizer.count(drawn.text) <= budget
    assert drawn.budget_tokens == budget
    assert bool(drawn.text) == bool(drawn.entries)
    for entry in drawn.entries:
        assert f"  {entry.line}: {entry.text}" in drawn.text.split("\n")
    assert kb.map(budget_tokens=budget, tokenizer=tokenizer) == drawn


def test_more_budget_keeps_what_less_showed(kb: outcrop.Engine) -> None:
    small, large = kb.map(budget_tokens=60), kb.map(budget_tokens=600)
    assert 0 < len(small.entries) < len(large.entries)
    assert large.entries[: len(small.entries)] == small.entries
    assert small.left_out - large.left_out == len(large.entries) - len(small.entries)


def test_tests_are_on_the_map_only_where_there_is_room(kb: outcrop.Engine) -> None:
    entries = kb.map(budget_tokens=2000).entries
    first_test = next(i for i, entry in enumerate(entries) if entry.path.startswith("tests/"))
    central = {"hub_central", "SideShow", "SideShow.perform"}
    assert central <= {entry.symbol for entry in entries[:first_test]}
    assert not any(entry.path.startswith("tests/") for entry in kb.map(budget_tokens=60).entries)


def test_the_map_moves_to_what_it_is_centred_on(kb: outcrop.Engine) -> None:
    def rank_of(symbol: str, *focus: str) -> float:
        return next(
            entry.rank for entry in kb.map(budget_tokens=2000, focus=focus).entries if entry.symbol == symbol
        )

    for focus in ("SideShow", "core/side.py", "core/side.py:1", "app/side_user.py:4"):
        assert rank_of("SideShow", focus) > 5 * rank_of("SideShow")
    assert kb.map(focus=["show"]).entries[0].symbol == "show"
    with pytest.raises(NotFound):
        kb.map(focus=["NoSuchThing"])


def test_the_map_shows_only_what_passes_the_filter(kb: outcrop.Engine) -> None:
    drawn = kb.map(budget_tokens=2000, where=Filter(paths=("core/side.py",)))
    assert {entry.path for entry in drawn.entries} == {"core/side.py"}
    assert not kb.map(where=Filter(kinds=("rust",))).entries
    with pytest.raises(NotFound):
        kb.map(where=Filter(collections=("nowhere",)))


def test_a_filter_is_not_starved_by_what_it_leaves_out(
    kb: outcrop.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outcrop.code.map.FETCHED", 3)
    drawn = kb.map(budget_tokens=2000, where=Filter(paths=("tests/",)))
    assert {entry.symbol for entry in drawn.entries} == {"test_central", "helper_of_tests"}


def test_the_map_of_an_empty_index_is_empty(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as empty:
        drawn = empty.map()
        assert (drawn.text, drawn.tokens, drawn.entries, drawn.files, drawn.left_out) == ("", 0, (), 0, 0)
        with pytest.raises(QueryError):
            empty.map(budget_tokens=0)


def test_the_map_of_prose_is_empty(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a.md": "# Roses\n\nPrune them.\n"})
    with outcrop.open(tmp_path / "index.db") as notes:
        notes.add(tmp_path / "notes")
        assert notes.map().text == ""


def test_two_repositories_with_the_same_paths_are_both_on_the_map(tmp_path: Path) -> None:
    write(tmp_path / "one", {"src/main.py": "def first_thing():\n    return 1\n"})
    write(tmp_path / "two", {"src/main.py": "def second_thing():\n    return 1\n"})
    with outcrop.open(tmp_path / "index.db") as both:
        both.add(tmp_path / "one")
        both.add(tmp_path / "two")
        drawn = both.map()
        assert {entry.symbol for entry in drawn.entries} == {"first_thing", "second_thing"}
        assert drawn.files == 2
        assert "src/main.py (one)\n  1: def first_thing()" in drawn.text
        assert "src/main.py (two)\n  1: def second_thing()" in drawn.text


def test_the_map_follows_an_edit(tmp_path: Path) -> None:
    write(tmp_path / "repo", {"a.py": "def before_it():\n    return 1\n"})
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(tmp_path / "repo")
        assert "before_it" in engine.map().text
        write(tmp_path / "repo", {"a.py": "def after_it():\n    return 12\n"})
        engine.sync()
        assert [entry.symbol for entry in engine.map().entries] == ["after_it"]
