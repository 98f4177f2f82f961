"""Segments on disk: one file a segment, and a manifest that says which of them make up the index.

The manifest is replaced in one step after the segments it names are written, so a reader finds the old state or the
new one. A process that saves holds a lock on the folder; when another one holds it, saving is left to that one.
Nothing here is the truth: files that are missing or damaged cost a rebuild, never data.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from outcrop.index.packed import damaged_arrays, load_segment, save_segment
from outcrop.index.segment import Segment
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.system.disk import FILE, LOCK, remove_unused, replace_file, wait_for_lock
from outcrop.system.private import make_folder, open_new

log = logging.getLogger(__name__)

FORMAT: Final = 11
"""Raise when the arrays change their meaning: older files are then made again."""

LOCK_POLL_S: Final = 0.02
"""A save takes tenths of a second; asking more often only costs."""

CHECKED_IN_USE: Final = frozenset({"rows", "frequencies", "pairs", "vectors", "summary_vectors"})
"""Arrays of which a search reads a part: four fifths of all bytes, checked block by block when they are used. All
others are checked when a file is mapped."""

TELL: Final = {"tell": True}
"""Marks a log record that a person is told even where no logs are asked for: it stands in no report."""
_DAMAGE: Final = (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError)


@dataclass(frozen=True, slots=True)
class Hole:
    """A segment whose file is damaged: the chunks from one to another are to be made again from the store."""

    first_chunk: int
    last_chunk: int


@dataclass(frozen=True, slots=True)
class Saved:
    """What a manifest tells: whose arrays these are, how far they follow the store, and the segments."""

    store: str
    model: str
    path_weight: float
    version: int
    last_chunk: int
    removals: int
    segments: tuple[Segment | Hole, ...]
    deleted: tuple[NDArray[np.bool_], ...]


class SegmentFiles:
    """The folder beside a database that holds its search arrays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._manifest = folder / "manifest.json"

    def save(self, saved: Saved, *, wait_s: float = 0.0) -> bool:
        """Write the segments that are not on disk yet, then the manifest; False if that could not be done. While
        another process is saving, this waits up to `wait_s` for it."""
        try:
            make_folder(self._folder)
            with self._lock(wait_s) as held:
                if not held:
                    return False
                pairs = zip(saved.segments, saved.deleted, strict=True)
                entries = [
                    self._write(segment, deleted) for segment, deleted in pairs if isinstance(segment, Segment)
                ]
                self._write_manifest(saved, entries)
                self._remove_others({entry["name"] for entry in entries})
        except OSError as error:
            log.warning("search arrays could not be saved, the next process will make them again: %s", error)
            return False
        return True

    def load(self, held: Sequence[Segment] = ()) -> Saved | None:
        """What was saved, mapped into memory; None when there is nothing or it is not whole. Segments that are `held`
        already are not mapped again."""
        known = {segment.file: segment for segment in held if segment.file is not None}
        for _ in range(3):  # a saver may replace the manifest and its segments between two reads of ours
            try:
                return self._read(json.loads(self._manifest.read_text("utf-8")), known)
            except FileNotFoundError:
                if not self._manifest.exists():
                    return None
            except _DAMAGE as error:
                log.warning("search arrays were damaged; rebuilt from the index: %s", error, extra=TELL)
                return None
        return None

    def stamp(self) -> tuple[int, int] | None:
        """Changes whenever somebody saved; None while nobody has."""
        try:
            status = self._manifest.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def check(self) -> Iterator[str]:
        """Problems of the saved files, in words."""
        if not self._manifest.is_file():
            return
        try:
            for entry in json.loads(self._manifest.read_text("utf-8"))["segments"]:
                for name in damaged_arrays(self._folder / entry["name"]):
                    yield f"search arrays: {entry['name']}/{name} is damaged"
        except _DAMAGE as error:
            yield f"search arrays: the manifest cannot be read ({error})"

    def bytes_on_disk(self) -> int:
        """Size of all files in the folder."""
        total = 0
        for path in self._folder.rglob("*"):
            with suppress(FileNotFoundError):  # another process may be tidying up
                total += path.stat().st_size if path.is_file() else 0
        return total

    def _read(self, manifest: dict[str, Any], known: Mapping[Path, Segment]) -> Saved | None:
        if manifest["format"] != FORMAT:
            return None
        if manifest["checksum"] != _checksum(manifest):
            raise ValueError("the manifest is not what was saved")
        segments: list[Segment | Hole] = []
        deleted = []
        for entry in manifest["segments"]:
            file = self._folder / entry["name"]
            segment = known.get(file) or self._load(file, entry)
            gone = np.zeros(len(segment) if isinstance(segment, Segment) else 0, np.bool_)
            if isinstance(segment, Segment):
                gone[entry["deleted"]] = True
            segments.append(segment)
            deleted.append(gone)
        facts = {name: manifest[name] for name in _FACTS}
        return Saved(**facts, segments=tuple(segments), deleted=tuple(deleted))

    def _load(self, file: Path, entry: dict[str, Any]) -> Segment | Hole:
        try:
            segment = load_segment(file, entry["rows"])
            for name, array in (segment.watched or {}).items():
                if name not in CHECKED_IN_USE and not array.is_whole():
                    raise ValueError(f"{file.name}/{name} is not what was saved")
        except FileNotFoundError:
            raise
        except _DAMAGE as error:
            log.warning("search arrays were damaged; rebuilt that part: %s", error, extra=TELL)
            return Hole(entry["first"], entry["last"])
        return segment

    def _write_manifest(self, saved: Saved, entries: list[dict[str, Any]]) -> None:
        facts = {name: getattr(saved, name) for name in _FACTS}
        temporary = self._folder / f"manifest-{os.urandom(16).hex()}.tmp"
        manifest = {"format": FORMAT, **facts, "segments": entries}
        with open_new(temporary, like_folder=True) as file:
            file.write(json.dumps({**manifest, "checksum": _checksum(manifest)}).encode())
        replace_file(temporary, self._manifest)

    def _write(self, segment: Segment, deleted: NDArray[np.bool_]) -> dict[str, Any]:
        file = segment.file
        if file is None or not file.is_file():
            # New, or another process has removed it since: the mapping still holds all of it.
            file = self._folder / f"segment-{os.urandom(16).hex()}"
            staging = file.with_name(f"{file.name}.tmp")
            save_segment(segment, staging)
            replace_file(staging, file)
        ends = (int(segment.chunk_ids[0]), int(segment.chunk_ids[-1])) if len(segment) else (1, 0)
        gone = np.flatnonzero(deleted).tolist()
        return {"name": file.name, "rows": len(segment), "first": ends[0], "last": ends[1], "deleted": gone}

    def _remove_others(self, keep: set[str]) -> None:
        """Segments no manifest names. Another process may still have them mapped: on POSIX they go all the same."""
        for path in self._folder.iterdir():
            if path.name not in keep and path.name not in (self._manifest.name, "lock"):
                remove_unused(path)

    @contextmanager
    def _lock(self, wait_s: float) -> Iterator[bool]:
        handle = os.open(self._folder / "lock", LOCK, FILE)
        try:
            yield wait_for_lock(handle, wait_s, LOCK_POLL_S)
        finally:
            os.close(handle)


def _checksum(manifest: dict[str, Any]) -> int:
    """One flipped digit (of `last_chunk`, say) would make searches miss chunks without a word."""
    rest = {name: value for name, value in manifest.items() if name != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


_FACTS: Final = ("store", "model", "path_weight", "version", "last_chunk", "removals")
