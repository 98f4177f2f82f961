"""Change one entry of a JSON file that a person also edits: comments, order and spacing of the rest stay as they are.

The editors' files are JSON with comments and trailing commas. A value is put in or taken out as text; whoever calls
compares what the result says with what it should say before a byte is written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from outcrop.errors import ConfigError

_BLANK: Final = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER: Final = json.JSONDecoder()


@dataclass(slots=True)
class Member:
    """A key with its value: where the key begins, and where the comma after the value stands, if one does."""

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
    try:
        node = _value(text, _skip(text, 0))
        if _skip(text, node.end) != len(text):
            raise _broken(text, node.end)
    except (RecursionError, json.JSONDecodeError, IndexError) as error:
        raise ConfigError(f"it is not JSON: {error}") from error
    return node


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _array(text, at)
    value, end = _DECODER.raw_decode(text, at)
    return Node(at, end, value)


def _object(text: str, start: int) -> Node:
    node = Node(start, start, {})
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        colon = _skip(text, end)
        if not isinstance(key, str) or text[colon] != ":":
            raise _broken(text, at)
        member = Member(key, at, _value(text, _skip(text, colon + 1)))
        node.members.append(member)
        node.value[key] = member.node.value
        at = _skip(text, member.node.end)
        if text[at] == ",":
            member.comma = at
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise _broken(text, at)
    node.end = at + 1
    return node


def _array(text: str, start: int) -> Node:
    values = []
    at = _skip(text, start + 1)
    while text[at] != "]":
        item = _value(text, at)
        values.append(item.value)
        at = _skip(text, item.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "]":
            raise _broken(text, at)
    return Node(start, at + 1, values)


def _broken(text: str, at: int) -> json.JSONDecodeError:
    return json.JSONDecodeError("something else was expected", text, at)


def put_entry(text: str, section: str, name: str, entry: dict[str, Any]) -> str:
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
    """The text without `section.name`."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    holder = _require_object(read_jsonc(text), "the file").find(section)
    if holder is None or holder.node.find(name) is None:
        return text
    members = holder.node.members
    at = next(number for number, member in enumerate(members) if member.key == name)
    member, before = members[at], members[at - 1] if at else None
    opened = before.comma + 1 if before is not None and before.comma is not None else holder.node.start + 1
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


def _add(text: str, holder: Node, key: str, value: Any, step: str) -> str:
    """A member more, after the others. A comma goes behind the last value, the entry behind the comments after it."""
    close = holder.end - 1
    outer = _indent_of(text, close if text[holder.start : close].count("\n") else holder.start)
    indent = outer + step
    entry = f"{json.dumps(key, ensure_ascii=False)}: {_render(text, value, indent, step)}"
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
