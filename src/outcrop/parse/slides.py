"""PowerPoint: a slide is a page, its title a heading, its notes a quote below it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pptx

from outcrop.parse.archive import check_archive
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document


def read(raw: RawFile) -> Document:
    """A .pptx file as text, one page a slide."""
    check_archive(raw.data)
    presentation = pptx.Presentation(io.BytesIO(raw.data))
    writer = TextWriter(raw.max_text_chars)
    for slide in presentation.slides:
        writer.start_page()
        _write_slide(slide, writer)
    text = writer.finish()
    properties = presentation.core_properties
    title = clean_text(properties.title or "")
    # python-pptx's own template, and many others, leave this one behind.
    if title.lower() in {"powerpoint presentation", "presentation"}:
        title = ""
    first = writer.headings[0].title if writer.headings else first_line(text)
    meta = {"author": properties.author, "description": properties.subject}
    return Document(
        text=text,
        kind="pptx",
        title=cut_title(title or first) or file_stem(raw.path),
        headings=tuple(writer.headings),
        pages=tuple(writer.pages),
        meta={key: clean_text(value) for key, value in meta.items() if value},
    )


def _write_slide(slide: Any, writer: TextWriter) -> None:
    title = slide.shapes.title
    title_id = None
    if title is not None and title.has_text_frame and title.text_frame.text.strip():
        writer.write_heading(1, title.text_frame.text)
        title_id = title.shape_id
    for shape in _shapes(slide.shapes):
        if shape.shape_id == title_id:
            continue
        if shape.has_text_frame:
            paragraphs = (paragraph.text.strip() for paragraph in shape.text_frame.paragraphs)
            writer.write("\n".join(paragraph for paragraph in paragraphs if paragraph))
        elif getattr(shape, "has_table", False):
            rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows)
            writer.write("\n".join(" | ".join(row) for row in rows if any(row)))
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        lines = clean_text(notes.text).split("\n")
        writer.write("\n".join(f"> {line.strip()}" for line in lines if line.strip()))


def _shapes(shapes: Any) -> Iterator[Any]:
    """All shapes, those inside groups too, without recursion."""
    stack = list(reversed(list(shapes)))
    while stack:
        shape = stack.pop()
        if hasattr(shape, "shapes"):
            stack.extend(reversed(list(shape.shapes)))
        else:
            yield shape
