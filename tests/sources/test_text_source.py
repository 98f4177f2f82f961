"""Raw text as a source."""

from __future__ import annotations

from hashlib import sha256

import pytest

from outcrop.errors import SourceError
from outcrop.records import SourceFile
from outcrop.sources.text import text_source


def test_a_text_without_an_id_is_named_by_its_content() -> None:
    name = f"text:{sha256(b'hello').hexdigest()[:16]}"
    assert text_source("hello") == (SourceFile(name, name, "text", size=5), b"hello")


def test_the_callers_id_and_path_are_kept() -> None:
    file, content = text_source("é", "note-1", "notes/1.md", media_type="text/markdown")
    assert (file.uri, file.path, file.media_type, file.size) == ("note-1", "notes/1.md", "text/markdown", 2)
    assert content == "é".encode()
    assert text_source("x", "note-1")[0].path == "note-1"


@pytest.mark.parametrize(
    ("content", "uri"),
    [("", None), (" \n", None), ("x", ""), ("x", "a\nb"), ("x", "y" * 5000), ("\ud800", None)],
)
def test_a_text_that_cannot_be_stored_is_refused(content: str, uri: str | None) -> None:
    with pytest.raises(SourceError):
        text_source(content, uri)
