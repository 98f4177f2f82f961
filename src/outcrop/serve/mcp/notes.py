"""The kb_* tools: an agent's own notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from outcrop.serve.mcp.call import Call
from outcrop.serve.mcp.find import no_hits, show_answer, show_lines, why_empty
from outcrop.serve.mcp.reply import Part, Reply, fence_parts, fence_text, one_line

if TYPE_CHECKING:
    from outcrop.notes import KbFile


def search(call: Call) -> Reply:
    """The notes that answer a query."""
    args = call.args
    if len(args["query"].strip()) < 2:
        return no_hits(f"No hits: {why_empty('empty_query', '')}.")
    answer = call.state.kb.search(args["query"], args["limit"], stopped=call.stopped)
    if not answer.hits and answer.reason in (None, "no_hits", "empty_index", "filtered_out"):
        return no_hits(
            "No hits: no note scores 0.3 or more. Nothing is known of it yet, or it is in other words."
        )
    return show_answer(answer, args["limit"], 0, args["max_tokens"])


def read(call: Call) -> Reply:
    """Lines of a note."""
    args = call.args
    found = call.state.kb.read(args["path"])
    return show_lines(found.path, found.text, args["line_start"], args["line_end"], args["max_tokens"])


def list_notes(call: Call) -> Reply:
    """Paths and titles of notes, a page of them."""
    args = call.args
    limit, offset = args["limit"], args["offset"]
    found = call.state.kb.list(args["prefix"] or "", limit + 1, offset)
    page = found[:limit]
    if not page:
        return Reply("No more notes." if offset else "There are no notes here yet; kb_write makes one.")
    text = fence_parts([Part(f"{note.path} · {note.title} · {note.lines} lines") for note in page], offset + 1)
    more = f"\nMore: call again with offset={offset + limit}." if len(found) > limit else ""
    return Reply(f"{len(page)} note{'' if len(page) == 1 else 's'}, by path.\n{text}{more}")


def write(call: Call) -> Reply:
    """Write a whole note."""
    return _written(call, call.state.kb.write(call.args["path"], call.args["text"]), "Written")


def append(call: Call) -> Reply:
    """Add to the end of a note."""
    return _written(call, call.state.kb.append(call.args["path"], call.args["text"]), "Appended")


def edit(call: Call) -> Reply:
    """Replace a passage that is there once."""
    changed = call.state.kb.edit(call.args["path"], call.args["old"], call.args["new"])
    return _written(call, changed, "Edited")


def move(call: Call) -> Reply:
    """Give a note another path."""
    return _written(call, call.state.kb.move(call.args["path"], call.args["to"]), "Moved")


def delete(call: Call) -> Reply:
    """Delete a note."""
    call.state.kb.delete(call.args["path"])
    return Reply("Deleted.", {"path": one_line(call.args["path"])})


def _written(call: Call, note: KbFile, done: str) -> Reply:
    """What was written, under the path it has now: without a suffix it was given one."""
    call.wrote()
    text = f"{done}; the note now has {note.lines} lines:\n{fence_text(one_line(note.path))}"
    return Reply(text, {"path": one_line(note.path), "lines": note.lines})
