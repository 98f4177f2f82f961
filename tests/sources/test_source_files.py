"""Reading the bytes of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outcrop.errors import SourceError
from outcrop.records import SourceFile
from outcrop.sources.files import read_file


def source(path: Path) -> SourceFile:
    return SourceFile(str(path), path.name, "file")


def test_all_bytes_up_to_the_limit_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\xff\r\n" * 5)
    assert read_file(source(tmp_path / "a"), 20) == b"\x00\xff\r\n" * 5


def test_a_file_that_grew_past_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 21)
    with pytest.raises(SourceError, match="grown past the limit of 20 bytes"):
        read_file(source(tmp_path / "a"), 20)


def test_a_file_that_grows_while_it_is_read_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    tell = os.fstat

    def tell_less(descriptor: int) -> os.stat_result:
        told = tell(descriptor)
        return os.stat_result((*told[:6], min(told.st_size, 4), *told[7:10]))

    monkeypatch.setattr("outcrop.sources.files.os.fstat", tell_less)
    assert read_file(source(tmp_path / "a"), 20) == b"0123456789"
    with pytest.raises(SourceError, match="grown past the limit of 9 bytes"):
        read_file(source(tmp_path / "a"), 9)


@pytest.mark.timeout(5)
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="not a plain file"):
        read_file(source(tmp_path / "pipe"), 20)


def test_a_file_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a").symlink_to(tmp_path / "secret")
    with pytest.raises(SourceError, match="links are not followed"):
        read_file(source(tmp_path / "a"), 20)


@pytest.mark.parametrize(("name", "advice"), [("gone", "sync"), (".", "not a plain file"), ("a\0b", "null")])
def test_an_error_says_what_to_do(tmp_path: Path, name: str, advice: str) -> None:
    with pytest.raises(SourceError, match=advice):
        read_file(SourceFile(f"{tmp_path}/{name}", name, "file"), 20)
