"""HTML: the readable part of a page, with Markdown's markup for headings, lists and code.

The walk over the tree is linear, and iterative so that no nesting is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from outcrop.errors import ParseError
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

# Parts of a page that are not its content. `form` is dropped unless it wraps the whole page, as on some servers.
_DROPPED = (
    "script", "style", "nav", "footer", "aside", "svg", "template", "noscript", "iframe", "object", "embed",
    "canvas", "audio", "video", "map", "button", "select", "input", "textarea", "dialog", "math-renderer",
)  # fmt: skip
_DROPPED_ROLES = ("navigation", "contentinfo", "complementary", "search")
_MAIN = ("main", "article")
_META_NAMES = {
    "description": "description",
    "og:description": "description",
    "author": "author",
    "date": "date",
    "dc.date": "date",
    "dcterms.date": "date",
    "article:published_time": "date",
}
_CHARSET = re.compile(rb"""(?:charset\s*=\s*|encoding\s*=\s*)["']?\s*([A-Za-z0-9_:-]{2,40})""", re.IGNORECASE)
_NESTED_ENTITY = re.compile(
    r"""<!ENTITY\s{1,100}(?:%\s{1,100})?[^\s"'>]{1,200}\s{1,100}["'][^"'<]{0,2000}&(?!#)"""
)
_CHARSET_WITHIN = 4096  # browsers read 1024; some pages put comments first


def read(raw: RawFile) -> Document:
    """Read a page: its main part when it has one, else its body without navigation."""
    charset = raw.charset
    if charset is None and (match := _CHARSET.search(raw.data[:_CHARSET_WITHIN])):
        charset = match[1].decode("ascii")
    writer = TextWriter(raw.max_text_chars)
    source, remark = decode_with_remark(raw.data, charset)
    refuse_nested_entities(source)
    root = parse_html(source)
    if root is None:
        return Document(text="", kind="html", title=file_stem(raw.path))
    title, meta = _page_title(root), _page_meta(root)
    write_page(root, writer)
    text = writer.finish()
    top = next((h.title for h in writer.headings if h.level == 1), "")
    return Document(
        text=text,
        kind="html",
        title=cut_title(title or top) or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta=meta,
        remark=remark,
    )


def refuse_nested_entities(text: str) -> None:
    """Raise ParseError for nested entities: only bombs declare them, and their text would silently be missing."""
    if "<!ENTITY" in text and _NESTED_ENTITY.search(text):
        raise ParseError("it declares nested entities; likely a bomb, and not read")


