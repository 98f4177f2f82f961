"""References: names that are used, and what a file imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import tree_sitter

from outcrop.parse.code.modules import module_path
from outcrop.records import Reference

MAX_QUALIFIER_CHARS = 60
MAX_NAME_CHARS = 120
"""Longer ones are expressions and literals that nobody asks for (not measured)."""

Offset = Callable[[int], int]
Captured = dict[str, list[tree_sitter.Node]]
Used = tuple[int, str, tree_sitter.Node, list[tree_sitter.Node] | None]
"""A used name as captured: the pattern's place in the query, the kind, the name, its qualifier."""


def text_of(data: bytes, node: tree_sitter.Node) -> str:
    """The text of a node."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def note_use(
    used: dict[int, Used], pattern: int, captured: Captured, kind: str, node: tree_sitter.Node
) -> None:
    """Keep a used name, unless an earlier pattern of the query took it."""
    start = node.start_byte
    if start not in used or pattern < used[start][0]:
        used[start] = (pattern, kind, node, captured.get("qualifier"))


def references_of(used: Iterable[Used], data: bytes, offset: Offset) -> Iterator[Reference]:
    """The names kept, with their qualifiers."""
    for _, kind, node, qualifiers in used:
        start, end = node.start_byte, node.end_byte
        if not 1 < end - start <= MAX_NAME_CHARS:  # one letter is a type parameter or a local name
            continue
        qualifier = ""
        if qualifiers and qualifiers[0].end_byte - qualifiers[0].start_byte <= MAX_QUALIFIER_CHARS:
            qualifier = "".join(text_of(data, qualifiers[0]).split()).rstrip(".")
        name = data[start:end].decode("utf-8", "replace")
        if node.type == "alias" and "." in name:  # an Elixir module
            qualifier, _, name = name.rpartition(".")
        elif node.type == "param":  # COPY --from=stage
            name = name.partition("=")[2]
        yield Reference(name, kind, offset(start), qualifier)  # type: ignore[arg-type]  # a test holds queries to the kinds


def imports_of(captured: Captured, node: tree_sitter.Node, data: bytes, offset: Offset) -> Iterator[Reference]:
    """What an import brings in: one reference per imported name, or one for the module."""
    path = module_path(text_of(data, node))
    if path:
        taken = [text_of(data, item)[:MAX_NAME_CHARS] for item in captured.get("imported", ())] or [""]
        yield from (Reference(path, "import", offset(node.start_byte), item) for item in taken)


def precise(imports: Iterable[Reference]) -> Iterator[Reference]:
    """Drop references to a module of which imported names are known."""
    whole = {(item.name, item.start) for item in imports if item.qualifier}
    taken = whole | {(f"{item.name}/{item.qualifier}", item.start) for item in imports if item.qualifier}
    return (item for item in imports if item.qualifier or (item.name, item.start) not in taken)
