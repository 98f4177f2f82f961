"""Word documents: paragraphs and tables in order, headings by their styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.office import OfficeFile, attribute, local_name
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter
from outcrop.records import Document

# Style ids stay English where names are translated, but renamed templates keep only the name: accept either.
_HEADING_STYLE = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?=T|\Z)")

# Wrappers around blocks and around runs that do not change what they say; deleted text is not among them.
_AROUND = frozenset("sdt sdtContent ins moveTo smartTag customXml".split())
_AROUND_RUNS = _AROUND | frozenset("hyperlink fldSimple dir bdo r".split())
_SIGNS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"}


def read(raw: RawFile) -> Document:
    """A .docx file as text with `#` headings, `- ` lists and ` | ` rows."""
    writer = TextWriter(raw.max_text_chars)
    title = ""
    in_list = False
    with OfficeFile(raw.data) as file:
        names, notes = _style_names(file), _notes(file)
        for block in _inside(_body(file), "p", "tbl"):
            if local_name(block) == "tbl":
                _write_table(block, writer)
                _write_notes(block, notes, writer)
                in_list = False
                continue
            text, style = _text(block), _property(block, "pStyle")
            level = _heading_level(style, names.get(style, ""))
            if level is not None:
                writer.write_heading(level, text)
                title = title or (text.strip() if level == 1 else "")
                in_list = False
            elif text.strip():
                listed = names.get(style, "").lower().startswith("list ")
                is_item = listed or block.find("{*}pPr/{*}numPr") is not None
                writer.write(f"- {text.strip()}" if is_item else text, "\n" if is_item and in_list else "\n\n")
                in_list = is_item
            in_list = not _write_notes(block, notes, writer) and in_list
        properties = file.properties()
    text = writer.finish()
    created = _DATE.match(properties.get("created", ""))
    meta = {
        "author": properties.get("creator"),
        "description": properties.get("subject"),
        "keywords": properties.get("keywords"),
        "date": created[0] if created else None,
    }
    return Document(
        text=text,
        kind="docx",
        title=cut_title(properties.get("title") or title or first_line(text)) or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta={key: value for key, value in meta.items() if value},
    )


def _notes(file: OfficeFile) -> dict[tuple[str, str], str]:
    """Footnotes and endnotes by kind and id, without the lines that set them apart."""
    found: dict[tuple[str, str], str] = {}
    for kind in ("footnote", "endnote"):
        for part in file.related(file.main, f"{kind}s").values():
            try:
                root = file.part(part)
            except ParseError:
                continue
            for note in root.iter(f"{{*}}{kind}"):
                text = "\n".join(filter(None, (_text(each).strip() for each in note.iter("{*}p"))))
                if text and not attribute(note, "type"):
                    found[kind, attribute(note, "id")] = text
    return found


def _write_notes(block: Any, notes: dict[tuple[str, str], str], writer: TextWriter) -> bool:
    """Write the notes to a paragraph or a table below it; whether there are any."""
    asked = [
        notes.pop((local_name(each).removesuffix("Reference"), attribute(each, "id")), "")
        for each in (block.iter("{*}footnoteReference", "{*}endnoteReference") if notes else ())
    ]
    for text in filter(None, asked):
        writer.write(text)
    return any(asked)


def _style_names(file: OfficeFile) -> dict[str, str]:
    """Style names by id; empty where the list is missing or damaged."""
    names: dict[str, str] = {}
    for part in file.related(file.main, "styles").values():
        try:
            styles = file.part(part)
        except ParseError:
            continue
        for style in styles.iter("{*}style"):
            named = style.find("{*}name")
            names[attribute(style, "styleId")] = "" if named is None else attribute(named, "val")
    return names


def _body(file: OfficeFile) -> Any:
    body = file.part(file.main).find("{*}body")
    if body is None:
        raise ParseError("not a Word document; give the file the ending of its own format")
    return body


def _inside(element: Any, *names: str) -> Iterator[Any]:
    """The elements with these names, in order, including those inside wrappers, without recursion."""
    stack = list(reversed(element))
    while stack:
        each = stack.pop()
        if local_name(each) in names:
            yield each
        elif local_name(each) in _AROUND:
            stack.extend(reversed(each))


def _property(paragraph: Any, name: str) -> str:
    found = paragraph.find(f"{{*}}pPr/{{*}}{name}")
    return "" if found is None else attribute(found, "val")


def _heading_level(style: str, name: str) -> int | None:
    for each in (style, name):
        if each.lower() == "title":
            return 1
        if match := _HEADING_STYLE.fullmatch(each):
            return int(match[1])
    return None


def _text(paragraph: Any) -> str:
    """A paragraph's text with tabs and line breaks, without page breaks, pictures or field codes."""
    pieces: list[str] = []
    stack = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        name = local_name(element)
        if name == "t":
            pieces.append(element.text or "")
        elif name == "br":
            pieces.append("" if attribute(element, "type") in {"page", "column"} else "\n")
        elif name in _AROUND_RUNS:
            stack.extend(reversed(element))
        else:
            pieces.append(_SIGNS.get(name, ""))
    return "".join(pieces)


def _write_table(table: Any, writer: TextWriter) -> None:
    """One line per row. A nested table is read as its cell's text."""
    gap = "\n\n"
    for row in _inside(table, "tr"):
        texts = (map(_text, cell.iter("{*}p")) for cell in _inside(row, "tc"))
        cells = [" ".join(" ".join(text).split()) for text in texts]
        if any(cells):
            writer.write(" | ".join(cells), gap)
            gap = "\n"
