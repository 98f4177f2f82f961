"""Shared fixtures, and the rule that CI skips nothing."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from tests.postgres.server import PostgresServer

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


LONGEST = ("tests/cluster/", "tests/postgres/", "tests/docs/", "tests/serve/page/")
"""Files that take longest. Begun last, one of two workers would wait for the other."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


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
