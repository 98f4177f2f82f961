"""A syntax tree to an Outline, the same way for every language: what a language is like stands in its query.

A query may capture:

    @def.KIND   a whole declaration, with @name and, where it has one, @body; @scope names what it belongs to where
                that does not stand around it (a Go receiver, `Class::method` in C++)
    @scope.KIND something that gives what stands in it a scope but is no declaration (a Rust impl), with @name; of kind
                `rest` it reaches to the end of what it stands in (`namespace A.B;`)
    @doc        documentation that stands inside its declaration (a Python docstring)
    @attached   a statement that belongs to the declaration after it (an Elixir attribute), with @doc where it is its
                documentation
    @header     a statement of the file's head: package, imports, includes
    @ref.KIND   a name that is used, KIND a ReferenceKind; @qualifier is what stands before it. An import's name is
                the module's path; @imported what is taken from it
    @use.tree   an import that lists what it brings in, in braces: `a::b::{c, d::{e, f as g}}`
    @use.dotted the same with dots: `import a.b.{C, D => E}, f.g._`

Where two patterns fit one name or one declaration, the one that stands first in the query counts.

Comments before a declaration, attributes and decorators are found by looking at its neighbours, not by queries. Names
in a tree that has errors are taken as they are: a file that is being edited is still worth finding.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import tree_sitter

from outcrop.parse.code.beside import body_start, column, end_of, is_comment, leading, own_start, wrapped
from outcrop.parse.code.guard import Deadline, check_source, parse_within
from outcrop.parse.code.languages import Grammar, Language, grammar_of
from outcrop.parse.code.modules import import_leaves, use_leaves
from outcrop.parse.code.uses import (
    MAX_NAME_CHARS,
    Captured,
    Offset,
    Used,
    imports_of,
    note_use,
    precise,
    references_of,
    text_of,
)
from outcrop.parse.code.wording import MAX_SIGNATURE_CHARS, first_sentence, signature_of
from outcrop.records import Declaration, Outline, Reference

LONG_CHARS = 800
"""Inside declarations longer than this the statements are listed too, for the chunker to cut at."""

_BLANK = re.compile(r"\s+")
_LETTERS = re.compile(rb"[^\n]")
_QUOTED = re.compile(r"^([\"'`])(.*)\1$")
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[?!]$")


@dataclass(slots=True)
class _Found:
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


def extract_outline(text: str, language: Language) -> Outline:
    """The declarations and names of a source text; TooHard when it is none, or none that can be read in time."""
    data = text.encode("utf-8", "replace")
    check_source(data)
    grammar = grammar_of(language)
    deadline = Deadline()
    readable = data
    for noise in language.noise:
        readable = noise.sub(_blank, readable)
    tree = parse_within(grammar.parser(), readable)
    if language.branches is not None and tree.root_node.has_error:
        straight = language.branches.sub(_blank, readable)
        again = parse_within(grammar.parser(), straight)
        if not again.root_node.has_error:
            readable, tree = straight, again
    outline = outline_of(text, readable, tree.root_node, grammar, deadline)
    if language.loose is not None:
        known = (*outline.declarations, *_loose(text, language.loose))
        outline = replace(outline, declarations=tuple(sorted(known, key=lambda item: (item.start, -item.end))))
    return outline


def _loose(text: str, pattern: re.Pattern[str]) -> Iterator[Declaration]:
    """Declarations that the grammar does not know, found by a pattern."""
    for found in pattern.finditer(text):
        *scope, name = found["name"].split(".")
        at = found.end("doc")
        yield Declaration(
            name=name,
            kind=found["kind"].lower(),
            scope=tuple(scope),
            start=found.start(),
            at=at,
            body=found.start("body"),
            end=found.end(),
            signature=signature_of(text[at : found.start("body")]),
            doc=first_sentence(found["doc"]),
        )


def _blank(found: re.Match[bytes]) -> bytes:
    kept: bytes = found[1]
    return kept + _LETTERS.sub(b" ", found[0][len(kept) :])


@dataclass(slots=True)
class _Reading:
    """What the query has found so far. `plain` are patterns that capture a used name and nothing else, most matches by
    far; `attached` is the documentation in what is attached to what follows, by where it starts."""

    data: bytes
    offset: Offset
    found: dict[tuple[int, int, str], _Found] = field(default_factory=dict)
    used: dict[int, Used] = field(default_factory=dict)
    imports: dict[Reference, None] = field(default_factory=dict)
    docs: list[tree_sitter.Node] = field(default_factory=list)
    headers: list[tuple[int, int]] = field(default_factory=list)
    attached: dict[int, str] = field(default_factory=dict)
    plain: dict[int, tuple[str, str]] = field(default_factory=dict)

    def read(self, matches: Iterable[tuple[int, Captured]]) -> None:
        """Take in every match."""
        plain, used = self.plain, self.used
        for pattern, captured in matches:
            if pattern in plain:
                label, kind = plain[pattern]
                note_use(used, pattern, captured, kind, captured[label][0])
            else:
                for label, nodes in captured.items():
                    self._take(pattern, captured, label, nodes[0])

    def _take(self, pattern: int, captured: Captured, label: str, node: tree_sitter.Node) -> None:
        role, _, kind = label.partition(".")
        if role == "ref" and kind != "import":
            note_use(self.used, pattern, captured, kind, node)
            if all(other in (label, "qualifier") or other.startswith("_") for other in captured):
                self.plain[pattern] = label, kind
        elif role == "def" or (role == "scope" and kind):
            _note_declaration(self.found, pattern, captured, label, self.data)
        elif role == "ref":
            self.imports.update(dict.fromkeys(imports_of(captured, node, self.data, self.offset)))
        elif role == "use":
            split = use_leaves if kind == "tree" else import_leaves
            at = self.offset(node.start_byte)
            leaves = split(text_of(self.data, node))
            self.imports.update((Reference(path, "import", at, leaf), None) for path, leaf in leaves)
        elif role == "attached":
            doc = captured.get("doc")
            self.attached[node.start_byte] = text_of(self.data, doc[0]) if doc else ""
        elif role == "doc" and "attached" not in captured:
            self.docs.append(node)
        elif role == "header":
            self.headers.append(_span(node))


def outline_of(text: str, data: bytes, root: tree_sitter.Node, grammar: Grammar, deadline: Deadline) -> Outline:
    """The outline of a tree that was parsed from `data`, the bytes of `text` less its noise."""
    language = grammar.language
    offset = offsets_of(text, data)
    reading = _Reading(data, offset)
    reading.read(grammar.matches(root))
    spans = set(reading.headers)  # a constant that is an import is only that
    kept = (item for item in reading.found.values() if item.kind != "constant" or _span(item.node) not in spans)
    ordered = sorted(_first_readings(kept), key=lambda item: (item.node.start_byte, -item.node.end_byte))
    for item in ordered:  # a declaration's own name is no use of it
        reading.used.pop(item.named.start_byte, None)
    _attach_docs(ordered, reading.docs, data)
    ordered = _stretched(ordered, language, reading.attached, deadline)
    declarations = tuple(_declarations(ordered, language, data, text, offset, reading.attached, deadline))
    references = [*precise(reading.imports), *references_of(reading.used.values(), data, offset)]
    return Outline(
        language=language.name,
        declarations=declarations,
        references=tuple(sorted(references, key=lambda reference: reference.start)),
        header_end=_header_end(root, declarations, reading.headers, offset),
        cuts=tuple(sorted({offset(cut) for cut in _cuts(root, data)})),
    )


def offsets_of(text: str, data: bytes) -> Offset:
    """Bytes to code points."""
    if len(text) == len(data):
        return int
    starts = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)

    def offset(byte: int) -> int:
        return int(starts.searchsorted(byte))

    return offset


def _span(node: tree_sitter.Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


# ------------------------------------------------------------------ declarations


def _note_declaration(
    found: dict[tuple[int, int, str], _Found], pattern: int, captured: Captured, label: str, data: bytes
) -> None:
    node = captured[label][0]
    role, _, kind = label.partition(".")
    end = node.end_byte if kind != "rest" or node.parent is None else node.parent.end_byte
    for named in map(_innermost, captured.get("name", ())):
        name = _QUOTED.sub(r"\2", " ".join(text_of(data, named).split()))[:MAX_NAME_CHARS]
        name = name.partition("(")[0] if named.type == "operator_cast" else name
        name = name[1:] if named.type == "simple_symbol" else name
        outer, _, name = name.rpartition(".") if named.type == "alias" else ("", "", name)
        scope = _BLANK.sub("", text_of(data, captured["scope"][0])).strip("\"'`") if "scope" in captured else ""
        is_outside = role == "def" and "::" in name
        if is_outside:  # defined outside of what it belongs to: `Pool<T>::acquire`
            scope, _, name = name.rpartition("::")
        key = (node.start_byte, node.end_byte, name)
        if not name or (key in found and found[key].pattern <= pattern):
            continue
        found[key] = _Found(
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


def _first_readings(found: Iterable[_Found]) -> Iterator[_Found]:
    """One declaration for each body: `TEST(suite, name) { … }` reads as a test, and as a function `TEST`."""
    first: dict[tuple[int, int, int], int] = {}
    items = list(found)
    keys = [(*_span(item.node), item.body.start_byte if item.body is not None else -1) for item in items]
    for key, item in zip(keys, items, strict=True):
        first[key] = min(first.get(key, item.pattern), item.pattern)
    return (
        item for key, item in zip(keys, items, strict=True) if item.body is None or item.pattern == first[key]
    )


def _innermost(named: tree_sitter.Node) -> tree_sitter.Node:
    """The name inside a declarator of C, which stands in what is said of it: `*(*name)[3]`."""
    while named.type.endswith("declarator") or named.type in ("template_function", "template_type"):
        inner = named.child_by_field_name("declarator") or named.child_by_field_name("name")
        inner = inner or (named.named_children[0] if named.named_child_count else None)
        if inner is None:
            break
        named = inner
    return named


def _attach_docs(ordered: list[_Found], docs: Iterable[tree_sitter.Node], data: bytes) -> None:
    """Documentation inside a declaration belongs to the innermost one around it."""
    starts = [item.node.start_byte for item in ordered]
    for node in docs:
        before = bisect_right(starts, node.start_byte)
        for item in (ordered[place] for place in range(before - 1, -1, -1)):
            if item.node.end_byte >= node.end_byte:
                item.doc = item.doc or text_of(data, node)
                break


def _stretched(
    ordered: list[_Found], language: Language, attached: dict[int, str], deadline: Deadline
) -> list[_Found]:
    """Clauses of one function joined to one declaration, sections drawn out to where the next begins."""
    if not language.clauses and not language.sections:
        return ordered
    kept: list[_Found] = []
    before: dict[int, _Found] = {}  # the declaration before, by the node they stand in
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


def _declarations(
    ordered: list[_Found],
    language: Language,
    data: bytes,
    text: str,
    offset: Offset,
    attached: dict[int, str],
    deadline: Deadline,
) -> Iterator[Declaration]:
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
            blank = text[offset(line) : begin]
            begin -= len(blank.lstrip()) if not data[line:start].strip() else 0
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
"""What is of use to nobody else when it is declared inside a function."""


def _kind(item: _Found, inside: str) -> str:
    """A function in a class is a method; one in a function is known to that function only."""
    if item.kind != "function":
        return item.kind
    if inside in _CLASSES or item.is_outside:
        return "method"
    return "local" if inside in _FUNCTIONS else "function"


_CLASSES = frozenset("class struct interface trait enum impl object protocol extension record instance".split())


_SCOPE_JOINTS = re.compile(r"::|\.|\\|:|#")


def _scope_parts(scope: str) -> Iterator[str]:
    return (part for part in _SCOPE_JOINTS.split(scope) if part)


# ------------------------------------------------------------------ the head of the file, and where to cut


_SMALL_KINDS = frozenset({"constant", "variable", "field", "property"})


def _header_end(
    root: tree_sitter.Node,
    declarations: tuple[Declaration, ...],
    headers: Iterable[tuple[int, int]],
    offset: Offset,
) -> int:
    """Where the head of a file ends: the leading comment and what is brought in before anything is declared."""
    large = (declaration.start for declaration in declarations if declaration.kind not in _SMALL_KINDS)
    first = min(large, default=offset(root.end_byte))
    end = max((offset(end) for start, end in headers if offset(start) < first), default=0)
    for child in root.children:
        if (not is_comment(child) and child.type not in _PREAMBLE) or offset(child.start_byte) >= first:
            break
        end = max(end, offset(child.end_byte))
    return min(end, first)


_PREAMBLE = frozenset({"hash_bang_line", "shebang", "php_tag", "pragma", "header"})


def _cuts(root: tree_sitter.Node, data: bytes) -> Iterator[int]:
    """Where statements start: every node that begins a line, inside nodes that are long."""
    stack = [root]
    while stack:
        node = stack.pop()
        last = -1
        for child in node.named_children:
            start = child.start_byte
            line = start - column(child, data) + 1
            if line != last and not data[line:start].strip():
                yield line
            last = line
            if child.end_byte - start > LONG_CHARS:
                stack.append(child)
