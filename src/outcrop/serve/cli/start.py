"""`outcrop` alone: what is indexed and what to do next, in five lines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outcrop.errors import NotFound
from outcrop.serve.cli.render import say_age
from outcrop.serve.terminal import clean_line, say_count

if TYPE_CHECKING:
    from outcrop.records import CollectionInfo
    from outcrop.serve.cli.session import Session

NAMED: Final = 3
"""Collections named; `outcrop status` lists them all."""


def print_start(session: Session) -> None:
    """Two lines on the index, three on what to do next; with --json the index and its collections."""
    try:
        with session.open_existing() as index:
            collections, db = index.collections(roots=True), str(index.config.db)
    except NotFound:  # the first command in a new place
        collections, db = (), str(session.config().db)
    if session.as_json:
        session.print_json({"db": db, "collections": collections})
        return
    if any(info.documents for info in collections):
        head, steps = _describe(collections), _next_steps(collections)
    else:
        head, steps = _WELCOME, _first_steps()
    for line in head:
        session.out.line(clean_line(line))
    width = max(map(len, steps))
    for typed, about in steps.items():
        session.out.line("  ", (f"{typed:<{width}}", "bold cyan"), (f"   {about}", "dim"))


_WELCOME: Final = (
    "Outcrop finds the right passages of your documents and code, on this machine.",
    "Nothing is indexed yet.",
)
_HELP: Final = {"outcrop --help": "every command"}


def _describe(collections: Sequence[CollectionInfo]) -> tuple[str, str]:
    largest = sorted(collections, key=lambda info: -info.documents)
    named = [f"{info.name} ({info.documents:,})" for info in largest[:NAMED]]
    if len(largest) > NAMED:
        named.append(f"{len(largest) - NAMED} more")
    documents = say_count(sum(info.documents for info in collections), "document")
    age = say_age(max(info.updated_at for info in collections))
    return f"{documents} indexed: {', '.join(named)}.", f"Last change {age}."


def _first_steps() -> dict[str, str]:
    here = _find_here()
    return {
        "outcrop add ." if here else "outcrop add FOLDER": "index it; nothing leaves this machine",
        "outcrop search QUESTION": "then ask, in your own words",
        **_HELP,
    }


def _next_steps(collections: Sequence[CollectionInfo]) -> dict[str, str]:
    here = _find_here()
    roots = [root for info in collections for root in info.roots]
    if here and not any(here.is_relative_to(root) for root in roots):
        second = {"outcrop add .": "index this folder too"}
    elif find_spec("uvicorn"):
        second = {"outcrop serve --open": "ask in the browser"}
    else:
        second = {"outcrop sync": "bring it up to date"}
    return {"outcrop search QUESTION": "ask, in your own words", **second, **_HELP}


def _find_here() -> Path | None:
    """The current folder, unless it was removed or is the home folder, which hardly anybody wants indexed whole."""
    try:
        here = Path.cwd()
    except OSError:
        return None
    return here if here != Path.home() else None
