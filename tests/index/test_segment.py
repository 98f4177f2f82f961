"""Segments: made, merged, saved, mapped again, and damaged."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.index.rows import arrays_of, assert_same, feed_row, segment_of_texts

import outcrop.index.columns as columns_module
import outcrop.index.merging as merging_module
from outcrop.index.columns import MAX_FREQUENCY, build_segment
from outcrop.index.merging import merge_segments
from outcrop.index.names import MODULE, NAME_ARRAYS, PACKAGE, TITLE
from outcrop.index.packed import ARRAYS, damaged_arrays, load_segment, map_watched, save_segment, write_arrays
from outcrop.index.segment import Segment
from outcrop.records import CodeNotes, Definition, FeedRow, Mention, ReferenceKind, Role
from outcrop.text.terms import Terms

TERMS = Terms()
DIMENSIONS = 70
FILE_TABLES = ("titles", "homes", "stems", "folders")


NAMES = ("pool", "Pool", "_pool", "acquire", "close", "é")
KINDS = ("class", "function", "field", "prototype", "header")
QUALIFIERS = ("", "self", "Pool", "a.b", "f()")


def code_notes() -> st.SearchStrategy[CodeNotes]:
    """What a chunk of code may declare and use, over few names, so that they meet."""
    name = st.sampled_from(NAMES)
    defines = st.builds(Definition, name, st.sampled_from(KINDS), st.sampled_from(("", "Pool")), st.just(1))
    kinds = st.sampled_from(get_args(ReferenceKind))
    paths = st.sampled_from(("a/b/pool", "./pool.ts", "..", "index", "pkg/__init__.py")) | name
    mentions = st.builds(Mention, paths, kinds, st.sampled_from(QUALIFIERS), st.integers(1, 300))
    return st.builds(
        CodeNotes,
        kind=st.sampled_from(KINDS),
        defines=st.lists(defines, max_size=3).map(tuple),
        mentions=st.lists(mentions, max_size=4).map(tuple),
    )


@st.composite
def feeds(draw: st.DrawFn, most: int = 50) -> list[FeedRow]:
    """Rows as a store could feed them: empty texts, missing and zero vectors, several rows a document, code or not."""
    count = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = draw(st.lists(st.sampled_from("vzn"), min_size=count, max_size=count))
    summaries = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    texts = draw(st.lists(st.text(alphabet="ab c_漢.A9", max_size=30), min_size=count, max_size=count))
    notes = draw(st.lists(st.none() | code_notes(), min_size=count, max_size=count))
    roles = draw(st.lists(st.sampled_from(get_args(Role)), min_size=count, max_size=count))
    rows = []
    for i, (kind, text) in enumerate(zip(kinds, texts, strict=True)):
        vector = None if kind == "n" else rng.standard_normal(DIMENSIONS).astype(np.float16) * (kind == "v")
        code = i // 3 % 2 == 0
        rows.append(
            feed_row(
                3 * i + 2,
                text,
                document_id=i // 3,
                vector=vector,
                path_vector=np.full(DIMENSIONS, i // 3, np.float16),
                summary_vector=rng.standard_normal(DIMENSIONS).astype(np.float16) if summaries[i] else None,
                kind="code" if code else "markdown",
                language=("python", "go", "tsx")[i // 3 % 3] if code else "",
                role=roles[i // 3],
                title=f"Title {i // 3}",
                heading_path=(f"Title {i // 3}", "Part") if i % 2 else (),
                path=f"src/part{i // 9}/{('file', 'Pool', 'index')[i // 3 % 3]}{i // 3}.py"
                if i > 5
                else "a.md",
                code=notes[i],
            )
        )
    return rows


def build(rows: list[FeedRow]) -> Segment:
    return build_segment(rows, TERMS, DIMENSIONS, 0.5)


def split_and_merge(rows: list[FeedRow], bounds: list[int], gone: NDArray[np.bool_]) -> Segment:
    """The rows built in parts, ending at `bounds`, and merged without those that are gone."""
    parts = list(itertools.pairwise([0, *bounds, len(rows)]))
    return merge_segments(
        [build(rows[start:end]) for start, end in parts], [gone[start:end] for start, end in parts]
    )


def living(rows: list[FeedRow], gone: NDArray[np.bool_]) -> list[FeedRow]:
    return [row for row, deleted in zip(rows, gone, strict=True) if not deleted]


@settings(max_examples=80, deadline=None)
@given(rows=feeds(), data=st.data())
def test_merging_any_split_is_building_the_kept_documents_at_once(
    rows: list[FeedRow], data: st.DataObject
) -> None:
    documents = len(rows) // 3
    bounds = [3 * cut for cut in sorted(data.draw(st.lists(st.integers(0, documents), max_size=4)))]
    deleted = data.draw(st.lists(st.booleans(), min_size=documents + 1, max_size=documents + 1))
    gone = np.array([deleted[i // 3] for i in range(len(rows))], np.bool_)
    merged = split_and_merge(rows, bounds, gone)
    assert_same(merged, build(living(rows, gone)))
    # A merge of merges too: what is written once may be rewritten many times.
    again = merge_segments([merged], [np.zeros(len(merged), np.bool_)])
    assert_same(again, merged)


def file_tables(segment: Segment) -> dict[str, list[object]]:
    """What is known of each row's file, row by row."""
    return {name: getattr(segment, name)[segment.files].tolist() for name in FILE_TABLES}


