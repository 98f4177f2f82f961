"""Copy an index to another store, document by document, and prove that the copy is the same.

The source is only read. A run compares what both sides hold and copies the difference. A run that was killed therefore
resumes where it stopped, and one during which the source was written to catches up: no stored position can disagree
with what is there. The target remembers which source it is a copy of until the copy is proven."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import Final, TypedDict, TypeVar, get_args

import numpy as np

from outcrop.contracts import Embedded, Stop, Store
from outcrop.errors import Cancelled, Conflict, StoreError
from outcrop.maintain.compare import (
    compare_folders,
    compare_manifests,
    compare_settings,
    compare_stores,
    listed_uris,
)
from outcrop.records import DocumentInfo, DocumentWrite, Filter, Model, MoveReport, OnProgress, Progress
from outcrop.store.rows import keys_of
from outcrop.system.arrays import NDArray

BATCH_DOCUMENTS: Final = 256
"""Documents a transaction at most; a store makes it fewer where they are large. A commit's fsync takes some
milliseconds, a kill loses one batch (not measured)."""
LISTED_AT_ONCE: Final = 1000
"""Documents whose names and times are read at a time."""
PASSES: Final = 4
"""How often the source is caught up with while others write to it. Each pass is much shorter than the one before; a
writer faster than that has to pause (not measured)."""
FILLED_AT_ONCE: Final = 4096
"""Vectors that are looked up at a time for pending documents."""

T = TypeVar("T")
_SETTING: Final = "moved from"
_EVERYTHING: Final = Filter()


def move(
    source: Store, target: Store, *, progress: OnProgress | None = None, stopped: Stop | None = None
) -> MoveReport:
    """Make `target` the same as `source`, and compare them. The target is empty, or what an earlier run with this
    source left; Conflict for any other. Cancelled when `stopped` says so: what was moved is kept. Raising or killed,
    the same call goes on from there."""
    started = time.monotonic()
    resumed = _admit(source, target)
    run = _Move(source, target, progress, stopped)
    for _ in range(PASSES):
        version = run.catch_up()
        if source.version() == version:
            break
    with source.snapshot():  # what is compared is the very moment that was copied
        if source.version() != version:
            version = run.catch_up()
        collections, problems = compare_stores(source, target, run.tell_checked)
        problems += compare_settings(_own_settings(source), target) + compare_folders(source, target)
        problems += compare_manifests(source, target)
    problems += [f"the copy: {line}" for line in target.check()]
    changed = source.version() != version
    if not problems and not changed:
        run.note_source(version, done=True)
    return MoveReport(
        collections=collections,
        copied=run.copied,
        removed=run.removed,
        pending=len(target.pending()),
        passes=run.passes,
        resumed=resumed,
        changed_meanwhile=changed,
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


class _Noted(TypedDict):
    source: str | None
    version: int
    done: bool


def _admit(source: Store, target: Store) -> bool:
    """Whether this goes on with an earlier run; Conflict when the target must not be written to."""
    version = source.version()
    lineage = source.lineage(version)
    if lineage is not None and lineage == target.lineage(version):
        raise Conflict("source and target are the same index; name another one to move to")
    if (begun := _noted(source)) and not begun["done"]:
        raise Conflict("the source is itself the copy of an index, not finished yet: finish that move first")
    noted = _noted(target)
    own = noted is not None and source.lineage(noted["version"]) == noted["source"]
    if noted is None or noted["done"]:
        if own:
            raise Conflict("the target is the finished copy of this index: use it, or name another to copy to")
        if target.collections():
            raise Conflict(
                "the target holds documents; an index can only be moved to an empty one: name another"
            )
        return False
    if not own:
        raise Conflict(
            "the target was begun as the copy of another index: finish that move, or delete it, or name another target"
        )
    return True


def _noted(target: Store) -> _Noted | None:
    """What a target remembers of the index that it is, or will be, a copy of."""
    said = target.setting(_SETTING)
    return json.loads(said) if said else None


class _Move:
    """One run: what it works with, and how far it came."""

    def __init__(self, source: Store, target: Store, progress: OnProgress | None, stopped: Stop | None) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._stopped = stopped
        self._chunks = 0
        self.copied = self.removed = self.passes = 0

    def note_source(self, version: int, *, done: bool) -> None:
        """Let the target remember which index, at which version, it is or will be a copy of."""
        noted = _Noted(source=self._source.lineage(version), version=version, done=done)
        self._target.put_setting(_SETTING, json.dumps(noted))

    def catch_up(self) -> int:
        """Make the target the same as the source is now; the source's version."""
        self.passes += 1
        source, target = self._source, self._target
        with source.snapshot():
            version = source.version()
            self.note_source(version, done=False)
            for name, value in _own_settings(source).items():
                if target.setting(name) != value:
                    target.put_setting(name, value)
            for folder in source.folders():
                if target.folder(folder.collection, folder.root) != folder:
                    target.put_folder(folder.collection, folder.root, tags=folder.tags, survey=folder.survey)
            model = source.active_model()
            if model is not None:
                self._agree_on(model)
                self._copy_documents(model)
                self._fill_pending(model)
            self._copy_manifests()
            return version

    def _agree_on(self, model: Model) -> None:
        """The target is searched with the source's model from the first document on."""
        if self._target.active_model() == model:
            return
        if self._target.collections():
            raise Conflict(
                f"the source was given another model, {model}, after the copy was begun: delete the copy and start over"
            )
        self._target.activate(model)

    def _copy_documents(self, model: Model) -> None:
        there = dict(_marks(self._target))
        ids, marks = [], []
        for mark, id_ in _marks(self._source):
            ids.append(id_)
            marks.append(mark)
        wanted = set(marks)
        gone = [id_ for mark, id_ in there.items() if mark not in wanted]
        for batch in _parts(gone, LISTED_AT_ONCE):
            self._go_on()
            self.removed += self._target.delete(batch)  # of one that changed, the new form comes below
        lacking = np.array([mark not in there for mark in marks], bool)
        self._copy(np.array(ids, np.int64), lacking, model)

    def _copy(self, ids: NDArray[np.int64], lacking: NDArray[np.bool_], model: Model) -> None:
        """Copy those of the source's documents that the target lacks, run by run."""
        done, total = len(ids) - int(lacking.sum()), len(ids)
        at = 0
        while at < total:
            if not lacking[at]:
                at += 1
                continue
            more = np.flatnonzero(~lacking[at : at + BATCH_DOCUMENTS])
            length = int(more[0]) if len(more) else min(BATCH_DOCUMENTS, total - at)
            self._go_on()
            batch = self._source.export(int(ids[at]) - 1, length)
            if [id_ for id_, _ in batch] != ids[at : at + len(batch)].tolist() or not batch:
                raise StoreError(
                    "the source does not list its documents the same way twice: run `outcrop doctor` on it"
                )
            self._write([write for _, write in batch], model)
            at, done = at + len(batch), done + len(batch)
            self._tell(Progress(done, total, self._chunks, batch[-1][1].file.path, "move"))

    def _write(self, writes: Sequence[DocumentWrite], model: Model) -> None:
        keys = {key for write in writes for key in keys_of(write)}
        self._target.write(writes, self._source.kept_vectors(model, keys), model, defer_embedding=True)
        self.copied += len(writes)
        self._chunks += sum(len(write.chunks) for write in writes)

    def _copy_manifests(self) -> None:
        """Branches and checkouts, by the names of their documents: numbers differ between stores."""
        wanted = self._source.manifests()
        names = {(each.collection, each.name) for each in wanted}
        for each in self._target.manifests():
            if (each.collection, each.name) not in names:
                self._target.drop_manifest(each.id)
        for each in wanted:
            self._go_on()
            there = self._target.states(each.collection)
            ids = [there[uri].document_id for uri in listed_uris(self._source, each) if uri in there]
            self._target.put_manifest(
                each.collection,
                each.name,
                ids,
                repository=each.repository,
                branch=each.branch,
                revision=each.revision,
            )

    def _fill_pending(self, model: Model) -> None:
        """Vectors that came to the source after their documents were copied."""
        target = self._target
        for document in target.pending():
            keys = {
                key for what in get_args(Embedded) for key, _ in target.unembedded(what, model, _ALL, document)
            }
            for batch in _parts(sorted(keys), FILLED_AT_ONCE):
                self._go_on()
                if vectors := self._source.kept_vectors(model, batch):
                    target.fill(model, vectors)

    def tell_checked(self, done: int, total: int, path: str) -> None:
        """How far the comparison is."""
        self._go_on()
        self._tell(Progress(done, total, self._chunks, path, "check"))

    def _tell(self, progress: Progress) -> None:
        if self._progress is not None:
            self._progress(progress)

    def _go_on(self) -> None:
        if self._stopped is not None and self._stopped():
            raise Cancelled("stopped; what was moved so far is kept: run it again to go on")


_ALL: Final = 10_000_000
"""More chunks than a document has."""


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _own_settings(store: Store) -> dict[str, str]:
    return {name: value for name, value in store.settings().items() if name != _SETTING}


def _marks(store: Store) -> Iterator[tuple[bytes, int]]:
    """(mark, id) of every document, by id: two documents with the same mark are the same."""
    for ids in _parts(store.select(_EVERYTHING).tolist(), LISTED_AT_ONCE):
        found = {info.id: info for info in store.documents(Filter(documents=tuple(ids)))}
        for id_ in ids:
            if id_ in found:
                yield _mark(found[id_]), id_


def _mark(info: DocumentInfo) -> bytes:
    """Every write of a document changes its time, a touch that of its file."""
    told = (info.collection, info.uri, info.sha256, info.created_at, info.updated_at, info.mtime_ns, info.size)
    return hashlib.sha256(json.dumps(told).encode()).digest()[:16]
