"""Change one table of a TOML file that a person also edits; every other byte stays."""

from __future__ import annotations

import json
import re
from typing import Any

_HEADER = re.compile(r"\s*\[")


def put_table(text: str, section: str, name: str, entry: dict[str, Any]) -> str:
    """The text with the table `[section.name]` holding the entry: in the place of the old one, or at the end."""
    line = "\r\n" if "\r\n" in text else "\n"
    rows = [f"[{section}.{name}]", *(f"{key} = {_render(value)}" for key, value in entry.items())]
    table = "".join(row + line for row in rows)
    kept, at = _without(text, section, name)
    if at is None:
        gap = "" if not text else line if text.endswith("\n") else line * 2
        return text + gap + table
    return kept[:at] + table + kept[at:]


def remove_table(text: str, section: str, name: str) -> str:
    """The text without that table, its subtables and the empty line before it."""
    kept, at = _without(text, section, name)
    if at is None:
        return text
    before, after = kept[:at], kept[at:]
    for blank in ("\r\n\r\n", "\n\n"):
        if before.endswith(blank) and (not after or after.startswith(("\n", "\r\n"))):
            before = before[: -len(blank) // 2]
            break
    return before + after


def _without(text: str, section: str, name: str) -> tuple[str, int | None]:
    """The text without the lines of the table, and where it began. Comments before the next table are kept: they belong
    to that one."""
    own = re.compile(
        rf"""\s*\[\s*["']?{re.escape(section)}["']?\s*\.\s*["']?{re.escape(name)}["']?\s*(\.[^\]]*)?\]\s*(#.*)?"""
    )
    kept: list[str] = []
    waiting: list[str] = []
    first: int | None = None
    inside = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line) and not line.lstrip().startswith("[["):
            inside = own.fullmatch(line.rstrip("\r\n")) is not None
            if inside and first is None:
                first = sum(map(len, kept))
            if inside:
                waiting.clear()
                continue
        elif _HEADER.match(line):
            inside = False
        if not inside:
            kept += [*waiting, line]
            waiting.clear()
        elif not line.strip() or line.lstrip().startswith("#"):
            waiting.append(line)
        else:
            waiting.clear()
    kept += waiting
    return "".join(kept), first


def _render(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_render(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_render, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