def parse_html(text: str) -> Any:
    """The tree of an HTML page, or None when it is empty."""
    if not text or text.isspace():
        return None
    # Encoding forced to UTF-8: what the page declares was considered when it was decoded. `huge_tree` lifts the depth
    # from 256 levels, which real pages reach, to 2048; memory is bounded by the worker.
    parser = etree.HTMLParser(
        encoding="utf-8", recover=True, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = etree.fromstring(clean_text(text).encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:
        if "empty" in str(error).lower():
            return None
        raise MemoryError from error  # the one thing that this forgiving parser does not recover from
    if any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise ParseError("nested too deeply; flatten it or exclude it")  # the rest would silently be missing
    return root


def write_page(root: Any, writer: TextWriter) -> None:
    """Write the readable part of a page, removing the rest from the tree."""
    body = next(root.iter("body"), root)
    etree.strip_elements(body, *_DROPPED, with_tail=False)
    for element in [each for each in body.iter("div", "section") if each.get("role") in _DROPPED_ROLES]:
        _remove(element)
    size = _text_size(body)
    for form in list(body.iter("form")):
        if _text_size(form) * 2 < size:
            _remove(form)
    main = max(_main_parts(body), key=_text_size, default=body)
    walk_html(main if _text_size(main) * 2 >= _text_size(body) else body, writer)


def _main_parts(body: Any) -> Iterator[Any]:
    for element in body.iter(*_MAIN):
        yield element
    for element in body.iter("div", "section"):
        if element.get("role") == "main":
            yield element


def _text_size(element: Any) -> int:
    return sum(len(part.strip()) for part in element.itertext())


def _remove(element: Any) -> None:
    """Remove an element but keep the text that follows it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        previous = element.getprevious()
        if previous is not None:
            previous.tail = (previous.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _page_title(root: Any) -> str:
    for head in root.iter("head"):
        for title in head.iter("title"):
            return " ".join("".join(title.itertext()).split())
    return ""


def _page_meta(root: Any) -> dict[str, str]:
    meta: dict[str, str] = {}
    for element in root.iter("meta"):
        name = (element.get("name") or element.get("property") or "").lower()
        content = " ".join(clean_text(element.get("content") or "").split())
        if name in _META_NAMES and content:
            meta.setdefault(_META_NAMES[name], content[:1000])
    return meta


_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_BLOCKS = frozenset({
    "address", "article", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "form", "header", "hgroup", "hr", "li", "main", "ol", "p", "pre", "section",
    "summary", "table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption", "ul", "html", "optgroup",
    "option", "legend", *_HEADINGS,
})  # fmt: skip
# A table that contains any of these is for layout: its cells are read as blocks, not as values.
_NOT_IN_DATA = ("table", "h1", "h2", "h3", "h4", "pre", "ul", "ol", "blockquote")
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_TICKS = re.compile(r"`{3,}")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PERMALINKS = frozenset({"¶", "#", "§", "🔗"})  # what documentation generators append to headings
_MAX_INDENT = 8  # deeper lists stay at this indent


def walk_html(root: Any, writer: TextWriter) -> None:
    """Write the content of an element as blocks of text."""
    walk = _Walk(writer)
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        element, leaving = stack.pop()
        if leaving:
            walk.leave(element.tag)
        elif isinstance(element.tag, str) and not _is_hidden(element):
            walk.enter(element)
            if element.text:
                walk.add(element.text)
            stack.append((element, True))
            stack.extend((child, False) for child in reversed(element))
            continue
        if element.tail and element is not root:
            walk.add(element.tail)
    walk.flush()


def _is_hidden(element: Any) -> bool:
    if not element.attrib:
        return False
    if element.tag == "a" and (element.text or "").strip() in _PERMALINKS and not len(element):
        return True
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    style = element.get("style")
    return bool(style and _HIDDEN_STYLE.search(style[:500]))


class _Walk:
    """The words since the last block, and the open blocks around them."""

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._words: list[str] = []
        self._lists = 0
        self._quotes = 0
        self._pre = 0
        self._cells: list[str] | None = None
        self._tables: list[bool] = []  # for each open table, whether it holds data
        self._marker = False  # the next block starts a list item
        self._last_kind = ""

    def add(self, text: str) -> None:
        """Take some character data."""
        self._words.append(text)

    def enter(self, element: Any) -> None:
        """An element starts."""
        tag = element.tag
        if tag == "br":
            self._words.append("\n" if self._pre else "\0")
        if tag not in _BLOCKS or self._pre:
            self._pre += tag == "pre"
            return
        if self._in_cell():
            self._words.append(" ")
            return
        self.flush()
        if tag == "table":
            self._tables.append(_holds_data(element))
        elif tag == "tr" and self._tables and self._tables[-1]:
            self._cells = []
        elif tag in {"ul", "ol"}:
            self._lists += 1
        elif tag == "li":
            self._marker = True
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._pre = 1

    def leave(self, tag: str) -> None:
        """An element ends."""
        if self._pre:
            if tag == "pre":
                self._pre -= 1
                if not self._pre:
                    self._write_code()
            return
        if tag not in _BLOCKS:
            return
        if tag in {"td", "th"} and self._cells is not None:
            self._cells.append(self._take())
        elif tag == "tr" and self._cells is not None:
            self._write_row()
        elif tag == "table":
            self._cells = None
            self.flush()
            if self._tables:
                self._tables.pop()
            self._last_kind = ""
        elif self._in_cell():
            self._words.append(" ")
        elif tag in _HEADINGS:
            self._write_heading(_HEADINGS[tag])
        else:
            self.flush()
            self._lists -= tag in {"ul", "ol"} and self._lists > 0
            self._quotes -= tag == "blockquote" and self._quotes > 0
            if tag == "li":
                self._marker = False

    def flush(self) -> None:
        """Write the collected words as a block."""
        words = self._take(keep_breaks=True)
        if words:
            in_list = self._lists > 0
            marker = "- " if self._marker else "  " if in_list else ""
            self._write(words, marker, "item" if in_list else "block")
            self._marker = False

    def _write(self, block: str, marker: str, kind: str) -> None:
        indent = "  " * (min(self._lists, _MAX_INDENT) - 1 if self._lists else 0)
        rest = indent + " " * len(marker)
        lines = block.split("\n")
        lines = [indent + marker + lines[0], *(rest + line if line else line for line in lines[1:])]
        if self._quotes:
            lines = ["> " * min(self._quotes, _MAX_INDENT) + line for line in lines]
        tight = kind == self._last_kind and kind in {"item", "row"}
        self._writer.write("\n".join(lines), "\n" if tight else "\n\n")
        self._last_kind = kind

    def _write_heading(self, level: int) -> None:
        self._writer.write_heading(level, self._take())
        self._marker = False
        self._last_kind = "heading"

    def _write_row(self) -> None:
        cells, self._cells = self._cells or [], None
        if any(cells):
            self._write(" | ".join(cells), "", "row")

    def _write_code(self) -> None:
        code = "".join(self._words).replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip("\n")
        self._words = []
        if self._in_cell():
            self._words.append(code)
        elif code.strip():
            longest = max((len(ticks) for ticks in _TICKS.findall(code)), default=2)
            fence = "`" * (longest + 1)
            self._write(f"{fence}\n{code}\n{fence}", "- " if self._marker else "", "code")
            self._marker = False

    def _take(self, *, keep_breaks: bool = False) -> str:
        """The collected words, with whitespace collapsed and `<br>` as a line end where allowed."""
        text = _SPACE.sub(" ", "".join(self._words))
        self._words = []
        if "\0" not in text:
            return text.strip()
        lines = [line.strip() for line in text.split("\0")]
        return ("\n" if keep_breaks else " ").join(line for line in lines if line)

    def _in_cell(self) -> bool:
        return self._cells is not None


def _holds_data(table: Any) -> bool:
    """Whether a table holds data: nothing inside shows that it is for layout."""
    inner = table.iter(*_NOT_IN_DATA)
    next(inner, None)  # the table itself
    return next(inner, None) is None
