"""Shared fixtures, and the rule that CI skips nothing."""

from __future__ import annotations

import os

import pytest


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A skipped test in CI is a failure: what is not run is not shown to work."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped") and exitstatus == 0:
        reporter.write_line("skipped tests are failures in CI", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
