"""HTML: the readable part of a page, with Markdown's markup for headings, lists and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from outcrop.errors import ParseError
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.html_walk import walk_html
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

# Parts of a page that are not its content. `form` is dropped unless it wraps the whole page, as on some servers.
_DROPPED = (
    "script", "style", "nav", "footer", "aside", "svg", "template", "noscript", "iframe", "object", "embed",
    "canvas", "audio", "video", "map", "button", "select", "input", "textarea", "dialog", "math-renderer",
)  # fmt: skip
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
    """Raise ParseError where a page declares nested entities: only bombs do, and their text would silently be
    missing."""
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
