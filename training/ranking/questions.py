"""Questions whose answers are known, from public repositories that no benchmark judges.

A tree is laid out as it was before its newest commits. Their subjects then ask for the files that they changed, and
words taken out of the tree ask for what they stood at: documentation for its declaration, the comment at the top of a
file for the file, a heading for its section, a name for where it is declared. What is asked is no longer in the tree;
lines keep their numbers. Topics are the exception: a heading of the documentation asks for the source files that
declare the names its section speaks of, and stays where it is, because only code may answer it.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from outcrop.errors import OutcropError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Declaration, Document
from training.pairs.clean import asked_part, cap, sentences, worth_asking
from training.pairs.code import DOCSTRING, SKIPPED_KINDS, TYPES
from training.pairs.questions import questions, without_name
from training.ranking.records import Asked
from training.ranking.trees import NO_CODE, choose_commit, lay_out, read_commits

PER_KIND: Final = {"doc": 30, "question": 30, "file": 20, "name": 25, "heading": 30, "commit": 60, "topic": 25}
"""Questions of one repository."""
PER_FILE: Final = 3
"""Questions of one kind about one file, but for topics."""
MIN_SECTION_CHARS: Final = 200
MIN_TOPIC_CHARS: Final = 150
LIMITS: Final = ParseLimits(30.0, 1_000_000_000)
_NO_GUIDE: Final = re.compile(r"(?i)change|history|news|release|contribut|licen|code_of|security")
_COMMENT_LINE: Final = re.compile(
    r"^[ \t]*(?://|/\*|\*|#(?!\[|!|include|define|if|pragma|import)|--|\"\"\"|@(?:module|type)?doc\b)"
)
_TOP: Final = re.compile(
    r"\s*(?:[rR]?(\"{3}|'{3})[\s\S]*?\1|/\*[\s\S]*?\*/"
    r"|(?:[ \t]*(?://|--|#(?!include|define|if|pragma|import|!)).*\n)+)"
)
_HEADING: Final = re.compile(r"#{1,4}\s+(.+?)\s*#*\s*$")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'`*+#])\1{2,}\s*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_MARKUP: Final = re.compile(r"[`*_]|\{.*?\}|\[([^\]]*)\]\([^)]*\)")
_NAME: Final = re.compile(
    r"`{1,2}[~.]?([A-Za-z_][\w.:#]*)(?:\(\))?`{1,2}|\b([A-Z][a-z0-9]+[A-Z]\w+)\b|\b([a-z]+_[a-z_]+)\("
)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A question whose words are taken out of a file: its lines `first` to `last`, none if those are 0 and -1."""

    asked: Asked
    path: str
    first: int = 0
    last: int = -1


def make_questions(git: Path, name: str, folder: Path) -> list[Asked]:
    """Lay the tree of a repository out in a folder, without what is asked; the questions."""
    commit = choose_commit(git)
    paths = lay_out(git, commit, folder)
    texts = {path: (folder / path).read_text("utf-8", "replace").replace("\r\n", "\n") for path in paths}
    taken: dict[str, list[_Taken]] = {kind: [] for kind in PER_KIND}
    declared: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        try:
            document = parse(text.encode(), path=path, limits=LIMITS)
        except OutcropError:
            continue
        if document.kind == "markdown":
            found = _read_headings(path, text)
        elif document.outline is not None and not NO_CODE.search(path) and document.role in ("", "compat"):
            found = _read_code(path, document, name.partition("+")[2])
            for item in document.outline.declarations:
                declared[item.name].add(path)
        else:
            continue
        for one in found:
            taken[one.asked.kind].append(one)
    taken["topic"] = [item for path, text in texts.items() for item in _read_topics(path, text, declared)]
    taken["commit"] = [_Taken(asked, "") for asked in read_commits(git, commit, set(paths))]
    chosen = _choose(taken, random.Random(name))
    _take_out(chosen, texts, folder)
    return [item.asked for item in chosen]


def _choose(taken: Mapping[str, list[_Taken]], draw: random.Random) -> list[_Taken]:
    """As many of each kind as are wanted, no question twice; a topic may be asked as a heading, too."""
    chosen = []
    seen: set[tuple[bool, str]] = set()
    for kind, items in taken.items():
        draw.shuffle(items)
        per_file: Counter[str] = Counter()
        kept = 0
        for item in items:
            key = (kind == "topic", item.asked.text.lower())
            is_full = kind not in ("commit", "topic") and per_file[item.path] >= PER_FILE
            if kept == PER_KIND[kind] or key in seen or is_full:
                continue
            seen.add(key)
            per_file[item.path] += 1
            kept += 1
            chosen.append(item)
    return chosen


def _take_out(chosen: Sequence[_Taken], texts: Mapping[str, str], folder: Path) -> None:
    """Empty the lines that ask."""
    lines_out: dict[str, set[int]] = defaultdict(set)
    for item in chosen:
        if item.last >= item.first:
            lines_out[item.path].update(range(item.first, item.last + 1))
    for path, numbers in lines_out.items():
        lines = texts[path].split("\n")
        for number in numbers:
            lines[number - 1] = ""
        (folder / path).write_text("\n".join(lines), "utf-8")


