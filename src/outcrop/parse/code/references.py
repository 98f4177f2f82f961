"""References: names that are used, and what a file imports, as paths with `/` between the parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import tree_sitter

from outcrop.records import Reference

_USE_TREE = re.compile(r"[{},]|[^{},]+")


def use_leaves(tree: str) -> Iterator[tuple[str, str]]:
    """`a::b::{c, d::{e, f as g}, *}` as the path of each module and what is imported from it: empty for everything."""
    outer: list[str] = []
    prefix = ""
    for piece in _USE_TREE.findall(" ".join(tree.split())):
        if piece == "{":
            outer.append(prefix)
        elif piece == "}":
            prefix = outer.pop() if outer else ""
        elif piece == ",":
            prefix = outer[-1] if outer else ""
        elif piece.rstrip().endswith("::"):
            prefix = (outer[-1] if outer else "") + piece.strip()
        elif piece.strip():
            path, _, leaf = ((outer[-1] if outer else "") + piece.split(" as ")[0].strip()).rpartition("::")
            if leaf == "self":
                path, _, leaf = path.rpartition("::")
            yield module_path(path or leaf), leaf if path and leaf != "*" else ""


def import_leaves(statement: str) -> Iterator[tuple[str, str]]:
    """`import a.b.{C, D => E}, f._` as the path of each imported name, as Java would write it."""
    tree = " ".join(statement.split()).removeprefix("import ").replace("=>", " as ").replace(".", "::")
    for path, leaf in use_leaves(tree):
        yield "/".join(part for part in (path, leaf) if part not in ("", "_", "given")), ""


_FILE = re.compile(
    r"\.(?:[ch](?:h|c|pp|xx|\+\+)?|in[cl]|def|[mc]?[jt]sx?|json|s?css|vue|svelte|rb|php|zig|proto)$"
)
_SCRIPTS = (".sh", ".bash", ".zsh", ".mk", ".zig")
_HERE = re.compile(r"^(?:\$\w+|\$\{[^}]*\}|\$\([^)]*\)|(?:__DIR__|dirname\(__FILE__\))\s*\.\s*[\"'])/")
"""A computed folder, nearly always the file's own: `$DIR/a.sh`, `__DIR__ . '/a.php'`."""
_JOINTS = re.compile(r"::|\\|\.(?!\.?/)(?=\w)|/")


def module_path(raw: str) -> str:
    """`"./a/b.js"`, `a.b`, `a::b`, `A\\B`, `<sys/a.h>` as parts with `/` between; leading dots stay."""
    quoted = raw.strip()
    name = _HERE.sub("./", quoted.strip("\"'`<>;")).strip()
    if not name or len(name) > 300 or len(name.split()) > 1:
        return ""
    is_file = name.endswith(_SCRIPTS) or (name != quoted and _FILE.search(name) is not None)
    if "/" in name or is_file:  # a path: its dots are extensions and parents
        return name.rstrip("/")
    dots = len(name) - len(name.lstrip("."))
    lead = "" if not dots else "./" if dots == 1 else "../" * (dots - 1)
    return lead + "/".join(part for part in _JOINTS.split(name[dots:]) if part)


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
        if qualifiers:
            first, last = qualifiers[0].start_byte, qualifiers[0].end_byte
            if last - first <= MAX_QUALIFIER_CHARS:
                qualifier = "".join(data[first:last].decode("utf-8", "replace").split()).rstrip(".")
        name = data[start:end].decode("utf-8", "replace")
        if "." in name and node.type == "alias":  # an Elixir module
            qualifier, _, name = name.rpartition(".")
        elif "=" in name and node.type == "param":  # COPY --from=stage
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
