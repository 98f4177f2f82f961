"""Documents of Word and PowerPoint from before 2007: read as their successors are, and never believed."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from tests.parse.compounds import SECTOR, compound, sample

from outcrop.errors import ParseError
from outcrop.parse.compound import CompoundFile
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=512 * 1024**2)
STREAMS = {
    "doc": ("WordDocument", "1Table", "\x05SummaryInformation"),
    "ppt": ("PowerPoint Document", "Current User", "\x05SummaryInformation"),
}


def read(data: bytes, path: str) -> Document:
    return parse(data, path=path, media_type=None, limits=LIMITS)


def streams(name: str) -> dict[str, bytes]:
    file = CompoundFile(sample(name))
    return {each: file.stream(each) for each in STREAMS[name.rpartition(".")[2]]}


def test_a_word_document_has_headings_lists_and_tables() -> None:
    found = read(sample("lighthouse.doc"), "a.doc")
    assert (found.kind, found.title) == ("doc", "Lighthouse manual")
    assert found.text == (
        "# Lamp care\n\nThe lamp is lit at dusk — with whale oil. Grüße aus Köln.\n\n## Fuel table\n\n"
        "Fuel | Price per barrel | Stock\nWhale oil | 1,250.00 | 14\nKerosene | 310.50 | 99\n\n"
        "- Trim the wick\n- Clean the lens\n\nLast words1 of the page with a link."
    )
    assert [(each.level, each.title) for each in found.headings] == [(1, "Lamp care"), (2, "Fuel table")]


def test_footnotes_and_results_of_fields_are_read_and_headers_are_not() -> None:
    found = read(sample("salt.doc"), "a.doc")
    assert found.text == (
        "Salt was carried to the 検索 harbour on page 1.\n\nSecond paragraph.\n\nIn barrels of oak."
    )


def test_the_same_is_read_of_the_formats_that_followed() -> None:
    said = "Salt was carried to the 検索 harbour on page 1.\n\nIn barrels of oak.\n\nSecond paragraph."
    assert read(sample("salt.docx"), "a.docx").text == said
    inline = "Salt was carried In barrels of oak. to the 検索 harbour on page"
    assert read(sample("salt.odt"), "a.odt").text.startswith(inline)
    assert read(sample("salt.rtf"), "a.rtf").text.startswith(inline)


def test_a_slide_is_a_page_with_its_title_boxes_table_and_notes() -> None:
    found = read(sample("harbour.ppt"), "a.ppt")
    assert (found.kind, found.title, dict(found.meta)) == ("ppt", "Harbour talk", {"author": "Ann Lee"})
    assert [each.title for each in found.headings] == ["Harbour tariffs", "Lamp 検索"]
    first, second = found.text[: found.pages[1]], found.text[found.pages[1] :]
    assert first.split("\n\n") == [
        "# Harbour tariffs",
        "Ships pay by length\nBoats are free",
        "free box of Harbour tariffs",
        "> Speak slowly about Harbour tariffs",
        "",
    ]
    assert second.split("\n\n")[2:] == [
        "free box of Lamp 検索",
        "Fuel",
        "Price",
        "Oil",
        "1,250",
        "> Speak slowly about Lamp 検索",
    ]


def test_an_old_workbook_is_read_as_any() -> None:
    found = read(sample("fuel.xls"), "a.xls")
    assert (
        found.text
        == "# Fuel\n\nFuel | Price | Stock\nWhale oil | 1250.5 | 14\nKerosene | 310 | 99\n\n# Crew\n\nAnn | 1790"
    )


@pytest.mark.parametrize(
    ("data", "kind"),
    [(rb"{\rtf1 words}", "rtf"), (b"<html><body>words</body></html>", "html")],
)
def test_what_is_saved_under_these_names_is_what_it_is(data: bytes, kind: str) -> None:
    found = read(data, "a.doc")
    assert (found.kind, found.text) == (kind, "words")


def _set(name: str, place: int, form: str, value: int) -> Callable[[dict[str, bytes]], None]:
    def change(found: dict[str, bytes]) -> None:
        data = bytearray(found[name])
        struct.pack_into(form, data, place, value)
        found[name] = bytes(data)

    return change


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("salt.doc", _set("WordDocument", 10, "<H", 0x0100), "encrypted; save it without a password"),
        ("salt.doc", _set("WordDocument", 2, "<H", 104), "Word 95"),
        ("salt.doc", _set("WordDocument", 0, "<H", 1), "not a Word document"),
        ("salt.doc", _set("WordDocument", 154 + 8 * 33, "<L", 1 << 30), "its text is not listed"),
        ("harbour.ppt", _set("Current User", 12, "<L", 0xF3D1C4DF), "encrypted; save it without a password"),
        ("harbour.ppt", _set("Current User", 16, "<L", 1 << 30), "its slides are not listed"),
        ("harbour.ppt", lambda found: found.pop("PowerPoint Document"), "not a presentation"),
    ],
)
def test_what_cannot_be_read_says_why(
    file: str, change: Callable[[dict[str, bytes]], None], message: str
) -> None:
    found = streams(file)
    before = read(compound(found), file)
    assert before.text
    change(found)
    with pytest.raises(ParseError, match=message):
        read(compound(found), file)


def test_an_encrypted_file_of_a_later_office_says_so() -> None:
    for name in ("a.doc", "a.ppt"):
        with pytest.raises(ParseError, match="encrypted"):
            read(compound({"EncryptedPackage": b"x" * 5_000}), name)


def test_pieces_that_claim_more_than_there_is_are_bounded() -> None:
    found = streams("salt.doc")
    main, table = bytearray(found["WordDocument"]), found["1Table"]
    listed = b"\2" + struct.pack("<L3L16x", 28, 0, 100, 2_000_000_000)
    struct.pack_into("<LL", main, 154 + 8 * 33, len(table), len(listed))
    with pytest.raises(ParseError, match=r"characters of text|not in order"):
        read(compound({**found, "WordDocument": bytes(main), "1Table": table + listed}), "a.doc")


def test_chains_that_run_in_circles_end() -> None:
    data = bytearray(compound({"a": b"x" * 3_000, "b": b"y" * 700}))
    tables = struct.unpack_from("<L", data, 76)[0]
    for sector in range(8):
        struct.pack_into("<L", data, (tables + 1) * SECTOR + 4 * sector, 0)
    file = CompoundFile(bytes(data))
    assert len(file.stream("a")) <= len(data)
    struct.pack_into("<LL", data, 68, 0, 1 << 30)  # lists of lists
    assert CompoundFile(bytes(data)).stream("nothing") == b""
