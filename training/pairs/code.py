"""Source files to documents and pairs: documentation, rewritten questions, names, comments inside, file headers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from outcrop.chunk.boilerplate import boilerplate_end
from outcrop.records import Declaration, Document, Outline
from training.pairs.clean import asked_part, cap, plain, sentences, worth_asking
from training.pairs.questions import number, questions, without_name
from training.pairs.records import Doc, Gathered
from training.pairs.split import spoken_name

MAX_CHARS: Final = 1500
"""Of a declaration: about what a chunk of the engine holds."""
MIN_BODY_CHARS: Final = 25
"""A declaration with less than this says nothing to be found by."""
MAX_COMMENTS: Final = 2
"""Comments taken from inside one function."""
MIN_COMMENT_WORDS: Final = 5
BLOCK_LINES: Final = 30

TYPES: Final = frozenset(
    "class struct interface trait enum type protocol module object record union namespace impl extension mixin".split()
)
SKIPPED_KINDS: Final = frozenset("local parameter import variant key field property test".split())
_TEST_SCOPES: Final = frozenset(("tests", "test", "Tests"))
_LINE_COMMENT = re.compile(r"^[ \t]*(//+[!/]?|#+(?![\[!\w])|--+|;+)[ \t]?(.*)$")
_HASH_LANGUAGES: Final = frozenset("python ruby bash elixir make dockerfile hcl php".split())
_DASH_LANGUAGES: Final = frozenset("lua haskell sql".split())
DOCSTRING = re.compile(r"\s*[rRuUbB]{0,2}(\"{3}|'{3}|\"|')([\s\S]*?)\1[ \t]*;?")
_COMMENTS = re.compile(
    r"/\*[\s\S]*?\*/|<!--[\s\S]*?-->|\{-[\s\S]*?-\}|--\[(=*)\[[\s\S]*?\]\1\]|^[ \t]*=begin\b[\s\S]*?^[ \t]*=end\b"
    r"|@(?:module|type)?doc[ \t]+(?:~[sS])?\"{3}[\s\S]*?\"{3}|@(?:module|type)?doc[ "
    r"\t]+(?:~[sS])?\"[^\"\n]*\"|^[ \t]*(?://|--).*$",
    re.MULTILINE,
)
_HASHES = re.compile(r"^[ \t]*#(?!\[|!\[).*$", re.MULTILINE)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declaration of a package that other texts may speak of, and its document."""

    name: str
    scope: str
    path: str
    doc: int


@dataclass(frozen=True, slots=True)
class TestCase:
    """A test with the names it uses, to be matched with what it tests once the whole package is read."""

    words: str
    doc: str
    uses: tuple[str, ...]
    path: str


def split_name(name: str) -> str:
    """`getUserName` as words."""
    return " ".join(_PARTS.findall(name)).lower()


def read_source(
    document: Document, path: str, package: str, out: Gathered
) -> tuple[list[Symbol], list[TestCase]]:
    """Add what a source file gives; what it declares, and its tests."""
    outline = document.outline
    if outline is None or document.role in ("generated", "vendored", "minified", "lock"):
        return [], []
    source = _Source(document, outline, path, package, out)
    tests = source.tests()
    source.header()
    return source.declarations(), tests


