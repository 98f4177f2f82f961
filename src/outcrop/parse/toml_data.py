"""TOML: the text as is, and where each top-level key and each table starts."""

from __future__ import annotations

import re

from outcrop.parse.limits import MAX_KEYS
from outcrop.parse.title import file_stem
from outcrop.records import Document
from outcrop.system.deadline import timed

# One pass over what can hide the start of a line: strings (closed or not, they are consumed once), comments and
# brackets. Possessive, so nothing is tried twice.
_TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\\?\Z)?'
    r"|'''(?:[^']++|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|(?P<open>[\[{])"
    r"|(?P<close>[\]}])"
    r"|(?P<newline>\n++)",
    re.DOTALL,
)
_ENTRY = re.compile(r"[ \t]*+(?:(?P<table>\[)|(?P<key>[\w\"'-]))")


def read_toml(text: str, path: str) -> Document:
    """A TOML file: keys before the first table, and every `[table]` or `[[table]]` header, are entries."""
    keys: list[int] = []
    seen_table = _note_entry(text, 0, keys, seen_table=False)
    depth = 0
    for token in timed(_TOKEN.finditer(text)):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["newline"] and depth == 0:
            seen_table = _note_entry(text, token.end(), keys, seen_table=seen_table)
            if len(keys) >= MAX_KEYS:
                break
    return Document(text=text, kind="toml", title=file_stem(path), keys=tuple(keys))


def _note_entry(text: str, start: int, keys: list[int], *, seen_table: bool) -> bool:
    entry = _ENTRY.match(text, start)
    if entry and (entry["table"] or not seen_table):
        keys.append(start)
    return seen_table or bool(entry and entry["table"])
