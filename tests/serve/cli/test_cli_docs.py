"""Every command and every option says what it is for."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from outcrop.records.asked import CONTEXT_OPTIONS, SEARCH_OPTIONS
from outcrop.serve.cli.app import COMMANDS, cli
from outcrop.serve.cli.help import GroupedHelp, group_options, is_rare

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


def help_of(*args: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, args, prog_name="outcrop")
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("name", LOADED)
def test_examples_are_commands_that_are_understood(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = LOADED[name]
    assert isinstance(command, GroupedHelp)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("notes", "src/project"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "questions.jsonl").touch()
    for example in command.examples:
        typed = shlex.split(re.sub(r".*\| (?=outcrop)| < \S+$", "", example))
        assert typed[:2] == ["outcrop", name]
        command.make_context(name, [os.path.expanduser(word) for word in typed[2:]]).close()
        assert f"  {example}\n" in help_of(name, "--help")


@pytest.mark.parametrize("name", LOADED)
def test_help_fits_eighty_columns_and_names_what_it_leaves_out(name: str) -> None:
    command = LOADED[name]
    assert command is not None
    short, whole = help_of(name, "--help"), help_of(name, "--help-all")
    assert max(map(len, whole.splitlines())) <= 80
    assert "RANGE" not in whole
    for options in group_options(command, click.Context(command)).values():
        for option in options:
            shown = re.compile(rf"^  (-\w, )?{option.opts[-1]}\b", re.MULTILINE)
            assert bool(shown.search(short)) != is_rare(option)
            assert shown.search(whole)
    assert f"outcrop {name} --help-all" in short
    assert "--help-all\n" not in whole.splitlines()[-1]


def test_search_puts_examples_first_and_options_under_headings() -> None:
    lines = help_of("search", "--help").splitlines()
    heads = [line for line in lines if re.fullmatch(r"\w.*:", line)]
    assert heads == ["Examples:", "What to show:", "Where to look:", "How to rank:", "Every command takes:"]
    assert sum(line.startswith("  -") for line in lines) <= 20


def test_every_option_of_a_search_is_declared_with_its_heading() -> None:
    assert all(option.group for option in (*SEARCH_OPTIONS.values(), *CONTEXT_OPTIONS.values()))


def test_commands_stand_under_headings() -> None:
    lines = help_of("--help").splitlines()
    assert lines.index("Bring documents in:") < lines.index("Ask:") < lines.index("Every command takes:")
    assert [line.split()[0] for line in lines if re.match(r"  [a-z]+ {2,}[A-Z]", line)] == list(COMMANDS)
