"""Front matter of Markdown files: the few lines of YAML or TOML that give title, tags and date.

A small reader, not a YAML parser: `key: value`, quoted strings, and lists in both styles. It skips what it does not
know and never fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import time
from typing import Any

from outcrop.records.meta import Meta, fit_meta, read_scalar
from outcrop.system.dataclass import dataclass

# Real front matter is a screen long; this bounds the search for its end.
_MAX_CHARS = 64 * 1024

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY_LINE = re.compile(r"""(["']?)([A-Za-z_][\w .-]{0,80})\1[ \t]*:(?:[ \t]+(.*))?$""")
_COMMENT = re.compile(r"[ \t]#.*$")
_ESCAPES = {"n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the front matter says, and where the body starts."""

    end: int = 0
    title: str = ""
    tags: tuple[str, ...] = ()
    meta: Meta = field(default_factory=dict)


def read_front_matter(text: str) -> FrontMatter:
    """The front matter at the very start of a text; an empty one when there is none."""
    head = text[:_MAX_CHARS]
    if head.startswith("---") and (match := _YAML.match(head)) and _looks_like_yaml(match[1]):
        values: Mapping[str, Any] = _read_yaml(match[1])
    elif head.startswith("+++") and (match := _TOML.match(head)):
        values = _read_toml(match[1])
    else:
        return FrontMatter()
    title = _as_string(values.get("title", ""))
    tags: list[str] = []
    for name in ("tags", "tag", "keywords"):
        for tag in _as_list(values.get(name, "")):
            if tag not in tags:
                tags.append(tag)
    typed = {key: _as_typed(value) for key, value in values.items()}
    return FrontMatter(match.end(), " ".join(title.split()), tuple(tags), fit_meta(typed))


def _looks_like_yaml(block: str) -> bool:
    """Whether this is front matter: a thematic break above a paragraph is `---` too, but no keys follow it."""
    for line in block.split("\n"):
        if line.strip() and not line.startswith("#"):
            return _KEY_LINE.match(line) is not None
    return False


def _read_yaml(block: str) -> dict[str, str | list[str]]:
    values: dict[str, str | list[str]] = {}
    key = ""
    for line in block.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if match := _KEY_LINE.match(line):
            key = match[2].strip().lower()
            values[key] = _yaml_value((match[3] or "").strip())
        elif key and stripped.startswith("- "):
            items = values[key]
            if isinstance(items, list):
                items.append(_scalar(stripped[2:].strip()))
            elif not items:
                values[key] = [_scalar(stripped[2:].strip())]
        elif key and line[0] in " \t":
            _continue_scalar(values, key, stripped)
        else:
            key = ""
    return values


def _continue_scalar(values: dict[str, str | list[str]], key: str, more: str) -> None:
    """Join the indented lines of a folded or plain scalar; skip a nested mapping."""
    value = values[key]
    if isinstance(value, str) and value:
        values[key] = more if value[0] in "|>" and len(value) <= 3 else f"{value} {more}"


def _yaml_value(value: str) -> str | list[str]:
    if value.startswith("["):
        return [_scalar(item) for item in _split_items(value[1:].partition("]")[0])]
    return _scalar(value)


def _split_items(inside: str) -> list[str]:
    """Items of a flow list, split at the commas that are not inside quotes."""
    items, quote, start = [], "", 0
    for position, char in enumerate(inside):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and not inside[start:position].strip():
            quote = char
        elif char == ",":
            items.append(inside[start:position])
            start = position + 1
    items.append(inside[start:])
    return [item.strip() for item in items if item.strip()]


class _Quoted(str):
    """A scalar that stood in quotes, and so is text whatever it looks like."""

    __slots__ = ()


def _scalar(value: str) -> str:
    if value[:1] in {'"', "'"}:
        quote = value[0]
        end = value.find(quote, 1)
        while end > 0 and quote == '"' and value[end - 1] == "\\":
            end = value.find(quote, end + 1)
        while end > 0 and quote == "'" and value[end + 1 : end + 2] == "'":
            end = value.find(quote, end + 2)
        inside = value[1:end] if end > 0 else value[1:]
        if quote == "'":
            return _Quoted(inside.replace("''", "'"))
        return _Quoted(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), inside))
    return _COMMENT.sub("", value).strip()


def _read_toml(block: str) -> dict[str, Any]:
    import tomllib  # a search reads headings and no front matter

    try:
        table = tomllib.loads(block)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):  # ValueError: an integer of a million digits
        return {}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, list):
            values[key.lower()] = [_toml_scalar(item) for item in value if not isinstance(item, dict | list)]
        elif not isinstance(value, dict):
            values[key.lower()] = _toml_scalar(value)
    return values


def _toml_scalar(value: Any) -> Any:
    if isinstance(value, str):
        return _Quoted(value)
    return value.isoformat() if isinstance(value, time) else value


def _as_typed(value: Any) -> Any:
    """A value as it is kept: what stood in quotes is text, the rest what it looks like."""
    if isinstance(value, list):
        return [_as_typed(item) for item in value]
    if isinstance(value, _Quoted):
        return str(value)
    return read_scalar(value) if isinstance(value, str) else value


def _as_string(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _as_list(value: Any) -> list[str]:
    items = map(str, value) if isinstance(value, list) else str(value).split(",")
    return [item.strip().lstrip("#") for item in items if item.strip().lstrip("#")]
