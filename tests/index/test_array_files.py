"""Search arrays on disk: taken over when they are ours and whole, made again when not."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.index.rows import WORDS, alive, found, in_store, open_arrays
from tests.store.builders import make_code, make_write, put

import outcrop.index.arrays as arrays_module
import outcrop.index.files as files_module
from outcrop.index import columns
from outcrop.index.arrays import SearchArrays
from outcrop.index.columns import build_segment
from outcrop.index.files import SegmentFiles
from outcrop.index.packed import map_watched
from outcrop.store.sqlite.store import SqliteStore, open_sqlite
from outcrop.text.terms import Terms


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index.db.arrays"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = open_sqlite(tmp_path / "index.db")
    makers = (make_write, make_code)  # every other one is code, with names and summaries
    put(opened, *(makers[i % 2](f"{i}.md", f"{WORDS[i]} stone.\n\nMore of {WORDS[i]}.") for i in range(8)))
    yield opened
    opened.close()


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were made from the store, each time that had to be done."""
    rows: list[int] = []

    def counting(feed, *rest):  # type: ignore[no-untyped-def]
        rows.append(len(feed))
        return build_segment(feed, *rest)

    monkeypatch.setattr(columns, "build_segment", counting)
    return rows


def saved_chunks(folder: Path) -> set[int]:
    """Ids of all chunks in any file of the folder, named by the manifest or not."""
    return {int(chunk) for path in folder.glob("segment-*") for chunk in map_watched(path)[0]["chunk_ids"]}


def test_what_was_saved_is_taken_over_without_building(
    store: SqliteStore, folder: Path, built: list[int]
) -> None:
    first = open_arrays(store, folder)
    store.delete([document.id for document in store.documents()][:1])
    first.save(force=True)
    expected = found(first, first.refresh(), "basalt stone")
    built.clear()
    second = open_arrays(store, folder)
    view = second.refresh()
    assert not built
    assert all(segment.file is not None for segment in view.segments)
    assert alive(view) == in_store(store)
    assert found(second, view, "basalt stone") == expected
    put(store, make_write("new.md", "one more"))
    assert alive(second.refresh()) == in_store(store)
    assert built == [1]


