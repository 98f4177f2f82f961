"""Formats that libraries read, on real files made here."""

from __future__ import annotations

import io
import json
import zipfile

import docx
import openpyxl
import pptx
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)


def read(data: bytes | str, path: str, media_type: str | None = None) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return parse(raw, path=path, media_type=media_type, limits=LIMITS)


def make_pdf(pages: list[list[str]], *, title: str = "", outline: bool = False) -> bytes:
    buffer = io.BytesIO()
    pdf = canvas.Canvas(buffer, pagesize=A4)
    pdf.setTitle(title)
    for number, lines in enumerate(pages):
        for row, line in enumerate(lines):
            pdf.drawString(72, 780 - 16 * row, line)
        if outline and lines:
            pdf.bookmarkPage(f"p{number}")
            pdf.addOutlineEntry(lines[0], f"p{number}", level=0)
        pdf.showPage()
    pdf.save()
    return buffer.getvalue()


# ------------------------------------------------------------------ html


def test_html_becomes_readable_text_with_headings() -> None:
    document = read(
        """<html><head><title>The  Page</title><meta name="description" content="About it">
        <meta property="article:published_time" content="2024-02-03"><style>p{}</style></head><body>
        <nav>Menu</nav><h1>Top <em>thing</em><a href="#t">¶</a></h1><p>First   para<br>second line</p>
        <script>evil()</script><p hidden>no</p><p style="display: none">no</p>
        <ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
        <table><tr><th>a</th><th>b</th></tr><tr><td><p>1</p></td><td>2</td></tr></table>
        <pre><code>x = 1\n  y</code></pre><blockquote><p>said</p></blockquote>
        <h2>Next</h2>tail<footer>foot</footer></body></html>""",
        "x.html",
    )
    assert document.text == (
        "# Top thing\n\nFirst para\nsecond line\n\n- one\n  - inner\n- two\n\na | b\n1 | 2\n\n"
        "```\nx = 1\n  y\n```\n\n> said\n\n## Next\n\ntail"
    )
    assert document.title == "The Page"
    assert document.meta == {"description": "About it", "date": "2024-02-03"}
    assert [(h.level, h.title) for h in document.headings] == [(1, "Top thing"), (2, "Next")]
    assert all(document.text[h.start :].startswith("#" * h.level + " " + h.title) for h in document.headings)


def test_the_main_part_is_preferred_when_it_holds_most_of_the_text() -> None:
    words = "word " * 50
    assert read(f"<body><div>side</div><main><p>{words}</main>", "x.html").text == words.strip()
    assert "side" in read("<body><div>side and much more text</div><main>x</main>", "x.html").text


def test_layout_tables_and_page_wide_forms_keep_their_text() -> None:
    page = "<form><table><tr><td><h1>Head</h1><p>Para</p></td><td><table><tr><td>a<td>b</table></table></form>"
    assert read(page, "x.html").text == "# Head\n\nPara\n\na | b"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        ('<meta charset="shift_jis"><p>日本語のページ'.encode("shift_jis"), None),
        ("<p>日本語のページ".encode("euc_jp"), "text/html; charset=EUC-JP"),
        ('<?xml version="1.0" encoding="utf-8"?><html><p>日本語のページ</p></html>'.encode(), None),
        ("<p>日本語のページ".encode("utf-16"), None),
    ],
)
def test_html_is_decoded_as_it_declares(data: bytes, media_type: str | None) -> None:
    assert read(data, "x.html", media_type).text == "日本語のページ"


@pytest.mark.parametrize("data", ["", " \n", "<!-- only -->", "<script>x</script>"])
def test_an_empty_page_is_an_empty_document(data: str) -> None:
    document = read(data, "empty.html")
    assert (document.text, document.title) == ("", "empty")


# ------------------------------------------------------------------ pdf


def test_pdf_pages_start_where_their_text_starts() -> None:
    document = read(make_pdf([["Alpha page", "more"], [], ["Gamma page"]], title="A real title"), "x.pdf")
    assert document.text == "Alpha page\nmore\n\nGamma page"
    assert document.pages == (0, 17, 17)
    assert document.text[document.pages[2] :] == "Gamma page"
    assert document.title == "A real title"


