"""The overview counts what is there, and its examples find something."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.sources.repositories import commit, git, make

import outcrop
from outcrop.records import Filter
from outcrop.serve.overview import FacetValue, make_overview

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
        found = make_overview(engine, Filter())
        facets = found.facets
        assert (found.documents, found.counted) == (5, 5)
        assert facets.collections == (FacetValue("work", 4), FacetValue("home", 1))
        assert FacetValue("markdown", 2) in facets.kinds
        assert facets.languages == (FacetValue("python", 1),)
        assert facets.folders == (FacetValue("docs/", 2), FacetValue("src/", 1))
        assert facets.tags == (FacetValue("ops", 1),)
        assert facets.dates == tuple(FacetValue(span, 4) for span in ("1d", "1w", "30d", "1y"))
        assert [info.path for info in found.recent][-1] == "docs/old.md"
        narrow = make_overview(engine, Filter(collections=("work",), kinds=("markdown",)))
        assert narrow.documents == 2
        assert narrow.facets.folders == (FacetValue("docs/", 2),)
        assert narrow.facets.dates[0] == FacetValue("1d", 1)
        assert narrow.examples == ()


def test_examples_are_questions_that_the_index_answers(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(fill(tmp_path / "a"))
        heading, symbol, titled = make_overview(engine, Filter()).examples
        assert (heading, symbol, titled) == (
            "when to restart",
            "what does ConnectionPool do",
            "running it kind:markdown",
        )
        assert engine.search(heading).hits[0].document.path == "docs/running.md"
        assert engine.search(symbol).hits[0].document.path == "src/pool.py"


def test_an_index_without_headings_or_code_has_fewer_examples(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "index.db") as engine:
        assert make_overview(engine, Filter()).examples == ()
        engine.add(text="Only a line.", id="line")
        assert make_overview(engine, Filter()).examples == ()


def test_branches_and_worktrees_are_counted_each_in_itself(tmp_path: Path) -> None:
    top = make(tmp_path / "project")
    commit(top, "start", {"a.md": "# A\n\nA page.\n", "b.py": "b = 1\n"})
    git(top, "branch", "old")
    commit(top, "more", {"c.md": "# C\n\nOne more page.\n"})
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(top, branches=["old", "main"])
        engine.add(text="A note about tides.", id="tides", collection="home")
        facets = make_overview(engine, Filter()).facets
        assert facets.refs == (FacetValue("main", 3), FacetValue("old", 2))
        assert facets.worktrees == (FacetValue(str(top), 3),)
        narrow = make_overview(engine, Filter(kinds=("markdown",), ref="old"))
        assert narrow.documents == 1
        assert narrow.facets.refs == (FacetValue("main", 2), FacetValue("old", 1))
        assert make_overview(engine, Filter(collections=("home",))).facets.refs == ()
