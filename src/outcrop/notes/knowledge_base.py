"""The knowledge base: notes as plain files, found by their words as soon as a write returns, by meaning soon after.

The files are the truth. A change is made on disk first and is safe there; then the index follows, without vectors
(`defer_embedding`), which a server makes in the background. What an editor changes is noticed by `refresh`. Changes,
and the indexing of them, are made under one lock, so what is deleted is gone, whoever was just reading it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from outcrop.contracts import Stop
from outcrop.engine import as_timestamp
from outcrop.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    OutcropError,
    QueryError,
    StoreError,
)
from outcrop.notes.checks import NoteProblem, SameSubject, find_problems, find_rivals
from outcrop.notes.front_matter import body_start
from outcrop.notes.indexed import COLLECTION, IndexedNotes, KbFile, lines_of, stem
from outcrop.notes.names import note_path
from outcrop.notes.relevance import relevance
from outcrop.notes.statements import content_terms
from outcrop.notes.superseding import begin, end, require_timed
from outcrop.records import Answer, DocumentInfo, Hit, When
from outcrop.system.dataclass import dataclass

log = logging.getLogger(__name__)

MAX_HITS: Final = 10
FLOOR: Final = 0.3
"""Hits below this relevance are not returned."""
ASKED_CHARS: Final = 500
"""Of a note that was written, to find others on its subject (not measured)."""
OUTDATED: Final = 0.6
"""What is left of the relevance of a note that is not valid any more: a perfect match is still returned (0.6), what is
barely one is not. Like notes are near each other, so it stands behind what replaced it (not measured)."""
SHOWN_PLACES: Final = 5
"""How many lines are named when a passage occurs more than once (not measured)."""


@dataclass(frozen=True, slots=True)
class KbText:
    """The text of a note, or of some of its lines (counted from 1, both ends included), of `lines` in all."""

    path: str
    text: str
    line_start: int
    line_end: int
    lines: int
    modified_at: float


class KnowledgeBase(IndexedNotes):
    """The notes below a folder, in an index. For many threads; many processes may write at once."""

    # ------------------------------------------------------------------ reading

    def search(
        self,
        query: str,
        limit: int = 5,
        *,
        floor: float = FLOOR,
        as_of: When = None,
        stopped: Stop | None = None,
    ) -> Answer:
        """The notes that answer a query, best first, none below `floor`. The score of a hit is its relevance: see
        `relevance.py`. Notes that are not valid any more stand behind those that are; with `as_of` only those count
        that were valid then."""
        if not 1 <= limit <= MAX_HITS:
            raise QueryError(f"limit must lie between 1 and {MAX_HITS}, not {limit}")
        as_of = as_timestamp(as_of)
        self._refresh_for_search()
        if not self._count():
            return Answer(query, "mixed", (), "empty_index", "the knowledge base is empty: write a note first")
        # More than asked for: another folder that happens to be called kb may share the collection.
        answer = self._engine.search(
            query, limit=3 * MAX_HITS, collections=(COLLECTION,), as_of=as_of, stopped=stopped
        )
        own = (replace(hit, score=_relevance(hit)) for hit in answer.hits if self._is_own(hit))
        # Sorting is stable: among equals the order of the search stands.
        hits = tuple(sorted((hit for hit in own if hit.score >= floor), key=lambda hit: -hit.score))[:limit]
        if hits or answer.reason is not None:
            return replace(answer, hits=hits)
        detail = f"no note scores {floor:g} or more; try other words, or list the notes"
        return replace(answer, hits=(), reason="no_hits", detail=detail)

    def read(self, path: str, line_start: int | None = None, line_end: int | None = None) -> KbText:
        """A note, or some of its lines."""
        path = note_path(path)
        content, status = self._files.read(path)
        lines = lines_of(content.decode("utf-8", "replace"))
        first = 1 if line_start is None else line_start
        last = max(len(lines), first) if line_end is None else line_end
        if first < 1 or last < first:
            raise QueryError(
                f"lines {first} to {last} are not a range: lines count from 1, the first comes before the last"
            )
        if first > max(len(lines), 1):
            raise QueryError(f"{path} ends with line {len(lines)}; line {first} is not there")
        last = min(last, len(lines))
        return KbText(path, "".join(lines[first - 1 : last]), first, last, len(lines), status.st_mtime)

    def list(self, prefix: str = "", limit: int = 1000, offset: int = 0) -> tuple[KbFile, ...]:
        """The notes whose path begins with `prefix`, by path, as they are on disk."""
        if limit < 1 or offset < 0:
            raise QueryError("limit must be 1 or more, offset 0 or more")
        found, _ = self._files.walk()
        prefix = prefix.removeprefix("/")
        paths = sorted(path for path in found if path.startswith(prefix))[offset : offset + limit]
        titles = {document.path: document.title for document in self._documents()}
        files = []
        for path in paths:
            try:
                lines = len(lines_of(self._files.read(path)[0].decode("utf-8", "replace")))
            except OutcropError:  # gone since, or too large to be read: still listed
                lines = 0
            status = found[path]
            title = titles.get(path) or stem(path)
            files.append(KbFile(path, title, status.st_size, lines, status.st_mtime))
        return tuple(files)

    # ------------------------------------------------------------------ writing

    def write(self, path: str, text: str, *, supersedes: Sequence[str] = ()) -> KbFile:
        """Make this the text of a note, new or not. It replaces the notes that it `supersedes`, which stay, and are
        not valid any more from its `valid_from` on, or from today."""
        path = note_path(path)
        content = _encode(path, text)
        if supersedes:
            return self._supersede(path, lambda _: text, supersedes, may_be_new=True)
        with self._files.locked():
            written = self._put(path, content)
        return self._with_same_subject(written)

    def append(self, path: str, text: str, *, supersedes: Sequence[str] = ()) -> KbFile:
        """Put a text at the end of a note, on a line of its own; makes the note where there is none. `supersedes` is
        that of `write`; with it the text may be empty."""

        def joined(before: str) -> str:
            gap = "\n" if before and not before.endswith("\n") else ""
            end = "" if text.endswith("\n") else "\n"
            return f"{before}{gap}{text}{end}"

        if supersedes:
            return self._supersede(path, joined if text else str, supersedes, may_be_new=bool(text))
        return self._with_same_subject(self._change(path, joined, may_be_new=True))

    def supersede(self, path: str, older: Sequence[str]) -> KbFile:
        """Say of a note that it replaces others, which stay as what was true before."""
        return self._supersede(path, str, older, may_be_new=False)

    def _supersede(
        self, path: str, change: Callable[[str], str], older: Sequence[str], *, may_be_new: bool
    ) -> KbFile:
        """Change a note and begin it, then end the others. A kill in between leaves them superseded all the same."""
        path, names = note_path(path), tuple(dict.fromkeys(map(note_path, older)))
        require_timed(path, names)
        with self._files.locked():
            olds = {name: _decode(name, self._files.read(name)[0]) for name in names}
            before = "" if may_be_new and self._files.status(path) is None else None
            text = change(_decode(path, self._files.read(path)[0]) if before is None else before)
            text, moment = begin(text, names, is_new=before is not None)
            written = self._put(path, _encode(path, text))
            for name, old in olds.items():
                self._put(name, _encode(name, end(old, moment)))
            return written

    def _with_same_subject(self, written: KbFile) -> KbFile:
        """What was written, with valid notes on its subject. It is safe by now: a failure here is only logged."""
        try:
            return replace(written, same_subject=self._find_rivals(written))
        except OutcropError as error:
            log.warning("notes on the same subject could not be looked for: %s", error)
            return written

    def _find_rivals(self, written: KbFile) -> tuple[SameSubject, ...]:
        text = _decode(written.path, self._files.read(written.path)[0])
        query = " ".join(f"{written.title} {text[body_start(text) :][:ASKED_CHARS]}".split())
        answer = self._engine.search(query, limit=3 * MAX_HITS, collections=(COLLECTION,))
        near = {hit.document.path: hit.document for hit in answer.hits if self._is_own(hit) and _is_valid(hit)}
        mine = self._engine.get(self._uri(written.path), collection=COLLECTION) if near else None
        others = [info for path, info in near.items() if path != written.path]
        if mine is None or not others or (written.path not in near and self._is_outdated(mine)):
            return ()
        texts = {info.path: self._text_of(info.path) for info in others} | {written.path: text}
        return find_rivals(mine, others, texts, content_terms(self._engine.parts.terms.words))

    def _is_outdated(self, info: DocumentInfo) -> bool:
        return info.id in self._engine.timeline(COLLECTION).outdated()

    def _text_of(self, path: str) -> str:
        """A note's text; nothing where it went away meanwhile."""
        with suppress(NotFound):
            return self._files.read(path)[0].decode("utf-8", "replace")
        return ""

    def check(self) -> tuple[NoteProblem, ...]:
        """What is wrong with the notes: valid ones that contradict each other, links to older notes that lead nowhere
        or in a circle, and dates that cannot be right. By rules and shared words; a list to look through."""
        self.refresh()
        documents, timeline = self._documents(), self._engine.timeline(COLLECTION)
        terms_of = content_terms(self._engine.parts.terms.words)
        return tuple(find_problems(documents, timeline, self._text_of, terms_of))

    def edit(self, path: str, old: str, new: str) -> KbFile:
        """Replace a passage that stands in a note exactly once."""
        if not old:
            raise QueryError("say which text is to be replaced: old is empty")
        if old == new:
            raise QueryError("old and new are the same; nothing would change")
        return self._change(path, lambda text: _replace_once(path, text, old, new))

    def move(self, path: str, to: str) -> KbFile:
        """Give a note another path, which must be free."""
        path, to = note_path(path), note_path(to)
        with self._files.locked():
            self._files.rename(path, to)
            report = self._index((path, to), f"{path} is now {to}")
            return self._describe(to, report)

    def delete(self, path: str) -> None:
        """Remove a note from the disk and from the index."""
        path = note_path(path)
        with self._files.locked():
            self._files.remove(path)
            try:
                self._engine.delete(self._uri(path), collection=COLLECTION)
            except NotFound:
                return  # it never was indexed
            except OutcropError as error:
                self._indexed = "unknown"  # the next refresh compares all there is
                said = f"{path} is deleted from the disk, but not from the index yet: {error}"
                raise StoreError(f"{said}. The next refresh tries again") from error

    def _change(self, path: str, change: Callable[[str], str], *, may_be_new: bool = False) -> KbFile:
        """Read, change and replace a note, alone."""
        path = note_path(path)
        with self._files.locked():
            try:
                content, _ = self._files.read(path)
            except NotFound:
                if not may_be_new:
                    raise
                content = b""
            return self._put(path, _encode(path, change(_decode(path, content))))


