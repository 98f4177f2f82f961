"""The command line: the group, its commands by name, and what an error looks like.

Nothing heavy is imported here: a command's module is loaded when that command runs, the engine when it opens an index.
A command returns its exit code, or nothing where it is done.

Exit codes: 0 done; 1 no hits, a failed check, or (add, sync) nothing indexed because all failed; 2 wrong usage;
3 no such document, collection or index; 4 any other error; 5 an extra is not installed; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

import outcrop
from outcrop.errors import Cancelled, ConfigError, NotFound, OutcropError, QueryError
from outcrop.serve.cli.help import GroupedHelp
from outcrop.serve.cli.options import COMMON
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean
from outcrop.system.machine import compute_on_one_core

GC_OBJECTS: Final = 50_000
"""New objects until Python looks for garbage. What a command imports is none, and most commands end before there is
any: looking every 700 objects takes 8 ms of a search."""
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 3
EXIT_ERROR: Final = 4
EXIT_MISSING_EXTRA: Final = 5
EXIT_INTERRUPTED: Final = 130

EXIT_CODES: Final[dict[type[OutcropError], int]] = {
    ConfigError: EXIT_USAGE,
    QueryError: EXIT_USAGE,
    NotFound: EXIT_NOT_FOUND,
    Cancelled: EXIT_INTERRUPTED,
}

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    # name: the module it lives in, and its one line of help (shown without loading the module; a test compares)
    "add": ("ingest", "Add folders, files, URLs or text to the index."),
    "sync": ("ingest", "Bring folders up to date with what is on disk."),
    "watch": ("ingest", "Keep folders fresh while their files change."),
    "search": ("find", "Find the passages that answer a query."),
    "ui": ("ui", "Search as you type, with a preview."),
    "grep": ("grep", "Print the lines of indexed files that match a pattern, as ripgrep does."),
    "context": ("find", "Pack the best passages into one text for a prompt."),
    "chat": ("chat", "Ask a model about your documents, with sources."),
    "related": ("code", "Show the callers, callees, tests and docs of a piece of code."),
    "map": ("code", "Outline the most central code, within a token budget."),
    "history": ("history", "Find commits that answer a question, or that wrote some lines."),
    "impact": ("history", "Show what depends on a change: callers, tests and documents."),
    "ls": ("documents", "List documents, or collections."),
    "show": ("documents", "Print a document, or its details."),
    "rm": ("documents", "Remove documents from the index."),
    "note": ("note", "Write, append to, read, list, search or delete notes, and keep them true over time."),
    "status": ("health", "Show what the index holds."),
    "doctor": ("health", "Check that the index and this machine are in order."),
    "reembed": ("health", "Give every chunk a vector of the model in use."),
    "grant": ("health", "Let a database role read the index, or some collections of it."),
    "move": ("health", "Copy an index to another store, and verify the copy."),
    "eval": ("evaluate", "Measure search quality on your own questions."),
    "serve": ("serve", "Serve the index over HTTP: the page, the API and agents."),
    "mcp": ("serve", "Serve an agent over standard input and output."),
    "install": ("install", "Connect a coding agent or another client to Outcrop."),
    "instructions": ("install", "Print instructions that teach an agent to search, read and write notes."),
    "completion": ("install", "Print the script that completes commands in your shell."),
}

HEADINGS: Final = {
    # the first command under each
    "add": "Bring documents in",
    "search": "Ask",
    "ls": "Look after the index",
    "serve": "Serve programs and agents",
}

_EPILOG = """\b
Settings: OUTCROP_* variables, or config.toml in your configuration folder
(OUTCROP_CONFIG names another file). Exit codes: 0 done, 1 no hits or a failed
check, 2 wrong usage, 3 not found, 4 any other error, 5 an extra is not
installed, 130 interrupted."""


class LazyGroup(GroupedHelp, click.Group):
    """A group whose commands are loaded when they are called, and the outermost handler of errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click hands it over
        """In the order of the table, which is the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click hands it over
        """Load a command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"outcrop.serve.cli.commands.{COMMANDS[cmd_name][0]}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)  # noqa: S101 - a slip in the table above
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name when there is no such command."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib  # only for a suggestion

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command '{clean(name)}'. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click hands it over
        """The commands under their headings, without loading them."""
        width = max(map(len, COMMANDS))
        groups: list[tuple[str, list[tuple[str, str]]]] = []
        for name, (_, line) in COMMANDS.items():
            if name in HEADINGS:
                groups.append((HEADINGS[name], []))
            groups[-1][1].append((name.ljust(width), line))
        for heading, lines in groups:
            with formatter.section(heading):
                formatter.write_dl(lines)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands come first: they are what one looks for."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. A closed pipe (`outcrop ls | head`) is not an error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_stdout()
            return 0
        return result

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run; report an error in one line and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        before = given[: given.index("--")] if "--" in given else given
        as_json = "--json" in before
        verbose = "-vv" in before or before.count("-v") + before.count("--verbose") > 1
        _replace_what_cannot_be_encoded()
        extra["standalone_mode"] = False
        try:
            code = super().main(given, prog_name, **extra)
        except click.ClickException as error:
            code = error.exit_code
            if as_json:
                _say_json("UsageError", error.format_message())
            else:
                error.show()
        except OutcropError as error:
            code = exit_code(error)
            _say_error(error, as_json, verbose=verbose)
        except (click.Abort, KeyboardInterrupt):
            code = EXIT_INTERRUPTED
            if as_json:
                _say_json("Cancelled", "interrupted")
            else:
                click.echo("Interrupted.", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: OutcropError) -> int:
    """What a command exits with for this error."""
    if error.missing_extra:
        return EXIT_MISSING_EXTRA
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), EXIT_ERROR)


def _say_error(error: OutcropError, as_json: bool, *, verbose: bool) -> None:
    if verbose:
        import traceback

        click.echo(clean("".join(traceback.format_exception(error))), err=True, nl=False)
    if as_json:
        _say_json(type(error).__name__, str(error))
    elif not verbose:
        start = "" if isinstance(error, Cancelled) else "Error: "
        click.echo(start + clean(str(error)), err=True)


def _say_json(kind: str, message: str) -> None:
    click.echo(json.dumps({"error": {"type": kind, "message": message}}))


def _drop_stdout() -> None:
    """What is still buffered would fail again when Python flushes it at exit."""
    with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _replace_what_cannot_be_encoded() -> None:
    """A file name or a terminal with an old encoding must not end a command. What goes into a pipe on Windows is UTF-8
    and not the code page, in which most of it cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            piped = sys.platform == "win32" and not stream.isatty()
            stream.reconfigure(encoding="utf-8" if piped else None, errors="replace")


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    outcrop.__version__, "-V", "--version", prog_name="outcrop", message="%(prog)s %(version)s"
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Outcrop finds the right passages of your documents, on your own machine, with exact sources."""
    if ctx.invoked_subcommand is None:
        from outcrop.serve.cli.start import print_start

        print_start(ctx.ensure_object(Session))


cli.params += COMMON
cli.examples = ("outcrop add ~/notes", "outcrop search how are retries configured")


def main() -> NoReturn:
    """The `outcrop` command."""
    gc.set_threshold(GC_OBJECTS)
    compute_on_one_core()
    try:
        cli.main(prog_name="outcrop")
    finally:
        gc.freeze()  # else Python looks through everything once more as it ends: a twentieth of a search
