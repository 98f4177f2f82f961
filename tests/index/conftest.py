"""The way to the store's builders, one analyser for all tests, and one index that is searched in both ways."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.store.builders`, here and in child processes

from tests.index.searched import Both, Signs, open_both

from outcrop.text.terms import Terms


@pytest.fixture(scope="session")
def terms() -> Terms:
    """The analyser; safe to share."""
    return Terms()


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Some of this repository, code and prose, searched by arrays and where it lies; no rounding tells them apart."""
    path = tmp_path_factory.mktemp("both") / "index.db"
    with open_both(path, ("search", "rank", "store", "parse", "embed"), Signs()) as opened:
        yield opened


@pytest.fixture(scope="session")
def both_real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The same with less code and the model that ships."""
    with open_both(tmp_path_factory.mktemp("real") / "index.db", ("search", "rank")) as opened:
        yield opened
