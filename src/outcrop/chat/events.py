"""The events of an answer: the page, the terminal and programs read the same ones."""

from __future__ import annotations

from typing import Final

from outcrop.records import Hit, Reason
from outcrop.system.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A chunk, or joined neighbours, that the model was shown under a number; enough to open it in its document.

    `text` is what the model saw, `truncated` whether that is less than the whole. `start` and `end` are offsets into
    the document's text, lines count from 1; `place` is where it is, as a person would write it.
    """

    number: int
    document_id: int
    collection: str
    path: str
    title: str
    kind: str
    place: str
    line_start: int
    line_end: int
    start: int
    end: int
    page: int | None
    heading_path: tuple[str, ...]
    chunk_ids: tuple[int, ...]
    score: float
    text: str
    truncated: bool
    stale: bool | None


def source_of(number: int, hit: Hit, text: str, truncated: bool) -> Source:
    """A hit as a numbered source that shows `text`."""
    document = hit.document
    return Source(
        number=number,
        document_id=document.id,
        collection=document.collection,
        path=document.path,
        title=document.title,
        kind=document.language or document.kind,
        place=hit.place,
        line_start=hit.line_start,
        line_end=hit.line_end,
        start=hit.start,
        end=hit.end,
        page=hit.page,
        heading_path=hit.heading_path,
        chunk_ids=hit.chunk_ids,
        score=hit.score,
        text=text,
        truncated=truncated,
        stale=hit.stale,
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources the model was shown so far. When it searches several times, each of these events is longer."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asked for a search."""

    name: str
    query: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know while the chat goes on; `reason` is that of the search, if it is about one."""

    message: str
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete. `citations` are the numbers of the sources it cites, in order; `unknown` are numbers it
    made up. `stopped`: the reader ended it before the model did. `unsupported` are numbers, options and names in code
    that it states and the sources it cites do not hold."""

    citations: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    stopped: bool = False
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no complete answer; the message says why and what to do next."""

    message: str


Event = Sources | Delta | ToolCall | Notice | Done | Failed
"""The last one is Done or Failed."""

_NAMES: Final[dict[type[Event], str]] = {
    Sources: "sources",
    Delta: "delta",
    ToolCall: "tool",
    Notice: "notice",
    Done: "done",
    Failed: "error",
}


def event_name(event: Event) -> str:
    """The name of an event outside this process: `sources`, `delta`, `tool`, `notice`, `done`, `error`."""
    return _NAMES[type(event)]
