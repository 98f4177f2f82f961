"""Which entries of a folder git would ignore: gitignore rules, compiled once per file.

The translation follows git's own matcher, quirks included, and a property test compares it with real git. (The
`pathspec` library was tried first: it differs from git on `[[:digit:]]`, `[\\]]` and trailing tabs, and raises on
`[z-a]`.) One deliberate difference: `?` and `[…]` match a character, where git matches a byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from outcrop.errors import SourceError
from outcrop.system.dataclass import dataclass

MAX_PATTERNS: Final = 2_000
"""Most wildcard patterns in one ignore file. Each costs up to 45 µs per name, so this many cost a tenth of a second;
the largest hand-written ignore files have a few hundred."""
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)  # git knows the case of ASCII only
_SPECIAL = frozenset("*?[\\")
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": " \\t\\n\\r\\f\\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}

# Tokens that are not yet regular expressions. No translated character can equal one of them: a literal star
# comes out of re.escape with a backslash.
_STAR = "*"  # any characters of one name
_REST = "**"  # everything that follows
_FOLDERS = "**/"  # any number of folders, including none
_SOME_FOLDERS = "**\\/"  # one folder or more
_DEEP = {_FOLDERS: "(?:[^/]*/)*?", _SOME_FOLDERS: "(?:[^/]*/)+?"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. A `negated` line starts with `!` and re-includes a file."""

    line: int
    text: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Many patterns as one regular expression, last line first: the branch that matches is the line that decides."""

    regex: re.Pattern[str]
    orders: tuple[int, ...]

    def match(self, subject: str) -> int:
        """The order of the last pattern that matches, or -1."""
        found = self.regex.fullmatch(subject)
        return -1 if found is None else self.orders[(found.lastindex or 1) - 1]


@dataclass(frozen=True, slots=True)
class Rules:
    """The compiled rules of one ignore file. Index 0 of a pair is for files, 1 for folders."""

    rules: tuple[Rule, ...]
    literals: tuple[dict[str, int], dict[str, int]]
    literal_paths: tuple[dict[str, int], dict[str, int]]
    names: tuple[Alternatives | None, Alternatives | None]
    paths: tuple[Alternatives | None, Alternatives | None]
    ignore_case: bool = False

    def last_match(self, prefix: str, name: str, is_dir: bool) -> Rule | None:
        """The last rule that matches the entry `name`, at `prefix` below the folder of this file."""
        order = self.literals[is_dir].get(name.translate(_LOWER) if self.ignore_case else name, -1)
        if self.literal_paths[is_dir]:
            path = prefix + name
            path = path.translate(_LOWER) if self.ignore_case else path
            order = max(order, self.literal_paths[is_dir].get(path, -1))
        names, paths = self.names[is_dir], self.paths[is_dir]
        if names is not None:
            order = max(order, names.match(name))
        if paths is not None:
            order = max(order, paths.match(prefix + name))
        return None if order < 0 else self.rules[order]


@dataclass(frozen=True, slots=True)
class Level:
    """An ignore file as seen from one folder: `prefix` leads from the ignore file's folder to that one. `of_git` is
    False for our own ignore files, which also apply to tracked files and inside nested repositories."""

    label: str
    rules: Rules
    prefix: str = ""
    of_git: bool = True


def ruling(levels: Sequence[Level], name: str, is_dir: bool) -> tuple[Level, Rule] | None:
    """The rule that decides about the entry `name`: from the first level with a match."""
    for level in levels:
        rule = level.rules.last_match(level.prefix, name, is_dir)
        if rule is not None:
            return level, rule
    return None


def descend(levels: Iterable[Level], name: str) -> tuple[Level, ...]:
    """The same levels as seen from the sub-folder `name`."""
    return tuple(Level(level.label, level.rules, f"{level.prefix}{name}/", level.of_git) for level in levels)


# Monorepos repeat the same few ignore files in hundreds of folders, and compiling one takes milliseconds. The largest
# one allowed takes about 7 MB.
@lru_cache(maxsize=32)
def compile_rules(content: bytes, ignore_case: bool = False) -> Rules | None:
    """The rules in the bytes of an ignore file; None when there are none. Plain names and paths are looked up, however
    many there are. Wildcard patterns are tried one by one on every name: a file with more than MAX_PATTERNS of them is
    a SourceError."""
    rules: list[Rule] = []
    literals: tuple[dict[str, int], dict[str, int]] = ({}, {})
    literal_paths: tuple[dict[str, int], dict[str, int]] = ({}, {})
    names: list[tuple[int, str, bool]] = []
    paths: list[tuple[int, str, bool]] = []
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    for number, raw in enumerate(text.split("\n"), 1):
        line = _trim(raw.removesuffix("\r"))
        if raw.startswith("#") or not line:
            continue
        pattern = line.removeprefix("!")
        only_dirs = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        regex = _translate(pattern, ignore_case)
        if regex is None:
            continue
        order = len(rules)
        rules.append(Rule(number, line, line.startswith("!")))
        is_path = "/" in pattern
        if _literal_length(pattern) < len(pattern):
            (paths if is_path else names).append((order, regex, only_dirs))
            if len(names) + len(paths) > MAX_PATTERNS:
                raise SourceError(f"it has more than {MAX_PATTERNS:,} patterns; list plain names, or split it")
            continue
        known = literal_paths if is_path else literals
        plain = pattern.removeprefix("/") if is_path else pattern
        for of_kind in known[1:] if only_dirs else known:
            of_kind[plain.translate(_LOWER) if ignore_case else plain] = order
    if not rules:
        return None
    found = _combine(names, ignore_case), _combine(paths, ignore_case)
    return Rules(tuple(rules), literals, literal_paths, *found, ignore_case)


def _combine(
    patterns: list[tuple[int, str, bool]], ignore_case: bool
) -> tuple[Alternatives | None, Alternatives | None]:
    def of(chosen: list[tuple[int, str]]) -> Alternatives | None:
        if not chosen:
            return None
        flags = re.DOTALL | (re.IGNORECASE | re.ASCII if ignore_case else 0)  # git knows the case of ASCII only
        joined = "|".join(f"({regex})" for _, regex in reversed(chosen))
        return Alternatives(re.compile(joined, flags), tuple(order for order, _ in reversed(chosen)))

    for_files = of([(order, regex) for order, regex, only_dirs in patterns if not only_dirs])
    if for_files is not None and len(for_files.orders) == len(patterns):
        return for_files, for_files
    return for_files, of([(order, regex) for order, regex, _ in patterns])


def _trim(line: str) -> str:
    """Without trailing spaces, except those after a backslash."""
    end = at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 1
            end = at + 1
        elif line[at] != " ":
            end = at + 1
        at += 1
    return line[:end]


def _literal_length(pattern: str) -> int:
    return next((at for at, char in enumerate(pattern) if char in _SPECIAL), len(pattern))


def _translate(pattern: str, ignore_case: bool) -> str | None:
    """A regular expression for a whole path (patterns with a slash) or a whole name; None: it never matches."""
    is_path = "/" in pattern
    pattern = pattern.removeprefix("/")
    tokens = _tokens(pattern, is_path, ignore_case) if pattern else None
    return None if tokens is None else _assemble(tokens)


def _tokens(pattern: str, is_path: bool, ignore_case: bool) -> list[str] | None:
    tokens: list[str] = []
    literal = _literal_length(pattern)
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            # Git compares the literal prefix of a pattern separately and starts matching after it, so for `**` the end
            # of that prefix counts as a slash: `abc**/x` matches `abcd/e/x`.
            opens = at in (0, literal) or pattern[at - 1] == "/"
            token, at = _stars(pattern, at, is_path and opens)
            tokens.append(token)
            continue
        at += 1
        if char == "?":
            tokens.append("[^/]")
        elif char == "[":
            bracket = _bracket(pattern, at, ignore_case)
            if bracket is None:
                return None
            token, at = bracket
            tokens.append(token)
        elif char == "\\":
            if at == len(pattern) or (ignore_case and pattern[at] in ascii_uppercase):
                return None  # ignoring case, git lowers the name but not an escaped letter
            tokens.append(re.escape(pattern[at]))
            at += 1
        else:
            tokens.append(re.escape(char))
    return tokens


def _stars(pattern: str, start: int, may_cross: bool) -> tuple[str, int]:
    """What the stars at `start` mean, and where they end."""
    at = start
    while pattern[at : at + 1] == "*":
        at += 1
    if may_cross and at - start > 1:
        if at == len(pattern):
            return _REST, at
        if pattern[at] == "/":
            return _FOLDERS, at + 1
        if pattern[at : at + 2] == "\\/":
            return _SOME_FOLDERS, at + 2
    return _STAR, at


def _bracket(pattern: str, at: int, ignore_case: bool) -> tuple[str, int] | None:
    """The character class that starts at `at` (past the bracket) and where it ends; None when it is never closed."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    items: list[str] = []
    previous = ""
    first = True
    while at < len(pattern) and (first or pattern[at] != "]"):
        first = False
        char = pattern[at]
        if char == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
            at += 1 + (pattern[at + 1] == "\\")
            if at >= len(pattern):
                return None
            if previous <= pattern[at]:
                items.append(f"{re.escape(previous)}-{re.escape(pattern[at])}")
            previous = ""
        elif char == "[" and pattern[at + 1 : at + 2] == ":" and (named := _posix_class(pattern, at + 2)):
            if named[0] is None:
                return None
            items.append(named[0])
            previous, at = "", named[1]
        else:
            at += char == "\\"
            if at >= len(pattern):
                return None
            previous = pattern[at]
            # Ignoring case, git lowers the name but not a letter in here, so that it never matches.
            if not ignore_case or previous not in ascii_uppercase:
                items.append(re.escape(previous))
        at += 1
    if at >= len(pattern):
        return None
    if negated:
        return f"[^/{''.join(items)}]", at + 1
    return (f"(?!/)[{''.join(items)}]" if items else "(?!)"), at + 1


