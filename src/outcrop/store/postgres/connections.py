"""Who may use which Postgres connection, what happens when one is lost, and what errors mean.

Any thread reads through a connection of a pool. A write is one transaction that begins by locking the one row of
`state`: writers wait for each other, readers for nobody. A connection that is lost while reading is replaced and the
question asked again; one that is lost while writing too, unless the transaction proves to have been committed: each
leaves a mark by which that can be told. After a fork the child opens a pool of its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool, PoolTimeout

from outcrop.errors import DatabaseBusy, DatabaseLost, StoreError
from outcrop.store.postgres.values import register_vectors
from outcrop.system.dataclass import dataclass

log = logging.getLogger(__name__)

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

POOL_SIZE: Final = 16
"""Connections of one process: a server answers as many searches at once. Postgres allows 100 in all by default."""
PATIENCE_S: Final = 30.0
"""How long to try again when the server cannot be reached: a replica is promoted within that."""
SURE_S: Final = 0.5
"""How long a connection that answered is taken for alive (not measured)."""
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 2.0
FORGOTTEN_S: Final = 300
"""A writer that is idle inside a transaction for this long is taken for dead, and its lock is released."""

SESSION: Final = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "400",
    "ivfflat.probes": "20",
    "hnsw.max_scan_tuples": "400000",
    "hnsw.scan_mem_multiplier": "16",
    "ivfflat.iterative_scan": "relaxed_order",
    "jit": "off",
}
"""Set once a connection; how far a query looks is set with it (vectors.py), and this is for the moments in which the
index is of another kind than a process has last seen. Without iterative scans a filter that lets
one row in a hundred pass leaves most answers empty; with too few tuples or too little memory, short
(`benchmarks/postgres/vectors.py`). The rows are put in order again, so a relaxed one will do."""


@dataclass(slots=True)
class State:
    """The one row that every write locks and changes."""

    version: int
    last_document: int
    last_chunk: int
    last_removal: int
    active_model: int | None


_COMMITTED: Final = "SELECT 1 FROM history WHERE mark = %s"


class Connections:
    """The connections of one store in one process."""

    def __init__(self, uri: str, schema: str, name: str, *, patience_s: float = PATIENCE_S) -> None:
        """`name` is what messages call the database: without its password."""
        self.schema = schema
        self.name = name
        self._uri = uri
        self._patience_s = patience_s
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._local = threading.local()
        self._pool: ConnectionPool[Connection] | None = None
        self._checked: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()

    # ------------------------------------------------------------------ opening

    def connect(self, *, autocommit: bool = True) -> Connection:
        """A connection outside the pool, for what takes long or comes before the tables."""
        with self.translated():
            connection = psycopg.connect(self._uri, autocommit=autocommit, application_name="outcrop")
            try:
                connection.execute(self._search_path())
            except BaseException:
                connection.close()
                raise
            return connection

    def _search_path(self) -> sql.Composed:
        """Temporary tables last: behind a pooler a session may hold those of whoever used it before."""
        return sql.SQL("SET search_path TO {}, public, pg_temp; ").format(sql.Identifier(self.schema))

    def _configure(self, connection: Connection) -> None:
        connection.autocommit = True
        settings = sql.SQL("; ").join(
            sql.SQL("SET {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))
            for name, value in SESSION.items()
        )
        connection.execute(self._search_path() + settings)
        register_vectors(connection)

    def _check(self, connection: Connection) -> None:
        """Whether a connection is alive, unless that was asked a moment ago: a search takes one ten times, and what is
        lost in between is tried again on another."""
        now = time.monotonic()
        if now - self._checked.get(connection, -SURE_S) >= SURE_S:
            ConnectionPool.check_connection(connection)
            self._checked[connection] = now

    def _connections(self) -> ConnectionPool[Connection]:
        if self._closed:
            raise StoreError(f"{self.name} was closed; open it again")
        if os.getpid() != self._pid:
            self._begin()
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._uri,
                    min_size=0,
                    max_size=POOL_SIZE,
                    kwargs={"application_name": "outcrop"},
                    configure=self._configure,
                    check=self._check,
                    timeout=self._patience_s,
                    max_idle=60.0,
                    reconnect_timeout=self._patience_s,
                    open=True,
                    name="outcrop",
                )
            return self._pool

    def close(self) -> None:
        """Close every connection of this process; using the store afterwards raises StoreError."""
        self._closed = True
        if os.getpid() == self._pid:
            with self._lock:
                pool, self._pool = self._pool, None
            if pool is not None:
                pool.close()

    # ------------------------------------------------------------------ reading

    def _is_inside(self) -> bool:
        """Whether this thread is inside a snapshot."""
        return getattr(self._local, "held", None) is not None and os.getpid() == self._pid

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read; run it again on another connection if the first is lost. Inside a snapshot it runs there."""
        with self.translated():
            if self._is_inside() and not self._closed:
                return work(self._local.held)

            def attempt() -> T:
                with self._connections().connection() as connection:
                    return work(connection)

            return self._persistently(attempt)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that this thread reads inside comes from one snapshot; may be nested. The body's errors pass through."""
        if self._is_inside():
            yield
            return
        with self.translated():
            pool, connection, known = self._persistently(self._begin_snapshot)
        local = self._local
        local.held, local.known = connection, known
        try:
            yield
        finally:
            local.held, local.known = None, {}
            with contextlib.suppress(psycopg.Error):  # lost: the pool will find out
                connection.rollback()
                connection.autocommit = True
            pool.putconn(connection)

    def known(self, name: str, ask: Callable[[Connection], T]) -> T:
        """As `read`, for what is read again and again: within a snapshot it is read once."""
        known: dict[str, Any] = self._local.known if self._is_inside() else {}
        if name not in known:
            known[name] = self.read(ask)
        found: T = known[name]
        return found

    def _begin_snapshot(self) -> tuple[ConnectionPool[Connection], Connection, dict[str, Any]]:
        """A connection in a snapshot, and what is known of that."""
        pool = self._connections()
        connection = pool.getconn()
        try:
            connection.autocommit = False
            cursor = connection.execute(
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT version FROM state"
            )
            cursor.nextset()
            row = cursor.fetchone()
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()
                connection.autocommit = True
            pool.putconn(connection)
            raise
        return pool, connection, {} if row is None else {"version": int(row[0])}

    # ------------------------------------------------------------------ writing

    def write(self, work: Callable[[Connection, State], T]) -> T:
        """One write transaction under the lock of all writers: committed with a new version, or not at all. Repeated
        when the connection is lost before the commit, so `work` must be safe to repeat."""
        done: list[tuple[int, T]] = []

        def attempt() -> T:
            mark = random.SystemRandom().getrandbits(63)
            with self._connections().connection() as connection, connection.transaction():
                connection.execute(
                    f"SET LOCAL lock_timeout = '{int(1000 * self._patience_s)}ms';"
                    f" SET LOCAL idle_in_transaction_session_timeout = '{FORGOTTEN_S}s'"
                )
                state = _lock_state(connection)
                # With the lock in hand an earlier attempt is over: committed, though nobody heard of it, or undone.
                if done and connection.execute(_COMMITTED, done[-1][:1]).fetchone() is not None:
                    return done[-1][1]
                result = work(connection, state)
                _put_state(connection, state, mark)
                done.append((mark, result))
            return result

        with self.translated():
            return self._persistently(attempt)

    # ------------------------------------------------------------------ persistence and errors

    def _persistently(self, attempt: Callable[[], T]) -> T:
        deadline = time.monotonic() + self._patience_s
        pause = FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except (psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction) as error:
                if not _is_lost(error) or time.monotonic() + pause > deadline:
                    raise
                log.warning("the database cannot be reached, trying again: %s", _one_line(error))
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    @contextlib.contextmanager
    def translated(self) -> Iterator[None]:
        """Turn what psycopg raises into what Outcrop promises to raise."""
        try:
            yield
        except (psycopg.Error, PoolTimeout) as error:
            raise self._translate(error) from error
        except UnicodeEncodeError as error:
            raise StoreError(
                f"a text holds a character that cannot be stored or looked for (at {error.start}: {error.reason}); "
                "nothing was done"
            ) from error

    def _translate(self, error: Exception) -> StoreError:
        name = self.name
        match error:
            case errors.LockNotAvailable() | errors.DeadlockDetected():
                return DatabaseBusy(f"{name}: another writer is at work and did not finish in time; try again")
            case errors.DiskFull():
                return StoreError(
                    f"the disk of {name} is full: this change was not made, nothing that was stored is lost; "
                    "free some space there and try again"
                )
            case errors.InsufficientPrivilege():
                return StoreError(
                    f"{name}: this user may not do that ({_one_line(error)}): ask the owner of the index"
                )
            case psycopg.OperationalError() if _REFUSED.search(str(error)):
                return StoreError(
                    f"{name} refused the user or the password ({_one_line(error)}): set PGPASSWORD, or write a .pgpass"
                    " file"
                )
            case psycopg.OperationalError() if _NO_DATABASE.search(str(error)):
                return StoreError(f"there is no database {name}: make it with `createdb`")
            case errors.UndefinedTable() | errors.UndefinedColumn():
                return DatabaseLost(f"{name}: the tables changed meanwhile ({_one_line(error)}); try again")
            case PoolTimeout():
                return DatabaseLost(
                    f"{name} cannot be reached, or all its connections are busy; try again later"
                )
            case psycopg.OperationalError() | psycopg.InterfaceError() if _is_lost(error):
                return DatabaseLost(
                    f"{name} cannot be reached: {_one_line(error)}. Check that the server runs and the address is right"
                )
            case _:
                return StoreError(f"{name}: the database failed: {type(error).__name__}: {_one_line(error)}")


