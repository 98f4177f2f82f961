"""A document as HTML: the lines it says are the document's lines, and no size is too much."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cost import cpu_below

import outcrop
from outcrop.records import DocumentInfo, StoredChunk
from outcrop.serve.page.render import MAX_LINE_CHARS, WINDOW_LINES, render_markdown, render_view


def stored(tmp_path: Path, name: str, text: str) -> tuple[DocumentInfo, str, list[StoredChunk]]:
    (tmp_path / name).write_text(text)
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(tmp_path / name)
        document = engine.get(name)
        return document, engine.text(document.id), engine.chunks(document.id)


def test_blocks_of_markdown_say_the_lines_they_came_from() -> None:
    text = (
        "---\ntitle: Tides\n---\n# Tides\n\nHigh water.\nLow water.\n\n- one\n- two\n\n```python\nx = 1\n```\n"
    )
    html = render_markdown(text)
    found = re.findall(r'<(\w+) data-line="(\d+)" data-end="(\d+)"', html)
    assert ("h1", "4", "4") in found
    assert ("p", "6", "7") in found
    assert ("li", "9", "9") in found
    assert ("code", "12", "14") in found
    assert "title: Tides" in html


def test_text_from_the_right_says_so_and_keeps_code_apart(tmp_path: Path) -> None:
    html = render_markdown(
        "# הפונקציה run()\n\nEnglish run() שלום\n\n- שלום **run()** [run](x)\n- b\n\n> `run()` שלום\n\n1. 2\n2. b"
    )
    assert '<h1 data-line="1" data-end="1" dir="rtl">הפונקציה <bdi dir="ltr">run()</bdi></h1>' in html
    assert '<p data-line="3" data-end="3">English run() שלום</p>' in html
    assert '<ul data-line="5" data-end="7" dir="rtl">' in html
    assert '<strong><bdi dir="ltr">run()</bdi></strong>' in html
    assert "<code>run()</code> שלום" in html
    assert '<ol data-line="10" data-end="11">' in html
    document, text, chunks = stored(tmp_path, "note.txt", "קורא ל-run() עכשיו\nrun() שלום\n")
    lines = render_view(document, text, chunks).html
    assert '<div class="line" data-line="1" dir="rtl">קורא ל-<bdi dir="ltr">run()</bdi> עכשיו</div>' in lines
    assert '<div class="line" data-line="2">run() שלום</div>' in lines


def test_tables_are_aligned_by_class_and_images_are_their_words() -> None:
    html = render_markdown("| a |\n|--:|\n| ![a cat](cat.png) |")
    assert 'class="align-right"' in html
    assert "style=" not in html
    assert '<span class="image">a cat</span>' in html


def test_a_large_document_is_shown_around_the_line_asked_for(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} " + "words " * 12 for number in range(1, 12_001))
    document, text, chunks = stored(tmp_path, "long.txt", text)
    view = render_view(document, text, chunks, at=9_000)
    assert view.lines == 12_000
    assert view.first_line <= 9_000 <= view.last_line
    assert view.html.count('class="line"') == view.last_line - view.first_line + 1 == WINDOW_LINES
    assert f'data-line="{view.first_line}">line {view.first_line} ' in view.html
    last = render_view(document, text, chunks, at=10**12)
    assert last.last_line == 12_000


def test_a_very_long_line_is_cut_cheaply(tmp_path: Path) -> None:
    document, text, chunks = stored(tmp_path, "packed.js", "var a=[" + "{x:'<b>'}," * 40_000 + "]\nvar b\n")
    with cpu_below(2):
        view = render_view(document, text, chunks)
    assert len(view.html) < 4 * MAX_LINE_CHARS + 2000
    assert "<b>" not in view.html


def test_every_chunk_of_a_document_is_placed(tmp_path: Path) -> None:
    document, text, chunks = stored(tmp_path, "pool.py", "def f():\n    return 1\n\n\nclass A:\n    x = 1\n")
    view = render_view(document, text, chunks)
    assert [text[mark.start : mark.end] for mark in view.chunks] == [chunk.text for chunk in chunks]
    assert view.language == "python"
    assert view.html.count('class="line"') == text.count("\n") + 1
