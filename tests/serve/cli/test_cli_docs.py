"""Every command and every option says what it is for."""

from __future__ import annotations

import click
import pytest

from outcrop.serve.cli.app import COMMANDS, cli

LOADED = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}


@pytest.mark.parametrize("name", LOADED)
def test_the_command_and_its_options_have_help(name: str) -> None:
    command = LOADED[name]
    assert command is not None
    assert command.name == name
    assert (command.help or "").strip()
    for param in command.params:
        if isinstance(param, click.Option):
            assert (param.help or "").strip(), f"{name} {param.opts}"


@pytest.mark.parametrize("name", LOADED)
def test_the_line_in_the_table_is_the_first_line_of_the_help(name: str) -> None:
    command = LOADED[name]
    assert command is not None
    assert (command.help or "").strip().splitlines()[0] == COMMANDS[name][1]


@pytest.mark.parametrize("name", LOADED)
def test_every_command_takes_the_common_options(name: str) -> None:
    command = LOADED[name]
    assert command is not None
    given = {option for param in command.params for option in param.opts}
    assert {"--db", "--json", "--verbose", "--no-color", "--log-level"} <= given


def test_the_group_has_help_for_its_options() -> None:
    assert all((param.help or "").strip() for param in cli.params if isinstance(param, click.Option))
