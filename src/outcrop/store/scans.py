"""Pages that were read by their picture, in a file beside the index: what a page shows is read once.

Derived, and safe to delete: pages are then read again when their file changes or is added with --force, and until then
no words are marked on their pictures.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import apsw

from outcrop.errors import StoreError
from outcrop.records import ScanLine, ScanPage, ScanWord
from outcrop.system.dataclass import dataclass
from outcrop.system.private import create_file, make_folder

SCANS: Final = ".scans"
"""The ending of the file beside the index."""
KEPT_S: Final = 24 * 3600.0
"""A page that no document has is kept for so long: the run that read it may have been killed before it wrote one."""
BUSY_MS: Final = 10_000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages(
    image TEXT, engine TEXT, lines BLOB NOT NULL, masked INTEGER NOT NULL, PRIMARY KEY(image, engine));
CREATE TABLE IF NOT EXISTS uses(
    file TEXT, page INTEGER, engine TEXT, image TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY(file, page, engine));
CREATE INDEX IF NOT EXISTS uses_image ON uses(image, engine);
"""


@dataclass(frozen=True, slots=True)
class ScanStore:
    """The pages that were read, by what they show (`image`) and by the hash of their file."""

    path: Path

    def count_known(self, file: str, pages: Collection[int], engine: str) -> int:
        """How many of these pages of a file were read before."""
        if not self.path.is_file():
            return 0
        with self._open() as db:
            rows = db.execute("SELECT page FROM uses WHERE file = ? AND engine = ?", (file, engine))
            return len({page for (page,) in rows} & set(pages))

    def find_page(self, file: str, page: int, engine: str | None = None) -> ScanPage | None:
        """A page of a file as this engine read it, or as any did last."""
        if not self.path.is_file():
            return None
        with self._open() as db:
            rows = db.execute(
                "SELECT lines, masked FROM uses JOIN pages USING (image, engine) "
                "WHERE file = ? AND page = ? AND coalesce(engine = ?, 1) ORDER BY at DESC LIMIT 1",
                (file, page, engine),
            )
            return next((_unpack(lines, masked) for lines, masked in rows), None)

    def find_image(self, image: str, engine: str) -> ScanPage | None:
        """A page that shows the same, of whatever file."""
        if not self.path.is_file():
            return None
        with self._open() as db:
            rows = db.execute("SELECT lines, masked FROM pages WHERE image = ? AND engine = ?", (image, engine))
            return next((_unpack(lines, masked) for lines, masked in rows), None)

    def put(self, file: str, number: int, image: str, engine: str, page: ScanPage) -> None:
        """Keep a page that was read; when this returns a kill does not lose it."""
        packed = zlib.compress(json.dumps([(line.starts_block, line.words) for line in page.lines]).encode())
        with self._open(make=True) as db, db:
            db.execute(
                "INSERT OR REPLACE INTO pages(image, engine, lines, masked) VALUES (?, ?, ?, ?)",
                (image, engine, packed, page.masked),
            )
            db.execute(
                "INSERT OR REPLACE INTO uses(file, page, engine, image, at) VALUES (?, ?, ?, ?, ?)",
                (file, number, engine, image, time.time()),
            )

    def tidy(self, find_kept: Callable[[], Collection[str]], after_s: float = KEPT_S) -> int:
        """Drop the pages of files that no document has any more; how many."""
        if not self.path.is_file():
            return 0
        kept = find_kept()
        with self._open() as db, db:
            files = db.execute("SELECT DISTINCT file FROM uses WHERE at < ?", (time.time() - after_s,))
            gone = [(file,) for (file,) in files if file not in kept]
            if gone:
                db.executemany("DELETE FROM uses WHERE file = ?", gone)
                db.execute(
                    "DELETE FROM pages WHERE NOT EXISTS (SELECT 1 FROM uses "
                    "WHERE uses.image = pages.image AND uses.engine = pages.engine)"
                )
        return len(gone)

    @contextmanager
    def _open(self, *, make: bool = False) -> Iterator[apsw.Connection]:
        try:
            if make:
                make_folder(self.path.parent)
                create_file(self.path)
            with closing(apsw.Connection(str(self.path))) as db:
                db.set_busy_timeout(BUSY_MS)
                db.execute("PRAGMA secure_delete = ON")
                db.execute(_SCHEMA)
                yield db
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: {error}; if it is damaged, delete it: pages are read again"
            ) from error


def _unpack(packed: bytes, masked: int) -> ScanPage:
    lines = json.loads(zlib.decompress(packed))
    return ScanPage(
        tuple(ScanLine(tuple(ScanWord(*word) for word in words), bool(starts)) for starts, words in lines),
        masked,
    )
