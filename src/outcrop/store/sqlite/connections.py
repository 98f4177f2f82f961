"""Who may use which SQLite connection, and what its errors mean.

The rule for threads: every thread reads through a connection of its own, which ends with the thread; one
connection writes, one thread at a time. In WAL mode a reader never waits for a writer. After a fork the child
leaves the parent's connections alone, neither using nor closing them, and opens its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import apsw

from outcrop.errors import CorruptDatabase, DatabaseBusy, StoreError
from outcrop.store.filters import path_matches
from outcrop.store.sqlite.schema import is_current, migrate, schema_version
from outcrop.system.private import create_file, make_folder

log = logging.getLogger(__name__)

_CACHE_KIB = 32 * 1024  # holds the inner pages of every index of a million chunks
_READER_CACHE_KIB = 8 * 1024  # of each thread that reads; not mapped: each page would bring sixteen into memory
_CHECKPOINT_PAGES = 4000  # 16 MB of log: two batches of 2 000 chunks, so a checkpoint is shared by some commits
_FULL_BELOW_BYTES = 64 * 1024  # no room for a 32 KB -shm file is an I/O error to SQLite, not a full disk
_REMEMBERED_VERSIONS = 100_000  # 2 MB; arrays saved longer ago than that are made again
_PURGE_WAIT_MS = 1000  # how long a delete waits for readers so that it can empty the log

_VERSION = "SELECT value FROM meta WHERE key = 'version'"

_inherited: list[object] = []  # connections of a parent process; kept so that they are never closed by us


class Connections:
    """The connections of one store in one process: a reader a thread, and a writer. A database that this user may read
    but not write (somebody else's, or on a read-only disk) is opened for reading."""

    _writer: apsw.Connection | None

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float) -> None:
        self.path = path
        self._locked = path.is_file() and not _may_write(path)
        self.read_only = read_only or self._locked
        self._timeout_s = busy_timeout_s
        self._closed = False
        self._begin()
        with _Translated(path):
            if self.read_only:
                self._check_readable()
            else:
                self._writer = self._open_writer()

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """This thread's connection for reading."""
        with _Translated(self.path):
            yield self._reader()

    def version(self) -> int:
        """How often the database was written to; asked several times in every search."""
        with _Translated(self.path):
            rows: list[tuple[Any, ...]] = self._reader().execute(_VERSION).fetchall()
            return int(rows[0][0])

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that this thread reads inside comes from one snapshot; may be nested. The body's errors pass through."""
        with _Translated(self.path):
            connection = self._reader()
            outermost = not connection.in_transaction
            if outermost:
                connection.execute("BEGIN")
                connection.execute(_VERSION).fetchall()  # the snapshot is taken now
        try:
            yield
        finally:
            if outermost and not self._closed and connection.in_transaction:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def reading_at_once(self) -> Iterator[apsw.Connection]:
        """As `reading`, for several queries that must agree."""
        with self.snapshot(), self.reading() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One write transaction: committed with a new version at the end, rolled back by any exception."""
        with _Translated(self.path), self._exclusive() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'version'")
                connection.execute("INSERT INTO history SELECT value, random() FROM meta WHERE key = 'version'")
                connection.execute(
                    "DELETE FROM history WHERE version <= (SELECT value FROM meta WHERE key = 'version') - ?",
                    (_REMEMBERED_VERSIONS,),
                )
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def purge(self) -> None:
        """Make what was deleted leave the disk: give back free pages, write the log home and empty it. The change
        itself is committed, so this never fails. What a reader in a long transaction or another writer prevents happens
        with a later checkpoint, at the latest when the last connection closes."""
        try:
            with self._exclusive() as connection:
                connection.set_busy_timeout(_PURGE_WAIT_MS)
                try:
                    free, total = (int(connection.pragma(name)) for name in ("freelist_count", "page_count"))
                    if free * 4 > total:  # moving pages costs; a quarter of the file is worth it
                        connection.execute("PRAGMA incremental_vacuum").fetchall()
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                finally:
                    connection.set_busy_timeout(self._timeout_ms)
        except (apsw.Error, StoreError) as error:
            log.info("deleted text stays in the log for now", extra={"path": str(self.path), "why": str(error)})

    def close(self) -> None:
        """Close every connection of this process; using the store afterwards raises StoreError."""
        self._closed = True
        self._leave_parent()
        with _Translated(self.path):
            for connection in list(self._readers):
                # one at work in another thread closes when that thread ends
                with contextlib.suppress(apsw.ThreadingViolationError):
                    connection.close()
            with self._lock:
                if self._writer is not None:
                    self._writer.close()
                    self._writer = None

    # ------------------------------------------------------------------ opening

    @property
    def _timeout_ms(self) -> int:
        return int(self._timeout_s * 1000)

    def _begin(self) -> None:
        """No connections yet, in a new object or a new process."""
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._local = threading.local()
        self._readers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._writer = None

    def _leave_parent(self) -> None:
        """In a forked child: set the parent's connections aside, unclosed, and start afresh."""
        if os.getpid() != self._pid:
            _inherited.append((list(self._readers), self._local, self._writer))
            self._begin()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path} was closed; open it again")
        self._leave_parent()

    def _reader(self) -> apsw.Connection:
        self._check_open()
        connection: apsw.Connection | None = getattr(self._local, "reader", None)
        if connection is not None and self._locked and not connection.in_transaction:
            # Opened as a file that does not change; its owner may have changed it since.
            connection = connection if self._local.stamp == _stamp(self.path) else None
        if connection is None:
            self._local.stamp = _stamp(self.path) if self._locked else None
            connection = self._connect(
                apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
            )
            connection.pragma("cache_size", -_READER_CACHE_KIB)
            connection.pragma("query_only", True)
            connection.create_scalar_function("path_matches", path_matches, 2, deterministic=True)  # type: ignore[arg-type]  # 2 texts
            self._readers.add(connection)
            self._local.reader = connection
        return connection

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[apsw.Connection]:
        self._check_open()
        if self._locked:
            raise StoreError(_NOT_WRITABLE.format(path=self.path))
        if self.read_only:
            raise StoreError(f"{self.path} was opened for reading only; open it for writing to change it")
        if not self._lock.acquire(timeout=self._timeout_s):
            raise DatabaseBusy(_BUSY.format(path=self.path))
        try:
            if self._writer is None:
                self._writer = self._open_writer()
            yield self._writer
        finally:
            self._lock.release()

    def _connect(self, flags: int) -> apsw.Connection:
        name = str(self.path)
        if self._locked and not _log_of(self.path).exists() and not os.access(self.path.parent, os.W_OK):
            # A reader makes a -shm file of its own, which it cannot here; without a log there is no need for one.
            name, flags = f"file:{quote(name)}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(name, flags=flags)
        connection.set_busy_timeout(self._timeout_ms)
        connection.pragma("cache_size", -_CACHE_KIB)
        connection.pragma("temp_store", "memory")
        return connection

    def _check_readable(self) -> None:
        if not self.path.is_file():
            raise StoreError(f"there is no index at {self.path}; add something to create it")
        if not is_current(self._reader()):
            raise StoreError(
                f"{self.path} is of an older Outcrop; open it once for writing to bring it up to date"
            )

    def _open_writer(self) -> apsw.Connection:
        try:
            make_folder(self.path.parent)
        except OSError as error:
            raise StoreError(f"the folder of {self.path} cannot be made: {error}") from error
        with contextlib.suppress(OSError):  # what is wrong with it SQLite will say
            create_file(self.path)  # SQLite gives its -wal and -shm files the mode of the database
        connection = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            self._prepare_writer(connection)
        except BaseException:
            # Else it holds on to the file for as long as anyone keeps the error.
            with contextlib.suppress(apsw.Error):
                connection.close()
            raise
        return connection

    def _prepare_writer(self, connection: apsw.Connection) -> None:
        if schema_version(connection) == 0:  # asked before anything is changed: it may be somebody else's
            connection.pragma("auto_vacuum", "incremental")  # counts only while the database is empty
        self._enter_wal(connection)
        connection.pragma("synchronous", "full")  # an acknowledged write survives a power cut
        connection.pragma("secure_delete", True)  # deleted text is overwritten, not just unlinked
        connection.pragma("wal_autocheckpoint", _CHECKPOINT_PAGES)
        migrate(connection)

    def _enter_wal(self, connection: apsw.Connection) -> None:
        """Switch to write-ahead logging; SQLite answers busy at once here instead of waiting, so we wait."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                if connection.pragma("journal_mode", "wal") != "wal":
                    log.warning(
                        "%s is on a file system without shared memory: everything works, but during a write searches"
                        " wait and may be told to try again. Keep the index on a local disk (--db)",
                        self.path,
                    )
                return
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


def _may_write(path: Path) -> bool:
    """Whether this user may change the database; its log is made beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _stamp(path: Path) -> tuple[int, int, bool]:
    """Changes when the file changes, as far as its metadata shows."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0, False
    return status.st_mtime_ns, status.st_ino, _log_of(path).exists()


# ------------------------------------------------------------------ errors

_NOT_WRITABLE = "{path} cannot be written: check the permissions of the file and its folder"
_DAMAGED = (
    "{path} is damaged ({why}). It can be rebuilt from your files: move it away, together with its -wal and -shm files,"
    " and add them again"
)
_BUSY = "{path}: another writer is at work and did not finish in time; try again, or raise the timeout"


class _Translated:
    """Turns what SQLite raises into what Outcrop promises to raise."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, apsw.Error | UnicodeDecodeError | UnicodeEncodeError):
            raise _translate(error, self._path) from error


