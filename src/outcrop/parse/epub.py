"""EPUB: the book's pages in reading order, through the HTML reader."""

from __future__ import annotations

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from lxml import etree

from outcrop.errors import ParseError
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.html import parse_html, refuse_nested_entities, write_page
from outcrop.parse.limits import RawFile
from outcrop.parse.office import open_archive, read_entry, read_xml
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document

_CONTAINER = "META-INF/container.xml"
_META = {"creator": "author", "date": "date", "language": "language", "description": "description"}
_MARKUP = (".xhtml", ".html", ".htm", ".xml")


def read(raw: RawFile) -> Document:
    """An EPUB as text; ParseError when its table of files is missing."""
    writer = TextWriter(raw.max_text_chars)
    remark = ""
    with open_archive(raw.data) as archive:
        package_path = _package_path(archive)
        package = read_xml(archive, package_path)
        for name in _reading_order(package, package_path):
            chapter, wrong = _markup(archive, name)
            refuse_nested_entities(chapter)
            remark = remark or (f"{name}: {wrong}" if wrong else "")
            root = parse_html(chapter)
            if root is not None:
                write_page(root, writer)
    text = writer.finish()
    if not text:
        raise ParseError("no text in its reading order; the book may be copy-protected or made of images")
    properties = _properties(package)
    first = writer.headings[0].title if writer.headings else ""
    return Document(
        text=text,
        kind="epub",
        title=cut_title(properties.pop("title", "") or first) or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta=properties,
        remark=remark,
    )


def _package_path(archive: zipfile.ZipFile) -> str:
    for element in read_xml(archive, _CONTAINER).iter("{*}rootfile"):
        if path := element.get("full-path"):
            return str(path)
    raise ParseError("not an EPUB: its container names no package")


def _reading_order(package: Any, package_path: str) -> list[str]:
    """Names of the markup files in the spine, each once."""
    folder = posixpath.dirname(package_path)
    items = {item.get("id"): item.get("href") or "" for item in package.iter("{*}item")}
    names: dict[str, None] = {}
    for reference in package.iter("{*}itemref"):
        href = unquote(items.get(reference.get("idref"), ""))
        if href.lower().endswith(_MARKUP):
            names[posixpath.normpath(posixpath.join(folder, href))] = None
    return list(names)


def _properties(package: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in package.iter("{http://purl.org/dc/elements/1.1/}*"):
        name = etree.QName(element).localname
        value = " ".join(clean_text("".join(element.itertext())).split())
        if value and (name == "title" or name in _META):
            found.setdefault(_META.get(name, name), value[:1000])
    return found


def _markup(archive: zipfile.ZipFile, name: str) -> tuple[str, str]:
    """A chapter's text, and what is wrong with it; a missing chapter leaves the rest of the book readable."""
    try:
        return decode_with_remark(read_entry(archive, name))
    except ParseError as error:
        return "", str(error)
