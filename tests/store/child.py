"""What the tests of several processes let another process do: `python -m tests.store.child WHAT DB [ARGS]`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import psycopg
from tests.store.builders import make_write, put
from tests.store.places import open_at

from outcrop.records.database_url import DatabaseUrl
from outcrop.store.exporting import first_batch
from outcrop.store.sqlite import converting
from outcrop.store.sqlite.schema import MIGRATIONS, migrate
from outcrop.store.sqlite.store import open_sqlite


def write_many(place: str, name: str, count: int) -> None:
    """Write documents one by one, saying so after each."""
    store = open_at(place)
    for i in range(count):
        text = "\n\n".join(f"{name} {i} part {part} {'word ' * 40}" for part in range(12))
        put(store, make_write(f"{name}-{i % 20}.md", text))
        print(i, flush=True)
    store.close()


def read_during_a_write(db: Path) -> None:
    """Say what another process sees: documents and version."""
    store = open_sqlite(db, busy_timeout_s=0.1)
    print(store.stats().documents, store.version(), flush=True)
    store.close()


def die_while_migrating(db: Path, version: int) -> None:
    """Be killed in the middle of the migration that follows this version."""

    def unfinished(connection: apsw.Connection) -> None:
        if version < len(MIGRATIONS):
            MIGRATIONS[version](connection)
        connection.execute("ALTER TABLE documents ADD COLUMN colour TEXT")
        connection.execute("DELETE FROM chunks")
        os.kill(os.getpid(), signal.SIGKILL)

    migrate(apsw.Connection(str(db)), [*MIGRATIONS[:version], unfinished])


def be_killed_while_opening(db: Path, folder: Path) -> None:
    """Open copies of an old database, each in a fork that is killed at another statement of the migration."""
    whole = folder / "whole.db"
    shutil.copy(db, whole)
    seen = _follow_migration(0)
    open_sqlite(whole).close()
    whole.unlink()
    apsw.connection_hooks.clear()
    last = len(seen)
    for point in sorted({1, 2, *(last * part // 8 for part in range(1, 8)), last}):
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

    def note(_: object, statement: str, __: object) -> bool:
        if statement.startswith("BEGIN IMMEDIATE") or (seen and seen[-1] != "COMMIT"):
            seen.append(statement)
            if len(seen) == point:
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", note))
    return seen


def be_killed_on_postgres(url: str, version: int, point: str) -> None:
    """Be killed in the transaction of the next migration: before it, in it, or after it."""
    from outcrop.store.postgres import schema as tables

    address = DatabaseUrl.parse(url)

    def killed(connection: Any) -> None:
        if point == "begun":
            os.kill(os.getpid(), signal.SIGKILL)
        for step in tables.MIGRATIONS[version:]:
            step(connection)
        connection.execute("ALTER TABLE documents ADD COLUMN colour text")
        if point == "changed":
            os.kill(os.getpid(), signal.SIGKILL)
        connection.execute("DELETE FROM chunks")
        os.kill(os.getpid(), signal.SIGKILL)

    options = f"-c search_path={address.schema},public"
    with psycopg.connect(address.uri(), autocommit=True, options=options) as connection:
        tables.migrate(connection, address.schema, (*tables.MIGRATIONS[:version], killed))


def die_while_converting(db: Path) -> None:
    """Be killed after the first document of a database of version 3 was converted, while the second is."""
    done = False

    def one_document(sizes: Iterable[tuple[int, int, int]]) -> list[int]:
        nonlocal done
        if done:
            os.kill(os.getpid(), signal.SIGKILL)
        done = True
        return first_batch(sizes)[:1]

    converting.first_batch = one_document  # type: ignore[attr-defined]  # where it is used
    open_sqlite(db)


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    if what == "write":
        write_many(path, rest[0], int(rest[1]))
    elif what == "read":
        read_during_a_write(Path(path))
    elif what == "migrate-killed":
        be_killed_while_opening(Path(path), Path(rest[0]))
    elif what == "migrate-postgres":
        be_killed_on_postgres(path, int(rest[0]), rest[1])
    elif what == "convert":
        die_while_converting(Path(path))
    else:
        die_while_migrating(Path(path), int(rest[0]))
