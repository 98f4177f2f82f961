"""Branches of the preprocessor that open a brace and leave it to others to close it.

`#if A … if (x) { #else … if (y) { #endif … }` has a brace too many for a grammar, which knows nothing of the
preprocessor: the functions from there on are lost in an error. Of such a conditional the first branch is read alone.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import tree_sitter

from outcrop.system.limits import timed

WORTH_BYTES: Final = 200
"""Text inside errors from which a file is looked at again: a macro that the grammar does not know spoils some tens of
bytes, a function that is lost hundreds (libuv)."""

_DIRECTIVE: Final = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\\\n]*(?:\\\n?[^\\\n]*)*", re.MULTILINE
)
_LETTERS: Final = re.compile(rb"[^\n]")


def spoiled_bytes(root: tree_sitter.Node) -> int:
    """How many bytes of a tree lie inside errors."""
    total = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error:
            total += node.end_byte - node.start_byte
        elif node.has_error:
            stack += node.children
    return total


def first_branches(data: bytes) -> bytes:
    """The same text with the first branch alone of each conditional whose branches open other braces than they close;
    what is left out becomes spaces, so that all else stays where it is. Inner conditionals come first."""
    text = bytearray(data)
    open_: list[list[tuple[int, int]]] = []  # of each conditional around, where its directives are
    for found in timed(_DIRECTIVE.finditer(data)):
        if found[1] in (b"if", b"ifdef", b"ifndef"):
            open_.append([found.span()])
        elif open_:
            open_[-1].append(found.span())
            if found[1] == b"endif":
                _settle(text, open_.pop())
    return bytes(text)


def _settle(text: bytearray, directives: list[tuple[int, int]]) -> None:
    bodies = [(end, start) for (_, end), (start, _) in pairwise(directives)]
    if all(text.count(b"{", *body) == text.count(b"}", *body) for body in bodies):
        return
    for start, end in (directives[0], (directives[1][0], directives[-1][1])):
        text[start:end] = _LETTERS.sub(b" ", text[start:end])
