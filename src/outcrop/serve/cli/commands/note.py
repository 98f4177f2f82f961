"""note: the notes that agents keep with the kb_* tools, from the command line."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from outcrop.errors import QueryError
from outcrop.serve.cli.commands.documents import read_lines
from outcrop.serve.cli.commands.find import exit_code
from outcrop.serve.cli.options import command, kb_option, many, option
from outcrop.serve.cli.render import print_answer
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean, clean_line, say_count
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.notes import KbFile, KnowledgeBase


ACTIONS: Final = ("write", "append", "read", "list", "search", "delete", "supersede", "check")


@command(
    "note",
    "outcrop note write projects/api.md 'Tokens live for an hour.'",
    "outcrop note append projects/api.md < more.md",
    "outcrop note read projects/api.md --lines 1-20",
    "outcrop note list projects/",
    "outcrop note search how long do tokens live",
    "outcrop note delete projects/api.md",
    "outcrop note write projects/api-2.md 'For a day.' --supersedes projects/api.md",
    "outcrop note supersede projects/api-2.md projects/api.md",
    "outcrop note search how long do tokens live --as-of 2026-01-31",
    "outcrop note check",
)
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("words", nargs=-1, metavar="[PATH | PREFIX | QUERY] [TEXT]...")
@option("--lines", metavar="A-B", help="read: only these lines.")
@option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    help="list: maximum number of notes; search: of hits, 5 by default, 10 at most.",
)
@option("-y", "--yes", is_flag=True, help="delete: do not ask.")
@many(
    "--supersedes",
    metavar="PATH",
    help="write, append: the note replaces this one, which is kept as what was true before.",
)
@option("--as-of", metavar="DATE", help="search: only what was valid then.")
@kb_option("The folder of the notes; by default `kb` beside the index.")
def note_command(
    session: Session,
    action: str,
    words: tuple[str, ...],
    lines: str | None,
    limit: int | None,
    yes: bool,
    supersedes: tuple[str, ...],
    as_of: str | None,
    kb: Path | None,
) -> int:
    """Write, append to, read, list, search or delete notes, and keep them true over time.

    These are the notes that agents keep with the kb_* tools. Without TEXT, write and append read standard input. A
    search shows nothing below a score of 0.3 and exits with 1 when it finds no note. supersede NEW OLD... records that
    a note replaces others. check lists valid notes that contradict each other, `supersedes` that lead nowhere or in a
    circle, and impossible dates; it exits with 1 when there are any.
    """
    from outcrop.notes import KnowledgeBase

    _check(action, words, lines)
    _check_time(action, supersedes, as_of)
    writes = action in ("write", "append")
    opened = session.open(kb=kb) if writes else session.open_existing(kb=kb)
    with opened as engine:
        notes = KnowledgeBase(engine, engine.config.kb)
        asked = _Asked(session, engine, notes, words, lines, limit, yes, supersedes, as_of)
        return getattr(asked, action)() or 0


def _check_time(action: str, supersedes: tuple[str, ...], as_of: str | None) -> None:
    if supersedes and action not in ("write", "append"):
        raise click.UsageError(
            "--supersedes is for write and append; outcrop note supersede NEW OLD says it later"
        )
    if as_of is not None and action != "search":
        raise click.UsageError("--as-of is for search only")


def _check(action: str, words: tuple[str, ...], lines: str | None) -> None:
    if action == "supersede" and len(words) < 2:
        raise click.UsageError("which note replaces which? outcrop note supersede NEW OLD...")
    if action == "check" and words:
        raise click.UsageError("check looks at all notes; it takes no PATH")
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
    supersedes: tuple[str, ...]
    as_of: str | None

    def write(self) -> None:
        text = _text(self.words[1:])
        self._written(self.notes.write(self.words[0], text, supersedes=self.supersedes), "written")

    def append(self) -> None:
        text = _text(self.words[1:])
        self._written(self.notes.append(self.words[0], text, supersedes=self.supersedes), "appended to")

    def supersede(self) -> None:
        newer, *older = self.words
        self._written(self.notes.supersede(newer, older), f"replaces {clean_line(', '.join(older))}")

    def _written(self, note: KbFile, done: str) -> None:
        self.engine.embed_pending()  # no server may be there to do it
        told = [f"{clean_line(note.path)} {done}: {say_count(note.lines, 'line')}"]
        for other in note.same_subject:
            told.append(f"on the same subject: {clean_line(f'{other.path}:{other.line} {other.text}')}")
        if note.same_subject:
            from outcrop.workers.process import command_line

            words = [
                "outcrop",
                "note",
                "supersede",
                clean_line(note.path),
                clean_line(note.same_subject[0].path),
            ]
            told.append(f"if it is out of date: {command_line(words)}")
        self.session.tell(note, "\n".join(told))

    def check(self) -> int:
        found = self.notes.check()
        count = say_count(len(found), "problem")
        self.session.tell(
            found, "\n".join([*(clean_line(f"{each.kind}  {each.told}") for each in found), count])
        )
        return 1 if found else 0

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
        answer = self.notes.search(" ".join(self.words), self.limit or 5, as_of=self.as_of)
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
