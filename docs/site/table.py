"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; nothing where there are no rows."""
    lines = [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def cell(value: object) -> str:
    """A value as it stands in a table: on one line, and no bar ends it."""
    return " ".join(str(value).split()).replace("|", "\\|")


def code(value: object) -> str:
    """A value as code; nothing for nothing."""
    return f"`{value}`" if str(value) else ""


def codes(values: Iterable[object]) -> str:
    """Values as code, one after the other."""
    return " ".join(code(value) for value in values)
