"""A model's comments on chunks of code: asked for once per content, stored as the chunk's summary.

The key of a comment's vector is made of the comment and its author. So a stored summary shows whether this commentator
wrote it, and a comment is asked for again only when another one did, or none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from outcrop.contracts import Commentator, Store
from outcrop.embed.keys import summary_key
from outcrop.errors import EmbedError
from outcrop.records import Chunk, DocumentWrite, Failure

log = logging.getLogger(__name__)

ASKED_AT_ONCE: Final = 16
"""Chunks handed to a commentator at a time: enough to keep its threads busy, few enough to stop within seconds."""


class Comments:
    """The comments of one run. A commentator that fails is not asked again: summaries are made without it."""

    def __init__(self, commentator: Commentator, store: Store, check_stopped: Callable[[], None]) -> None:
        self._commentator = commentator
        self._store = store
        self._check_stopped = check_stopped
        self._error = ""
        self._without = 0

    def put_into(self, writes: Sequence[DocumentWrite]) -> list[DocumentWrite]:
        """The same documents with comments as summaries, where there is one."""
        wanted: dict[bytes, tuple[str, str]] = {}
        for write in writes:
            for position in _worth_comment(write):
                key, chunk = write.text_keys[position], write.chunks[position]
                wanted.setdefault(key, (_place(write, chunk), chunk.text))
        if not wanted:
            return list(writes)
        comments = self._stored(wanted)
        comments |= self._ask({key: said for key, said in wanted.items() if key not in comments})
        return [self._commented(write, comments) for write in writes]

    def failures(self) -> tuple[Failure, ...]:
        """One line for the report when the commentator failed, for however many chunks."""
        if not self._error:
            return ()
        chunks = "1 chunk has its" if self._without == 1 else f"{self._without} chunks have their"
        advice = "add --force (force=True) once it answers, and they are asked for again"
        return (Failure("commentary", f"{self._error}. {chunks} summary made without a model: {advice}"),)

    def _stored(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        found = self._store.summaries(list(keys))
        return {key: summary for key, kept_under, summary in found if kept_under == self._key(summary)}

    def _ask(self, chunks: Mapping[bytes, tuple[str, str]]) -> dict[bytes, str]:
        keys = list(chunks)
        comments: dict[bytes, str] = {}
        for first in range(0, len(keys), ASKED_AT_ONCE):
            if self._error:
                self._without += len(keys) - first
                break
            part = keys[first : first + ASKED_AT_ONCE]
            try:
                said = self._commentator.comment([chunks[key] for key in part])
                comments.update(zip(part, said, strict=True))
            except EmbedError as error:
                self._error = str(error)
                self._without += len(part)
                log.warning("code is not commented", extra={"reason": self._error})
            self._check_stopped()
        return {key: comment for key, comment in comments.items() if comment}

    def _commented(self, write: DocumentWrite, comments: Mapping[bytes, str]) -> DocumentWrite:
        chunks = list(write.chunks)
        keys = list(write.summary_keys)
        for position in _worth_comment(write):
            chunk = chunks[position]
            if (comment := comments.get(write.text_keys[position])) and chunk.code is not None:
                chunks[position] = replace(chunk, code=replace(chunk.code, summary=comment))
                keys[position] = self._key(comment)
        return replace(write, chunks=tuple(chunks), summary_keys=tuple(keys))

    def _key(self, comment: str) -> bytes:
        return summary_key(f"{self._commentator.name}\n{comment}")


def _worth_comment(write: DocumentWrite) -> list[int]:
    """Positions of the chunks of code, except imports and licences, which explain nothing."""
    if write.document.outline is None or not write.document.outline.language:
        return []
    codes = enumerate(chunk.code for chunk in write.chunks)
    return [position for position, code in codes if code is not None and code.kind != "header"]


def _place(write: DocumentWrite, chunk: Chunk) -> str:
    return f"{write.file.path} {chunk.code.symbol if chunk.code else ''}".rstrip()
