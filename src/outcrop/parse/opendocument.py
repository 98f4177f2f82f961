"""OpenDocument texts and presentations (.odt, .odp): headings, lists and tables; a slide is a page."""

from __future__ import annotations

from typing import Any, Final

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.office import attribute, local_name, open_archive, read_xml, refuse_entities
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

_META: Final = {"creator": "author", "initial-creator": "author", "date": "date", "subject": "subject"}
_ASIDE: Final = frozenset(
    {"annotation", "tracked-changes", "sequence-decls", "forms", "table-of-content", "note-citation"}
)
_MAX_SPACES: Final = 100
_MAX_DEPTH: Final = 200


def read(raw: RawFile) -> Document:
    """An OpenDocument file as text."""
    writer = TextWriter(raw.max_text_chars)
    with open_archive(raw.data) as archive:
        refuse_entities(archive)
        body = next(read_xml(archive, "content.xml").iter("{*}body"), None)
        if body is None:
            raise ParseError("damaged: it has no body; open it in its own program and save it again")
        about = read_xml(archive, "meta.xml") if "meta.xml" in archive.namelist() else None
    is_slides = next(body.iter("{*}presentation"), None) is not None
    _write(body, writer)
    properties = _properties(about)
    first = writer.headings[0].title if writer.headings else ""
    return Document(
        text=writer.finish(),
        kind="odp" if is_slides else "odt",
        title=cut_title(properties.pop("title", "") or first) or file_stem(raw.path),
        headings=tuple(writer.headings),
        pages=tuple(writer.pages),
        meta=properties,
    )


def _write(body: Any, writer: TextWriter) -> None:
    """Write what is in an element, block by block; the walk needs no recursion."""
    waiting: list[tuple[Any, int]] = [(body, 0)]
    while waiting:
        element, depth = waiting.pop()
        name = local_name(element)
        if name in _ASIDE or not name:
            continue
        if name == "h":
            level = attribute(element, "outline-level")
            writer.write_heading(int(level) if level.isdecimal() and len(level) < 3 else 1, _words(element))
        elif name == "p":
            writer.write(_words(element))
        elif name == "table-row":
            cells = [
                _words(cell) for cell in element if local_name(cell) in ("table-cell", "covered-table-cell")
            ]
            while cells and not cells[-1]:
                cells.pop()
            writer.write(" | ".join(cells), "\n")
        elif name == "list-item":
            _write_item(element, depth, writer, waiting)
        else:
            if name == "page":
                writer.start_page()
                title = attribute(element, "name")
                if title and not title.lower().startswith(("page", "slide")):
                    writer.write_heading(2, title)
            deeper = depth + (name == "list")
            waiting.extend((each, deeper) for each in reversed(element))


def _write_item(element: Any, depth: int, writer: TextWriter, waiting: list[tuple[Any, int]]) -> None:
    """Write the paragraphs of an item after one mark; lists in it follow."""
    said = [_words(each) for each in element if local_name(each) in ("p", "h")]
    if any(said):
        indent = "  " * min(max(depth - 1, 0), 20)
        writer.write(f"{indent}- {' '.join(filter(None, said))}", "\n")
    waiting.extend((each, min(depth, _MAX_DEPTH)) for each in reversed(element) if local_name(each) == "list")


def _words(element: Any) -> str:
    """The words of a paragraph or a cell in one line."""
    parts: list[str] = []
    aside = 0
    waiting: list[tuple[Any, bool]] = [(element, False)]
    while waiting:
        node, leaving = waiting.pop()
        name = local_name(node)
        if leaving:
            aside -= name in _ASIDE
            if not aside and node is not element:
                parts.append(node.tail or "")
            continue
        aside += name in _ASIDE
        if not aside:
            if name == "s":
                count = attribute(node, "c")
                parts.append(
                    " " * (min(int(count), _MAX_SPACES) if count.isdecimal() and len(count) < 9 else 1)
                )
            elif name in ("tab", "line-break", "p", "h"):
                parts.append(" ")
            parts.append(node.text or "" if name else "")
        waiting.append((node, True))
        waiting.extend((each, False) for each in reversed(node))
    return " ".join(clean_text("".join(parts)).split())


def _properties(about: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in () if about is None else about.iter("{*}*"):
        name = local_name(element)
        value = " ".join(clean_text(element.text or "").split())[:1000]
        if value and (name == "title" or name in _META):
            found.setdefault(_META.get(name, name), value)
    return found
