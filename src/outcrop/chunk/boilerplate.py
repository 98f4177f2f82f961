"""Boilerplate: code that says nothing of its own, and a key by which repeated code is known.

Both read a chunk of code by its lines and know no grammar. What cannot be told from lines is not boilerplate: a chunk
that is wrongly kept costs a line in an answer, one that is wrongly left out cannot be found.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

HASH_IS_CODE: Final = frozenset(
    "c cpp c++ objc objective-c csharp c# rust javascript typescript tsx jsx java kotlin scala swift go dart "
    "groovy zig css scss less fsharp haskell lua sql glsl hlsl cuda".split()
)
"""Languages in which `#` does not start a comment but a directive, an attribute, a private name or a colour."""

MIN_STUBS: Final = 3
"""From how many on empty functions are repetition; one may be the definition that is looked for."""

_LICENCE = re.compile(
    r"""\bcopyright\b | \([cC]\)\ \S | © | SPDX- | licen[cs]ed?\b | all\ rights\ reserved | \bwarrant(?:y|ies)
      | permission\ (?:is|to) | redistribut | merchantab | free\ software | hope\ that\ it\ will\ be
      | should\ have\ received\ a\ copy | this\ file\ is\ part\ of | unless\ required\ by | as\ is['"]
      | neither\ the\ name | without\ specific\ prior | liab(?:le|ility) | \b(?:a|authors?|created\ by)\s*[:@]
      | @authors?\b | ^\s*created\ by | following\ conditions | public\ domain""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# Words to tools, rules, and the name of the file itself.
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
      | <\?php$ | \?>$ | ['"]use\ (?:strict|client|server)['"];?$ | [)\]}]+[;,]?$ | end$ | \(?\)?\s*where$
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

_LINE_COMMENTS = {"lua": "--", "sql": "--", "haskell": "--", "elm": "--", "ada": "--", "vhdl": "--", "erlang": "%",
                  "clojure": ";", "lisp": ";", "scheme": ";", "elisp": ";", "matlab": "%"}  # fmt: skip
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("--[[", "]]"), ('"""', '"""'), ("'''", "'''"))
_MARKS = " \t*/#-;%!<>{}\"'="


def is_boilerplate(text: str, language: str) -> bool:
    """Whether a chunk of code is only licence, imports, re-exports, include guards or repeated empty functions."""
    scan = _Scan(language)
    return all(scan.take(line) for line in text.split("\n")) and scan.holds_nothing()


class _Scan:
    """The lines of a chunk so far, all of them boilerplate."""

    def __init__(self, language: str) -> None:
        self._marks = ("//", _LINE_COMMENTS.get(language, "//" if language in HASH_IS_CODE else "#"))
        self._closing = ""  # of the open block comment
        self._depth = 0  # of brackets open in an import or export
        self._after_import = False
        self._awaits_body = False
        self._stubs = 0
        self._paragraph: list[str] = []  # of comment

    def take(self, line: str) -> bool:
        """Whether this line, too, says nothing; the first that does ends the reading."""
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
                    inside, found, after = stripped[len(opening) :].partition(closing)
                    self._closing = "" if found else closing
                    return self._take_comment(inside) and not after.strip(" ;")
            if stripped.startswith(self._marks):
                return self._take_comment(stripped)
        return self._end_paragraph() and self._take_code(stripped, indented=line[0].isspace())

    def holds_nothing(self) -> bool:
        """Whether the lines taken make up boilerplate, now that there are no more."""
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
        """Count the brackets of an import or a list of names; False when more than names stand in it."""
        bare = code.partition(" #")[0].partition(" //")[0]
        opened = sum(map(bare.count, "([{"))
        if is_first:
            # `namespace A {` closes after what it holds, which is read like everything else.
            opened = 0 if bare.startswith(("namespace", "package")) else opened
            bare = bare.partition("=")[2] if "=" in bare else bare
        self._depth = max(0, self._depth + opened - sum(map(code.partition(" #")[0].count, ")]}")))
        return _LIST_BODY.search(bare) is None


# ------------------------------------------------------------------ near-duplicates

_HOLDER = re.compile(
    r"(?:\b(?:Copyright|COPYRIGHT|copyright)(?=[ \t]+(?:\([cC]\)|©|\d|[A-Z]))|\([cC]\)(?=[ \t]+(?:\d{4}|[A-Z]\w))|©"
    r"|@authors?\b|\bCreated by\b)[^\n]*"
)
_FILE_LINE = re.compile(r"^[ \t/*#;%-]*[\w+-]+\.\w{1,5}[ \t]*$", re.MULTILINE)
# A number by itself. It begins with its first digit, not with the boundary before it: twice as fast to search for.
_NUMBER = re.compile(r"[0-9](?<!\w[0-9])[0-9]*\b")
_MANY_DIGITS = 0.2  # where numbers are the content, as in a table of values, they are kept
_MAX_STUB_CHARS = 300
_STUB = re.compile(
    r"""(?P<before>(?:\s*@[\w.]+(?:\([^()\n]*\))?\s)*\s*(?:(?!class\b|interface\b|struct\b|enum\b|impl\b|new\b|return\b)
          [\w$<>\[\],.:*&?]+\s+)*)
        (?P<name>[\w$]+)
        (?P<after>\s*\([^()]*\)[^(){}=:;]*(?::[^(){}=:;]*)?
          (?::?\s*(?:pass|\.\.\.)|\{\s*\}|;?\s*end)\s*)""",
    re.VERBOSE,
)
_GETTER = re.compile(
    r"""(?P<before>(?:\s*@[\w.]+(?:\([^()\n]*\))?\s)*\s*(?:[\w$<>\[\],.:*&?]+\s+)*?)
        (?P<name>[\w$]+)
        (?P<after>\s*\(\s*(?:&?(?:mut\s+)?self|this)?\s*\)[^(){}=;]*?[:{]\s*(?:return\s+)?(?:&?(?:this|self)(?:\.|->)))
        (?P<field>[\w$]+)(?P<end>\s*;?\s*\}?\s*)""",
    re.VERBOSE,
)


def shape_key(text: str) -> bytes:
    """Eight bytes that near-duplicates of a chunk of code share: the same but for white space, numbers, who holds the
    copyright, and, of an empty function or a plain getter, its name.

    Digits within names count (`sha256` is not `sha512`), and so do the names of all that does something.
    """
    if len(text) <= _MAX_STUB_CHARS:
        text = _without_name(text)
    held = (
        _HOLDER.sub("(c)", text)
        if "opyright" in text or "(c) " in text or "©" in text or "@auth" in text
        else text
    )
    if held is not text:
        text = _FILE_LINE.sub("", held)
    numbered, count = _NUMBER.subn("0", text)
    if count and (count == 1 or sum(map(len, _NUMBER.findall(text))) <= _MANY_DIGITS * len(text)):
        text = numbered
    return hashlib.blake2b("".join(text.split()).encode("utf-8", "replace"), digest_size=8).digest()


def _without_name(text: str) -> str:
    if stub := _STUB.fullmatch(text):
        return f"{stub['before']}_{stub['after']}"
    if getter := _GETTER.fullmatch(text):
        return f"{getter['before']}_{getter['after']}_{getter['end']}"
    return text
