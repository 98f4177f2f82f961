"""The archives that are tried and examined, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.build import ROOT, build


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive of the checkout as it is."""
    wheel, sdist = build(ROOT, tmp_path_factory.mktemp("built"))
    return wheel, sdist
