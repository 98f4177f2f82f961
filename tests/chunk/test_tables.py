"""A chunk out of the middle of a table says what its rows mean."""

from __future__ import annotations

import pytest

from outcrop.write.prepare import chunk_text

ROWS = "".join(f"| Segment {i} of the group | $ {i},{i % 10}00.5 | {7 * i} |\n" for i in range(60))
MARKDOWN = (
    "# Report\n\nTable 3: Net sales (in millions)\n\n"
    f"|  | Years ended |  |\n|---|---|---|\n|  | 2019 | 2018 |\n{ROWS}\nAfter it comes text.\n"
)
HEADER = ("Table 3: Net sales (in millions)", "Years ended 2019 | 2018")


def test_every_chunk_after_the_first_carries_caption_and_header_and_its_text_stays_what_it_is() -> None:
    first, *others = chunk_text(MARKDOWN, kind="md")
    assert first.heading_path == ("Report",), "it holds the header itself"
    assert len(others) > 2
    for chunk in others:
        assert chunk.heading_path == ("Report", *HEADER)
        assert chunk.text == MARKDOWN[chunk.start : chunk.end]
        assert chunk.text.startswith("| Segment"), "cut between rows"


@pytest.mark.parametrize(
    ("text", "kind", "context"),
    [
        (
            "Region,2019 sales,2018 sales\n" + "".join(f'"Region {i}, north",{i}000,{i}\n' for i in range(90)),
            "csv",
            ("Region | 2019 sales | 2018 sales",),
        ),
        (
            "<p>Hello.</p><table><caption>Fish</caption><tr><th>Country</th><th>Tonnes</th></tr>"
            + "".join(f"<tr><td>Land {i} with a name. And more.</td><td>{i},00</td></tr>" for i in range(80))
            + "</table>",
            "html",
            ("Fish", "Country | Tonnes"),
        ),
    ],
)
def test_so_it_is_in_other_formats(text: str, kind: str, context: tuple[str, ...]) -> None:
    _, *others = chunk_text(text, kind=kind)
    assert len(others) > 1
    assert {chunk.heading_path[-len(context) :] for chunk in others} == {context}


@pytest.mark.parametrize("repeated", ["", "| Land | Tonnes | Year |\n"])
def test_a_table_that_goes_on_has_the_header_and_the_caption_of_its_beginning(repeated: str) -> None:
    pages = ["".join(f"| Land {page} {i} | {i},00 | 2019 |\n" for i in range(60)) for page in range(3)]
    text = (
        f"Table 3: Fish\n| Land | Tonnes | Year |\n{pages[0]}\n{repeated}{pages[1]}\n{repeated}{pages[2]}\nEnd."
    )
    _, *others = chunk_text(text, kind="txt")
    for chunk in others:
        header = () if chunk.text.startswith("| Land | Tonnes") else ("Land | Tonnes | Year",)
        assert chunk.heading_path == ("Table 3: Fish", *header)
    other = text.replace(f"\n\n{repeated}| Land 2", "\n\nAn end.\n\n| Land 2")
    assert chunk_text(other, kind="txt")[-1].heading_path == ()


def test_values_are_no_header_and_a_sentence_is_no_caption() -> None:
    rows = "".join(f"{i} | {i * i} | some words that follow here\n" for i in range(90))
    chunks = chunk_text(f"This ends as a sentence does.\n\n{rows}", kind="text")
    assert len(chunks) > 1
    assert {chunk.heading_path for chunk in chunks} == {()}


def test_rules_alone_are_no_header() -> None:
    drawing = "|---|---|\n" * 3 + "".join(f"| {i} | {i * i} |\n" for i in range(300))
    first, *others = chunk_text(f"A drawing.\n\n{drawing}", kind="md")
    assert "".join(chunk.text for chunk in (first, *others)).count("|---|---|") == 3
    assert {chunk.heading_path for chunk in others} == {()}


def test_a_listing_with_bars_is_no_table() -> None:
    code = "".join(f"cat file{i} | sort | uniq -c | head\n" for i in range(90))
    chunks = chunk_text(f"Run it:\n\n```sh\n{code}```\n", kind="md")
    assert len(chunks) > 1
    assert {chunk.heading_path for chunk in chunks} == {()}


def test_what_stands_under_a_heading_within_the_chunk_is_not_put_under_the_table() -> None:
    text = MARKDOWN + "\n## Next\n\nShort.\n"
    last = chunk_text(text, kind="md")[-1]
    assert "Next" not in last.heading_path or HEADER[1] not in last.heading_path


def test_a_document_of_bars_takes_linear_time() -> None:
    assert len(chunk_text("|" * 200_000, kind="md")) > 0
    assert len(chunk_text("a | b\n\n" * 30_000, kind="md")) > 0


def test_a_frame_has_a_rule_above_its_header_too() -> None:
    rule = "|------------+---------+--------------------|\n"
    rows = "".join(f"| counter_{i} | 32u | Number of things, {i} |\n" for i in range(90))
    chunks = chunk_text(f"{rule}| Name | Type | Meaning |\n{rule}{rows}{rule}", kind="txt")
    assert len(chunks) > 1
    assert {chunk.heading_path for chunk in chunks[1:]} == {("Name | Type | Meaning",)}


def test_rules_alone_are_no_table() -> None:
    assert "".join(chunk.text for chunk in chunk_text("|----+----|\n|----+----|\n" * 3, kind="txt")).strip()


def test_rules_without_a_header_above_them_are_no_header() -> None:
    chunks = chunk_text(f"--- | ---\n--- | ---\n{ROWS}", kind="md")
    assert len(chunks) > 1
    assert {chunk.heading_path for chunk in chunks} == {()}
