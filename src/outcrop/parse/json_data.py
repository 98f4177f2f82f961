"""JSON and JSON Lines: the text as it is, and where each top-level entry starts."""

from __future__ import annotations

import json
import re
from itertools import repeat

from outcrop.errors import ParseError
from outcrop.parse.limits import MAX_KEYS
from outcrop.parse.title import file_stem
from outcrop.records import Document
from outcrop.system.deadline import timed

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
