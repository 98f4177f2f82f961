"""One package to its documents and pairs: choose its files, read each, then join what speaks of one another."""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document
from training.pairs.code import Symbol, TestCase, read_source
from training.pairs.links import CHANGELOG, Symbols, link_changelog, link_tests, link_usage
from training.pairs.man import MAN_NAME, is_man_page, read_man
from training.pairs.prose import read_prose
from training.pairs.questions import number
from training.pairs.records import Gathered, Pair

log = logging.getLogger(__name__)

MAX_PAIRS: Final = 3000
"""Of one package: a huge one teaches its own words and little else."""
MAX_FILE_BYTES: Final = 400_000
MAX_BYTES: Final = (200_000, 320_000, 100_000)
"""Prose, source code and tests read of one package, files chosen by hash: many packages teach more than much of one,
and a megabyte takes 1.5 s of CPU."""
THIN_DISCOUNT: Final = 4
RARE_DISCOUNT: Final = 24
"""Source code in a language that few packages have counts only so little of what may be read, and in one that hardly
any has even less."""
MAX_RARE_PAIRS: Final = 9000
"""Of one package in those languages: the registries hold four packages of Scala and five of Elixir."""
RARE_LANGUAGES: Final = frozenset("scala elixir zig c_sharp kotlin swift lua bash sql hcl".split())
MAX_HTML: Final = 40
"""Files of one package that need the slow reader."""
LIMITS: Final = ParseLimits(timeout_s=20, memory_bytes=1 << 30)

_PROSE: Final = frozenset("markdown rst html text".split())
_PROSE_NAME = re.compile(
    r"\.(?:md|markdown|mdx|mkd|rst|rest|txt|html?|xhtml)$|(?:^|/)(?:README|FAQ|INSTALL|HACKING)[^/.]*$",
    re.IGNORECASE,
)
_CODE_NAME = re.compile(
    r"\.(?:pyi?|m?js|cjs|jsx|m?ts|cts|tsx|vue|svelte|go|rs|java|[ch]|cc|cpp|cxx|hh|hpp|hxx|ipp|cu|cs|kts?"
    r"|scala|sc|rb|rake|php|inc|swift"
    r"|lua|exs?|hs|zig|sh|bash|zsh|sql|css|mk|tf|hcl|dockerfile)$|(?:^|/)(?:Makefile|Dockerfile|Rakefile)[^/]*$",
    re.IGNORECASE,
)
_SKIPPED_NAME = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third[-_]?party|\.git|_vendor|locale|i18n|translations)/|\.min\.(?:js"
    r"|css)$|(?:^|/)(?:licen[cs]e|copying"
    r"|authors|requirements)[^/]*$|\.egg-info/|(?:^|/)(?:dist|esm|cjs|umd)/.*\.(?:js|mjs|cjs)$|\.d\.ts$|(?:^"
    r"|/)debian/changelog",
    re.IGNORECASE,
)
_PLENTIFUL_NAME = re.compile(r"\.(?:pyi?|m?js|cjs|jsx|m?ts|cts|tsx|html?)$", re.IGNORECASE)
_RARE_NAME = re.compile(r"\.(?:scala|sc|exs?|zig|cs|kts?|swift|lua|sh|bash|zsh|sql|tf|hcl)$", re.IGNORECASE)
_DOCUMENTED = re.compile(rb"\"\"\"|'''|/\*\*|<!DOCTYPE|<html", re.IGNORECASE)
"""Where there are plenty of files, those without a documentation comment are not worth parsing."""
_TEST_NAME = re.compile(r"(?:^|/)tests?/|test_|_test\.|\.test\.|\.spec\.|Test\.", re.IGNORECASE)
_PLENTY: Final = frozenset("doc question name comment section".split())
"""Kinds of which every package has plenty; of the others each one counts."""


def files_of(folder: Path) -> list[tuple[Path, str]]:
    """The files of a package worth reading, in a fixed order, with their paths as they were packed."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        relative = path.relative_to(folder).as_posix().removesuffix(".gz")
        is_wanted = _PROSE_NAME.search(relative) or _CODE_NAME.search(relative) or MAN_NAME.search(relative)
        if (is_wanted or CHANGELOG.search(relative)) and not _SKIPPED_NAME.search(relative):
            found.append((path, relative))
    return found


def read_bytes(path: Path) -> bytes:
    """A file's content, unpacked where it was packed."""
    data = path.read_bytes()
    if path.suffix == ".gz" or data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return data