def test_few_rows_are_not_worth_a_file_and_many_are(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = open_arrays(store, folder)
    arrays.save()
    assert not folder.exists()
    monkeypatch.setattr(arrays_module, "SAVE_AFTER_ROWS", 10)
    arrays.save()
    assert (folder / "manifest.json").is_file()
    written = (folder / "manifest.json").stat().st_mtime_ns
    arrays.save()
    assert (folder / "manifest.json").stat().st_mtime_ns == written
    assert arrays.bytes_on_disk() > 1000


def test_without_a_folder_nothing_is_saved(store: SqliteStore, tmp_path: Path) -> None:
    arrays = open_arrays(store)
    arrays.save(force=True)
    arrays.purge()
    assert alive(arrays.rebuild()) == in_store(store)
    assert (arrays.bytes_on_disk(), list(arrays.check())) == (0, [])
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.parametrize(
    "change",
    [{"store": "another"}, {"version": 10**9}, {"model": "x@1/8"}, {"path_weight": 0.1}, {"format": 10**6}],
)
def test_arrays_of_another_store_model_or_time_are_not_taken_over(
    store: SqliteStore, folder: Path, built: list[int], change: dict[str, object]
) -> None:
    open_arrays(store, folder).save(force=True)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8")) | change
    manifest["checksum"] = files_module._checksum(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    built.clear()
    assert alive(open_arrays(store, folder).refresh()) == in_store(store)
    assert sum(built) == 16


def test_an_older_copy_of_the_database_starts_the_arrays_anew(store: SqliteStore, tmp_path: Path) -> None:
    folder = tmp_path / "copy.arrays"
    arrays = open_arrays(store, folder)
    store.close()
    shutil.copyfile(tmp_path / "index.db", tmp_path / "copy.db")
    newer, older = open_sqlite(tmp_path / "index.db"), open_sqlite(tmp_path / "copy.db")
    put(newer, make_write("late.md", "a later text"))
    open_arrays(newer, folder).save(force=True)
    arrays = open_arrays(older, folder)
    assert alive(arrays.refresh()) == in_store(older)
    newer.close()
    older.close()


def test_a_killed_save_harms_nothing_and_leaves_nothing(store: SqliteStore, folder: Path) -> None:
    arrays = open_arrays(store, folder)
    arrays.save(force=True)
    (folder / "segment-1-2.tmp").write_bytes(b"half")
    (folder / "segment-never-named").write_bytes(b"whole")
    (folder / "manifest-9.tmp").write_bytes(b"{")
    again = open_arrays(store, folder)
    assert alive(again.refresh()) == in_store(store)
    assert not list(again.check())
    again.save(force=True)
    left = {path.name for path in folder.iterdir()}
    assert len(left) == 3
    assert {"lock", "manifest.json"} < left


def test_purging_leaves_no_removed_row_on_disk(store: SqliteStore, folder: Path) -> None:
    arrays = open_arrays(store, folder)
    arrays.save(force=True)
    ids = [document.id for document in store.documents()]
    store.delete(ids[:1])
    arrays.save(force=True)
    assert saved_chunks(folder) > set(in_store(store)), "a few removed rows are not worth a rewrite"
    arrays.purge()
    assert saved_chunks(folder) == set(in_store(store))
    store.delete(ids[1:])
    arrays.purge()
    assert saved_chunks(folder) == set()
    assert alive(open_arrays(store, folder).refresh()) == []


def test_what_was_purged_does_not_come_back_with_another_ones_save(store: SqliteStore, folder: Path) -> None:
    mine, theirs = open_arrays(store, folder), open_arrays(store, folder)
    mine.save(force=True)
    theirs.refresh()
    store.delete([store.documents()[0].id])
    mine.purge()
    theirs.save(force=True)
    assert saved_chunks(folder) == set(in_store(store))
    mine.save(force=True)
    for arrays in (mine, theirs, open_arrays(store, folder)):
        assert alive(arrays.refresh()) == in_store(store)


def test_a_save_is_left_to_the_one_that_is_saving_and_a_purge_waits_for_it(
    store: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays_module, "SAVE_AFTER_ROWS", 1)
    arrays = open_arrays(store, folder)
    folder.mkdir()
    with SegmentFiles(folder)._lock(0) as held:
        assert held
        arrays.save()
        assert not (folder / "manifest.json").exists()
        purging = threading.Thread(target=arrays.purge)
        purging.start()
        purging.join(0.2)
        assert purging.is_alive()
    purging.join(60)
    assert saved_chunks(folder) == set(in_store(store))


def test_several_that_save_at_once_leave_whole_files(store: SqliteStore, folder: Path) -> None:
    many = [open_arrays(store, folder) for _ in range(3)]
    failures: list[Exception] = []

    def work(arrays: SearchArrays, number: int) -> None:
        try:
            for i in range(6):
                ids = put(store, make_write(f"{number}-{i % 2}.md", f"{WORDS[i]} again"))
                arrays.save(force=i % 2 == 0)
                own = {chunk.id for chunk in store.chunks_of(ids[0])}
                assert own <= set(alive(arrays.refresh()))
        except Exception as error:  # noqa: BLE001 — whatever it is, the test must hear of it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(arrays, i)) for i, arrays in enumerate(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    for arrays in (*many, open_arrays(store, folder)):
        assert alive(arrays.refresh()) == in_store(store)
        assert not list(arrays.check())


def test_a_folder_that_cannot_be_written_costs_only_a_warning(
    store: SqliteStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("in the way")
    arrays = open_arrays(store, folder)
    arrays.save(force=True)
    assert alive(arrays.refresh()) == in_store(store)
    assert "could not be saved" in caplog.text


def test_damage_is_named_and_a_rebuild_mends_it(store: SqliteStore, folder: Path) -> None:
    arrays = open_arrays(store, folder)
    assert not list(arrays.check())
    arrays.save(force=True)
    assert not list(arrays.check())
    victim = next(folder.glob("segment-*"))
    content = bytearray(victim.read_bytes())
    content[content.index(map_watched(victim)[0]["rows"].tobytes())] ^= 4
    victim.unlink()  # the mapping of the old file stays what it was
    victim.write_bytes(content)
    assert [problem.endswith("/rows is damaged") for problem in arrays.check()] == [True]
    assert alive(arrays.rebuild()) == in_store(store)
    assert not list(arrays.check())
    (folder / "manifest.json").write_text("{", "utf-8")
    assert ["manifest" in problem for problem in arrays.check()] == [True]


def test_any_damage_to_any_file_ends_in_a_rebuild_or_in_the_same_shape(
    store: SqliteStore, folder: Path, tmp_path: Path
) -> None:
    """Flip, cut, overwrite and grow every file: loading never fails, and what is loaded fits together."""
    open_arrays(store, folder).save(force=True)
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    expected = in_store(store)
    rng = random.Random(11)
    names = [path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.name != "lock"]
    terms = Terms()
    for name in names:
        for _ in range(100):
            content = bytearray((whole / name).read_bytes())
            kind = rng.randrange(5)
            if kind == 0:
                content = content[: rng.randrange(len(content))]
            elif kind == 1:
                content[: rng.randrange(1, 40)] = rng.randbytes(20)
            elif kind == 2:
                content += rng.randbytes(rng.randrange(1, 50))
            else:
                for _ in range(rng.randrange(1, 4)):
                    content[rng.randrange(min(len(content), 4096))] = rng.choice(
                        b"0123456789 (),'{}[]<>|\x00\xff"
                    )
            (folder / name).unlink()  # never change a file that may be mapped
            (folder / name).write_bytes(content)
            view = SearchArrays(store, folder, terms, 0.5).refresh()
            assert view.rows == len(expected)
            if name.name == "manifest.json":
                assert alive(view) == expected
        (folder / name).unlink()
        shutil.copyfile(whole / name, folder / name)
    assert alive(open_arrays(store, folder).refresh()) == expected
