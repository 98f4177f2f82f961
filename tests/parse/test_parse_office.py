"""Word and PowerPoint, read from their XML: real files made by the libraries of those formats, and changed ones."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import docx
import pptx
import pytest
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Inches

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)
_STRICT = {
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": b"http://purl.oclc.org/ooxml/officeDocument/relationships",
    b"http://schemas.openxmlformats.org/wordprocessingml/2006/main": b"http://purl.oclc.org/ooxml/wordprocessingml/main",
    b"http://schemas.openxmlformats.org/presentationml/2006/main": b"http://purl.oclc.org/ooxml/presentationml/main",
    b"http://schemas.openxmlformats.org/drawingml/2006/main": b"http://purl.oclc.org/ooxml/drawingml/main",
}  # fmt: skip


def saved(source: Any) -> bytes:
    buffer = io.BytesIO()
    source.save(buffer)
    return buffer.getvalue()


def read(source: Any, path: str) -> Document:
    data = source if isinstance(source, bytes) else saved(source)
    return parse(data, path=path, limits=LIMITS)


def rewritten(data: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The archive with each file as `change` has it; left out where that is None."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return buffer.getvalue()


def replaced(data: bytes, words: Mapping[bytes, bytes]) -> bytes:
    def change(_: str, content: bytes) -> bytes:
        for old, new in words.items():
            content = content.replace(old, new)
        return content

    return rewritten(data, change)


def report() -> Any:
    source = docx.Document()
    source.core_properties.title = "The report"
    source.core_properties.author = "Ann"
    source.core_properties.subject = "Rocks"
    source.core_properties.keywords = "basalt"
    source.core_properties.created = datetime(2024, 2, 3, 4, 5, 6)
    source.add_heading("Report", 0)
    source.add_heading("Details", 2)
    source.add_paragraph("It floats.")
    return source


def deck(*titles: str) -> Any:
    source = pptx.Presentation()
    source.core_properties.title = "The deck"
    source.core_properties.author = "Bob"
    for title in titles:
        slide = source.slides.add_slide(source.slide_layouts[5])
        slide.shapes.title.text = title
    return source


# ------------------------------------------------------------------ Word


def test_the_properties_of_a_word_document_are_kept() -> None:
    document = read(report(), "r.docx")
    assert document.title == "The report"
    assert document.meta == {
        "author": "Ann",
        "description": "Rocks",
        "keywords": "basalt",
        "date": "2024-02-03",
    }
    assert document.text == "# Report\n\n## Details\n\nIt floats."


def test_tabs_breaks_and_symbols_of_a_run_are_text() -> None:
    source = docx.Document()
    run = source.add_paragraph().add_run("a\tb\nc")
    run.add_break(WD_BREAK.PAGE)
    run.add_text("d")
    run._r.append(parse_xml(f"<w:noBreakHyphen {nsdecls('w')}/>"))
    run.add_text("e")
    assert read(source, "x.docx").text == "a\tb\ncd-e"


def test_links_fields_insertions_and_content_controls_are_read_and_deletions_are_not() -> None:
    source = docx.Document()
    paragraph = source.add_paragraph("See ")
    for inner in (
        "<w:hyperlink {0}><w:r><w:t>the manual</w:t></w:r></w:hyperlink>",
        '<w:ins {0} w:id="1"><w:r><w:t xml:space="preserve"> now</w:t></w:r></w:ins>',
        '<w:del {0} w:id="2"><w:r><w:delText>never</w:delText></w:r></w:del>',
        '<w:moveFrom {0} w:id="3"><w:r><w:t>elsewhere</w:t></w:r></w:moveFrom>',
        "<w:sdt {0}><w:sdtContent><w:r><w:t>, page </w:t></w:r></w:sdtContent></w:sdt>",
        '<w:fldSimple {0} w:instr="PAGE"><w:r><w:t>7</w:t></w:r></w:fldSimple>',
        "<w:r {0}><w:instrText>HIDDEN CODE</w:instrText></w:r>",
    ):
        paragraph._p.append(parse_xml(inner.format(nsdecls("w"))))
    control = "<w:sdt {0}><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    paragraph._p.addnext(parse_xml(control.format(nsdecls("w"))))
    assert read(source, "x.docx").text == "See the manual now, page 7\n\nIn a control."


def test_a_table_in_a_cell_is_the_text_of_that_cell() -> None:
    source = docx.Document()
    outer = source.add_table(rows=2, cols=2)
    outer.cell(0, 0).text = "a\nb"
    inner = outer.cell(0, 1).add_table(rows=1, cols=2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "c", "d"
    source.add_paragraph("after")
    assert read(source, "x.docx").text == "a b | c d\n\nafter"


def test_headings_are_recognised_by_style_name_where_the_id_is_translated() -> None:
    data = replaced(saved(report()), {b'"Heading2"': '"Überschrift2"'.encode(), b"Heading 2": b"heading 2"})
    assert [(each.level, each.title) for each in read(data, "x.docx").headings] == [
        (1, "Report"),
        (2, "Details"),
    ]


def test_a_document_without_its_styles_and_properties_is_read_as_paragraphs() -> None:
    def change(name: str, content: bytes) -> bytes | None:
        return None if name in {"word/styles.xml", "docProps/core.xml"} else content

    document = read(rewritten(saved(report()), change), "x.docx")
    assert document.text == "# Report\n\n## Details\n\nIt floats."  # ids are English here
    assert (document.title, document.meta) == ("Report", {})


# ------------------------------------------------------------------ PowerPoint


def test_slides_are_in_presentation_order() -> None:
    source = deck("One", "Two", "Three")
    order = source.slides._sldIdLst
    order.append(order[0])  # the first slide goes last
    document = read(source, "d.pptx")
    assert [each.title for each in document.headings] == ["Two", "Three", "One"]
    assert [document.text[page:].split("\n")[0] for page in document.pages] == ["# Two", "# Three", "# One"]
    assert (document.title, document.meta) == ("The deck", {"author": "Bob"})


def test_groups_tables_breaks_and_notes_of_a_slide_are_read() -> None:
    source = deck("A title\vof two lines")
    slide = source.slides[0]
    box = slide.shapes.add_textbox(0, 0, Inches(1), Inches(1))
    box.text_frame.text = "first\vsecond\n\n  third  "
    group = slide.shapes.add_group_shape().shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(1), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "a\nb", "c"
    slide.notes_slide.notes_text_frame.text = "say this\nand that"
    assert read(source, "d.pptx").text == (
        "# A title of two lines\n\nfirst\nsecond\nthird\n\nin a group\n\na b | c\n\n> say this\n> and that"
    )


def test_the_first_of_several_alternatives_is_read() -> None:
    source = deck("Title")
    tree = source.slides[0].shapes._spTree
    for text in ("meant", "shown by older programs"):
        source.slides[0].shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = text
    wrapper = parse_xml(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<mc:Choice/><mc:Fallback/></mc:AlternateContent>"
    )
    wrapper[0].append(tree[-2])
    wrapper[1].append(tree[-1])
    tree.append(wrapper)
    assert read(source, "d.pptx").text == "# Title\n\nmeant"


def test_a_damaged_slide_leaves_the_others_readable() -> None:
    data = rewritten(
        saved(deck("One", "Two", "Three")),
        lambda name, content: b"nothing" if name.endswith("slides/slide2.xml") else content,
    )
    document = read(data, "d.pptx")
    assert document.text == "# One\n\n# Three"
    assert len(document.pages) == 3


# ------------------------------------------------------------------ both


def test_the_strict_variant_of_the_standard_reads_the_same() -> None:
    for source, path in ((report(), "r.docx"), (deck("One", "Two"), "d.pptx")):
        data = saved(source)
        strict = replaced(data, _STRICT)
        assert strict != data
        assert read(strict, path) == read(data, path)


def test_a_file_under_the_name_of_the_other_format_says_so() -> None:
    with pytest.raises(ParseError, match="not a presentation"):
        read(report(), "r.pptx")
    with pytest.raises(ParseError, match="not a Word document"):
        read(deck("One"), "d.docx")


def test_a_file_without_its_main_part_says_so() -> None:
    for source, path in ((report(), "r.docx"), (deck("One"), "d.pptx")):
        data = rewritten(saved(source), lambda name, content: None if name == "_rels/.rels" else content)
        with pytest.raises(ParseError, match="its main part is missing"):
            read(data, path)


def test_relationships_lead_nowhere_outside_the_file() -> None:
    data = replaced(saved(deck("One")), {b'Target="slides/slide1.xml"': b'Target="../../../../etc/passwd"'})
    assert read(data, "d.pptx").text == ""


@pytest.mark.parametrize("path", ["r.docx", "d.pptx"])
def test_a_file_that_declares_entities_is_refused(path: str) -> None:
    source = report() if path.endswith("docx") else deck("It floats.")
    prolog = b'<!DOCTYPE x [<!ENTITY e "expanded"><!ENTITY f SYSTEM "file:///etc/passwd">]>'

    def change(name: str, content: bytes) -> bytes:
        if name not in {"word/document.xml", "ppt/slides/slide1.xml"}:
            return content
        head, mark, rest = content.partition(b"?>")
        return (head + mark + prolog + rest).replace(b"It floats.", b"It floats. &e;&f;")

    with pytest.raises(ParseError, match="declares XML entities"):
        read(rewritten(saved(source), change), path)
