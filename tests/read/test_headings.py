"""Small sections share a chunk: it names every heading it holds, and a hit the one its matching lines stand under."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.chunk.boundaries import Outline
from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.parse.markdown import find_headings, read_markdown
from outcrop.read.explain import sections_of
from outcrop.records import Document, DocumentInfo, StoredChunk

SHARED = """# Design

## Retries

A failed call is tried three times, with a pause that doubles.

## Storage

Rows lie in SQLite.

## Colours

The page is teal.
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as opened:
        yield opened


def add(engine: Engine, folder: Path, text: str, name: str = "design.md") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    engine.add(folder)


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("where do rows lie", "Storage"),
        ("storage", "Storage"),
        ("what colour is the page?", "Colours"),
        ("how often is a failed call tried", "Retries"),
        ('"lie in SQLite"', "Storage"),
    ],
)
def test_a_hit_has_the_heading_its_matching_lines_stand_under(
    query: str, section: str, engine: Engine, tmp_path: Path
) -> None:
    add(engine, tmp_path / "docs", SHARED)
    [chunk] = engine.chunks("design.md")
    assert chunk.text.startswith("# Design")
    hit = engine.search(query).hits[0]
    assert hit.heading_path == ("Design", section)
    assert hit.headings == (
        ("Design",),
        ("Design", "Retries"),
        ("Design", "Storage"),
        ("Design", "Colours"),
    )
    assert hit.text == chunk.text


def test_a_hit_by_meaning_alone_has_the_heading_of_its_largest_section(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "docs", SHARED)
    hit = engine.search("database", mode="semantic", floor=0.0).hits[0]
    assert hit.heading_path == ("Design", "Retries")
    assert ("Design", "Storage") in hit.headings


def test_merged_chunks_keep_the_heading_of_the_best_and_name_all(engine: Engine, tmp_path: Path) -> None:
    long = "".join(f"\n## Part {number}\n\n" + f"Filler {number} says little. " * 25 for number in range(3))
    add(
        engine,
        tmp_path / "docs",
        "# Guide\n" + long + "\n## Last\n\nThe zeppelin lands at noon, and filler waits.\n",
    )
    hit = engine.search("zeppelin filler").hits[0]
    assert len(hit.chunk_ids) > 1
    assert hit.heading_path == ("Guide", "Last")
    assert hit.headings[-1] == ("Guide", "Last")
    assert len(hit.headings) > 1


def test_what_is_left_out_has_its_heading_too(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "docs", SHARED)
    (tmp_path / "docs" / "other.md").write_text("# Rows\n\nRows lie in rows, and rows lie again.\n")
    engine.add(tmp_path / "docs")
    answer = engine.search("where do rows lie", limit=1, explain=True)
    paths = {answer.hits[0].heading_path, *(item.hit.heading_path for item in answer.left_out)}
    assert ("Design", "Storage") in paths


def test_rst_and_html_name_their_headings(engine: Engine, tmp_path: Path) -> None:
    rst = "Design\n======\n\nRetries\n-------\n\nTried three times in all.\n\nStorage\n-------\n\nRows in SQLite.\n"
    add(engine, tmp_path / "docs", rst, "design.rst")
    html = "<h1>Plan</h1><h2>Doors</h2><p>Made of oak and iron.</p><h2>Windows</h2><p>Panes are triple.</p>"
    add(engine, tmp_path / "docs", html, "plan.html")
    assert engine.search("rows in SQLite").hits[0].heading_path == ("Design", "Storage")
    assert engine.search("triple panes").hits[0].heading_path == ("Plan", "Windows")


def test_plain_text_and_code_have_no_headings_of_their_own(engine: Engine, tmp_path: Path) -> None:
    add(
        engine,
        tmp_path / "docs",
        "# not a heading\n\nwords about otters\n\n# nor this\n\nmore otters\n",
        "a.txt",
    )
    assert engine.search("otters").hits[0].headings == ()


# ------------------------------------------------------------------ against what the chunker knows


def stored(document: Document, options: ChunkOptions) -> list[StoredChunk]:
    info = DocumentInfo(
        *(1, "c", "x", "x", "text", None, document.kind, document.title, (), {}, "", None, None),
        *(0.0, 0.0, 1, len(document.text)),
    )
    return [
        StoredChunk(
            i, info, c.index, c.start, c.end, c.text, c.tokens, c.heading_path, c.line_start, c.line_end, None
        )
        for i, c in enumerate(chunk_document(document, options))
    ]


LINES = st.lists(
    st.one_of(
        st.builds(
            lambda level, title: f"{'#' * level} {title}", st.integers(1, 4), st.sampled_from("ABCDEFGH")
        ),
        st.sampled_from(["Some words here.", "", "A longer line of text that fills a chunk " * 6, "- item"]),
    ),
    max_size=40,
)


def in_order(levels: list[int]) -> bool:
    """Whether no level is skipped, as in documents that people write."""
    return all(after <= before + 1 for before, after in zip([0, *levels], levels, strict=False))


@given(LINES, st.sampled_from(["auto", "headings"]))
def test_paths_are_those_of_the_whole_document(lines: list[str], strategy: str) -> None:
    text = "\n\n".join(lines)
    headings = find_headings(text)
    if not in_order([heading.level for heading in headings]):
        return
    # Titles that occur once: of two sections of one name and size in a chunk nobody could tell which is meant.
    titles = [heading.title for heading in headings]
    if len(set(titles)) != len(titles):
        return
    document = read_markdown(text, "x.md")
    outline = Outline(text, document.headings)
    for chunk in stored(document, ChunkOptions(strategy)):  # type: ignore[arg-type]
        sections = sections_of(chunk)
        assert sections[0].start == 0
        assert sections[-1].end == len(chunk.text)
        for section in sections:
            at = chunk.start + section.start
            assert section.path == outline.path(at, at + 1)


FRONT = "---\ntitle: Fog\ntags: [network, reliability]\n---\n"


@pytest.mark.parametrize(
    ("text", "query", "path", "headings"),
    [
        (FRONT + "\nA lighthouse keeper writes of fog, without any heading.\n", "lighthouse keeper", (), ()),
        (FRONT + "\nA lighthouse keeper writes of fog, without any heading.\n", "network reliability", (), ()),
        (
            FRONT + "# Light\n\nA lighthouse keeper writes of fog.\n",
            "lighthouse keeper",
            ("Light",),
            (("Light",),),
        ),
        (FRONT + "# Light\n\nA lighthouse keeper writes of fog.\n", "network reliability", (), (("Light",),)),
        (FRONT + "Light\n---\n\nA lighthouse keeper.\n", "lighthouse keeper", ("Light",), (("Light",),)),
        ("+++\ntitle = 'Fog'\n---\n+++\n# Light\n\nA keeper.\n", "light keeper", ("Light",), (("Light",),)),
    ],
)
def test_front_matter_is_not_a_heading(
    text: str,
    query: str,
    path: tuple[str, ...],
    headings: tuple[tuple[str, ...], ...],
    engine: Engine,
    tmp_path: Path,
) -> None:
    add(engine, tmp_path / "notes", text)
    hit = engine.search(query).hits[0]
    assert (hit.heading_path, hit.headings) == (path, headings)
    assert engine.chunks("design.md")[0].headings == headings
