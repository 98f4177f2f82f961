"""What a file is for, judged by its path and first lines.

Ranking demotes files with a role, so a wrong one hides what somebody looks for while a missing one costs little: where
a name is ambiguous the file has no role. The tables are plain words, compared in lower case.
"""

from __future__ import annotations

import re
from typing import Final

from outcrop.records import Role

PRECEDENCE: Final[tuple[Role, ...]] = (
    "vendored",  # somebody else's test is vendored first of all
    "generated",  # a snapshot in a test folder
    "test",
    "benchmark",
    "example",  # docs/examples counts as examples
    "changelog",
    "docs",
    "compat",
)
"""The order of precedence where folders and name suggest several roles."""

FOLDERS: Final[dict[str, Role]] = {
    **dict.fromkeys(
        "tests test __tests__ __test__ unittests unit_tests unit-tests integration_tests integration-tests "
        "functional_tests functional-tests e2e testdata test_data test-data testutil testutils testsuite "
        "fixtures __fixtures__ mocks __mocks__ cypress".split(),
        "test",
    ),
    "benches": "benchmark",
    # Forms that reports are written in.
    **dict.fromkeys(("issue_template", "pull_request_template"), "example"),
    **dict.fromkeys(
        "_vendor _vendored vendored third_party third-party thirdparty 3rdparty 3rd_party node_modules "
        "bower_components".split(),
        "vendored",
    ),
    **dict.fromkeys("generated __generated__ _generated __snapshots__".split(), "generated"),
    **dict.fromkeys(
        "compat _compat compatibility legacy deprecated polyfill polyfills shims backports".split(), "compat"
    ),
}
"""Folders with the same meaning everywhere. Not listed: `testing` (often a library's support for its users' tests),
`deps`, `gen`, `dist` and `shim`, which are as often the product itself."""

OUTER_FOLDERS: Final[dict[str, Role]] = {
    # `spec` below src may read specifications, `benchmark` there may measure for the user.
    **dict.fromkeys("spec specs".split(), "test"),
    **dict.fromkeys("bench benchmark benchmarks".split(), "benchmark"),
    # `com/example` is the package of every Java tutorial and of many products; samples below src may be of sound.
    **dict.fromkeys(
        "example examples _example _examples sample samples demo demos cookbook cookbooks tutorial tutorials "
        "playground playgrounds".split(),
        "example",
    ),
    **dict.fromkeys("docs doc docs_src documentation website".split(), "docs"),
    **dict.fromkeys("vendor vendors external externals".split(), "vendored"),  # `vendor` may sell in a shop
}
"""Folders that mean this only outside source folders."""

SOURCE_FOLDERS: Final = frozenset("src source sources lib app apps pkg internal cmd main java kotlin".split())
"""Below one of these, the names in OUTER_FOLDERS are the product's own words."""

LOCK_NAMES: Final = frozenset(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml bun.lockb go.sum go.work.sum package.resolved "
    "cartfile.resolved packages.lock.json gradle.lockfile buildscript-gradle.lockfile .terraform.lock.hcl "
    "lazy-lock.json cabal.project.freeze pylock.toml conda-lock.yml".split()
)
"""Files in which a tool pins versions; so does every `*.lock`."""

PROSE_SUFFIXES: Final = tuple("md mdx markdown mkd rst rest txt adoc html htm pdf ipynb".split())
"""In a docs folder these are the content; all else there supports them."""

MINIFIED_SUFFIXES: Final = ("js", "mjs", "cjs", "css")
"""Languages that minifiers write, the only ones judged by the shape of the text: prose has long lines too."""

_HEAD_CHARS = 2048  # holds licence and marker; a longer licence comes after the marker
_PINS_CHARS = 4096

_CAMEL_TEST_FOLDER = re.compile(r"[a-z0-9]Tests?$|[._-](?:[Uu]nit|[Ii]ntegration)?[Tt]ests?$|\.Specs$")

