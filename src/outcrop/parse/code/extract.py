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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import tree_sitter

from outcrop.parse.code.guard import Deadline, check_source, parse_within
from outcrop.parse.code.languages import Language, grammar_of
from outcrop.parse.code.modules import import_leaves, module_path, use_leaves
from outcrop.parse.code.wording import MAX_SIGNATURE_CHARS, first_sentence, signature_of
from outcrop.records import Declaration, Outline, Reference

MAX_QUALIFIER_CHARS = 60
MAX_NAME_CHARS = 120
LONG_CHARS = 800
"""Inside declarations longer than this the statements are listed too, for the chunker to cut at."""

MAX_COLUMN = 1_000
"""Nothing that begins a line stands further right; looking back further for its start would cost on long lines."""

_COMMENTS = ("comment", "haddock")
_DOC_COMMENTS = (b"/**", b"///", b"--|", b"-- |", b"{-|", b"{- |")
"""Such a comment speaks of what follows even when a blank line stands between, as in older JavaScript."""
_BLANK = re.compile(r"\s+")
_LETTERS = re.compile(rb"[^\n]")
_QUOTED = re.compile(r"^([\"'`])(.*)\1$")
_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[?!]$")

Offset = Callable[[int], int]
_Captured = dict[str, list[tree_sitter.Node]]
_Used = tuple[int, str, tree_sitter.Node, list[tree_sitter.Node] | None]
"""A used name as captured: the pattern's place in the query, the kind, the name, what stands before it."""


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
    tree = parse_within(grammar.parser(), readable, deadline)
    if language.branches is not None and tree.root_node.has_error:
        straight = language.branches.sub(_blank, readable)
        again = parse_within(grammar.parser(), straight, deadline)
        if not again.root_node.has_error:
            readable, tree = straight, again
    outline = outline_of(text, readable, tree.root_node, grammar.query, language, deadline)
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


