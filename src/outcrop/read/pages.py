"""The picture of a PDF's page, where it shows nothing but what was indexed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from outcrop.config import Config
from outcrop.contracts import Store
from outcrop.errors import Conflict, NotAllowed, NotFound, QueryError, SourceError
from outcrop.mask.randomness import MASK
from outcrop.parse.isolate import draw_isolated, parse_isolated
from outcrop.parse.limits import ParseLimits
from outcrop.records import DocumentInfo, PagePicture
from outcrop.sources.files import read_plain
from outcrop.system.limits import check_wanted

DRAW_S: Final = 8.0
"""Seconds for one page: less than a request may take (not measured). A4 with text takes 0.02."""
MAX_WIDTH: Final = 4_000
"""Pixels: more would not be drawn (`parse/picture.py`)."""


def draw_page(
    store: Store, config: Config, document: DocumentInfo, page: int, lines: tuple[int, int] | None, width: int
) -> PagePicture:
    """A page of a PDF, on which the words of these lines of its text are marked. Conflict where the file is not what
    was indexed; NotAllowed where the picture would show secrets that the index does not have."""
    if not 1 <= width <= MAX_WIDTH:
        raise QueryError(f"width is {width} pixels; it can be 1 to {MAX_WIDTH}")
    if document.kind != "pdf" or document.origin != "file":
        raise NotFound(
            "only a PDF file on this machine has pictures of its pages; its text can be read instead"
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
    return draw_isolated(data, page, width=width, passage=passage, limits=limits)


def _is_masked(text: str, data: bytes, document: DocumentInfo, limits: ParseLimits) -> bool:
    """Whether something was masked in a text: it has stars that the file has not."""
    if MASK not in text:
        return False
    return parse_isolated("pdf", data, path=document.path, charset=None, limits=limits).text != text
