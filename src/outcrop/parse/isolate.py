"""The parent's side of the worker process: started when needed, killed at the deadline, replaced when dead.

One worker serves the whole process; callers on other threads wait their turn.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any

from outcrop.errors import NotFound, ParseError
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document, Heading, PagePicture, PageWord
from outcrop.records.meta import load_meta
from outcrop.system.limits import over_time, restart_limit
from outcrop.workers.frames import Frame
from outcrop.workers.process import Child, ChildLost

# Interpreter and imports take 0.2 s; a loaded machine with a cold disk has been seen to take 5.
_START_TIMEOUT_S = 60.0


class _Worker(Child):
    """A running worker process, ready for files."""

    def __init__(self, memory_bytes: int) -> None:
        super().__init__("outcrop.parse.worker", str(memory_bytes))
        self.memory_bytes = memory_bytes
        self.receive(within_s=_START_TIMEOUT_S)


_lock = threading.Lock()
_worker: _Worker | None = None


def parse_isolated(kind: str, data: bytes, *, path: str, charset: str | None, limits: ParseLimits) -> Document:
    """Have the worker read some bytes as `kind`; ParseError when it fails, crashes or takes too long."""
    header = {"kind": kind, "path": path, "charset": charset, "max_text_chars": limits.max_text_chars}
    return _as_document(*_ask(header, data, limits, over_time(limits.timeout_s)))


def draw_isolated(data: bytes, page: int, *, width: int, passage: str, limits: ParseLimits) -> PagePicture:
    """Have the worker draw a page of a PDF; NotFound when it has no such page, ParseError as for `parse_isolated`."""
    late = f"page {page} takes longer than {limits.timeout_s:g} s to draw; read its text instead"
    header = {"kind": "pdf", "page": page, "width": width, "passage": passage}
    fields, png = _ask(header, data, limits, late)
    if not png:
        raise NotFound(f"there is no page {page}: the last is {fields['pages']}")
    words = tuple(PageWord(*word) for word in fields.pop("words"))
    return PagePicture(page=page, png=png, words=words, **fields)


def _ask(header: dict[str, Any], data: bytes, limits: ParseLimits, late: str) -> Frame:
    """One request to the worker and its answer; `late` is said where that takes too long."""
    with _lock:
        try:
            worker = _running_worker(limits.memory_bytes)
            restart_limit()  # the turns of other threads are not the time of this file
            timeout_s = limits.timeout_s
            answer, payload = worker.ask(header | {"timeout_s": timeout_s}, data, within_s=timeout_s)
        except ChildLost as lost:
            raise ParseError(late if lost.expired else _explain(lost, limits)) from lost
        if answer.pop("worn"):
            worker.stop()
    if "error" in answer:
        raise ParseError(answer["error"])
    return answer, payload


def _as_document(fields: dict[str, Any], payload: bytes) -> Document:
    """The document whose fields went through JSON, with its text."""
    headings = tuple(Heading(**heading) for heading in fields.pop("headings"))
    lists = {name: tuple(fields.pop(name)) for name in ("pages", "keys", "tags")}
    meta = load_meta(fields.pop("meta"))
    return Document(**{**fields, **lists, "headings": headings, "meta": meta, "text": payload.decode("utf-8")})


def _explain(lost: ChildLost, limits: ParseLimits) -> str:
    return (
        f"the parser crashed ({lost.how}): the file is damaged, or needs more than "
        f"{limits.memory_bytes // 1024**2} MiB of memory (parse_memory_bytes)"
    )


def close_worker() -> None:
    """End the worker process if there is one; the next file that needs it starts another."""
    global _worker  # noqa: PLW0603  one worker a process is the point
    with _lock:
        if _worker is not None:
            _worker.stop()
        _worker = None


def _running_worker(memory_bytes: int) -> _Worker:
    global _worker  # noqa: PLW0603
    if _worker is not None and (_worker.memory_bytes != memory_bytes or not _worker.is_alive()):
        _worker.stop()
        _worker = None
    if _worker is None:
        try:
            _worker = _Worker(memory_bytes)
        except OSError as error:
            raise ParseError(f"the parser's worker process could not start: {error}") from error
    return _worker


def _after_fork() -> None:
    """Another thread of the parent may have held the lock; the worker is the parent's."""
    global _lock, _worker  # noqa: PLW0603
    _lock = threading.Lock()
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(close_worker)
