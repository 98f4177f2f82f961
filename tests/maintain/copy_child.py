"""A process that moves an index, one document at a time and each when it is told to, until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

from outcrop.contracts import Store
from outcrop.maintain import copy
from outcrop.records import Progress
from outcrop.records.database_url import DatabaseUrl, has_scheme
from outcrop.store.opening import open_store
from outcrop.store.postgres.in_place.derive import SearchDeriver
from outcrop.text.terms import Terms


def open_place(place: str) -> Store:
    """The store at a path or a URL."""
    db = DatabaseUrl.parse(place) if has_scheme(place) else Path(place)
    return open_store(db, lambda: SearchDeriver(Terms(), 0.5))


def main(source: str, target: str) -> None:
    """Move, saying so at each step. The next one waits for a line: a parent that is late finds it where it was."""
    copy.BATCH_DOCUMENTS = 1  # type: ignore[misc]  # so that there are many places to be killed at

    def tell(progress: Progress) -> None:
        print(progress.phase, progress.done, flush=True)
        sys.stdin.readline()

    here, there = open_place(source), open_place(target)
    report = copy.move(here, there, progress=tell)
    here.close()
    there.close()
    sys.exit(not report.ok)


if __name__ == "__main__":
    main(*sys.argv[1:])
