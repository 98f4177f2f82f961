"""Titles: what to call a document that does not name itself."""

from __future__ import annotations

import contextlib
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from outcrop.parse.limits import MAX_TITLE_CHARS

_TITLE_WITHIN = 16 * 1024
"""Characters, from the first letter or digit on, that are searched for a title: after a hundred lines of directives
there is none (not measured)."""
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def file_name(path: str) -> str:
    """The last part of a path or URL, without query and fragment."""
    if "://" in path:
        with contextlib.suppress(ValueError):  # malformed host: use what follows the last slash
            path = urlsplit(path).path or path
    # Names that are invalid in the file system's encoding carry lone surrogates, which databases reject.
    path = path.encode("utf-8", "replace").decode("utf-8")
    return PurePosixPath(path.replace("\\", "/")).name or path


def file_stem(path: str) -> str:
    """The file name without its last extension."""
    name = file_name(path)
    return PurePosixPath(name).stem or name


_ID = re.compile(r" [0-9a-f]{32}(?=\Z|_all\Z)")
"""What Notion puts after the name of a page or a table that it exports."""


def without_id(stem: str) -> str:
    """A file's name as people know the page: `Release plan 1f0c…` is the release plan."""
    return _ID.sub("", stem) or stem


def cut_title(text: str) -> str:
    """One line of at most MAX_TITLE_CHARS characters, cut between words where possible."""
    # Slack for runs of whitespace; without a bound an endless line would be split into all its words.
    line = " ".join(text[: MAX_TITLE_CHARS * 4].split())
    if len(line) <= MAX_TITLE_CHARS:
        return line
    head = line[:MAX_TITLE_CHARS]
    space = head.rfind(" ")
    return head[:space] if space > MAX_TITLE_CHARS // 2 else head


def first_line(text: str, start: int = 0) -> str:
    """The first line that says something, cut to a title; empty when there is none near the start. Rules (`=====` above
    a heading) and reStructuredText's `.. directives::` say nothing."""
    # Skip to the first letter in one go: a file may begin with a million empty lines.
    said = _LETTER_OR_DIGIT.search(text, start)
    if said is None:
        return ""
    stop = min(len(text), said.start() + _TITLE_WITHIN)
    start = max(start, text.rfind("\n", start, said.start()) + 1)
    while start < stop:
        end = text.find("\n", start, stop)
        end = stop if end < 0 else end
        title = cut_title(text[start : min(end, start + MAX_TITLE_CHARS * 4)])
        if not title.startswith(".. ") and any(map(str.isalnum, title)):
            return title
        start = end + 1
    return ""
