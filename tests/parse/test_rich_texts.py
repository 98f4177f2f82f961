"""OpenDocument and RTF, as LibreOffice and Word write them."""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)
SPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
TEXT = (
    '<text:h text:outline-level="1">Retries</text:h><text:p>Five<text:s text:c="3"/>attempts'
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>so far</text:p></text:note-body>"
    "</text:note> are <text:span>enough</text:span>.<office:annotation><text:p>really?</text:p></office:annotation>"
    " Yes.</text:p><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p>"
    "</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>"
    "<text:p>b</text:p></table:table-cell></table:table-row></table:table>"
)
SLIDES = (
    '<draw:page draw:name="Why"><draw:text-box><text:p>Because</text:p></draw:text-box></draw:page>'
    '<draw:page draw:name="page2"><draw:text-box><text:p>Then</text:p></draw:text-box></draw:page>'
)
RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Plan B}}{\*\generator Word;}\f0 Caf\'e9 \u8364?5 "
    rb"\b now\b0\par {\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}\line a\{b\}\par\trowd one\cell two\cell\row}"
)


def packed(kind: str, body: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        content = f"<office:document-content {SPACES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        archive.writestr("content.xml", f"{content}</office:document-content>")
        about = "<dc:title>The plan</dc:title><dc:creator>Ann Lee</dc:creator>"
        archive.writestr(
            "meta.xml",
            f"<office:document-meta {SPACES}><office:meta>{about}</office:meta></office:document-meta>",
        )
    return buffer.getvalue()


def read(data: bytes, path: str) -> Document:
    return parse(data, path=path, media_type=None, limits=LIMITS)


def test_a_text_of_libreoffice_has_headings_lists_and_tables() -> None:
    document = read(packed("text", TEXT), "plan.odt")
    assert document.kind == "odt"
    assert (document.title, document.meta) == ("The plan", {"author": "Ann Lee"})
    assert document.text == "# Retries\n\nFive attempts so far are enough. Yes.\n- one\n  - inner\n- two\na | b"
    assert [heading.title for heading in document.headings] == ["Retries"]


def test_a_slide_is_a_page() -> None:
    document = read(packed("presentation", SLIDES), "talk.odp")
    assert (document.kind, document.text) == ("odp", "## Why\n\nBecause\n\nThen")
    assert document.pages == (0, 17)


def test_rtf_is_its_words() -> None:
    document = read(RTF, "plan.rtf")
    assert (document.kind, document.title) == ("rtf", "Plan B")
    assert document.text == "Café €5 now\na link\na{b}\none | two"


def test_what_is_none_says_so() -> None:
    with pytest.raises(ParseError, match="not RTF"):
        read(b"words", "a.rtf")
    with pytest.raises(ParseError, match="not odt"):
        read(b"words", "a.odt")
    with pytest.raises(ParseError, match="nested too deeply"):
        read(rb"{\rtf1 " + b"{" * 10_000, "a.rtf")


@pytest.mark.parametrize("piece", [b"\\'e9", b"\\u8364?", b"{\\b x}", b"\\", b"\\par ", b"{\\*\\x y}"])
def test_hostile_rtf_takes_linear_time(piece: bytes) -> None:
    from outcrop.parse.limits import RawFile
    from outcrop.parse.rtf import read as read_rtf

    data = rb"{\rtf1 " + piece * 200_000
    before = time.process_time()
    read_rtf(RawFile(data, "a.rtf", None, 10_000_000))
    assert time.process_time() - before < 6
