"""Pages that were read are kept by what they show, and go with the documents that had them."""

from __future__ import annotations

from pathlib import Path

import pytest

from outcrop.errors import StoreError
from outcrop.records import ScanLine, ScanPage, ScanWord
from outcrop.store.scans import ScanStore

PAGE = ScanPage((ScanLine((ScanWord("Übung", 0.1, 0.2, 0.3, 0.04),), True), ScanLine(())), masked=1)


def test_a_page_is_found_by_its_file_and_by_what_it_shows(tmp_path: Path) -> None:
    store = ScanStore(tmp_path / "deep" / "index.db.scans")
    assert store.find_page("f", 1) is None
    assert store.find_image("i", "e") is None
    assert store.count_known("f", (1,), "e") == 0
    assert store.tidy(list) == 0
    assert not store.path.exists()
    store.put("f", 3, "i", "e", PAGE)
    assert store.find_page("f", 3) == store.find_page("f", 3, "e") == store.find_image("i", "e") == PAGE
    assert store.find_page("f", 3, "other") is None
    assert store.find_image("i", "other") is None
    assert store.count_known("f", (1, 2, 3), "e") == 1
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_the_last_engine_that_read_a_page_is_asked_first(tmp_path: Path) -> None:
    store = ScanStore(tmp_path / "s")
    store.put("f", 1, "i", "old", PAGE)
    store.put("f", 1, "i", "new", ScanPage(()))
    assert store.find_page("f", 1) == ScanPage(())


def test_pages_go_with_their_documents_unless_another_shows_the_same(tmp_path: Path) -> None:
    store = ScanStore(tmp_path / "s")
    store.put("gone", 1, "alone", "e", PAGE)
    store.put("gone", 2, "shared", "e", PAGE)
    store.put("kept", 1, "shared", "e", PAGE)
    assert store.tidy(lambda: {"kept"}) == 0  # the run that read it may yet write its document
    assert store.tidy(lambda: {"kept"}, after_s=-1) == 1
    assert store.find_page("gone", 1) is None
    assert store.find_image("alone", "e") is None
    assert store.find_image("shared", "e") == PAGE
    assert "Übung".encode() not in store.path.read_bytes()


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"nothing that SQLite knows" * 100)
    with pytest.raises(StoreError, match="delete it: pages are read again"):
        ScanStore(path).find_page("f", 1)
