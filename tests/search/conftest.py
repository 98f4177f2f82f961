"""The way to the store's builders, and one analyser for all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.store.builders`, here and in child processes

from outcrop.search.terms import Terms


@pytest.fixture(scope="session")
def terms() -> Terms:
    """The analyser; safe to share."""
    return Terms()
