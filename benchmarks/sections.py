"""Sections of documentation, parted from their headings: a heading can then be asked without standing in its answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PAGES = (".rst", ".md")
MIN_WORDS = 3
"""A shorter heading ("Usage", "See also") asks for no section in particular."""
MIN_BODY = 30
MAX_SECTIONS = 5000
MAX_PAGE_BYTES = 500_000

_FENCE = re.compile(r"^\s*(```|~~~)")
_HASHES = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'`*+#])\1{2,}\s*$")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_ANCHOR = re.compile(r"\s*\{[:#][^}]*\}\s*$")


class Section(NamedTuple):
    """A heading and the text below it, up to the next heading of any depth."""

    heading: str
    body: str


def read_sections(folder: Path) -> list[Section]:
    """The sections of all pages of a folder that say something, in the order of their paths."""
    found: list[Section] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in PAGES and path.is_file() and path.stat().st_size <= MAX_PAGE_BYTES:
            found += split_page(path.read_text("utf-8", "replace"))
    return [section for section in found if len(section.body.split()) >= MIN_BODY][:MAX_SECTIONS]


def asked_of(sections: list[Section]) -> list[int]:
    """Places of the sections whose heading is a question: long enough, and the heading of no other section."""
    times = Counter(section.heading.lower() for section in sections)
    return [
        place
        for place, (heading, _) in enumerate(sections)
        if len(heading.split()) >= MIN_WORDS and times[heading.lower()] == 1
    ]


def split_page(text: str) -> Iterator[Section]:
    """The sections of a page of Markdown or reStructuredText; what stands above the first heading is left out."""
    lines = _FRONT_MATTER.sub("", text).splitlines()
    heading, body, fenced = "", list[str](), False
    for at, line in enumerate(lines):
        fenced ^= _FENCE.match(line) is not None
        name = "" if fenced else _heading(line, lines[at + 1] if at + 1 < len(lines) else "")
        if name:
            if heading:
                yield Section(heading, "\n".join(body))
            heading, body = name, []
        elif fenced or not _UNDERLINE.match(line):
            body.append(line)
    if heading:
        yield Section(heading, "\n".join(body))


def _heading(line: str, below: str) -> str:
    """The heading that a line is, or nothing."""
    if hashes := _HASHES.match(line):
        return _ANCHOR.sub("", hashes[1])
    is_underlined = _UNDERLINE.match(below) and len(below.strip()) >= len(line.strip())
    return line.strip() if is_underlined and line[:1].isalnum() else ""
