"""The servers of the tests: they answer, keep tests apart, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import psycopg
from tests.postgres.programs import find_programs
from tests.postgres.server import PostgresServer

ROOT = Path(__file__).parents[2]

HOLDER = """
import time
from tests.postgres.server import create_server, open_home
with open_home() as home:
    server = create_server(home, "orphan")
    print(server.process.pid, home.folder, flush=True)
    time.sleep(600)
"""


def test_pgvector_is_new_enough(postgres_server: PostgresServer) -> None:
    [(version,)] = postgres_server.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    assert tuple(map(int, version.split("."))) >= (0, 8, 4)


def test_the_owner_is_no_superuser_and_may_make_schemas(postgres_url: str) -> None:
    plain, schema = postgres_url.split("?schema=")
    with psycopg.connect(plain) as connection:
        assert connection.execute("SELECT usesuper FROM pg_user WHERE usename = current_user").fetchone() == (
            False,
        )
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.t (v vector(3))")
        connection.execute(f"INSERT INTO {schema}.t VALUES ('[1,2,3]')")
        found = connection.execute(f"SELECT v <-> '[1,2,4]' FROM {schema}.t").fetchone()
    assert found == (1.0,)


def test_a_schema_is_gone_after_its_test(postgres_server: PostgresServer) -> None:
    left = postgres_server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 't\\_%'")
    assert left == []


def test_each_test_has_a_schema_of_its_own(postgres_url: str, postgres_server: PostgresServer) -> None:
    [schema] = parse_qs(urlsplit(postgres_url).query)["schema"]
    assert schema.startswith("t_")
    assert urlsplit(postgres_url).hostname == "127.0.0.1"
    assert postgres_server.execute("SHOW listen_addresses") == [("127.0.0.1",)]


def test_a_killed_run_leaves_no_server_and_no_folder() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], cwd=ROOT, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        words = holder.stdout.readline().split()
        server, folder = int(words[0]), Path(os.fsdecode(words[1]))
        assert psutil.pid_exists(server)
        assert folder.is_dir()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    for _ in range(1500):
        if not psutil.pid_exists(server) and not folder.exists():
            break
        time.sleep(0.02)
    assert not psutil.pid_exists(server)
    assert not folder.exists()


def test_programs_out_of_reach_are_copied_for_the_user_who_runs_them() -> None:
    with tempfile.TemporaryDirectory() as closed, tempfile.TemporaryDirectory() as home:
        package = find_programs(Path(home)).folder.parents[1]
        for folder in (package, package.with_name(f"{package.name}.libs")):
            shutil.copytree(folder, Path(closed) / folder.name, symlinks=True)
        programs = find_programs(Path(home), Path(closed) / package.name)
        assert "PostgreSQL" in programs.run("postgres", "--version")
        assert programs.folder.is_relative_to(home) == (os.geteuid() == 0)
