"""What the tests let another process do: `python -m tests.notes.kb_child WHAT DB ROOT [ARGS]`."""

from __future__ import annotations

import sys
from pathlib import Path

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.notes import KnowledgeBase


def append_many(kb: KnowledgeBase, name: str, count: int) -> None:
    """Append lines to one note that others append to as well."""
    for i in range(count):
        kb.append("shared.md", f"- line {name} {i}")


def write_for_ever(kb: KnowledgeBase) -> None:
    """Write notes, saying so after each, until killed."""
    number = 0
    while True:
        kb.write(f"n{number % 40}.md", f"# Note {number}\n\nThe mark{number}x stands in version {number}.\n")
        print(number, flush=True)
        number += 1


def main() -> None:
    what, db, root, *rest = sys.argv[1:]
    with Engine(load_config({"db": db}, environ={})) as engine:
        kb = KnowledgeBase(engine, Path(root))
        if what == "append":
            append_many(kb, rest[0], int(rest[1]))
        else:
            write_for_ever(kb)


if __name__ == "__main__":
    main()
