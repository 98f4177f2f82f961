"""YAML: the text as is, and where each top-level entry starts. No schema, no anchors: lines are enough."""

from __future__ import annotations

import re

from outcrop.parse.limits import MAX_KEYS
from outcrop.parse.title import file_stem
from outcrop.records import Document
from outcrop.system.deadline import timed

# Lines at column 0 that could matter. Block scalars and nested values are indented, so they never match.
_TOP_LINE = re.compile(r"^[^\s#%].*", re.MULTILINE)
_KEY = re.compile(
    r"""(?:"(?:[^"\\]|\\.){0,300}+"|'(?:[^']|''){0,300}+'|[^\s"'\[\]{},&*|>@`-][^\n]{0,300}?|-[^\s][^\n]{0,300}?)"""
    r"""[ \t]*:(?=[ \t]|$)(?P<value>.*)"""
)
_MAX_KEY_LINE = 1000  # a key is at the start of its line; an endless line is not searched to the end


def read_yaml(text: str, path: str) -> Document:
    """A YAML file or stream of documents: keys, list items and `---` marks at column 0 are entries."""
    keys: list[int] = []
    in_mapping: bool | None = None  # unknown until the document's first entry
    quote_open = ""
    for match in timed(_TOP_LINE.finditer(text)):
        line = match.group()
        if quote_open:
            if _closes_quote(line, quote_open):
                quote_open = ""
            continue
        if line.startswith(("---", "...")) and not line[3:4].strip():
            in_mapping = None
            if line[0] == "-":
                keys.append(match.start())
        elif line.startswith("-") and not line[1:2].strip():
            # Items at column 0 under a key belong to that key.
            if not in_mapping:
                in_mapping = False
                keys.append(match.start())
        elif in_mapping is not False and (key := _KEY.match(line[:_MAX_KEY_LINE])):
            in_mapping = True
            keys.append(match.start())
            quote_open = _open_quote(key["value"].strip())
        if len(keys) >= MAX_KEYS:
            break
    return Document(text=text, kind="yaml", title=file_stem(path), keys=tuple(keys))


def _open_quote(value: str) -> str:
    """The quote a value starts with and does not close on its line."""
    if value[:1] in {'"', "'"} and not _closes_quote(value[1:], value[0]):
        return value[0]
    return ""


def _closes_quote(line: str, quote: str) -> bool:
    if quote == "'":
        return line.replace("''", "").count("'") % 2 == 1
    return line.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
