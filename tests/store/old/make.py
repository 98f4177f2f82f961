"""Make the fixture of an old schema with the code of its time.

    python -m tests.store.old.make sqlite COMMIT      tests/store/old/sqlite_VERSION.db.xz
    python -m tests.store.old.make postgres COMMIT    tests/store/old/postgres_VERSION.sql.xz

The code of COMMIT, in its own folder, adds the samples of the documentation and a text, and its version is read from
what it wrote. A fixture that was kept is never made again: it stands for the files people have. Made so far, each by
the last commit before the next step was added:

    sqlite_1   6222c00    sqlite_2   fae3f2b    sqlite_3   e2ad5a8    postgres_1   e2ad5a8
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

import apsw

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCHEMA = "outcrop_old_schema"
"""The name of the schema in a dump from Postgres; a test puts its own in its place."""
SAMPLES = Path("/tmp/outcrop-samples")
"""Where the samples lie while they are added: the path is kept in the index."""
_INDEX = """
import sys, outcrop
engine = outcrop.open(sys.argv[1])
engine.add(sys.argv[2] + "/notes", tags=["sample"])
engine.add(sys.argv[2] + "/project")
engine.add(text="The wombat sleeps in its burrow until dusk.", id="wombat", title="Wombats", tags=["animals"])
engine.close()
"""


def make(store: str, commit: str) -> Path:
    """The fixture of a store with the code of a commit."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        packed = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(home, filter="data")
        shutil.rmtree(SAMPLES, ignore_errors=True)
        samples = subprocess.run(
            ["git", "ls-files", "docs/samples"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for file in samples.stdout.splitlines():
            target = SAMPLES / Path(file).relative_to("docs/samples")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target)
        try:
            return _make_sqlite(home) if store == "sqlite" else _make_postgres(home)
        finally:
            shutil.rmtree(SAMPLES)


def _fill(home: Path, place: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(home / "src"), "HOME": str(home)}
    subprocess.run([sys.executable, "-c", _INDEX, place, str(SAMPLES)], cwd=home, env=environment, check=True)


def _make_sqlite(home: Path) -> Path:
    _fill(home, str(home / "index.db"))
    raw = apsw.Connection(str(home / "index.db"))
    version = raw.pragma("user_version")
    raw.execute("VACUUM INTO ?", (str(home / "small.db"),))
    raw.close()
    kept = HERE / f"sqlite_{version}.db.xz"
    kept.write_bytes(lzma.compress((home / "small.db").read_bytes(), preset=9))
    return kept


def _make_postgres(home: Path) -> Path:
    from tests.postgres.server import create_server, open_home

    with open_home() as servers:
        server = create_server(servers, "old")
        _fill(home, server.url(SCHEMA))
        options = ["--no-owner", "--no-privileges", "--rows-per-insert=50", f"--schema={SCHEMA}"]
        dump = servers.programs.run("pg_dump", *options, server.admin_url())
        query = f"SELECT version FROM {SCHEMA}.schema_version"
        version = servers.programs.run("psql", "-XAtc", query, server.admin_url()).strip()
    kept = HERE / f"postgres_{version}.sql.xz"
    kept.write_bytes(lzma.compress(dump.encode(), preset=9))
    return kept


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2]))
