"""Source code for people: where it lies, what a chunk declares, what it is related to, and the summary of a map."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outcrop.serve.terminal import clean_line, crop, say_count
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from outcrop import records
    from outcrop.serve.cli.session import Screen

NAMES: Final = 3
"""Declarations named of a chunk that holds several; the excerpt shows the rest."""
TARGETS: Final = 5
"""Places of a target that are listed: a name that is declared more often needs a narrower question."""
PIPE_COLUMNS: Final = 100
"""Where nobody's screen sets the width; --json has whole signatures."""
MIN_SIGNATURE: Final = 16
"""Columns below which the beginning of a signature says nothing."""

RELATIONS: Final[tuple[records.Relation, ...]] = ("caller", "callee", "test", "doc")
# A field is often named like a variable somewhere else; where something larger is used too, that is what is meant.
_SMALL_KINDS: Final = frozenset({"field", "variable", "property", "member"})
_OTHER_KINDS: Final = {"header": "imports"}  # which is why the beginning of a file is related to another
_LAST_NAME: Final = re.compile(r"[^\W\d]\w*(?=\W*\Z)")


def path_from_here(info: records.DocumentInfo) -> str:
    """The path of a document's file, from the current folder where it lies below; what is no file keeps its name."""
    if info.origin != "file":
        return info.path
    try:
        return str(Path(info.uri).relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere; or the current folder was removed
        return info.uri


def place_from_here(hit: records.Hit) -> str:
    """`notes/plan.md:12-30`, so that editors and terminals open it there."""
    from outcrop.records import place_of

    info = hit.document
    path, section = path_from_here(info), hit.heading_path
    return place_of(path, info.kind, hit.page, hit.line_start, hit.line_end, section)


def about_code(notes: records.CodeNotes) -> str:
    """`ConnectionPool.acquire · method`; of a chunk with several declarations `ConnectionPool: acquire, release`."""
    if notes.symbol and notes.kind:
        return f"{clean_line(notes.symbol)} · {clean_line(notes.kind)}"
    return names_of(notes) or clean_line(notes.kind)


def names_of(notes: records.CodeNotes) -> str:
    """The name of the main declaration, else the names of those that stand side by side."""
    symbol = clean_line(notes.symbol)
    if symbol and notes.kind:
        return symbol
    within = symbol.rpartition(".")[2]
    outer = [item.name for item in notes.defines if item.scope == within]
    listed = _list([clean_line(name) for name in dict.fromkeys(outer)])
    return f"{symbol}: {listed}" if symbol and listed else symbol or listed


def declared_at(notes: records.CodeNotes | None, line_start: int) -> int | None:
    """At which line of a chunk, from 0, its main declaration stands; None where it has none or it began before."""
    if notes is None or not notes.kind:
        return None
    found = (item for item in notes.defines if f".{notes.symbol}".endswith(f".{item.name}"))
    return next((item.line - line_start for item in found), None)


def print_related(out: Screen, related: records.Related, asked: str, limit: int) -> None:
    """The target's places, then what is related to it, at most `limit` in a section."""
    targets = _target_lines(related.target, asked)
    used = {item.name for chunk in related.target if chunk.code for item in chunk.code.mentions}
    sections = [
        (
            f"{kind}s",
            _relative_lines(related.of(kind)[:limit], used if kind == "callee" else ()),
            related.of(kind)[limit:],
        )
        for kind in RELATIONS
    ]
    columns = _Columns.fit(out, [*targets, *(line for _, lines, _ in sections for line in lines)])
    for line in targets[:TARGETS]:
        columns.print(out, line, indent="")
    if len(targets) > TARGETS:
        out.line(f"and {len(targets) - TARGETS} more places; FILE:LINE names one", style="dim")
    for label, lines, more in sections:
        if lines:
            out.line()
            note = f"  {len(lines)}" + (", and more: raise --limit" if more else "")
            out.line((label, "bold"), (note, "dim"))
        for line in lines:
            columns.print(out, line, indent="  ")
    missing = _missing([label for label, lines, _ in sections if not lines])
    if missing:
        out.line()
        out.line(missing, style="dim")


def print_map_summary(out: Screen, drawn: records.CodeMap, *, filtered: bool) -> None:
    """How much of the code is on the map, or why nothing is."""
    if drawn.entries:
        said = (
            f"{say_count(drawn.files, 'file')}, {say_count(len(drawn.entries), 'declaration')}, "
            f"{drawn.tokens:,} of {say_count(drawn.budget_tokens, 'token')}"
        )
        out.line(said + (f"; {drawn.left_out:,} left out" if drawn.left_out else ""), style="dim")
        return
    if drawn.left_out:
        why = f"not one declaration fits into {say_count(drawn.budget_tokens, 'token')}; raise --budget"
    elif filtered:
        why = "no source code passes these filters; `outcrop ls` with the same ones shows what does"
    else:
        why = "the index holds no source code with declarations; `outcrop add FOLDER` brings some in"
    out.line(why, style="yellow")


def print_warnings(out: Screen, detail: str, listed: int = 5) -> None:
    """What a context could not honour, a line each; a folder that does not fit has a remark for every part of it."""
    remarks = detail.split("; ")
    for remark in remarks[:listed]:
        out.line(f"warning: {clean_line(remark)}", style="yellow")
    if len(remarks) > listed:
        out.line(f"warning: and {len(remarks) - listed:,} more like these", style="yellow")


@dataclass(frozen=True, slots=True)
class _Line:
    """`path:lines  symbol  signature`."""

    path: str
    first: int
    last: int
    name: str
    signature: str = ""

    @property
    def place(self) -> str:
        last = "" if self.last == self.first else f"-{self.last}"
        return f"{self.path}:{self.first}{last}"


def _line(chunk: records.StoredChunk) -> _Line:
    notes = chunk.code
    name = (names_of(notes) or _OTHER_KINDS.get(notes.kind, clean_line(notes.kind))) if notes else ""
    if not name and not chunk.document.language:
        about = chunk.heading_path[-2:] or (chunk.document.title,)
        name = " › ".join(crop(clean_line(part), 60) for part in about)
    signature = clean_line(notes.signature) if notes else ""
    return _Line(clean_line(path_from_here(chunk.document)), chunk.line_start, chunk.line_end, name, signature)


def _target_lines(chunks: Sequence[records.StoredChunk], asked: str) -> list[_Line]:
    """Neighbours as one line: a class is many chunks, and a file is all of its."""
    lines: list[_Line] = []
    before: records.StoredChunk | None = None
    for chunk in chunks:
        item = _asked_for(chunk, asked)
        if item is not None:
            lines.append(_definition_line(chunk, item))
        elif before is not None and (before.document.id, before.index + 1) == (chunk.document.id, chunk.index):
            lines[-1] = _extend(lines[-1], chunk)
        else:
            lines.append(_line(chunk))
        before = chunk if item is None else None
    return lines


def _asked_for(chunk: records.StoredChunk, asked: str) -> records.Definition | None:
    """The declaration of the name that was asked for, where it is not the chunk's main one."""
    name = _LAST_NAME.search(asked)
    if chunk.code is None or name is None or chunk.document.uri.endswith(asked):
        return None
    if chunk.code.kind and chunk.code.symbol.rpartition(".")[2].lower() == name[0].lower():
        return None
    named = [item for item in chunk.code.defines if item.name.lower() == name[0].lower()]
    return next((item for item in named if item.name == name[0]), named[0] if named else None)


def _definition_line(chunk: records.StoredChunk, item: records.Definition) -> _Line:
    at, lines = item.line - chunk.line_start, chunk.text.split("\n")
    signature = clean_line(lines[at]).rstrip(" {:") if 0 <= at < len(lines) else ""
    name = f"{item.scope}.{item.name}" if item.scope else item.name
    return _Line(clean_line(path_from_here(chunk.document)), item.line, item.line, clean_line(name), signature)


def _extend(line: _Line, chunk: records.StoredChunk) -> _Line:
    """The line with one more chunk, under the name that both share."""
    symbol = clean_line(chunk.code.symbol).split(".") if chunk.code else []
    both = zip(line.name.partition(":")[0].split("."), symbol, strict=False)
    name = ".".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], both))
    return replace(line, last=chunk.line_end, name=name, signature=line.signature if name == line.name else "")


