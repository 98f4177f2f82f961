"""Known items of this project's own files: questions that nobody labelled, made without looking at any answer.

A function's docstring says what it does, a heading what its section is about. Some of either, drawn by a fixed seed,
are taken out of a copy of the files and asked instead: the first sentence of the docstring, the words of the heading.
The file they were taken from is the answer.
"""

from __future__ import annotations

import ast
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.code.set import Question, Target
from benchmarks.report import ROOT

SEED = 5
SOURCES = ("src/outcrop/**/*.py", "benchmarks/*.py", "scripts/*.py", "docs/**/*.md", "*.md", "*/README.md")
MIN_WORDS = {"docstring": 6, "heading": 3}
"""A question of fewer words hardly says what is meant (not measured)."""
MIN_SECTION_CHARS = 200
_HEADING = re.compile(r"#{2,4} (.+)")


@dataclass(frozen=True, slots=True)
class Item:
    """Words that can be taken out of a file: its lines `first` to `last`, counted from 1."""

    path: str
    first: int
    last: int
    kind: str
    words: str


def lay_out_own(folder: Path, most: int) -> list[Question]:
    """Copy our files without the items that are asked for; the questions, as many of code as of documentation."""
    shutil.rmtree(folder, ignore_errors=True)
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for pattern in SOURCES
        for path in sorted(ROOT.glob(pattern))
    }
    items = [item for path, text in texts.items() for item in find_items(path, text)]
    draw = random.Random(SEED)
    chosen: list[Item] = []
    for kind in MIN_WORDS:
        fit = [item for item in items if item.kind == kind]
        chosen += draw.sample(fit, min(most // len(MIN_WORDS), len(fit)))
    for path, text in texts.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(without(text, [item for item in chosen if item.path == path]), "utf-8")
    return [
        Question(f"{item.path}:{item.first}", item.words, item.kind, (Target(item.path),)) for item in chosen
    ]


def find_items(path: str, text: str) -> Iterator[Item]:
    """All that could be asked of a file."""
    found = _docstrings(path, text) if path.endswith(".py") else _headings(path, text)
    return (item for item in found if len(item.words.split()) >= MIN_WORDS[item.kind])


def without(text: str, items: list[Item]) -> str:
    """A text without the lines of some items; they stay as empty lines, so that all others keep their numbers."""
    lines = text.split("\n")
    for item in items:
        lines[item.first - 1 : item.last] = [""] * (item.last - item.first + 1)
    return "\n".join(lines)


def _docstrings(path: str, text: str) -> Iterator[Item]:
    """Docstrings of functions that do something else as well."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or len(node.body) < 2:
            continue
        said, first = ast.get_docstring(node), node.body[0]
        if said and first.end_lineno:
            sentence = re.split(r"(?<=[.;:])\s", " ".join(said.split("\n\n")[0].split()))[0]
            yield Item(path, first.lineno, first.end_lineno, "docstring", sentence.rstrip(".;:"))


def _headings(path: str, text: str) -> Iterator[Item]:
    """Headings of sections that say something."""
    lines, fenced = text.split("\n"), False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith("```")
        match = _HEADING.fullmatch(line)
        if match and not fenced:
            section = "\n".join(lines[number:]).split("\n#")[0]
            if len(section) >= MIN_SECTION_CHARS:
                yield Item(path, number, number, "heading", match.group(1))
