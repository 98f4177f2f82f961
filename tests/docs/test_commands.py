"""Every command of README.md and docs/ is run, in the order of its page, and prints what the page shows.

A page says by comments what it needs: `<!-- sandbox: notes, project -->` what its home folder holds,
`<!-- setup: COMMAND -->` what no reader needs to see, `<!-- exits with: 1 -->` how the last command of the next block
ends, `<!-- prints -->` that the next text is what the Python before it prints, and `<!-- not run: REASON -->` that the
next block cannot be run here.
"""

from __future__ import annotations

import re
import socket
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest
from docs.site.contents import ROOT
from tests.chat.model_server import ModelServer, running, saying
from tests.docs.matching import matches
from tests.docs.reading import RUN, Block, notebook_cells, pages, read_page
from tests.docs.sandbox import Sandbox, open_sandbox
from tests.postgres.server import PostgresServer

from outcrop.config import Config
from outcrop.serve.cli.app import COMMANDS, cli
from outcrop.serve.logs import write_logs

MAX_NOT_RUN = 14
"""Blocks that may stay unrun, of all pages: those that install packages, or need another program than ours."""
PAGES = {source: read_page(source) for source in pages()}
NOTEBOOK = ROOT / "docs/recipes/notebook.ipynb"
ANSWER = "The signing keys are rotated every ninety days [1]."


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with running() as server:
        server.always = saying(ANSWER)
        yield server


@pytest.fixture
def sandbox(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: ModelServer
) -> Iterator[Sandbox]:
    """The sandbox of the page that a test is about."""
    page = PAGES.get(request.node.callspec.params["source"])
    holds = page.sandbox if page else frozenset({"notes"})
    with open_sandbox(tmp_path, holds, monkeypatch, _free_port(), model.url) as opened:
        if "postgres" in holds:
            opened.database = request.getfixturevalue("database")
        yield opened
    write_logs(None)


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """An address to which pages append `?schema=team`, and the roles that they speak of."""
    roles = ("bob", "eve")
    postgres_server.execute(*(f"CREATE ROLE {role} LOGIN" for role in roles))
    yield postgres_server.url()
    for schema in ("team", "ann"):
        postgres_server.drop(schema)
    for role in roles:
        postgres_server.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.timeout(300)  # a page is a dozen commands; on a machine with much else to do each may take seconds
@pytest.mark.parametrize("source", [source for source, page in PAGES.items() if page.blocks])
def test_the_commands_of_the_page_run_and_print_what_it_shows(source: str, sandbox: Sandbox) -> None:
    printed = ""
    for block in PAGES[source].blocks:
        if block.not_run:
            continue
        where = f"{source}:{block.line}"
        if block.language == "console":
            run_block(block, sandbox, where)
        elif block.language == "python":
            printed = sandbox.run_python(block.text)
        elif block.prints:
            assert matches(block.text.splitlines(), printed.splitlines()), f"{where} prints\n{printed}"


def run_block(block: Block, sandbox: Sandbox, where: str) -> None:
    commands = block.commands()
    assert commands, f"{where} shows no command; a line that is typed begins with $"
    for command in commands:
        code, printed = sandbox.run(command)
        expected = block.exits if command is commands[-1] else 0
        assert code == expected, f"{where}: {command.typed} exits with {code}\n{printed}"
        if command.shown is not None:
            assert matches(command.shown, printed.splitlines()), f"{where}: {command.typed} prints\n{printed}"


@pytest.mark.parametrize("source", ["notebook"])
def test_the_cells_of_the_notebook_run_and_print_what_is_recorded(source: str, sandbox: Sandbox) -> None:
    cells = notebook_cells(NOTEBOOK)
    assert len(cells) > 3
    for code, recorded in cells:
        printed = sandbox.run_python(code)
        assert matches(recorded.splitlines(), printed.splitlines()), f"{code}\nprints\n{printed}"


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    left = [
        (f"{source}:{block.line}", block.not_run)
        for source, page in PAGES.items()
        for block in page.blocks
        if block.language in RUN and block.not_run
    ]
    assert len(left) <= MAX_NOT_RUN, left
    assert all(len(reason.split()) > 1 for _, reason in left)
    run = [
        block for page in PAGES.values() for block in page.blocks if block.language in RUN and not block.not_run
    ]
    assert len(run) > 5 * len(left)


def test_what_can_be_run_is_marked_as_such() -> None:
    """A shell block of another name would be run by nobody."""
    others = {block.language for page in PAGES.values() for block in page.blocks} - {
        *RUN,
        "text",
        "toml",
        "json",
    }
    assert not others


def test_settings_in_the_pages_exist() -> None:
    known = {field.name for field in fields(Config)}
    shown = [block for page in PAGES.values() for block in page.blocks if block.language == "toml"]
    assert shown
    for block in shown:
        assert set(tomllib.loads(block.text)) <= known


def named_commands() -> Iterator[tuple[str, list[str]]]:
    """Commands that are named in running text or in a table."""
    for source in PAGES:
        text = re.sub(r"```.*?```", "", (ROOT / source).read_text("utf-8"), flags=re.DOTALL)
        for found in re.findall(r"`outcrop ([^`]+)`", text):
            yield f"{source}: outcrop {found}", found.split()


def test_commands_that_are_only_named_exist_with_their_options() -> None:
    found = dict(named_commands())
    assert len(found) > 20
    for name, words in found.items():
        command = cli.get_command(click.Context(cli), words[0]) if words[0] in COMMANDS else None
        assert command is not None or words[0].startswith("-"), name
        params = (command or cli).params
        options = {"--help", *(option for param in params for option in (*param.opts, *param.secondary_opts))}
        asked = {re.split("[=,…]", word)[0] for word in words if re.match(r"--?[a-z]", word)}
        assert asked <= options, name


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("3 hits in 25 ms", "3 hits in 7 ms", True),
        ("3 hits in 25 ms", "2 hits in 25 ms", False),
        ("a.md  0.88  notes", "a.md  0.31  notes", True),
        ("a.md\n…\nlast", "a.md\nb\nc\nlast", True),
        ("a.md\n…\nlast", "a.md\nb\nc", False),
        ("first …", "first and more", True),
        ("first", "first and more", False),
        ("size  12 KB", "size  1.5 MB", True),
    ],
)
def test_a_shape_is_matched(shown: str, printed: str, fits: bool) -> None:
    assert matches(shown.splitlines(), printed.splitlines()) is fits
