"""How a declaration is shown: its signature, and the first sentence of its documentation."""

from __future__ import annotations

import re

MAX_SIGNATURE_CHARS = 240
MAX_DOC_CHARS = 240
"""Two or three lines on a screen; the chunk itself has the rest (not measured)."""

_BLANK = re.compile(r"\s+")
_MARKERS = re.compile(
    r"^[ \t]*(?:/\*\*?!?|\*/|\*(?!\*)|///?!?|//|#+[!:]?|--+(?:[ \t]*\|)?\[*|\"{3}|'{3}|;+|%+"
    r"|<!--|\{-[ \t]*\|?|=(?:begin|end)\b)?[ \t]?",
    re.MULTILINE,
)
_ENDS = re.compile(r"(?:\*+/|-->|-\}|\"{3}|'{3}|\]\])[ \t]*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\svs\.)(?<!\setc\.)\s")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_CROSS_REFERENCE = re.compile(r"<\w+\s+\w+=\"(?:\w:)?([^\"]*)\"\s*/>")
_TAGS = re.compile(r"</?\w[^>\n]{0,80}>|[`*]{1,2}|\{@\w+\s+([^}\n]*)\}|^@(?:brief|doc)\s+", re.MULTILINE)

_RETURNED = re.compile(r"^[ \t]*@(?:returns?|var)[ \t]+(.*)$", re.MULTILINE)
_TAG_LINES = re.compile(r"^[ \t]*@(?!brief\b|doc\b|summary\b|description\b|inheritDoc\b)\w.*$", re.MULTILINE)
_INNER_COMMENTS = re.compile(r"/\*[\s\S]*?\*/|(?<=\s)(?://|--|#)(?=[\s|^])[^\n]*")


_TIGHT = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")
"""What remains of a parameter list that was spread over several lines."""


def signature_of(raw: str) -> str:
    """What precedes the body of a declaration, as one line."""
    line = _BLANK.sub(" ", _INNER_COMMENTS.sub("", raw[: 4 * MAX_SIGNATURE_CHARS])).strip().rstrip("{:=;, \\")
    line = _TIGHT.sub("", line)
    return line if len(line) <= MAX_SIGNATURE_CHARS else line[: MAX_SIGNATURE_CHARS - 1].rstrip() + "…"


def first_sentence(comment: str) -> str:
    """The first sentence of a comment, without comment markers."""
    if not comment:
        return ""
    plain = _MARKERS.sub("", _ENDS.sub("", comment[:4000]))
    summary = _SUMMARY.search(plain)
    plain = _CROSS_REFERENCE.sub(r"\1", summary[1]) if summary is not None else plain
    returned = _RETURNED.search(plain)
    plain = _TAG_LINES.sub("", plain).strip() or (returned[1] if returned is not None else "")
    plain = _TAGS.sub(r"\1", plain).strip("\"' \t\r\n")
    paragraph = re.split(r"\n[ \t]*\n", plain, maxsplit=1)[0]
    words = _SENTENCE.split(_BLANK.sub(" ", paragraph).strip(), maxsplit=1)[0]
    return words if len(words) <= MAX_DOC_CHARS else words[:MAX_DOC_CHARS].rsplit(" ", 1)[0]
