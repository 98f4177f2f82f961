"""The picture of a page, where it shows nothing but what was indexed."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Final

from outcrop.config import Config
from outcrop.contracts import Store
from outcrop.errors import Conflict, NotAllowed, NotFound, QueryError, SourceError
from outcrop.mask.randomness import MASK
from outcrop.parse.isolate import draw_isolated, parse_isolated
from outcrop.parse.limits import ParseLimits
from outcrop.parse.passage import find_letters
from outcrop.records import DocumentInfo, PagePicture, PageWord, ScanPage
from outcrop.sources.files import read_plain
from outcrop.store.scans import SCANS, ScanStore
from outcrop.system.limits import check_wanted

DRAW_S: Final = 8.0
"""Seconds for one page: less than a request may take (not measured). A4 with text takes 0.02."""
PICTURED: Final = ("pdf", "image")
MAX_WIDTH: Final = 4_000
"""Pixels: more would not be drawn (`parse/picture.py`)."""


def draw_page(
    store: Store, config: Config, document: DocumentInfo, page: int, lines: tuple[int, int] | None, width: int
) -> PagePicture:
    """A page of a PDF or a picture, on which the words of these lines of its text are marked. Conflict where the
    file is not what was indexed; NotAllowed where the picture would show secrets that the index does not have."""
    if not 1 <= width <= MAX_WIDTH:
        raise QueryError(f"width is {width} pixels; it can be 1 to {MAX_WIDTH}")
    if document.kind not in PICTURED or document.origin != "file":
        raise NotFound(
            "only a PDF or a picture on this machine has pictures of its pages; its text can be read instead"
        )
    try:
        data = read_plain(Path(document.uri), config.max_file_bytes)
    except SourceError as error:
        raise Conflict(f"its pages cannot be shown: {error}") from error
    if hashlib.sha256(data).hexdigest() != document.sha256:
        raise Conflict(
            "the file has changed since it was indexed: sync its folder, then look at the page again"
        )
    text = store.text(document.id)
    limits = ParseLimits(timeout_s=min(DRAW_S, config.parse_timeout_s), memory_bytes=config.parse_memory_bytes)
    if _is_masked(text, data, document, limits):
        raise NotAllowed(
            "secrets were masked in this document, and a picture of its page could show them: read its text instead"
        )
    check_wanted()
    own = [chunk for chunk in store.chunks_of(document.id) if chunk.page == page]
    passage = ""
    if lines is not None and own:
        first, last = max(lines[0], own[0].line_start), min(lines[1], own[-1].line_end)
        passage = "\n".join(text.split("\n")[first - 1 : last])
    picture = draw_isolated(document.kind, data, page, width=width, passage=passage, limits=limits)
    read = ScanStore(config.beside(SCANS)).find_page(document.sha256, page)
    return picture if read is None else replace(picture, words=mark_words(read, passage))


def mark_words(page: ScanPage, passage: str) -> tuple[PageWord, ...]:
    """The words that were read of a page, those of a passage marked."""
    words = [word for line in page.lines for word in line.words]
    letters = [letter for word in words for letter in (*word.text, " ")]
    own = find_letters(letters, passage)
    marked, at = [], 0
    for word in words:
        end = at + len(word.text)
        marked.append(PageWord(*word, not own.isdisjoint(range(at, end))))
        at = end + 1
    return tuple(marked)


def _is_masked(text: str, data: bytes, document: DocumentInfo, limits: ParseLimits) -> bool:
    """Whether something was masked in a text: it has stars that the file has not."""
    if MASK not in text:
        return False
    return parse_isolated(document.kind, data, path=document.path, charset=None, limits=limits).text != text
