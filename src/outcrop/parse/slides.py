"""PowerPoint: a slide is a page, its title a heading, its notes a quote below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.office import OfficeFile, attribute, local_name
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

_TITLES = frozenset({"title", "ctrTitle"})
_UNTITLED = frozenset({"powerpoint presentation", "presentation", "slide 1"})
"""Titles that templates and programs leave behind."""


def read(raw: RawFile) -> Document:
    """A .pptx file as text, one page per slide."""
    writer = TextWriter(raw.max_text_chars)
    with OfficeFile(raw.data) as file:
        presentation = file.part(file.main)
        if local_name(presentation) != "presentation":
            raise ParseError("not a presentation; give the file the ending of its own format")
        names = file.related(file.main, "slide")
        listed = (names.get(attribute(item, "id")) for item in presentation.iter("{*}sldId"))
        for name in dict.fromkeys(filter(None, listed)):
            writer.start_page()
            _write_slide(file, name, writer)
        properties = file.properties()
    about = {"author": properties.get("creator"), "description": properties.get("subject")}
    return as_slides(raw, "pptx", writer, properties.get("title", ""), about)


def as_slides(
    raw: RawFile, kind: str, writer: TextWriter, title: str, about: Mapping[str, str | None]
) -> Document:
    """What was written, a page a slide, as a document; `title` and what else it is `about` are its properties."""
    text = writer.finish()
    first = writer.headings[0].title if writer.headings else first_line(text)
    if title.lower() in _UNTITLED:
        title = ""
    return Document(
        text=text,
        kind=kind,
        title=cut_title(title or first) or file_stem(raw.path),
        headings=tuple(writer.headings),
        pages=tuple(writer.pages),
        meta={key: value for key, value in about.items() if value},
    )


def _write_slide(file: OfficeFile, name: str, writer: TextWriter) -> None:
    try:
        shapes = list(_shapes(file.part(name)))
    except ParseError:  # one slide is damaged; the others can be read
        return
    title = next((shape for shape in shapes if _placeholder(shape) in _TITLES and _lines(shape)), None)
    if title is not None:
        writer.write_heading(1, " ".join(_lines(title)))
    for shape in shapes:
        if shape is not title:
            writer.write("\n".join(_rows(shape) if local_name(shape) == "graphicFrame" else _lines(shape)))
    for notes in file.related(name, "notesSlide").values():
        for shape in _shapes(file.part(notes)):
            if _placeholder(shape) == "body":
                writer.write("\n".join(f"> {line}" for line in _lines(shape)))


def _shapes(slide: Any) -> Iterator[Any]:
    """All shapes of a slide in order, those inside groups too, without recursion."""
    stack = [child for tree in slide.iter("{*}spTree") for child in reversed(tree)]
    while stack:
        shape = stack.pop()
        name = local_name(shape)
        if name in {"grpSp", "Choice"}:
            stack.extend(reversed(shape))
        elif name == "AlternateContent":
            stack.extend(shape[:1])  # the first choice is what is meant; the fallback is for older programs
        elif name in {"sp", "graphicFrame"}:
            yield shape


def _placeholder(shape: Any) -> str:
    """Which placeholder of the layout a shape fills: title, body, …; empty for a free shape."""
    return next((place.get("type") or "" for place in shape.iter("{*}ph")), "")


def _rows(frame: Any) -> list[str]:
    """The non-empty rows of a table."""
    rows = (
        [" ".join(" ".join(_lines(cell)).split()) for cell in row.iter("{*}tc")] for row in frame.iter("{*}tr")
    )
    return [" | ".join(row) for row in rows if any(row)]


def _lines(shape: Any) -> list[str]:
    """The non-empty lines of a shape's text."""
    lines = []
    for paragraph in shape.iter("{*}p"):
        pieces = (
            "\n" if local_name(each) == "br" else each.text or "" for each in paragraph.iter("{*}t", "{*}br")
        )
        lines += [line.strip() for line in clean_text("".join(pieces)).split("\n")]
    return [line for line in lines if line]
