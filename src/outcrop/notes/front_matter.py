"""Entries at the top of a note: read and set so that everything else stays as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from outcrop.errors import NotAllowed

_BLOCK: Final = re.compile(
    r"(?P<open>\ufeff?(?P<mark>---|\+\+\+)[ \t]*\r?\n)(?P<inside>.*?)"
    r"^(?:(?P=mark)|\.\.\.)[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_MAX_CHARS: Final = 64 * 1024
"""As far as the parser looks for the end of front matter."""
_FIRST_KEY: Final = re.compile(r"""(?:[ \t]*(?:#.*)?\r?\n)*["']?[A-Za-z_][\w .-]{0,80}["']?[ \t]*[:=]""")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./\-]*[A-Za-z_/][A-Za-z0-9_./\-]*|\d{4}-\d\d-\d\d")


def read_entry(text: str, name: str) -> str:
    """What one line of the front matter gives to a name, without quotes; empty where there is none."""
    block = _find_block(text)
    found = _line_of(name).search(block["inside"]) if block else None
    return found["value"].strip().strip("\"'").strip() if found else ""


def set_entry(text: str, name: str, values: Sequence[str]) -> str:
    """The text with this entry in its front matter, in place of the one it had."""
    block = _find_block(text)
    if block is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        return f"---{newline}{name}: {_written(values)}{newline}---{newline}{text}"
    inside, is_toml = block["inside"], block["mark"] == "+++"
    newline = "\r\n" if block["open"].endswith("\r\n") else "\n"
    line = f"{name} = {_written_toml(values)}" if is_toml else f"{name}: {_written(values)}"
    old = _line_of(name).search(inside)
    if old is not None:
        inside = f"{inside[: old.start()]}{line}{newline}{inside[old.end() :]}"
    elif is_toml:  # what comes after a [table] belongs to it
        inside = f"{line}{newline}{inside}"
    else:
        inside = f"{inside}{line}{newline}"
    return f"{text[: block.start('inside')]}{inside}{text[block.end('inside') :]}"


def listed(value: str) -> list[str]:
    """The items of an entry that may hold several."""
    items = value.strip().removeprefix("[").removesuffix("]").split(",")
    return [item for item in (part.strip().strip("\"'") for part in items) if item]


def body_start(text: str) -> int:
    """Where the text behind the front matter begins."""
    block = _find_block(text)
    return block.end() if block else 0


def _find_block(text: str) -> re.Match[str] | None:
    """The front matter; a thematic break above a paragraph is `---` too, but no keys follow it."""
    block = _BLOCK.match(text[:_MAX_CHARS])
    return block if block is not None and (_FIRST_KEY.match(block["inside"])) else None


def _line_of(name: str) -> re.Pattern[str]:
    """The line of an entry with those that continue it: indented ones and items of a list."""
    return re.compile(
        rf"""^["']?{name}["']?[ \t]*[:=](?P<value>[^\r\n]*)(?:\r?\n|\Z)(?:(?:[ \t]+\S|- )[^\n]*(?:\n|\Z))*""",
        re.MULTILINE | re.IGNORECASE,
    )


def _written(values: Sequence[str]) -> str:
    parts = [value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False) for value in values]
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"


def _written_toml(values: Sequence[str]) -> str:
    parts = [json.dumps(value, ensure_ascii=False) for value in values]
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"


def require_no_comma(path: str) -> None:
    """Paths are listed with commas between them."""
    if "," in path:
        raise NotAllowed(f"{path} has a comma in its path, so no note can name it; move it first")
