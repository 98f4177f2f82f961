"""Texts that speak of a declaration elsewhere in the package: changelog entries, tests, examples in documentation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from training.pairs.clean import cap, plain, sentences, worth_asking
from training.pairs.code import Symbol, TestCase, split_name
from training.pairs.questions import number
from training.pairs.records import Gathered

CHANGELOG: Final = re.compile(
    r"(?:^|/)(?:changelog|changes|history|news|release[-_ ]?notes?|whatsnew)[^/]*$", re.IGNORECASE
)
MAX_SAME_NAME: Final = 2
"""Declarations of one name (a method and its override) beyond which a name points nowhere."""
MIN_NAME_CHARS: Final = 5
MAX_ENTRIES: Final = 300
MAX_FROM_TESTS: Final = 3
"""Tests that ask for one function."""

_ENTRY = re.compile(
    r"^[ \t]*(?:[-*+•o]|\d+[.)])[ \t]+(.+(?:\n(?![ \t]*(?:[-*+•o]|\d+[.)])[ \t])(?![ \t]*\n)[ \t]+.+)*)",
    re.MULTILINE,
)
_ISSUE = re.compile(
    r":(?:issue|pr|user|ghissue|gh|pull|bug|commit|ticket)s?:`[^`]*`|\s*--? by .*$|\(\s*[,\s\[\]]*\)|"
    r"\s*\(?(?:#|gh-|pr\s?#?|issue\s?#?|bpo-|closes?\s#?|fix(?:es)?\s#)\d+\)?[,.]?|\s*\(?(?:thanks|by"
    r"|via)\s+(?:to\s+)?@?[\w -]+\)?\.?$|@[\w-]+"
    r"|\(\[?[0-9a-f]{7,40}\]?[^)]*\)|\[[0-9a-f]{7,40}\]|\bcommit [0-9a-f]{6,}|^\[?\w+\]?(?:\([\w-]+\))?:\s(?=\w)",
    re.IGNORECASE,
)
_LEFTOVER = re.compile(
    r"\s*\(\s*(?:by|thanks|via|in|see)?[,\s\[\].@]*\)|\s*\[\s*\]|\s+(?:in|by|see|via)\s*\.?$"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|::|#)[A-Za-z_]\w*)*")
_FENCED = re.compile(r"^(?:```|~~~)[ \t]*[\w+#-]*[^\n]*\n([\s\S]*?)^(?:```|~~~)", re.MULTILINE)
_INDENTED = re.compile(r"::[ \t]*\n[ \t]*\n((?:(?:[ ]{2,}|\t)[^\n]*\n|[ \t]*\n){1,30})")
_CALLED = re.compile(r"([A-Za-z_]\w*)(?=\s*[(<{!])|\.([A-Za-z_]\w*)")
_POINTS = re.compile(
    r"look(?:s)? like|like (?:so|this)|as follows|\bbelow\b|\babove\b|^(?:then|now|here|this|these|next"
    r"|finally|output)\b",
    re.IGNORECASE,
)
_TEST_FILE = re.compile(r"(?:^test_?|[._-]?(?:test|spec|tests)$)", re.IGNORECASE)
_RELEASED = re.compile(
    r"^(?:bump|release|version|update dep|upgrade|merge|drop support|add support for python)\b", re.IGNORECASE
)


class Symbols:
    """The declarations of a package by name."""

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        by_name: dict[str, list[Symbol]] = defaultdict(list)
        for symbol in symbols:
            if len(symbol.name) >= MIN_NAME_CHARS:
                by_name[symbol.name].append(symbol)
        self._by_name: Mapping[str, list[Symbol]] = by_name

    def find(self, name: str) -> Symbol | None:
        """The declaration a name means, where it means one: `pool.acquire` needs only be unique as `acquire`."""
        scope, _, last = re.sub(r"::|#", ".", name).rpartition(".")
        found = self._by_name.get(last, [])
        if scope:
            inner = scope.rpartition(".")[2]
            exact = [
                item
                for item in found
                if item.scope.rpartition(".")[2] == inner or PurePosixPath(item.path).stem == inner
            ]
            found = exact if exact or inner[:1].isupper() else found
        return found[0] if len(found) == 1 else None


def link_changelog(text: str, symbols: Symbols, out: Gathered) -> None:
    """An entry that names one declaration asks for it."""
    for found in list(_ENTRY.finditer(text))[:MAX_ENTRIES]:
        raw = " ".join(found[1].split())
        entry = plain(_ISSUE.sub("", raw))
        if not worth_asking(entry, 4) or _RELEASED.match(entry) or len(entry) > 300:
            continue
        first = next((name for name in _IDENTIFIER.findall(raw) if _is_telling(name, raw)), "")
        symbol = symbols.find(first) if first else None
        if symbol is not None:
            out.ask(cap(_LEFTOVER.sub("", entry), 40), symbol.doc, "changelog")


def _is_telling(name: str, raw: str) -> bool:
    """A word that is no plain English: marked as code, or written as only identifiers are."""
    last = re.split(r"\.|::|#", name)[-1]
    return (
        f"`{name}" in raw or f"{name}(" in raw or "_" in last.strip("_") or bool(re.search(r"[a-z][A-Z]", last))
    )


def link_tests(cases: Sequence[TestCase], symbols: Symbols, out: Gathered) -> None:
    """The name of a test asks for the declaration that it uses and is named after."""
    asked: dict[int, int] = defaultdict(int)
    for case in cases:
        words = set(case.words.lower().split())
        stem = split_name(_TEST_FILE.sub("", PurePosixPath(case.path).stem.split(".")[0])).split()
        scored = []
        for name in case.uses:
            symbol = symbols.find(name)
            if symbol is None:
                continue
            parts = split_name(name).split()
            in_test = sum(part in words or part + "s" in words for part in parts)
            in_file = sum(part in stem for part in parts) / 2
            is_named = in_test >= 0.7 * len(parts) or (in_file and in_test + in_file >= len(parts))
            if (
                parts
                and is_named
                and len(words.difference(parts)) > 1
                and not name.endswith(("Error", "Exception"))
            ):
                scored.append((in_test + in_file, symbol))
        scored.sort(key=lambda item: -item[0])
        if (
            not scored
            or (len(scored) > 1 and scored[0][0] == scored[1][0])
            or asked[scored[0][1].doc] >= MAX_FROM_TESTS
        ):
            continue
        doc = scored[0][1].doc
        query = case.doc if case.doc and number(case.words, "testdoc") % 2 else case.words
        if worth_asking(query, 3):
            asked[doc] += 1
            out.ask(cap(query, 30), doc, "test")


def link_usage(text: str, symbols: Symbols, out: Gathered) -> None:
    """The sentence before an example asks for what the example calls."""
    blocks = [(found.start(), found[1]) for found in _FENCED.finditer(text)]
    blocks += [(found.start() + 1, found[1]) for found in _INDENTED.finditer(text)]
    for start, code in sorted(blocks)[:200]:
        before = text[max(0, start - 600) : start].rstrip().rsplit("\n\n", 1)[-1]
        if before.lstrip().startswith(("#", "```", "|", ".. ", "=", "-")):
            continue
        said = sentences(plain(before))
        query = said[-1].rstrip(":") if said else ""
        if not worth_asking(query, 5) or len(query) > 300:
            continue
        called = [first or second for first, second in _CALLED.findall(code[:1500])]
        targets = {symbol.doc: symbol for name in called if (symbol := symbols.find(name)) is not None}
        targets = _named_in(query, targets)
        if targets and not _POINTS.search(query):
            out.ask(cap(query, 40), next(iter(targets)), "usage")


def _named_in(query: str, targets: Mapping[int, Symbol]) -> dict[int, Symbol]:
    """The one whose name the sentence says most of, at least a word."""
    words = {word[:5] for word in re.findall(r"[a-z0-9]+", query.lower())}
    shares = {}
    for doc, symbol in targets.items():
        parts = [part for part in split_name(symbol.name).split() if len(part) > 2]
        shares[doc] = sum(part[:5] in words for part in parts) / max(1, len(parts))
    best = sorted(shares, key=lambda doc: -shares[doc])
    if not best or shares[best[0]] < 0.5 or (len(best) > 1 and shares[best[0]] == shares[best[1]]):
        return {}
    return {best[0]: targets[best[0]]}
