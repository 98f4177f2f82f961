"""A syntax tree to an Outline, the same way for every language: what differs is in the language's query.

A query may capture:

    @def.KIND   a whole declaration, with @name and, where it has one, @body; @scope names what it belongs to where
                that is not around it (a Go receiver, `Class::method` in C++)
    @scope.KIND something that gives its content a scope but is not a declaration (a Rust impl), with @name; of kind
                `rest` it extends to the end of what contains it (`namespace A.B;`)
    @doc        documentation inside its declaration (a Python docstring)
    @attached   a statement that belongs to the declaration after it (an Elixir attribute), with @doc where it is
                documentation
    @header     a statement of the file's head: package, imports, includes
    @ref.KIND   a name that is used, KIND a ReferenceKind; @qualifier is what precedes it. An import's name is
                the module's path, @imported what is imported from it
    @use.tree   an import that lists what it brings in, in braces: `a::b::{c, d::{e, f as g}}`
    @use.dotted the same with dots: `import a.b.{C, D => E}, f.g._`

Where two patterns match the same name or declaration, the first in the query wins.

Compiling a pattern takes 5 to 100 ms where its nodes may hold much. So a pattern may leave to us what is asked of few
nodes, which are then looked at one by one:

    (#set! name "KIND …")    @name is the declaration's field `name`, of one of these kinds, and @body its field `body`
    (#set! inside "KIND …")  the declaration's parent is of one of these kinds

Comments before a declaration, attributes and decorators are found by looking at its neighbours, not by queries. Names
in a tree with errors are taken as they are: a file that is being edited is still worth finding.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from operator import itemgetter

import numpy as np
import tree_sitter

from outcrop.parse.code.conditionals import WORTH_BYTES, first_branches, spoiled_bytes
from outcrop.parse.code.declarations import (
    Found,
    attach_docs,
    column,
    declarations_of,
    first_readings,
    first_sentence,
    is_comment,
    note_declaration,
    signature_of,
    span,
    stretched,
)
from outcrop.parse.code.guard import Deadline, check_source, parse_within
from outcrop.parse.code.languages import Grammar, Language, grammar_of
from outcrop.parse.code.references import (
    Captured,
    Offset,
    Used,
    import_leaves,
    imports_of,
    note_use,
    precise,
    references_of,
    text_of,
    use_leaves,
)
from outcrop.records import Declaration, Outline, Reference
from outcrop.system.dataclass import dataclass

LONG_CHARS = 800
"""Inside longer declarations statements are places to cut too: two thirds of a full chunk (not measured)."""

_LETTERS = re.compile(rb"[^\n]")
Settings = Mapping[str, frozenset[str]]
_START = itemgetter(Reference._fields.index("start"))


def extract_outline(text: str, language: Language) -> Outline:
    """The declarations and names of a source text; TooHard when it is not source, or cannot be read in time."""
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
    if language.has_conditionals and tree.root_node.has_error:
        readable, tree = _read_first_branches(readable, tree, grammar)
    outline = _outline_of(text, readable, tree.root_node, grammar, deadline)
    if language.loose is not None:
        known = (*outline.declarations, *_loose(text, language.loose))
        outline = replace(outline, declarations=tuple(sorted(known, key=lambda item: (item.start, -item.end))))
    return outline


def _read_first_branches(
    data: bytes, tree: tree_sitter.Tree, grammar: Grammar
) -> tuple[bytes, tree_sitter.Tree]:
    """The same, or without the branches that leave braces open, where that spares half of what errors spoil."""
    spoiled = spoiled_bytes(tree.root_node)
    if spoiled >= WORTH_BYTES and (straight := first_branches(data)) != data:
        again = parse_within(grammar.parser(), straight)
        if 2 * spoiled_bytes(again.root_node) < spoiled:
            return straight, again
    return data, tree


def _loose(text: str, pattern: re.Pattern[str]) -> Iterator[Declaration]:
    """Declarations unknown to the grammar, found by a pattern."""
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
    """What the query has found so far. `plain` are patterns that capture only a used name, by far the most matches;
    `attached` is the documentation in attached statements, by start."""

    data: bytes
    offset: Offset
    found: dict[tuple[int, int, str], Found] = field(default_factory=dict)
    used: dict[int, Used] = field(default_factory=dict)
    imports: dict[Reference, None] = field(default_factory=dict)
    docs: list[tree_sitter.Node] = field(default_factory=list)
    headers: list[tuple[int, int]] = field(default_factory=list)
    attached: dict[int, str] = field(default_factory=dict)
    settings: Mapping[int, Settings] = field(default_factory=dict)
    plain: dict[int, tuple[str, str]] = field(default_factory=dict)

    def read(self, matches: Iterable[tuple[int, Captured]]) -> None:
        """Take in every match."""
        plain, used = self.plain, self.used
        for pattern, captured in matches:
            known = plain.get(pattern)
            if known is not None:
                note_use(used, pattern, captured, known[1], captured[known[0]][0])
                continue
            told = self.settings.get(pattern)
            if told is None or _complete(captured, told):
                for label, nodes in captured.items():
                    self._take(pattern, captured, label, nodes[0])

    def _take(self, pattern: int, captured: Captured, label: str, node: tree_sitter.Node) -> None:
        role, _, kind = label.partition(".")
        if role == "ref" and kind != "import":
            note_use(self.used, pattern, captured, kind, node)
            if all(other in (label, "qualifier") or other.startswith("_") for other in captured):
                self.plain[pattern] = label, kind
        elif role == "def" or (role == "scope" and kind):
            note_declaration(self.found, pattern, captured, label, self.data)
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
            self.headers.append(span(node))


def _complete(captured: Captured, told: Settings) -> bool:
    """Whether a declaration is what its pattern set; its name and body are captured where the pattern left that."""
    node = next(nodes[0] for label, nodes in captured.items() if label.startswith("def."))
    if "inside" in told and (node.parent is None or node.parent.type not in told["inside"]):
        return False
    if "name" in told:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or name.type not in told["name"]:
            return False
        captured["name"] = [name]
        captured |= {} if body is None else {"body": [body]}
    return True


def _outline_of(
    text: str, data: bytes, root: tree_sitter.Node, grammar: Grammar, deadline: Deadline
) -> Outline:
    """The outline of a tree parsed from `data`, the bytes of `text` without noise."""
    language = grammar.language
    offset = offsets_of(text, data)
    reading = _Reading(data, offset, settings=grammar.settings)
    reading.read(grammar.matches(root))
    spans = set(reading.headers)  # a constant that is an import is only an import
    kept = (item for item in reading.found.values() if item.kind != "constant" or span(item.node) not in spans)
    ordered = sorted(first_readings(kept), key=lambda item: (item.node.start_byte, -item.node.end_byte))
    for item in ordered:  # a declaration's own name is not a use
        reading.used.pop(item.named.start_byte, None)
    attach_docs(ordered, reading.docs, data)
    ordered = stretched(ordered, language, reading.attached, deadline)
    declarations = tuple(declarations_of(ordered, language, data, text, offset, reading.attached, deadline))
    references = [*precise(reading.imports), *references_of(reading.used.values(), data, offset)]
    return Outline(
        language=language.name,
        declarations=declarations,
        references=tuple(sorted(references, key=_START)),
        header_end=_header_end(root, declarations, reading.headers, offset),
        cuts=tuple(sorted({offset(cut) for cut in _cuts(root, data)})),
    )


def offsets_of(text: str, data: bytes) -> Offset:
    """Bytes to code points."""
    if len(text) == len(data):
        return int
    within = np.flatnonzero((np.frombuffer(data, np.uint8) & 0xC0) == 0x80)  # bytes inside characters
    inner = array("I", within.astype(np.uint32).tobytes())

    def offset(byte: int) -> int:
        return byte - bisect_left(inner, byte)  # numpy's search takes ten times as long

    return offset


# ------------------------------------------------------------------ the head of the file, and where to cut


_SMALL_KINDS = frozenset({"constant", "variable", "field", "property"})


def _header_end(
    root: tree_sitter.Node,
    declarations: tuple[Declaration, ...],
    headers: Iterable[tuple[int, int]],
    offset: Offset,
) -> int:
    """Where the head of a file ends: the leading comment and the imports before the first declaration."""
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
    """Where statements start: every node that begins a line, inside long nodes."""
    stack = [root]
    while stack:
        node = stack.pop()
        last = -1
        for child in node.named_children:
            start = child.start_byte
            line = start - column(start, data) + 1
            if line != last and (line == start or not data[line:start].strip()):
                yield line
            last = line
            if child.end_byte - start > LONG_CHARS:
                stack.append(child)
