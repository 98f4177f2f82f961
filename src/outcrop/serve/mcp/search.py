"""search: by meaning, by exact text or by a pattern; as places, lines or passages, within a token limit.

An agent pays for every word it reads. Places are the cheapest answer: what stands in one file is one line, and each of
its ranges can be handed to read_document as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from outcrop.records import Filter
from outcrop.records.asked import FILTER_OPTIONS, HERE
from outcrop.serve.mcp.desk import Call
from outcrop.serve.mcp.find import QUOTED, WIDER, no_hits, show_answer, why_empty
from outcrop.serve.mcp.params import Limit, MaxTokens, Offset, Text
from outcrop.serve.mcp.reply import DEFAULT_TOKENS, Reply, fence_text, one_line, readable
from outcrop.serve.terminal import clean, say_count
from outcrop.system.dataclass import dataclass
from outcrop.text.tokens.estimate import estimate_tokens

if TYPE_CHECKING:
    from outcrop.records import Answer, GrepOptions, Hit, MatchedFile, MatchedLine

Mode = Literal["meaning", "exact", "regex"]
Detail = Literal["places", "lines", "passages"]

DEFAULT_HITS: Final = 8
DEFAULT_MATCHES: Final = 50
"""Matching lines unless another limit is given: about as many as fit into the default size of an answer."""
MAX_MATCHES: Final = 1_000
"""Lines that are brought into order (not measured); a pattern that matches more says little."""
HIT_LINES: Final = 3
"""Lines of a passage under `lines`, CONTEXT_LINES those around a match under `passages` (not measured)."""
CONTEXT_LINES: Final = 2

LONGEST_SHOWN: Final = 200
"""Characters of a matching line; a minified file has one of megabytes."""


def search(
    call: Call,
    query: Text,
    mode: Mode = "meaning",
    detail: Annotated[
        Detail | None,
        Field(description="places (path:lines) cost least"),
    ] = None,
    limit: Limit | None = None,
    offset: Offset = 0,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
    all_projects: bool = False,
    **options: Any,
) -> Reply:
    """Search the indexed documents, code and notes of your project. mode=meaning goes by words and meaning at once:
    questions, what code does, error texts, half-known names; it replaces rounds of grep. exact and regex give every
    line, as grep does, from files as they are now; plain grep is as good in one known folder and sees what is not
    indexed. {scores}. STALE: the file changed since. Then read_document. {data}."""
    narrowed = call.is_placed and not all_projects
    if mode != "meaning":
        wanted = _Wanted(detail or "lines", limit or DEFAULT_MATCHES, offset, max_tokens)
        from outcrop.records import GrepOptions  # listing the tools need not wait for it, nor for numpy

        where = _read_filter(options)
        within = call.engine.in_project(where) if narrowed else where
        grep = GrepOptions(literal=mode == "exact", where=within)
        return _match(call, query, grep, wanted, narrowed=within is not where)
    count = limit or DEFAULT_HITS
    # One more tells whether there are more.
    here = HERE if narrowed else None
    answer = call.engine.search(query, limit=count + 1, offset=offset, here=here, **options)
    if answer.elsewhere:
        answer = replace(answer, detail=f"{answer.detail}; {WIDER}")
    if not answer.hits and answer.reason == "no_hits" and not offset and narrowed:
        where = _read_filter(options)
        if call.engine.in_project(where) is not where:
            return _nothing_here(answer.detail if answer.elsewhere else WIDER)
    if detail in (None, "passages") or not answer.hits:
        return show_answer(answer, count, offset, max_tokens)
    return _show_hits(answer, _Wanted(detail, count, offset, max_tokens))


def _nothing_here(told: str) -> Reply:
    return no_hits(f"No hits in this project: {why_empty('no_hits', '')}; {one_line(told)}.")


def _read_filter(options: Mapping[str, Any]) -> Filter:
    from outcrop.engine import read_filter

    return read_filter(**{name: options[name] or None for name in FILTER_OPTIONS if name in options})


@dataclass(frozen=True, slots=True)
class _Wanted:
    detail: Detail
    limit: int
    offset: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class _Item:
    """One hit: its file and root, where in the file, what is told of it, and lines of it with their numbers."""

    path: str
    root: str
    place: str
    facts: str = ""
    lines: tuple[tuple[int, str], ...] = ()

    def tokens(self) -> int:
        """What it takes beside the name of its file, about."""
        return estimate_tokens(f"{self.place} {self.facts}") + sum(
            estimate_tokens(text) + 3 for _, text in self.lines
        )


def _show_hits(answer: Answer, wanted: _Wanted) -> Reply:
    hits = answer.hits[: wanted.limit]
    said = answer.detail or answer.reason
    note = f"\nNote: {one_line(said)}" if said else ""
    head = f"{say_count(len(hits), 'hit')}, best first.{note}"
    items = [_as_item(hit, with_lines=wanted.detail == "lines") for hit in hits]
    return _show(items, wanted, head, more=len(answer.hits) > wanted.limit)


def _as_item(hit: Hit, *, with_lines: bool) -> _Item:
    facts = [f"{hit.score:.2f}", hit.code.symbol if hit.code else "", "STALE" if hit.stale else ""]
    facts.append(hit.told)
    place = hit.place.removeprefix(hit.document.path)
    lines = tuple(_best_lines(hit)) if with_lines else ()
    return _Item(hit.document.path, hit.document.root or "", place, " ".join(filter(None, facts)), lines)


def _best_lines(hit: Hit) -> Iterable[tuple[int, str]]:
    from outcrop.serve.excerpt import Marker, best_lines

    marker = Marker(hit.why.matched_terms, hit.why.matched_phrases, hit.why.language)
    headings = None if hit.document.language else (hit.document.title, *hit.heading_path)
    for at, line in best_lines(hit.text, marker, HIT_LINES, headings=headings).lines:
        yield hit.line_start + at, line


def _match(call: Call, pattern: str, grep: GrepOptions, wanted: _Wanted, *, narrowed: bool) -> Reply:
    around = CONTEXT_LINES if wanted.detail == "passages" else 0
    grep = replace(grep, before=around, after=around, max_per_file=MAX_MATCHES)
    found = call.engine.grep(pattern, grep).take(MAX_MATCHES)
    files = call.engine.rank_files(pattern, found.files)
    items = [item for file in files for item in _as_items(file, around)]
    if not items and narrowed:
        return _nothing_here(WIDER)
    if not items[wanted.offset :]:
        why = f"offset {wanted.offset} is past the last line" if items else why_empty("no_hits", "")
        return no_hits(f"No hits: {why}.")
    count = f"{'more than ' if found.more else ''}{say_count(len(items), 'line')} in {say_count(len(files), 'file')}"
    note = f"\nNote: {say_count(len(found.problems), 'file')} could not be read." if found.problems else ""
    shown = items[wanted.offset : wanted.offset + wanted.limit]
    head = f"{count}, likeliest files first.{note}"
    return _show(shown, wanted, head, more=len(items) > wanted.offset + wanted.limit)


def _as_items(file: MatchedFile, around: int) -> Iterable[_Item]:
    info = file.document
    for line in file.lines:
        if line.matched:
            near = [other for other in file.lines if abs(other.number - line.number) <= around]
            lines = tuple((other.number, _cut(other)) for other in near)
            yield _Item(info.path, info.root or file.ref or "", f":{line.number}", "", lines)


def _cut(line: MatchedLine) -> str:
    """The line, or what stands around its first match."""
    if len(line.text) <= LONGEST_SHOWN:
        return line.text
    start = max(
        0, min(line.spans[0][0] if line.spans else 0, len(line.text) - LONGEST_SHOWN) - LONGEST_SHOWN // 4
    )
    return f"{'…' if start else ''}{line.text[start : start + LONGEST_SHOWN]}…"


def _show(items: Sequence[_Item], wanted: _Wanted, head: str, *, more: bool) -> Reply:
    """As many as fit, by file; a file's place is that of its first hit."""
    room, shown = wanted.max_tokens, 0
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item in items:
        key = (item.root, item.path)
        room -= item.tokens() + (0 if key in groups else estimate_tokens(item.path) + 2)
        if room < 0 and shown:
            break
        groups.setdefault(key, []).append(item)
        shown += 1
    roots = {root: None for root, _ in groups if root}
    text = "\n".join(_as_text(path, group, wanted.detail) for (_, path), group in groups.items())
    below = f"below {', '.join(roots)}\n" if roots else ""
    rest = ""
    if more or shown < len(items):
        rest = f"\nMore: call again with offset={wanted.offset + shown}."
    data = [
        {"filePath": readable(path), "hits": [_as_data(item, wanted.detail) for item in group]}
        for (_, path), group in groups.items()
    ]
    body = fence_text(clean(f"{below}{text}"))
    note = f"{head} {QUOTED}{rest}" if wanted.detail != "places" else f"{head}{rest}"
    return Reply(f"{head}\n{body}{rest}", {"hits": data, "note": note})


def _as_text(path: str, group: Sequence[_Item], detail: Detail) -> str:
    name = one_line(path)
    if detail == "places":
        first, *others = (f"{item.place} {item.facts}".rstrip() for item in group)
        return name + first + "".join(f", {other.removeprefix(':')}" for other in others)
    facts = ", ".join(f"{item.place.removeprefix(':')} {item.facts}" for item in group if item.facts)
    lines = {number: text for item in group for number, text in item.lines}
    return f"{name}{' ' if facts else ''}{facts}\n" + "\n".join(
        f"{number}: {lines[number]}" for number in sorted(lines)
    )


def _as_data(item: _Item, detail: Detail) -> str:
    place = f"{item.place.removeprefix(':')} {item.facts}".strip()
    if detail == "places":
        return readable(place)
    return readable(
        "\n".join([item.facts and place, *(f"{number}: {text}" for number, text in item.lines)]).strip()
    )
