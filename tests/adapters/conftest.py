"""A small real index for retrievers to ask: notes, and a paper with pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from outcrop.config import load_config
from outcrop.engine import Engine

NOTES = Path(__file__).parents[2] / "docs/samples/notes"


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("adapters")
    paper = home / "papers" / "whales.pdf"
    paper.parent.mkdir()
    canvas = Canvas(str(paper))
    for line in ("Whales of the northern seas", "Humpback whales sing for hours in the breeding season."):
        canvas.drawString(72, 720, line)
        canvas.showPage()
    canvas.save()
    with Engine(load_config({"db": home / "index.db"}, {"HOME": str(home)})) as opened:
        opened.add(NOTES)
        opened.add(paper.parent)
        yield opened
