"""Secrets joined to a telling name by something other than an assignment, in markup or in prose.

`<add key="…" value="…"/>`, cells of a table, `NAME value`, "the password for staging is …", a line and the one below.
This is weak evidence, so the value must leave no doubt: see `is_plainly_secret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from outcrop.mask.names import Name, may_be_uuid
from outcrop.mask.randomness import (
    MASK,
    is_expression,
    is_plainly_password,
    is_plainly_secret,
    is_uuid,
    looks_generated,
)
from outcrop.system.deadline import timed

Span = tuple[int, int]

# The rest of a name and what may close it: quotes, brackets, bold.
_NAME_END: Final = re.compile(rb"[\w.-]{0,24}+\\{0,2}+[\"'`\]*]{0,4}+")
# A second attribute, member or key that holds the value for the first, possibly on another line.
_ATTRIBUTE: Final = (
    rb"\s{0,40}+[,;]?\s{0,40}+\\{0,2}+[\"']?(?:value|val|content|text|default)\\{0,2}+[\"']?"
    rb"\s{0,4}+[=:]\s{0,4}+"
)
# The tags between two cells or two elements.
_TAGS: Final = rb"(?:\s{0,40}+</?[a-z][^<>\n]{0,120}+>){1,6}+\s{0,40}+"
# Whitespace, an arrow, a dash, a cell border. Characters outside Latin-1 appear as `?`.
_SIGN: Final = rb"[ \t]{0,40}+(?:[|,;?\t]|[-=]{1,3}>|-{1,2})[ \t]{0,40}+|[ \t]{1,60}+"
# "for the staging database is now:"
_SAID: Final = (
    rb"(?:[ \t]{1,4}+[\w@./'-]{1,30}+){0,6}?(?:[ \t]{1,4}+(?:is|was|are|be|to|ist|war|lautet|est|es)(?![\w-])"
    rb"(?:[ \t]{1,4}+(?:now|still|just|set|to|jetzt))?[ \t]{0,4}+:?"
    rb"|(?<=[ \t][\w@./'-]{3})[ \t]{0,4}+(?::|=|\?|[-=]{1,3}>))[ \t]{0,8}+"
)
# The value is below the name, as in forms and office documents.
_BELOW: Final = re.compile(rb"[ \t]{0,8}+[:=|>\\?-]{0,3}+[ \t]{0,8}+\n{1,2}+[ \t>|]{0,40}+")
_JOINTS: Final = (re.compile(_ATTRIBUTE), re.compile(_TAGS), _BELOW, re.compile(_SAID), re.compile(_SIGN))
_LINE_END: Final = re.compile(r"[\"'`*.)|]{0,3}[ \t]{0,8}(?:\r?\n|\Z)")

_LONGEST: Final = 4096
_PACKED: Final = "base64:"
"""Laravel's keys begin with this."""
_VALUE: Final = re.compile(
    rf"\\{{0,2}}+[\"'`“‘«(\[*]{{0,3}}+([^\s\"'`“”‘’«»<>|,;\\]{{8,{_LONGEST}}}+)(?![^\s\"'`“”‘’«»<>|,;\\])"
)


def find_joined(text: str, data: bytes, names: Sequence[Name]) -> Iterator[Span]:
    """Find secret values joined to a telling name other than by assignment; `data` is the text in lower case, one byte
    per character."""
    for name in timed(names):
        closed = _NAME_END.match(data, name.end)
        span = _find_value(text, data, closed.end() if closed else name.end, name.is_password)
        if span is None:
            continue
        if is_uuid(text[slice(*span)]) and not may_be_uuid(name.before, text[name.start : name.end]):
            continue
        yield span


def _find_value(text: str, data: bytes, at: int, is_password: bool) -> Span | None:
    """The secret joined to the name that ends here; each way of joining is tried once."""
    is_secret = is_plainly_password if is_password else is_plainly_secret
    for joint in _JOINTS:
        joined = joint.match(data, at)
        found = _VALUE.match(text, joined.end()) if joined else None
        if found is None:
            continue
        value = found[1].rstrip(".:)]}*")
        start, value = found.end(1) - len(found[1].removeprefix(_PACKED)), value.removeprefix(_PACKED)
        if MASK * 4 in value or value[:2] in ("0x", "0X") or not is_secret(value):
            continue
        if joint is _BELOW and not _LINE_END.match(text, start + len(value)):
            continue
        if not is_expression(value) or looks_generated(value):
            return start, start + len(value)
    return None