def outline_of(
    text: str,
    data: bytes,
    root: tree_sitter.Node,
    query: tree_sitter.Query,
    language: Language,
    deadline: Deadline,
) -> Outline:
    """The outline of a tree that was parsed from `data`, the bytes of `text` less its noise."""
    offset = offsets_of(text, data)
    found: dict[tuple[int, int, str], _Found] = {}
    used: dict[int, _Used] = {}
    imports: dict[Reference, None] = {}
    docs: list[tree_sitter.Node] = []
    headers: list[tuple[int, int]] = []
    attached: dict[
        int, str
    ] = {}  # what is attached to what follows, by where it starts, and the documentation in it
    plain: dict[
        int, tuple[str, str]
    ] = {}  # patterns that capture a used name and nothing else: most matches by far
    for pattern, captured in tree_sitter.QueryCursor(query).matches(root):
        if pattern in plain:
            label, kind = plain[pattern]
            _note_use(used, pattern, captured, kind, captured[label][0])
            continue
        for label, nodes in captured.items():
            role, _, kind = label.partition(".")
            if role == "ref" and kind != "import":
                _note_use(used, pattern, captured, kind, nodes[0])
                if all(other in (label, "qualifier") or other.startswith("_") for other in captured):
                    plain[pattern] = label, kind
            elif role == "def" or (role == "scope" and kind):
                _note_declaration(found, pattern, captured, label, data)
            elif role == "ref":
                imports.update(dict.fromkeys(_imports(captured, nodes[0], data, offset)))
            elif role == "use":
                at = offset(nodes[0].start_byte)
                leaves = (
                    use_leaves(_text(data, nodes[0]))
                    if kind == "tree"
                    else import_leaves(_text(data, nodes[0]))
                )
                imports.update((Reference(path, "import", at, leaf), None) for path, leaf in leaves)
            elif role == "attached":
                attached[nodes[0].start_byte] = _text(data, captured["doc"][0]) if "doc" in captured else ""
            elif role == "doc" and "attached" not in captured:
                docs.append(nodes[0])
            elif role == "header":
                headers.append(_span(nodes[0]))
    spans = set(headers)  # a constant that is an import is only that
    kept = (item for item in found.values() if item.kind != "constant" or _span(item.node) not in spans)
    ordered = sorted(_first_readings(kept), key=lambda item: (item.node.start_byte, -item.node.end_byte))
    for item in ordered:  # a declaration's own name is no use of it
        used.pop(item.named.start_byte, None)
    _attach_docs(ordered, docs, data)
    ordered = _stretched(ordered, language, attached, deadline)
    declarations = tuple(_declarations(ordered, language, data, text, offset, attached, deadline))
    references = [*_precise(imports), *_references(used.values(), data, offset)]
    return Outline(
        language=language.name,
        declarations=declarations,
        references=tuple(sorted(references, key=lambda reference: reference.start)),
        header_end=_header_end(root, declarations, headers, offset),
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


def _text(data: bytes, node: tree_sitter.Node) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


# ------------------------------------------------------------------ declarations


def _note_declaration(
    found: dict[tuple[int, int, str], _Found], pattern: int, captured: _Captured, label: str, data: bytes
) -> None:
    node = captured[label][0]
    role, _, kind = label.partition(".")
    end = node.end_byte if kind != "rest" or node.parent is None else node.parent.end_byte
    for named in map(_innermost, captured.get("name", ())):
        name = _QUOTED.sub(r"\2", " ".join(_text(data, named).split()))[:MAX_NAME_CHARS]
        name = name.partition("(")[0] if named.type == "operator_cast" else name
        name = name[1:] if named.type == "simple_symbol" else name
        outer, _, name = name.rpartition(".") if named.type == "alias" else ("", "", name)
        scope = _BLANK.sub("", _text(data, captured["scope"][0])).strip("\"'`") if "scope" in captured else ""
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
                item.doc = item.doc or _text(data, node)
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
        if after.is_named and not _is_comment(after):
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
        outer = _wrapped(item.node, language)
        start, leading = _leading(outer, language, data, attached)
        begin = offset(start)
        if language.noise:  # with the macro before it
            line = data.rfind(b"\n", 0, start) + 1
            blank = text[offset(line) : begin]
            begin -= len(blank.lstrip()) if not data[line:start].strip() else 0
        own = _own_start(item.node, language, data)
        end_byte = max(outer.end_byte, item.end)
        while end_byte > start and data[end_byte - 1] in b"\r\n":  # the line's end is part of a #define
            end_byte -= 1
        body_byte = _body_start(item.body) if item.body is not None else end_byte
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
            doc=first_sentence(item.doc or leading),
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


def _own_start(node: tree_sitter.Node, language: Language, data: bytes) -> int:
    """Where a declaration begins after the attributes that stand inside its node."""
    if data[node.start_byte] not in b"@[#":
        return node.start_byte
    for child in node.children:
        if child.type in language.attached or _is_comment(child):
            continue
        start = _own_start(child, language, data) if child.child_count else child.start_byte
        if start < child.end_byte:  # else all of it is attributes, as Java's modifiers may be
            return start
    return node.end_byte


def _body_start(body: tree_sitter.Node) -> int:
    before = body.prev_sibling  # some grammars put the comments of a block before it
    while before is not None and _is_comment(before):
        body, before = before, before.prev_sibling
    return body.start_byte


def _wrapped(node: tree_sitter.Node, language: Language) -> tree_sitter.Node:
    parent = node.parent
    while parent is not None and parent.type in language.wrappers and parent.parent is not None:
        node, parent = parent, parent.parent
    return node


def _is_comment(node: tree_sitter.Node) -> bool:
    return node.type.endswith(_COMMENTS)


def _before(node: tree_sitter.Node, data: bytes) -> tree_sitter.Node | None:
    """What stands before a node: some grammars put the comment before the first, or after the last, child of a block
    outside it."""
    before = node.prev_sibling
    parent = node.parent if before is None else None
    while before is None and parent is not None and parent.start_byte == node.start_byte:
        before, parent = parent.prev_sibling, parent.parent
    last = before.child(before.child_count - 1) if before is not None and before.child_count else None
    is_stray = last is not None and _is_comment(last) and _column(last, data) == _column(node, data)
    return last if is_stray else before


def _column(node: tree_sitter.Node, data: bytes) -> int:
    """The column of a node, from 1; not by its start_point, whose numbers tree-sitter 0.26.0 frees twice."""
    start = node.start_byte
    newline = data.rfind(b"\n", max(0, start - MAX_COLUMN), start)
    return start - (newline if newline >= 0 else max(-1, start - MAX_COLUMN))


def _leading(
    node: tree_sitter.Node, language: Language, data: bytes, attached: dict[int, str]
) -> tuple[int, str]:
    """Where the comments and attributes right before a node begin, and the text of the comments."""
    start = node.start_byte
    comments: list[str] = []
    before = _before(node, data)
    while before is not None:
        is_comment = _is_comment(before)
        if not is_comment and before.type not in language.attached and before.start_byte not in attached:
            break
        gap = data[before.end_byte : start]
        lines = gap.count(b"\n") + data.endswith(b"\n", before.start_byte, before.end_byte)
        is_doc = data.startswith(_DOC_COMMENTS, before.start_byte)
        if gap.strip() or lines > (2 if is_doc else 1):
            break
        line = before.start_byte - _column(before, data) + 1
        if is_comment and data[line : before.start_byte].strip():
            break  # at the end of a line of code: it speaks of that line
        if is_comment:
            comments.append(_text(data, before))
        elif attached.get(before.start_byte):
            comments.append(attached[before.start_byte])
        start = before.start_byte
        before = before.prev_sibling
    return start, "\n".join(reversed(comments))


# ------------------------------------------------------------------ references


def _note_use(
    used: dict[int, _Used], pattern: int, captured: _Captured, kind: str, node: tree_sitter.Node
) -> None:
    start = node.start_byte
    if start not in used or pattern < used[start][0]:
        used[start] = (pattern, kind, node, captured.get("qualifier"))


def _references(used: Iterable[_Used], data: bytes, offset: Offset) -> Iterator[Reference]:
    for _, kind, node, qualifiers in used:
        start, end = node.start_byte, node.end_byte
        if not 1 < end - start <= MAX_NAME_CHARS:  # one letter is a type parameter or a local name
            continue
        qualifier = ""
        if qualifiers and qualifiers[0].end_byte - qualifiers[0].start_byte <= MAX_QUALIFIER_CHARS:
            qualifier = "".join(_text(data, qualifiers[0]).split()).rstrip(".")
        name = data[start:end].decode("utf-8", "replace")
        if node.type == "alias" and "." in name:  # an Elixir module
            qualifier, _, name = name.rpartition(".")
        elif node.type == "param":  # COPY --from=stage
            name = name.partition("=")[2]
        yield Reference(name, kind, offset(start), qualifier)  # type: ignore[arg-type]  # a test holds queries to the kinds


def _imports(captured: _Captured, node: tree_sitter.Node, data: bytes, offset: Offset) -> Iterator[Reference]:
    path = module_path(_text(data, node))
    if path:
        taken = [_text(data, item)[:MAX_NAME_CHARS] for item in captured.get("imported", ())] or [""]
        yield from (Reference(path, "import", offset(node.start_byte), item) for item in taken)


def _precise(imports: Iterable[Reference]) -> Iterator[Reference]:
    """Without those that only name a module of which it is known what is taken."""
    whole = {(item.name, item.start) for item in imports if item.qualifier}
    taken = whole | {(f"{item.name}/{item.qualifier}", item.start) for item in imports if item.qualifier}
    return (item for item in imports if item.qualifier or (item.name, item.start) not in taken)


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
        if (not _is_comment(child) and child.type not in _PREAMBLE) or offset(child.start_byte) >= first:
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
            line = start - _column(child, data) + 1
            if line != last and not data[line:start].strip():
                yield line
            last = line
            if child.end_byte - start > LONG_CHARS:
                stack.append(child)
