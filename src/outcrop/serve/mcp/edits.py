"""Change one entry of a JSON or TOML file that a person also edits: comments, order and spacing of the rest stay.

The editors' files are JSON with comments and trailing commas. A value is put in or taken out as text; whoever calls
compares what the result says with what it should say before a byte is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, Final

from outcrop.errors import ConfigError
from outcrop.system.dataclass import dataclass

_STRING: Final = r'(?P<string>"(?:[^"\\]++|\\.)*+")'
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|\ufeff", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()
_HEADER: Final = re.compile(r"\s*\[")

IsOurs = Callable[[Any], bool]
"""Tells our item of a list from those of others."""


@dataclass(slots=True)
class Member:
    """A key with its value: where the key begins, and where the comma after the value stands, if one does. In a list
    the key is the item's number, and the item itself begins there."""

    key: str
    start: int
    node: Node
    comma: int | None = None


@dataclass(slots=True)
class Node:
    """A value and where it stands."""

    start: int
    end: int
    value: Any
    members: list[Member] = field(default_factory=list)

    def find(self, key: str) -> Member | None:
        """The member of that name; of several the last, as readers of JSON have it."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def read_jsonc(text: str) -> Node:
    """The file as a tree with places; ConfigError where it is no JSON, even with comments."""
    bare = _blank(_COMMENT, text)
    strict = _blank(_LAST_COMMA, bare)
    try:
        json.loads(strict)
        return _read(bare, strict, _skip(strict, 0))
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"it is not JSON: {error}") from error


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """The text without what matches, but for strings; all else stays in its place."""
    return pattern.sub(lambda match: match["string"] or re.sub(r"\S", " ", match[0]), text)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _read(bare: str, strict: str, at: int) -> Node:
    """The value at this place of a text that is JSON; in `bare` there is a comma after the last member, too."""
    if strict[at] not in "{[":
        value, end = _DECODER.raw_decode(strict, at)
        return Node(at, end, value)
    is_list, node = strict[at] == "[", Node(at, at, None)
    at = _skip(strict, at + 1)
    while strict[at] not in "}]":
        key, start = str(len(node.members)), at
        if not is_list:
            key, colon = _DECODER.raw_decode(strict, at)
            start = _skip(strict, _skip(strict, colon) + 1)
        held = _read(bare, strict, start)
        after = _skip(bare, held.end)
        comma = after if bare[after] == "," else None
        node.members.append(Member(key, at, held, comma))
        at = after if comma is None else _skip(strict, after + 1)
    node.end = at + 1
    values = [member.node.value for member in node.members]
    node.value = values if is_list else dict(zip((member.key for member in node.members), values, strict=True))
    return node


def put_entry(text: str, section: str, name: str, entry: Any) -> str:
    """The text with `section.name` set to the entry; sections and the file itself are made where there are none."""
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    root = _require_object(read_jsonc(text), "the file")
    step = _step(text, root)
    holder = root.find(section)
    if holder is None:
        return _add(text, root, section, {name: entry}, step)
    inside = _require_object(holder.node, section)
    member = inside.find(name)
    if member is None:
        return _add(text, inside, name, entry, step)
    indent = _indent_of(text, member.start)
    return text[: member.node.start] + _render(text, entry, indent, step) + text[member.node.end :]


def remove_entry(text: str, section: str, name: str) -> str:
    """The text without `section.name`; without the section, and nothing at all, where nothing else is in them."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    root = _require_object(read_jsonc(text), "the file")
    holder = root.find(section)
    member = holder.node.find(name) if holder is not None else None
    if holder is None or member is None:
        return text
    text = _remove(text, holder.node, holder.node.members.index(member))
    root = read_jsonc(text)
    holder = root.find(section)
    if (
        holder is not None and not text[holder.node.start + 1 : holder.node.end - 1].strip()
    ):  # not even a comment
        text = _remove(text, root, root.members.index(holder))
    return "" if "".join(text.split()) == "{}" else text