class _Source:
    def __init__(self, document: Document, outline: Outline, path: str, package: str, out: Gathered) -> None:
        self._document = document
        self._outline = outline
        self._path = path
        self._package = package
        self._bare = spoken_name(package)
        self._out = out
        self._is_test = document.role == "test"
        self._language = outline.language

    # ---------------------------------------------------------------- declarations

    def declarations(self) -> list[Symbol]:
        """Add every declaration that says something; nobody looks for those of tests."""
        symbols: list[Symbol] = []
        if self._is_test:
            return symbols
        for item in self._outline.declarations:
            if (
                _TEST_SCOPES.intersection(item.scope)
                or item.kind in SKIPPED_KINDS
                or "local" in item.kind
                or not item.name
            ):
                continue
            symbol = self._declaration(item)
            if symbol is not None:
                symbols.append(symbol)
        return symbols

    def _declaration(self, item: Declaration) -> Symbol | None:
        comment, code = self._parted(item)
        asked, rest = asked_part(comment) if comment else ("", "")
        seed = f"{self._package}\0{self._path}\0{item.qualified}"
        if rest and number(seed, "rest") % 2:
            code = (
                f"{code[: MAX_CHARS // 2]}\n{rest[: MAX_CHARS // 3]}"
                if len(code) > MAX_CHARS
                else f"{code}\n{rest}"
            )
        body = self._cut(item, code)
        said_more = len(body) - len(item.signature)
        if len(body.strip()) < MIN_BODY_CHARS or (
            said_more < MIN_BODY_CHARS and item.kind in ("constant", "variable")
        ):
            return None
        doc = self._out.add(
            Doc(self._path, item.at, self._head(item), body, self._language, True, item.qualified)
        )
        is_asked = worth_asking(asked)
        if is_asked:
            self._ask_documentation(item, asked, seed, doc)
        self._ask_name(item, seed, doc, is_asked)
        self._ask_comments(item, seed)
        return Symbol(item.name, ".".join(item.scope), self._path, doc)

    def _head(self, item: Declaration) -> str:
        return " > ".join((PurePosixPath(self._path).name, *item.scope, item.name))

    def _parted(self, item: Declaration) -> tuple[str, str]:
        """The documentation comment of a declaration, and its code without it."""
        text = self._document.text
        lead, own = text[item.start : item.at], text[item.at : item.end]
        comments: list[str] = []

        def take(found: re.Match[str]) -> str:
            comments.append(found[0])
            return ""

        lead = _COMMENTS.sub(take, lead)
        if self._language in _HASH_LANGUAGES:
            lead = _HASHES.sub(take, lead)
        lead = "\n".join(line for line in lead.splitlines() if line.strip())
        if self._language == "python" and item.body < item.end:
            docstring = DOCSTRING.match(text, item.body, item.end)
            if docstring is not None:
                before, after = text[item.at : item.body].rstrip(), text[docstring.end() : item.end]
                return docstring[2], _joined(
                    lead, before + "\n" + after.lstrip("\n") if after.strip() else before
                )
        return "\n".join(comments), _joined(lead, own)

    def _cut(self, item: Declaration, code: str) -> str:
        line = self._document.text.rfind("\n", 0, item.at) + 1
        before = self._document.text[line : item.at]
        code = _dedent(code[: 2 * MAX_CHARS], len(before) - len(before.lstrip()))
        if len(code) <= MAX_CHARS:
            return code.strip()
        if item.kind in TYPES:
            members = [
                other.signature
                for other in self._outline.declarations
                if other.scope == (*item.scope, item.name) and item.at <= other.at < item.end
            ]
            if members:
                start = code[: MAX_CHARS // 3].rpartition("\n")[0]
                listed = "\n".join(f"    {member}" for member in members)
                return f"{start}\n{listed}"[:MAX_CHARS].strip()
        return (code[:MAX_CHARS].rpartition("\n")[0] or code[:MAX_CHARS]).strip()

    def _ask_documentation(self, item: Declaration, asked: str, seed: str, doc: int) -> None:
        said = sentences(asked)
        unnamed = without_name(said[0], item.name)
        if unnamed != said[0] and number(seed, "unnamed") % 3:
            asked = unnamed + asked[len(said[0]) :]
            said[0] = unnamed
        query = cap(asked) if number(seed, "length") % 3 == 0 else cap(said[0])
        self._out.ask(query, doc, "doc")
        around = split_name(item.scope[-1]) if item.scope else ""
        count = 2 if self._language == "python" else 1
        for question in questions(
            unnamed,
            language=self._language,
            kind=item.kind,
            around=around,
            seed=seed,
            count=count,
            package=self._bare,
        ):
            self._out.ask(question, doc, "question")

    def _ask_name(self, item: Declaration, seed: str, doc: int, is_asked: bool) -> None:
        words = split_name(item.name)
        is_constructor = bool(item.scope) and item.scope[-1] == item.name
        if item.name.startswith("__") or len(item.name) < 4 or is_constructor or self._language == "css":
            return
        roll = number(seed, "name")
        if roll % (4 if is_asked else 2):
            return
        stem = PurePosixPath(self._path).stem
        several = len(words.split()) > 1
        outer = item.scope[-1] if item.scope else stem if stem != item.name else self._bare
        choices = [f"{outer}.{item.name}"]
        if several:
            choices += [item.name, words, words, f"where is {item.name} defined", f"what does {item.name} do"]
            choices += [
                f"{words} {split_name(item.scope[-1])}" if item.scope else f"{words} {split_name(stem)}"
            ]
        self._out.ask(choices[(roll >> 8) % len(choices)], doc, "name")

    # ---------------------------------------------------------------- comments inside

    def _ask_comments(self, item: Declaration, seed: str) -> None:
        if item.kind in TYPES or item.end - item.body < MAX_CHARS // 8:
            return
        lines = self._document.text[item.body : min(item.end, item.body + 20_000)].split("\n")
        blocks = list(self._blocks(lines))
        blocks.sort(key=lambda block: number(seed, block[0]))
        for comment, block, at in blocks[:MAX_COMMENTS]:
            text = f"{item.signature}\n{_dedent(block, len(block) - len(block.lstrip()))}"[:MAX_CHARS]
            doc = self._out.add(
                Doc(self._path, item.body + at, self._head(item), text, self._language, True, item.qualified)
            )
            self._out.ask(cap(comment, 25), doc, "comment")

    def _blocks(self, lines: Sequence[str]) -> list[tuple[str, str, int]]:
        found, number_, at = [], 0, 0
        offsets = []
        for line in lines:
            offsets.append(at)
            at += len(line) + 1
        while number_ < len(lines):
            first = number_
            comment = []
            while number_ < len(lines) and (said := self._comment_line(lines[number_])) is not None:
                comment.append(said)
                number_ += 1
            if not comment:
                number_ += 1
                continue
            block: list[str] = []
            indent = len(lines[first]) - len(lines[first].lstrip())
            while number_ < len(lines) and len(block) < BLOCK_LINES:
                line = lines[number_]
                is_out = line.strip() and len(line) - len(line.lstrip()) < indent and len(block) > 0
                if not line.strip() or is_out or self._comment_line(line) is not None:
                    break
                block.append(line)
                number_ += 1
            words = plain(" ".join(comment))
            if len(block) > 1 and len("".join(block)) > 60 and worth_asking(words, MIN_COMMENT_WORDS):
                found.append((words, "\n".join(block), offsets[first]))
        return found

    def _comment_line(self, line: str) -> str | None:
        found = _LINE_COMMENT.match(line)
        if found is None:
            return None
        mark = found[1][0]
        if (mark == "#") != (self._language in _HASH_LANGUAGES) and not (
            self._language == "php" and mark == "/"
        ):
            return None
        if (mark == "-") != (self._language in _DASH_LANGUAGES) or mark == ";":
            return None
        return found[2]

    # ---------------------------------------------------------------- headers and tests

    def header(self) -> None:
        """The words at the top of a file ask for the file: its first declarations."""
        text = self._document.text
        top = text[: min(self._outline.header_end or 3000, 6000)]
        top = top[boilerplate_end(top, self._language) :]
        if self._is_test or not top.strip():
            return
        if self._language == "python":
            found = DOCSTRING.match(re.sub(r"^(?:#.*\n|\s)+", "", top))
            comment = found[2] if found is not None else ""
        else:
            found = re.match(
                r"\s*(?:/\*[\s\S]*?\*/|(?:[ \t]*(?://|--|#(?!include|define|if|pragma|import)).*\n)+)", top
            )
            comment = found[0] if found is not None else ""
        asked = asked_part(comment)[0] if comment else ""
        signatures = [
            item.signature
            for item in self._outline.declarations
            if "local" not in item.kind and not item.name.startswith("__")
        ]
        if not worth_asking(asked, 4) or not signatures:
            return
        body = "\n".join(dict.fromkeys(signatures))[:MAX_CHARS]
        doc = self._out.add(
            Doc(
                self._path,
                0,
                PurePosixPath(self._path).name,
                body,
                self._language,
                True,
                PurePosixPath(self._path).stem,
            )
        )
        self._out.ask(cap(asked, 40), doc, "path")

    def tests(self) -> list[TestCase]:
        """The tests of a file, by their names in words."""
        references = self._outline.references
        starts = [reference.start for reference in references]
        cases = []
        for item in self._outline.declarations:
            words = _test_words(item)
            if not words:
                continue
            low, high = bisect_left(starts, item.body), bisect_left(starts, item.end)
            uses = tuple(
                dict.fromkeys(r.name for r in references[low:high] if r.kind in ("call", "use", "type"))
            )
            docs = asked_part(self._parted(item)[0])[0]
            cases.append(TestCase(words, docs if worth_asking(docs) else "", uses, self._path))
        return cases


def _test_words(item: Declaration) -> str:
    if item.kind == "test":
        return item.name if len(item.name.split()) >= 3 else ""
    words = split_name(item.name).split()
    if len(words) >= 4 and words[0] in ("test", "should"):
        return " ".join(words[1:] if words[0] == "test" else words)
    return ""


def _joined(lead: str, own: str) -> str:
    """What stands before a declaration, on its line where it is a word such as `export`."""
    if not lead:
        return own
    is_word = "\n" not in lead and lead[0].isalpha() and len(lead) < 20
    return f"{lead.strip()} {own}" if is_word else f"{lead}\n{own}"


def _dedent(code: str, indent: int) -> str:
    """The lines of a declaration moved left by what its first line was moved right."""
    margin = re.compile(rf"^[ \t]{{0,{indent}}}", re.MULTILINE)
    return (margin.sub("", code) if indent else code).strip()
