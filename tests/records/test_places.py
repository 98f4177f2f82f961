"""Where a hit stands, in the words that people have for it."""

from __future__ import annotations

import pytest

from outcrop.records import place_of


@pytest.mark.parametrize(
    ("path", "kind", "page", "said"),
    [
        ("book.xlsx", "xlsx", 2, "book.xlsx sheet 2"),
        ("talk.pptx", "pptx", 3, "talk.pptx slide 3"),
        ("talk.odp", "odp", 1, "talk.odp slide 1"),
        ("paper.pdf", "pdf", 7, "paper.pdf p. 7"),
        ("plan.md", "markdown", None, "plan.md:4-6"),
        ("report.docx", "docx", None, "report.docx text 4-6"),
        ("backup.zip", "archive", None, "backup.zip text 4-6"),
    ],
)
def test_pages_of_a_sheet_and_of_slides_are_called_so(
    path: str, kind: str, page: int | None, said: str
) -> None:
    assert place_of(path, kind, page, 4, 6) == said


def test_a_sheet_is_called_by_its_name() -> None:
    assert place_of("book.xlsx", "xlsx", 2, 4, 6, ("Fuel", "more")) == "book.xlsx sheet Fuel"
    assert place_of("talk.pptx", "pptx", 2, 4, 6, ("Fuel",)) == "talk.pptx slide 2"
