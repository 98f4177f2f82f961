"""Source code by its declarations: the head of the file, then each declaration, small ones grouped, large ones cut.

A region is a stretch that should stay whole. Regions cover the text without a gap; the cutter then cuts those that
are too large at statements, and trims the space around the rest.

A chunk of code has a short summary in words, made from what its grammar knows, which is embedded beside the code and
shown before it in a packed context. People ask in words for what names only hint at: the summary gives the names, the
first sentence of the documentation, and what the code calls. A model may write a better one (see `Commentator`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from operator import itemgetter
from typing import Final

from outcrop.chunk.boilerplate import boilerplate_end, is_boilerplate
from outcrop.chunk.cut import QUARTERS
from outcrop.records import CodeNotes, Declaration, Definition, Mention, Outline, Role
from outcrop.system.dataclass import dataclass

SMALL_TOKENS = 80
"""A smaller declaration says little by itself and shares a chunk with its neighbours. NDCG@10 on the code set
(`benchmarks.code`, on which it was chosen) is .900 with 80 and .898 with 50."""
MAX_MENTIONS = 96
"""Most names kept for one chunk: a table of a thousand constants is not a hub of the program (not measured)."""
MAX_DEFINITIONS = 64
"""Most declarations kept for one chunk, for the same reason (not measured)."""
MAIN_SHARE = 0.6
"""Share of a chunk above which one of its declarations stands for the whole (not measured)."""

LICENCE_SHARE = 0.5
"""Share of a file's head from which a licence becomes a chunk of its own (not measured)."""

Size = Callable[[int, int], int]


