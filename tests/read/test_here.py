"""Where one stands is the scope of a search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from outcrop import open as open_index
from outcrop.engine import Engine
from outcrop.read.here import projects_at
from outcrop.serve.cli.app import cli

ROOTS = [("home", "/home/me"), ("project", "/home/me/project"), ("docs", "/home/me/project/docs")]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index is: a file, or a URL."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "index.db")


@pytest.fixture
def index(place: str, tmp_path: Path) -> Iterator[Engine]:
    for name, text in {
        "bakery": "# Bread\n\nThe oven is heated to 230 degrees before the loaf goes in.\n",
        "garage": "# Brakes\n\nThe oven of the paint shop is locked. Bleed the brakes every two years.\n",
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "guide.md").write_text(text)
    with open_index(place, data_dir=tmp_path) as engine:
        engine.add(tmp_path / "bakery")
        engine.add(tmp_path / "garage")
        yield engine


def test_the_innermost_folder_is_the_project() -> None:
    assert projects_at("/home/me/project/src", ROOTS) == ("project",)
    assert projects_at("/home/me/project/docs", ROOTS) == ("docs",)
    assert projects_at("/home/me/projects", ROOTS) == ("home",)
    assert projects_at("/", ROOTS) == ()


def test_a_search_stays_in_the_project_one_stands_in(index: Engine, tmp_path: Path) -> None:
    everything = index.search("oven")
    assert {hit.document.collection for hit in everything.hits} == {"bakery", "garage"}
    here = index.search("oven", here=str(tmp_path / "garage"))
    assert {hit.document.collection for hit in here.hits} == {"garage"}
    assert index.search("oven", here=str(tmp_path)).hits == everything.hits  # in no project
    named = index.search("oven", here=str(tmp_path / "garage"), collections=["bakery"])
    assert {hit.document.collection for hit in named.hits} == {"bakery"}


def test_another_project_is_named_where_it_is_clearly_better(index: Engine, tmp_path: Path) -> None:
    answer = index.search("how hot is the oven for a loaf of bread", here=str(tmp_path / "garage"))
    assert {hit.document.collection for hit in answer.hits} <= {"garage"}
    assert [each.collection for each in answer.elsewhere] == ["bakery"]
    assert answer.elsewhere[0].place.startswith("guide.md")
    assert "better matches elsewhere: bakery" in answer.detail
    assert index.search("how often to bleed the brakes", here=str(tmp_path / "garage")).elsewhere == ()


def test_the_command_line_stands_in_the_current_folder(
    index: Engine, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.close()
    monkeypatch.chdir(tmp_path / "garage")
    asked = ["--db", place, "search", "--json", "oven"]
    inside = json.loads(CliRunner().invoke(cli, asked).stdout)
    assert {hit["document"]["collection"] for hit in inside["hits"]} == {"garage"}
    everything = json.loads(CliRunner().invoke(cli, [*asked, "--all"]).stdout)
    assert {hit["document"]["collection"] for hit in everything["hits"]} == {"bakery", "garage"}


@pytest.mark.parametrize("code", [False, True])
def test_a_context_is_of_the_project_one_stands_in(index: Engine, tmp_path: Path, code: bool) -> None:
    ask = index.code_context if code else index.context
    query = "how hot is the oven for a loaf of bread"
    everything = ask(query)
    assert "230 degrees" in everything.text
    assert everything.elsewhere == ()
    here = ask(query, here=str(tmp_path / "garage"))
    assert "230 degrees" not in here.text
    assert {source.hit.document.collection for source in here.sources} <= {"garage"}
    assert [each.collection for each in here.elsewhere] == ["bakery"]
    assert "better matches elsewhere: bakery" in here.detail
    assert ask(query, here=str(tmp_path)).text == everything.text
    assert "230 degrees" in ask(query, here=str(tmp_path / "garage"), collections=["bakery"]).text


def test_context_on_the_command_line_stands_in_the_current_folder(
    index: Engine, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.close()
    monkeypatch.chdir(tmp_path / "garage")
    base = ["--db", place, "context", "oven"]
    here = CliRunner().invoke(cli, base)
    assert "paint shop" in here.stdout
    assert "loaf" not in here.stdout
    for wide in (["--all"], ["-c", "bakery"], ["--here", str(tmp_path / "bakery")]):
        assert "loaf" in CliRunner().invoke(cli, [*base, *wide]).stdout
    assert "loaf" not in CliRunner().invoke(cli, [*base, "--code"]).stdout
    assert "loaf" in CliRunner().invoke(cli, [*base, "--code", "-a"]).stdout
