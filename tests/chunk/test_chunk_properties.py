"""What holds for every strategy on every text: exact offsets, full cover, order, sizes, lines, pages."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cost import cpu_below

from outcrop.chunk.cut import measure_tokens
from outcrop.chunk.strategies import STRATEGIES, ChunkOptions, chunk_document
from outcrop.records import Document, Heading

ROOT = Path(__file__).parents[2]
broken_promises = runpy.run_path(str(ROOT / "proofs" / "chunk_properties.py"))["broken_promises"]

LATIN = ["word", "Retrieval", "e.g.", "end.", "Really?", "naïve", "J.", "x" * 90]
CJK = ["检索引擎。", "把文件切成小块", "カタカナ！", "한국어 문장입니다.", "「引用。」"]
RIGHT_TO_LEFT = ["مرحبا", "هل هذا نص؟", "שלום."]
INDIC = ["नमस्ते दुनिया।", "ภาษาไทยไม่มีช่องว่าง", "বাংলা"]
CLUSTERS = ["👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "e\u0301\u0323", "\ud83d\ude00", "\u200d"]
MARKUP = [
    "# Title",
    "```py\nx = 1\n\ny = 2\n```",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "---",
    "- item",
    "~~~",
    "> quote",
]
CODE = ["    return x;", "\tif (a) {", "}", "def f():", "        deep = [1, 2]"]
GAPS = [
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\r\n\r\n",
    "\n \t\n",
    "\u3000",
    "\u2028",
    "\n" * 30,
    " " * 200,
    "\x0c",
    "\x1f",
]
PLAIN_GAPS = [" ", "\n", "\n\n", "\r\n", "  "]


def texts(gaps: list[str]) -> st.SearchStrategy[str]:
    """Text from a few families of words at a time, so that runs of one script occur as well as mixtures."""
    families = [LATIN, CJK, RIGHT_TO_LEFT, INDIC, CLUSTERS, MARKUP, CODE]
    words = st.lists(st.sampled_from(families), min_size=1, max_size=3).map(
        lambda few: [word for family in few for word in family]
    )
    pairs = words.flatmap(
        lambda few: st.lists(st.tuples(st.sampled_from(few), st.sampled_from(gaps)), max_size=120)
    )
    return pairs.map(lambda made: "".join(word + gap for word, gap in made))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A document whose headings and keys start lines and whose pages start anywhere, empty ones too."""
    text = draw(texts(GAPS) | st.text(max_size=300))
    lines = [0] + [at + 1 for at, character in enumerate(text) if character == "\n" and at + 1 < len(text)]
    some_lines = st.lists(st.sampled_from(lines), max_size=8, unique=True).map(sorted)
    levels = st.integers(1, 6)
    headings = tuple(Heading(draw(levels), f"H{at}", at) for at in draw(some_lines)) if text else ()
    pages = draw(
        st.just([]) | st.lists(st.integers(0, len(text)), max_size=6).map(lambda made: [0, *sorted(made)])
    )
    kind = draw(st.sampled_from(["text", "markdown", "code", "json", "pdf"]))
    return Document(
        text=text, kind=kind, title="", headings=headings, pages=tuple(pages), keys=tuple(draw(some_lines))
    )


options = st.builds(
    ChunkOptions,
    strategy=st.sampled_from(sorted(STRATEGIES)),
    target_tokens=st.just(0) | st.integers(1, 12) | st.integers(13, 300),
    overlap=st.none() | st.floats(0, 0.5),
    min_chars=st.none() | st.integers(0, 200),
)


@settings(max_examples=700, deadline=None)
@given(documents(), options)
@example(  # a gap wider than a chunk once left the ":" alone though it fits with what is before it
    Document(text="def f():    return x;", kind="text", title=""), ChunkOptions(target_tokens=1)
)
def test_chunks_of_any_text_under_any_strategy_keep_every_invariant(
    document: Document, options: ChunkOptions
) -> None:
    chunks = chunk_document(document, options)
    assert not broken_promises(document, options, chunks)
    assert bool(chunks) == bool(document.text.strip())


@settings(max_examples=300, deadline=None)
@given(texts(PLAIN_GAPS), st.sampled_from(["auto", "prose", "recursive"]), st.integers(100, 400))
def test_no_chunk_of_ordinary_text_is_below_the_minimum_not_even_the_last(
    text: str, strategy: str, target_tokens: int
) -> None:
    chosen = ChunkOptions(strategy=strategy, target_tokens=target_tokens, min_chars=45)  # type: ignore[arg-type]
    chunks = chunk_document(Document(text=text, kind="text", title=""), chosen)
    assert all(len(chunk.text) >= min(45, len(text.strip())) for chunk in chunks)


@settings(max_examples=150, deadline=None)
@given(texts(GAPS), options)
def test_the_same_document_gives_the_same_chunks(text: str, options: ChunkOptions) -> None:
    document = Document(text=text, kind="text", title="")
    assert chunk_document(document, options) == chunk_document(document, options)


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_size_of_joined_texts_is_at_most_the_sum_and_at_least_the_larger(left: str, right: str) -> None:
    whole = measure_tokens(left + right)
    assert max(measure_tokens(left), measure_tokens(right)) <= whole
    assert whole <= measure_tokens(left) + measure_tokens(right)


SENTENCES = "The quick brown fox jumps over the lazy dog. Does it matter? It does, e.g. here! "


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ("x", 2_000_000),
        ("a\n", 2_000_000),
        (SENTENCES, 2_000_000),
        ("\n\n\na", 2_000_000),
        ("`" * 3 + "\n", 1_000_000),
    ],
    ids=["no break", "one-letter lines", "sentences", "blank lines", "fences"],
)
def test_twice_the_text_takes_no_more_than_about_twice_the_time(strategy: str, unit: str, size: int) -> None:
    text = unit * (size // len(unit))
    chosen = ChunkOptions(strategy=strategy)  # type: ignore[arg-type]
    # 5 MB take about 2 s, anything quadratic takes minutes at this size: the bound is far from both
    with cpu_below(50 * size / 5_000_000):
        chunks = chunk_document(Document(text=text, kind="text", title=""), chosen)
    assert chunks[-1].end == len(text.rstrip())
