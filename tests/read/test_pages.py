"""Pages of PDFs as pictures: what is marked stands where it is said to, and nothing is shown that the index hides."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import Conflict, NotAllowed, NotFound, ParseError, QueryError
from outcrop.parse.isolate import draw_isolated, parse_isolated
from outcrop.parse.limits import ParseLimits
from outcrop.records import PagePicture

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)
PAGES = [
    ["Geology of the harbour", "The walls are limestone, cut in three layers."],
    [
        "A page about granite",
        "Granite boulders came with the glaciers.",
        "Below them lies the clay of the valley.",
    ],
]


def make_pdf(
    pages: list[list[str]], *, rotation: int = 0, size: tuple[float, float] = A4, margin: float = 72
) -> bytes:
    buffer = io.BytesIO()
    pdf = canvas.Canvas(buffer, pagesize=size)
    for lines in pages:
        pdf.setPageRotation(rotation)
        for row, line in enumerate(lines):
            pdf.drawString(margin, size[1] - margin - 20 * row, line)
        pdf.showPage()
    pdf.save()
    return buffer.getvalue()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(load_config({"db": tmp_path / "index.db"}, environ={})) as opened:
        yield opened


def add(engine: Engine, path: Path, data: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    assert not engine.add(path.parent).failed
    return path


def draw(data: bytes, passage: str = "", page: int = 1, width: int = 1000) -> PagePicture:
    return draw_isolated("pdf", data, page, width=width, passage=passage, limits=LIMITS)


def ink(picture: PagePicture) -> np.ndarray:
    """Where the picture is not white."""
    image = Image.open(io.BytesIO(picture.png)).convert("L")
    assert image.size == (picture.width, picture.height)
    return np.asarray(image) < 200


def marked(picture: PagePicture) -> str:
    return " ".join(word.text for word in picture.words if word.marked)


def test_a_page_comes_with_the_words_of_the_passage(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "papers" / "harbour.pdf", make_pdf(PAGES))
    hit = engine.search("granite boulders").hits[0]
    assert hit.page == 2
    picture = engine.page(hit.document.id, 2, lines=(hit.line_start, hit.line_end))
    assert (picture.page, picture.pages, picture.width) == (2, 2, 1000)
    assert marked(picture) == " ".join(PAGES[1])
    one = engine.page("harbour.pdf", 2, lines=(hit.line_start + 1, hit.line_start + 1), width=400)
    assert (one.width, marked(one)) == (400, PAGES[1][1])
    other = engine.page("harbour.pdf", 1, lines=(hit.line_start, hit.line_end))
    assert (marked(other), len(other.words)) == ("", len(" ".join(PAGES[0]).split()))
    assert marked(engine.page("harbour.pdf", 2)) == ""


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_hold_the_ink_of_their_words_however_a_page_is_turned(rotation: int) -> None:
    picture = draw(make_pdf([PAGES[1]], rotation=rotation, size=(400, 400)), "\n".join(PAGES[1]))
    dark, outside = ink(picture), ink(picture)
    for word in picture.words:
        left, top = int(word.x * picture.width), int(word.y * picture.height)
        right, bottom = left + int(word.width * picture.width) + 1, top + int(word.height * picture.height) + 1
        assert word.marked
        assert dark[top:bottom, left:right].mean() > 0.05, word
        outside[top - 4 : bottom + 4, left - 4 : right + 4] = False
    assert dark.sum() > 1000
    assert not outside.any()


def test_words_cut_at_the_end_of_a_line_are_found_as_the_index_joined_them() -> None:
    data = make_pdf([["Many glaciers moved.", "The largest of all gla-", "ciers reached the sea."]])
    text = parse_isolated("pdf", data, path="x.pdf", charset=None, limits=LIMITS).text
    assert "largest of all glaciers reached" in text
    assert [word.text for word in draw(data, text).words][-6:] == [
        "all",
        "gla",
        "ciers",
        "reached",
        "the",
        "sea.",
    ]


def test_of_a_passage_that_is_not_there_as_a_whole_its_lines_are_marked() -> None:
    picture = draw(make_pdf(PAGES), "A line of nobody\nThe walls are limestone, cut in three layers.")
    assert marked(picture) == PAGES[0][1]


@pytest.mark.parametrize(
    ("size", "width", "most"), [((10.0, 14_000.0), 2000, 4000), ((14_000.0, 3.0), 2000, 2000)]
)
def test_a_page_of_any_shape_has_a_bounded_picture(size: tuple[float, float], width: int, most: int) -> None:
    picture = draw(make_pdf([[]], size=size, margin=0), width=width)
    assert max(picture.width, picture.height) <= most
    assert min(picture.width, picture.height) >= 1


def test_a_file_that_is_not_what_was_indexed_is_not_shown(engine: Engine, tmp_path: Path) -> None:
    path = add(engine, tmp_path / "papers" / "harbour.pdf", make_pdf(PAGES))
    path.write_bytes(make_pdf([["The password is hidden nowhere", "else"]]))
    with pytest.raises(Conflict, match="changed since it was indexed: sync"):
        engine.page("harbour.pdf", 1)
    path.unlink()
    with pytest.raises(Conflict, match="it is gone; sync"):
        engine.page("harbour.pdf", 1)
    path.symlink_to(tmp_path / "index.db")
    with pytest.raises(Conflict, match="links are not followed"):
        engine.page("harbour.pdf", 1)


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def test_a_document_with_masked_secrets_is_not_shown(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "papers" / "keys.pdf", make_pdf([["Nothing here"], [f"token {SECRET}"]]))
    assert SECRET not in engine.text("keys.pdf")
    for page in (1, 2):
        with pytest.raises(NotAllowed, match="secrets were masked in this document"):
            engine.page("keys.pdf", page)


def test_stars_that_are_the_document_s_own_hide_nothing(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "papers" / "stars.pdf", make_pdf([["Hotels **** and *** by the sea"]]))
    assert "****" in engine.text("stars.pdf")
    assert engine.page("stars.pdf", 1).pages == 1


def test_an_index_that_keeps_secrets_shows_its_pages(tmp_path: Path) -> None:
    config = load_config({"db": tmp_path / "index.db", "index_secrets": True}, environ={})
    with Engine(config) as engine:
        add(engine, tmp_path / "papers" / "keys.pdf", make_pdf([[f"token {SECRET}", "* star"]]))
        assert engine.page("keys.pdf", 1).pages == 1


def test_what_has_no_pages_says_so(engine: Engine, tmp_path: Path) -> None:
    add(engine, tmp_path / "papers" / "harbour.pdf", make_pdf(PAGES))
    (tmp_path / "papers" / "plan.md").write_text("# Plan\n")
    engine.add(tmp_path / "papers")
    with pytest.raises(NotFound, match="there is no page 3: the last is 2"):
        engine.page("harbour.pdf", 3)
    with pytest.raises(NotFound, match="there is no page 0"):
        engine.page("harbour.pdf", 0)
    with pytest.raises(QueryError, match="width is 0 pixels"):
        engine.page("harbour.pdf", 1, width=0)
    with pytest.raises(NotFound, match="only a PDF or a picture"):
        engine.page("plan.md", 1)


def bomb(depth: int = 12, times: int = 16) -> bytes:
    """A page of 16**12 rectangles: each form draws the one before sixteen times."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>"]
    draw_all = "/F Do " * times
    objects.append(
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</XObject<</F {4 + depth} 0 R>>>>>>"
    )
    objects.append(f"<</Length {len(draw_all)}>>stream\n{draw_all}\nendstream")
    for level in range(depth):
        body = "0 0 200 200 re f" if level == 0 else draw_all
        resources = f"/Resources<</XObject<</F {4 + level} 0 R>>>>" if level else ""
        head = f"<</Type/XObject/Subtype/Form/BBox[0 0 300 300]{resources}/Length {len(body)}>>"
        objects.append(f"{head}stream\n{body}\nendstream")
    data = b"%PDF-1.7\n"
    for number, body in enumerate(objects, 1):
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    return data + b"trailer<</Root 1 0 R>>\n%%EOF"


def test_a_page_that_takes_forever_is_given_up_and_the_next_is_drawn() -> None:
    limits = ParseLimits(timeout_s=1, memory_bytes=1024**3)
    with pytest.raises(ParseError, match=r"page 1 takes longer than 1 s to draw"):
        draw_isolated("pdf", bomb(), 1, width=500, passage="", limits=limits)
    assert draw(make_pdf(PAGES)).pages == 2


def test_a_page_that_needs_too_much_memory_is_given_up() -> None:
    small = ParseLimits(timeout_s=30, memory_bytes=40 * 1024**2)
    square = make_pdf(PAGES, size=(400, 400))
    with pytest.raises(ParseError, match="needs more than 40 MiB"):
        draw_isolated("pdf", square, 1, width=4000, passage="", limits=small)
    assert draw_isolated("pdf", square, 1, width=400, passage="", limits=small).width == 400
