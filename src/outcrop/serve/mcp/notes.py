"""The kb_* tools: an agent's own notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from outcrop.records.asked import FILTER_OPTIONS
from outcrop.serve.mcp.desk import Call
from outcrop.serve.mcp.find import no_hits, show_answer, show_lines, why_empty
from outcrop.serve.mcp.params import LineNumber, MaxTokens, Offset, Page, Text, Texts
from outcrop.serve.mcp.reply import DEFAULT_TOKENS, Part, Reply, fence_parts, fence_text, one_line
from outcrop.serve.terminal import say_count

if TYPE_CHECKING:
    from outcrop.notes import KbFile

DEFAULT_HITS: Final = 5
MAX_HITS: Final = 10
MAX_NOTE_CHARACTERS: Final = 1_000_000
"""Of one write. A note of that size is no note any more; append the rest (not measured)."""

MAX_PROBLEMS: Final = 50
"""Problems that are listed at once: an agent mends a few at a time (not measured)."""

_Path = Annotated[Text, Field(description="in the knowledge base: folder/name.md")]
_Content = Annotated[str, Field(max_length=MAX_NOTE_CHARACTERS)]
_Supersedes = Annotated[Texts | None, Field(description="notes that this replaces")]
_Limit = Annotated[int, Field(ge=1, le=MAX_HITS)]


def search(
    call: Call,
    query: Text,
    limit: Annotated[_Limit | None, Field(json_schema_extra={"default": DEFAULT_HITS})] = None,
    topK: _Limit | None = None,  # noqa: N803 - what clients of other servers call the limit
    max_tokens: MaxTokens = DEFAULT_TOKENS,
    as_of: Annotated[Text | None, Field(description=FILTER_OPTIONS["as_of"].brief)] = None,
) -> Reply:
    """Search your own notes: decisions, preferences, facts kept from earlier sessions. Use it at the start of a task,
    then kb_read what looks right. {note_scores}. A hit says what replaced it. No hits: nothing known yet."""
    if len(query.strip()) < 2:
        return no_hits(f"No hits: {why_empty('empty_query', '')}.")
    hits = limit or topK or DEFAULT_HITS
    answer = call.state.kb.search(query, hits, as_of=as_of)
    if not answer.hits and answer.reason in (None, "no_hits", "empty_index", "filtered_out"):
        return no_hits(
            "No hits: no note scores 0.3 or more. Nothing is known of it yet, or it is in other words."
        )
    return show_answer(answer, hits, 0, max_tokens)


def read(
    call: Call,
    path: _Path,
    line_start: LineNumber = 1,
    line_end: LineNumber | None = None,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> Reply:
    """A note, whole or some lines. Read it before you edit it."""
    found = call.state.kb.read(path)
    return show_lines(found.path, found.text, line_start, line_end, max_tokens)


def list_notes(
    call: Call,
    prefix: Annotated[Text | None, Field(description="a folder")] = None,
    limit: Page = 50,
    offset: Offset = 0,
) -> Reply:
    """Which notes there are. Use it before you choose a path for a new one."""
    found = call.state.kb.list(prefix or "", limit + 1, offset)
    page = found[:limit]
    if not page:
        return Reply("No more notes." if offset else "There are no notes here yet; kb_write makes one.")
    text = fence_parts(
        [Part(f"{note.path} · {note.title} · {say_count(note.lines, 'line')}") for note in page], offset + 1
    )
    more = f"\nMore: call again with offset={offset + limit}." if len(found) > limit else ""
    return Reply(f"{say_count(len(page), 'note')}, by path.\n{text}{more}")


def write(call: Call, path: _Path, text: _Content, supersedes: _Supersedes = None) -> Reply:
    """Write a whole note (Markdown), replacing what was there. Search first: better add to a note than have two; of a
    newer fact, name the older note in supersedes. Front matter may say valid_from, valid_until, source. Found by its
    words at once, by meaning soon after."""
    return _written(call, call.state.kb.write(path, text, supersedes=supersedes or ()), "Written")


def append(call: Call, path: _Path, text: _Content, supersedes: _Supersedes = None) -> Reply:
    """Add text at the end of a note, which is made if it is not there. Safe beside other writers."""
    return _written(call, call.state.kb.append(path, text, supersedes=supersedes or ()), "Appended")


def check(call: Call) -> Reply:
    """What is wrong with your notes: valid ones that contradict each other, broken links to older notes, bad dates."""
    found = call.state.kb.check()
    if not found:
        return Reply("Nothing is wrong: no contradictions, broken links or bad dates.")
    shown = found[:MAX_PROBLEMS]
    more = f"\nAnd {len(found) - len(shown)} more: mend these first." if len(found) > len(shown) else ""
    text = fence_parts([Part(one_line(f"{each.kind} · {each.told}")) for each in shown])
    return Reply(f"{say_count(len(found), 'problem')}.\n{text}{more}")


def edit(call: Call, path: _Path, old: _Content, new: _Content) -> Reply:
    """Replace a passage of a note. old must be there exactly once: quote enough of it."""
    return _written(call, call.state.kb.edit(path, old, new), "Edited")


def move(call: Call, path: _Path, to: Text) -> Reply:
    """Rename a note or move it to another folder. Refused where a note is already."""
    return _written(call, call.state.kb.move(path, to), "Moved")


def delete(call: Call, path: _Path) -> Reply:
    """Delete a note for good. Only when the user wants it, or its content is wrong or elsewhere."""
    call.state.kb.delete(path)
    return Reply("Deleted.", {"path": one_line(path)})


def _written(call: Call, note: KbFile, done: str) -> Reply:
    """What was written, under the path it has now: without a suffix it was given one."""
    call.wrote()
    text = f"{done}; the note now has {say_count(note.lines, 'line')}:\n{fence_text(one_line(note.path))}"
    offer = _offer(note)
    told = f"{text}\n{offer}" if offer else text
    return Reply(told, {"path": one_line(note.path), "lines": note.lines, "note": offer})


def _offer(note: KbFile) -> str:
    """Valid notes on the subject of one that was written, and how it replaces them."""
    if not note.same_subject:
        return ""
    others = [Part(one_line(f"{each.path}:{each.line} {each.text}")) for each in note.same_subject]
    how = "kb_append with the path of yours, an empty text, and it in supersedes"
    return f"Valid notes on the same subject. If yours replaces one of them: {how}.\n{fence_parts(others)}"
