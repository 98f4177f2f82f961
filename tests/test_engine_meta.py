"""Metadata of one's own, from adding it to finding by it; the awaited calls, rows and iterators."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import outcrop
from outcrop.engine import Engine, open_engine
from outcrop.errors import Cancelled, ConfigError, QueryError, SourceError
from outcrop.records import Filter, Text
from outcrop.records.where import Compare
from outcrop.system.limits import check_wanted


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(tmp_path / "index.db") as engine:
        yield engine


def fill(kb: Engine) -> None:
    kb.add_texts(
        [
            Text("The comet was seen in May.", id="a", meta={"year": 2020, "authors": ["Ann Lee", "Bo"]}),
            Text("The comet was seen in June.", id="b", meta={"year": 2021, "seen": date(2021, 6, 2)}),
            Text("---\nyear: 2022\nauthors: [Cy]\n---\nThe comet was seen in July.", id="c.md"),
            Text("The comet was seen in August.", id="d"),
        ]
    )


def found(kb: Engine, where: str) -> list[str]:
    return sorted(hit.document.uri for hit in kb.search("comet seen", where=where, merge=False, floor=0).hits)


def test_documents_are_found_by_what_is_known_of_them(kb: Engine) -> None:
    fill(kb)
    assert found(kb, "year >= 2021") == ["b", "c.md"]
    assert found(kb, 'authors contains "lee" or year == 2022') == ["a", "c.md"]
    assert found(kb, "seen < 2021-07-01") == ["b"]
    assert found(kb, "not year exists") == ["d"]
    assert kb.count(Filter(where="year exists")) == 3
    hits = kb.search("comet", where=Compare("year", "==", 2020)).hits
    assert hits[0].document.meta == {"year": 2020, "authors": ("Ann Lee", "Bo")}
    assert kb.context("comet", where="year == 2020").sources[0].hit.document.uri == "a"
    assert kb.search("comet", where="year == 1999").reason == "filtered_out"
    assert kb.search("comet", where="year == 1999").detail == "no document passes the filters"
    misspelt = kb.search("comet", where="year > 1 and yaer == 2020")
    assert misspelt.detail == "no document passes the filters: none has yaer; did you mean year?"
    assert "none has qqq; they have " in kb.search("comet", where='qqq contains "x"').detail


def test_a_condition_that_cannot_be_understood_is_told_before_anything_is_searched(kb: Engine) -> None:
    with pytest.raises(QueryError, match=r"character 6.*write `==`"):
        kb.search("comet", where="year = 2020")


def test_metadata_alone_changes_without_another_embedding(kb: Engine) -> None:
    fill(kb)
    before = kb.get("a")
    report = kb.add(text="The comet was seen in May.", id="a", meta={"year": 1986})
    assert (report.changed, report.embedded) == (1, 0)
    assert (kb.get("a").id, kb.get("a").meta) == (before.id, {"year": 1986})
    assert found(kb, "year == 1986") == ["a"]
    assert kb.add(text="The comet was seen in May.", id="a", meta={"year": 1986}).unchanged == 1
    assert kb.add(text="The comet was seen in May.", id="a").unchanged == 1
    assert kb.get("a").meta == {"year": 1986}


def test_what_is_given_counts_before_what_the_text_says_and_is_unchanged_the_second_time(kb: Engine) -> None:
    text = "---\nyear: 2022\nplace: Ulm\n---\nThe comet."
    for count in ("added", "unchanged"):
        report = kb.add(text=text, id="c.md", meta={"year": 1986})
        assert getattr(report, count) == 1
        assert kb.get("c.md").meta == {"year": 1986, "place": "Ulm"}


def test_secrets_are_masked_in_metadata(kb: Engine) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kb.add(
        text="A note.",
        id="n",
        meta={"note": f"use {token}", "tokens": ["fine", token], "password": "hunter2-x9!Q"},
    )
    stored = kb.get("n").meta
    assert token not in str(stored)
    assert "hunter2" not in str(stored)
    assert found(kb, 'note contains "ghp_"') == []
    again = kb.add(
        text="A note.",
        id="n",
        meta={"note": f"use {token}", "tokens": ["fine", token], "password": "hunter2-x9!Q"},
    )
    assert again.unchanged == 1


@pytest.mark.parametrize(
    ("meta", "advice"),
    [
        ({"x": {"nested": 1}}, "is a dict; give text"),
        ({"x": None}, "is a NoneType; give text"),
        ({"x": float("nan")}, "give it as text"),
        ({"x": 2**60}, "give it as text"),
        ({"x": "y" * 10_001}, "give at most 10,000"),
        ({"x": ["y"] * 1001}, "give at most 1,000"),
        ({"": 1}, "a name is a line of text"),
        ({"a\nb": 1}, "a name is a line of text"),
        ({"k" * 101: 1}, "at most 100"),
        ({f"k{i}": 1 for i in range(101)}, "at most 100"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_to_do(kb: Engine, meta: Any, advice: str) -> None:
    with pytest.raises(SourceError, match=advice):
        kb.add(text="A note.", meta=meta)
    report = kb.add_texts([Text("A note.", id="bad", meta=meta), Text("Another.", id="good")])
    assert (report.added, [failure.path for failure in report.failed]) == (1, ["bad"])


def test_files_have_their_own_metadata(kb: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nyear: 2020\n---\nThe comet.")
    with pytest.raises(SourceError, match="front matter"):
        kb.add(tmp_path / "a.md", meta={"year": 1})
    kb.add(tmp_path / "a.md")
    assert kb.documents(Filter(where="year == 2020"))[0].path == "a.md"


def test_a_copy_of_the_index_is_searched_by_the_same_conditions(kb: Engine, tmp_path: Path) -> None:
    fill(kb)
    with open_engine(tmp_path / "copy.db") as copy:
        assert not kb.move_to(copy).problems
        assert found(copy, "seen == 2021-06-02") == ["b"]
        assert copy.get("b").meta == kb.get("b").meta


# ---------------------------------------------------------------------- awaited calls


def test_awaited_calls_answer_as_the_others_do(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_engine(tmp_path / "index.db") as kb:
            await kb.aadd(text="The comet was seen in May.", id="a", meta={"year": 2020})
            answers = await asyncio.gather(*(kb.asearch(f"comet {i}", limit=1) for i in range(8)))
            assert [answer.hits[0].document.uri for answer in answers] == ["a"] * 8
            assert (await kb.acontext("comet", budget_tokens=200)).sources
            assert (await kb.aget("a")).meta == {"year": 2020}
            assert await kb.adelete("a") == 1
            assert await kb.acount() == 0

    asyncio.run(run())


def test_a_call_that_is_cancelled_stops_its_work_before_it_ends(
    kb: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), []

    def count(self: Engine) -> int:
        began.set()
        try:
            while True:
                check_wanted()
        finally:
            ended.append(True)

    from outcrop.engine.awaiting import in_thread

    async def run() -> None:
        task = asyncio.ensure_future(in_thread(count)(kb))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended

    asyncio.run(run())


def test_an_ingest_that_is_cancelled_keeps_what_was_committed_and_stops(kb: Engine) -> None:
    seen = threading.Event()
    told: list[int] = []

    def texts() -> Iterator[Text]:
        for number in range(10**9):
            told.append(number)
            if number == 50:
                seen.set()
            yield Text(f"note {number}", id=f"n{number}")

    async def run() -> None:
        task = asyncio.ensure_future(kb.aadd_texts(texts()))
        await asyncio.to_thread(seen.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    count = len(told)
    assert count < 10**9
    assert kb.add(text="after").added == 1
    assert len(told) == count


def test_a_caller_may_stop_an_awaited_call_as_any_other(kb: Engine) -> None:
    async def run() -> None:
        await kb.aadd_texts([Text("note")], stopped=lambda: True)

    with pytest.raises(Cancelled):
        asyncio.run(run())


# ---------------------------------------------------------------------- rows and iterators


def test_everything_is_iterated_over_some_at_a_time(kb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outcrop.engine.reading.READ_AT_ONCE", 3)
    kb.add_texts(Text(f"# One\n\nnote {i}", id=f"n{i}.md", meta={"even": i % 2 == 0}) for i in range(10))
    assert [info.uri for info in kb.iter_documents()] == [f"n{i}.md" for i in range(10)]
    chunks = list(kb.iter_chunks(Filter(where="even == true")))
    assert [chunk.document.uri for chunk in chunks] == [f"n{i}.md" for i in range(0, 10, 2)]
    assert chunks[0].headings == (("One",),)
    going = kb.iter_documents()
    next(going)
    kb.delete("n5.md")
    assert len(list(going)) == 8


def test_hits_documents_and_chunks_are_rows(kb: Engine) -> None:
    fill(kb)
    answer = kb.search("comet May", limit=2)
    (first, _) = answer.to_rows()
    assert (first["uri"], first["meta"]) == ("a", {"year": 2020, "authors": ["Ann Lee", "Bo"]})
    assert {"score", "text", "path", "line_start", "headings", "document_id"} <= first.keys()
    documents = outcrop.to_rows(kb.iter_documents())
    assert [row["uri"] for row in documents] == ["a", "b", "c.md", "d"]
    assert [row["index"] for row in outcrop.to_rows(kb.iter_chunks())] == [0, 0, 0, 0]


def test_rows_are_an_arrow_table_where_pyarrow_is_there(kb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(kb)
    table = kb.search("comet").to_arrow()
    assert table.num_rows == 4
    assert {"score", "text", "meta"} <= set(table.column_names)
    assert '{"year": 2021, "seen": "2021-06-02"}' in table.column("meta").to_pylist()
    assert outcrop.to_arrow(kb.iter_documents()).column("uri").to_pylist() == ["a", "b", "c.md", "d"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match="pip install pyarrow"):
        kb.search("comet").to_arrow()
