"""Raw text has a kind, given or recognised; the chunker can be called by itself; overlap and minimum are settings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import outcrop
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import ConfigError, SourceError
from outcrop.records import Text
from outcrop.sources.text import looks_like_markdown

NOTE = "# My Document\n\nWords at the start.\n\n## Storage\n\nRows lie in SQLite.\n"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as opened:
        yield opened


@pytest.mark.parametrize("name", [None, "my document", "notes/v1.2", "text:1"])
def test_markdown_is_recognised(name: str | None, engine: Engine) -> None:
    engine.add(text=NOTE, id=name)
    [info] = engine.documents()
    assert (info.kind, info.title) == ("markdown", "My Document")
    assert engine.search("rows in SQLite").hits[0].heading_path == ("My Document", "Storage")


def test_many_texts_are_recognised_each_by_itself(engine: Engine) -> None:
    engine.add_texts([Text(NOTE, "a"), Text("Just a line of words.", "b"), Text(NOTE, "c", kind="text")])
    assert {info.uri: info.kind for info in engine.documents()} == {"a": "markdown", "b": "text", "c": "text"}


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("md", "markdown"),
        ("markdown", "markdown"),
        ("MD", "markdown"),
        ("txt", "text"),
        ("text", "text"),
        ("rst", "rst"),
    ],
)
def test_a_kind_can_be_given(kind: str, stored: str, engine: Engine) -> None:
    engine.add(text="Title\n\nsome words", id="a.txt", kind=kind)
    assert engine.get("a.txt").kind == stored


def test_html_can_be_given_as_text(engine: Engine) -> None:
    engine.add(text="<h1>Plan</h1><p>Doors of oak.</p>", id="plan", kind="html")
    assert (engine.get("plan").title, engine.text("plan")) == ("Plan", "# Plan\n\nDoors of oak.")


def test_the_extension_of_an_id_decides_where_no_kind_is_given(engine: Engine) -> None:
    engine.add(text=NOTE, id="a.txt")
    engine.add(text="# a comment\n\nimport os\n", id="b.py")
    assert (engine.get("a.txt").kind, engine.get("b.py").kind) == ("text", "code")


def test_another_kind_reads_a_text_again(engine: Engine) -> None:
    engine.add(text=NOTE, id="a", kind="text")
    assert engine.get("a").title == "# My Document"
    assert engine.add(text=NOTE, id="a", kind="text").unchanged == 1
    assert engine.add(text=NOTE, id="a", kind="md").changed == 1
    assert engine.get("a").title == "My Document"


def test_an_unknown_kind_is_an_error_that_names_those_there_are(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"docx.*markdown, md, .*yaml"):
        engine.add(text=NOTE, kind="docx")
    report = engine.add_texts([Text(NOTE, "a", kind="nothing"), Text(NOTE, "b")])
    assert (len(report.failed), report.added) == (1, 1)
    with pytest.raises(SourceError, match="kind goes with a text"):
        engine.add(tmp_path, kind="md")


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nwords",
        "# Title\nSome words follow here.",
        "\n\n## Only a section\n\n- item\n",
        "Intro.\n\n### Deep\n\nwords",
        "Title\n=====\n\nwords",
        "# Only a title",
        "---\ntitle: x\n---\n\n# Heading\n\nwords",
    ],
)
def test_what_looks_like_markdown(text: str) -> None:
    assert looks_like_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "plain words, nothing else",
        "#!/bin/sh\n\n# comment\n\necho hi\n",
        "# comment\nimport os\n",
        "# settings\nport = 8080\n",
        "```\n# Title\n\n```\n",
        "<!DOCTYPE html>\n\n# Title\n\n",
        "#hashtag and more",
        "a # b\n\nc",
        "x = 1\n# note\n\ny = 2",
        "- a\n- b\n",
    ],
)
def test_what_does_not(text: str) -> None:
    assert not looks_like_markdown(text)


def test_a_title_has_a_hundred_characters_at_most(engine: Engine) -> None:
    long = "word " * 60
    engine.add(text=f"# {long}\n\nbody", id="own")
    engine.add(text="body", id="given", title=long)
    assert all(0 < len(info.title) <= 100 for info in engine.documents())
    assert engine.add(text="body", id="given", title=long).unchanged == 1


# ------------------------------------------------------------------ the chunker by itself, and its settings


def test_the_chunker_can_be_called_by_itself() -> None:
    chunks = outcrop.chunk_text(NOTE)
    assert [chunk.heading_path[0] for chunk in chunks] == ["My Document"] * len(chunks)
    assert [chunk.heading_path for chunk in outcrop.chunk_text(NOTE, kind="text")] == [()]
    assert all(NOTE[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert outcrop.chunk_text("  \n") == ()
    assert outcrop.chunk_text("def f():\n    return 1\n", path="a.py")[0].code is not None
    with pytest.raises(ConfigError, match="no chunker"):
        outcrop.chunk_text(NOTE, chunker="sliding")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="overlap"):
        outcrop.chunk_text(NOTE, overlap=0.9)
    with pytest.raises(SourceError, match="kind"):
        outcrop.chunk_text(NOTE, kind="docx")


@given(
    st.text(alphabet="ab .\n#é漢", max_size=2000),
    st.integers(10, 300),
    st.floats(0, 0.5),
    st.integers(0, 200),
)
def test_offsets_are_exact_whatever_the_options(text: str, target: int, overlap: float, minimum: int) -> None:
    chunks = outcrop.chunk_text(text, chunker="prose", target_tokens=target, overlap=overlap, min_chars=minimum)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert all(at in covered for at, char in enumerate(text) if not char.isspace())


def test_overlap_and_minimum_are_settings(tmp_path: Path) -> None:
    text = "".join(f"Sentence number {number} says a little. " for number in range(200))

    def starts(**settings: object) -> list[tuple[int, int]]:
        db = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with Engine(
            load_config({"db": db, "chunker": "prose", "chunk_tokens": 100, **settings}, environ={})
        ) as kb:
            kb.add(text=text, id="a")
            return [(chunk.start, chunk.end) for chunk in kb.chunks("a")]

    def repeats(spans: list[tuple[int, int]]) -> bool:
        return any(after[0] < before[1] for before, after in pairwise(spans))

    assert repeats(starts())  # prose's own, a tenth
    assert not repeats(starts(chunk_overlap=0.0))
    assert len(starts(chunk_overlap=0.4)) > len(starts(chunk_overlap=0.1))


def test_the_minimum_joins_small_sections(tmp_path: Path) -> None:
    text = "".join(f"## Part {number}\n\nSome {number} words.\n\n" for number in range(8))
    small = outcrop.chunk_text(text, min_chars=0)
    assert len(small) > len(outcrop.chunk_text(text, min_chars=200))


def test_settings_are_checked_and_come_from_the_environment() -> None:
    config = load_config(environ={"OUTCROP_CHUNK_OVERLAP": "0.25", "OUTCROP_CHUNK_MIN_CHARS": "50"})
    assert (config.chunk_overlap, config.chunk_min_chars) == (0.25, 50)
    assert load_config(environ={"OUTCROP_CHUNK_OVERLAP": ""}).chunk_overlap is None
    for wrong in ({"chunk_overlap": 0.6}, {"chunk_overlap": "much"}, {"chunk_min_chars": -1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            load_config(wrong, environ={})
