"""A short summary of a chunk of code in words, made from what its grammar knows.

It is embedded beside the code and searched with it, and shown before the code in a packed context. People ask in words
for what names only hint at: the summary gives the names, the first sentence of the documentation, and what the code
calls. A model may write a better one (see `Commentator`); this one costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from outcrop.records import CodeNotes, Declaration, Role

MAX_NAMES: Final = 8
"""Most names listed as declared or called: more would drown the rest (not measured)."""
MAX_DOCS: Final = 3
"""Most other declarations whose documentation is quoted (not measured)."""

_ROLES: Final[dict[str, str]] = {
    "test": "Test code.",
    "benchmark": "Benchmark.",
    "example": "Example.",
    "generated": "Generated.",
    "vendored": "Vendored.",
    "compat": "For compatibility.",
}


def summarise(notes: CodeNotes, inside: Sequence[Declaration], main: Declaration | None, role: Role) -> str:
    """What a chunk is, says and does: `Method acquire of ConnectionPool: Take a connection. Calls wait, open.`"""
    parts = []
    if main is not None:
        of = f" of {main.scope[-1]}" if main.scope else ""
        parts.append(_sentence(f"{main.kind.capitalize()} {main.name}{of}", main.doc))
    docs = [item for item in inside if item is not main and item.doc]
    parts += [_sentence(item.name, item.doc) for item in docs[:MAX_DOCS]]
    told = {item.name for item in docs[:MAX_DOCS]} | ({main.name} if main is not None else set())
    others = [item.name for item in inside if item.name not in told]
    if others:
        place = f" in {notes.symbol}" if main is None and notes.symbol else ""
        parts.append(f"Declares {', '.join(dict.fromkeys(others[:MAX_NAMES]))}{place}.")
    for kind, verb in (("inherit", "Extends"), ("call", "Calls")):
        names = dict.fromkeys(
            item.name for item in notes.mentions if item.kind == kind and item.name not in told
        )
        if names:
            parts.append(f"{verb} {', '.join(list(names)[:MAX_NAMES])}.")
    if parts and role in _ROLES:
        parts.append(_ROLES[role])
    return " ".join(parts)


def _sentence(name: str, doc: str) -> str:
    said = " ".join(doc.split())
    if not said:
        return f"{name}."
    return f"{name}: {said}" + ("" if said.endswith((".", "!", "?", ":")) else ".")
