"""Inline markup of a heading: taken off, so that titles read and match as plain words."""

from __future__ import annotations

import html
import re

# A heading longer than this is not read further: patterns below look ahead, and titles are one line.
_MAX_CHARS = 500

_MARKUP = re.compile("[`*_~\\[<&\\\\{\0\ue000\ue001]")  # most titles hold none and are done
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]+)>")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_STRONG = re.compile(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}$")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_KEPT = re.compile("\ue000(\\d+)\ue001")


def strip_inline(title: str) -> str:
    """The words of a heading, without code ticks, emphasis, links, tags, entities and attributes."""
    title = title[:_MAX_CHARS]
    if not _MARKUP.search(title):
        return " ".join(title.split())
    title = title.replace("\ue000", "").replace("\ue001", "")
    kept: list[str] = []

    def keep(words: str) -> str:
        kept.append(words)
        return f"\ue000{len(kept) - 1}\ue001"

    # Code and escapes are set aside first: what looks like markup inside them is meant.
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
