"""What the tests of several processes let another process do: `python -m tests.store.child WHAT DB [ARGS]`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import apsw
from tests.store.builders import make_write, put
from tests.store.places import open_at

from outcrop.store import converting
from outcrop.store.exporting import first_batch
from outcrop.store.schema import MIGRATIONS, migrate
from outcrop.store.sqlite import open_sqlite


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
    elif what == "convert":
        die_while_converting(Path(path))
    else:
        die_while_migrating(Path(path), int(rest[0]))