def _relevance(hit: Hit) -> float:
    """The score of a note: half where it is not valid any more."""
    return relevance(hit.why) * (1.0 if _is_valid(hit) else OUTDATED)


def _is_valid(hit: Hit) -> bool:
    return hit.validity is None or not hit.validity.is_outdated


def _encode(path: str, text: str) -> bytes:
    if "\0" in text:
        raise NotAllowed(f"the text for {path} holds a NUL, which no text has")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotAllowed(f"the text for {path} is not Unicode: {error.reason}") from error


def _decode(path: str, content: bytes) -> str:
    """The text of a note that is to be changed: what cannot be written back as it was is left alone."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Conflict(f"{path} is not UTF-8, so it is not changed; write it again, or convert it") from error


def _replace_once(path: str, text: str, old: str, new: str) -> str:
    if old not in text and "\r\n" in text:  # a file of Windows: agents write plain line feeds
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    places = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + 1)
    if not places:
        raise Conflict(f"the passage stands 0 times in {path}; read it, and copy the passage as it is there")
    if len(places) > 1:
        lines = [str(1 + text.count("\n", 0, place)) for place in places[:SHOWN_PLACES]]
        more = " …" if len(places) > SHOWN_PLACES else ""
        raise Conflict(
            f"the passage stands {len(places)} times in {path}, on lines {', '.join(lines)}{more}; take in more of what"
            " is around it"
        )
    return text[: places[0]] + new + text[places[0] + len(old) :]
