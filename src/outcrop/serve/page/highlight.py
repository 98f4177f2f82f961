"""Which stretches of a source text are keywords, strings, comments and names, told by tree-sitter.

The tree that a grammar makes of a text is walked once, so the time is linear in the text whatever it holds; parsing has
the deadline of `parse/code/guard.py`, and the walk one of its own. What takes longer, or has no grammar here, is shown
without colours. Most grammars name their nodes alike, so one table serves all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import tree_sitter

from outcrop.parse.code.guard import Deadline, TooHard, check_source, parse_within
from outcrop.parse.code.languages import LANGUAGES, Language, NoGrammar, find_language, grammar_of
from outcrop.system.limits import check_wanted

MAX_CHARS: Final = 300_000
"""A longer text is not highlighted. Measured: 0.5 s of CPU for as much C++."""
STEPS: Final = 1_000
"""Nodes between two looks at the clock: about two milliseconds."""
PLAIN: Final = ""

Piece = tuple[str, str]
"""A stretch of text and what it is: one of the short names below, or PLAIN. Names are those that style sheets of many
sites know: k keyword, s string, c comment, m number, nf function."""

_ALIASES: Final = {
    "c#": "c_sharp",
    "c++": "cpp",
    "csharp": "c_sharp",
    "docker": "dockerfile",
    "golang": "go",
    "json": "javascript",
    "jsonc": "javascript",
    "makefile": "make",
    "node": "javascript",
    "python3": "python",
    "shell": "bash",
    "terraform": "hcl",
}
"""Names people write after ``` that are neither a language's name in our table nor an extension of its files."""

_COMMENT = re.compile(r"comment|^haddock$|^pragma$")
_INSERTED = re.compile(r"interpolation$|substitution$|^(?:simple_)?expansion$|^interpolated_expression$")
_STRING = re.compile(
    r"string(?!_type)|^char|_char_literal|rune_literal|character|regex|heredoc_body|quoted_content|^sigil"
    r"|attribute_value|template_literal|nowdoc"
)
_NUMBER = re.compile(
    r"(?:^|_)(?:integer|int|float|number|real|numeric|imaginary|decimal|hex|octal|rational)(?:_|$)"
)
_CONSTANT: Final = frozenset(
    "true false null none nil undefined boolean null_literal boolean_literal bool_lit self this super".split()
)
_TYPE: Final = frozenset(
    "primitive_type predefined_type builtin_type type_identifier integral_type floating_point_type void_type"
    " boolean_type sized_type_specifier".split()
)
_PARTS: Final = {
    "attribute_name": "na",
    "class_name": "nc",
    "command_name": "nf",
    "decorator": "nd",
    "attribute_item": "nd",
    "annotation": "nd",
    "marker_annotation": "nd",
    "property_name": "na",
    "system_lib_string": "s",
    "tag_name": "nt",
}
_FUNCTION = re.compile(r"function|method|constructor|macro|^def$|subroutine")
_CLASS = re.compile(
    r"class|struct|enum|interface|trait|module|namespace|record|protocol|^type|union|object_def"
)
_CALL = re.compile(r"call|invocation")
_CALLED: Final = frozenset({"function", "name", "method", "target"})


def language_named(name: str) -> Language | None:
    """The language of this name, as people write it after ``` and as the index keeps it."""
    wanted = name.strip().lower()
    wanted = _ALIASES.get(wanted, wanted)
    for language in LANGUAGES:
        if language.name == wanted:
            return language
    return find_language(f"x.{wanted}") if re.fullmatch(r"\w{1,12}", wanted) else None


def highlight_source(text: str, language_name: str) -> list[Piece] | None:
    """The whole text in pieces, each with what it is; None where it is to be shown without colours."""
    language = language_named(language_name)
    if language is None or not text or len(text) > MAX_CHARS:
        return None
    data = text.encode("utf-8", "replace")
    try:
        check_source(data)
        tree = parse_within(grammar_of(language).parser(), data)
        return list(_pieces(data, tree))
    except (NoGrammar, TooHard):
        return None


def _pieces(data: bytes, tree: tree_sitter.Tree) -> Iterator[Piece]:
    """Neighbours of one kind joined, so that a text of many small nodes makes few elements."""
    kind, begin = PLAIN, 0
    for start, end, found in _spans(tree, data):
        if found != kind:
            if start > begin:
                yield data[begin:start].decode("utf-8", "replace"), kind
            kind, begin = found, start
        if end == len(data):
            break
    if begin < len(data):
        yield data[begin:].decode("utf-8", "replace"), kind


def _spans(tree: tree_sitter.Tree, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Where each kind begins and ends, in bytes and in order: what a node does not say, the one around it does."""
    deadline = Deadline()
    cursor = tree.walk()
    around = [("", PLAIN)]  # type and kind of the nodes we are inside
    at = steps = 0
    down = True
    while True:
        steps += 1
        if steps % STEPS == 0:
            deadline.look()
            check_wanted()
        node = cursor.node
        if node is None:
            break
        if down:
            if node.start_byte > at:
                yield at, node.start_byte, around[-1][1]
                at = node.start_byte
            leaf = node.child_count == 0
            told = _kind_of(node.type, node.is_named, cursor.field_name, around[-1][0], leaf)
            if leaf and node.type == "literal":  # SQL's: only its first character tells which
                first = data[node.start_byte : node.start_byte + 1]
                told = "s" if first in (b"'", b'"') else "m" if first.isdigit() else None
            around.append((node.type, around[-1][1] if told is None else told))
            if cursor.goto_first_child():
                continue
        if node.end_byte > at:
            yield at, node.end_byte, around[-1][1]
            at = node.end_byte
        around.pop()
        down = cursor.goto_next_sibling()
        if not down and not cursor.goto_parent():
            break
    if at < len(data):
        yield at, len(data), PLAIN


@lru_cache(maxsize=8192)
def _kind_of(kind: str, named: bool, field: str | None, parent: str, leaf: bool) -> str | None:
    """What a node is by its type, its place in its parent and its parent's type; None: whatever is around it."""
    if not named:
        if kind[:1] == "#" and kind[1:2].isalpha():
            return "cp"
        return "k" if kind[:1].isalpha() and parent not in _TYPE else None
    if leaf and kind.startswith("keyword_"):
        return "k"
    if _COMMENT.search(kind):
        return "c"
    if _INSERTED.search(kind):
        return PLAIN
    if kind in _PARTS:
        return _PARTS[kind]
    if _STRING.search(kind):
        if _STRING.search(parent):
            return None
        return "sd" if parent == "expression_statement" and kind == "string" else "s"
    if kind in _TYPE:
        return _name_of(field, parent) or "kt"
    if kind in _CONSTANT:
        return "kc"
    if leaf and _NUMBER.search(kind) and "type" not in kind:
        return "m"
    return _name_of(field, parent) if leaf else None


def _name_of(field: str | None, parent: str) -> str | None:
    """What a name names, by the declaration or call it stands in."""
    if parent == "function_declarator" and field == "declarator":
        return "nf"
    if field == "name":
        if _FUNCTION.search(parent):
            return "nf"
        if _CLASS.search(parent):
            return "nc"
    return "nf" if field in _CALLED and _CALL.search(parent) else None
