"""Who and when: what a document's first lines add to its title.

A report is one of several alike, by other companies, for other years, of other versions: which one it is stands on its
first lines and nowhere else. A title goes before every passage, so there it is found again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from outcrop.parse.title import cut_title
from outcrop.records import Document
from outcrop.text.pattern import pattern

KINDS: Final = frozenset({"markdown", "text", "rst", "html", "docx", "odt", "rtf"})
"""Formats of prose whose title may be a heading; a PDF's comes from its first page already (`layout/cover.py`)."""
_FRONT: Final = ("---\n", "+++\n")
_WITHIN: Final = 2000
"""Characters from the beginning that are looked at."""
_LINES: Final = 6
"""Lines that can name a document. Further down a year is that of something else."""
_LONGEST: Final = 90
"""Characters of such a line; what is longer is a paragraph."""
_MOST_NAMES: Final = 3
_MOST_WORDS: Final = 10
"""A line that names has few; one of a paragraph has more."""
_MARKUP: Final = re.compile(r"^[\s#>*_=~-]+|[\s#*_=~-]+$|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_WHEN: Final = pattern(
    r"(?i)\b(?:(?:19|20)\d\d\b|FY ?\d\d\b"
    r"|(?:version|release|edition|revision):?\s+\d+(?:\.\d+)*\b|v\d+\.\d+(?:\.\d+)*\b)"
)
"""A year or a version."""
_YEAR: Final = pattern(r"\b(?:19|20)\d\d\b")
_NOT_WHEN: Final = pattern(r"(?i)copyright|©|\(c\)|licen[cs]e|https?:|@|updated|modified|\bsee\b|\bsince\b")
"""Lines whose year is not that of the document."""
_PARAGRAPH: Final = re.compile(
    r"[.!?:;,]\s*$|\[[^\]]*\]\(|[=;\"\\{}]|^\s*(?:[-*+|]|\d+[.)])\s|^\s*(?:```|\.\. |<|!\[|>>>|\$ )"
)


def name_by_opening(document: Document) -> Document:
    """The document with a title that tells it from others alike: with the lines above its first heading where that is
    not the heading of all of it, and with the year or version that stands on a line of its own at the top."""
    if document.kind not in KINDS or document.outline is not None or document.text.startswith(_FRONT):
        return document  # front matter says what there is to say
    title = document.title
    first = document.headings[0] if document.headings else None
    names = list(_names(document.text))
    if first is not None and first.level > 1 and title == first.title:
        above = [line for at, line in names if at < first.start][:_MOST_NAMES]
        title = ", ".join(above) if above and any(map(_WHEN.search, above)) else title
    if not _WHEN.search(title):
        stop = document.headings[1].start if len(document.headings) > 1 else len(document.text)
        when = next((line for at, line in names if at < stop and _WHEN.search(line) and line != title), "")
        title = f"{title}, {when}" if when else title
    return document if title == document.title else replace(document, title=cut_title(title))


def _names(text: str) -> Iterator[tuple[int, str]]:
    """Where those of the first lines stand that may name a document, and what they say."""
    at = seen = 0
    for raw in text[:_WITHIN].splitlines(keepends=True):
        line = " ".join(_MARKUP.sub("", raw).split())
        if any(map(str.isalnum, line)):
            seen += 1
            if seen > _LINES:
                return
            if _may_name(line) and not _PARAGRAPH.search(raw.rstrip()):
                yield at, line
        at += len(raw)


def _may_name(line: str) -> bool:
    """Whether a line is short, and of one year at most: the head of a table compares several."""
    is_short = len(line) <= _LONGEST and len(line.split()) <= _MOST_WORDS
    return is_short and not _NOT_WHEN.search(line) and len(_YEAR.findall(line)) <= 1
