"""find_definition, related, map: what only source code is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic import Field

from outcrop.errors import NotFound
from outcrop.records import Filter
from outcrop.serve.mcp.call import Call
from outcrop.serve.mcp.find import MIN_EXCERPT_TOKENS
from outcrop.serve.mcp.params import Arguments, Budget, Limit, MaxTokens, Paths, Text, Texts
from outcrop.serve.mcp.reply import DEFAULT_TOKENS, Part, Reply, fence_parts, fence_text, fitting, take_lines

if TYPE_CHECKING:
    from outcrop.records import Relation, StoredChunk

_RELATIONS: Final[dict[Relation, str]] = {
    "caller": "uses it",
    "callee": "it uses",
    "test": "tests it",
    "doc": "writes about it",
}


class FindDefinition(Arguments):
    """What `find_definition` takes."""

    name: Text
    collection: Text | None = None
    limit: Limit = 5
    max_tokens: MaxTokens = DEFAULT_TOKENS


def find_definition(call: Call, args: FindDefinition) -> Reply:
    """Where a name is declared, with the code."""
    limit, budget = args.limit, args.max_tokens
    chunks = call.engine.definitions(args.name, collection=args.collection, limit=limit + 1)
    if not chunks:
        raise NotFound(
            "no declaration bears this name; leave out what stands before the last dot, or use search"
        )
    each = max(budget // 2, MIN_EXCERPT_TOKENS)
    parts = [
        Part(_place(chunk), take_lines(chunk.text.strip("\n"), 1, None, each).text) for chunk in chunks[:limit]
    ]
    shown = fitting(parts, budget)
    more = "\nThere are more; raise limit or max_tokens, or write Class.name." if shown < len(chunks) else ""
    return Reply(
        f"{shown} declaration{'' if shown == 1 else 's'}, likeliest first.\n{fence_parts(parts[:shown])}{more}"
    )


def _place(chunk: StoredChunk) -> str:
    from outcrop.records import place_of

    info = chunk.document
    facts = [
        place_of(info.path, info.kind, chunk.page, chunk.line_start, chunk.line_end),
        f"{chunk.code.kind} {chunk.code.symbol}".strip() if chunk.code else " › ".join(chunk.heading_path),
        f"{info.collection}, document {info.id}",
    ]
    return " · ".join(fact for fact in facts if fact)


class FindRelated(Arguments):
    """What `related` takes."""

    target: Text
    collection: Text | None = None
    limit: Limit = 10
    max_tokens: MaxTokens = DEFAULT_TOKENS


def related(call: Call, args: FindRelated) -> Reply:
    """Callers, callees, tests and documents of a declaration or a place."""
    limit = args.limit
    found = call.engine.related(args.target, limit=limit, collection=args.collection)
    if not found.relatives:
        return Reply("Nothing in the index uses it, is used by it, tests it or writes about it.")
    parts = []
    for kind, words in _RELATIONS.items():
        for item in found.of(kind)[:limit]:
            signature = item.chunk.code.signature if item.chunk.code else ""
            first = signature.strip().split("\n")[0][:200]
            parts.append(Part(f"{words}: {_place(item.chunk)}" + (f" · {first}" if first else "")))
    shown = fitting(parts, args.max_tokens)
    more = (
        f"\n{len(parts) - shown} more did not fit; lower limit or raise max_tokens."
        if shown < len(parts)
        else ""
    )
    return Reply(f"{shown} related places, strongest first of each kind.\n{fence_parts(parts[:shown])}{more}")


class DrawMap(Arguments):
    """What `map` takes."""

    budget_tokens: Budget = DEFAULT_TOKENS
    focus: Texts = Field(default=[])
    collections: Texts = Field(default=[])
    paths: Paths = Field(default=[])


def draw_map(call: Call, args: DrawMap) -> Reply:
    """The most central declarations as an outline."""
    where = Filter(collections=tuple(args.collections), paths=tuple(args.paths))
    drawn = call.engine.map(budget_tokens=args.budget_tokens, focus=args.focus, where=where)
    if not drawn.entries:
        return Reply(
            "There is no code to map: nothing indexed declares anything, or the filters leave none of it."
        )
    head = f"{len(drawn.entries)} declarations of {drawn.files} files, {drawn.left_out} more did not fit."
    return Reply(f"{head}\n{fence_text(drawn.text)}")
