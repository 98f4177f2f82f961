"""note: the notes that agents keep with the kb_* tools, from the command line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from outcrop.errors import QueryError
from outcrop.serve.cli.commands.documents import read_lines
from outcrop.serve.cli.commands.find import exit_code
from outcrop.serve.cli.options import command, kb_option, option
from outcrop.serve.cli.render import print_answer
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean, clean_line, say_count

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.notes import KbFile, KnowledgeBase


@command(
    "note",
    "outcrop note write projects/api.md 'Tokens live for an hour.'",
    "outcrop note append projects/api.md < more.md",
    "outcrop note read projects/api.md --lines 1-20",
    "outcrop note list projects/",
    "outcrop note search how long do tokens live",
    "outcrop note delete projects/api.md",
)
@click.argument("action", type=click.Choice(["write", "append", "read", "list", "search", "delete"]))
@click.argument("words", nargs=-1, metavar="[PATH | PREFIX | QUERY] [TEXT]...")
@option("--lines", metavar="A-B", help="read: only these lines.")
@option(
    "-n", "--limit", type=click.IntRange(1, 1000), help="list: notes at most; search: hits, 5 of at most 10."
)
@option("-y", "--yes", is_flag=True, help="delete: do not ask.")
@kb_option("The folder of the notes; by default `kb` beside the index.")
def note_command(
    session: Session,
    action: str,
    words: tuple[str, ...],
    lines: str | None,
    limit: int | None,
    yes: bool,
    kb: Path | None,
) -> int:
    """Write, append to, read, list, search or delete notes.

    The notes are those of the kb_* tools of agents. Without TEXT, write and append take it from standard input. A
    search shows nothing below a score of 0.3 and exits with 1 when there is no note.
    """
    from outcrop.notes import KnowledgeBase

    _check(action, words, lines)
    writes = action in ("write", "append")
    opened = session.open(kb=kb) if writes else session.open_existing(kb=kb)
    with opened as engine:
        asked = _Asked(session, engine, KnowledgeBase(engine, engine.config.kb), words, lines, limit, yes)
        return getattr(asked, action)() or 0


def _check(action: str, words: tuple[str, ...], lines: str | None) -> None:
    if action in ("write", "append", "read", "delete") and not words:
        raise click.UsageError(f"{action} which note? outcrop note {action} PATH")
    if action in ("read", "delete") and len(words) > 1:
        raise click.UsageError(f"{action} takes one PATH; put quotes around one with spaces")
    if action == "list" and len(words) > 1:
        raise click.UsageError("list takes one PREFIX at most")
    if action == "search" and not words:
        raise click.UsageError("search for what? outcrop note search QUERY...")
    if lines is not None and action != "read":
        raise click.UsageError("--lines is for read only")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked of the notes; a method for each action."""

    session: Session
    engine: Engine
    notes: KnowledgeBase
    words: tuple[str, ...]
    lines: str | None
    limit: int | None
    yes: bool

    def write(self) -> None:
        self._written(self.notes.write(self.words[0], _text(self.words[1:])), "written")

    def append(self) -> None:
        self._written(self.notes.append(self.words[0], _text(self.words[1:])), "appended to")

    def _written(self, note: KbFile, done: str) -> None:
        self.engine.embed_pending()  # no server may be there to do it
        self.session.tell(note, f"{clean_line(note.path)} {done}: {say_count(note.lines, 'line')}")

    def read(self) -> None:
        first, last = read_lines(self.lines)
        found = self.notes.read(self.words[0], first, last) if self.lines else self.notes.read(self.words[0])
        self.session.tell(found, clean(found.text).removesuffix("\n"))

    def list(self) -> None:
        found = self.notes.list(self.words[0] if self.words else "", self.limit or 1000)
        rows = [
            f"{clean_line(note.path)}  {clean_line(note.title)}  {say_count(note.lines, 'line')}"
            for note in found
        ]
        self.session.tell(found, "\n".join(rows) or "no notes")

    def search(self) -> int:
        answer = self.notes.search(" ".join(self.words), self.limit or 5)
        self.session.show(answer, partial(print_answer, verbose=self.session.verbose > 0))
        return exit_code(answer.hits, answer.reason)

    def delete(self) -> None:
        note = self.notes.read(self.words[0])  # NotFound before anybody is asked
        path = clean_line(note.path)
        if not self.yes:
            self.session.confirm(f"Delete {path} for good?", "Nothing was deleted.")
        self.notes.delete(note.path)
        self.session.tell({"path": note.path}, f"{path} deleted")


def _text(words: tuple[str, ...]) -> str:
    """The text of a note: what was typed, else standard input."""
    if words and words != ("-",):
        return " ".join(words) + "\n"
    if sys.stdin.isatty():
        click.echo("Type the text, then Ctrl-D.", err=True)
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise QueryError("standard input is not UTF-8; a note is text") from error
    if not text.strip():
        raise QueryError("the note would be empty; give its text after the path, or on standard input")
    return text
