"""A knowledge base in a folder of its own, and the way to the child process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.notes.kb_child`, here and in child processes

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.notes import KnowledgeBase


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "kb"


@pytest.fixture
def kb(engine: Engine, root: Path) -> KnowledgeBase:
    return KnowledgeBase(engine, root)
