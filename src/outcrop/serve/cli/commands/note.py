"""note: the notes that agents keep with the kb_* tools, from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from outcrop.errors import QueryError
from outcrop.serve.cli.commands.documents import read_lines
from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.terminal import clean, clean_line

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.notes import KbFile, KnowledgeBase


@click.command("note")
@click.argument("action", type=click.Choice(["write", "append", "read", "list", "search", "delete"]))
@click.argument("words", nargs=-1, metavar="[PATH | PREFIX | QUERY] [TEXT]...")
@click.option("--lines", metavar="A-B", help="read: only these lines.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), help="list: notes at most; search: hits, 5 of at most 10."
)
@click.option("-y", "--yes", is_flag=True, help="delete: do not ask.")
@click.option(
    "--kb",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder of the notes; by default `kb` beside the index.",
)
@common_options
@pass_session
def note_command(
    session: Session,
    action: str,
    words: tuple[str, ...],
    lines: str | None,
    limit: int | None,
    yes: bool,
    kb: Path | None,
) -> None:
    """Write, append to, read, list, search or delete notes.

    \b
    outcrop note write projects/api.md "Tokens live for an hour."
    outcrop note append projects/api.md < more.md
    outcrop note read projects/api.md --lines 1-20
    outcrop note list projects/
    outcrop note search how long do tokens live
    outcrop note delete projects/api.md

    The notes are those of the kb_* tools of agents. Without TEXT, write and append take it from standard input. A
    search shows nothing below a score of 0.3 and exits with 1 when there is no note.
    """
    from outcrop.notes import KnowledgeBase

    _check(action, words, lines)
    writes = action in ("write", "append")
    opened = session.open(kb=kb) if writes else session.open_existing(kb=kb)
    with opened as engine:
        notes = KnowledgeBase(engine, engine.config.kb)
        _ACTIONS[action](session, engine, notes, words, lines=lines, limit=limit, yes=yes)


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


def _write(
    session: Session, engine: Engine, notes: KnowledgeBase, words: tuple[str, ...], **_options: Any
) -> None:
    _written(session, engine, notes.write(words[0], _text(words[1:])), "written")


def _append(
    session: Session, engine: Engine, notes: KnowledgeBase, words: tuple[str, ...], **_options: Any
) -> None:
    _written(session, engine, notes.append(words[0], _text(words[1:])), "appended to")


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


def _written(session: Session, engine: Engine, note: KbFile, done: str) -> None:
    engine.embed_pending()  # no server may be there to do it
    if session.as_json:
        session.print_json(note)
    else:
        click.echo(f"{clean_line(note.path)} {done}: {_count(note)}")


def _count(note: KbFile) -> str:
    return "1 line" if note.lines == 1 else f"{note.lines:,} lines"


def _read(
    session: Session,
    _engine: Engine,
    notes: KnowledgeBase,
    words: tuple[str, ...],
    *,
    lines: str | None,
    **_options: Any,
) -> None:
    first, last = read_lines(lines)
    found = notes.read(words[0], first, last) if lines else notes.read(words[0])
    if session.as_json:
        session.print_json(found)
    else:
        click.echo(clean(found.text), nl=not found.text.endswith("\n"))


def _list(
    session: Session,
    _engine: Engine,
    notes: KnowledgeBase,
    words: tuple[str, ...],
    *,
    limit: int | None,
    **_options: Any,
) -> None:
    found = notes.list(words[0] if words else "", limit or 1000)
    if session.as_json:
        session.print_json(found)
        return
    for note in found:
        click.echo(f"{clean_line(note.path)}  {clean_line(note.title)}  {_count(note)}")
    if not found:
        click.echo("no notes")


def _search(
    session: Session,
    _engine: Engine,
    notes: KnowledgeBase,
    words: tuple[str, ...],
    *,
    limit: int | None,
    **_options: Any,
) -> None:
    answer = notes.search(" ".join(words), limit or 5)
    if session.as_json:
        session.print_json(answer)
    else:
        from outcrop.serve.cli.render import print_answer

        print_answer(session.out, answer, full=False, explain=False, verbose=session.verbose > 0)
    if not answer.hits:
        click.get_current_context().exit(4 if answer.reason == "error" else 1)


def _delete(
    session: Session,
    _engine: Engine,
    notes: KnowledgeBase,
    words: tuple[str, ...],
    *,
    yes: bool,
    **_options: Any,
) -> None:
    note = notes.read(words[0])  # NotFound before anybody is asked
    if not yes:
        question = f"Delete {clean_line(note.path)} for good?"
        if not session.on_terminal or session.as_json:
            raise click.UsageError(f"{question} Say --yes; there is nobody to ask.")
        if not click.confirm(question, err=True):
            click.echo("Nothing was deleted.", err=True)
            click.get_current_context().exit(1)
    notes.delete(note.path)
    if session.as_json:
        session.print_json({"path": note.path})
    else:
        click.echo(f"{clean_line(note.path)} deleted")


_ACTIONS: Final[dict[str, Callable[..., None]]] = {
    "write": _write,
    "append": _append,
    "read": _read,
    "list": _list,
    "search": _search,
    "delete": _delete,
}
