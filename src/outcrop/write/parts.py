"""PARTS: files that hold several documents: mailboxes, messages with attachments, exports, archives.

What is in such a file is listed first, then each part is prepared like any file, from where it lies. The document of a
mailbox itself is written after all of its messages, so that a run that was killed lists them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from datetime import date
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from outcrop.errors import SourceError
from outcrop.records import (
    MAILBOX,
    PART_OF,
    Document,
    Failure,
    FileState,
    Inside,
    Skipped,
    SourceFile,
    owner_of,
)
from outcrop.sources.archives import Member, Rules, archive_kind, unpack
from outcrop.sources.exclusions import PICTURES
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
    run: Run, plan: Plan, files: Sequence[SourceFile], states: Mapping[str, FileState], rules: Rules
) -> Iterator[Batch]:
    """The jobs of a plan, in batches, with those of the parts of its files. One mailbox is one batch."""
    stored = _stored_parts(states)
    kinds = {job.file.uri: _kind_of(job.file.uri) for job in plan.jobs if job.file.origin == "file"}
    messages = [job.file for job in plan.jobs if kinds.get(job.file.uri) == "message"]
    threads = _threads_of(messages, files) if messages else {}
    batch, attached = Batch([]), Batch([], own=True)
    for job in plan.jobs:
        kind, known = kinds.get(job.file.uri), stored.get(job.file.uri, {})
        if kind == "message":
            _open_message(run, job, threads, states, known, rules, batch, attached)
        elif kind is None:
            batch.jobs.append(job)
            attached.gone += _lost(known, ())
    run.total = (run.total or 0) + len(attached.jobs)
    yield batch
    if attached.jobs or attached.gone:
        yield attached
    for job in plan.jobs:
        kind, known = kinds.get(job.file.uri), stored.get(job.file.uri, {})
        if kind == "mailbox":
            yield from _open_mailbox(run, job.file, states, known)
        elif kind == "archive":
            yield from _open_archive(run, job, states, known, rules)
        elif kind not in (None, "message"):
            yield _open_export(run, job, kind, states, known, rules.max_file_bytes)


def _open_message(
    run: Run,
    job: Job,
    threads: Mapping[str, str],
    states: Mapping[str, FileState],
    stored: Mapping[str, FileState],
    rules: Rules,
    batch: Batch,
    attached: Batch,
) -> None:
    """A message that is a file goes into a batch, what is attached to it into another."""
    uri = job.file.uri
    try:
        source, message, data = open_message(job.file, rules.max_file_bytes)
    except SourceError:  # whoever prepares it says what is wrong
        batch.jobs.append(job)
        return
    source = in_thread(source, threads.get(message.id or uri, message.id or uri))
    batch.jobs.append(Job(source, job.known))
    parts = _keep_sources(run, find_attachments(source, message, data))
    attached.jobs += _jobs(run, parts, states)
    attached.gone += _lost(stored, parts)


def _keep_sources(run: Run, items: Iterable[SourceFile | Skipped | Failure]) -> list[SourceFile]:
    """The sources among what was found; the rest is reported."""
    sources: list[SourceFile] = []
    for item in items:
        if isinstance(item, SourceFile):
            sources.append(item)
        elif isinstance(item, Skipped):
            run.skipped.append(item)
        else:
            run.failed.append(item)
    return sources


def _kind_of(uri: str) -> str | None:
    return "archive" if archive_kind(uri) else mail_kind(uri) or export_kind(uri)


def holds_parts(uri: str) -> bool:
    """Whether a file is to be opened for the documents in it."""
    return _kind_of(uri) is not None


def holds_archives(states: Mapping[str, FileState]) -> bool:
    """Whether archives were opened of which these are the parts: then they are opened again."""
    return any(PART_OF in uri and archive_kind(owner_of(uri)) for uri in states)


def _open_archive(
    run: Run, job: Job, states: Mapping[str, FileState], stored: Mapping[str, FileState], rules: Rules
) -> Iterator[Batch]:
    """The files of an archive, which are on disk while their batch is prepared; scans, which are read last, until the
    run ends."""
    file = job.file
    folder = TemporaryDirectory(prefix="outcrop-archive-")
    with ExitStack() as held:
        held.enter_context(folder)
        try:
            found = unpack(file, Path(folder.name), rules)
        except SourceError as error:  # what was read of it before is kept
            run.failed.append(Failure(file.path, str(error)))
            return
        run.skipped.extend(found.notes)
        parts = [
            part for member in found.members for part in _parts_of(run, file, member, rules.max_file_bytes)
        ]
        text = found.describe(PurePosixPath(file.path).name)
        names = "\n".join(part.uri for part in parts)
        digest = sha256(f"{text}\n{names}".encode("utf-8", "replace")).hexdigest()
        document = Document(text=text, kind="archive", title=PurePosixPath(file.path).name)
        run.total = (run.total or 0) + len(parts)
        if any(member.place.suffix.lower()[1:] in (*PICTURES, "pdf") for member in found.members):
            run.held.push(held.pop_all())
        yield Batch(_jobs(run, parts, states), True, (file, document, digest), _lost(stored, parts))


def _parts_of(run: Run, file: SourceFile, member: Member, max_bytes: int) -> Iterator[SourceFile]:
    """The documents of a file in an archive: itself, or what it holds in turn."""
    place = str(member.place)
    source = SourceFile(
        uri=place,
        path=f"{file.path}/{member.name}",
        origin="file",
        root=file.root,
        mtime_ns=file.mtime_ns,
        size=member.size,
    )
    own = f"{file.uri}{PART_OF}{member.name}"
    kind = _kind_of(place)
    found: list[SourceFile | Skipped | Failure] = []
    try:
        if kind == "mailbox":
            mailbox = open_mailbox(source)
            found = [*mailbox.parts, *mailbox.notes]
        elif kind == "message":
            message, head, data = open_message(source, max_bytes)
            message = in_thread(message, head.id or own)
            found = [message, *find_attachments(message, head, data)]
        elif kind is not None:
            export = open_export(source, kind, max_bytes)
            found = [] if export is None else [*export.parts]
    except SourceError as error:
        run.failed.append(Failure(source.path, str(error)))
        return
    if not found:
        yield replace(source, uri=own, origin="part", inside=Inside(place, 0, member.size))
    for part in _keep_sources(run, found):
        rest = part.uri.removeprefix(place).removeprefix(PART_OF)
        yield replace(part, uri=f"{own}{PART_OF}{rest}" if rest else own, origin="part")


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
) -> Iterator[Batch]:
    try:
        mailbox = open_mailbox(file)
    except SourceError as error:  # what was read of it before is kept
        run.failed.append(Failure(file.path, str(error)))
        return
    _keep_sources(run, mailbox.notes)
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
    yield Batch(_jobs(run, mailbox.parts, states), True, (file, document, digest), _lost(stored, mailbox.parts))


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
