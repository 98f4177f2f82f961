"""A primary and a standby that holds every commit before it is acknowledged, both local, to be killed and promoted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from tests.postgres.server import OWNER, Home, PostgresServer, create_server, open_home

_STANDBY = "standby"

_WAIT_SECONDS = 60.0
"""How long the standby may take to join or to be promoted; each is well under a second. Judgement."""


@dataclass
class Replicas:
    """Two servers of one database; `standby` follows `primary` until it is promoted."""

    home: Home
    primary: PostgresServer
    standby: PostgresServer

    def url(self, schema: str | None = None) -> str:
        """One address for both: libpq goes to whichever of them takes writes."""
        secret = quote(self.home.password, safe="")
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        extra = f"&schema={schema}" if schema else ""
        # Without a limit on connecting, a host that swallows packets would be waited for for minutes.
        options = f"target_session_attrs=read-write&connect_timeout=3{extra}"
        return f"postgresql://{OWNER}:{secret}@{hosts}/{OWNER}?{options}"

    def kill_primary(self) -> None:
        """The primary's machine is gone: nothing it had not sent is ever sent."""
        self.primary.kill()

    def promote(self) -> float:
        """Make the standby the primary; seconds until it takes writes.

        It waits for no standby of its own from then on: there is none, and with one named every commit would hang.
        """
        began = time.monotonic()
        self.standby.execute(
            "ALTER SYSTEM SET synchronous_standby_names = ''",
            "SELECT pg_reload_conf()",
            "SELECT pg_promote(true)",
        )
        _until(lambda: self.standby.execute("SELECT pg_is_in_recovery()") == [(False,)], self.standby)
        return time.monotonic() - began


@contextmanager
def open_replicas(commit: str = "on") -> Iterator[Replicas]:
    """A durable primary and its synchronous standby, joined and in step.

    `commit` is the primary's `synchronous_commit`: "on" acknowledges what both have on disk, "remote_apply" what the
    standby also shows to its readers.
    """
    with open_home() as home:
        primary = create_server(home, "primary", durable=True, settings={"synchronous_commit": commit})
        standby = follow(home, primary)
        # Only now: without a standby every commit would wait for one.
        primary.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{_STANDBY}'", "SELECT pg_reload_conf()")
        states = "SELECT sync_state FROM pg_stat_replication"
        _until(lambda: primary.execute(states) == [("sync",)], standby)
        yield Replicas(home, primary, standby)


def follow(home: Home, primary: PostgresServer, name: str = _STANDBY) -> PostgresServer:
    """A new standby of `primary`, copied while it runs, started and streaming."""
    data = home.folder / name
    source = f"{primary.admin_url('postgres')}?application_name={name}"
    home.programs.run(
        "pg_basebackup",
        f"--pgdata={data}",
        f"--dbname={source}",
        "--checkpoint=fast",
        "--wal-method=stream",
        "--write-recovery-conf",
        "--no-sync",
    )
    standby = PostgresServer(home, data, 0)
    home.servers.append(standby)
    standby.start()
    followers = f"SELECT 1 FROM pg_stat_replication WHERE application_name = '{name}' AND state = 'streaming'"
    _until(lambda: primary.execute(followers) == [(1,)], standby)
    return standby


def _until(done: Callable[[], bool], server: PostgresServer) -> None:
    limit = time.monotonic() + _WAIT_SECONDS
    while not done():
        if time.monotonic() > limit:
            raise RuntimeError(f"the servers did not get there: {server.log()}")
        time.sleep(0.02)
