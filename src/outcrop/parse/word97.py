"""Word's binary documents (`.doc`, 97 to 2003): paragraphs and tables in order, headings by their styles (MS-DOC)."""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from outcrop.errors import ParseError
from outcrop.parse.compound import CompoundFile
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import TextWriter, too_long
from outcrop.records import Document
from outcrop.system.limits import timed

_WORD: Final = 0xA5EC
_WORD_97: Final = 193
_ENCRYPTED, _SECOND_TABLE = 0x0100, 0x0200
_STYLES, _PARAGRAPHS, _PIECES = 154 + 8 * 1, 154 + 8 * 13, 154 + 8 * 33
_COUNTS: Final = 64 + 4 * 3
"""Characters of the text, the footnotes, the headers, macros, comments, endnotes, text boxes, and those of headers."""
_SHOWN: Final = (True, True, False, False, False, True, True, False)
_TITLE_STYLE: Final = 62
_PAGE: Final = 512
_IN_TABLE, _ROW_END, _LIST = 0x2416, 0x2417, 0x460B
_OPERANDS: Final = (1, 1, 2, 4, 2, 2, 0, 3)
_TOKEN: Final = re.compile("[^\x07\x0c\r\x13-\x15]+|[\x07\x0c\r\x13-\x15]")
_CELL, _FIELD, _RESULT, _FIELD_END = "\x07\x13\x14\x15"
_SIGNS: Final = str.maketrans({"\x0b": "\n", "\x0e": "\n", "\x1e": "-", "\x1f": None})


class _Piece(NamedTuple):
    """Characters from `start` to `end`, which lie at `place` with `width` bytes each."""

    start: int
    end: int
    place: int
    width: int


class _Style(NamedTuple):
    level: int
    in_table: bool
    ends_row: bool
    in_list: bool


_PLAIN: Final = _Style(0, in_table=False, ends_row=False, in_list=False)


def read(raw: RawFile) -> Document:
    """A .doc file as text with `#` headings, `- ` lists and ` | ` rows."""
    file = CompoundFile(raw.data)
    main = file.stream("WordDocument")
    if len(main) < _PIECES + 8 or struct.unpack_from("<H", main)[0] != _WORD:
        if file.stream("EncryptedPackage"):
            raise ParseError("encrypted; save it without a password")
        raise ParseError("not a Word document of 97 or later; open it in a word processor and save it as .docx")
    version, flags = struct.unpack_from("<H", main, 2)[0], struct.unpack_from("<H", main, 10)[0]
    if flags & _ENCRYPTED:
        raise ParseError("encrypted; save it without a password")
    if version < _WORD_97:
        raise ParseError("of Word 95 or older; open it in a word processor and save it as .docx")
    table = file.stream("1Table" if flags & _SECOND_TABLE else "0Table")
    writer = TextWriter(raw.max_text_chars)
    try:
        pieces = _read_pieces(_part(main, table, _PIECES), raw.max_text_chars)
        text = _read_text(main, pieces)
        looks = _Looks(main, table)
        _write(writer, _paragraphs(text, _counts(main), pieces, looks))
    except struct.error as error:
        raise ParseError(
            "damaged: its lists make no sense; open it in a word processor and save it as .docx"
        ) from error
    properties = file.properties()
    title = properties.get("title") or next((each.title for each in writer.headings if each.level == 1), "")
    meta = {
        "author": properties.get("author"),
        "description": properties.get("subject"),
        "keywords": properties.get("keywords"),
        "date": properties.get("created"),
    }
    whole = writer.finish()
    return Document(
        text=whole,
        kind="doc",
        title=cut_title(title or first_line(whole)) or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta={key: value for key, value in meta.items() if value},
    )


def _part(main: bytes, table: bytes, at: int) -> bytes:
    """A list in the table, whose place and size stand in the header."""
    place, size = struct.unpack_from("<LL", main, at)
    return table[place : place + size]


def _counts(main: bytes) -> list[int]:
    found = struct.unpack_from("<8L", main, _COUNTS)
    return [min(count, 1 << 30) for count in found]


