"""The output of library readers: text grows block by block, recording offsets of headings and pages."""

from __future__ import annotations

import re

from outcrop.errors import ParseError
from outcrop.parse.limits import MAX_HEADINGS, MAX_TITLE_CHARS
from outcrop.records import Heading

# What is neither text nor layout: control characters except \t \n \f, lone surrogates, soft hyphens (they would split
# words for search) and the two noncharacters PDF uses as markers.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ud800-\udfff\ufffe\uffff]")


def clean_text(text: str) -> str:
    """Text with `\\n` line ends, without control characters and lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\v", "\n").replace("\x85", "\n")
    return _UNWANTED.sub("", text)


def too_long(max_text_chars: int) -> ParseError:
    """The error for a text above the limit."""
    return ParseError(f"holds more than {max_text_chars:,} characters of text; split it into smaller files")


class TextWriter:
    """Collects blocks of text with the offsets of headings and pages, up to `max_text_chars`."""

    def __init__(self, max_text_chars: int) -> None:
        self.headings: list[Heading] = []
        self.pages: list[int] = []
        self.length = 0
        self.last_block = ""
        self._max = max_text_chars
        self._parts: list[str] = []
        self._pages_waiting = 0

    def write(self, block: str, gap: str = "\n\n") -> int:
        """Append a block after `gap` and return its offset; whitespace-only blocks are dropped."""
        block = self.last_block = clean_text(block).strip("\n")
        if not block or block.isspace():
            return self.length
        if self.length:
            self._parts.append(gap)
            self.length += len(gap)
        start = self.length
        self.length += len(block)
        if self.length > self._max:
            raise too_long(self._max)
        self._parts.append(block)
        self.pages.extend([start] * self._pages_waiting)
        self._pages_waiting = 0
        return start

    def write_heading(self, level: int, title: str) -> None:
        """Append a heading as a line of its own and record it."""
        title = " ".join(clean_text(title).split())
        if not title:
            return
        start = self.write(f"{'#' * min(level, 6)} {title}")
        if len(self.headings) < MAX_HEADINGS:
            self.headings.append(Heading(level, title[: MAX_TITLE_CHARS * 2], start))

    def start_page(self) -> None:
        """Start a page with the next block; a page without text shares the offset of the next one with text."""
        self._pages_waiting += 1

    def finish(self) -> str:
        """The whole text; trailing empty pages begin at its end."""
        self.pages.extend([self.length] * self._pages_waiting)
        self._pages_waiting = 0
        return "".join(self._parts)