def put_item(text: str, section: str, name: str, item: dict[str, Any], is_ours: IsOurs) -> str:
    """The text with the item in the list `section.name`: in the place of the one that is ours, or at the end."""
    holder = _find_list(text, section, name)
    if holder is None:
        return put_entry(text, section, name, [item])
    own = next((each for each in holder.members if is_ours(each.node.value)), None)
    step = _step(text, read_jsonc(text))
    if own is None:
        return _add(text, holder, None, item, step)
    shown = _render(text, item, _indent_of(text, own.start), step)
    return text[: own.start] + shown + text[own.node.end :]


def remove_item(text: str, section: str, name: str, is_ours: IsOurs) -> str:
    """The text without our items of the list `section.name`, and without the list where nothing else is in it."""
    while (holder := _find_list(text, section, name)) is not None:
        own = [at for at, each in enumerate(holder.members) if is_ours(each.node.value)]
        if not own:
            return text
        if len(holder.members) == 1:
            return remove_entry(text, section, name)
        text = _remove(text, holder, own[0])
    return text


def _find_list(text: str, section: str, name: str) -> Node | None:
    if not text.strip("\ufeff \t\r\n"):
        return None
    holder = _require_object(read_jsonc(text), "the file").find(section)
    member = _require_object(holder.node, section).find(name) if holder is not None else None
    if member is not None and not isinstance(member.node.value, list):
        raise ConfigError(f"{section}.{name} is not a list")
    return member.node if member is not None else None


def _remove(text: str, holder: Node, at: int) -> str:
    members = holder.members
    member, before = members[at], members[at - 1] if at else None
    opened = before.comma + 1 if before is not None and before.comma is not None else holder.start + 1
    gap = text[opened : member.start]
    # A comment above keeps its line end, or it would swallow what follows.
    start = member.start if "//" in gap else opened + len(gap.rstrip())
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    text = text[:start] + text[member.node.end :]
    if before is not None and before.comma is not None:
        text = text[: before.comma] + text[before.comma + 1 :]
    return text


def _require_object(node: Node, name: str) -> Node:
    if not isinstance(node.value, dict):
        raise ConfigError(f"{name} is not an object")
    return node


def _add(text: str, holder: Node, key: str | None, value: Any, step: str) -> str:
    """A member more, or an item where there is no key, after the others. A comma goes behind the last value, the entry
    behind the comments after it."""
    close = holder.end - 1
    outer = _indent_of(text, close if text[holder.start : close].count("\n") else holder.start)
    indent = outer + step
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    entry = name + _render(text, value, indent, step)
    last = holder.members[-1] if holder.members else None
    tail = ""
    if last is None:
        kept = text[: holder.start + 1] + text[holder.start + 1 : close].rstrip()
    elif last.comma is None:
        kept = text[: last.node.end] + "," + text[last.node.end : close].rstrip()
    else:
        kept, tail = text[:close].rstrip(), ","
    line = _line_end(text)
    return f"{kept}{line}{indent}{entry}{tail}{line}{outer}" + text[close:]


def _render(text: str, value: Any, indent: str, step: str) -> str:
    shown = json.dumps(value, indent=step, ensure_ascii=False)
    return shown.replace("\n", _line_end(text) + indent)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of(text: str, at: int) -> str:
    """The whitespace that the line of this place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str, root: Node) -> str:
    """How much the file indents."""
    first = root.members[0] if root.members else None
    if first is None or "\n" not in text[root.start : first.start]:
        return "  "
    return _indent_of(text, first.start)[len(_indent_of(text, root.start)) :] or "  "


def put_table(text: str, section: str, name: str, entry: dict[str, Any]) -> str:
    """The text with the table `[section.name]` holding the entry: in the place of the old one, or at the end."""
    line = _line_end(text)
    rows = [f"[{section}.{name}]", *(f"{key} = {_render_toml(value)}" for key, value in entry.items())]
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
    """The text without the lines of the table, and where it began. Comments before the next table belong to that."""
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


def _render_toml(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{json.dumps(key)} = {_render_toml(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_render_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
