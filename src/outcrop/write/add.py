"""ADDING: how a write goes: with the model that the index has, and once more if that changes meanwhile.

`ingest.py` says what a write does; here it gets the parts that it works with, and what is derived is saved after it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from outcrop.chunk.strategies import ChunkOptions
from outcrop.config import Config
from outcrop.contracts import Stop, Store
from outcrop.errors import SourceError, StoreError
from outcrop.maintain.reembed import Forecast, embed_pending, forecast, reembed
from outcrop.parse.limits import ParseLimits
from outcrop.parse.scan.engines import find_engine
from outcrop.read.parts import PartsMaker
from outcrop.records import DEFAULT_COLLECTION, Failure, IngestReport, OnProgress, SourceFile
from outcrop.store.scans import SCANS, ScanStore
from outcrop.write.ingest import Ingestor
from outcrop.write.plan import PLAIN, WriteOptions
from outcrop.write.prepare import Prepare, Recipe
from outcrop.write.scans import Scans


def collection_of(store: Store, path: Path, given: str | None) -> str:
    """The collection a folder goes to: the one given, the one it is in already, else its own name."""
    real = path.resolve()
    known = [name for name, root in store.roots() if root == str(real)]
    own_name = real.name if real.is_dir() else ""
    return given or (known[0] if known else own_name) or DEFAULT_COLLECTION


def tags_of(store: Store, collection: str, root: Path, given: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """The tags every document of a root carries: those given, else those it was last given; and whether they are new.
    They are remembered with the index, so that a later sync gives them to files that were added or edited since."""
    place = str(root.resolve())
    remembered = store.folder(collection, place).tags
    if not given or tuple(given) == remembered:
        return remembered, False
    store.put_folder(collection, place, tags=given)
    return tuple(given), True


def sync_root(
    store: Store, ingestor: Ingestor, collection: str, root: Path, options: WriteOptions = PLAIN
) -> IngestReport:
    """Bring one root up to date. One that cannot be reached keeps its documents and is a line in the report."""
    from outcrop.write.repositories import tree_repository
    from outcrop.write.trees import Trees

    repository = tree_repository(store, root)
    if repository is not None and any(each.name == str(root) for each in store.manifests()):
        return Trees(store, ingestor, repository, collection, options).sync_checkout(root)
    tags, _ = tags_of(store, collection, root, ())
    try:
        return ingestor.sync(root, collection, tags, options)
    except SourceError as error:
        if not root.exists() and root.parent.is_dir():
            states = store.states(collection, str(root))
            lost = [state.document_id for uri, state in states.items() if uri == str(root)]
            if lost:  # a file that was added by itself and is gone from a folder that is still there
                return IngestReport(removed=store.delete(lost))
        # An unplugged disk must not empty the index: what came from there stays until it is removed by name.
        return IngestReport(failed=(Failure(str(root), f"{error}; its documents are kept"),))


def watch_roots(
    store: Store, ingestor: Ingestor, roots: Sequence[Path], collection: str | None, stop: threading.Event
) -> Iterator[IngestReport]:
    """Sync folders once the watch is on, then after every change; a report each time."""
    from outcrop.sources.watch import watch

    started = False
    for changed in watch(roots, stop):
        reports = []
        for root in roots:
            mine = [path for path in changed if path.is_relative_to(root) and not ingestor.is_own(str(path))]
            if not mine and started:
                continue
            name = collection_of(store, root, collection)
            tags, _ = tags_of(store, name, root, ())
            quick = ingestor.sync_known(mine, root, name, tags=tags) if started else None
            reports.append(quick or sync_root(store, ingestor, name, root))
        if reports:
            started = True
            yield sum(reports, IngestReport())


log = logging.getLogger(__name__)

SAVE_EVERY_CHUNKS = 4096
"""During a long ingest the search arrays are caught up and saved this often: bounds memory, what a kill costs, and how
much another process that searches meanwhile has to catch up by itself (0.1 ms a chunk)."""

T = TypeVar("T")


def fetch_url(config: Config, url: str) -> tuple[SourceFile, bytes]:
    """The page at a URL, as far as the configuration lets it be fetched."""
    from outcrop.sources.url import fetch  # ssl and http are slow to import and rarely needed

    return fetch(
        url,
        timeout_s=config.url_timeout_s,
        max_bytes=config.url_max_bytes,
        allow_private=config.allow_private_urls,
    )


@dataclass(frozen=True, slots=True)
class Adder:
    """Writes to one index. Any number of threads and processes may do so."""

    config: Config
    store: Store
    maker: PartsMaker

    def run(self, work: Callable[[Ingestor], T]) -> T:
        """Do it, and once more if the index was given another model meanwhile: what is done costs next to nothing."""
        done = self._persistently(work)
        self.settle()
        return done

    def _persistently(self, work: Callable[[Ingestor], T]) -> T:
        used = self.maker.parts()
        try:
            return work(self.ingestor())
        except StoreError:
            if self.maker.parts() is used:
                raise
        return work(self.ingestor())

    def run_once(self, work: Callable[[Ingestor], T]) -> T:
        """The same for input that cannot be read twice: the caller is told to add it again."""
        used = self.maker.parts()
        try:
            done = work(self.ingestor())
        except StoreError as error:
            if self.maker.parts() is used:
                raise
            raise StoreError(
                "the index was given another model while texts were added; what was committed is kept: add them again"
            ) from error
        self.settle()
        return done

    def ingestor(self) -> Ingestor:
        """An Ingestor for the current model; whoever uses it directly calls `settle` afterwards."""
        from outcrop.write.readers import ReadersPrepare  # a search need not wait for what starts processes

        self._renew_vectors()
        waiting = 0

        def after_write(chunks: int) -> None:
            nonlocal waiting
            waiting += chunks
            if waiting >= SAVE_EVERY_CHUNKS:
                waiting = 0
                self.maker.parts().index.save_along()

        config = self.config
        recipe = Recipe(
            chunking=ChunkOptions(
                config.chunker, config.chunk_tokens, config.chunk_overlap, config.chunk_min_chars
            ),
            limits=ParseLimits(timeout_s=config.parse_timeout_s, memory_bytes=config.parse_memory_bytes),
            max_file_bytes=config.max_file_bytes,
            index_secrets=config.index_secrets,
        )
        scans = self._scans()
        recipe = replace(recipe, reads_scans=scans is not None)
        embedder, commentator = self.maker.parts().embedder, self.maker.commentator()
        own, readers = config.beside("").resolve(), ReadersPrepare(config.readers)
        return Ingestor(self.store, embedder, recipe, own, after_write, commentator, readers, scans)

    def _scans(self) -> Scans | None:
        """What reads pages without text, where something is installed that can."""
        config = self.config
        engine = find_engine(config.ocr, config.ocr_languages)
        if engine is None:
            return None
        if config.index_secrets:  # pages are kept without the secrets in them, else
            engine = replace(engine, version=f"{engine.version}, with secrets")
        return Scans(engine, ScanStore(config.beside(SCANS)))

    def _renew_vectors(self) -> None:
        """Before a write: an index made with an earlier version of its model, which came with an earlier Outcrop, is
        embedded again. The old version is not used any more, nor does an earlier Outcrop that writes go back to it."""
        stored, model = self.store.active_model(), self.maker.parts().embedder.model
        if stored is None or stored.name != model.name or not (stored.version + model.version).isdecimal():
            return
        if int(stored.version) < int(model.version):
            log.warning("the index has vectors of %s: making them again with %s", stored, model)
            self.reembed()

    def settle(self) -> None:
        """After a write: remember with which model the index is made, and keep what is derived for others."""
        self.maker.parts().index.save()
        self.maker.note_first_model()

    # ------------------------------------------------------------------ folders

    def add_path(
        self,
        path: Path,
        collection: str | None,
        tags: Sequence[str],
        options: WriteOptions,
        prepare: Prepare | None,
    ) -> IngestReport:
        """Add a file or a folder and bring it up to date; what is gone from a folder leaves the index."""
        if not path.exists():
            raise SourceError(f"there is no file or folder {path}")
        from outcrop.write.repositories import tree_repository  # which few folders need
        from outcrop.write.trees import add_bare, add_checkout

        repository = tree_repository(self.store, path)
        if repository is not None and repository.is_bare:
            return add_bare(self, repository, collection, tags, options)
        if repository is not None:
            return add_checkout(self, repository, collection, tags, options)
        target = collection_of(self.store, path, collection)
        tags, new = tags_of(self.store, target, path, tags)
        options = replace(options, force=options.force or new)
        prune = path.is_dir()
        return self.run(
            lambda ingestor: ingestor.sync(path, target, tags, options, prune=prune, prepare=prepare)
        )

    def watch(
        self, roots: Sequence[Path], collection: str | None, stop: threading.Event
    ) -> Iterator[IngestReport]:
        """Sync folders, then keep them fresh: a report after the first sync and after every change."""
        for root in roots:
            if not root.is_dir():
                raise SourceError(f"{root} is not a folder; watch takes folders")
        while True:
            used = self.maker.parts()
            try:
                for report in watch_roots(self.store, self.ingestor(), roots, collection, stop):
                    self.settle()
                    yield report
                return
            except StoreError:
                if self.maker.parts() is used:
                    raise
            # The index was given another model: begin again with that, which brings in what was just refused.

    # ------------------------------------------------------------------ vectors

    def embed_pending(self, stopped: Stop | None) -> int:
        """Embed the documents that wait; how many were completed."""
        self._renew_vectors()
        try:
            return embed_pending(self.store, self.maker.parts().embedder, stopped)
        finally:
            self.settle()

    def forecast(self) -> Forecast:
        """How many texts lack a vector of the model in use, and about how long they will take."""
        return forecast(self.store, self.maker.parts().embedder)

    def reembed(self, progress: OnProgress | None = None, stopped: Stop | None = None) -> int:
        """Give every chunk a vector of the model in use; how many were made."""
        parts, before = self.maker.parts(), self.store.active_model()
        self.maker.note_model(parts)
        made = reembed(self.store, parts.embedder, progress, stopped)
        if made or before != parts.embedder.model:
            parts.index.renew()
        return made
