"""Plain text and tables of values: the text is the file, and only a title is to be found."""

from __future__ import annotations

from outcrop.parse.title import file_stem, first_line
from outcrop.records import Document


def read_text(text: str, path: str) -> Document:
    """Plain text, titled by its first line."""
    return Document(text=text, kind="text", title=first_line(text) or file_stem(path))


def read_csv(text: str, path: str) -> Document:
    """Rows of values, kept as they are so that line numbers cite the file."""
    return Document(text=text, kind="csv", title=file_stem(path))
