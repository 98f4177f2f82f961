"""Word documents: paragraphs and tables in the order they stand, headings by their styles."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import docx
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from outcrop.parse.archive import check_archive
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

# Style ids stay English where names are translated, but renamed templates keep only the name: either will do.
_HEADING_STYLE = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_P, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")


def read(raw: RawFile) -> Document:
    """A .docx file as text with `#` headings, `- ` lists and ` | ` rows."""
    check_archive(raw.data)
    document = docx.Document(io.BytesIO(raw.data))
    names = {style.style_id: style.name or "" for style in document.styles}
    writer = TextWriter(raw.max_text_chars)
    title = ""
    in_list = False
    for block in _blocks(document.element.body):
        if block.tag == _TABLE:
            _write_table(block, writer)
            in_list = False
            continue
        text = Paragraph(block, document).text
        level = _heading_level(block, names)
        if level is not None:
            writer.write_heading(level, text)
            title = title or (text.strip() if level == 1 else "")
            in_list = False
        elif text.strip():
            is_item = _is_item(block, names)
            writer.write(f"- {text.strip()}" if is_item else text, "\n" if is_item and in_list else "\n\n")
            in_list = is_item
    text = writer.finish()
    properties = document.core_properties
    meta = {"author": properties.author, "description": properties.subject, "keywords": properties.keywords}
    if properties.created is not None:
        meta["date"] = properties.created.date().isoformat()
    return Document(
        text=text,
        kind="docx",
        title=cut_title(clean_text(properties.title or "") or clean_text(title) or first_line(text))
        or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta={key: clean_text(value) for key, value in meta.items() if value},
    )


def _blocks(body: Any) -> Iterator[Any]:
    """Paragraphs and tables of the body in order, those inside content controls too."""
    stack = list(reversed(body))
    while stack:
        element = stack.pop()
        if element.tag in {_P, _TABLE}:
            yield element
        elif element.tag in {qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:smartTag")}:
            stack.extend(reversed(element))


def _heading_level(paragraph: Any, names: dict[str, str]) -> int | None:
    style = paragraph.style
    if style is None:
        return None
    for name in (style, names.get(style, "")):
        if name.lower() == "title":
            return 1
        if match := _HEADING_STYLE.fullmatch(name):
            return int(match[1])
    return None


def _is_item(paragraph: Any, names: dict[str, str]) -> bool:
    properties = paragraph.pPr
    if properties is None:
        return False
    if properties.numPr is not None:
        return True
    return names.get(paragraph.style or "", "").lower().startswith("list ")


def _write_table(table: Any, writer: TextWriter) -> None:
    """One line a row. A table inside a cell is read as that cell's text."""
    gap = "\n\n"
    for row in table.iterchildren(_ROW):
        cells = [_cell_text(cell) for cell in row.iterchildren(_CELL)]
        if any(cells):
            writer.write(" | ".join(cells), gap)
            gap = "\n"


def _cell_text(cell: Any) -> str:
    words = " ".join(Paragraph(paragraph, cell).text for paragraph in cell.iter(_P))
    return " ".join(words.split())