def test_pdf_outline_titles_become_headings() -> None:
    document = read(make_pdf([["One: start", "text"], ["Two", "text"]], outline=True), "x.pdf")
    assert [(h.level, h.title) for h in document.headings] == [(1, "One: start"), (1, "Two")]
    assert [document.text[h.start :].split("\n")[0] for h in document.headings] == ["One: start", "Two"]


def test_pdf_words_cut_at_a_line_end_are_joined_only_when_known() -> None:
    lines = ["The retrieval engine is well-", "known for retri-", "eval of text."]
    text = read(make_pdf([lines]), "x.pdf").text
    assert "retrieval of text" in text
    assert "well-known" in text


def test_pdf_titles_left_by_programs_are_ignored() -> None:
    assert (
        read(make_pdf([["Real heading"]], title="Microsoft Word - draft.doc"), "x.pdf").title == "Real heading"
    )


def test_a_pdf_under_another_name_is_still_a_pdf() -> None:
    assert read(make_pdf([["hello"]]), "x.txt").kind == "pdf"


def test_a_pdf_without_text_or_readable_structure_says_so() -> None:
    with pytest.raises(ParseError, match="there is nothing on its pages"):
        read(make_pdf([[], []]), "scan.pdf")
    with pytest.raises(ParseError, match="not a PDF"):
        read(b"hello", "x.pdf")


def test_an_encrypted_pdf_says_so() -> None:
    buffer = io.BytesIO()
    pdf = canvas.Canvas(buffer, encrypt="secret")
    pdf.drawString(72, 700, "hidden")
    pdf.save()
    with pytest.raises(ParseError, match="without a password"):
        read(buffer.getvalue(), "x.pdf")


# ------------------------------------------------------------------ office


