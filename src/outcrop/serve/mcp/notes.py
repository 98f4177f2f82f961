"""The kb_* tools: an agent's own notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from outcrop.serve.mcp.call import Call
from outcrop.serve.mcp.find import no_hits, show_answer, show_lines, why_empty
from outcrop.serve.mcp.params import Arguments, LineRange, MaxTokens, Offset, Page, Text
from outcrop.serve.mcp.reply import DEFAULT_TOKENS, Part, Reply, fence_parts, fence_text, one_line

if TYPE_CHECKING:
    from outcrop.notes import KbFile


DEFAULT_HITS: Final = 5
MAX_HITS: Final = 10
MAX_NOTE_CHARACTERS: Final = 1_000_000
"""Of one write. A note of that size is no note any more; append the rest (not measured)."""

_Path = Annotated[Text, Field(description="in the knowledge base: folder/name.md")]
_Content = Annotated[str, Field(max_length=MAX_NOTE_CHARACTERS)]
_Limit = Annotated[int, Field(ge=1, le=MAX_HITS)]


class SearchNotes(Arguments):
    """What `kb_search` takes. `topK` is what clients of other servers call the limit."""

    query: Text
    limit: _Limit = DEFAULT_HITS
    topK: _Limit | None = None  # noqa: N815 - their name
    max_tokens: MaxTokens = DEFAULT_TOKENS

    @property
    def hits(self) -> int:
        """How many hits are wanted; where both names are given, `limit` counts."""
        return self.topK if self.topK is not None and "limit" not in self.model_fields_set else self.limit


def search(call: Call, args: SearchNotes) -> Reply:
    """The notes that answer a query."""
    if len(args.query.strip()) < 2:
        return no_hits(f"No hits: {why_empty('empty_query', '')}.")
    answer = call.state.kb.search(args.query, args.hits, stopped=call.stopped)
    if not answer.hits and answer.reason in (None, "no_hits", "empty_index", "filtered_out"):
        return no_hits(
            "No hits: no note scores 0.3 or more. Nothing is known of it yet, or it is in other words."
        )
    return show_answer(answer, args.hits, 0, args.max_tokens)


class ReadNote(LineRange):
    """What `kb_read` takes."""

    path: _Path


def read(call: Call, args: ReadNote) -> Reply:
    """Lines of a note."""
    found = call.state.kb.read(args.path)
    return show_lines(found.path, found.text, args)


class ListNotes(Arguments):
    """What `kb_list` takes."""

    prefix: Text | None = Field(default=None, description="a folder")
    limit: Page = 50
    offset: Offset = 0


def list_notes(call: Call, args: ListNotes) -> Reply:
    """Paths and titles of notes, a page of them."""
    limit, offset = args.limit, args.offset
    found = call.state.kb.list(args.prefix or "", limit + 1, offset)
    page = found[:limit]
    if not page:
        return Reply("No more notes." if offset else "There are no notes here yet; kb_write makes one.")
    text = fence_parts([Part(f"{note.path} · {note.title} · {note.lines} lines") for note in page], offset + 1)
    more = f"\nMore: call again with offset={offset + limit}." if len(found) > limit else ""
    return Reply(f"{len(page)} note{'' if len(page) == 1 else 's'}, by path.\n{text}{more}")


class WriteNote(Arguments):
    """What `kb_write` and `kb_append` take."""

    path: _Path
    text: _Content


def write(call: Call, args: WriteNote) -> Reply:
    """Write a whole note."""
    return _written(call, call.state.kb.write(args.path, args.text), "Written")


def append(call: Call, args: WriteNote) -> Reply:
    """Add to the end of a note."""
    return _written(call, call.state.kb.append(args.path, args.text), "Appended")


class EditNote(Arguments):
    """What `kb_edit` takes."""

    path: _Path
    old: _Content
    new: _Content


def edit(call: Call, args: EditNote) -> Reply:
    """Replace a passage that is there once."""
    return _written(call, call.state.kb.edit(args.path, args.old, args.new), "Edited")


class MoveNote(Arguments):
    """What `kb_move` takes."""

    path: _Path
    to: Text


def move(call: Call, args: MoveNote) -> Reply:
    """Give a note another path."""
    return _written(call, call.state.kb.move(args.path, args.to), "Moved")


class DeleteNote(Arguments):
    """What `kb_delete` takes."""

    path: _Path


def delete(call: Call, args: DeleteNote) -> Reply:
    """Delete a note."""
    call.state.kb.delete(args.path)
    return Reply("Deleted.", {"path": one_line(args.path)})


def _written(call: Call, note: KbFile, done: str) -> Reply:
    """What was written, under the path it has now: without a suffix it was given one."""
    call.wrote()
    text = f"{done}; the note now has {note.lines} lines:\n{fence_text(one_line(note.path))}"
    return Reply(text, {"path": one_line(note.path), "lines": note.lines})
