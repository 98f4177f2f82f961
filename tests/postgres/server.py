"""A real PostgreSQL with pgvector for tests and benchmarks: made in a temporary folder, gone when its user is gone."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import psutil
import psycopg
from tests.postgres.programs import Programs, find_programs

OWNER = "outcrop"
"""The role that owns the database `outcrop`; no superuser, as it should be in life: row-level rights bind it."""

_ADMIN = "postgres"

_EVERY_SERVER = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a socket's path must be short, and one way in is enough
    "shared_buffers": "64MB",
    "max_connections": "100",
    "scram_iterations": "64",  # a connection costs 1 ms instead of 6; the password lives as long as the server
    "timezone": "UTC",
    "log_min_messages": "warning",
}
_FAST = {
    "fsync": "off",  # a test that is lost with the machine is run again
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}

_START_SECONDS = 60.0
"""How long a server may take to answer; 0.05 s is usual, a loaded machine is not. Judgement."""

_PORTS = 5
"""How many ports are tried: between our looking and the server's binding another program may take one. Judgement."""


@dataclass
class Home:
    """A temporary folder for servers, watched by a keeper that ends them when this process is gone."""

    folder: Path
    programs: Programs
    password: str
    servers: list[PostgresServer] = field(default_factory=list)


@dataclass
class PostgresServer:
    """A server with its data in `data`, listening on 127.0.0.1, or stopped."""

    home: Home
    data: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def url(self, schema: str | None = None) -> str:
        """How the owner of the database connects. `schema` is a parameter of Outcrop's, not of libpq's."""
        return self._url(OWNER, OWNER) + (f"?schema={schema}" if schema else "")

    def admin_url(self, database: str = OWNER) -> str:
        """How the superuser connects."""
        return self._url(_ADMIN, database)

    def start(self) -> None:
        """Start and wait until it answers."""
        for _ in range(_PORTS):
            self.port = self.port or _free_port()
            with self._log().open("ab") as log:
                self.process = subprocess.Popen(
                    self.home.programs.command("postgres", "-D", str(self.data), "-p", str(self.port)),
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C in the terminal is for the tests, not for the server
                    **self.home.programs.options(),
                )
            if self._answers():
                return
            if "could not bind" not in self.log():
                break
            self.port = 0
        raise RuntimeError(f"the server did not start: {self.log()}")

    def stop(self) -> None:
        """Stop in good order, waiting for no client."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def kill(self) -> None:
        """As when the machine goes: SIGKILL to the server and to each of its processes at once.

        The server is halted first, so that it starts no more. Its processes each lead a group of their own.
        """
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(self.process.pid).children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        child.send_signal(signal.SIGKILL)
            self.process.kill()
            self.process.wait()
            self.process = None

    def execute(self, *statements: str, database: str = OWNER) -> list[tuple[Any, ...]]:
        """Run statements as superuser, each by itself; the rows of the last one."""
        with psycopg.connect(self.admin_url(database), autocommit=True) as connection:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
            return rows

    def cut_connections(self) -> None:
        """End every connection of the owner, as a network or a failover does; they are gone on return."""
        ended = self.execute(
            f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = '{OWNER}'"
        )
        assert all(gone for (gone,) in ended)

    def drop(self, schema: str) -> None:
        """Drop a schema and all in it. Fails, instead of waiting for ever, when a test left a transaction open."""
        self.execute("SET lock_timeout = '10s'", f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')

    def log(self, characters: int = 4000) -> str:
        """What the server has said, the last of it."""
        return self._log().read_text(errors="replace")[-characters:] if self._log().exists() else ""

    def _url(self, user: str, database: str) -> str:
        return f"postgresql://{user}:{quote(self.home.password, safe='')}@127.0.0.1:{self.port}/{database}"

    def _log(self) -> Path:
        return self.home.folder / f"{self.data.name}.log"

    def _answers(self) -> bool:
        assert self.process is not None
        limit = time.monotonic() + _START_SECONDS
        while time.monotonic() < limit:
            if self.process.poll() is not None:
                self.process = None
                return False
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.admin_url("postgres"), connect_timeout=2).close()
                return True
            time.sleep(0.01)
        self.kill()
        return False


@contextlib.contextmanager
def open_home() -> Iterator[Home]:
    """A folder for servers. On leaving, or when this process dies, its servers end and the folder goes."""
    folder = Path(tempfile.mkdtemp(prefix="outcrop-pg-"))
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), str(folder), str(os.getpid())],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    home: Home | None = None
    try:
        # A character that an address must escape, so that whoever takes one apart does it right.
        home = Home(folder, find_programs(folder), f"{secrets.token_hex(12)}@")
        yield home
    finally:
        for server in home.servers if home is not None else ():
            server.stop()
        keeper.stdin.close()
        keeper.wait()


def create_server(
    home: Home, name: str, *, durable: bool = False, settings: Mapping[str, str] = MappingProxyType({})
) -> PostgresServer:
    """A new server with the role and the database `outcrop` and the extension `vector`.

    Fast and forgetful unless `durable`; `settings` are kept with it.
    """
    data = home.folder / name
    chosen = {**_EVERY_SERVER, **({} if durable else _FAST), **settings}
    with tempfile.NamedTemporaryFile("w", dir=home.folder, suffix=".pw") as secret:
        secret.write(home.password)
        secret.flush()
        if home.programs.user is not None:
            os.chmod(secret.name, 0o644)  # the folder above is closed to all but that user and root
        home.programs.run(
            "initdb",
            f"--pgdata={data}",
            f"--username={_ADMIN}",
            f"--pwfile={secret.name}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            *(f"--set={key}={value}" for key, value in chosen.items()),
        )
    server = PostgresServer(home, data, 0)
    home.servers.append(server)
    server.start()
    server.execute(
        f"CREATE ROLE {OWNER} LOGIN PASSWORD '{home.password}'",
        f"CREATE DATABASE {OWNER} OWNER {OWNER}",
        database="postgres",
    )
    server.execute("CREATE EXTENSION vector")
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
