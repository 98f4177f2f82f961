"""The way in: bytes and a name become a Document or a ParseError."""

from __future__ import annotations

from dataclasses import replace

from outcrop.parse.decode import decode_with_remark
from outcrop.parse.formats import LibraryFormat, TextFormat, choose_format
from outcrop.parse.isolate import parse_isolated
from outcrop.parse.limits import ParseLimits, RawFile
from outcrop.parse.links import links_in
from outcrop.parse.mail import read_plain_message
from outcrop.parse.opening import name_by_opening
from outcrop.parse.roles import role_of
from outcrop.parse.writer import too_long
from outcrop.records import MAIL, Document, Outline
from outcrop.system.limits import check_time, limit_time


def parse(data: bytes, *, path: str, media_type: str | None = None, limits: ParseLimits) -> Document:
    """Read `data` in the format given by its media type, name and first bytes.

    Text formats keep their text as it is, so that lines can be cited: only a byte order mark is dropped, and line ends
    become `\\n`. `pages`, where a format has them, holds one offset per page; a page without text shares the offset of
    the next page with text, so the page of an offset is the last one that starts at or before it. Raises nothing but
    ParseError, whose message says what is wrong and what to do.
    """
    essence, charset = _split_media_type(media_type)
    chosen = choose_format(data, path, essence)
    if isinstance(chosen, LibraryFormat):
        if chosen.kind == MAIL:
            with limit_time(limits.timeout_s):
                raw = RawFile(data, path, charset, limits.max_text_chars)
                if (message := read_plain_message(raw)) is not None:
                    return message
        return name_by_opening(parse_isolated(chosen.kind, data, path=path, charset=charset, limits=limits))
    with limit_time(limits.timeout_s):
        text, remark = decode_with_remark(data, charset)
        document = _read_text(chosen, text, path, limits)
    return replace(document, remark=remark) if remark else document


def _read_text(chosen: TextFormat, text: str, path: str, limits: ParseLimits) -> Document:
    check_time()
    if len(text) > limits.max_text_chars:
        raise too_long(limits.max_text_chars)
    document = replace(name_by_opening(chosen.read(text, path)), role=role_of(path, text))
    check_time()
    if document.outline is None and (links := links_in(document, path)):
        return replace(document, outline=Outline(language="", references=links))
    return document


def _split_media_type(media_type: str | None) -> tuple[str | None, str | None]:
    """`Text/HTML; Charset="utf-8"` is ("text/html", "utf-8")."""
    if not media_type:
        return None, None
    essence, *parameters = media_type.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip():
            return essence.strip().lower(), value.strip().strip("\"'")
    return essence.strip().lower(), None
