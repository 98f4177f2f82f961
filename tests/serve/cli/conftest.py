"""A small real index, and the command line to ask it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))  # `tests.serve.cli.runner`

from tests.serve.cli.runner import NOTES, Outcrop

from outcrop.serve.logs import write_logs


@pytest.fixture
def outcrop(tmp_path: Path) -> Iterator[Outcrop]:
    """An empty index beside a folder of notes."""
    notes = tmp_path / "notes"
    for name, text in NOTES.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text)
    yield Outcrop(tmp_path / "index.db", notes)
    write_logs(None)


@pytest.fixture
def kb(outcrop: Outcrop) -> Outcrop:
    """An index that holds the notes."""
    assert outcrop("add", outcrop.notes).exit_code == 0
    return outcrop
