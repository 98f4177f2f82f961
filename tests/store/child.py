"""What the tests of several processes let another process do: `python -m tests.store.child WHAT DB [ARGS]`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import apsw
from tests.store.builders import make_write, put
from tests.store.example_steps import add_shelf, fill_shelf, registered
from tests.store.places import open_at

from outcrop.store.sqlite.store import open_sqlite


def write_many(place: str, name: str, count: int) -> None:
    """Write documents one by one, saying so after each."""
    store = open_at(place)
    for i in range(count):
        text = "\n\n".join(f"{name} {i} part {part} {'word ' * 40}" for part in range(12))
        put(store, make_write(f"{name}-{i % 20}.md", text))
        print(i, flush=True)
    store.close()


def read_once(db: Path, timeout_s: float) -> None:
    """Say what another process sees: documents and version."""
    store = open_sqlite(db, busy_timeout_s=timeout_s)
    print(store.stats().documents, store.version(), flush=True)
    store.close()


def be_killed_while_opening(db: Path, folder: Path) -> None:
    """With the example steps registered, open copies of a database, each in a fork that is killed at another statement
    of the migration."""
    with registered():
        whole = folder / "whole.db"
        shutil.copy(db, whole)
        seen = _follow_migration(0)
        open_sqlite(whole).close()
        whole.unlink()
        apsw.connection_hooks.clear()
        for point in range(1, len(seen) + 1):
            copy = folder / f"{point:05}.db"
            shutil.copy(db, copy)
            child = os.fork()
            if child == 0:
                _follow_migration(point)
                open_sqlite(copy).close()
                os._exit(0)
            os.waitpid(child, 0)


def _follow_migration(point: int) -> list[str]:
    """The statements of migrations from now on, as they begin; the one with that number is never run: a kill comes."""
    seen: list[str] = []
    inside = False

    def note(_: object, statement: str, __: object) -> bool:
        nonlocal inside
        inside = inside or statement.startswith("BEGIN IMMEDIATE")
        if inside:
            seen.append(statement)
            inside = statement != "COMMIT"
            if len(seen) == point:
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", note))
    return seen


def be_killed_on_postgres(url: str, point: str) -> None:
    """Be killed in the second of the example steps: before it changes anything, or after it did."""
    from outcrop.store.postgres import schema

    def killed(connection: Any) -> None:
        if point == "changed":
            fill_shelf(connection)
        os.kill(os.getpid(), signal.SIGKILL)

    with registered((add_shelf, killed), schema):
        open_at(url)


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    if what == "write":
        write_many(path, rest[0], int(rest[1]))
    elif what == "read":
        read_once(Path(path), float(rest[0]))
    elif what == "migrate-postgres":
        be_killed_on_postgres(path, rest[0])
    else:
        be_killed_while_opening(Path(path), Path(rest[0]))
