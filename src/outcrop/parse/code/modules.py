"""Module names in imports, as paths with `/` between the parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