def _read_code(path: str, document: Document, project: str) -> Iterator[_Taken]:
    """What declarations and the top of a source file can be asked by."""
    text, outline = document.text, document.outline
    assert outline is not None
    yield from _read_top(path, text[: min(outline.header_end or 2000, 5000)])
    for item in outline.declarations:
        if item.kind in SKIPPED_KINDS or "local" in item.kind or not item.name or item.end - item.at < 80:
            continue
        first, last = _line(text, item.at), _line(text, item.end - 1)
        if len(item.name) > 4 and not item.name.startswith("_") and re.search(r"[a-z][A-Z]|_[a-z]", item.name):
            name = f"{item.scope[-1]}.{item.name}" if item.scope and len(item.name) % 3 == 0 else item.name
            yield _Taken(Asked("name", name, ((path, first, last),)), path)
        span = _find_documentation(item, document)
        if span is None:
            continue
        asked, _ = asked_part(text[slice(*span)])
        if not asked or not worth_asking(asked, 5):
            continue
        said = cap(without_name(sentences(asked)[0], item.name))
        lines = _line(text, span[0]), _line(text, span[1] - 1)
        gold = ((path, first, min(last, first + 60) if item.kind in TYPES else last),)
        yield _Taken(Asked("doc", said, gold), path, *lines)
        around = " ".join(re.findall(r"[A-Z]?[a-z]+", item.scope[-1])).lower() if item.scope else ""
        seed = f"{path}{item.at}"
        for rewritten in questions(
            said, language=outline.language, kind=item.kind, around=around, seed=seed, count=1, package=project
        ):
            yield _Taken(Asked("question", rewritten, gold), path, *lines)


def _find_documentation(item: Declaration, document: Document) -> tuple[int, int] | None:
    """Where the documentation of a declaration stands: its comment, or its docstring."""
    text = document.text
    assert document.outline is not None
    if document.outline.language == "python":
        found = DOCSTRING.match(text, item.body, item.end)
        return (found.end() - len(found[0].lstrip()), found.end()) if found else None
    offset, spans = item.start, []
    for line in text[item.start : item.at].splitlines(keepends=True):
        if _COMMENT_LINE.match(line):
            spans.append((offset, offset + len(line.rstrip("\n"))))
        offset += len(line)
    return (spans[0][0], spans[-1][1]) if spans else None


def _read_top(path: str, top: str) -> Iterator[_Taken]:
    """The comment at the top of a file, if it says what the file is for."""
    found = _TOP.match(top)
    if found is None or re.search(r"(?i)copyright|licen[sc]e|all rights", found[0]):
        return
    asked = asked_part(found[0])[0]
    if worth_asking(asked, 4):
        first, last = _line(top, found.end() - len(found[0].lstrip())), _line(top, found.end() - 1)
        yield _Taken(Asked("file", cap(sentences(asked)[0], 40), ((path, 0, 0),)), path, first, last)


def _read_headings(path: str, text: str) -> Iterator[_Taken]:
    for number, heading, end, body in _read_sections(text, underlined=False):
        if len(body) >= MIN_SECTION_CHARS and len(heading.split()) >= 3 and not re.search(r"\d+\.\d", heading):
            yield _Taken(Asked("heading", heading, ((path, number, end),)), path, number, number)


def _read_topics(path: str, text: str, declared: Mapping[str, set[str]]) -> Iterator[_Taken]:
    """Headings of documentation; right are the files that declare most of the names their section speaks of."""
    if not path.endswith((".md", ".rst")) or _NO_GUIDE.search(path):
        return
    for _, heading, _, body in _read_sections(text, underlined=True):
        if not 2 <= len(re.findall(r"[A-Za-z]{2,}", heading)) <= 10 or len(body) < MIN_TOPIC_CHARS:
            continue
        spoken: Counter[str] = Counter()
        for match in _NAME.finditer(body):
            name = re.split(r"\.|::|#", match[1] or match[2] or match[3])[-1]
            files = declared.get(name, ())
            if len(name) > 3 and len(files) == 1:
                spoken.update(files)
        total = spoken.total()
        right = {file: count for file, count in spoken.most_common(3) if count >= max(2, 0.3 * total)}
        if right and sum(right.values()) >= 0.6 * total:
            yield _Taken(Asked("topic", heading, tuple((file, 0, 0) for file in right)), path)


def _read_sections(text: str, *, underlined: bool) -> Iterator[tuple[int, str, int, str]]:
    """Line, heading without markup, last line and body of each section; headings are marked by # or underlined."""
    lines, fenced, marks = text.split("\n"), False, []
    for number, (line, below) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
        fenced ^= _FENCE.match(line) is not None
        if fenced:
            continue
        if match := _HEADING.fullmatch(line):
            marks.append((number, match[1]))
        elif underlined and line[:1].isalnum() and _UNDERLINE.match(below) and len(below) >= len(line.strip()):
            marks.append((number, line))
    ends = [number - 1 for number, _ in marks[1:]] + [len(lines)]
    for (number, words), end in zip(marks, ends, strict=False):
        yield number, _MARKUP.sub(r"\1", words).strip(), end, "\n".join(lines[number:end])


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