def _lock_state(connection: Connection) -> State:
    row = connection.execute(
        "SELECT version, last_document, last_chunk, last_removal, active_model FROM state FOR UPDATE"
    ).fetchone()
    if row is None:
        raise StoreError("the index is damaged: its state is missing; restore it from a backup")
    return State(*row)


def _put_state(connection: Connection, state: State, mark: int) -> None:
    state.version += 1
    connection.execute(
        "UPDATE state SET version = %s, last_document = %s, last_chunk = %s, last_removal = %s, active_model = %s",
        (state.version, state.last_document, state.last_chunk, state.last_removal, state.active_model),
    )
    connection.execute(
        "WITH old AS (DELETE FROM history WHERE version <= %s) INSERT INTO history (version, mark) VALUES (%s, %s)",
        (state.version - REMEMBERED_VERSIONS, state.version, mark),
    )


REMEMBERED_VERSIONS: Final = 100_000
"""Arrays saved longer ago than that are made again."""

_LOST_STATES: Final = ("08", "57P", "53300", "25006")
"""Classes of errors that another connection, or the same a little later, may not have: connection failure, shutdown or
start of the server, too many connections, a server that is (still) a replica."""


# What the server says before there is a connection has no code, only words (which are not translated: lc_messages).
_REFUSED: Final = re.compile(
    r"authentication failed|no password supplied|pg_hba\.conf|role .* (does not exist|is not)"
)
_NO_DATABASE: Final = re.compile(r'database "[^"]*" does not exist')


def _is_lost(error: Exception) -> bool:
    state = getattr(error, "sqlstate", None)
    if state is None:  # raised by the client: it could not connect, or the connection broke
        return not (_REFUSED.search(str(error)) or _NO_DATABASE.search(str(error)))
    return str(state).startswith(_LOST_STATES)


_ADVICE: Final = re.compile(r" ?Is the server running [^?]*\?")


def _one_line(error: Exception) -> str:
    """What libpq says, without its own advice: our messages end with what to do."""
    return _ADVICE.sub("", re.sub(r"\s+", " ", str(error))).strip()
