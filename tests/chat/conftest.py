"""A model's server and a small real index to ask about."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # `tests.chat.model_server`

from tests.chat.model_server import ModelServer, running

from outcrop.config import load_config
from outcrop.engine import Engine

NOTES = {
    "retries.md": "# Retries\n\nA failed request is retried three times.\n\n## Backoff\n\nThe delay between attempts "
    "doubles each time, starting at one second.\n",
    "rollback.md": "# Rollback\n\nTo roll back a release, run the deploy script with the previous tag.\n",
}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with running() as server:
        yield server


@pytest.fixture
def engine(tmp_path: Path, model: ModelServer) -> Iterator[Engine]:
    """An index of two notes, configured for the server."""
    config = load_config(
        {"db": tmp_path / "index.db", "chat_model": "tiny", "chat_url": model.url},
        environ={"HOME": str(tmp_path)},
    )
    with Engine(config) as opened:
        for name, text in NOTES.items():
            opened.add(text=text, id=name, collection="notes")
        yield opened
