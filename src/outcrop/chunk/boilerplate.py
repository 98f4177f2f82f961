"""Boilerplate: licences, imports and stubs that say nothing of their own.

Lines are matched without a grammar, and when in doubt code is not boilerplate: a chunk wrongly kept costs a line in an
answer, one wrongly dropped cannot be found.
"""

from __future__ import annotations

import re
from typing import Final

HASH_IS_CODE: Final = frozenset(
    "c cpp c_sharp rust javascript typescript tsx vue svelte java kotlin scala swift go zig css haskell lua "
    "sql".split()
)
"""Languages, by their names in the table of grammars, in which `#` starts a directive, an attribute, a private name or
a colour, not a comment."""

MIN_STUBS: Final = 3
"""Fewer empty functions are kept: one of them may be the definition that somebody looks for."""

_LICENCE = re.compile(
    r"""\bcopyright\b | \([cC]\)\ \S | © | SPDX- | licen[cs]ed?\b | all\ rights\ reserved | \bwarrant(?:y|ies)
      | permission\ (?:is|to) | redistribut | merchantab | free\ software | hope\ that\ it\ will\ be
      | should\ have\ received\ a\ copy | this\ file\ is\ part\ of | unless\ required\ by | as\ is['"]
      | neither\ the\ name | without\ specific\ prior | liab(?:le|ility) | \b(?:a|authors?|created\ by)\s*[:@]
      | @authors?\b | ^\s*created\ by | following\ conditions | public\ domain""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# Directives for tools, rules, and the file's own name.
_NOISE = re.compile(
    r"""[\W_]* | .*\bcoding[:=].* | .*-\*-.* | .*\b(?:vim?|emacs|ex):.* | (?:usr/)?bin/.* | \s*(?:https?://\S+|[\w.+-]+\.\w{1,5})\s*
      | .*\b(?:eslint|tslint|jshint|jslint|prettier|istanbul|pylint|flake8|ruff|mypy|pyright|noqa|isort|fmt|yapf
        |clang-format|rubocop|swiftlint|shellcheck|nolint|stylelint|ts-nocheck|ts-ignore|frozen_string_literal)\b.*
      | .*@(?:flow|ts-nocheck|format|jsx)\b.* | \s*end(?:if|region)?\b.* | \s*[A-Z_]*_H(?:PP)?_?\s*""",
    re.VERBOSE,
)
_IMPORT = re.compile(
    r"""(?:
        (?:import|from|include|require|require_relative|require_once|include_once|@import|@use|@forward|part|library)
          (?=[\s("'<])
      | export\s+(?:type\s+)?(?:\*|\{) | module\.exports\s*=\s*(?:\{|require\b)
      | exports?\.\w+\s*=\s*require\b
      | (?:const|let|var|local)\s+[\w$\s{},:.]+=\s*(?:await\s+)?(?:require\b|import\b|@import\b)
      | (?:pub(?:\(\w+\))?\s+)?(?:use|mod|extern\s+crate|const\s+\w+\s*=\s*@import)\s?[\w:{*("]
      | (?:global\s+)?using\s+[\w.=\s<>,:]+; | using\s+namespace\b | (?:package|namespace)\s+[\w.\\:]+\s*[;{]?$
      | alias\s+[A-Z] | autoload\s+:? | \.\s+\S+$ | source\s+\S+$ | open\s+[A-Z][\w.]*$ | goog\.(?:require|provide)\(
      | __all__\s*(?:\+?=|\.extend) | declare\s*\(strict_types | module\s+[\w.]+\s*(?:\(|where)
      | \#\s*(?:include|import)\b
    )""",
    re.VERBOSE,
)
_GUARD = re.compile(
    r"""\#\s*(?:pragma\b.* | ifn?def\s+\w+ | if\s+!?defined\b.* | endif\b.* | else\b.* | define\s+\w+ | undef\s+\w+
          | region\b.* | endregion\b.* | nullable\b.*)$
      | \#!?\[(?:allow|warn|deny|cfg|feature|no_std|doc\(html)\b.* | extern\s+"C"\s*\{?$ | \{-\#.*\#-\}$
      | <\?php(?:\s+declare\s*\(strict_types.*)?$ | \?>$
      | ['"]use\ (?:strict|client|server)['"];?$ | [)\]}]+[;,]?$ | end$ | \(?\)?\s*where$
      | if\s+TYPE_CHECKING:$ | (?:try|else):$ | except\ ImportError.*:$ | set\ -[\w ]+$ | fi$""",
    re.VERBOSE,
)
_EMPTY_BODY = re.compile(
    r"(?:pass|\.\.\.|return(?:\s+(?:None|nil|null|undefined))?;?|raise\s+NotImplementedError\S*)$"
)
_PYTHON_STUB = re.compile(r"(?:async\s+)?def\s+\w+.*:$")
_STUB_LINE = re.compile(
    r"""(?:async\s+)?def\s+\w+.*:\s*(?:pass|\.\.\.)$ | def\s+[\w.?!]+(?:\(.*\))?;\s*end$
      | (?!(?:class|interface|struct|enum|impl|if|for|while|switch|new)\b)
          [\w$<>\[\],.:*&?~@\s-]+\(.*\)[^(){}=]*\{\s*\}[;,]?$""",
    re.VERBOSE,
)
_GETTER_LINE = re.compile(
    r"""(?!(?:if|for|while|switch)\b)[\w$<>\[\],.:*&?\s-]+\((?:&?(?:mut\s+)?self)?\)[^(){}=]*
        \{\s*(?:return\s+)?(?:&?(?:this|self)(?:\.|->))?[\w$]+;?\s*\}[;,]?$""",
    re.VERBOSE,
)
_DECORATOR = re.compile(r"@[\w.]+(?:\([\w\s.,='\"]*\))?$")
_LIST_BODY = re.compile(r"\)\s*\{|\bfunction\b|=>|\breturn\b|[^=!<>]=[^=]")

_LINE_COMMENTS = dict.fromkeys(("lua", "sql", "haskell"), "--")
_DOCSTRINGS = ('"""', "'''")
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("--[[", "]]"), *((mark, mark) for mark in _DOCSTRINGS))
_MARKS = " \t*/#-;%!<>{}\"'="


def is_boilerplate(text: str, language: str) -> bool:
    """Whether a chunk of code is only licence, imports, re-exports, include guards or repeated empty functions."""
    scan = _Scan(language)
    return all(scan.take(line) for line in text.split("\n")) and scan.holds_nothing()


def boilerplate_end(text: str, language: str) -> int:
    """Where a text's leading boilerplate ends: at the start of a line, or at the end of the text."""
    if is_boilerplate(text, language):
        return len(text)
    scan = _Scan(language)
    at = end = 0
    for line in text.split("\n"):
        if line.lstrip().startswith(_DOCSTRINGS) and scan.ends_comment():
            end = at
        if not scan.take(line):
            break
        at += len(line) + 1
        end = at if scan.is_between else end
    return min(end, len(text))


class _Scan:
    """Reads a chunk line by line for as long as it is boilerplate."""

    def __init__(self, language: str) -> None:
        self._marks = ("//", _LINE_COMMENTS.get(language, "//" if language in HASH_IS_CODE else "#"))
        self._closing = ""  # of the open block comment
        self._depth = 0  # of brackets open in an import or export
        self._after_import = False
        self._awaits_body = False
        self._stubs = 0
        self._paragraph: list[str] = []  # of comment

    def take(self, line: str) -> bool:
        """Whether this line is boilerplate too."""
        stripped = line.strip()
        if self._closing:
            if self._closing in stripped:
                stripped, self._closing = stripped.partition(self._closing)[0], ""
            return self._take_comment(stripped)
        if not stripped:
            return self._end_paragraph()
        if not stripped.startswith("{-#"):  # a pragma of Haskell, not a comment
            for opening, closing in _BLOCKS:
                if stripped.startswith(opening):
                    if opening in _DOCSTRINGS and not self.ends_comment():
                        return False
                    inside, found, after = stripped[len(opening) :].partition(closing)
                    self._closing = "" if found else closing
                    return self._take_comment(inside) and not after.strip(" ;")
            if stripped.startswith(self._marks):
                return self._take_comment(stripped)
        return self._end_paragraph() and self._take_code(stripped, indented=line[0].isspace())

    def ends_comment(self) -> bool:
        """End the comment before a docstring; whether that comment was a licence, noise or nothing."""
        return not self._closing and self._end_paragraph()

    @property
    def is_between(self) -> bool:
        """Whether nothing is open, so that the boilerplate may end here."""
        return not (self._paragraph or self._closing or self._depth or self._awaits_body or self._stubs)

    def holds_nothing(self) -> bool:
        """Whether the lines taken are boilerplate as a whole; called after the last one."""
        few_stubs = 0 < self._stubs < MIN_STUBS
        return self._end_paragraph() and not few_stubs and not self._awaits_body

    def _take_comment(self, words: str) -> bool:
        content = words.strip(_MARKS)
        if content:
            self._paragraph.append(content)
            return True
        return self._end_paragraph()

    def _end_paragraph(self) -> bool:
        """Whether the comment that ends here is a licence or noise; the next paragraph may describe something."""
        lines, self._paragraph = self._paragraph, []
        said = [line for line in lines if not _NOISE.fullmatch(line)]
        return not said or _LICENCE.search("\n".join(said)) is not None

    def _take_code(self, code: str, *, indented: bool) -> bool:
        if self._depth:
            return self._go_on(code)
        if self._awaits_body:
            self._awaits_body = False
            self._stubs += 1
            return _EMPTY_BODY.match(code) is not None
        if _IMPORT.match(code) or (self._after_import and indented and code[0] in "(,)"):
            self._after_import = True
            return self._go_on(code, is_first=True)
        self._after_import = False
        if _GUARD.match(code) or _DECORATOR.match(code):
            return True
        if _STUB_LINE.match(code) or _GETTER_LINE.match(code):
            self._stubs += 1
            return True
        self._awaits_body = _PYTHON_STUB.match(code) is not None
        return self._awaits_body

    def _go_on(self, code: str, *, is_first: bool = False) -> bool:
        """Count the brackets of an import or a list of names; False if it holds more than names."""
        bare = code.partition(" #")[0].partition(" //")[0]
        opened = sum(map(bare.count, "([{"))
        if is_first:
            # `namespace A {` closes after its content, which is read like any other code.
            opened = 0 if bare.startswith(("namespace", "package")) else opened
            bare = bare.partition("=")[2] if "=" in bare else bare
        self._depth = max(0, self._depth + opened - sum(map(code.partition(" #")[0].count, ")]}")))
        return _LIST_BODY.search(bare) is None