@dataclass(slots=True)
class _Branch:
    """A declaration with those inside it."""

    declaration: Declaration
    inner: list[_Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Region:
    start: int
    end: int
    parent: int  # the start of the declaration around it, -1 at the top level


def regions_of(text: str, outline: Outline, size: Size, limit: int) -> list[tuple[int, int]]:
    """Stretches that cover the whole text, each one declaration, a part of a large one, or several small ones."""
    tree = _nest(outline.declarations)
    header = _line_end(text, outline.header_end) if text[: outline.header_end].strip() else 0
    regions = []
    if header:
        # A licence that would drown the file's own words becomes a chunk of its own.
        licence = boilerplate_end(text[:header], outline.language)
        licence = licence if LICENCE_SHARE * header <= licence < header else 0
        regions += [
            _Region(start, end, -2 - start) for start, end in pairwise((0, licence, header)) if start < end
        ]
    regions += _split(text, tree, header, len(text), -1, size, limit)
    return _group(text, regions, size, limit)


def _nest(declarations: Sequence[Declaration]) -> list[_Branch]:
    top: list[_Branch] = []
    open_: list[_Branch] = []
    for declaration in sorted(declarations, key=lambda item: (item.start, -item.end)):
        while open_ and open_[-1].declaration.end <= declaration.start:
            open_.pop()
        if open_ and declaration.end > open_[-1].declaration.end:
            continue  # overlapping nodes in a tree with errors: keep the first
        branch = _Branch(declaration)
        (open_[-1].inner if open_ else top).append(branch)
        open_.append(branch)
    return top


def _split(
    text: str, branches: Sequence[_Branch], start: int, end: int, parent: int, size: Size, limit: int
) -> Iterator[_Region]:
    at = start
    for branch in branches:
        declaration = branch.declaration
        first = _line_start(text, declaration.start, at)
        last = min(_line_end(text, declaration.end), end)
        if first < at or last <= first:
            continue
        if text[at:first].strip():
            yield _Region(at, first, parent)
            at = first
        if branch.inner and size(at, last) > limit:
            yield from _split(text, branch.inner, at, last, declaration.start, size, limit)
        else:
            yield _Region(at, last, parent)
        at = last
    if at < end:
        yield _Region(at, end, parent)


def _group(text: str, regions: Sequence[_Region], size: Size, limit: int) -> list[tuple[int, int]]:
    small = min(SMALL_TOKENS * QUARTERS, limit // 2)
    groups: list[_Region] = []
    sizes: list[int] = []  # of each group
    for region in regions:
        weight = size(region.start, region.end)
        if groups:
            last = groups[-1]
            fits = size(last.start, region.end) <= limit
            kin = last.parent == region.parent
            bare = not any(map(str.isalnum, text[region.start : region.end]))  # only closing braces
            joins = bare or (kin and (sizes[-1] < small or weight < small))
            if joins and (fits or (bare and sizes[-1] > limit)):  # it will be cut anyway, so a brace fits
                groups[-1] = _Region(last.start, region.end, last.parent)
                sizes[-1] = size(last.start, region.end)
                continue
        groups.append(region)
        sizes.append(weight)
    return [(group.start, group.end) for group in groups]


def _line_start(text: str, offset: int, least: int) -> int:
    line = text.rfind("\n", least, offset) + 1 or least
    return line if not text[line:offset].strip() else offset


_REST = re.compile(r"[ \t;,)}\]]*(?://[^\n]*|#[^\n]*|--[^\n]*)?\n?")


def _line_end(text: str, offset: int) -> int:
    """The end of the line if only closing brackets or a comment follow, else `offset`."""
    found = _REST.match(text, offset)
    return found.end() if found and (found.end() == len(text) or text[found.end() - 1] == "\n") else offset


# ------------------------------------------------------------------ notes on a chunk


class Notes:
    """The declarations and names of one text, by stretch."""

    def __init__(self, text: str, outline: Outline, role: Role = "") -> None:
        self._text = text
        self._role = role
        self._language = outline.language
        self._declarations = sorted(outline.declarations, key=lambda item: (item.start, -item.end))
        self._at = [declaration.start for declaration in self._declarations]
        # by their own first line: a long comment above may end up in another chunk
        self._by_own = sorted(outline.declarations, key=lambda item: (item.at, -item.end))
        self._own = [declaration.at for declaration in self._by_own]
        self._references = outline.references
        self._reference_at = [reference.start for reference in outline.references]

    def of(self, start: int, end: int, line: int) -> tuple[CodeNotes | None, tuple[str, ...] | None]:
        """Notes on `text[start:end]`, which begins at line `line`, and its place: scope and name. Text that is not code
        only has the names it mentions, if any."""
        if not self._language:
            mentions = self._mentions(start, end)
            return (CodeNotes(mentions=mentions) if mentions else None), None
        inside = self._by_own[bisect_left(self._own, start) : bisect_left(self._own, end)]
        # without closing brackets: the last part of a method may include its class's brace
        around = self._around(start, start + len(self._text[start:end].rstrip(" \t\r\n;,)}]")))
        main = self._main(inside, around, start, end)
        defines = tuple(
            Definition(
                item.name,
                item.kind,
                item.scope[-1] if item.scope else "",
                line + self._text.count("\n", start, item.at),
            )
            for item in inside[:MAX_DEFINITIONS]
        )
        if main is not None:
            place: tuple[str, ...] = (*main.scope, main.name)
        else:
            place = inside[0].scope if inside else ((*around.scope, around.name) if around else ())
        kind = main.kind if main else ""
        if not main and is_boilerplate(self._text[start:end], self._language):
            kind = "header"
        symbol, mentions = ".".join(place), self._mentions(start, end)
        notes = CodeNotes(
            symbol=symbol,
            kind=kind,
            signature=main.signature if main else "",
            summary=summarise(symbol, mentions, inside, main, self._role),
            defines=defines,
            mentions=mentions,
        )
        return notes, place

    def _around(self, start: int, end: int) -> Declaration | None:
        """The innermost declaration that holds the stretch."""
        for number in range(bisect_right(self._at, start) - 1, -1, -1):
            item = self._declarations[number]
            if item.end >= end and item.start < start:
                return item
            if not item.scope and item.end <= start:
                break  # a top-level declaration that ended before: none of the earlier ones can reach this far
        return None

    @staticmethod
    def _main(
        inside: Sequence[Declaration], around: Declaration | None, start: int, end: int
    ) -> Declaration | None:
        """The declaration that makes up most of a chunk: one it contains, or the one it is part of."""
        outermost = [
            item
            for item in inside
            if not any(o is not item and o.start <= item.start and item.end <= o.end for o in inside)
        ]
        if len(outermost) == 1:
            return outermost[0]
        if not outermost:
            return around
        size, largest = max(
            ((min(item.end, end) - max(item.start, start), item) for item in outermost), key=itemgetter(0)
        )
        return largest if size > MAIN_SHARE * (end - start) else None

    def _mentions(self, start: int, end: int) -> tuple[Mention, ...]:
        low, high = bisect_left(self._reference_at, start), bisect_left(self._reference_at, end)
        if low == high:
            return ()
        counts = Counter(map(_NAME_KIND_QUALIFIER, self._references[low:high]))
        most = sorted(counts.items(), key=_COUNT, reverse=True)[:MAX_MENTIONS]
        return tuple([Mention(name, kind, qualifier, count) for (name, kind, qualifier), count in most])


_NAME_KIND_QUALIFIER = itemgetter(0, 1, 3)
_COUNT = itemgetter(1)

MAX_NAMES: Final = 8
"""Most names listed as declared or called: more would drown the rest (not measured)."""
MAX_DOCS: Final = 3
"""Most other declarations whose documentation is quoted (not measured)."""

_ROLES: Final[dict[str, str]] = {
    "test": "Test code.",
    "benchmark": "Benchmark.",
    "example": "Example.",
    "generated": "Generated.",
    "vendored": "Vendored.",
    "compat": "For compatibility.",
}


def summarise(
    symbol: str,
    mentions: Sequence[Mention],
    inside: Sequence[Declaration],
    main: Declaration | None,
    role: Role,
) -> str:
    """What a chunk is, says and does: `Method acquire of ConnectionPool: Take a connection. Calls wait, open.`"""
    parts = []
    if main is not None:
        of = f" of {main.scope[-1]}" if main.scope else ""
        parts.append(_sentence(f"{main.kind.capitalize()} {main.name}{of}", main.doc))
    docs = [item for item in inside if item is not main and item.doc]
    parts += [_sentence(item.name, item.doc) for item in docs[:MAX_DOCS]]
    told = {item.name for item in docs[:MAX_DOCS]} | ({main.name} if main is not None else set())
    others = [item.name for item in inside if item.name not in told]
    if others:
        place = f" in {symbol}" if main is None and symbol else ""
        parts.append(f"Declares {', '.join(dict.fromkeys(others[:MAX_NAMES]))}{place}.")
    for kind, verb in (("inherit", "Extends"), ("call", "Calls")):
        names = dict.fromkeys(name for name, used_as, _, _ in mentions if used_as == kind and name not in told)
        if names:
            parts.append(f"{verb} {', '.join(list(names)[:MAX_NAMES])}.")
    if parts and role in _ROLES:
        parts.append(_ROLES[role])
    return " ".join(parts)


def _sentence(name: str, doc: str) -> str:
    said = " ".join(doc.split())
    if not said:
        return f"{name}."
    return f"{name}: {said}" + ("" if said.endswith((".", "!", "?", ":")) else ".")