# `test-runner.ts` and `TestRunner.java` run tests: a prefix counts only where a language's tools look for it.
_TEST_NAME = re.compile(
    r"""test_.*\.(?:py|rb|c|cc|cpp|cxx|jl|lua|nim|ml|php|sh|f90)$
      | conftest\.py$ | tests\.(?:py|rs)$ | (?:test|spec|rails)_helper\.(?:rb|exs)$
      | .*_tests?\.[a-z0-9]+$
      | .*(?:[.-]tests?|\.spec|\.cy|\.e2e|\.test-d|\.spec-d)\.[cm]?[jt]sx?$
      | .*_spec\.(?:rb|cr|lua|js|ts|coffee)$
      | .*_suite\.erl$""",
    re.VERBOSE,
)
_CAMEL_TEST_NAME = re.compile(
    r".*[A-Za-z0-9](?:Tests?\.(?:java|kts?|scala|groovy|swift|cs|fs|vb|php|mm?|hs|cpp|cc|dart)"
    r"|(?<=[a-z0-9])(?:Spec\.(?:scala|groovy|kt|hs|swift)|IT\.java))$"
)
_BENCHMARK_NAME = re.compile(r".*\.bench\.[cm]?[jt]sx?$|.*[a-z0-9]Benchmarks?\.(?:java|kt|scala|cs)$")
_ROOT_TEST_NAME = re.compile(r"tests?\.[a-z]+$")  # `test.js` beside `index.js`
_EXAMPLE_NAME = re.compile(
    r"(?:.*_)?(?:example|demo)s?\.(?!md|txt|rst)[a-z0-9]+$|.*\.stories\.[cm]?[jt]sx?$|(?:issue|pull_request)_template\.\w+$"
)
_COMPAT_NAME = re.compile(
    # `deprecated.rs` may deal with deprecation; `pool_deprecated.rs` is deprecated.
    r"(?:(?:.*[._-])?(?:compat|legacy|polyfills?|backports?)(?:[._-].*)?|.*[._-]deprecated)\.[a-z0-9]+$"
)
_CAMEL_COMPAT_NAME = re.compile(
    r".*[a-z0-9](?:Compat|Legacy|Deprecated|Polyfills?)\.\w+$|(?:Legacy|Deprecated)[A-Z]"
)
_GENERATED_NAME = re.compile(
    r"""(?:.*_pb2(?:_grpc)?\.pyi? | .*\.pb(?:\.gw)?\.(?:go|cc|h|c|swift|dart) | .*_pb\.(?:js|rb|d\.ts)
      | .*\.(?:g|freezed|gr)\.dart | .*\.(?:designer|g|g\.i)\.(?:cs|vb)
      | .*[._]generated\.[a-z0-9]+ | .*\.gen\.[a-z0-9]+ | .*_gen\.go | zz_generated\..*
      | .*\.(?:js|mjs|cjs|css|ts)\.map | .*\.snap | .*\.tsbuildinfo)$""",
    re.VERBOSE,
)
# Only unambiguous names: `history.md` may be about history, and changelog.py may write one.
_CHANGELOG_NAME = re.compile(
    r"(?:(?i:change-?logs?|release[-_]?notes|what'?s[-_]?new)(?:[-_.]?v?\d[\w.-]*?)?|CHANGES|HISTORY|NEWS)"
    rf"(?:\.(?i:{'|'.join(PROSE_SUFFIXES)}))?"
)
_MINIFIED_NAME = re.compile(r".*(?:[.-]min|\.bundle|\.chunk)\.(?:[cm]?js|css|js\.map|css\.map)$")
# A quick check: most names contain none of these.
_NAME_HINT = re.compile(
    r"test|spec|suite|\.cy\.|e2e|bench|it\.java|_pb|\.pb|\.g|\.freezed|designer|gen|\.map|\.snap|tsbuild"
    r"|example|demo|stories|_template|compat|legacy|deprecat|polyfill|backport|change|release|what|history|news"
)
_PINS = re.compile(
    r"^\s+--hash=sha\d+:|^#\s+(?:This file (?:is|was) )?autogenerated by (?:pip-compile|uv)\b", re.M
)

# A marker counts only in the comments before the first line of code, where tools write it.
_COMMENT_LINE = re.compile(
    r"\s*+(?:\#|//|/\*|\*|--|;|%|<!--|<\?|\"{3}|'{3}|\{-|\(\*|\.\.\s|!|\"\s|rem\b|dnl\b"
    r"|package\s|['\"]use strict)",
    re.IGNORECASE,
)
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("(*", "*)"))
_QUOTES = ('"""', "'''")
_MARK = r"^[\s#/*;%<>!\-.'\"(={@]*+"
_AUTO = r"(?:auto(?:matically)?[- ]?|machine[- ]|computer[- ])"
_GENERATED_LINE = re.compile(
    rf"""(?<![\w`"'])@generated\b(?![`"'])
      | {_MARK}(?:source\ )?code\ generated\b.*\bdo\ not\ edit
      | <auto-?generated>  # not `<auto-generated/>`, which also switches analysers off for code that was copied
      | {_MARK}(?:(?:this|the\ following)(?:\ \w+)?(?:\ \w+)?\ (?:is|was|has\ been)\ )
          (?:an?\ )?(?:\w+ly\ )?{_AUTO}?@?generated(?!\ code\ for)\b
      | {_MARK}{_AUTO}generated(?:\ (?:file|code|source|by|from|using|with|on|at|do)\b|[\s.,:!*/-]*$)
      | {_MARK}generated(?:\ \w+)?\ (?:by|from|with|using)\ .*
      | \bgenerated\b.*\bdo\ not\ (?:edit|modify|change)
      | \bdo\ not\ (?:edit|modify|change)\b.*\bgenerated\b""",
    re.VERBOSE | re.IGNORECASE,
)
# Written once from a template and by people ever since.
_SCAFFOLD = re.compile(
    r"'init' task|startproject|startapp|quickstart|cookiecutter|scaffold|create-\w+-app|cargo new"
)
_WORDS = re.compile(r"[^\W\d_]")
_GENERATED_WORD = "generated"  # part of every marker, and absent from most files

