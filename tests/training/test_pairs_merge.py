"""The results of many packages become one balanced data set."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from training.pairs import merge as merging
from training.pairs.merge import MAX_SAME_QUERY, merge, table_lines

Pairs = list[tuple[str, str, str]]  # query, kind, language


def write_part(folder: Path, package: str, pairs: Pairs, text: str = "") -> Path:
    docs = [
        {
            "path": f"f{number}",
            "head": "h",
            "text": text or f"{package} {number}",
            "lang": lang,
            "code": True,
            "name": "",
        }
        for number, (_, _, lang) in enumerate(pairs)
    ]
    asked = [{"q": query, "doc": number, "kind": kind} for number, (query, kind, _) in enumerate(pairs)]
    path = folder / f"{package.replace('/', '-')}.gz"
    with gzip.open(path, "wt") as file:
        for line in ({"package": package}, docs, asked):
            file.write(json.dumps(line) + "\n")
    return path


def run(parts: list[Path], into: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    stats = merge(parts, into, lambda _package, _path: False)
    docs = [json.loads(line) for line in (into / "docs.jsonl").read_text().splitlines()]
    pairs = [json.loads(line) for line in (into / "pairs.jsonl").read_text().splitlines()]
    return stats, docs, pairs


def test_a_query_that_many_documents_answer_is_dropped_with_them(tmp_path: Path) -> None:
    pairs = [("to string", "doc", "go")] * (MAX_SAME_QUERY + 1) + [
        ("open a file", "doc", "go")
    ] * MAX_SAME_QUERY
    stats, docs, found = run([write_part(tmp_path, "npm/a", pairs)], tmp_path)
    assert {pair["q"] for pair in found} == {"open a file"}
    assert len(docs) == len(found) == stats["pairs"] == MAX_SAME_QUERY


def test_the_same_query_and_text_is_kept_once(tmp_path: Path) -> None:
    parts = [write_part(tmp_path, f"npm/{name}", [("Open  it", "doc", "go")], "same text") for name in "ab"]
    _, docs, pairs = run(parts, tmp_path)
    assert [doc["package"] for doc in docs] == ["npm/a"]
    assert len(pairs) == 1


def test_kinds_and_python_are_cut_to_their_share(tmp_path: Path) -> None:
    pairs = [(f"python {number}", "doc", "python") for number in range(900)]
    pairs += [(f"go {number}", "doc", "go") for number in range(100)]
    pairs += [(f"name {number}", "name", "rust") for number in range(500)]
    stats, _, _ = run([write_part(tmp_path, "npm/a", pairs)], tmp_path)
    assert stats["languages"]["go"] == 100
    assert stats["languages"]["python"] <= 0.4 * stats["pairs"] + 1
    assert stats["kinds"]["name"] < 500


def test_the_largest_languages_make_room_when_there_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "MOST", 300)
    pairs = [(f"a {number}", "doc", "java") for number in range(500)]
    pairs += [(f"b {number}", "doc", "go") for number in range(400)]
    pairs += [(f"c {number}", "doc", "zig") for number in range(20)]
    stats, _, _ = run([write_part(tmp_path, "npm/a", pairs)], tmp_path)
    assert stats["languages"] == {"go": 140, "java": 140, "zig": 20}
    assert any(line.startswith("zig") for line in table_lines(stats))


def test_no_text_of_training_is_in_validation(tmp_path: Path) -> None:
    parts = [
        write_part(
            tmp_path, f"pypi/thing{number}x", [("ask for it", "doc", "go"), (f"only {number}", "doc", "go")]
        )
        for number in range(200)
    ]
    copies = [
        write_part(tmp_path, f"npm/copy{number}x", [(f"copied {number}", "doc", "go")], "a copy")
        for number in range(200)
    ]
    _, docs, _ = run(parts + copies, tmp_path)
    held_out = set(json.loads((tmp_path / "split.json").read_text())["validation"])
    sides = Counter((doc["package"] in held_out, doc["text"]) for doc in docs)
    assert held_out
    assert not {text for is_out, text in sides if is_out} & {text for is_out, text in sides if not is_out}
