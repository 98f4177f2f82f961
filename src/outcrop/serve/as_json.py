"""Records as JSON: the same names as in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import cache
from pathlib import Path

from outcrop.records.database_url import DatabaseUrl
from outcrop.text.pattern import pattern

# JSON lets them stand as they are, but a terminal may obey the first and hide text by the others.
_STEERING = pattern("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_ATOMS = frozenset({str, int, float, bool, type(None)})


@cache
def _members(kind: type) -> tuple[str, ...] | None:
    """The field names of a record or NamedTuple, cached: an answer has hundreds of them."""
    if is_dataclass(kind) and kind is not DatabaseUrl:  # which shows itself, without its password
        return tuple(field.name for field in fields(kind))
    named: tuple[str, ...] | None = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
    return named


def plain(value: object) -> object:
    """A record, or anything made of records, as dictionaries, lists, strings and numbers."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    names = _members(kind)  # type: ignore[arg-type]  # a class is hashable
    if names is not None:
        members = [(name, getattr(value, name)) for name in names]
        return {name: member if type(member) in _ATOMS else plain(member) for name, member in members}
    if isinstance(value, list | tuple | set | frozenset):
        return [item if type(item) in _ATOMS else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Path | DatabaseUrl):
        return str(value)
    return value.isoformat() if isinstance(value, date) else value


def as_dict(record: object, **more: object) -> dict[str, object]:
    """A record as a dictionary, with further members."""
    data = plain(record)
    assert isinstance(data, dict)  # noqa: S101 - that is what a record becomes
    return data | more


def dump(value: object, indent: int | None = None) -> str:
    """JSON text. Not escaped, except where a file name is not valid Unicode."""
    data = plain(value)
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(data, indent=indent)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
