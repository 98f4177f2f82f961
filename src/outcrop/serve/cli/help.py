"""What --help shows: examples before options, options under headings, rare ones only with --help-all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from outcrop.serve.terminal import say_count

EVERYWHERE: Final = "Every command takes"
"""The heading of what every command takes."""
_OTHERS: Final = "Options"
_ALL: Final = "outcrop.help_all"
_COLUMN: Final = 26
"""Columns of names and values; what is longer has its explanation on the next line."""


class GroupedOption(click.Option):
    """An option with its heading; a `rare` one is shown by --help-all only."""

    def __init__(
        self, *args: Any, group: str = _OTHERS, rare: bool = False, help: str | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self.help = help  # one line; click would look for indentation in each of 440
        self.group = group or _OTHERS
        self.rare = rare

    def make_metavar(self, ctx: click.Context) -> str:
        """A number is N, and not INTEGER RANGE."""
        return (
            "N" if self.metavar is None and isinstance(self.type, click.IntRange) else super().make_metavar(ctx)
        )

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Without the range, `[0<=x<=1]`: metavar and help say it in words."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class GroupedHelp(click.Command):
    """A command whose help has examples and headings."""

    examples: Sequence[str] = ()

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The text, then examples as one would type them."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under their headings, in the order in which these first occur."""
        everything = ctx.meta.get(_ALL, False)
        shown: dict[str, list[tuple[str, str]]] = {}
        hidden = 0
        for heading, options in group_options(self, ctx).items():
            for option in options:
                record = option.get_help_record(ctx)
                if record and (everything or not is_rare(option)):
                    shown.setdefault(heading, []).append(record)
                else:
                    hidden += option is not HELP_ALL
        names = [name for lines in shown.values() for name, _ in lines]
        width = max(len(name) for name in names if len(name) <= _COLUMN)
        for heading, lines in shown.items():
            with formatter.section(heading):  # the explanations of all headings begin in one column
                formatter.write_dl([(name.ljust(width), about) for name, about in lines], col_max=width)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{say_count(hidden, 'more option')}: {ctx.command_path} --help-all")


def group_options(command: click.Command, ctx: click.Context) -> dict[str, list[click.Option]]:
    """The options of a command by heading; what every command takes comes last."""
    groups: dict[str, list[click.Option]] = {}
    for param in command.get_params(ctx):
        if isinstance(param, click.Option):
            own = EVERYWHERE if param.is_eager else _OTHERS  # click's own --help and --version
            groups.setdefault(getattr(param, "group", own), []).append(param)
    common = groups.pop(EVERYWHERE, [])
    return {**groups, EVERYWHERE: common} if common else groups


def is_rare(option: click.Option) -> bool:
    """Whether only --help-all shows it."""
    return bool(getattr(option, "rare", False))


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


HELP_ALL: Final = GroupedOption(
    ["--help-all"],
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_all,
    group=EVERYWHERE,
    rare=True,
    help="Show every option, also the rare ones, and exit.",
)