def test_docx_keeps_paragraphs_lists_and_tables_in_order() -> None:
    source = docx.Document()
    source.core_properties.title = ""
    source.core_properties.author = "Ann"
    source.add_heading("Report", 0)
    source.add_paragraph("Before the table.")
    table = source.add_table(rows=2, cols=2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"c{number}"
    source.add_heading("Details", 2)
    source.add_paragraph("first", style="List Bullet")
    source.add_paragraph("second", style="List Bullet")
    buffer = io.BytesIO()
    source.save(buffer)
    document = read(buffer.getvalue(), "r.docx")
    assert document.text == (
        "# Report\n\nBefore the table.\n\nc0 | c1\nc2 | c3\n\n## Details\n\n- first\n- second"
    )
    assert [(h.level, h.title) for h in document.headings] == [(1, "Report"), (2, "Details")]
    assert (document.title, document.meta["author"]) == ("Report", "Ann")


def test_pptx_slides_are_pages_with_notes() -> None:
    source = pptx.Presentation()
    source.core_properties.title = ""
    for number in (1, 2):
        slide = source.slides.add_slide(source.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = "point a\npoint b"
        slide.notes_slide.notes_text_frame.text = f"say {number}"
    buffer = io.BytesIO()
    source.save(buffer)
    document = read(buffer.getvalue(), "s.pptx")
    assert document.text.startswith("# Slide 1\n\npoint a\npoint b\n\n> say 1\n\n# Slide 2")
    assert len(document.pages) == 2
    assert document.text[document.pages[1] :].startswith("# Slide 2")
    assert document.title == "Slide 1"


def test_xlsx_sheets_are_pages_of_rows() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales"
    sheet.append(["name", "amount"])
    sheet.append(["x", 3])
    sheet.append(["y", 2.5])
    book.create_sheet("Empty")
    buffer = io.BytesIO()
    book.save(buffer)
    document = read(buffer.getvalue(), "b.xlsx")
    assert document.text == "# Sales\n\nname | amount\nx | 3\ny | 2.5\n\n# Empty"
    assert [document.text[p:].split("\n")[0] for p in document.pages] == ["# Sales", "# Empty"]


@pytest.mark.parametrize("extension", ["docx", "pptx", "xlsx", "epub"])
def test_a_file_that_is_not_a_zip_is_not_an_office_file(extension: str) -> None:
    with pytest.raises(ParseError, match=f"not {extension}"):
        read("plain words", f"x.{extension}")
    with pytest.raises(ParseError, match="password-protected"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), f"x.{extension}")
    with pytest.raises(ParseError, match="damaged"):
        read(b"PK\x03\x04 and then nothing", f"x.{extension}")


# ------------------------------------------------------------------ epub, notebooks


def make_epub(chapters: list[str], package_extra: str = "", prolog: str = "") -> bytes:
    buffer = io.BytesIO()
    names = [f"c{n}.xhtml" for n in range(len(chapters))]
    items = "".join(
        f'<item id="{name}" href="text/{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in reversed(names))
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        )
        book.writestr(
            "OEBPS/book.opf",
            f'<?xml version="1.0"?>{prolog}<package xmlns="http://www.idpf.org/2007/opf">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Book</dc:title>'
            f"<dc:creator>Bob</dc:creator>{package_extra}</metadata>"
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        )
        for name, chapter in zip(names, chapters, strict=True):
            book.writestr(f"OEBPS/text/{name}", chapter)
    return buffer.getvalue()


def test_epub_chapters_follow_the_spine() -> None:
    document = read(
        make_epub(["<html><h1>Last</h1><p>z</p></html>", "<html><h1>First</h1><p>a</p></html>"]), "b.epub"
    )
    assert document.text == "# First\n\na\n\n# Last\n\nz"
    assert (document.title, document.meta["author"]) == ("The Book", "Bob")
    assert [h.title for h in document.headings] == ["First", "Last"]


def test_epub_entities_and_files_outside_are_not_read() -> None:
    prolog = '<!DOCTYPE package [<!ENTITY e "expanded"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    document = read(make_epub(["<p>text</p>"], "<dc:description>&e;&f;</dc:description>", prolog), "b.epub")
    assert document.text == "text"
    assert "expanded" not in str(document.meta)
    assert "root" not in str(document.meta)


def test_billion_laughs_in_an_epub_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    prolog = f'<!DOCTYPE package [<!ENTITY l0 "ha">{laughs}]>'
    with pytest.raises(ParseError, match="no text in its reading order"):
        read(make_epub(["<p>text</p>"], "<dc:description>&l11;</dc:description>", prolog), "b.epub")


def test_notebooks_keep_prose_code_and_short_results() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words\n", "\n", "## Part"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [{"text": "1\n"}, {"data": {"text/plain": ["x" * 5000]}}, {"data": {"image/png": "AA"}}],
        },
    ]
    notebook = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}
    document = read(json.dumps(notebook), "n.ipynb")
    assert document.text == "# Title\nwords\n\n## Part\n\n```python\nprint(1)\n```\n\n```\n1\n```"
    assert [document.text[h.start :].split("\n")[0] for h in document.headings] == ["# Title", "## Part"]
    assert document.title == "Title"
    with pytest.raises(ParseError, match="invalid JSON at line 1"):
        read("{", "n.ipynb")


def test_who_nobody_named_is_no_author_of_a_pdf() -> None:
    document = read(make_pdf([["words"]]), "a.pdf")  # reportlab writes "anonymous" and "unspecified"
    assert set(document.meta) == {"date"}


def test_what_a_page_says_is_its_menu_or_footer_is_left_out() -> None:
    page = (
        '<body><div role="navigation">Menu</div><div id="c"><h1>Backups</h1><p>Kept for 35 days.</p></div> and more'
        '<section role="contentinfo">Document generated by a wiki</section></body>'
    )
    assert read(page, "a.html").text == "# Backups\n\nKept for 35 days.\n\nand more"


def test_a_number_of_a_sheet_is_as_exact_as_people_see_it() -> None:
    book = openpyxl.Workbook()
    book.active.append([0.1 + 0.2, 85.9 / 100, 1 / 3, 1e-9, 12.0, -2.5])
    buffer = io.BytesIO()
    book.save(buffer)
    assert read(buffer.getvalue(), "b.xlsx").text.endswith(
        "0.3 | 0.859 | 0.333333333333333 | 1e-09 | 12 | -2.5"
    )
