"""A damaged array never gives wrong hits in silence: what is damaged is made again from the store, and said."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

import outcrop
from outcrop.index import columns
from outcrop.index.columns import build_segment
from outcrop.index.packed import ARRAYS, map_watched
from outcrop.index.segment import BLOCK_BYTES, DamagedArrays, Watched, sum_blocks

QUERIES = (
    ("copper kettle", "keyword"),
    ("where is tea water heated?", "semantic"),
    ('"boils in the copper kettle 7"', "hybrid"),
    ("pour_tea", "hybrid"),
    ("heat_water", "keyword"),
)
SOME = 40
Answers = list[list[tuple[str, float]]]


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with documents and code, its arrays in two files."""
    home = tmp_path_factory.mktemp("laid")
    folder = home / "notes"
    folder.mkdir()
    for number in range(SOME):
        (folder / f"kettle{number}.md").write_text(
            f"# Kettle {number}\n\nWater boils in the copper kettle {number} on the stove.\n\n"
            f"## Tea\n\nTea number {number} is poured into cup {number * 7 % 13}.\n"
        )
        (folder / f"tea{number}.py").write_text(
            f'def pour_tea{number}(cup):\n    """Pour the tea."""\n    return heat_water{number}(cup)\n\n\n'
            f'def heat_water{number}(cup):\n    """Heat the water for a cup."""\n    return cup + {number}\n'
        )
    with outcrop.open(home / "index.db") as engine:
        engine.add(folder)
        engine.parts.index.renew()
        engine.add(text="A second segment: the copper kettle sings.", id="late")
        engine.parts.index.purge()
    return home


@pytest.fixture
def home(laid: Path, tmp_path: Path) -> Path:
    shutil.copytree(laid, tmp_path / "home")
    return tmp_path / "home"


def ask(home: Path) -> Answers:
    with outcrop.open(home / "index.db") as engine:
        return [
            [(hit.text, round(hit.score, 5)) for hit in engine.search(query, mode=mode).hits]  # type: ignore[arg-type]
            for query, mode in QUERIES
        ]


def problems(home: Path) -> list[str]:
    with outcrop.open(home / "index.db") as engine:
        return list(engine.parts.index.check())


def spoil(home: Path, name: str, how: str) -> bool:
    """Damage an array in every file of the index; whether that changed anything."""
    changed = False
    for file in (home / "index.db.arrays").glob("segment-*"):
        content = bytearray(file.read_bytes())
        length = int.from_bytes(content[8:12], "little")
        base = -(-(16 + length) // 64) * 64
        start = base + {row[0]: row[3] for row in json.loads(content[16 : 16 + length])["arrays"]}[name]
        size = map_watched(file)[0][name].nbytes if name in ARRAYS else 64
        at, end = start + size // 3, start + size // 3 + max(1, size // 6)
        if not size:
            continue
        worse = bytes(end - at) if how == "zeroed" else bytes(byte ^ 0x55 for byte in content[at:end])
        changed |= content[at:end] != worse
        content[at:end] = worse
        file.unlink()
        file.write_bytes(content)
    return changed


@pytest.mark.parametrize("how", ["zeroed", "flipped"])
@pytest.mark.parametrize("name", [*ARRAYS, "checksums"])
def test_a_damaged_array_of_any_kind_changes_no_answer_and_is_made_again(
    laid: Path, home: Path, name: str, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    expected = ask(laid)
    assert all(expected)
    changed = spoil(home, name, how)
    assert changed == bool(problems(home))
    with caplog.at_level(logging.WARNING):
        assert ask(home) == expected
    if changed and name != "used_order":  # which these questions may leave untouched: then the doctor says it
        assert "damaged" in caplog.text
    with outcrop.open(home / "index.db") as engine:
        assert all(check.ok for check in engine.doctor(repair=True) if "search" in check.name)
    assert problems(home) == []
    assert ask(home) == expected


def test_only_the_damaged_part_is_made_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted((home / "index.db.arrays").glob("segment-*"), key=lambda file: file.stat().st_size)
    small = len(map_watched(files[0])[0]["chunk_ids"])
    assert len(files) == 2
    built: list[int] = []

    def counting(feed, *rest):  # type: ignore[no-untyped-def]
        built.append(len(feed))
        return build_segment(feed, *rest)

    monkeypatch.setattr(columns, "build_segment", counting)
    content = bytearray(files[0].read_bytes())
    content[len(content) // 2] ^= 1
    files[0].unlink()
    files[0].write_bytes(content)
    ask(home)
    assert sum(built) <= small
    assert problems(home) == [] or sum(built) == 0  # untouched by these questions


def test_a_merge_does_not_give_damage_new_checksums(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(home: Path) -> None:
        with outcrop.open(home / "index.db") as engine:
            engine.delete(engine.documents()[-1].id)
            engine.add(text="A second segment: the copper kettle sings.", id="late")
            engine.parts.index.purge()

    whole = tmp_path / "whole"
    shutil.copytree(home, whole)
    change(whole)
    spoil(home, "vectors", "zeroed")
    with caplog.at_level(logging.WARNING):
        change(home)
    assert "rebuilt that part" in caplog.text
    assert ask(home) == ask(whole), "as if nothing had been damaged"
    assert problems(home) == []


@pytest.mark.parametrize("size", [0, 1, 7, 8, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 5])
def test_every_byte_counts(size: int) -> None:
    data = np.frombuffer(np.random.default_rng(3).bytes(size), np.uint8).copy()
    sums = sum_blocks(data)
    Watched(data, sums, "segment", "rows").require()
    for at in {0, size // 2, size - 1} if size else ():
        worse = data.copy()
        worse[at] ^= 1
        watched = Watched(worse, sums, "segment", "rows")
        with pytest.raises(DamagedArrays, match="segment/rows"):
            watched.require()
        with pytest.raises(DamagedArrays):
            Watched(worse, sums, "segment", "rows").require_rows(np.array([at]))
        with pytest.raises(DamagedArrays):
            Watched(worse, sums, "segment", "rows").require_slices(np.array([at]), np.array([at + 1]))
        for row in range(0, size, BLOCK_BYTES):
            if row // BLOCK_BYTES != at // BLOCK_BYTES:  # other blocks are as they were
                Watched(worse, sums, "segment", "rows").require_rows(np.array([row]))
