"""Questions whose answers are known, from public repositories that no benchmark judges.

A tree is laid out as it was before its newest commits. Their subjects then ask for the files that they changed, and
words taken out of the tree ask for what they stood at: documentation for its declaration, the comment at the top of a
file for the file, a heading for its section, a name for where it is declared. What is asked is no longer in the tree;
lines keep their numbers.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from outcrop.errors import OutcropError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Declaration, Document
from training.pairs.clean import asked_part, cap, sentences, worth_asking
from training.pairs.code import _DOCSTRING, _SKIPPED_KINDS, TYPES
from training.pairs.questions import questions, without_name

HELD_BACK: Final = 500
"""Commits after the one whose tree is asked, or a third of all."""
MAX_CHANGED: Final = 4
MAX_FILE_BYTES: Final = 400_000
MAX_FILES: Final = 3_000
PER_KIND: Final = {"doc": 30, "question": 30, "file": 20, "name": 25, "heading": 30, "commit": 60}
"""Questions of one repository."""
_NO_CODE: Final = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|testdata|testing|docs?|examples?|changelog\w*|\.github)/|(^|/)(changelog|changes|history|news|readme)"
    r"|(_test|_spec|\.test|\.spec|Tests?)\.\w+$|(^|/)test_[^/]*$|\.(md|rst|txt|adoc|lock|png|svg|json|ya?ml|toml|cfg|ini)$"
)
_NO_REQUEST: Final = re.compile(
    r"(?i)^(?:merge|revert|bump|release|prepare|version|v?\d+\.\d|update (?:dependenc|changelog|readme|copyright)|"
    r"\[?(?:ci|docs?|chore|build|test|style|release)\b)|\b(?:typo|changelog|copyright|lint|rubocop|formatting)\b"
)
_LABEL: Final = re.compile(
    r"^(?:[a-z]+(?:\([^)]*\))?!?:|\[[^\]]*\])\s*|\s*\(?(?:(?:fix(?:es)?|close[sd]?|refs?) )?#\d+\)?"
)
_COMMENT_LINE: Final = re.compile(
    r"^[ \t]*(?://|/\*|\*|#(?!\[|!|include|define|if|pragma|import)|--|\"\"\"|@(?:module|type)?doc\b)"
)
_HEADING: Final = re.compile(r"#{1,4}\s+(.+?)\s*#*\s*$")
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
MIN_SECTION_CHARS: Final = 200
LIMITS: Final = ParseLimits(30.0, 1_000_000_000)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its answers: (path, first line, last line); lines 0 to 0 stand for the whole file."""

    kind: str
    text: str
    gold: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A question whose words are taken out of a file: its lines `first` to `last`."""

    asked: Asked
    path: str
    first: int
    last: int


def run_git(git: Path, *arguments: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", "--git-dir", str(git), *arguments], check=True, capture_output=True).stdout


def choose_commit(git: Path) -> str:
    """The commit whose tree is asked: far enough back that later ones ask for enough."""
    count = int(run_git(git, "rev-list", "--count", "--first-parent", "HEAD"))
    back = min(HELD_BACK, count // 3)
    return run_git(git, "rev-list", "--first-parent", f"--skip={back}", "-1", "HEAD").decode().strip()


def lay_out(git: Path, commit: str, folder: Path) -> list[str]:
    """Write the text files of a commit; their paths."""
    listing = run_git(git, "ls-tree", "-r", "-z", "-l", commit).decode("utf-8", "surrogateescape")
    paths = []
    wanted = []
    for entry in filter(None, listing.split("\0")):
        meta, _, path = entry.partition("\t")
        mode, kind, blob, size = meta.split()
        if (
            mode.startswith("100")
            and kind == "blob"
            and size.isdigit()
            and int(size) <= MAX_FILE_BYTES
            and path.isprintable()
        ):
            wanted.append((blob, path))
    random.Random(1).shuffle(wanted)
    wanted = wanted[:MAX_FILES]
    process = subprocess.run(
        ["git", "--git-dir", str(git), "cat-file", "--batch"],
        input="".join(f"{blob}\n" for blob, _ in wanted).encode(),
        capture_output=True,
        check=True,
    )
    data, at = process.stdout, 0
    for _, path in wanted:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        content = data[end + 1 : end + 1 + size]
        at = end + size + 2
        if b"\0" in content[:4000]:
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        paths.append(path)
    return sorted(paths)


def read_commits(git: Path, commit: str, there: set[str]) -> Iterator[Asked]:
    """Subjects of later commits that changed few source files, all of which were there."""
    log = run_git(
        git, "log", "--no-merges", "--no-renames", "--name-only", "--format=%x01%s", f"{commit}..HEAD"
    )
    for entry in log.decode("utf-8", "replace").split("\x01")[1:]:
        subject, *names = [line for line in entry.strip().splitlines() if line.strip()] or [""]
        source = [name for name in names if not _NO_CODE.search(name)]
        text = _LABEL.sub("", subject).strip()
        if _NO_REQUEST.search(text) or len(text.split()) < 3 or not 0 < len(source) <= MAX_CHANGED:
            continue
        if all(name in there for name in source):
            yield Asked("commit", text, tuple((name, 0, 0) for name in source))


def read_file_questions(path: str, text: str, project: str) -> Iterator[_Taken]:
    """All that a file could be asked for."""
    try:
        document = parse(text.encode(), path=path, limits=LIMITS)
    except OutcropError:
        return
    if document.kind == "markdown":
        yield from _headings(path, text)
    elif document.outline is not None and not _NO_CODE.search(path) and document.role in ("", "compat"):
        yield from _code(path, document, project)


def _code(path: str, document: Document, project: str) -> Iterator[_Taken]:
    text, outline = document.text, document.outline
    assert outline is not None
    top = text[: min(outline.header_end or 2000, 5000)]
    yield from _top(path, top)
    for item in outline.declarations:
        if item.kind in _SKIPPED_KINDS or "local" in item.kind or not item.name or item.end - item.at < 80:
            continue
        first, last = _line(text, item.at), _line(text, item.end - 1)
        gold = ((path, first, last),)
        if len(item.name) > 4 and not item.name.startswith("_") and re.search(r"[a-z][A-Z]|_[a-z]", item.name):
            name = f"{item.scope[-1]}.{item.name}" if item.scope and len(item.name) % 3 == 0 else item.name
            yield _Taken(Asked("name", name, gold), path, 0, -1)
        span = _documentation(item, document)
        if span is None:
            continue
        start, end = span
        asked, _ = asked_part(text[start:end])
        if not asked or not worth_asking(asked, 5):
            continue
        said = cap(without_name(sentences(asked)[0], item.name))
        lines = _line(text, start), _line(text, end - 1)
        if item.kind in TYPES:
            gold = ((path, first, min(last, first + 60)),)
        yield _Taken(Asked("doc", said, gold), path, *lines)
        around = " ".join(re.findall(r"[A-Z]?[a-z]+", item.scope[-1])).lower() if item.scope else ""
        for rewritten in questions(
            said,
            language=outline.language,
            kind=item.kind,
            around=around,
            seed=f"{path}{item.at}",
            count=1,
            package=project,
        ):
            yield _Taken(Asked("question", rewritten, gold), path, *lines)


def _documentation(item: Declaration, document: Document) -> tuple[int, int] | None:
    """Where the documentation of a declaration stands: its comment, or its docstring."""
    text = document.text
    assert document.outline is not None
    if document.outline.language == "python":
        found = _DOCSTRING.match(text, item.body, item.end)
        return (found.start() + len(found[0]) - len(found[0].lstrip()), found.end()) if found else None
    lead = text[item.start : item.at]
    offset, spans = item.start, []
    for line in lead.splitlines(keepends=True):
        if _COMMENT_LINE.match(line):
            spans.append((offset, offset + len(line.rstrip("\n"))))
        offset += len(line)
    return (spans[0][0], spans[-1][1]) if spans else None


def _top(path: str, top: str) -> Iterator[_Taken]:
    """The comment at the top of a file, if it says what the file is for."""
    found = re.match(
        r"\s*(?:[rR]?(\"{3}|'{3})[\s\S]*?\1|/\*[\s\S]*?\*/|(?:[ \t]*(?://|--|#(?!include|define|if|pragma|import|!)).*\n)+)",
        top,
    )
    if found is None:
        return
    asked = asked_part(found[0])[0]
    if worth_asking(asked, 4) and not re.search(r"(?i)copyright|licen[sc]e|all rights", found[0]):
        yield _Taken(
            Asked("file", cap(sentences(asked)[0], 40), ((path, 0, 0),)),
            path,
            _line(top, found.start() + len(found[0]) - len(found[0].lstrip())),
            _line(top, found.end() - 1),
        )


def _headings(path: str, text: str) -> Iterator[_Taken]:
    lines, fenced = text.split("\n"), False
    marks = []
    for number, line in enumerate(lines, 1):
        fenced ^= _FENCE.match(line) is not None
        if not fenced and (match := _HEADING.fullmatch(line)):
            marks.append((number, match[1]))
    for place, (number, words) in enumerate(marks):
        end = marks[place + 1][0] - 1 if place + 1 < len(marks) else len(lines)
        body = "\n".join(lines[number:end])
        plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", words)
        if len(body) >= MIN_SECTION_CHARS and len(plain.split()) >= 3 and not re.search(r"\d+\.\d", plain):
            yield _Taken(Asked("heading", plain, ((path, number, end),)), path, number, number)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def make(git: Path, name: str, folder: Path) -> list[Asked]:
    """Lay the tree of a repository out in a folder, without what is asked; the questions."""
    commit = choose_commit(git)
    paths = lay_out(git, commit, folder)
    draw = random.Random(name)
    taken: dict[str, list[_Taken]] = {kind: [] for kind in PER_KIND}
    texts = {}
    for path in paths:
        text = (folder / path).read_text("utf-8", "replace").replace("\r\n", "\n")
        texts[path] = text
        for item in read_file_questions(path, text, name.partition("+")[2]):
            taken[item.asked.kind].append(item)
    asked: list[Asked] = []
    lines_out: dict[str, set[int]] = {}
    seen: set[str] = set()
    for kind, items in taken.items():
        draw.shuffle(items)
        kept = 0
        per_file: dict[str, int] = {}
        for item in items:
            if kept >= PER_KIND[kind]:
                break
            if item.asked.text.lower() in seen or per_file.get(item.path, 0) >= 3:
                continue
            seen.add(item.asked.text.lower())
            per_file[item.path] = per_file.get(item.path, 0) + 1
            kept += 1
            asked.append(item.asked)
            lines_out.setdefault(item.path, set()).update(range(item.first, item.last + 1))
    for path, numbers in lines_out.items():
        if numbers:
            lines = texts[path].split("\n")
            for number in numbers:
                lines[number - 1] = ""
            (folder / path).write_text("\n".join(lines), "utf-8")
    commits = list(read_commits(git, commit, set(paths)))
    draw.shuffle(commits)
    return asked + commits[: PER_KIND["commit"]]


def keep(asked: list[Asked], path: Path) -> None:
    """Write questions, one a line."""
    path.write_text("".join(json.dumps(asdict(item)) + "\n" for item in asked), "utf-8")
