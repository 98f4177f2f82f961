"""Values of exports, whatever a damaged or made-up one holds in their place."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from outcrop.parse.data import read_json, read_json_lines
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import RawFile
from outcrop.parse.roles import role_of
from outcrop.parse.writer import clean_text, too_long
from outcrop.records import Document

MAX_LISTED: Final = 1_000
MAX_NAME_CHARS: Final = 200
_EPOCH_UNITS: Final = ((1e14, 1e6), (1e11, 1e3), (0.0, 1.0))
"""From how large a number on it counts microseconds, milliseconds and seconds."""


def load(data: bytes) -> object:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def records(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def record(value: object) -> dict[str, Any]:
    """An object; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def words(value: object) -> str:
    """A text; empty where it is none."""
    return clean_text(value).strip() if isinstance(value, str) else ""


def line(value: object, longest: int = MAX_NAME_CHARS) -> str:
    """A text in one line, cut."""
    return " ".join(words(value)[: longest * 4].split())[:longest]


def moment(value: object) -> datetime | None:
    """A time in UTC: ISO 8601, or a number of seconds, milliseconds or microseconds; None where it is none."""
    try:
        if isinstance(value, str) and "-" in value[1:] and len(value) < 40:
            when = datetime.fromisoformat(value)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, str) and len(value) < 30:
            value = float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            unit = next(unit for least, unit in _EPOCH_UNITS if value >= least)
            return datetime.fromtimestamp(value / unit, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def named(speaker: str, when: datetime | None) -> str:
    """Who and when, as a heading."""
    return ", ".join(filter(None, (speaker, f"{when:%Y-%m-%d %H:%M}" if when else "")))


def read_as_data(raw: RawFile) -> Document:
    """What has the fields of an export and is none: the data file that its name says."""
    text, remark = decode_with_remark(raw.data, raw.charset)
    if len(text) > raw.max_text_chars:
        raise too_long(raw.max_text_chars)
    as_lines = raw.path.lower().endswith((".jsonl", ".ndjson"))
    document = read_json_lines(text, raw.path) if as_lines else read_json(text, raw.path)
    return replace(document, role=role_of(raw.path, text), remark=remark)
