"""Signatures: which files can hold a text, for files exactly as they were."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from outcrop.index import trigrams
from outcrop.index.trigrams import SEGMENT, Signatures, key_of


@pytest.fixture(autouse=True)
def just_written_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "SETTLED_NS", -1_000_000_000)


class Folder:
    def __init__(self, path: Path) -> None:
        self.files = path / "files"
        self.files.mkdir()
        self.signatures = Signatures(path / "signatures")

    def write(self, name: str, text: str | bytes) -> None:
        (self.files / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def states(self) -> dict[str, os.stat_result]:
        return {str(path): path.lstat() for path in sorted(self.files.iterdir())}

    def sign(self) -> int:
        return self.signatures.refresh(self.states())

    def can_hold(self, *alternatives: list[str]) -> list[str]:
        states = self.states()
        keys = np.array([key_of(uri, state) for uri, state in states.items()], np.uint64)
        out = self.signatures.exclude(keys, alternatives)
        return [Path(uri).name for uri, excluded in zip(states, out, strict=True) if not excluded]

    def segments(self) -> list[Path]:
        return sorted((self.signatures._folder).glob("*.segment"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("a", "the Quick brown fox")
    made.write("b", "jumps over the lazy dog")
    made.write("c", "")
    return made


def test_only_files_that_can_hold_the_texts_are_left(folder: Folder) -> None:
    assert folder.can_hold(["quick"]) == ["a", "b", "c"], "unsigned files have to be read"
    assert folder.sign() == 3
    assert folder.can_hold(["quick"]) == ["a"]
    assert folder.can_hold(["the", "lazy"]) == ["b"]
    assert folder.can_hold(["quick"], ["dog"]) == ["a", "b"]
    assert folder.can_hold(["zebra"]) == []
    assert folder.can_hold(["ox"]) == ["a", "b", "c"], "two letters say nothing"
    assert folder.can_hold() == ["a", "b", "c"]


def test_a_file_that_changed_has_no_signature_until_it_is_signed_again(folder: Folder) -> None:
    folder.sign()
    before = (folder.files / "b").stat()
    folder.write("b", "jumps over the lazy cat")
    os.utime(folder.files / "b", ns=(before.st_atime_ns, before.st_mtime_ns))  # the same time and size
    assert folder.can_hold(["lazy cat"]) == ["b"]
    assert folder.can_hold(["zebra"]) == ["b"]
    assert folder.sign() == 3, "a segment that is not full is made again"
    assert folder.can_hold(["zebra"]) == []
    assert len(folder.segments()) == 1


def test_full_segments_stay(folder: Folder) -> None:
    for number in range(SEGMENT):
        folder.write(f"n{number:04}", f"number {number}")
    assert folder.sign() == SEGMENT + 3
    full = [path for path in folder.segments() if path.stat().st_size > 1_000_000]
    assert len(full) == 1
    assert folder.sign() == 3
    assert full[0].is_file()
    assert folder.can_hold(["number 1000"]) == ["n1000"]


def test_wide_files_and_those_that_just_changed_are_not_signed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("w", "fox".encode("utf-16"))
    folder.sign()
    assert folder.can_hold(["zebra"]) == ["w"]
    monkeypatch.setattr(trigrams, "SETTLED_NS", 10**12)
    folder.write("a", "fresh")
    assert folder.sign() == 0
    assert "a" in folder.can_hold(["zebra"])


def test_what_a_crash_left_is_passed_over(folder: Folder) -> None:
    folder.sign()
    (segment,) = folder.segments()
    segment.write_bytes(segment.read_bytes()[:5000])
    assert folder.can_hold(["quick"]) == ["a", "b", "c"]
    segment.write_bytes(b"")
    assert folder.can_hold(["quick"]) == ["a", "b", "c"]
    assert folder.sign() == 3
    assert folder.can_hold(["quick"]) == ["a"]