def without_files(segment: Segment) -> Segment:
    """A segment less what is kept once a document: its file's tables, and its declarations as a module and by title."""
    names = segment.names
    own = ~np.isin(names.defined_kinds, (MODULE, PACKAGE, TITLE))
    kept = {name: getattr(names, name)[own] for name in NAME_ARRAYS if name.startswith("defined")}
    bare = {name: getattr(segment, name)[:0] for name in ("files", *FILE_TABLES)}
    return replace(segment, **bare, names=replace(names, **kept))


@settings(max_examples=80, deadline=None)
@given(rows=feeds(), data=st.data())
def test_documents_cut_apart_anywhere_merge_to_the_same_rows(rows: list[FeedRow], data: st.DataObject) -> None:
    """A batch of the feed may end within a document: each part then knows the file, and the rows are the same."""
    bounds = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    merged, at_once = split_and_merge(rows, bounds, gone), build(living(rows, gone))
    assert_same(without_files(merged), without_files(at_once))
    assert file_tables(merged) == file_tables(at_once)


@settings(max_examples=40, deadline=None)
@given(rows=feeds(20))
def test_a_segment_comes_back_from_disk_as_it_was(
    rows: list[FeedRow], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("segment") / "one"
    segment = build(rows)
    save_segment(segment, file)
    loaded = load_segment(file, len(rows))
    assert_same(loaded, segment)
    assert loaded.file == file
    assert not list(damaged_arrays(file))
    assert_same(
        merge_segments([loaded, segment], [np.zeros(len(segment), np.bool_), np.ones(len(segment), np.bool_)]),
        segment,
    )


def test_every_array_is_saved() -> None:
    assert set(ARRAYS) == set(arrays_of(build([])))
    for name, array in arrays_of(build([feed_row(1, "a text")])).items():
        assert (array.dtype, array.ndim) == (np.dtype(ARRAYS[name][0]), ARRAYS[name][1]), name


def test_postings_hold_each_row_once_in_order() -> None:
    segment = segment_of_texts(["hay needle", "hay", "needle needle"], TERMS)
    rows, frequencies = segment.postings(TERMS.of("needle")[0]) or pytest.fail("not there")
    assert (rows.tolist(), frequencies.tolist()) == ([0, 2], [1, 2])
    assert segment.postings(TERMS.of("absent")[0]) is None
    assert segment_of_texts([], TERMS).postings(1) is None


def test_a_word_repeated_without_end_counts_up_to_a_bound() -> None:
    segment = segment_of_texts(["word " * 1000], TERMS)
    assert segment.frequencies.tolist() == [MAX_FREQUENCY]
    assert segment.lengths.tolist() == [1000]


def test_too_many_rows_for_one_build_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "MAX_BUILD_ROWS", 2)
    with pytest.raises(ValueError, match="too many"):
        segment_of_texts(["a", "b", "c"], TERMS)


def test_vectors_keep_their_direction_and_broken_ones_count_as_none() -> None:
    rng = np.random.default_rng(5)
    good = rng.standard_normal(DIMENSIONS).astype(np.float16)
    bad = [np.full(DIMENSIONS, value, np.float16) for value in (np.nan, np.inf, 0.0)]
    segment = build_segment([feed_row(i, vector=v) for i, v in enumerate([good, *bad])], TERMS, DIMENSIONS, 0.5)
    restored = segment.vectors[0].astype(np.float32) * segment.scales[0]
    unit = good.astype(np.float32) / np.linalg.norm(good.astype(np.float32))
    assert float(restored @ unit) == pytest.approx(1, abs=1e-3)
    assert not segment.vectors[1:].any()
    assert not segment.scales[1:].any()


def test_the_path_pulls_the_vector_by_its_weight() -> None:
    text, path = np.zeros(8, np.float16), np.zeros(8, np.float16)
    text[0], path[1] = 1, 1
    row = feed_row(1, vector=text, path_vector=path)
    for weight in (0.0, 0.5, 2.0):
        segment = build_segment([row], TERMS, 8, weight)
        restored = segment.vectors[0].astype(np.float32) * segment.scales[0]
        expected = np.array([1, weight, 0, 0, 0, 0, 0, 0]) / np.hypot(1, weight)
        np.testing.assert_allclose(restored, expected, atol=0.01)


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, int]:
    """A segment of a few rows on disk: its file and rows."""
    rng = np.random.default_rng(3)
    notes = CodeNotes(defines=(Definition("Pool", "class"),), mentions=(Mention("acquire", "call", "pool"),))
    rows = [
        feed_row(
            i,
            f"text number{i}",
            vector=rng.standard_normal(70).astype(np.float16),
            summary_vector=rng.standard_normal(70).astype(np.float16),
            path=f"src/file{i}.py",
            code=notes,
        )
        for i in range(1, 8)
    ]
    save_segment(build(rows), tmp_path / "segment")
    return tmp_path / "segment", len(rows)


