"""What surrounds a node: the comments, attributes and wrappers that belong to a declaration."""

from __future__ import annotations

import tree_sitter

from outcrop.parse.code.languages import Language

MAX_COLUMN = 1_000
"""Nothing that begins a line is further right; searching further back would be slow on long lines."""

_COMMENT_MARKS = (b"//", b"--", b"#")
_COMMENT_ENDS = (b"*/", b"-}")
_COMMENTS = ("comment", "haddock")
_DOC_COMMENTS = (b"/**", b"///", b"--|", b"-- |", b"{-|", b"{- |")
"""A doc comment documents what follows even across an empty line, as in older JavaScript."""


def own_start(node: tree_sitter.Node, language: Language, data: bytes) -> int:
    """Where a declaration begins after the attributes inside its node."""
    if data[node.start_byte] not in b"@[#":
        return node.start_byte
    for child in node.children:
        if child.type in language.attached or is_comment(child):
            continue
        start = own_start(child, language, data) if child.child_count else child.start_byte
        if start < child.end_byte:  # otherwise it is all attributes, as Java's modifiers may be
            return start
    return node.end_byte


def body_start(body: tree_sitter.Node) -> int:
    """Where a body begins, including its leading comments."""
    before = body.prev_sibling  # some grammars put the comments of a block before it
    while before is not None and is_comment(before):
        body, before = before, before.prev_sibling
    return body.start_byte


def wrapped(node: tree_sitter.Node, language: Language) -> tree_sitter.Node:
    """The node with its wrappers: a decorator, an export, a template."""
    parent = node.parent
    while parent is not None and parent.type in language.wrappers and parent.parent is not None:
        node, parent = parent, parent.parent
    return node


def is_comment(node: tree_sitter.Node) -> bool:
    """Whether a node is a comment, in any grammar."""
    return node.type.endswith(_COMMENTS)


def _before(node: tree_sitter.Node, data: bytes) -> tree_sitter.Node | None:
    """The node before this one: some grammars put a comment at the start or end of a block outside it."""
    before = node.prev_sibling
    parent = node.parent if before is None else None
    while before is None and parent is not None and parent.start_byte == node.start_byte:
        before, parent = parent.prev_sibling, parent.parent
    if before is None or is_comment(before):
        return before
    return _stray(before, data, column(node, data)) or before


def _stray(node: tree_sitter.Node, data: bytes, furthest: int) -> tree_sitter.Node | None:
    """A comment that the grammar puts at the end of a node but whose column shows that it documents what follows."""
    tail = data[max(node.start_byte, node.end_byte - MAX_COLUMN) : node.end_byte].rstrip()
    line = tail[tail.rfind(b"\n") + 1 :].lstrip()
    if not line.startswith(_COMMENT_MARKS) and not line.endswith(_COMMENT_ENDS):
        return None  # the usual case, without a walk down the tree
    last: tree_sitter.Node | None = node
    while last is not None and not is_comment(last):
        last = last.child(last.child_count - 1) if last.child_count else None
    return last if last is not None and column(last, data) <= furthest else None


def end_of(node: tree_sitter.Node, data: bytes) -> int:
    """Where a node ends, without trailing whitespace and comments on what follows."""
    end = node.end_byte
    stray = _stray(node, data, column(node, data))
    while stray is not None and is_comment(stray):
        end = stray.start_byte
        stray = stray.prev_sibling
    return node.start_byte + len(data[node.start_byte : end].rstrip())


def column(node: tree_sitter.Node, data: bytes) -> int:
    """The column of a node, from 1; not from its start_point, whose numbers tree-sitter 0.26.0 frees twice."""
    start = node.start_byte
    newline = data.rfind(b"\n", max(0, start - MAX_COLUMN), start)
    return start - (newline if newline >= 0 else max(-1, start - MAX_COLUMN))


def leading(
    node: tree_sitter.Node, language: Language, data: bytes, attached: dict[int, str]
) -> tuple[int, str]:
    """Where the comments and attributes right before a node begin, and the text of the comments."""
    start = node.start_byte
    comments: list[str] = []
    before = _before(node, data)
    while before is not None:
        comment = is_comment(before)
        if not comment and before.type not in language.attached and before.start_byte not in attached:
            break
        gap = data[before.end_byte : start]
        lines = gap.count(b"\n") + data.endswith(b"\n", before.start_byte, before.end_byte)
        is_doc = data.startswith(_DOC_COMMENTS, before.start_byte)
        if gap.strip() or lines > (2 if is_doc else 1):
            break
        line = before.start_byte - column(before, data) + 1
        if comment and data[line : before.start_byte].strip():
            break  # at the end of a line of code: it is about that line
        if comment:
            comments.append(data[before.start_byte : before.end_byte].decode("utf-8", "replace"))
        elif attached.get(before.start_byte):
            comments.append(attached[before.start_byte])
        start = before.start_byte
        before = before.prev_sibling
    return start, "\n".join(reversed(comments))
