"""The operations of the model check on a real index (see proofs/model_check/state.py)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.maintain.reembed_child import Letters

import outcrop.index.arrays
import outcrop.write.add
import outcrop.write.commit
from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.embed.models import open_embedder
from outcrop.engine import Engine
from outcrop.errors import Conflict, NotFound
from outcrop.notes import KnowledgeBase
from outcrop.records import Filter, Text
from proofs.model_check.state import (
    FIRST_MTIME_NS,
    KINDS,
    NOTES,
    TEXTS,
    Op,
    Where,
    content,
    tag_of,
    where_of,
)

SMALL: Final = (
    (outcrop.write.commit, "BATCH_CHUNKS", 6),
    (outcrop.write.add, "SAVE_EVERY_CHUNKS", 12),
    (outcrop.index.arrays, "SAVE_AFTER_ROWS", 24),
    (outcrop.index.arrays, "SEGMENT_ROWS", 64),
    (outcrop.index.arrays, "FEED_ROWS", 16),
)
"""Sizes so small that forty documents go through all that a million do: several transactions a call, arrays saved,
merged and taken over."""

_MIN_WATCH_S: Final = 60.0
"""How long a watch may take to tell of a change on a loaded machine (not measured)."""


@contextmanager
def small_sizes() -> Iterator[None]:
    """Make everything small inside."""
    before = [getattr(module, name) for module, name, _ in SMALL]
    for module, name, size in SMALL:
        setattr(module, name, size)
    try:
        yield
    finally:
        for (module, name, _), size in zip(SMALL, before, strict=True):
            setattr(module, name, size)


def make_embedder(name: str) -> Embedder:
    """A model by its name: the one that ships, or one that counts letters."""
    if name == "static":
        return open_embedder("static", url="", key="", query_prefix="")
    return Letters(name, {"letters": 26, "few": 13}[name])


@dataclass(slots=True)
class Place:
    """An index that is open: where its files lie, and who writes to it."""

    home: Path
    engine: Engine
    notes: KnowledgeBase

    def close(self) -> None:
        """Close the index."""
        self.engine.close()


def open_place(home: Path, db: str, embedder: Embedder) -> Place:
    """The index at a path or a URL, whose folders lie in `home`."""
    engine = Engine(load_config({"db": db, "data_dir": home}, environ={}), embedder=embedder)
    return Place(home, engine, KnowledgeBase(engine, home / NOTES))


def filter_of(where: Where) -> Filter:
    """The filter that says the same."""
    return Filter(
        collections=where.collections,
        kinds=(KINDS[where.ext],) if where.ext else (),
        paths=(where.path,) if where.path else (),
        tags=(where.tag,) if where.tag else (),
        since=FIRST_MTIME_NS / 1e9 + where.since if where.since else None,
    )


def uri_of(home: Path, collection: str, name: str) -> str:
    """The uri of a document."""
    return name if collection == TEXTS else str(home / collection / name)


# ------------------------------------------------------------------ doing


def perform(place: Place, op: Op) -> None:
    """Do an operation to a real index."""
    _DEEDS[op[0]](place, *op[1:])


def _put(place: Place, slot: str, text: str, generation: int) -> None:
    """Replace a file in one step; its time is that of its generation, so that it never depends on the clock."""
    path, temporary = place.home / slot, place.home / "new.tmp"
    temporary.write_text(text, "utf-8")
    stamp = FIRST_MTIME_NS + generation * 1_000_000_000
    os.utime(temporary, ns=(stamp, stamp))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary.replace(path)


def _write(place: Place, slot: str, version: int, generation: int) -> None:
    _put(place, slot, content(version, slot.rpartition(".")[2]), generation)


def _touch(place: Place, slot: str, generation: int) -> None:
    stamp = FIRST_MTIME_NS + generation * 1_000_000_000
    with suppress(FileNotFoundError):
        os.utime(place.home / slot, ns=(stamp, stamp))


def _remove(place: Place, slot: str) -> None:
    (place.home / slot).unlink(missing_ok=True)


def _rename(place: Place, slot: str, to: str) -> None:
    if (place.home / slot).exists():
        (place.home / to).parent.mkdir(parents=True, exist_ok=True)
        (place.home / slot).replace(place.home / to)


def _copy(place: Place, slot: str, to: str, generation: int) -> None:
    if (place.home / slot).exists():
        _put(place, to, (place.home / slot).read_text("utf-8"), generation)


def _sync(place: Place, folder: str) -> None:
    (place.home / folder).mkdir(exist_ok=True)
    place.engine.add(place.home / folder, collection=folder)


def _sync_all(place: Place) -> None:
    place.engine.sync()


def _text(place: Place, slot: str, version: int, defer_embedding: bool) -> None:
    tags = [tag for tag in [tag_of(version)] if tag]
    place.engine.add(
        text=content(version, "txt"), id=slot, collection=TEXTS, tags=tags, defer_embedding=defer_embedding
    )


def _texts(place: Place, versions: list[tuple[str, int]], defer_embedding: bool) -> None:
    texts = [
        Text(content(version, "txt"), slot, tags=tuple(tag for tag in [tag_of(version)] if tag))
        for slot, version in versions
    ]
    place.engine.add_texts(texts, collection=TEXTS, defer_embedding=defer_embedding)


def _delete(place: Place, collection: str, name: str) -> None:
    with suppress(NotFound):
        place.engine.delete(uri_of(place.home, collection, name), collection=collection)


def _delete_where(place: Place, where: dict[str, Any]) -> None:
    with suppress(NotFound):  # of a collection that holds nothing
        place.engine.delete(where=filter_of(where_of(where)))


def _note(place: Place, slot: str, version: int, _: int) -> None:
    place.notes.write(slot.removeprefix("kb/"), content(version, "txt"))


def _note_append(place: Place, slot: str, version: int, _: int) -> None:
    place.notes.append(slot.removeprefix("kb/"), content(version, "txt"))


def _note_move(place: Place, slot: str, to: str) -> None:
    with suppress(NotFound, Conflict):
        place.notes.move(slot.removeprefix("kb/"), to.removeprefix("kb/"))


def _note_delete(place: Place, slot: str) -> None:
    with suppress(NotFound):
        place.notes.delete(slot.removeprefix("kb/"))


def _refresh(place: Place) -> None:
    place.notes.refresh()


def _fill(place: Place) -> None:
    place.engine.embed_pending()


def _reembed(place: Place, _: str) -> None:
    """The engine was opened with the new model."""
    place.engine.reembed()


def _watch(place: Place, folder: str, ops: list[Op]) -> None:
    """Watch a folder, change it, and wait until the index says what the folder says."""
    (place.home / folder).mkdir(exist_ok=True)
    stop = threading.Event()
    limit = threading.Timer(_MIN_WATCH_S, stop.set)
    limit.start()
    try:
        for number, _ in enumerate(place.engine.watch([place.home / folder], collection=folder, stop=stop)):
            if number == 0:
                for op in ops:
                    perform(place, op)
            if _is_in_step(place, folder):
                stop.set()
    finally:
        limit.cancel()


def _is_in_step(place: Place, folder: str) -> bool:
    held = place.engine.documents(Filter(collections=(folder,))) if place.engine.hashes(folder) else []
    here = {str(path) for path in (place.home / folder).rglob("*.*") if path.is_file() and path.stat().st_size}
    return not any(map(place.engine.is_stale, held)) and {document.uri for document in held} == here


_DEEDS: Final[dict[str, Callable[..., None]]] = {
    "write": _write,
    "touch": _touch,
    "remove": _remove,
    "rename": _rename,
    "copy": _copy,
    "sync": _sync,
    "sync all": _sync_all,
    "text": _text,
    "texts": _texts,
    "delete": _delete,
    "delete where": _delete_where,
    "note": _note,
    "note append": _note_append,
    "note move": _note_move,
    "note delete": _note_delete,
    "refresh": _refresh,
    "fill": _fill,
    "reembed": _reembed,
    "watch": _watch,
}
