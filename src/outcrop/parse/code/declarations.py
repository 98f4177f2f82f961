"""Declarations of a syntax tree: from a query's captures to names, places, extents, signatures and summaries; and what
surrounds a node: the comments, attributes and wrappers that belong to a declaration."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

import tree_sitter

from outcrop.parse.code.guard import Deadline
from outcrop.parse.code.languages import Language
from outcrop.parse.code.references import MAX_NAME_CHARS, Captured, Offset, text_of
from outcrop.records import Declaration
from outcrop.system.dataclass import dataclass

_QUOTED = re.compile(r"^([\"'`])(.*)\1$")
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[?!]$")
MAX_COLUMN = 1_000
"""Nothing that begins a line is further right; searching further back would be slow on long lines."""

_COMMENT_MARKS = (b"//", b"--", b"#")
_COMMENT_ENDS = (b"*/", b"-}")
_COMMENTS = ("comment", "haddock")
_DOC_COMMENTS = (b"/**", b"///", b"--|", b"-- |", b"{-|", b"{- |")
"""A doc comment documents what follows even across an empty line, as in older JavaScript."""


@dataclass(slots=True)
class Found:
    """A declaration as captured, in bytes."""

    node: tree_sitter.Node
    named: tree_sitter.Node
    name: str
    kind: str
    body: tree_sitter.Node | None
    scope: str
    is_declaration: bool
    pattern: int
    end: int
    is_outside: bool = False
    doc: str = ""


def span(node: tree_sitter.Node) -> tuple[int, int]:
    """Where a node begins and ends."""
    return node.start_byte, node.end_byte


def note_declaration(
    found: dict[tuple[int, int, str], Found], pattern: int, captured: Captured, label: str, data: bytes
) -> None:
    """Keep a match captured as `label`, a declaration or a scope, unless an earlier pattern took it."""
    node = captured[label][0]
    role, _, kind = label.partition(".")
    end = node.end_byte if kind != "rest" or node.parent is None else node.parent.end_byte
    for named, type_ in map(_innermost, captured.get("name", ())):
        name = " ".join(text_of(data, named).split())
        name = _QUOTED.sub(r"\2", name) if name.startswith(("'", '"', "`")) else name
        name, outer = name[:MAX_NAME_CHARS], ""
        if type_ == "operator_cast":
            name = name.partition("(")[0]
        elif type_ == "simple_symbol":
            name = name[1:]
        elif type_ == "alias":
            outer, _, name = name.rpartition(".")
        scope = (
            "".join(text_of(data, captured["scope"][0]).split()).strip("\"'`") if "scope" in captured else ""
        )
        is_outside = role == "def" and "::" in name
        if is_outside:  # defined outside its scope: `Pool<T>::acquire`
            scope, _, name = name.rpartition("::")
        key = (node.start_byte, node.end_byte, name)
        if not name or (key in found and found[key].pattern <= pattern):
            continue
        found[key] = Found(
            node=node,
            named=named,
            name=name,
            kind=kind,
            body=captured["body"][0] if "body" in captured else None,
            scope=_ARGUMENTS.sub("", _ARGUMENTS.sub("", scope or outer)) if scope or outer else "",
            is_declaration=role == "def",
            pattern=pattern,
            end=end,
            is_outside=is_outside,
        )


def first_readings(found: Iterable[Found]) -> Iterator[Found]:
    """One declaration per body: `TEST(suite, name) { … }` matches as a test and as a function `TEST`."""
    first: dict[tuple[int, int, int], int] = {}
    items = list(found)
    keys = [(*span(item.node), item.body.start_byte if item.body is not None else -1) for item in items]
    for key, item in zip(keys, items, strict=True):
        first[key] = min(first.get(key, item.pattern), item.pattern)
    return (
        item for key, item in zip(keys, items, strict=True) if item.body is None or item.pattern == first[key]
    )


def _innermost(named: tree_sitter.Node) -> tuple[tree_sitter.Node, str]:
    """The name inside a C declarator, `*(*name)[3]`, and its type."""
    while (type_ := named.type).endswith("declarator") or type_ in ("template_function", "template_type"):
        inner = named.child_by_field_name("declarator") or named.child_by_field_name("name")
        inner = inner or (named.named_children[0] if named.named_child_count else None)
        if inner is None:
            break
        named = inner
    return named, type_


def attach_docs(ordered: list[Found], docs: Iterable[tree_sitter.Node], data: bytes) -> None:
    """Assign documentation inside a declaration to the innermost one around it."""
    starts = [item.node.start_byte for item in ordered]
    for node in docs:
        before = bisect_right(starts, node.start_byte)
        for item in (ordered[place] for place in range(before - 1, -1, -1)):
            if item.node.end_byte >= node.end_byte:
                item.doc = item.doc or text_of(data, node)
                break


def stretched(
    ordered: list[Found], language: Language, attached: dict[int, str], deadline: Deadline
) -> list[Found]:
    """Join the clauses of a function into one declaration, and extend sections to where the next begins."""
    if not language.clauses and not language.sections:
        return ordered
    kept: list[Found] = []
    before: dict[int, Found] = {}  # the previous declaration, by parent node
    for item in ordered:
        deadline.check()
        if item.kind in language.sections:
            item.end = _section_end(item.node)
        place = item.node.parent.id if item.node.parent is not None else 0
        previous = before.get(place)
        if (
            previous is not None
            and item.kind in language.clauses
            and (item.name, item.kind) == (previous.name, previous.kind)
            and (item.node.prev_sibling is None or item.node.prev_sibling.start_byte not in attached)
        ):
            previous.end = item.end
            previous.body = previous.body or item.node
            continue
        before[place] = item
        kept.append(item)
    return kept


def _section_end(node: tree_sitter.Node) -> int:
    end, after = node.end_byte, node.next_sibling
    while after is not None and after.type != node.type:
        if after.is_named and not is_comment(after):
            end = after.end_byte
        after = after.next_sibling
    return end


def declarations_of(
    ordered: list[Found],
    language: Language,
    data: bytes,
    text: str,
    offset: Offset,
    attached: dict[int, str],
    deadline: Deadline,
) -> Iterator[Declaration]:
    """The declarations found, outer before inner, with scope, signature and documentation."""
    open_: list[tuple[int, tuple[str, ...], str, tree_sitter.Node]] = []  # end, scope with own name, kind
    for item in ordered:
        while open_ and (
            open_[-1][0] < item.node.end_byte or open_[-1][3] == item.node
        ):  # `a = 1, b = 2` is one node
            open_.pop()
        around = open_[-1][1] if open_ else ()
        scope = (*around, *_scope_parts(item.scope))
        path = (*scope, item.name) if item.is_declaration else (*scope, *_scope_parts(item.name))
        inside = open_[-1][2] if open_ else ""
        if inside in _FUNCTIONS and item.kind in _LOCAL:
            continue
        open_.append((item.end, path, item.kind, item.node))
        if not item.is_declaration:
            continue
        deadline.check()
        outer = wrapped(item.node, language)
        start, comments = leading(outer, language, data, attached)
        begin = offset(start)
        if language.noise:  # with the macro before it
            line = data.rfind(b"\n", 0, start) + 1
            space = text[offset(line) : begin]
            begin -= len(space.lstrip()) if not data[line:start].strip() else 0
        own = own_start(item.node, language, data)
        end_byte = max(end_of(outer, data), item.end if item.end != item.node.end_byte else 0)
        body_byte = body_start(item.body) if item.body is not None else end_byte
        until = min(body_byte, item.node.end_byte, own + 4 * MAX_SIGNATURE_CHARS)
        # `typedef struct { … } name`
        after = f" {item.name}" if item.body is not None and item.named.start_byte >= item.body.end_byte else ""
        yield Declaration(
            name=item.name,
            kind=_kind(item, inside),
            scope=scope,
            start=begin,
            at=offset(own),
            body=offset(body_byte),
            end=offset(end_byte),
            signature=signature_of(data[own:until].decode("utf-8", "replace") + after),
            doc=first_sentence(item.doc or comments),
        )


_FUNCTIONS = frozenset({"function", "method", "constructor", "destructor", "operator", "test", "local"})
_LOCAL = frozenset({"constant", "variable", "prototype"})
"""Kinds that are of no use elsewhere when declared inside a function."""


def _kind(item: Found, inside: str) -> str:
    """A function in a class is a method; one in a function is local to it."""
    if item.kind != "function":
        return item.kind
    if inside in _CLASSES or item.is_outside:
        return "method"
    return "local" if inside in _FUNCTIONS else "function"


_CLASSES = frozenset("class struct interface trait enum impl object protocol extension record instance".split())

_SCOPE_JOINTS = re.compile(r"::|\.|\\|:|#")


def _scope_parts(scope: str) -> Iterator[str]:
    return (part for part in _SCOPE_JOINTS.split(scope) if part)


MAX_SIGNATURE_CHARS = 240
MAX_DOC_CHARS = 240
"""Two or three lines on a screen; the chunk itself has the rest (not measured)."""

_MARKERS = re.compile(
    r"^[ \t]*(?:/\*\*?!?|\*/|\*(?!\*)|///?!?|//|#+[!:]?|--+(?:[ \t]*\|)?\[*|\"{3}|'{3}|;+|%+"
    r"|<!--|\{-[ \t]*\|?|=(?:begin|end)\b)?[ \t]?",
    re.MULTILINE,
)
_ENDS = re.compile(r"(?:\*+/|-->|-\}|\"{3}|'{3}|\]\])[ \t]*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\svs\.)(?<!\setc\.)\s")
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL)
_CROSS_REFERENCE = re.compile(r"<\w+\s+\w+=\"(?:\w:)?([^\"]*)\"\s*/>")
_TAGS = re.compile(r"</?\w[^>\n]{0,80}>|[`*]{1,2}|\{@\w+\s+([^}\n]*)\}|^@(?:brief|doc)\s+", re.MULTILINE)

_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_RETURNED = re.compile(r"^[ \t]*@(?:returns?|var)[ \t]+(.*)$", re.MULTILINE)
_TAG_LINES = re.compile(r"^[ \t]*@(?!brief\b|doc\b|summary\b|description\b|inheritDoc\b)\w.*$", re.MULTILINE)
_INNER_COMMENTS = re.compile(r"/\*[\s\S]*?\*/|(?<=\s)(?://|--|#)(?=[\s|^])[^\n]*")

_TIGHT = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")
"""What remains of a parameter list that was spread over several lines."""


def signature_of(raw: str) -> str:
    """What precedes the body of a declaration, as one line."""
    line = raw[: 4 * MAX_SIGNATURE_CHARS]
    line = _INNER_COMMENTS.sub("", line) if "/" in line or "--" in line or "#" in line else line
    line = " ".join(line.split()).rstrip("{:=;, \\")
    if "( " in line or "[ " in line or " )" in line or " ]" in line:
        line = _TIGHT.sub("", line)
    return line if len(line) <= MAX_SIGNATURE_CHARS else line[: MAX_SIGNATURE_CHARS - 1].rstrip() + "…"


def first_sentence(comment: str) -> str:
    """The first sentence of a comment, without comment markers."""
    if not comment:
        return ""
    plain = _MARKERS.sub("", _ENDS.sub("", comment[:4000]))
    if "<" in plain:
        summary = _SUMMARY.search(plain)
        plain = _CROSS_REFERENCE.sub(r"\1", summary[1]) if summary is not None else plain
    if "@" in plain:
        returned = _RETURNED.search(plain)
        plain = _TAG_LINES.sub("", plain).strip() or (returned[1] if returned is not None else "")
    else:
        plain = plain.strip()
    if "<" in plain or "`" in plain or "*" in plain or "@" in plain:
        plain = _TAGS.sub(r"\1", plain)
    plain = plain.strip("\"' \t\r\n")
    words = " ".join((_EMPTY_LINE.split(plain, maxsplit=1)[0] if "\n" in plain else plain).split())
    if ". " in words or "! " in words or "? " in words:
        words = _SENTENCE.split(words, maxsplit=1)[0]
    return words if len(words) <= MAX_DOC_CHARS else words[:MAX_DOC_CHARS].rsplit(" ", 1)[0]


# ------------------------------------------------------------------ what surrounds a node


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
    return _stray(before, data, node) or before


def _stray(node: tree_sitter.Node, data: bytes, beside: tree_sitter.Node) -> tree_sitter.Node | None:
    """A comment that the grammar puts at the end of a node but whose column, no further right than that of another
    node, shows that it documents what follows."""
    end = node.end_byte
    tail = data[max(node.start_byte, end - MAX_COLUMN) : end].rstrip()
    line = tail[tail.rfind(b"\n") + 1 :].lstrip()
    if not line.startswith(_COMMENT_MARKS) and not line.endswith(_COMMENT_ENDS):
        return None  # the usual case, without a walk down the tree
    last: tree_sitter.Node | None = node
    while last is not None and not is_comment(last):
        last = last.child(last.child_count - 1) if last.child_count else None
    near = last is not None and column(last.start_byte, data) <= column(beside.start_byte, data)
    return last if near else None


def end_of(node: tree_sitter.Node, data: bytes) -> int:
    """Where a node ends, without trailing whitespace and comments on what follows."""
    end = node.end_byte
    stray = _stray(node, data, node)
    while stray is not None and is_comment(stray):
        end = stray.start_byte
        stray = stray.prev_sibling
    return node.start_byte + len(data[node.start_byte : end].rstrip())


def column(start: int, data: bytes) -> int:
    """The column of a byte, from 1; not a node's start_point, whose numbers tree-sitter 0.26.0 frees twice."""
    first = start - MAX_COLUMN if start > MAX_COLUMN else 0
    newline = data.rfind(b"\n", first, start)
    return start - (newline if newline >= 0 else max(-1, start - MAX_COLUMN))


def leading(
    node: tree_sitter.Node, language: Language, data: bytes, attached: dict[int, str]
) -> tuple[int, str]:
    """Where the comments and attributes right before a node begin, and the text of the comments."""
    start = node.start_byte
    comments: list[str] = []
    before = _before(node, data)
    while before is not None:
        comment, begin = is_comment(before), before.start_byte
        if not comment and before.type not in language.attached and begin not in attached:
            break
        end = before.end_byte
        gap = data[end:start]
        lines = gap.count(b"\n") + data.endswith(b"\n", begin, end)
        is_doc = data.startswith(_DOC_COMMENTS, begin)
        if gap.strip() or lines > (2 if is_doc else 1):
            break
        line = begin - column(begin, data) + 1
        if comment and data[line:begin].strip():
            break  # at the end of a line of code: it is about that line
        if comment:
            comments.append(data[begin:end].decode("utf-8", "replace"))
        elif attached.get(begin):
            comments.append(attached[begin])
        start = begin
        before = before.prev_sibling
    return start, "\n".join(reversed(comments))
