"""Every command with its options, as click knows them."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click
from docs.site.table import code, table

from outcrop.serve.cli.app import COMMANDS, cli
from outcrop.serve.cli.help import EVERYWHERE, GroupedHelp, group_options


def common_options() -> str:
    """What every command takes, before or after its name."""
    return _options(cli, [param for param in cli.params if isinstance(param, click.Option)])


def overview() -> str:
    """Every command with the first sentence of its help."""
    rows = []
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None  # noqa: S101 - it is in the table
        rows.append((f"[`outcrop {name}`](#outcrop-{name})", _help(command).split("\n\n")[0]))
    return table(("command", "what it does"), rows)


def commands() -> str:
    """Each command: how it is called, what it says of itself, examples, its own options under their headings."""
    made = []
    for name in COMMANDS:
        context = click.Context(cli, info_name="outcrop")
        command = cli.get_command(context, name)
        assert command is not None  # noqa: S101 - it is in the table
        groups = group_options(command, context)
        groups.pop(EVERYWHERE)
        usage = " ".join(["outcrop", name, *command.collect_usage_pieces(click.Context(command))])
        parts = [f"## outcrop {name}", f"```text\n{usage}\n```", _help(command)]
        if isinstance(command, GroupedHelp) and command.examples:
            parts.append("```text\n" + "\n".join(command.examples) + "\n```")
        for heading, options in groups.items():
            parts += [*([f"**{heading}**"] if len(groups) > 1 else []), _options(command, options)]
        made.append("\n\n".join(parts))
    return "\n\n".join(made)


def _help(command: click.Command) -> str:
    """The help of a command. What click is told not to wrap (`\\b`) is a listing."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        f"```text\n{paragraph[1:].strip()}\n```" if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )


def _options(command: click.Command, options: list[click.Option]) -> str:
    context = click.Context(command)
    return table(("option", "what it does"), ((_names(option, context), _about(option)) for option in options))


def _names(option: click.Option, context: click.Context) -> str:
    names = ", ".join(code(name) for name in (*option.opts, *option.secondary_opts))
    takes = "" if option.is_flag or option.count else f" {code(_metavar(option, context))}"
    return names + takes


def _metavar(option: click.Option, context: click.Context) -> str:
    if isinstance(option.type, click.Choice) and option.metavar is None:
        return "|".join(map(str, option.type.choices))
    return option.make_metavar(context)


def _about(option: click.Option) -> str:
    default: Any = option.to_info_dict()["default"]
    said = re.sub(r"\s+", " ", option.help or "")
    if option.is_flag or option.count or default in (None, (), "") or callable(default):
        return said
    return said if str(default) in said else f"{said} Default: {code(default)}."
