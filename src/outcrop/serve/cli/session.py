"""The options common to all commands, and the index and terminal they determine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from outcrop.serve.as_json import dump
from outcrop.serve.terminal import clean, clean_line
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.config import Config
    from outcrop.engine import Engine

T = TypeVar("T")


class Screen:
    """Where people read: a terminal, or the pipe that stands for one. rich is loaded when something is drawn; lines
    into a pipe are only written, for programs read those, and rich is a tenth of a cold search."""

    def __init__(self, make: Callable[[], Console], *, plain: Callable[[str], object] | None = None) -> None:
        self._make = make
        self.plain = plain
        """Writes a line where nothing has a colour, a link or a width; None where rich draws."""
        self.links = "file"
        """What opens a place that is clicked on: the setting `links`."""

    @cached_property
    def console(self) -> Console:
        """What draws tables and bars, and knows whether it is a terminal and how wide."""
        return self._make()

    @property
    def is_terminal(self) -> bool:
        """Whether lines have a width and places can be clicked on."""
        return self.plain is None and self.console.is_terminal

    def line(self, *parts: str | tuple[str, str], style: str = "") -> None:
        """One line of parts, each with its style. It is not wrapped: terminals do that, a pipe gets it whole."""
        if self.plain is not None:
            self.plain("".join(part if isinstance(part, str) else part[0] for part in parts))
            return
        from rich.text import Text

        self.console.print(Text.assemble(*parts, style=style), soft_wrap=True)


@dataclass
class Session:
    """One run of the command line."""

    db: str | None = None
    as_json: bool = False
    quiet: bool = False
    verbose: int = 0
    no_color: bool = False
    log_level: str | None = None

    def config(self, **settings: Any) -> Config:
        """The configuration from options, environment and file; sets up logging."""
        from outcrop.config import load_config
        from outcrop.serve.logs import write_logs

        config = load_config({"db": self.db, "log_level": self.log_level, **settings})
        write_logs(config.log_level if self._logs(config) else None)
        self.out.links = config.links
        return config

    def _logs(self, config: Config) -> bool:
        return self.log_level is not None or config.log_level != "warning"  # which is the default

    def open(self, *, create: bool = True, **settings: Any) -> Engine:
        """The index, created where there is none. Says what people should know about it, unless a log does."""
        from outcrop.engine import Engine

        engine = Engine(self.config(**settings), create=create)
        if engine.said and not self._logs(engine.config):
            click.echo(clean_line(engine.said), err=True)
        return engine

    def open_existing(self, **settings: Any) -> Engine:
        """The index for a command that only reads: it must be there, so that a mistyped --db makes no file."""
        return self.open(create=False, **settings)

    @cached_property
    def out(self) -> Screen:
        """Where people read results."""
        return Screen(partial(_console, self.no_color, stderr=False), plain=_plain(sys.stdout))

    @cached_property
    def err(self) -> Screen:
        """Where people read progress and remarks."""
        make = partial(_console, self.no_color, stderr=True, quiet=self.quiet)
        return Screen(make, plain=None if self.quiet else _plain(sys.stderr))

    def confirm(self, question: str, declined: str, about: Sequence[str] = ()) -> None:
        """Ask about what was listed; a no exits with 1. Where nobody can answer, --yes is needed."""
        if self.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError(f"{question} Say --yes; there is nobody to ask.")
        for line in about:
            click.echo(clean(line), err=True)
        if not click.confirm(question, err=True):
            click.echo(declined, err=True)
            click.get_current_context().exit(1)

    def show(self, value: T, draw: Callable[[Screen, T], None]) -> None:
        """A result: the one JSON document of a `--json` run, or as people read it."""
        if self.as_json:
            self.print_json(value)
        else:
            draw(self.out, value)

    def tell(self, value: object, line: str) -> None:
        """A result that is one line, or a text, to people."""
        if self.as_json:
            self.print_json(value)
        else:
            click.echo(line)

    def print_json(self, value: object, *, line: bool = False) -> None:
        """The one JSON document of a `--json` run, or a `line` of several."""
        click.echo(dump(value, indent=2 if sys.stdout.isatty() and not line else None))


def _plain(stream: TextIO) -> Callable[[str], None] | None:
    from outcrop.config import is_colour_forced

    return None if stream.isatty() or is_colour_forced() else partial(click.echo, err=stream is sys.stderr)


def _console(no_color: bool, *, stderr: bool, quiet: bool = False) -> Console:
    from rich.console import Console

    class QuietPipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the group's handler knows what to do; rich would exit with 1

    # Documents are printed as they are: no markup, no emoji codes, no colours guessed from their text.
    plain = partial(QuietPipe, stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
    console = plain()
    # NO_COLOR alone would leave bold and links.
    return plain(color_system=None) if no_color or console.no_color else console