def _relative_lines(relatives: Iterable[records.Relative], used: Collection[str]) -> list[_Line]:
    """A line for each declaration, where the strongest of its parts stands. Of a chunk that holds several, those that
    are `used`."""
    joined: dict[tuple[int, str], _Line] = {}
    for chunk in (item.chunk for item in relatives):
        line, whole = _line(chunk), bool(chunk.code and chunk.code.kind)
        meant = [item for item in chunk.code.defines if item.name in used] if chunk.code else []
        meant = [item for item in meant if item.kind not in _SMALL_KINDS] or meant
        if meant and not (whole and line.name.rpartition(".")[2] in used):
            line, whole = _used_line(chunk, meant), False
        key = (chunk.document.id, line.name if whole else f"#{chunk.index}")
        other = joined.get(key, line)
        joined[key] = replace(other, first=min(other.first, line.first), last=max(other.last, line.last))
    return list(joined.values())


def _used_line(chunk: records.StoredChunk, meant: Sequence[records.Definition]) -> _Line:
    if len(meant) == 1:
        return _definition_line(chunk, meant[0])
    scopes = {item.scope for item in meant}
    within = f"{clean_line(scopes.pop())}: " if len(scopes) == 1 and "" not in scopes else ""
    names = within + _list([clean_line(item.name) for item in meant])
    return _Line(clean_line(path_from_here(chunk.document)), chunk.line_start, chunk.line_end, names)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Widths: the screen's with aligned columns; into a pipe nothing is aligned."""

    width: int
    place: int = 0
    name: int = 0

    @classmethod
    def fit(cls, out: Screen, lines: Sequence[_Line]) -> _Columns:
        """As wide as the longest, but not so wide that one long path pushes every signature off the screen."""
        if not out.is_terminal:
            return cls(PIPE_COLUMNS)
        width = out.console.width
        place = max((len(line.place) for line in lines if len(line.place) <= 0.45 * width), default=0)
        name = max((len(line.name) for line in lines if len(line.name) <= 0.3 * width), default=0)
        return cls(width, place, name)

    def print(self, out: Screen, line: _Line, indent: str) -> None:
        """The line; the signature is cut or left out, the place never."""
        from rich.cells import cell_len

        place = f"{line.place:<{max(self.place + 2 - len(indent), 0)}}" if self.place else line.place
        name = f"  {line.name:<{self.name}}" if line.name else ""
        room = self.width - cell_len(indent + place + name) - 2
        if line.signature and room >= MIN_SIGNATURE:
            out.line(indent, (place, "cyan"), (name, "green"), (f"  {crop(line.signature, room)}", "dim"))
        elif name:
            out.line(indent, (place, "cyan"), (name.rstrip(), "green"))
        else:
            out.line(indent, (place.rstrip(), "cyan"))


def _missing(none: Sequence[str]) -> str:
    if len(none) == len(RELATIONS):
        return (
            "Nothing in the index uses it, and it uses nothing that is declared there. "
            "`outcrop add FOLDER` brings in code that may."
        )
    advice = "; `outcrop search` finds uses that are not written as a name" if "callers" in none else ""
    return f"no {', no '.join(none)}{advice}" if none else ""


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMES]) + (" …" if len(names) > NAMES else "")
