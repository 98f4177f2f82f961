"""Where a client stands, by its roots, is the scope of what it asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import INVALID_REQUEST, ErrorData, ListRootsResult, Root
from pydantic import FileUrl
from tests.serve.mcp.conftest import text_of
from tests.serve.mcp.serving import served
from tests.sources.repositories import commit, git, make

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.serve.mcp import roots as mcp_roots
from outcrop.serve.state import make_state

BREAD = "# Bread\n\nThe oven is heated to 230 degrees before the loaf goes in.\n"
BRAKES = "# Brakes\n\nThe oven of the paint shop is locked. Bleed the brakes every two years.\n"

Ask = Callable[..., str]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Two projects; the bakery has a worktree on a branch of its own."""
    bakery = make(tmp_path / "bakery")
    commit(bakery, "start", {"guide.md": BREAD})
    git(bakery, "worktree", "add", "-q", "-b", "rye", str(tmp_path / "rye loaf"))
    (tmp_path / "rye loaf" / "guide.md").write_text(BREAD.replace("230", "210"))
    garage = tmp_path / "garage"
    garage.mkdir()
    (garage / "guide.md").write_text(BRAKES)
    with Engine(load_config({"db": tmp_path / "index.db"}, {"HOME": str(tmp_path)})) as engine:
        for folder in (bakery, tmp_path / "rye loaf", garage):
            assert not engine.add(folder).failed
    return tmp_path


@pytest.fixture(params=["stdio", "http", "http-2026"])
def ask(request: pytest.FixtureRequest, places: Path) -> Iterator[Ask]:
    """One call of a client with these roots, over one of the transports; over HTTP in both eras of the protocol."""
    mode = "auto" if request.param == "http-2026" else "legacy"

    def call(server: Any, tool: str, roots: list[str] | None, **arguments: Any) -> str:
        async def on_list_roots(context: object) -> ListRootsResult:
            return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in roots or ()])

        async def main() -> str:
            with anyio.fail_after(120):
                answers = None if roots is None else on_list_roots
                async with Client(server, mode=mode, list_roots_callback=answers) as client:
                    result = await client.call_tool(tool, arguments)
                    assert not result.is_error, text_of(result)
                    return text_of(result)

        return anyio.run(main)

    if request.param == "stdio":
        yield lambda *given, **arguments: call(started(places, places), *given, **arguments)
        return
    state = make_state(Engine(load_config({"db": places / "index.db", "tools": "all"}, {"HOME": str(places)})))
    with served(state) as url:
        yield lambda *given, **arguments: call(url, *given, **arguments)
    state.engine.close()


def started(places: Path, folder: Path) -> StdioServerParameters:
    """A server as a client starts it, in a folder."""
    return StdioServerParameters(
        command=str(Path(sys.executable).with_name("outcrop")),
        args=["--db", str(places / "index.db"), "mcp", "--tools", "all"],
        env={"HOME": str(places)},
        cwd=str(folder),
    )


def test_a_search_is_of_the_project_that_the_roots_are_in(ask: Ask, places: Path) -> None:
    garage = [(places / "garage").as_uri()]
    found = ask("search", garage, query="oven")
    assert "paint shop" in found
    assert "loaf" not in found
    assert "loaf" in ask("search", garage, query="oven", all_projects=True)
    assert "loaf" in ask("search", garage, query="oven", collections=["bakery"])
    everywhere = ask("search", [places.as_uri()], query="oven")  # which is in no project
    assert "loaf" in everywhere
    assert "paint shop" in everywhere
    both = ask("search", [*garage, (places / "bakery").as_uri()], query="oven")
    assert "loaf" in both
    assert "paint shop" in both


def test_better_matches_of_other_projects_are_named_and_how_to_ask_for_them(ask: Ask, places: Path) -> None:
    garage = [(places / "garage").as_uri()]
    found = ask("search", garage, query="how hot is the oven for a loaf of bread")
    assert "better matches elsewhere: bakery" in found
    assert "all_projects" in found
    assert "all_projects" not in ask("search", garage, query="how often to bleed the brakes")
    for code in (False, True):
        packed = ask("context", garage, query="how hot is the oven for a loaf of bread", code=code)
        assert "230 degrees" not in packed
        assert "better matches elsewhere: bakery" in packed
        assert "all_projects" in packed
        wide = ask("context", garage, query="how hot is the oven for a loaf", code=code, all_projects=True)
        assert "230 degrees" in wide
    for mode in ("exact", "regex"):
        none = ask("search", garage, query="230 degrees", mode=mode)
        assert none.startswith("No hits in this project")
        assert "all_projects" in none
        assert "guide.md" in ask("search", garage, query="230 degrees", mode=mode, all_projects=True)


def test_the_worktree_that_a_root_is_in_is_the_one_that_is_read(ask: Ask, places: Path) -> None:
    rye, bakery = [(places / "rye loaf").as_uri()], [(places / "bakery").as_uri()]
    for roots, degrees in ((rye, "210"), (bakery, "230")):
        assert f"{degrees} degrees" in ask("search", roots, query="how hot is the oven")
        assert f"{degrees} degrees" in ask("search", roots, query="degrees", mode="exact")
        document = str(places / "garage/guide.md")
        assert "paint shop" in ask("read_document", roots, document=document)
        assert f"{degrees} degrees" in ask("read_document", roots, document="guide.md", collection="bakery")


def test_roots_that_are_missing_wrong_or_no_folders_restrict_nothing(ask: Ask, places: Path) -> None:
    for roots in (None, [], ["file://elsewhere/a/folder", "file:///%00"]):
        found = ask("search", roots, query="oven")
        assert "loaf" in found, roots
        assert "paint shop" in found, roots


def test_a_client_without_roots_stands_where_it_started_the_server(places: Path) -> None:
    async def main(folder: Path) -> str:
        async with Client(started(places, folder), mode="legacy") as client:
            return text_of(await client.call_tool("search", {"query": "oven"}))

    (places / "garage/inside").mkdir()
    found = anyio.run(main, places / "garage/inside")
    assert "paint shop" in found
    assert "loaf" not in found
    assert "loaf" in anyio.run(main, places)


@pytest.mark.parametrize("silent", [True, False])
def test_a_client_that_does_not_say_its_roots_gets_its_answer(
    places: Path, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr(mcp_roots, "ANSWER_S", 0.2)

    async def on_list_roots(context: object) -> ErrorData:
        if silent:
            await anyio.sleep_forever()
        return ErrorData(code=INVALID_REQUEST, message="no roots today")

    async def main(url: str) -> str:
        with anyio.fail_after(60):
            async with Client(url, mode="legacy", list_roots_callback=on_list_roots) as client:
                return text_of(await client.call_tool("search", {"query": "oven"}))

    state = make_state(Engine(load_config({"db": places / "index.db", "tools": "all"}, {"HOME": str(places)})))
    with served(state) as url:
        assert "loaf" in anyio.run(main, url)
    state.engine.close()


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///home/me/a%20b", "/home/me/a b"),
        ("file://localhost/srv", "/srv"),
        ("file://other/srv", None),
        ("file:///a%00b", None),
        ("file:relative", None),
        ("https://example.com/srv", None),
        ("file:///" + "x" * 5_000, None),
        ("file://[", None),
    ],
)
def test_a_root_is_a_folder_of_this_machine_or_nothing(uri: str, folder: str | None) -> None:
    assert mcp_roots.folder_of(uri) == (None if folder is None else os.path.realpath(folder))
