"""Who may read an index: the permissions of its files, and the roles of a database.

An index that other users can read, because it was copied, restored from a backup or shared before, is closed when it is
opened. Folders are touched only where Outcrop made them: the arrays and eval runs beside the index, the default data
folder and what is in it. A project that merely contains an index, or a folder of notes that a person chose, keeps its
mode.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from outcrop.config import Config, find_own_folders
from outcrop.contracts import HasRoles, Store
from outcrop.errors import ConfigError
from outcrop.system.private import close_to_others, is_open

log = logging.getLogger(__name__)

FILES: Final = ("", "-wal", "-shm", "-journal", ".jobs.json", ".jobs.json.lock", ".jobs.json.tmp", ".scans")
"""Endings of the files that lie beside an index."""
FOLDERS: Final = (".arrays", ".evals", ".trigrams")
CONTROL: Final = ".outcrop"
"""The folder that Outcrop makes inside a folder of notes; where others can enter it, they can read the notes too."""
NOTES: Final = (".md", ".markdown", ".txt")


def close_index(config: Config) -> str:
    """Let nobody but its owner read an index and the files beside it. The warning that was given; empty where nothing
    had to be done, or the index is meant to be shared."""
    if config.shared:
        return ""
    closed = close_to_others(_parts(config))
    if not closed:
        return ""
    said = (
        f"other users of this machine could read {_name(closed)}; now only you can. To share them, set shared = true"
        " and give them the permissions you want"
    )
    log.warning("%s", said, extra={"count": len(closed)})
    return said


def _parts(config: Config) -> Iterator[Path]:
    own = find_own_folders(config)
    yield from own
    for ending in FILES:
        yield config.beside(ending)
    yield config.folder / "eval-cases.jsonl"
    for ending in FOLDERS:
        yield from _whole(config.beside(ending))
    yield from _notes(config, own)


def _whole(folder: Path) -> Iterator[Path]:
    """A folder and everything in it, if others may enter it; otherwise they cannot reach what is inside. The folder
    itself comes last, so that the next run finishes what a killed one left."""
    if not is_open(folder):
        return
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
    yield folder


def _notes(config: Config, own: list[Path]) -> Iterator[Path]:
    """The notes at their default place, once."""
    if config.kb != config.folder / "kb":
        return  # the user's own folder
    if own:
        yield from _whole(config.kb)
    elif is_open(config.kb / CONTROL):
        for place, folders, files in os.walk(config.kb):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in files:
                if name.lower().endswith(NOTES):
                    yield Path(place, name)
        yield from _whole(config.kb / CONTROL)


def _name(closed: list[Path]) -> str:
    """A few paths by name, the rest counted."""
    first = ", ".join(str(path) for path in closed[:3])
    return first if len(closed) <= 3 else f"{first} and {len(closed) - 3} more files"


def roles_of(store: Store) -> HasRoles:
    """The store, if it has roles; otherwise ConfigError."""
    if not isinstance(store, HasRoles):
        raise ConfigError(
            "roles are those of a Postgres database; who may read an index in a file is a matter of the file's"
            " permissions"
        )
    return store