def _chosen(folder: Path, package: str) -> Iterator[tuple[str, bytes]]:
    """Files up to the limit, prose first, then by hash; tests last."""

    def rank(item: tuple[Path, str]) -> tuple[int, int]:
        group = (
            0
            if _PROSE_NAME.search(item[1]) or MAN_NAME.search(item[1])
            else 2
            if _TEST_NAME.search(item[1])
            else 1
        )
        return group, number(item[1], package)

    chosen: dict[str, bytes] = {}
    budgets = list(MAX_BYTES)
    html = 0
    for item in sorted(files_of(folder), key=rank):
        group = rank(item)[0]
        if budgets[group] <= 0:
            continue
        is_html = item[1].endswith(("html", "htm"))
        html += is_html
        if is_html and html > MAX_HTML:
            continue
        try:
            data = read_bytes(item[0])
        except (OSError, EOFError, zlib.error) as error:
            log.warning("unreadable", extra={"path": str(item[0]), "reason": str(error)})
            continue
        if group == 1 and _PLENTIFUL_NAME.search(item[1]) and not _DOCUMENTED.search(data):
            continue
        if 40 <= len(data) <= MAX_FILE_BYTES:
            budgets[group] -= len(data) // (_discount(item[1]) if group == 1 else 1)
            chosen[item[1]] = data
    yield from sorted(chosen.items())


def _discount(path: str) -> int:
    if _PLENTIFUL_NAME.search(path):
        return 1
    return RARE_DISCOUNT if _RARE_NAME.search(path) else THIN_DISCOUNT


def read_package(folder: Path, package: str, dropped: Set[str] = frozenset()) -> Gathered:
    """All that a package gives, less the files named in `dropped`, at most MAX_PAIRS pairs."""
    out = Gathered()
    symbols: list[Symbol] = []
    tests: list[TestCase] = []
    changelogs: list[str] = []
    manuals: list[str] = []
    for path, data in _chosen(folder, package):
        if path in dropped:
            continue
        try:
            document = parse(data, path=path, limits=LIMITS)
        except ParseError:
            continue  # minified, binary or broken: the collection holds enough others
        if MAN_NAME.search(path) and is_man_page(path, document.text):
            read_man(document.text, path, out)
        elif document.outline is not None and document.outline.language:
            declared, cases = read_source(document, path, package, out)
            symbols += declared
            tests += cases
        elif CHANGELOG.search(path):
            changelogs.append(document.text)
        elif document.kind in _PROSE or _PROSE_NAME.search(path):
            _read_manual(document, path, package, manuals, out)
    known = Symbols(symbols)
    for text in changelogs:
        link_changelog(text, known, out)
    link_tests(tests, known, out)
    for text in manuals:
        link_usage(text, known, out)
    return _capped(out, package)


def _read_manual(document: Document, path: str, package: str, manuals: list[str], out: Gathered) -> None:
    if document.kind not in _PROSE or (document.kind == "text" and not _PROSE_NAME.search(path)):
        return
    read_prose(document, path, package, out)
    manuals.append(document.text)


def _capped(out: Gathered, package: str) -> Gathered:
    """At most MAX_PAIRS, rare kinds first, evenly over the package otherwise; documents that nobody asks for go."""
    distinct = list(dict.fromkeys(out.pairs))
    rare = [pair for pair in distinct if out.docs[pair.doc].lang in RARE_LANGUAGES]
    others = [pair for pair in distinct if out.docs[pair.doc].lang not in RARE_LANGUAGES]
    pairs = _sampled(rare, MAX_RARE_PAIRS, package) + _sampled(others, MAX_PAIRS, package)
    order = sorted({pair.doc for pair in pairs}, key=lambda doc: (out.docs[doc].path, out.docs[doc].at, doc))
    number_of = {old: new for new, old in enumerate(order)}
    result = Gathered(docs=[out.docs[old] for old in order])
    result.pairs = sorted(
        (Pair(pair.q, number_of[pair.doc], pair.kind) for pair in pairs),
        key=lambda pair: (pair.doc, pair.kind, pair.q),
    )
    return result


def _sampled(pairs: list[Pair], most: int, package: str) -> list[Pair]:
    if len(pairs) <= most:
        return pairs
    kinds = Counter(pair.kind for pair in pairs)

    def rank(pair: Pair) -> tuple[bool, int]:
        is_kept = pair.kind not in _PLENTY and kinds[pair.kind] <= most // 8
        return not is_kept, number(f"{pair.doc if pair.kind in ('doc', 'question') else pair.q}", package)

    return sorted(pairs, key=rank)[:most]
