"""A Filter becomes SQL; glob patterns become one regular expression.

`*`, `?` and `[…]` stay within a folder, `**` crosses folders. A pattern without `/` names a file or folder at
any depth. A pattern that ends in `/`, or whose last part has no wildcard, also matches everything below it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from outcrop.errors import QueryError
from outcrop.records import Filter
from outcrop.system.limits import BoundedCache
from outcrop.text.pattern import pattern

Values = list[str | int | float]

MAX_PATTERNS: Final = 100
"""Path patterns of one filter: more than anybody writes by hand (not measured)."""
MAX_PATTERN_CHARS: Final = 4_096
"""Of one pattern: the longest path of Linux, so that every path can be named."""
MAX_PATTERNS_CHARS: Final = 8_192
"""Of all patterns of a filter: the worst found takes 110 ms to compile (a star before every letter)."""
_MAX_COMPILED: Final = 1_000_000
"""Characters of the expressions that are kept compiled: about 5 MB."""

_DATE = "coalesce(d.dated_at, d.mtime_ns / 1e9, d.created_at)"


def filter_sql(where: Filter) -> tuple[str, Values]:
    """A condition on `documents AS d`, and the values to bind in it. Needs the function `path_matches`."""
    conditions: list[str] = []
    values: Values = []

    def need(condition: str, value: str | float) -> None:
        conditions.append(condition)
        values.append(value)

    if where.collections:
        need("d.collection IN (SELECT value FROM json_each(?))", json.dumps(where.collections))
    if where.documents:
        need("d.id IN (SELECT value FROM json_each(?))", json.dumps([int(id_) for id_ in where.documents]))
    if where.kinds:
        kinds = "EXISTS (SELECT 1 FROM json_each(?) WHERE value IN (d.kind, nullif(d.language, '')))"
        need(kinds, json.dumps(where.kinds))
    for tag in dict.fromkeys(where.tags):
        need("d.id IN (SELECT document_id FROM tags WHERE tag = ?)", tag)
    if where.manifests:
        held = (
            "SELECT document_id FROM manifest_documents WHERE manifest_id IN (SELECT value FROM json_each(?))"
        )
        need(f"(d.origin != 'tree' OR d.id IN ({held}))", json.dumps([int(id_) for id_ in where.manifests]))
    if where.hidden:
        need("d.id NOT IN (SELECT value FROM json_each(?))", json.dumps([int(id_) for id_ in where.hidden]))
    if where.since is not None:
        need(f"{_DATE} >= ?", where.since)
    if where.until is not None:
        need(f"{_DATE} < ?", where.until)
    if where.where is not None:  # few filters have one
        from outcrop.records.where import read_where
        from outcrop.store.conditions import SQLITE, condition_sql

        condition, bound = condition_sql(read_where(where.where), SQLITE)
        conditions.append(condition)
        values += bound
    if where.paths:  # last, so that it is asked of as few as possible
        need("path_matches(?, d.path)", glob_regex(where.paths))
    return " AND ".join(conditions) or "true", values


def path_matches(regex: str, path: str) -> bool:
    """Whether a path matches an expression of `glob_regex`; a function of our SQL."""
    return _compiled(regex).fullmatch(path) is not None


_kept: BoundedCache[str, re.Pattern[str]] = BoundedCache(64, _MAX_COMPILED)


def _compiled(regex: str) -> re.Pattern[str]:
    found = _kept.get(regex)
    if found is None:
        found = re.compile(regex, re.DOTALL)
        _kept.put(regex, found, len(regex))
        if len(regex) > _LONG:
            re.purge()  # the module has a cache of its own: 512 expressions, however large they are
    return found


_LONG: Final = 2_000
"""Characters of an expression that are too many for the cache of `re`: no expression of ours is near it."""


def glob_regex(patterns: Sequence[str]) -> str:
    """One regular expression that matches in full the paths that match any of these patterns."""
    _check_size(patterns)
    regex = "|".join(f"(?:{_one_glob(pattern)})" for pattern in patterns)
    try:
        _compiled(regex)
    except re.error as error:
        raise QueryError(f"a path pattern of {list(patterns)} cannot be understood: {error}") from error
    return regex


def _check_size(patterns: Sequence[str]) -> None:
    if len(patterns) > MAX_PATTERNS:
        raise QueryError(f"{len(patterns)} path patterns are too many; give at most {MAX_PATTERNS}")
    longest = max(map(len, patterns), default=0)
    if longest > MAX_PATTERN_CHARS:
        raise QueryError(
            f"a path pattern of {longest:,} characters is too long; give at most {MAX_PATTERN_CHARS:,}"
        )
    total = sum(map(len, patterns))
    if total > MAX_PATTERNS_CHARS:
        raise QueryError(
            f"path patterns of {total:,} characters together are too long; give at most {MAX_PATTERNS_CHARS:,}"
        )


def glob_plain(patterns: Sequence[str]) -> str:
    """The same for an engine that does not backtrack, such as that of Postgres: anchored, without atomic groups."""
    glob_regex(patterns)  # refuses what cannot be understood
    return "^(?:" + "|".join(f"(?:{_one_glob(pattern, is_plain=True)})" for pattern in patterns) + ")$"


def _one_glob(pattern: str, *, is_plain: bool = False) -> str:
    segment = _plain_segment if is_plain else _segment
    anchored = pattern.removeprefix(".") if pattern.startswith("./") else pattern
    parts = [part for part in anchored.split("/") if part]
    if not parts:
        return ".*"  # "/" and "": the root, and so everything below it
    if "/" not in anchored.rstrip("/"):
        parts.insert(0, "**")
    *folders, last = _spread(parts)
    runs = [""]
    for part in folders:
        if part == "**":
            runs.append("")
        else:
            runs[-1] += f"{segment(part)}/"
    if last == "**":
        runs[-1] += ".*"
    else:
        below = "/.*" if pattern.endswith("/") else "(?:/.*)?" if not re.search(r"[*?\[]", last) else ""
        runs[-1] += segment(last) + below
    return _FOLDERS.join(runs) if is_plain else _join_runs(runs)


_FOLDERS: Final = "(?:[^/]*/)*"


def _join_runs(runs: Sequence[str]) -> str:
    """What stands between two `**`, joined. As within a name, each `**` takes the shortest way to what follows and
    never reconsiders; only the last one has to look on, as what follows must reach the end."""
    if len(runs) == 1:
        return runs[0]
    middle = "".join(f"(?>{_FOLDERS}?{run})" for run in runs[1:-1])
    return f"{runs[0]}{middle}{_FOLDERS}?{runs[-1]}"


def _spread(parts: Sequence[str]) -> list[str]:
    """`**x` crosses folders and then matches a name: as `**` and `*x`. Runs of `**` are one."""
    spread: list[str] = []
    for part in parts:
        if part.startswith("**") and (not spread or spread[-1] != "**"):
            spread.append("**")
        if part != "**":
            spread.append(part)
    return spread


_GLOB = pattern(r"\[[!^]?[^\]/][^\]/]*\]|\*+|.", re.DOTALL)


def _segment(part: str) -> str:
    """A part without `/`. Each `*` takes the shortest way to what follows and never backtracks: whether a
    name matches does not depend on how, so no pattern, however full of stars, is slow."""
    runs = [""]
    for glyph in _GLOB.findall(part):
        if glyph[0] == "*":
            runs.append("")
        else:
            runs[-1] += _literal(glyph)
    if len(runs) == 1:
        return runs[0]
    middle = "".join(f"(?>[^/]*?{run})" for run in runs[1:-1])
    return f"(?>{runs[0]}{middle}[^/]*?{runs[-1]}(?![^/]))"


def _plain_segment(part: str) -> str:
    return "".join("[^/]*" if glyph[0] == "*" else _literal(glyph) for glyph in _GLOB.findall(part))


def _literal(glyph: str) -> str:
    """A character, `?` or `[…]` as a regular expression."""
    if glyph == "?":
        return "[^/]"
    if len(glyph) == 1 or "--" in glyph:
        return re.escape(glyph)
    inside = glyph[1:-1]
    negated = len(inside) > 1 and inside[0] in "!^"
    members = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
    return f"(?!/)[{'^' if negated else ''}{members}]"
