"""Titles: the words of a heading, and what to call a document that does not name itself."""

from __future__ import annotations

import contextlib
import html
import re
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from outcrop.parse.limits import MAX_TITLE_CHARS

_TITLE_WITHIN = 16 * 1024
"""Characters, from the first letter or digit on, that are searched for a title: after a hundred lines of directives
there is none (not measured)."""
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")

# The rest of a longer heading is ignored: the patterns below look ahead, and titles are one line.
_MAX_HEADING_CHARS = 500

_MARKUP = re.compile("[`*_~\\[<&\\\\{\0\ue000\ue001]")  # absent from most titles
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]+)>")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_STRONG = re.compile(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_KEPT = re.compile("\ue000(\\d+)\ue001")


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
    """The first line that says something, cut to a title; empty when there is none near the start.

    Rules (`=====` above a heading) and reStructuredText's `.. directives::` say nothing.
    """
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


def strip_inline(title: str) -> str:
    """The words of a heading, without backticks, emphasis, links, tags, entities and attributes."""
    title = title[:_MAX_HEADING_CHARS]
    if not _MARKUP.search(title):
        return " ".join(title.split())
    title = title.replace("\ue000", "").replace("\ue001", "")
    kept: list[str] = []

    def keep(words: str) -> str:
        kept.append(words)
        return f"\ue000{len(kept) - 1}\ue001"

    # Code and escapes are set aside first: what looks like markup inside them is not.
    title = _CODE.sub(lambda match: keep(match[2].strip()), title)
    title = _ESCAPE.sub(lambda match: keep(match[1]), title)
    title = _AUTOLINK.sub(r"\1", title)
    for _ in range(2):  # an image inside a link, bold around italics
        title = _LINK.sub(r"\1", title)
        title = _STRONG.sub(r"\2", title)
        title = _UNDERSCORES.sub(r"\2", title)
    title = _TAG.sub("", title)
    title = _ATTRIBUTES.sub("", title)
    title = html.unescape(title) if "&" in title else title
    title = _KEPT.sub(lambda match: kept[int(match[1])], title)
    return " ".join(title.replace("\0", "").split())
