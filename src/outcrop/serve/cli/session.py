"""The options common to all commands, and the index and terminal they determine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.config import Config
    from outcrop.engine import Engine


@dataclass
class Session:
    """One run of the command line."""

    db: str | None = None
    as_json: bool = False
    verbose: int = 0
    no_color: bool = False
    log_level: str | None = None

    def config(self, **settings: Any) -> Config:
        """The configuration from options, environment and file; sets up logging."""
        from outcrop.config import load_config
        from outcrop.serve.logs import write_logs

        config = load_config({"db": self.db, "log_level": self.log_level, **settings})
        write_logs(config.log_level if self._logs(config) else None)
        return config

    def _logs(self, config: Config) -> bool:
        return self.log_level is not None or config.log_level != "warning"  # which is the default

    def open(self, **settings: Any) -> Engine:
        """The index, created where there is none; closed with the `with` block."""
        from outcrop.engine import Engine

        return self.say(Engine(self.config(**settings)))

    def open_existing(self, **settings: Any) -> Engine:
        """The index for a command that only reads: it must be there, so that a mistyped --db makes no file."""
        return self.say(open_index(self.config(**settings)))

    def say(self, engine: Engine) -> Engine:
        """Report what people should know about the opened index, unless a log does."""
        if engine.said and not self._logs(engine.config):
            from outcrop.serve.terminal import clean_line

            click.echo(clean_line(engine.said), err=True)
        return engine

    @cached_property
    def out(self) -> Console:
        """Where people read results."""
        return _console(self.no_color, stderr=False)

    @cached_property
    def err(self) -> Console:
        """Where people read progress and remarks."""
        return _console(self.no_color, stderr=True)

    @property
    def on_terminal(self) -> bool:
        """Whether there is somebody to answer a prompt."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def print_json(self, value: object) -> None:
        """The one JSON document of a `--json` run."""
        from outcrop.serve.as_json import dump

        click.echo(dump(value, indent=2 if sys.stdout.isatty() else None))

    def print_json_line(self, value: object) -> None:
        """One of several JSON documents, each on its own line."""
        from outcrop.serve.as_json import dump

        click.echo(dump(value))


def open_index(config: Config) -> Engine:
    """The index, which must exist; NotFound says how to create one."""
    from outcrop.engine import Engine

    return Engine(config, create=False)


pass_session = click.make_pass_decorator(Session, ensure=True)
"""Hands the session to a command as its first argument."""


def _console(no_color: bool, *, stderr: bool) -> Console:
    from rich.console import Console

    class QuietPipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the group's handler knows what to do; rich would exit with 1

    # Documents are printed as they are: no markup, no emoji codes, no colours guessed from their text.
    console = QuietPipe(stderr=stderr, highlight=False, markup=False, emoji=False)
    if no_color or console.no_color:  # NO_COLOR alone would leave bold and links
        console = QuietPipe(stderr=stderr, highlight=False, markup=False, emoji=False, color_system=None)
    return console
