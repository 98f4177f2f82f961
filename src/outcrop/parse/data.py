"""Data files (JSON, JSON Lines, TOML, YAML): the text as it is, and where each top-level entry starts."""

from __future__ import annotations

import json
import re
from itertools import repeat

from outcrop.errors import ParseError
from outcrop.parse.limits import MAX_KEYS
from outcrop.parse.title import file_stem
from outcrop.records import Document
from outcrop.system.limits import timed

_SPACE = re.compile(r"[ \t\n\r]*+")
_LINE = re.compile(r"^[ \t]*+(?=[^\s])", re.MULTILINE)

# Values are decoded only to find where they end. Numbers become their length, which avoids the quadratic conversion of
# huge integers.
_DECODER = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len)


def read_json(text: str, path: str) -> Document:
    """A JSON file; an invalid one is still text, without entries."""
    try:
        keys = _find_entries(text)
    except (ValueError, IndexError):  # IndexError: the text ends inside a value
        keys = []
    except RecursionError as error:
        raise ParseError("nested too deeply; flatten it or exclude it") from error
    return Document(text=text, kind="json", title=file_stem(path), keys=tuple(keys))


def read_json_lines(text: str, path: str) -> Document:
    """JSON Lines: every non-empty line is an entry."""
    keys = []
    for match in timed(_LINE.finditer(text)):
        keys.append(match.end())
        if len(keys) == MAX_KEYS:
            break
    return Document(text=text, kind="json", title=file_stem(path), keys=tuple(keys))


def _find_entries(text: str) -> list[int]:
    """Offsets of the members of a top-level object or the items of a top-level array."""
    position = _skip_space(text, 0)
    opening = text[position]
    if opening not in "{[":
        return []
    closing = "}" if opening == "{" else "]"
    position = _skip_space(text, position + 1)
    keys: list[int] = []
    for _ in timed(repeat(None)):
        if text[position] == closing:
            break
        if len(keys) < MAX_KEYS:
            keys.append(position)
        if opening == "{":
            if text[position] != '"':
                raise ValueError("a member without a name")
            _, position = json.decoder.scanstring(text, position + 1)  # type: ignore[attr-defined]
            position = _skip_space(text, position)
            if text[position] != ":":
                raise ValueError("a name without a value")
            position = _skip_space(text, position + 1)
        _, position = _DECODER.raw_decode(text, position)
        position = _skip_space(text, position)
        if text[position] == ",":
            position = _skip_space(text, position + 1)
            if text[position] == closing:
                raise ValueError("a comma without an entry")
        elif text[position] != closing:
            raise ValueError("entries without a comma between them")
    if _skip_space(text, position + 1) != len(text):
        raise ValueError("text after the end")
    return keys


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


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