def _posix_class(pattern: str, start: int) -> tuple[str | None, int] | None:
    """A named class such as `alpha:]`: its characters (None for an unknown name) and where its bracket closes."""
    close = pattern.find("]", start)
    if close == -1:
        return None, start
    if close == start or pattern[close - 1] != ":":
        return None
    return _POSIX_CLASSES.get(pattern[start : close - 1]), close


def _assemble(tokens: list[str]) -> str:
    """Join tokens so that no number of stars makes a match take exponential time. Where another wildcard of the same
    kind follows, the leftmost match is as good as any other, so an atomic group keeps it without backtracking. An
    ignore file may come from a stranger's repository."""
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] in _DEEP:
            end = next((n for n in range(at + 1, len(tokens)) if tokens[n] in _DEEP), len(tokens))
            body = _DEEP[tokens[at]] + _assemble_names(tokens[at + 1 : end])
            parts.append(f"(?>{body})" if end < len(tokens) else body)
        else:
            end = next((n for n in range(at + 1, len(tokens)) if tokens[n] in _DEEP), len(tokens))
            parts.append(_assemble_names(tokens[at:end]))
        at = end
    return "".join(parts)


def _assemble_names(tokens: list[str]) -> str:
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        if tokens[at] == _REST:
            parts.append(".*")
            at += 1
        elif tokens[at] == _STAR:
            end = next((n for n in range(at + 1, len(tokens)) if tokens[n] in (_STAR, "/")), len(tokens))
            literal = "".join(tokens[at + 1 : end])
            another = end < len(tokens) and tokens[end] == _STAR
            parts.append(f"(?>[^/]*?{literal})" if another else f"[^/]*{literal}")
            at = end
        else:
            parts.append(tokens[at])
            at += 1
    return "".join(parts)
