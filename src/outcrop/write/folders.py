"""Folders that were added, and how they are kept in step with their documents."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from outcrop.contracts import Store
from outcrop.errors import SourceError
from outcrop.records import DEFAULT_COLLECTION, Failure, IngestReport
from outcrop.write.ingest import Ingestor
from outcrop.write.run import PLAIN, WriteOptions


def collection_of(store: Store, path: Path, given: str | None) -> str:
    """The collection a folder goes to: the one given, the one it is in already, else its own name."""
    real = path.resolve()
    known = [name for name, root in store.roots() if root == str(real)]
    own_name = real.name if real.is_dir() else ""
    return given or (known[0] if known else own_name) or DEFAULT_COLLECTION


def tags_of(store: Store, collection: str, root: Path, given: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The tags every document of a root carries: those given, else those it was last given; and whether they are new.

    They are remembered with the index, so that a later sync gives them to files that were added or edited since.
    """
    place = str(root.resolve())
    remembered = store.folder(collection, place).tags
    if not given or tuple(given) == remembered:
        return remembered, False
    store.put_folder(collection, place, tags=given)
    return tuple(given), True


def sync_root(
    store: Store,
    ingestor: Ingestor,
    collection: str,
    root: Path,
    options: WriteOptions = PLAIN,
) -> IngestReport:
    """Bring one root up to date. One that cannot be reached keeps its documents and is a line in the report."""
    tags, _ = tags_of(store, collection, root, ())
    try:
        return ingestor.sync(root, collection, tags, options)
    except SourceError as error:
        if not root.exists() and root.parent.is_dir():
            states = store.states(collection, str(root))
            lost = [state.document_id for uri, state in states.items() if uri == str(root)]
            if lost:  # a file that was added by itself and is gone from a folder that is still there
                return IngestReport(removed=store.delete(lost))
        # An unplugged disk must not empty the index: what came from there stays until it is removed by name.
        return IngestReport(failed=(Failure(str(root), f"{error}; its documents are kept"),))


def watch_roots(
    store: Store, ingestor: Ingestor, roots: Sequence[Path], collection: str | None, stop: threading.Event
) -> Iterator[IngestReport]:
    """Sync folders once the watch is on, then after every change; a report each time."""
    from outcrop.sources.watch import watch

    started = False
    for changed in watch(roots, stop):
        reports = []
        for root in roots:
            mine = [path for path in changed if path.is_relative_to(root) and not ingestor.is_own(str(path))]
            if not mine and started:
                continue
            name = collection_of(store, root, collection)
            tags, _ = tags_of(store, name, root, ())
            quick = ingestor.sync_known(mine, root, name, tags=tags) if started else None
            reports.append(quick or sync_root(store, ingestor, name, root))
        if reports:
            started = True
            yield sum(reports, IngestReport())
