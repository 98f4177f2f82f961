"""Shared fixtures, and the rule that CI skips nothing."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

sys.path.insert(
    0, str(Path(__file__).parents[1])
)  # `tests.store.builders` and others, here and in child processes

if TYPE_CHECKING:
    from tests.index.searched import Both
    from tests.postgres.server import PostgresServer

    from outcrop.text.terms import Terms

# A deadline for an example is a promise about the machine: on one that is busy the 200 ms of old fail by chance.
hypothesis.settings.register_profile("outcrop", deadline=None)
# The same examples in every run, for whoever compares runs.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "outcrop"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A skipped test in CI is a failure: what is not run is not shown to work."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped") and exitstatus == 0:
        reporter.write_line("skipped tests are failures in CI", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


POSIX_TESTS = (
    "serve/cli/test_cli_grep.py",
    "serve/cli/test_cli_process.py",
    "serve/cli/test_cli_ui.py",
    "serve/http/test_http_connections.py",
    "store/test_store_opening.py",
)
"""Files that need a terminal, a limit or a lock of POSIX, and cannot be collected on Windows."""
collect_ignore = list(POSIX_TESTS) if os.name == "nt" else []

LONGEST = ("tests/cluster/", "tests/postgres/", "tests/docs/", "tests/serve/page/")
"""Files that take longest. Begun last, one of two workers would wait for the other."""


E5_TESTS = ("embed/test_embed_e5.py", "training/test_e5_mean.py")
"""Files that run e5-small, whose engine needs AVX2. That its absence is told is tested everywhere."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first; and without AVX2 nothing of E5_TESTS but the test that tells so."""
    from outcrop.embed.e5 import has_vectors

    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    if not has_vectors():
        gone = [one for one in items if str(one.path).endswith(E5_TESTS) and "processor" not in one.name]
        config.hook.pytest_deselected(items=gone)
        items[:] = [one for one in items if one not in gone]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL with pgvector, one a run (or a worker of it), started for the first test that asks."""
    from tests.postgres.server import create_server, open_home

    with open_home() as home:
        yield create_server(home, "shared")


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a schema that is this test's own; it does not exist yet, and is dropped afterwards."""
    schema = f"t_{secrets.token_hex(6)}"
    yield postgres_server.url(schema)
    postgres_server.drop(schema)


@pytest.fixture(scope="session")
def terms() -> Terms:
    """The analyser; safe to share."""
    from outcrop.text.terms import Terms

    return Terms()


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Some of this repository, code and prose, searched by arrays and in place; no rounding tells them apart."""
    from tests.index.searched import Signs, open_both

    path = tmp_path_factory.mktemp("both") / "index.db"
    with open_both(path, ("index", "rank", "store", "parse", "embed"), Signs()) as opened:
        yield opened


@pytest.fixture(scope="session")
def both_real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The same with less code and the model that ships."""
    from tests.index.searched import open_both

    with open_both(tmp_path_factory.mktemp("real") / "index.db", ("index", "rank")) as opened:
        yield opened
