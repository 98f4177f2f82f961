"""A source file becomes a Document; without a grammar that can read it, it is plain text.

A Vue or Svelte component is markup with a script in it. The file itself is the declaration, named by its stem; it
contains what the script declares, its template and its styles.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace

import tree_sitter

from outcrop.parse.code.declarations import first_sentence
from outcrop.parse.code.extract import extract_outline, offsets_of
from outcrop.parse.code.guard import TooHard, check_source, parse_within
from outcrop.parse.code.languages import Grammar, Language, NoGrammar, find_language, grammar_of
from outcrop.parse.code.references import Offset
from outcrop.parse.title import file_name
from outcrop.records import Declaration, Document, Outline, Reference

_LANG = re.compile(rb"\blang\s*=\s*[\"']?([jt]sx?)\b")
_BLOCKS = {"script_element": "script", "style_element": "style"}


def component_outline(text: str, path: str, language: Language) -> Outline:
    """The outline of a component file: its markup and each of its scripts."""
    data = text.encode("utf-8", "replace")
    grammar = grammar_of(language)
    check_source(data)
    root = parse_within(grammar.parser(), data).root_node
    offset = offsets_of(text, data)
    name = file_name(path).rsplit(".", 1)[0]
    comment = next((child for child in root.children[:1] if child.type == "comment"), None)
    doc = "" if comment is None else first_sentence(text[offset(comment.start_byte) : offset(comment.end_byte)])
    declarations = [Declaration(name, "component", (), 0, 0, 0, len(text), f"component {name}", doc)]
    references = list(_markup_references(root, grammar, data, offset))
    cuts: set[int] = set()
    for kind, nodes in _blocks(root):
        start, end = offset(nodes[0].start_byte), offset(nodes[-1].end_byte)
        cuts.add(start)
        if kind == "script":
            script = _script_outline(text, data, nodes[0], offset)
            declarations += (replace(item, scope=(name, *item.scope)) for item in script.declarations)
            references += script.references
            cuts.update(script.cuts)
        else:
            tag = next(iter(nodes[0].children), None)
            body = min(offset(tag.end_byte), end) if tag is not None and len(nodes) == 1 else start
            signature = " ".join(text[start:body].split()) or f"<{kind}>"
            declarations.append(Declaration(kind, kind, (name,), start, start, body, end, signature))
            cuts.update(offset(child.start_byte) for node in nodes for child in node.children)
    return Outline(
        language=language.name,
        declarations=tuple(sorted(declarations, key=lambda item: (item.start, -item.end))),
        references=tuple(sorted(references, key=lambda item: item.start)),
        cuts=tuple(sorted(cuts)),
    )


def _blocks(root: tree_sitter.Node) -> Iterator[tuple[str, list[tree_sitter.Node]]]:
    """The parts of the file: scripts, styles, and each run of other markup as one template."""
    template: list[tree_sitter.Node] = []
    for node in root.children:
        kind = _BLOCKS.get(node.type)
        if kind is None and (template or node.type != "comment"):
            template.append(node)
        elif kind is not None:
            if template:
                yield "template", template
                template = []
            yield kind, [node]
    if template:
        yield "template", template


def _script_outline(text: str, data: bytes, node: tree_sitter.Node, offset: Offset) -> Outline:
    """The content of a script element, with offsets into the whole file."""
    tag = next(iter(node.children), None)
    raw = next((child for child in node.children if child.type == "raw_text"), None)
    opening = data[tag.start_byte : tag.end_byte] if tag is not None else b""
    said = _LANG.search(opening)
    language = find_language(f"script.{said[1].decode() if said else 'js'}")
    if raw is None or language is None or b"json" in opening:
        return Outline("javascript")
    by = offset(raw.start_byte)
    inner = extract_outline(text[by : offset(raw.end_byte)], language)
    declarations = (
        replace(item, start=item.start + by, at=item.at + by, body=item.body + by, end=item.end + by)
        for item in inner.declarations
    )
    references = (item._replace(start=item.start + by) for item in inner.references)
    cuts = tuple(cut + by for cut in inner.cuts)
    return replace(inner, declarations=tuple(declarations), references=tuple(references), cuts=cuts)


def _markup_references(
    root: tree_sitter.Node, grammar: Grammar, data: bytes, offset: Offset
) -> Iterator[Reference]:
    """Components that the markup uses (`<user-card>` is `UserCard`), and functions named as handlers."""
    for _, captured in grammar.matches(root):
        for label, node in ((label, nodes[0]) for label, nodes in captured.items()):
            raw = data[node.start_byte : node.end_byte].decode("utf-8", "replace")
            name = raw.strip("{}")
            if label == "ref.call" and "-" in name:
                name = "".join(part[:1].upper() + part[1:] for part in name.split("-"))
            if label == "ref.call":
                yield Reference(name, "call", offset(node.start_byte))
            elif label == "ref.use":
                yield Reference(name, "use", offset(node.start_byte) + raw.index(name))


log = logging.getLogger(__name__)

MAX_PARSED_CHARS = 2_000_000
"""A longer file is generated or data; parsing it would take seconds and tell little."""


def read_code(text: str, path: str) -> Document:
    """Source code, titled by its file name: first lines are licences and interpreter lines."""
    language = find_language(path, text)
    outline = None
    if language is not None and len(text) <= MAX_PARSED_CHARS:
        try:
            outline = (
                component_outline(text, path, language) if language.embeds else extract_outline(text, language)
            )
        except NoGrammar as error:  # it still has a language: for filters, chunk sizes and highlighting
            log.info("read by lines", extra={"path": path, "reason": str(error)})
            outline = Outline(language.name)
        except TooHard as error:
            log.info("read as plain text", extra={"path": path, "reason": str(error)})
    return Document(text=text, kind="code", title=file_name(path), outline=outline)
