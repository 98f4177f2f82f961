"""The overview counts what is there, and its examples find something."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.sources.repositories import commit, git, make

import outcrop
from outcrop.engine import Engine
from outcrop.records import Filter
from outcrop.serve.overview import KEPT, FacetValue, Overviews

POOL = 'class ConnectionPool:\n    """Keeps connections."""\n\n    def acquire(self) -> None:\n        """Take."""\n'
NOTES = "# Running it\n\n## When to restart\n\nRestart after a change of the settings, never before.\n"


def fill(folder: Path) -> Path:
    for name, text in {
        "src/pool.py": POOL,
        "docs/running.md": f"---\ntags: [ops]\n---\n{NOTES}",
        "docs/old.md": "# Old\n\nNobody changed this for years.\n",
        "top.txt": "A plain text at the top.\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    long_ago = time.time() - 400 * 86_400
    os.utime(folder / "docs/old.md", (long_ago, long_ago))
    return folder


def test_facets_count_documents_by_every_filter_of_the_box(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(fill(tmp_path / "a"), collection="work")
        engine.add(text="A note about tides.", id="tides", collection="home")
        found = Overviews(engine).make(Filter())
        facets = found.facets
        assert (found.documents, found.counted) == (5, 5)
        assert facets.collections == (FacetValue("work", 4), FacetValue("home", 1))
        assert FacetValue("markdown", 2) in facets.kinds
        assert facets.languages == (FacetValue("python", 1),)
        assert facets.folders == (FacetValue("docs/", 2), FacetValue("src/", 1))
        assert facets.tags == (FacetValue("ops", 1),)
        assert facets.dates == tuple(FacetValue(span, 4) for span in ("1d", "1w", "30d", "1y"))
        assert [info.path for info in found.recent][-1] == "docs/old.md"
        narrow = Overviews(engine).make(Filter(collections=("work",), kinds=("markdown",)))
        assert narrow.documents == 2
        assert narrow.facets.folders == (FacetValue("docs/", 2),)
        assert narrow.facets.dates[0] == FacetValue("1d", 1)
        assert narrow.examples == ()


def test_examples_are_questions_that_the_index_answers(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(fill(tmp_path / "a"))
        heading, symbol, titled = Overviews(engine).make(Filter()).examples
        assert (heading, symbol, titled) == (
            "when to restart",
            "what does ConnectionPool do",
            "running it kind:markdown",
        )
        assert engine.search(heading).hits[0].document.path == "docs/running.md"
        assert engine.search(symbol).hits[0].document.path == "src/pool.py"


def test_a_heading_that_asks_is_the_better_example(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    filler = "Some words of prose that fill a section of the guide. " * 40
    sections = ("Beside the pool", "Quiet nights", "How connections end", "Quiet days")
    (tmp_path / "a" / "guide.md").write_text(
        "# Guide\n\n" + "\n".join(f"## {title}\n\n{filler}\n" for title in sections)
    )
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(tmp_path / "a")
        assert Overviews(engine).make(Filter()).examples[0] == "how connections end"


def test_an_index_without_headings_or_code_has_fewer_examples(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        assert Overviews(engine).make(Filter()).examples == ()
        engine.add(text="Only a line.", id="line")
        assert Overviews(engine).make(Filter()).examples == ()


def test_branches_and_worktrees_are_counted_each_in_itself(tmp_path: Path) -> None:
    top = make(tmp_path / "project")
    commit(top, "start", {"a.md": "# A\n\nA page.\n", "b.py": "b = 1\n"})
    git(top, "branch", "old")
    commit(top, "more", {"c.md": "# C\n\nOne more page.\n"})
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(top, branches=["old", "main"])
        engine.add(text="A note about tides.", id="tides", collection="home")
        facets = Overviews(engine).make(Filter()).facets
        assert facets.refs == (FacetValue("main", 3), FacetValue("old", 2))
        assert facets.worktrees == (FacetValue(str(top), 3),)
        narrow = Overviews(engine).make(Filter(kinds=("markdown",), ref="old"))
        assert narrow.documents == 1
        assert narrow.facets.refs == (FacetValue("main", 2), FacetValue("old", 1))
        assert Overviews(engine).make(Filter(collections=("home",))).facets.refs == ()


def read_nothing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on an engine that is asked for documents, chunks or counts fails the test."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the index was read again")

    for name in names or ("documents", "chunks", "count", "text", "get"):
        monkeypatch.setattr(Engine, name, refuse)


def test_a_second_visit_reads_nothing_until_the_index_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill(tmp_path / "a")
    with outcrop.open(tmp_path / "index.db") as engine, outcrop.open(tmp_path / "index.db") as other:
        engine.add(folder)
        overviews = Overviews(engine)
        whole, code = overviews.make(Filter()), overviews.make(Filter(kinds=("code",)))
        with monkeypatch.context() as patched:
            read_nothing(patched)
            assert overviews.make(Filter()) == whole
            assert overviews.make(Filter(kinds=("code",))) == code
            with pytest.raises(AssertionError, match="read again"):
                overviews.make(Filter(kinds=("markdown",)))
        (folder / "docs/running.md").write_text(NOTES.replace("When to restart", "Where to look first"))
        other.add(folder)
        changed = overviews.make(Filter())
        assert changed.examples[0] == "where to look first"
        other.delete(where=Filter(paths=("docs/running.md",)))
        assert overviews.make(Filter()).documents == whole.documents - 1


def test_dates_move_with_the_clock_and_nothing_else_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(fill(tmp_path / "a"))
        overviews = Overviews(engine)
        assert overviews.make(Filter()).facets.dates[0] == FacetValue("1d", 3)
        later = time.time() + 3 * 86_400
        monkeypatch.setattr(time, "time", lambda: later)
        read_nothing(monkeypatch, "documents", "chunks")
        assert overviews.make(Filter()).facets.dates[0] == FacetValue("1w", 3)


def test_no_more_than_so_many_overviews_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(text="Only a line.", id="line")
        overviews = Overviews(engine)
        for number in range(KEPT + 1):
            overviews.make(Filter(since=float(number)))
        read_nothing(monkeypatch)
        overviews.make(Filter(since=1.0))
        with pytest.raises(AssertionError, match="read again"):
            overviews.make(Filter(since=0.0))
