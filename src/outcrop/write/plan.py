"""PLAN: which files of a folder have to be read, and which documents have lost their file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outcrop.records import DocumentInfo, FileState, SourceFile
from outcrop.sources.folder import shields
from outcrop.write.prepare import Job
from outcrop.write.run import Run


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sync has to do. `gone` are the documents whose files are gone, by uri; `movable` finds them by the hash of
    their bytes."""

    jobs: Sequence[Job]
    unchanged: int
    gone: dict[str, FileState]
    movable: dict[str, str]

    def take_moved(self, digest: str) -> FileState | None:
        """The document whose file is gone and held these very bytes: it moved, and is gone no more."""
        uri = self.movable.pop(digest, None)
        return None if uri is None else self.gone.pop(uri)


def plan_files(
    run: Run,
    files: Sequence[SourceFile],
    states: Mapping[str, FileState],
    root: str,
    *,
    prune: bool,
    trust_stat: bool,
) -> Plan:
    """Compare the files of a folder with what is stored of them. A file whose stat is the same need not be read,
    unless `trust_stat` is off; documents below a folder that could not be read are not taken for gone."""
    uris = {file.uri for file in files}
    gone = {
        uri: state
        for uri, state in states.items()
        if uri not in uris and not any(shields(failure, _below(uri, root)) for failure in run.failed)
    }
    changed = [file for file in files if not trust_stat or not _is_done(run, file, states.get(file.uri))]
    jobs = [_job(run, file, states.get(file.uri)) for file in changed]
    movable = {state.sha256: uri for uri, state in gone.items()} if prune else {}
    return Plan(jobs, len(files) - len(changed), gone, movable)


def state_of(document: DocumentInfo) -> FileState:
    """What of a document tells whether its file changed."""
    return FileState(document.id, document.mtime_ns, document.size, document.sha256)


def _job(run: Run, file: SourceFile, state: FileState | None) -> Job:
    return Job(file, known=None if state is None or _must_read(run, state) else state.sha256)


def _is_done(run: Run, file: SourceFile, state: FileState | None) -> bool:
    if state is None or _must_read(run, state):
        return False
    return (state.mtime_ns, state.size) == (file.mtime_ns, file.size)


def _must_read(run: Run, state: FileState) -> bool:
    """Whether a document is made again even if its file did not change."""
    return run.options.force or state.document_id in run.unembedded


def _below(uri: str, root: str) -> str:
    return uri.removeprefix(root).lstrip("/")
