"""JSON lines, plain or packed, and the packages that were held out."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
from training.lines import read_held_out, read_lines

ROWS = [{"q": "Größe"}, {"q": "line\nbreak\u2028s"}]
TEXT = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_a_file_is_read_in_whatever_form_it_is_there(tmp_path: Path, suffix: str) -> None:
    raw = TEXT.encode()
    packed = {"": raw, ".gz": gzip.compress(raw), ".xz": lzma.compress(raw)}[suffix]
    (tmp_path / f"pairs.jsonl{suffix}").write_bytes(packed)
    assert list(read_lines(tmp_path / "pairs.jsonl")) == ROWS


def test_the_plain_file_is_taken_where_there_are_both(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"q": "plain"}\n')
    (tmp_path / "pairs.jsonl.gz").write_bytes(gzip.compress(b'{"q": "packed"}\n'))
    assert list(read_lines(tmp_path / "pairs.jsonl")) == [{"q": "plain"}]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"pairs\.jsonl"):
        list(read_lines(tmp_path / "pairs.jsonl"))


def test_only_held_out_packages_and_what_is_asked_about_them_are_read(tmp_path: Path) -> None:
    documents = [{"id": number, "package": name} for number, name in ((3, "a"), (4, "b"), (9, "c"))]
    pairs = [{"q": "x", "doc": 4}, {"q": "y", "doc": 9}, {"q": "z", "doc": 3}]
    (tmp_path / "split.json").write_text(json.dumps({"validation": ["a", "c", "gone"]}))
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (tmp_path / "pairs.jsonl.xz").write_bytes(lzma.compress("\n".join(map(json.dumps, pairs)).encode()))
    found, asked = read_held_out(tmp_path)
    assert found == {3: documents[0], 9: documents[2]}
    assert [pair["q"] for pair in asked] == ["y", "z"]