def _translate(error: apsw.Error | UnicodeDecodeError | UnicodeEncodeError, path: Path) -> StoreError:
    match error:
        case UnicodeDecodeError():  # not UTF-8: SQLite does not check the text it stores
            return CorruptDatabase(_DAMAGED.format(path=path, why=f"a text in it is not UTF-8: {error.reason}"))
        case UnicodeEncodeError():
            return StoreError(
                f"a text holds a character that cannot be stored or looked for (at {error.start}: {error.reason}); "
                "nothing was done"
            )
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseBusy(_BUSY.format(path=path))
        case apsw.NotADBError():
            return CorruptDatabase(
                f"{path} is not an index, or its beginning is damaged. If it is something else, choose another file; "
                "if it was your index, move it away, together with its -wal and -shm files, and add your files again"
            )
        case apsw.CorruptError():
            return CorruptDatabase(_DAMAGED.format(path=path, why=error))
        case apsw.IOError() if _is_full(path):
            return StoreError(f"the disk is full at {path}: nothing that was stored is lost; free some space")
        case apsw.FullError():
            return StoreError(
                f"the disk is full at {path}: this change was not made, nothing that was stored is lost; "
                "free some space and try again"
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreError(_NOT_WRITABLE.format(path=path))
        case apsw.CantOpenError():
            return StoreError(f"{path} cannot be opened: check that it is a file and its permissions")
        case apsw.IOError():
            return StoreError(f"reading or writing {path} failed ({error}): check the disk, then try again")
        case _:
            detail = re.sub(r"\s+", " ", str(error))
            return StoreError(
                f"{path}: the database failed: {type(error).__name__}: {detail}; run `outcrop doctor`, and if that"
                " fails too, restore a copy, or move it away and add the folders again"
            )


def _is_full(path: Path) -> bool:
    import shutil  # with all its formats of archives

    try:
        return shutil.disk_usage(path.parent).free < _FULL_BELOW_BYTES
    except OSError:
        return False
