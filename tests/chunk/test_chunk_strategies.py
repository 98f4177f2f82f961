"""What each strategy is for: where it cuts, what it keeps together, which path and page a chunk gets."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from outcrop.chunk.cut import measure_tokens
from outcrop.chunk.strategies import ChunkOptions, StrategyName, chunk_document
from outcrop.errors import ConfigError
from outcrop.records import Chunk, Document, Heading

SENTENCE = "Outcrop keeps the exact place of every answer it gives. "


def markdown(text: str) -> Document:
    """A document whose headings are the lines that start with number signs."""
    found = re.finditer(r"^(#+) (.*)$", text, re.MULTILINE)
    headings = tuple(Heading(len(mark[1]), mark[2], mark.start()) for mark in found)
    return Document(text=text, kind="markdown", title="", headings=headings)


def plain(text: str, kind: str = "text") -> Document:
    return Document(text=text, kind=kind, title="")


def chunk(document: Document, strategy: StrategyName = "auto", tokens: int = 0) -> tuple[Chunk, ...]:
    return chunk_document(document, ChunkOptions(strategy=strategy, target_tokens=tokens))


def body(sentences: int) -> str:
    return (SENTENCE * sentences).strip()


# ------------------------------------------------------------------ paragraphs and sentences


def test_paragraphs_that_fit_stay_whole() -> None:
    paragraphs = [f"Paragraph {number}. {body(3 + number % 4)}" for number in range(40)]
    chunks = chunk(plain("\n\n".join(paragraphs)))
    assert len(chunks) > 10
    assert [part for made in chunks for part in made.text.split("\n\n")] == paragraphs


def test_a_paragraph_just_over_the_limit_is_cut_into_even_halves() -> None:
    first, second = chunk(plain(body(16)))
    assert 0.8 < len(first.text) / len(second.text) < 1.25


def test_a_long_paragraph_between_short_ones_is_cut_at_sentence_ends() -> None:
    chunks = chunk(plain(f"{body(2)}\n\n{body(30)}\n\n{body(2)}"))
    assert all(made.text.endswith(".") for made in chunks)


def test_prose_overlaps_by_whole_sentences_within_a_tenth_of_the_target() -> None:
    sentences = [f"This is the sentence that has the number {number} in it." for number in range(400)]
    text = " ".join(sentences)
    chunks = chunk(plain(text), "prose")
    assert len(chunks) > 5
    for before, after in pairwise(chunks):
        shared = text[after.start : before.end]
        assert shared.startswith("This is")
        assert shared.endswith(".")
        assert 0 < measure_tokens(shared) <= 77


def test_the_last_chunk_is_never_below_the_minimum() -> None:
    for words in range(560, 700):
        chunks = chunk(plain("word " * words), "prose")
        assert all(len(made.text) >= 100 for made in chunks)
        assert all(made.tokens <= 768 for made in chunks)


def test_a_cut_that_leaves_both_sides_above_the_minimum_is_found_if_there_is_one() -> None:
    options = ChunkOptions(strategy="prose", target_tokens=50, overlap=0, min_chars=100)
    tried = 0
    for left in range(80, 125, 4):
        for gap in (1, 2, 3, 7, 20):
            for right in range(80, 125, 4):
                text = "x" * left + "\n" * gap + "y" * right
                sides = ((len(text[:at].strip()), len(text[at:].strip())) for at in range(len(text)))
                if len(text) > 200 and any(min(pair) >= 100 and max(pair) <= 200 for pair in sides):
                    tried += 1
                    chunks = chunk_document(plain(text), options)
                    assert [len(made.text) >= 100 for made in chunks] == [True, True], (left, gap, right)
    assert tried > 100


def test_a_long_paragraph_is_cut_evenly_and_shares_no_chunk_with_the_next() -> None:
    chunks = chunk(plain("\n\n".join([body(21), *[body(12)] * 12])))
    assert "\n\n".join([chunks[0].text, chunks[1].text]).replace("\n\n", " ") == body(21)
    assert 0.8 < len(chunks[0].text) / len(chunks[1].text) < 1.25


def test_wrapped_prose_is_cut_at_sentence_ends_and_code_at_line_ends() -> None:
    lines = [f"line {number} ends in the middle of. A sentence that goes" for number in range(60)]
    wrapped = chunk(plain("\n".join(lines)))
    code = chunk(plain("\n".join(lines), kind="code"))
    assert all(made.text.endswith("of.") for made in wrapped[:-1])
    assert all(made.text.endswith("goes") for made in code)


@pytest.mark.parametrize("stop", ["。", "！", "？"])
def test_sentences_of_scripts_without_spaces_are_cut_after_their_marks(stop: str) -> None:
    chunks = chunk(plain(("检索引擎把文件切成小块并且保留偏移量" + stop) * 60))
    assert len(chunks) > 4
    assert all(made.text.endswith(stop) for made in chunks)
    assert all(made.tokens <= 200 for made in chunks)


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    text = "It works with many things, e.g. Apples and J. Doe and i.e. Pears and so on. " * 60
    assert all(made.text.endswith("so on.") for made in chunk(plain(text)))


def test_text_without_a_break_is_cut_between_visible_characters() -> None:
    halves = "\ud83d\ude00"  # an emoji in two, as a bad decoder leaves it
    for unit in ("👩‍👩‍👧‍👦", "e\u0301\u0323", "🇩🇪", "👍🏽", halves):
        for before in ("", "x"):  # so that cuts fall on every place of a unit
            chunks = chunk(plain(before + unit * 1250))
            assert len(chunks) > 3
            whole = [made.text.removeprefix("x") for made in chunks]
            assert all(text == unit * (len(text) // len(unit)) for text in whole)


def test_an_endless_run_of_combining_marks_is_still_cut() -> None:
    text = "e" + "\u0301" * 5000
    chunks = chunk(plain(text))
    assert len(chunks) > 5
    assert "".join(made.text for made in chunks) == text


# ------------------------------------------------------------------ headings


def test_each_section_is_a_chunk_with_the_path_from_the_top() -> None:
    text = f"# A\n\n{body(6)}\n\n## B\n\n{body(6)}\n\n### C\n\n{body(6)}\n\n## D\n\n{body(6)}"
    chunks = chunk(markdown(text), "headings")
    assert [made.heading_path for made in chunks] == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]
    assert [made.text.split("\n")[0] for made in chunks] == ["# A", "## B", "### C", "## D"]


def test_a_long_section_is_cut_and_every_part_keeps_its_path() -> None:
    chunks = chunk(markdown(f"# A\n\n{body(5)}\n\n## B\n\n{body(90)}"), "headings")
    assert [made.heading_path for made in chunks][1:] == [("A", "B")] * (len(chunks) - 1)
    assert len(chunks) >= 4
    assert all(made.tokens <= 500 for made in chunks)


def test_a_bare_heading_goes_with_the_section_below_it_and_takes_that_path() -> None:
    chunks = chunk(markdown(f"# Guide\n\n## Install\n\n{body(8)}\n\n## Use\n\n{body(8)}"))
    assert [made.heading_path for made in chunks] == [("Guide", "Install"), ("Guide", "Use")]
    assert chunks[0].text.startswith("# Guide\n\n## Install")


def test_a_bare_heading_above_a_long_section_is_not_a_chunk_of_its_own() -> None:
    chunks = chunk(markdown(f"# Guide\n\n## Install\n\n{body(60)}"))
    assert all(made.heading_path == ("Guide", "Install") for made in chunks)
    assert all(len(made.text) > 300 for made in chunks)


def test_a_few_words_before_the_first_heading_stay_out_of_the_long_section_below() -> None:
    text = f"A few words.\n\n# Title\n\n{body(60)}"
    first, *others = chunk(markdown(text))
    assert (first.text, first.heading_path) == ("A few words.", ())
    assert {made.heading_path for made in others} == {("Title",)}


def test_underlined_headings_are_headings_too() -> None:
    text = f"Guide\n=====\n\nInstall\n-------\n\n{body(60)}\n\nUse\n---\n\n{body(9)}"
    starts = {"Guide": 1, "Install": 2, "Use": 2}
    headings = tuple(Heading(level, title, text.index(f"{title}\n")) for title, level in starts.items())
    document = Document(text=text, kind="rst", title="", headings=headings)
    assert chunk(document)[0].heading_path == ("Guide", "Install")
    assert all(len(made.text) > 300 for made in chunk(document))
    assert not any(re.search(r"[=-]$", made.text) for made in chunk(document, "prose", tokens=120))


def test_tiny_sections_under_one_parent_are_grouped() -> None:
    text = "# Glossary\n\n" + "\n\n".join(f"## Term {number}\n\nIt means {number}." for number in range(30))
    chunks = chunk(markdown(text))
    assert len(chunks) <= 10
    assert all(len(made.text) >= 100 for made in chunks)
    assert all(made.heading_path[0] == "Glossary" for made in chunks)
    assert all(made.text.startswith("#") for made in chunks)


def test_small_sections_of_different_parents_are_not_grouped() -> None:
    text = f"# A\n\n{body(12)}\n\n## Last of A\n\nShort.\n\n# B\n\n{body(12)}"
    chunks = chunk(markdown(text))
    assert [made.text.split("\n")[0] for made in chunks] == ["# A", "# B"]
    assert "Short." in chunks[0].text


def test_changing_one_section_leaves_the_chunks_of_the_others_as_they_were() -> None:
    sections = [f"## Part {number}\n\n{body(10 + 5 * number)}" for number in range(6)]
    before = {made.text for made in chunk(markdown("\n\n".join(sections)))}
    sections[2] = f"## Part 2\n\n{body(3)} Something else stands here now. {body(20)}"
    after = {made.text for made in chunk(markdown("\n\n".join(sections)))}
    assert all(
        "Part 2" in text or "Something else" in text or text in before or text == body(9) for text in after
    )
    assert len(after - before) <= 3


def test_a_change_at_the_end_of_a_long_text_leaves_the_chunks_at_its_start_as_they_were() -> None:
    paragraphs = [f"{number}: {body(1 + number * 7 % 5)}" for number in range(200)]
    before = chunk(plain("\n\n".join(paragraphs)))
    after = chunk(plain("\n\n".join(paragraphs) + f"\n\nAdded. {body(9)}"))
    assert before[:-6] == after[: len(before) - 6]


def test_a_heading_is_not_left_behind_at_the_end_of_a_chunk() -> None:
    text = "\n\n".join(f"## Heading {number}\n\n{body(4)}" for number in range(40))
    for strategy in ("prose", "recursive"):
        chunks = chunk_document(markdown(text), ChunkOptions(strategy=strategy, target_tokens=150, overlap=0))
        assert not any(re.search(r"## Heading \d+$", made.text) for made in chunks)


# ------------------------------------------------------------------ code and tables inside text


def fenced(lines: int) -> str:
    code = "\n\n".join(f"value_{number} = compute({number})" for number in range(lines))
    return f"```python\n{code}\n```"


@pytest.mark.parametrize("strategy", ["auto", "prose", "headings", "recursive"])
def test_a_code_block_that_fits_is_never_cut(strategy: StrategyName) -> None:
    for lead in range(1, 14):
        text = f"# Title\n\n{body(lead)}\n\n{fenced(12)}\n\n{body(9)}"
        chunks = chunk_document(markdown(text), ChunkOptions(strategy=strategy, target_tokens=200, overlap=0))
        assert sum(fenced(12) in made.text for made in chunks) == 1


def test_inline_code_does_not_open_a_code_block() -> None:
    inline = "```a `b` c``` stands in a line."
    text = f"{inline}\n\n{body(12)}\n\n```\n{body(9)}\n```\n"
    chunks = chunk(markdown(text))
    assert chunks[0].text.startswith(inline)
    assert chunks[-1].text == f"```\n{body(9)}\n```", "the block that is one is whole"


def test_a_table_row_that_fits_is_never_cut() -> None:
    row = "| " + " | ".join(f"A cell. It has sentences {number}." for number in range(18)) + " |"
    text = "\n".join([row] * 12)
    assert len(row) < 800
    assert all(part == row for made in chunk(plain(text)) for part in made.text.split("\n"))
    lead = "Some words before it. " * 5
    led = f"{lead}\n{row} |\n{lead}\n{row} |"
    assert sum(f"{row} |" in made.text.split("\n") for made in chunk(plain(led))) == 2


def test_code_keeps_the_indentation_of_its_first_line() -> None:
    lines = [f"    value_{number} = compute({number})" for number in range(100)]
    assert all(made.text.startswith("    value") for made in chunk(plain("\n".join(lines), kind="code")))


# ------------------------------------------------------------------ recursive, keys, pages


def test_recursive_chunks_have_at_most_a_thousand_characters_and_share_up_to_two_hundred() -> None:
    text = "\n\n".join(f"## Part {number}\n\n{body(3 + number % 9)}" for number in range(60))
    chunks = chunk(markdown(text), "recursive")
    shared = [max(0, before.end - after.start) for before, after in pairwise(chunks)]
    assert max(len(made.text) for made in chunks) <= 1000
    assert 0 < max(shared) <= 200


def test_an_overlap_begins_with_a_whole_character_where_there_is_no_break() -> None:
    unit = "e\u0301\u0323"
    chunks = chunk(plain(unit * 1000), "recursive")
    assert len(chunks) > 3
    for before, after in pairwise(chunks):
        assert 190 < before.end - after.start <= 200
        assert after.start % len(unit) == 0


def test_recursive_prefers_a_heading_to_an_empty_line() -> None:
    text = f"{body(3)}\n\n{body(3)}\n\n## Next\n\n{body(6)}\n\n{body(6)}"
    chunks = chunk_document(plain(text), ChunkOptions(strategy="recursive", overlap=0))
    assert [made.text.startswith("## Next") for made in chunks] == [False, True]


def test_entries_of_a_data_file_are_grouped_whole_and_a_large_one_is_cut_at_its_lines() -> None:
    entries = [f"key_{number}:\n  first: {number}\n\n  second: {number}" for number in range(30)]
    entries[10] = "large:\n" + "\n".join(f"  item_{number}: {number}" for number in range(200))
    text = "\n".join(entries)
    keys = tuple(found.start() for found in re.finditer(r"^\w", text, re.MULTILINE))
    chunks = chunk(Document(text=text, kind="yaml", title="", keys=keys))
    assert sum("key_" in made.text for made in chunks) < 8
    for number in (0, 5, 9, 12, 29):
        assert any(entries[number] in made.text for made in chunks)
    assert all(re.match(r"\s*\w+:", made.text) for made in chunks)


def test_rows_of_a_csv_file_stay_whole() -> None:
    rows = [f"{number},A name. With a stop,{number * 7}" for number in range(500)]
    assert all(
        part in rows for made in chunk(plain("\n".join(rows), kind="csv")) for part in made.text.split("\n")
    )


def test_no_chunk_crosses_a_page_and_empty_pages_count() -> None:
    first, third = body(20), body(3)
    text = f"{first}\n{third}\n"
    starts = (0, len(first) + 1, len(first) + 1, len(text))
    document = Document(text=text, kind="pdf", title="", pages=starts, headings=(Heading(1, "Top", 0),))
    chunks = chunk(document)
    assert [made.page for made in chunks] == [1, 1, 3]
    assert chunks[-1].text == third
    assert all(made.heading_path == ("Top",) for made in chunks)


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n\t", "\u3000\u2028"])
def test_a_document_of_whitespace_has_no_chunks(text: str) -> None:
    for strategy in ("auto", "prose", "headings", "recursive"):
        assert chunk_document(plain(text), ChunkOptions(strategy=strategy)) == ()


# ------------------------------------------------------------------ options and the estimate


@pytest.mark.parametrize(
    "wrong", [{"strategy": "best"}, {"target_tokens": -1}, {"overlap": 0.9}, {"min_chars": -1}]
)
def test_invalid_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ChunkOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four" * 10, 10),
        ("naïve café", 3),
        ("检索引擎", 4),
        ("ไทย", 3),
        ("a🎉", 2),
        ("Привет мир", 3),
    ],
)
def test_a_token_is_four_characters_or_one_in_scripts_without_spaces(text: str, tokens: int) -> None:
    assert measure_tokens(text) == tokens