# ------------------------------------------------------------------ the text


def _read_pieces(listed: bytes, most: int) -> list[_Piece]:
    """Where the characters lie: a document that was changed and saved quickly is a list of pieces."""
    at = 0
    while at < len(listed) and listed[at] == 1:  # changes of formatting
        at += 3 + struct.unpack_from("<H", listed, at + 1)[0]
    if at >= len(listed) or listed[at] != 2:
        raise ParseError("damaged: its text is not listed; open it in a word processor and save it as .docx")
    (size,) = struct.unpack_from("<L", listed, at + 1)
    table = listed[at + 5 : at + 5 + size]
    count = max(0, (len(table) - 4) // 12)
    starts = struct.unpack_from(f"<{count + 1}L", table)
    pieces = []
    for number in range(count):
        (place,) = struct.unpack_from("<L", table, 4 * (count + 1) + 8 * number + 2)
        is_narrow = bool(place & 0x40000000)
        place &= 0x3FFFFFFF
        start, end = starts[number], starts[number + 1]
        if end < start:
            raise ParseError(
                "damaged: its text is not in order; open it in a word processor and save it as .docx"
            )
        if end > most:
            raise too_long(most)
        pieces.append(_Piece(start, end, place // 2 if is_narrow else place, 1 if is_narrow else 2))
    return pieces


def _read_text(main: bytes, pieces: list[_Piece]) -> str:
    """The characters, as many as the pieces say: what is missing is zeros. Halves of pairs stay apart, so that places
    can be counted."""
    parts = []
    for piece in pieces:
        count = piece.end - piece.start
        data = main[piece.place : piece.place + count * piece.width]
        if piece.width == 1:
            said = data.decode("cp1252", "replace")
        else:
            units = array("H", data[: len(data) // 2 * 2])
            if struct.pack("=H", 1) != struct.pack("<H", 1):
                units.byteswap()
            said = "".join(map(chr, units))
        parts.append(said.ljust(count, "\0"))
    return "".join(parts)


def _joined(text: str) -> str:
    """Text whose pairs are characters again."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ------------------------------------------------------------------ how paragraphs look


class _Looks:
    """What the paragraphs are that end at some place of the file."""

    def __init__(self, main: bytes, table: bytes) -> None:
        self._levels = _read_levels(_part(main, table, _STYLES))
        self._starts, self._ends = array("L"), array("L")
        self._styles: list[_Style] = []
        listed = _part(main, table, _PARAGRAPHS)
        count = max(0, (len(listed) - 4) // 8)
        pages = struct.unpack_from(f"<{count}L", listed, 4 * (count + 1)) if count else ()
        found: list[tuple[int, int, _Style]] = []
        for number in timed(dict.fromkeys(page & 0x3FFFFF for page in pages)):
            page = main[number * _PAGE : (number + 1) * _PAGE]
            if len(page) == _PAGE:
                found += self._read_page(page)
        for start, end, style in sorted(found, key=lambda each: each[0]):
            self._starts.append(start)
            self._ends.append(end)
            self._styles.append(style)

    def of(self, place: int) -> _Style | None:
        """The paragraph that a character belongs to; None where that is not known."""
        at = bisect_right(self._starts, place) - 1
        return self._styles[at] if at >= 0 and place < self._ends[at] else None

    def _read_page(self, page: bytes) -> Iterator[tuple[int, int, _Style]]:
        count = min(page[-1], 29)
        places = struct.unpack_from(f"<{count + 1}L", page)
        for number in range(count):
            at = 2 * page[4 * (count + 1) + 13 * number]
            style = _PLAIN
            if 0 < at < _PAGE - 3:
                size = 2 * page[at] - 1 if page[at] else 2 * page[at + 1]
                at += 1 if page[at] else 2
                style = self._read_style(page[at : at + size])
            yield places[number], places[number + 1], style

    def _read_style(self, data: bytes) -> _Style:
        if len(data) < 2:
            return _PLAIN
        level = self._levels.get(struct.unpack_from("<H", data)[0], 0)
        set_ = {_IN_TABLE: 0, _ROW_END: 0, _LIST: 0}
        at = 2
        while at + 3 <= len(data):
            (code,) = struct.unpack_from("<H", data, at)
            size = _OPERANDS[code >> 13] or 1 + data[at + 2]
            if code in set_:
                set_[code] = int.from_bytes(data[at + 2 : at + 2 + size], "little")
            at += 2 + size
        return _Style(level, bool(set_[_IN_TABLE]), bool(set_[_ROW_END]), bool(set_[_LIST]))


def _read_levels(sheet: bytes) -> dict[int, int]:
    """The level of each style that is a heading."""
    levels: dict[int, int] = {}
    if len(sheet) < 4:
        return levels
    head, count = struct.unpack_from("<HH", sheet)
    at = 2 + head
    for number in range(min(count, 4_096)):
        if at + 4 > len(sheet):
            break
        size, built_in = struct.unpack_from("<HH", sheet, at)
        if size:
            name = built_in & 0x0FFF
            if 1 <= name <= 9 or name == _TITLE_STYLE:
                levels[number] = 1 if name == _TITLE_STYLE else name
        at += 2 + size + size % 2
    return levels


# ------------------------------------------------------------------ paragraphs


def _paragraphs(
    text: str, counts: list[int], pieces: list[_Piece], looks: _Looks
) -> Iterator[tuple[str, str, _Style | None]]:
    """Each paragraph without the codes of fields, the sign that ends it, and how it looks."""
    starts = [piece.start for piece in pieces]
    begin = 0
    for count, shown in zip(counts, _SHOWN, strict=True):
        end = begin + count
        if shown:
            yield from _split(text, begin, end, starts, pieces, looks)
        begin = end


def _split(
    text: str, begin: int, end: int, starts: list[int], pieces: list[_Piece], looks: _Looks
) -> Iterator[tuple[str, str, _Style | None]]:
    said: list[str] = []
    fields: list[bool] = []
    hidden = 0
    for match in timed(_TOKEN.finditer(text, begin, min(end, len(text)))):
        sign = match[0]
        if sign == _FIELD:
            fields.append(True)
            hidden += 1
        elif sign in (_RESULT, _FIELD_END):
            if fields and fields[-1]:
                hidden -= 1
                fields[-1] = False
            if fields and sign == _FIELD_END:
                fields.pop()
        elif sign in ("\x07", "\x0c", "\r"):
            if not hidden:
                piece = pieces[max(0, bisect_right(starts, match.start()) - 1)]
                place = piece.place + (match.start() - piece.start) * piece.width
                yield _joined("".join(said).translate(_SIGNS)), sign, looks.of(place)
                said = []
        elif not hidden:
            said.append(sign)
    if said:
        yield _joined("".join(said).translate(_SIGNS)), "\r", None


def _write(writer: TextWriter, paragraphs: Iterator[tuple[str, str, _Style | None]]) -> None:
    cells: list[str] = []
    cell: list[str] = []
    in_list = after_row = False

    def end_row() -> None:
        nonlocal after_row
        if any(cells):
            writer.write(" | ".join(cells), "\n" if after_row else "\n\n")
            after_row = True
        cells.clear()

    for text, sign, style in paragraphs:
        if sign == _CELL:
            ends_row = style.ends_row if style else not text and not cell
            if not ends_row:
                cells.append(" ".join(" ".join([*cell, text]).split()))
                cell.clear()
            else:
                end_row()
            continue
        if style and style.in_table:
            cell.append(text)
            continue
        cells += [" ".join(" ".join(cell).split())] if cell else []
        cell.clear()
        end_row()
        after_row = False
        if style and style.level:
            writer.write_heading(style.level, text)
            in_list = False
        elif text.strip():
            is_item = bool(style and style.in_list)
            writer.write(f"- {text.strip()}" if is_item else text, "\n" if is_item and in_list else "\n\n")
            in_list = is_item
    cells += [" ".join(" ".join(cell).split())] if cell else []
    end_row()