def saved_again(file: Path, **others: NDArray[Any]) -> Path:
    """The file with other arrays in place of some."""
    arrays = {name: array.copy() for name, array in map_watched(file)[0].items()}
    other = file.with_name("other")
    other.unlink(missing_ok=True)
    write_arrays(other, arrays | others)
    return other


def place_of(file: Path, name: str) -> tuple[int, int]:
    """From which byte to which an array lies in its file."""
    content = file.read_bytes()
    length = int.from_bytes(content[8:12], "little")
    base = -(-(16 + length) // 64) * 64
    listed = {other: start for other, _, _, start in json.loads(content[16 : 16 + length])["arrays"]}
    return base + listed[name], base + listed[name] + map_watched(file)[0][name].nbytes


@pytest.mark.parametrize("name", ARRAYS)
def test_a_flipped_byte_is_found(saved: tuple[Path, int], name: str) -> None:
    file, _ = saved
    content = bytearray(file.read_bytes())
    content[place_of(file, name)[1] - 1] ^= 1
    file.unlink()
    file.write_bytes(content)
    assert list(damaged_arrays(file)) == [name]
    file.unlink()
    assert list(damaged_arrays(file)) == ["segment"]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_cannot_be_what_was_saved_are_refused(saved: tuple[Path, int], name: str) -> None:
    file, rows = saved
    array = map_watched(file)[0][name]
    for other in (array.astype(np.float64), array[None], array[:-1], array[:0]):
        with pytest.raises(ValueError, match=r"other"):
            load_segment(saved_again(file, **{name: other}), rows)
    whole = map_watched(file)[0]
    del whole[name]
    write_arrays(file.with_name("without"), whole)
    with pytest.raises(ValueError, match="does not hold the arrays"):
        load_segment(file.with_name("without"), rows)


def test_files_that_cannot_be_what_was_saved_are_refused(saved: tuple[Path, int]) -> None:
    file, rows = saved
    content = file.read_bytes()
    impostors = [
        *(b"", b"PK\x03\x04" + content, content[:7], content[:15], content[:100], content[:-1], content[:-64]),
        *(content + b"\0", content + bytes(64), b"junk" * 50, content[:20] + b"x" + content[21:]),
    ]
    for impostor in impostors:
        file.unlink()
        file.write_bytes(impostor)
        with pytest.raises((ValueError, OSError)):
            load_segment(file, rows)
    file.unlink()
    file.write_bytes(content)
    load_segment(file, rows)
    with pytest.raises(ValueError, match="another number of rows"):
        load_segment(file, rows + 1)


def test_offsets_that_lead_astray_are_refused(saved: tuple[Path, int]) -> None:
    file, rows = saved
    for place, value in ((0, 1), (-1, 10**9), (2, 10**9)):
        wrong = map_watched(file)[0]["offsets"].copy()
        wrong[place] = value
        with pytest.raises(ValueError, match="belong together"):
            load_segment(saved_again(file, offsets=wrong), rows)


def test_a_segment_of_very_many_rows_has_wider_numbers_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parts = [
        segment_of_texts([f"word{i} stone" for i in range(n, n + 3)], TERMS, first_id=n + 1) for n in (0, 3)
    ]
    deleted = [np.zeros(3, np.bool_)] * 2
    assert merge_segments(parts, deleted).rows.dtype == np.uint16
    monkeypatch.setattr(merging_module, "row_type", lambda _: np.uint32)
    wide = merge_segments(parts, deleted)
    assert wide.rows.dtype == np.uint32
    save_segment(wide, tmp_path / "wide")
    assert_same(load_segment(tmp_path / "wide", 6), wide)


@pytest.mark.parametrize("at_once", [1, 3, 7])
@pytest.mark.parametrize("gone", [(), (0, 4), (1, 2, 3)], ids=str)
def test_postings_that_are_moved_some_at_a_time_are_those_moved_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int, gone: tuple[int, ...]
) -> None:
    texts = [f"word{i % 3} stone stone{i} river" for i in range(6)]
    parts = [segment_of_texts(texts[n : n + 3], TERMS, first_id=n + 1) for n in (0, 3)]
    deleted = np.isin(np.arange(6), gone)
    whole = merge_segments(parts, [deleted[:3], deleted[3:]])
    monkeypatch.setattr(merging_module, "POSTINGS_AT_ONCE", at_once)
    assert_same(merge_segments(parts, [deleted[:3], deleted[3:]]), whole)
    again = segment_of_texts([text for text, is_gone in zip(texts, deleted, strict=True) if not is_gone], TERMS)
    for name in ("terms", "offsets", "rows", "frequencies"):
        assert getattr(whole, name).tolist() == getattr(again, name).tolist()
