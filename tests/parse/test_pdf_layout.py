"""What the places of words on a page tell: columns, tables, what is repeated, headings and titles."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import SimpleDocTemplate, TableStyle
from reportlab.platypus import Table as Drawn
from tests.cost import cpu_below

from outcrop.parse.entry import parse
from outcrop.parse.layout.letters import PLAIN, Piece
from outcrop.parse.layout.order import arrange
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=60, memory_bytes=1024**3)
LEFT = "The harbour was built of granite from the hills, and ships could lie there in any wind that blew. "
RIGHT = "Salt was what they carried, in barrels of oak that the coopers of the town made during the winter. "


def read(draw: Callable[[Canvas], object], name: str = "paper.pdf") -> Document:
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4)
    draw(canvas)
    canvas.save()
    return parse(file.getvalue(), path=name, limits=LIMITS)


def lines_of(text: str, most: int = 42) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def bars(document: Document) -> list[str]:
    return [line for line in document.text.split("\n") if line.startswith("| ")]


# ------------------------------------------------------------------ columns


def test_columns_that_a_page_writes_line_by_line_are_read_one_after_the_other() -> None:
    left, right = lines_of(LEFT * 6), lines_of(RIGHT * 6)

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(
            60, 790, "A line that goes across both of the columns and a good deal further than that"
        )
        for row, (one, other) in enumerate(zip(left, right, strict=False)):
            canvas.drawString(60, 760 - 12 * row, one)
            canvas.drawString(320, 760 - 12 * row, other)

    text = " ".join(read(draw).text.split())
    rows = min(len(left), len(right))
    assert text.startswith("A line that goes across")
    assert text.index(" ".join(left[:rows])) < text.index(" ".join(right[:rows]))


def test_columns_that_a_page_writes_one_after_the_other_stay_so() -> None:
    left, right = lines_of(LEFT * 4), lines_of(RIGHT * 4)

    def draw(canvas: Canvas) -> None:
        for x, column in ((60, left), (320, right)):
            for row, line in enumerate(column):
                canvas.drawString(x, 760 - 14 * row, line)

    assert read(draw).text.split("\n") == [*left, *right]


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_page_that_is_turned_is_read_as_it_is_shown(turned: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setPageRotation(turned)
        width, height = A4 if turned == 180 else A4[::-1]  # as reportlab turns it
        canvas.translate(*{90: (width, 0), 180: (width, height), 270: (0, height)}[turned])
        canvas.rotate(turned)
        for row, cells in enumerate(
            (("Port", "2019", "2018"), ("Salt", "1,200", "980"), ("Oak", "310", "295"))
        ):
            for column, cell in enumerate(cells):
                canvas.drawString(80 + 120 * column, 500 - 16 * row, cell)

    assert bars(read(draw)) == ["| Port | 2019 | 2018 |", "| Salt | 1,200 | 980 |", "| Oak | 310 | 295 |"]


# ------------------------------------------------------------------ tables


def test_a_ruled_table_is_read_cell_by_cell_also_where_cells_wrap() -> None:
    file = io.BytesIO()
    rows = [
        ["Part", "What it is for", "Since"],
        ["Sluice", "Lets water out of the\nbasin when the tide\nis low", "1887"],
        ["Crane", "Lifts barrels", "1902"],
    ]
    drawn = Drawn(rows, style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")]))
    SimpleDocTemplate(file).build([drawn])
    document = parse(file.getvalue(), path="parts.pdf", limits=LIMITS)
    assert bars(document) == [
        "| Part | What it is for | Since |",
        "| Sluice | Lets water out of the basin when the tide is low | 1887 |",
        "| Crane | Lifts barrels | 1902 |",
    ]


def test_rows_of_a_table_without_lines_keep_their_numbers_with_their_signs() -> None:
    rows = (
        ("", "", "2019", "", "2018"),
        ("Salt and other minerals", "$", "1,452.4", "$", "1,146.2"),
        ("Freight carried for", "", "", "", ""),
        ("others on the way back", "", "44.1", "", "(56.7)"),
        ("Total", "$", "1,496.5", "$", "1,089.5"),
    )

    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 760, "Sales by kind, in thousands, as the books of the harbour have them.")
        for row, cells in enumerate(rows):
            for x, cell in zip((60, 290, 360, 400, 470), cells, strict=True):
                (canvas.drawString if x in (60, 290, 400) else canvas.drawRightString)(x, 720 - 14 * row, cell)
        canvas.drawString(60, 600, "What follows is a sentence that stands below the table.")

    document = read(draw)
    assert bars(document) == [
        "|  | 2019 | 2018 |",
        "| Salt and other minerals | $ 1,452.4 | $ 1,146.2 |",
        "| Freight carried for others on the way back | 44.1 | (56.7) |",
        "| Total | $ 1,496.5 | $ 1,089.5 |",
    ]
    assert document.text.startswith("Sales by kind")
    assert document.text.endswith("below the table.")


def test_lists_code_and_contents_are_no_tables() -> None:
    def draw(canvas: Canvas) -> None:
        for row, text in enumerate(("first we look", "then we leap", "then we land", "then we rest")):
            canvas.drawString(60, 780 - 16 * row, f"{row + 1}.")
            canvas.drawString(90, 780 - 16 * row, text)
            canvas.drawString(60, 600 - 16 * row, f"Chapter {row} . . . . . . . . . . . . .")
            canvas.drawString(400, 600 - 16 * row, str(10 * row))
        canvas.setFont("Courier", 10)
        for row, (name, note) in enumerate(
            (("x = 1", "# 1"), ("y = 2", "# 2"), ("z = 3", "# 3"), ("w = 4", "# 4"))
        ):
            canvas.drawString(60, 400 - 12 * row, name)
            canvas.drawString(200, 400 - 12 * row, note)

    assert bars(read(draw)) == []


# ------------------------------------------------------------------ what pages repeat


def report(pages: int) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        for number in range(pages):
            canvas.setFont("Helvetica", 8)
            canvas.drawString(60, 810, "Harbour of Wick – report of the year 1887")
            canvas.drawCentredString(300, 30, f"Page {number + 1} of {pages}")
            canvas.setFont("Helvetica-Bold", 16)
            canvas.drawString(60, 760, f"{number + 1} Of ships and barrels, part {number + 1}")
            canvas.setFont("Helvetica", 10)
            for row, line in enumerate(lines_of(f"In the month {number} of that year. {LEFT}{RIGHT}" * 3, 80)):
                canvas.drawString(60, 730 - 12 * row, line)
            canvas.showPage()

    return draw


def test_running_headers_and_page_numbers_are_left_out_after_the_first() -> None:
    document = read(report(5))
    assert document.text.count("report of the year") == 1
    assert "Page 3 of 5" not in document.text
    assert len(document.pages) == 5
    assert all(
        document.text[start:].startswith(f"{at + 1} Of ships") for at, start in enumerate(document.pages[1:], 1)
    )


def test_lines_of_fewer_pages_and_pages_of_nothing_else_keep_theirs() -> None:
    assert read(report(2)).text.count("report of the year") == 2
    same = read(
        lambda canvas: [
            (canvas.drawString(60, 810, "Left blank on purpose"), canvas.showPage()) for _ in range(5)
        ]
    )
    assert same.text.count("Left blank") == 5


# ------------------------------------------------------------------ headings and titles


def test_headings_are_told_by_the_size_of_their_letters_and_by_weight() -> None:
    def draw(canvas: Canvas) -> None:
        y = 790.0
        for font, size, text in (
            ("Helvetica", 24, "The harbour of Wick"),
            ("Helvetica", 15, "How it was built"),
            ("Helvetica", 10, LEFT),
            ("Helvetica-Bold", 10, "Stones"),
            ("Helvetica", 10, RIGHT),
            ("Helvetica", 15, "What it was for"),
            ("Helvetica", 10, LEFT + RIGHT),
        ):
            canvas.setFont(font, size)
            for line in lines_of(text, 70):
                canvas.drawString(60, y, line)
                y -= 1.3 * size
            y -= 14

    document = read(draw)
    assert document.title == "The harbour of Wick"
    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "The harbour of Wick"),
        (2, "How it was built"),
        (3, "Stones"),
        (2, "What it was for"),
    ]
    assert all(document.text[each.start :].startswith(each.title) for each in document.headings)


@pytest.mark.parametrize(
    "junk", ["0001193125-19-048535", "Microsoft Word - final.docx", "d10k_2019.htm", "10-K"]
)
def test_a_title_that_names_nothing_gives_way_to_the_first_page(junk: str) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle(junk)
        canvas.setFont("Helvetica", 9)
        canvas.drawString(60, 800, "To the shareholders")
        canvas.setFont("Helvetica", 26)
        canvas.drawString(60, 700, "Wick Salt Company")
        canvas.drawString(60, 668, "Annual report 1887")
        canvas.setFont("Helvetica", 9)
        for row, line in enumerate(lines_of(LEFT + RIGHT)):
            canvas.drawString(60, 600 - 12 * row, line)

    assert read(draw).title == "Wick Salt Company Annual report 1887"


def test_a_report_to_an_authority_is_named_by_who_reports_what_and_for_when() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle("0000066740-19-000008")
        y = 800
        for size, text in (
            (14, "UNITED STATES SECURITIES AND EXCHANGE COMMISSION"),
            (12, "FORM 10-K"),
            (9, "ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d)"),
            (9, "For the fiscal year ended December 31, 2018"),
            (13, "WICK SALT COMPANY"),
            (8, "(Exact name of registrant as specified in its charter)"),
            (9, LEFT),
        ):
            canvas.setFont("Helvetica", size)
            canvas.drawString(60, y, text)
            y -= 30

    assert read(draw).title == "WICK SALT COMPANY, FORM 10-K, fiscal year ended December 31, 2018"


def test_a_title_without_a_year_gets_the_time_it_reports_on() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 26)
        canvas.drawString(60, 700, "Wick Salt annual accounts")
        canvas.setFont("Helvetica", 9)
        canvas.drawString(60, 660, "for the year ended 31 March 1987, as audited")
        canvas.drawString(60, 640, LEFT)

    assert read(draw).title == "Wick Salt annual accounts, year ended 31 March 1987"


# ------------------------------------------------------------------ whatever stands on a page

numbers = st.floats(0, 600, allow_nan=False, width=32)
pieces = st.builds(
    lambda text, left, top, width, height, line: Piece(
        text, left, top, left + width, top + height, line, height, PLAIN, [left]
    ),
    st.text("ab1.,$|–%", min_size=1, max_size=6),
    numbers,
    numbers,
    st.floats(0, 90, width=32),
    st.floats(0, 14, width=32),
    st.integers(0, 30),
)
boxes = st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=12)


@settings(max_examples=300, deadline=timedelta(seconds=10))
@given(st.lists(pieces, max_size=40), boxes, boxes)
def test_every_word_of_a_page_is_in_its_lines_once(
    given: list[Piece],
    across: list[tuple[float, float, float, float]],
    down: list[tuple[float, float, float, float]],
) -> None:
    lines = arrange(given, across, down)
    written = Counter(letter for line in lines for letter in line.text if letter not in " |/")
    assert written == Counter(letter for piece in given for letter in piece.text if letter not in "|/")


def test_a_page_full_of_small_pieces_and_lines_takes_bounded_time() -> None:
    chance = random.Random(1)
    many = [
        Piece("x1", x := chance.uniform(0, 600), y := chance.uniform(0, 800), x + 9, y + 9, at, 9.0, PLAIN, [x])
        for at in range(5_000)
    ]
    rules = [(0.0, 2.0 * at, 600.0, 2.0 * at) for at in range(1_000)]
    posts = [(2.0 * at, 0.0, 2.0 * at, 800.0) for at in range(1_000)]
    with cpu_below(30):
        lines = arrange(many, rules, posts)
    assert sum(line.text.count("x1") for line in lines) == len(many)
