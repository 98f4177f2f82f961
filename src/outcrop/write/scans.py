"""Pages that only their pictures tell what is on them: read last, one by one, once it is known how many they are.

Each page that was read is kept (`store/scans.py`), so a run that is stopped or killed goes on where it was, and a file
that changed is read anew only where its pages show something else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from outcrop.errors import ParseError
from outcrop.parse.scan.engines import ScanEngine
from outcrop.parse.scan.pages import put_pages
from outcrop.parse.scan.reading import ScanReader
from outcrop.records import Meta, Progress, ScanLine, ScanPage, SourceFile
from outcrop.store.scans import ScanStore
from outcrop.system.dataclass import dataclass
from outcrop.write.plan import Run
from outcrop.write.prepare import (
    Job,
    NoText,
    Outcome,
    Prepare,
    Prepared,
    Recipe,
    Unread,
    Unreadable,
    prepare_document,
    prepare_parsed,
)

log = logging.getLogger(__name__)

TIFF: Final = (b"II*\0", b"MM\0*")
MAX_NAMED: Final = 3
"""Failed pages that a remark names; of the others it gives the number."""


@dataclass(frozen=True, slots=True)
class Scans:
    """Reads pages with an engine and keeps them in a store."""

    engine: ScanEngine
    store: ScanStore

    def read_all(
        self, run: Run, waiting: Sequence[Unread], recipe: Recipe, prepare: Prepare
    ) -> Generator[Outcome, None, None]:
        """An outcome for each file with pages to read; `prepare` brings their bytes again."""
        steps = _Steps(run, sum(self._count_unknown(item) for item in waiting))
        with ScanReader(self.engine, recipe.limits) as reader:
            for item in waiting:
                run.check_stopped()
                again = prepare([Job(item.file, None)], replace(recipe, keeps_bytes=True), run.check_stopped)
                with closing(again) as outcomes:
                    for outcome in outcomes:
                        if isinstance(outcome, Unread):
                            yield self._read(reader, outcome, recipe, steps.take)
                        else:
                            yield outcome

    def read_one(self, run: Run, item: Unread, recipe: Recipe) -> Outcome:
        """The outcome of a file whose bytes are at hand."""
        steps = _Steps(run, self._count_unknown(item))
        with ScanReader(self.engine, recipe.limits) as reader:
            return self._read(reader, item, recipe, steps.take)

    def _count_unknown(self, item: Unread) -> int:
        return len(item.pages) - self.store.count_known(item.digest, item.pages, self.engine.version)

    def _read(self, reader: ScanReader, item: Unread, recipe: Recipe, take: Callable[[str], None]) -> Outcome:
        assert item.document is not None  # noqa: S101  it was prepared with its bytes
        kind, opened = item.document.kind, False
        numbers = list(item.pages)
        if item.data.startswith(TIFF):  # only its reader knows how many pages it has
            try:
                numbers = list(range(1, reader.open(kind, item.data) + 1))
            except ParseError as error:
                return Unreadable(item.file, str(error))
            opened = True
        read: dict[int, ScanPage] = {}
        failed: dict[int, str] = {}
        for number in numbers:
            page = self.store.find_page(item.digest, number, self.engine.version)
            if page is None:
                try:
                    if not opened:
                        reader.open(kind, item.data)
                        opened = True
                    page = self._read_page(reader, item.digest, number, recipe)
                except ParseError as error:
                    failed[number] = str(error)
                take(item.file.path)
            if page is not None:
                read[number] = page
        return self._settle(item, read, failed, recipe)

    def _read_page(self, reader: ScanReader, digest: str, number: int, recipe: Recipe) -> ScanPage:
        image, version = reader.draw(number), self.engine.version
        page = self.store.find_image(image, version)
        if page is None:
            page = _mask_page(reader.read(), recipe)
        self.store.put(digest, number, image, version, page)
        return page

    def _settle(
        self, item: Unread, read: dict[int, ScanPage], failed: dict[int, str], recipe: Recipe
    ) -> Outcome:
        """What becomes of a file whose pages were read as far as they can be."""
        assert item.document is not None  # noqa: S101
        texts = {number: page.text for number, page in read.items()}
        file = item.file
        try:
            document = put_pages(item.document, texts, file.path, recipe.limits.max_text_chars)
            if not document.text:
                if failed and item.document.kind == "image":
                    return NoText(file, next(iter(failed.values())))
                if failed:
                    return Unreadable(file, _remark(failed, len(document.pages)))
                return NoText(file, "no text on its pages")
            if item.title is not None:
                document = replace(document, title=item.title)
            prepared = prepare_parsed(
                file, replace(document, remark=_remark(failed, len(document.pages))), item.digest, recipe
            )
        except ParseError as error:
            return Unreadable(file, str(error))
        return replace(prepared, masked=prepared.masked + sum(page.masked for page in read.values()))


def prepare_one(
    scans: Scans | None,
    run: Run,
    recipe: Recipe,
    file: SourceFile,
    data: bytes,
    digest: str,
    title: str | None,
    meta: Meta,
) -> Prepared:
    """A single document from bytes at hand; ParseError when nothing can be read of it."""
    recipe = replace(recipe, keeps_bytes=True)
    outcome: Outcome = prepare_document(file, data, digest, recipe, title, meta)
    if isinstance(outcome, Unread) and scans is not None:
        outcome = scans.read_one(run, outcome, recipe)
    if isinstance(outcome, NoText | Unreadable):
        raise ParseError(outcome.reason)
    assert isinstance(outcome, Prepared)  # noqa: S101  nothing else is left
    return outcome


class _Steps:
    """Tells how many pages are to be read, then each that was."""

    def __init__(self, run: Run, total: int) -> None:
        self._run, self._total, self._done = run, total, 0
        if total:
            log.info("pages to read", extra={"pages": total})
            self._tell("")

    def take(self, path: str) -> None:
        """One page is done; raise if cancelled."""
        self._done += 1
        self._total = max(self._total, self._done)
        self._tell(path)
        self._run.check_stopped()

    def _tell(self, path: str) -> None:
        if self._run.options.progress is not None:
            chunks = self._run.chunks + self._run.pending_chunks
            self._run.options.progress(Progress(self._done, self._total, chunks, path, "ocr"))


def _mask_page(lines: tuple[ScanLine, ...], recipe: Recipe) -> ScanPage:
    """The lines of a page without the secrets in them: what is kept of a page holds none."""
    page = ScanPage(lines)
    if recipe.index_secrets:
        return page
    from outcrop.mask import mask_secrets  # late, as in prepare.py

    text, masked = mask_secrets(page.text)
    if not masked:
        return page
    at = 0
    covered = []
    for number, line in enumerate(lines):
        at += (2 if line.starts_block else 1) if number else 0
        words = []
        for word in line.words:
            words.append(word._replace(text=text[at : at + len(word.text)]))
            at += len(word.text) + 1
        at -= 1
        covered.append(line._replace(words=tuple(words)))
    return ScanPage(tuple(covered), masked)


def _remark(failed: dict[int, str], pages: int) -> str:
    if not failed:
        return ""
    named = "; ".join(f"page {number}: {why}" for number, why in list(failed.items())[:MAX_NAMED])
    return f"{len(failed)} of {pages} pages could not be read: {named}"
