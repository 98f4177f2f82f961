"""PARTS: files that hold several documents: mailboxes, and messages with attachments.

What is in such a file is listed first, then each part is prepared like any file, from where it lies. The document of a
mailbox itself is written after all of its messages, so that a run that was killed lists them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from hashlib import sha256
from pathlib import PurePosixPath

from outcrop.errors import SourceError
from outcrop.records import MAILBOX, PART_OF, Document, Failure, FileState, SourceFile, owner_of
from outcrop.sources.exports import export_kind, open_export
from outcrop.sources.mailbox import (
    find_attachments,
    in_thread,
    mail_kind,
    open_mailbox,
    open_message,
    read_links,
)
from outcrop.system.dataclass import dataclass
from outcrop.text.threads import find_threads
from outcrop.write.plan import Plan, Run, plan_job
from outcrop.write.prepare import Job


@dataclass(slots=True)
class Batch:
    """Jobs that are prepared together; then `whole`, with the hash of its content, is written as the document of the
    file that they are parts of, and what is stored under the ids of `gone` leaves the index. `own` says that the jobs
    are of parts, which only this machine has."""

    jobs: list[Job]
    own: bool = False
    whole: tuple[SourceFile, Document, str] | None = None
    gone: list[int] = field(default_factory=list)


def open_parts(
    run: Run, plan: Plan, files: Sequence[SourceFile], states: Mapping[str, FileState], max_file_bytes: int
) -> Iterator[Batch]:
    """The jobs of a plan, in batches, with those of the parts of its files. One mailbox is one batch."""
    stored = _stored_parts(states)
    kinds = {job.file.uri: _kind_of(job.file.uri) for job in plan.jobs if job.file.origin == "file"}
    messages = [job.file for job in plan.jobs if kinds.get(job.file.uri) == "message"]
    threads = _threads_of(messages, files) if messages else {}
    batch, attached = Batch([]), Batch([], own=True)
    for job in plan.jobs:
        uri = job.file.uri
        if kinds.get(uri) not in (None, "message"):
            continue
        parts: list[SourceFile] = []
        if kinds.get(uri) == "message":
            try:
                source, message, data = open_message(job.file, max_file_bytes)
            except SourceError:  # whoever prepares it says what is wrong
                batch.jobs.append(job)
                continue
            source = in_thread(source, threads.get(message.id or uri, message.id or uri))
            job = Job(source, job.known)  # noqa: PLW2901
            for item in find_attachments(source, message, data):
                if isinstance(item, SourceFile):
                    parts.append(item)
                else:
                    run.skipped.append(item)
        batch.jobs.append(job)
        attached.jobs += _jobs(run, parts, states)
        attached.gone += _lost(stored.get(uri, {}), parts)
    run.total = (run.total or 0) + len(attached.jobs)
    yield batch
    if attached.jobs or attached.gone:
        yield attached
    for job in plan.jobs:
        kind, known = kinds.get(job.file.uri), stored.get(job.file.uri, {})
        if kind == "mailbox":
            opened = _open_mailbox(run, job.file, states, known)
            if opened is not None:
                yield opened
        elif kind not in (None, "message"):
            yield _open_export(run, job, kind, states, known, max_file_bytes)


def _kind_of(uri: str) -> str | None:
    return mail_kind(uri) or export_kind(uri)


def holds_parts(uri: str) -> bool:
    """Whether a file is to be opened for the documents in it."""
    return _kind_of(uri) is not None


def _open_export(
    run: Run,
    job: Job,
    kind: str,
    states: Mapping[str, FileState],
    stored: Mapping[str, FileState],
    max_bytes: int,
) -> Batch:
    try:
        export = open_export(job.file, kind, max_bytes)
    except SourceError:  # whoever prepares it says what is wrong
        return Batch([job])
    if export is None:
        return Batch([job], gone=_lost(stored, ()))
    text = export.describe()
    names = "\n".join(part.uri for part in export.parts)
    digest = sha256(f"{text}\n{names}".encode("utf-8", "replace")).hexdigest()
    document = Document(text=text, kind="export", title=PurePosixPath(job.file.path).name)
    run.total = (run.total or 0) + len(export.parts)
    return Batch(
        _jobs(run, export.parts, states), True, (job.file, document, digest), _lost(stored, export.parts)
    )


def _open_mailbox(
    run: Run, file: SourceFile, states: Mapping[str, FileState], stored: Mapping[str, FileState]
) -> Batch | None:
    try:
        mailbox = open_mailbox(file)
    except SourceError as error:  # what was read of it before is kept
        run.failed.append(Failure(file.path, str(error)))
        return None
    for note in mailbox.notes:
        if isinstance(note, Failure):
            run.failed.append(note)
        else:
            run.skipped.append(note)
    name = PurePosixPath(file.path).name
    text = mailbox.describe(name)
    names = "\n".join(part.uri for part in mailbox.parts)
    digest = sha256(f"{text}\n{names}".encode("utf-8", "replace")).hexdigest()
    document = Document(
        text=text,
        kind=MAILBOX,
        title=name,
        meta={"date": date.fromisoformat(mailbox.last)} if mailbox.last else {},
    )
    run.total = (run.total or 0) + len(mailbox.parts)
    return Batch(
        _jobs(run, mailbox.parts, states), True, (file, document, digest), _lost(stored, mailbox.parts)
    )


def _jobs(run: Run, parts: Sequence[SourceFile], states: Mapping[str, FileState]) -> list[Job]:
    return [plan_job(run, part, states.get(part.uri)) for part in parts]


def _lost(stored: Mapping[str, FileState], parts: Collection[SourceFile]) -> list[int]:
    """Documents of parts that a file does not have any more."""
    left = {part.uri for part in parts}
    return [state.document_id for uri, state in stored.items() if uri not in left]


def _stored_parts(states: Mapping[str, FileState]) -> dict[str, dict[str, FileState]]:
    """The stored parts of each file."""
    found: dict[str, dict[str, FileState]] = {}
    for uri, state in states.items():
        if PART_OF in uri and (owner := owner_of(uri)) != uri:
            found.setdefault(owner, {})[uri] = state
    return found


def _threads_of(messages: Sequence[SourceFile], files: Sequence[SourceFile]) -> dict[str, str]:
    """The threads of messages that are files of their own. Where one names only the message it answers, those that did
    not change are asked too what they answer."""
    links = {file.uri: read_links(file) for file in messages}
    known = {id_ for id_, _ in links.values()}
    if any(len(references) == 1 and references[0] not in known for _, references in links.values()):
        others = (file for file in files if file.uri not in links and file.origin == "file")
        links |= {file.uri: read_links(file) for file in others if mail_kind(file.uri) == "message"}
    return find_threads((id_ or uri, references) for uri, (id_, references) in links.items())