# Minified files of two dozen libraries have lines of thousands of characters and under 5 % whitespace; code written by
# hand has lines of 25 to 45 and over 12 %.
_LONG_LINE_CHARS = 250
_FEW_SPACES = 0.08
_MIN_JUDGED_CHARS = 512


def role_of(path: str, text: str) -> Role:
    """The role of a file from its path below the root and its text; empty for ordinary files."""
    if "://" in path:  # a web page's address does not show what it is for
        return "generated" if _is_marked_generated(text) else ""
    parts = path.replace("\\", "/").split("/")
    name = parts.pop()
    lowered = name.lower()
    if _is_lock(lowered, text):
        return "lock"
    suffix = lowered.rpartition(".")[2]
    if _MINIFIED_NAME.match(lowered) or (suffix in MINIFIED_SUFFIXES and _is_minified(text)):
        return "minified"
    said = _said_by_folders(parts, suffix, lowered) if parts else set()
    if _NAME_HINT.search(lowered):
        said |= _said_by_name(name, lowered, parts)
    for role in PRECEDENCE[:2]:
        if role in said:
            return role
    if _is_marked_generated(text):
        return "generated"
    return next((role for role in PRECEDENCE if role in said), "")


def _is_lock(lowered: str, text: str) -> bool:
    if lowered in LOCK_NAMES or lowered.endswith(".lock"):
        return True
    if not lowered.endswith(".txt"):
        return False
    head = text[:_PINS_CHARS]  # requirements with hashes can have any name
    return ("--hash=" in head or "autogenerated" in head) and _PINS.search(head) is not None


def _is_minified(text: str) -> bool:
    if len(text) < _MIN_JUDGED_CHARS or text.count("\n") * _LONG_LINE_CHARS > len(text):
        return False
    sample = text[len(text) // 2 :][:_HEAD_CHARS]  # after the licence, which minifiers keep
    spaces = sample.count(" ") + sample.count("\n") + sample.count("\t")
    return spaces < _FEW_SPACES * len(sample)


def _said_by_folders(parts: list[str], suffix: str, lowered: str) -> set[Role]:
    said: set[Role] = set()
    below_source = False
    for depth, part in enumerate(parts):
        word = part.lower().rpartition(" ")[2]  # "watchOS Example", "Unit tests"
        role = FOLDERS.get(word) or ("" if below_source else OUTER_FOLDERS.get(word, ""))
        if not role and part[-1:] in "ts" and _CAMEL_TEST_FOLDER.search(part):
            role = "test"
        if word == "test" and depth and suffix == "py":
            # A package may be about testing (django.test); Python's own tests have telling names.
            role = "test" if _TEST_NAME.match(lowered) else ""
        if word in {"spec", "specs"} and suffix in {*PROSE_SUFFIXES, "json", "yaml", "yml"}:
            role = ""  # a specification
        if role == "docs" and suffix in PROSE_SUFFIXES:
            role = ""
        if role:
            said.add(role)
        below_source = below_source or word in SOURCE_FOLDERS
    return said


def _said_by_name(name: str, lowered: str, parts: list[str]) -> set[Role]:
    said: set[Role] = set()
    in_root = not parts
    if (
        _TEST_NAME.match(lowered)
        or _CAMEL_TEST_NAME.match(name)
        or (in_root and _ROOT_TEST_NAME.match(lowered))
    ):
        said.add("test")
    if _BENCHMARK_NAME.match(name):
        said.add("benchmark")
    if _GENERATED_NAME.match(lowered):
        said.add("generated")
    if _EXAMPLE_NAME.match(lowered) and SOURCE_FOLDERS.isdisjoint(map(str.lower, parts)):
        said.add("example")
    if _COMPAT_NAME.match(lowered) or _CAMEL_COMPAT_NAME.match(name):
        said.add("compat")
    if _CHANGELOG_NAME.fullmatch(name):
        said.add("changelog")
    return said


def _is_marked_generated(text: str) -> bool:
    head = text[:_HEAD_CHARS]
    if _GENERATED_WORD not in head.lower():
        return False
    closing = before = ""
    for line in head.split("\n"):
        stripped = line.strip()
        if not closing and stripped and not _COMMENT_LINE.match(line):
            return False  # the first line of code
        if _GENERATED_LINE.search(line) and not _goes_on(before, line) and not _SCAFFOLD.search(line):
            return True
        before = stripped
        closing = _open_block(stripped, closing)
    return False


def _goes_on(before: str, line: str) -> bool:
    """Whether a comment line continues a sentence: "… in this / autogenerated file." is not a marker."""
    first = _WORDS.search(line)
    return first is not None and first[0].islower() and "@" not in line and before[-1:].isalpha()


def _open_block(line: str, closing: str) -> str:
    """What closes the block comment open after this line; empty when there is none."""
    if closing:
        return "" if closing in line else closing
    for quote in _QUOTES:
        if line.startswith(quote):
            return "" if quote in line[3:] else quote
    for opening, end in _BLOCKS:
        if line.startswith(opening):
            return "" if end in line else end
    return ""
