"""PowerPoint's binary presentations (`.ppt`, 97 to 2003): a slide is a page, its title a heading, its notes a quote
below (MS-PPT)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from outcrop.errors import ParseError
from outcrop.parse.compound import CompoundFile
from outcrop.parse.limits import RawFile
from outcrop.parse.slides import as_slides
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import Document
from outcrop.system.limits import check_time

_DOCUMENT, _SLIDE, _SLIDE_ATOM, _NOTES, _PERSISTED = 1000, 1006, 1007, 1008, 1011
_REFERENCE, _HEADER, _WIDE_TEXT, _LIST, _NARROW_TEXT = 3998, 3999, 4000, 4080, 4008
_EDIT, _DIRECTORY, _TEXT_BOX = 4085, 6002, 0xF00D
_ENCRYPTED: Final = 0xF3D1C4DF
_TITLES: Final = (0, 6)
_NOTES_TEXT: Final = 2
_SLIDES_LISTED, _NOTES_LISTED = 0, 2
_MAX_EDITS: Final = 10_000
_MAX_SLIDES: Final = 20_000
_MAX_DEPTH: Final = 40


class _Record(NamedTuple):
    """A record: whether it holds others, its number among its like, its type, and where its content lies."""

    is_container: bool
    instance: int
    kind: int
    start: int
    end: int


class _Text(NamedTuple):
    kind: int
    text: str


class _Listed(NamedTuple):
    """A slide as the presentation lists it, with the texts of its placeholders."""

    reference: int
    identifier: int
    texts: list[_Text]


def read(raw: RawFile) -> Document:
    """A .ppt file as text, one page per slide."""
    file = CompoundFile(raw.data)
    data, user = file.stream("PowerPoint Document"), file.stream("Current User")
    if not data:
        if file.stream("EncryptedPackage"):
            raise ParseError("encrypted; save it without a password")
        raise ParseError("not a presentation of 97 or later; open it in its own program and save it as .pptx")
    if len(user) >= 16 and struct.unpack_from("<L", user, 12)[0] == _ENCRYPTED:
        raise ParseError("encrypted; save it without a password")
    writer = TextWriter(raw.max_text_chars)
    try:
        _Presentation(data, user).write(writer)
    except struct.error as error:
        raise ParseError(
            "damaged: its slides are not listed; open it in its own program and save it as .pptx"
        ) from error
    properties = file.properties()
    about = {"author": properties.get("author"), "description": properties.get("subject")}
    return as_slides(raw, "ppt", writer, properties.get("title", ""), about)


class _Presentation:
    """Records of one stream, which refer to each other by numbers."""

    def __init__(self, data: bytes, user: bytes) -> None:
        self._data = data
        self._places: dict[int, int] = {}
        self._document = self._read_edits(struct.unpack_from("<L", user, 16)[0] if len(user) >= 20 else None)

    def write(self, writer: TextWriter) -> None:
        """Its slides, in order."""
        lists = {each.instance: each for each in self._inside(self._document) if each.kind == _LIST}
        notes = {}
        if _NOTES_LISTED in lists:
            notes = {each.identifier: each.reference for each in self._listed(lists[_NOTES_LISTED])}
        if _SLIDES_LISTED not in lists:
            return
        for slide in self._listed(lists[_SLIDES_LISTED]):
            check_time()
            writer.start_page()
            found = self._at(slide.reference, _SLIDE)
            texts = list(slide.texts) if found is None else list(self._texts(found, slide.texts))
            title = next((each for each in texts if each.kind in _TITLES and each.text.strip()), None)
            if title is not None:
                writer.write_heading(1, " ".join(title.text.split()))
            for each in texts:
                if each is not title:
                    writer.write(each.text)
            self._write_notes(
                writer, None if found is None else self._at(notes.get(self._notes_of(found)), _NOTES)
            )

    def _write_notes(self, writer: TextWriter, notes: _Record | None) -> None:
        for each in self._texts(notes, ()) if notes is not None else ():
            if each.kind == _NOTES_TEXT and each.text.strip():
                writer.write("\n".join(f"> {line}" for line in each.text.split("\n") if line.strip()))

    # -------------------------------------------------------------- where records lie

    def _record(self, at: int) -> _Record:
        head, kind, size = struct.unpack_from("<HHL", self._data, at)
        return _Record(head & 0xF == 0xF, head >> 4, kind, at + 8, min(at + 8 + size, len(self._data)))

    def _inside(self, record: _Record) -> Iterator[_Record]:
        at = record.start
        while at + 8 <= record.end:
            found = self._record(at)
            yield found._replace(end=min(found.end, record.end))
            at = found.end

    def _at(self, number: int | None, kind: int) -> _Record | None:
        """The record of that number, if it is one of that kind."""
        place = self._places.get(number) if number is not None else None
        if place is None or place + 8 > len(self._data):
            return None
        found = self._record(place)
        return found if found.kind == kind else None

    def _read_edits(self, last: int | None) -> _Record:
        """Where each record was written last, by the edits from the newest back; the record of the presentation."""
        if last is None:
            edits = [
                each for each in self._inside(_Record(True, 0, 0, 0, len(self._data))) if each.kind == _EDIT
            ]
            last = edits[-1].start - 8 if edits else len(self._data)
        document, seen = -1, set[int]()
        while last not in seen and len(seen) < _MAX_EDITS and (last or not seen):
            seen.add(last)
            edit = self._record(last)
            if edit.kind != _EDIT:
                break
            last, directory, reference = struct.unpack_from("<LLL", self._data, edit.start + 8)
            document = reference if document < 0 else document
            self._read_directory(directory)
        found = self._at(document, _DOCUMENT)
        if found is None:
            raise ParseError(
                "damaged: its slides are not listed; open it in its own program and save it as .pptx"
            )
        return found

    def _read_directory(self, at: int) -> None:
        directory = self._record(at)
        if directory.kind != _DIRECTORY:
            return
        place = directory.start
        while place + 4 <= directory.end:
            (head,) = struct.unpack_from("<L", self._data, place)
            count = min(head >> 20, (directory.end - place - 4) // 4)
            for number, value in enumerate(struct.unpack_from(f"<{count}L", self._data, place + 4)):
                self._places.setdefault((head & 0xFFFFF) + number, value)
            place += 4 + 4 * (head >> 20)

    # -------------------------------------------------------------- texts

    def _listed(self, listing: _Record) -> list[_Listed]:
        found: list[_Listed] = []
        kind = 4
        for record in self._inside(listing):
            if record.kind == _PERSISTED and record.end - record.start >= 16:
                reference, _, _, identifier = struct.unpack_from("<LLLL", self._data, record.start)
                found.append(_Listed(reference, identifier, []))
                if len(found) > _MAX_SLIDES:
                    raise ParseError(f"holds more than {_MAX_SLIDES:,} slides; split it into smaller files")
            elif record.kind == _HEADER and record.end - record.start >= 4:
                (kind,) = struct.unpack_from("<L", self._data, record.start)
                if found:
                    found[-1].texts.append(_Text(kind, ""))
            elif record.kind in (_WIDE_TEXT, _NARROW_TEXT) and found and found[-1].texts:
                found[-1].texts[-1] = _Text(kind, self._said(record))
        return found

    def _notes_of(self, slide: _Record) -> int:
        """Which notes belong to a slide."""
        for record in self._inside(slide):
            if record.kind == _SLIDE_ATOM and record.end - record.start >= 20:
                return int(struct.unpack_from("<L", self._data, record.start + 16)[0])
        return 0

    def _texts(self, sheet: _Record, placed: list[_Text] | tuple[()]) -> Iterator[_Text]:
        """The texts of the boxes on a slide, in their order; those of placeholders stand in the list."""
        waiting = [(sheet, 0)]
        while waiting:
            record, depth = waiting.pop()
            inside = list(self._inside(record))
            if record.kind != _TEXT_BOX:
                if depth < _MAX_DEPTH:
                    waiting += [(each, depth + 1) for each in reversed(inside) if each.is_container]
                continue
            kind = 4
            for each in inside:
                size = each.end - each.start
                if each.kind == _HEADER and size >= 4:
                    (kind,) = struct.unpack_from("<L", self._data, each.start)
                elif each.kind in (_WIDE_TEXT, _NARROW_TEXT):
                    yield _Text(kind, self._said(each))
                elif each.kind == _REFERENCE and size >= 4:
                    (number,) = struct.unpack_from("<L", self._data, each.start)
                    if number < len(placed):
                        yield placed[number]

    def _said(self, record: _Record) -> str:
        data = self._data[record.start : record.end]
        text = data.decode("latin-1") if record.kind == _NARROW_TEXT else data.decode("utf-16-le", "replace")
        return clean_text(text)
