"""WRITE PATH: sources → parse → chunk → embed → store.

A file whose stat is unchanged costs that stat; one whose bytes are unchanged costs a hash. What changed is prepared
(`prepare.py`: parsed and chunked, here or by others) and committed (`commit.py`: embedded where the cache has no
vector for a chunk's content yet, and written in batches, each one transaction). A run that is killed loses the batch
in the making; the next run picks up where it stopped. A bad file is a line in the report.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from outcrop.contracts import Commentator, Embedder, Store
from outcrop.errors import ParseError, SourceError
from outcrop.parse.title import cut_title
from outcrop.records import (
    Document,
    Failure,
    FileState,
    Filter,
    IngestReport,
    Progress,
    Skipped,
    SourceFile,
    Text,
    owner_of,
)
from outcrop.records.meta import check_meta
from outcrop.sources.archives import Rules
from outcrop.sources.checkout import Checkouts
from outcrop.sources.exclusions import looks_secret
from outcrop.sources.folder import stat_file, walk
from outcrop.sources.revisions import note_revisions
from outcrop.sources.text import kind_of, text_source
from outcrop.write.commit import Committer
from outcrop.write.parts import Batch, holds_archives, holds_parts, open_parts
from outcrop.write.plan import PLAIN, Plan, Run, WriteOptions, belongs_to_index, log_run, plan_files, state_of
from outcrop.write.prepare import (
    Job,
    NoText,
    Outcome,
    Prepare,
    Prepared,
    Recipe,
    Unchanged,
    Unread,
    Unreadable,
    prepare_here,
    prepare_parsed,
)
from outcrop.write.scans import Scans, prepare_one

log = logging.getLogger(__name__)


class Ingestor:
    """Brings documents into a store. One run at a time in a thread; several processes may run at once."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        recipe: Recipe,
        own: Path,
        after_write: Callable[[int], None],
        commentator: Commentator | None = None,
        prepare: Prepare = prepare_here,
        scans: Scans | None = None,
    ) -> None:
        """`own` is the index itself, which is never content; `prepare` says who reads the files of folders, unless a
        sync says otherwise; `scans` reads pages without text, where something here can."""
        self._store = store
        self._prepare = prepare
        self._recipe = recipe
        self._scans = scans
        self._own = str(own)
        pictures = scans is not None and scans.engine.reads_pictures
        self._rules = Rules(recipe.max_file_bytes, pictures, recipe.index_secrets)
        self._committer = Committer(store, embedder, after_write, commentator)

    @property
    def recipe(self) -> Recipe:
        """How files become documents."""
        return self._recipe

    def is_own(self, path: str) -> bool:
        """Whether this is a file of the index itself, which may well lie in a folder that is indexed."""
        return belongs_to_index(path, self._own)

    # ------------------------------------------------------------------ folders and files

    def _start(self, collection: str, tags: Sequence[str], options: WriteOptions) -> Run:
        unembedded = frozenset(() if options.defer_embedding else self._store.pending())
        return Run(collection, tuple(tags), options, unembedded)

    def sync(
        self,
        root: Path,
        collection: str,
        tags: Sequence[str] = (),
        options: WriteOptions = PLAIN,
        *,
        prune: bool = True,
        prepare: Prepare | None = None,
    ) -> IngestReport:
        """Make the collection's documents below `root` the same as the files there. `prune` removes documents whose
        files are gone; `prepare` says who reads the files. Documents below a folder that could not be read are kept:
        their files are not known to be gone."""
        run = self._start(collection, tags, options)
        checkouts, real = Checkouts(), root.resolve()
        states = self._store.states(collection, str(real) if real.is_dir() else None)
        if not real.is_dir():
            states = {uri: state for uri, state in states.items() if owner_of(uri) == str(real)}
        items = walk(
            root,
            max_file_bytes=self._rules.max_file_bytes,
            include_secrets=self._rules.secrets,
            pictures=self._rules.pictures,
            archives=options.archives or holds_archives(states),
            checkouts=checkouts,
        )
        seen = self._scan(run, items)
        self._sync_files(run, seen, states, str(real), prune, prepare or self._prepare)
        self._note_revisions(run, real, checkouts)
        return self._finish(run)

    def _note_revisions(self, run: Run, real: Path, checkouts: Checkouts) -> None:
        root = str(real if real.is_dir() else real.parent)
        wrote = bool(run.added or run.changed or run.moved or run.removed)
        most = self._recipe.max_file_bytes
        note_revisions(self._store, run.collection, root, checkouts, wrote=wrote, max_file_bytes=most)

    def sync_known(
        self, paths: Iterable[Path], root: Path, collection: str, *, tags: Sequence[str] = ()
    ) -> IngestReport | None:
        """Bring edited files up to date without walking the folder; None when that is not enough. It is enough when
        each path is a file that is already a document. A new, vanished, emptied or ignored file, one that became too
        large, and a changed folder need the rules of the whole folder."""
        real = root.resolve()
        files: list[SourceFile] = []
        states: dict[str, FileState] = {}
        for path in paths:
            known = self._store.find(collection, str(path))
            if known is None or path.is_symlink() or not path.is_file():
                return None
            if (looks_secret(str(path)) and not self._recipe.index_secrets) or holds_parts(str(path)):
                return None
            short, most = path.relative_to(real).as_posix(), self._recipe.max_file_bytes
            file = stat_file(str(path), short, str(real), path.stat(), most)
            if not isinstance(file, SourceFile):
                return None
            states[str(path)] = state_of(known)
            files.append(file)
        run = self._start(collection, tags, PLAIN)
        self._sync_files(run, files, states, str(real), prune=False)
        self._note_revisions(run, real, Checkouts())
        return self._finish(run)

    def sync_files(
        self,
        files: Sequence[SourceFile],
        gone: Iterable[str],
        collection: str,
        *,
        read: Callable[[SourceFile], bytes],
        options: WriteOptions = PLAIN,
    ) -> IngestReport:
        """Bring these files of one folder up to date, which the caller found and reads; documents with a uri of `gone`
        leave the index, or move where a new file has the same bytes. Each is read, whatever its stat says: the caller
        may have written it twice within one tick of the clock."""
        uris = {*gone, *(file.uri for file in files)}
        found = ((uri, self._store.find(collection, uri)) for uri in uris)
        states = {uri: state_of(known) for uri, known in found if known is not None}
        run = self._start(collection, (), options)
        root = files[0].root or "" if files else ""
        prepare = partial(prepare_here, read=read)
        self._sync_files(
            run, list(files), states, root, prune=True, prepare=prepare, again=prepare, trust_stat=False
        )
        return self._finish(run)

    def add_tree(
        self,
        items: Iterator[SourceFile | Skipped | Failure],
        collection: str,
        tags: Sequence[str],
        options: WriteOptions,
        prepare: Prepare,
    ) -> tuple[list[int], IngestReport]:
        """Documents for the files of a tree, which are named by their content: those that are in the collection
        already cost a lookup. The ids of all of them; nothing leaves the index here."""
        run = self._start(collection, tags, options)
        files = self._scan(run, items)
        states = self._store.states(collection)
        named = {file.uri: file for file in files}
        there = {uri: states[uri].document_id for uri in named if uri in states and not options.force}
        kept = {uri: id_ for uri, id_ in there.items() if id_ not in run.unembedded}
        jobs = [Job(file, None) for uri, file in named.items() if uri not in kept]
        run.total, run.unchanged = len(jobs), len(files) - len(jobs)
        with closing(prepare(jobs, self._recipe_of(run), run.check_stopped)) as outcomes:
            for outcome in outcomes:
                self._take(run, outcome, None, Plan((), 0, {}, {}))
                run.step(outcome.file.path, outcome.file.size)
        self._read_scans(run, Plan((), 0, {}, {}), prepare)
        report = self._finish(run)
        # Not what is there now: another process may have removed some since, and a tree must not be short of those.
        return [*kept.values(), *run.document_ids], report

    def _scan(self, run: Run, items: Iterator[SourceFile | Skipped | Failure]) -> list[SourceFile]:
        files = []
        for item in items:
            if isinstance(item, SourceFile):
                if self.is_own(item.uri):
                    continue
                files.append(item)
                if run.options.progress is not None and len(files) % 256 == 0:
                    run.options.progress(Progress(len(files), None, 0, item.path, "scan"))
                    run.check_stopped()
            elif isinstance(item, Skipped):
                run.skipped.append(item)
            else:
                run.failed.append(item)
        return files

    def _sync_files(
        self,
        run: Run,
        files: list[SourceFile],
        states: Mapping[str, FileState],
        root: str,
        prune: bool,
        prepare: Prepare = prepare_here,
        *,
        again: Prepare = prepare_here,
        trust_stat: bool = True,
    ) -> None:
        plan = plan_files(run, files, states, root, prune=prune, trust_stat=trust_stat)
        run.unchanged += plan.unchanged
        run.total = len(plan.jobs)
        run.bytes_total = sum(job.file.size or 0 for job in plan.jobs)
        # Files that the caller reads are taken as they are.
        batches = (
            [Batch(list(plan.jobs))] if not trust_stat else open_parts(run, plan, files, states, self._rules)
        )
        for batch in batches:
            by = self._prepare if batch.own else prepare
            with closing(by(batch.jobs, self._recipe_of(run), run.check_stopped)) as outcomes:
                for outcome in outcomes:
                    self._take(run, outcome, states.get(outcome.file.uri), plan)
                    run.step(outcome.file.path, outcome.file.size)
            self._close(run, batch, states)
        self._read_scans(run, plan, again)
        self._committer.flush(run)
        if prune and plan.gone:
            run.removed += self._store.delete([state.document_id for state in plan.gone.values()])

    def _close(self, run: Run, batch: Batch, states: Mapping[str, FileState]) -> None:
        """Write the document of a file whose parts are all prepared; parts that it lost leave the index."""
        if batch.gone:
            self._committer.flush(run)
            run.removed += self._store.delete(batch.gone)
        if batch.whole is not None:
            file, document, digest = batch.whole
            prepared = prepare_parsed(file, document, digest, self._recipe_of(run))
            self._committer.queue(run, prepared, states.get(file.uri))
            run.step(file.path)

    def _read_scans(self, run: Run, plan: Plan, prepare: Prepare) -> None:
        """Read the pages that have no text, after all that has: then it is known how many they are."""
        if self._scans is None or not run.unread:
            return
        waiting, run.unread = run.unread, []
        states = {item.file.uri: state for item, state in waiting}
        items = [item for item, _ in waiting]
        with closing(self._scans.read_all(run, items, self._recipe_of(run), prepare)) as outcomes:
            for outcome in outcomes:
                self._take(run, outcome, states.get(outcome.file.uri), plan)

    def _recipe_of(self, run: Run) -> Recipe:
        return replace(self._recipe, collection=run.collection, tags=run.tags)

    def _take(self, run: Run, outcome: Outcome, state: FileState | None, plan: Plan) -> None:
        """Do what follows from the outcome of one file; `state` is what is stored of it."""
        file = outcome.file
        match outcome:
            case Unchanged():
                run.unchanged += 1
                if state is not None:
                    run.touched[state.document_id] = (file.mtime_ns, file.size)
            case NoText(_, reason):
                if state is not None:
                    run.removed += self._store.delete([state.document_id])
                run.skipped.append(Skipped(file.path, reason))
            case Unread():
                run.unread.append((outcome, state))
            case Unreadable(_, reason):
                run.note_failure(file, state, reason)
            case Prepared(write):
                moved = plan.take_moved(write.sha256) if state is None else None
                if moved is not None:
                    self._committer.move(run, moved, outcome)
                else:
                    self._committer.queue(run, outcome, state)

    # ------------------------------------------------------------------ single documents

    def add(
        self, file: SourceFile, data: bytes, collection: str, text: Text, options: WriteOptions = PLAIN
    ) -> IngestReport:
        """One document from bytes at hand: a fetched page, a text. Unchanged content changes nothing. Unlike a file in
        a folder, content that cannot be parsed raises: there is no run to go on with."""
        run = self._start(collection, (), options)
        self._add_one(run, file, data, text)
        return self._finish(run)

    def add_many(self, texts: Iterable[Text], collection: str, options: WriteOptions = PLAIN) -> IngestReport:
        """Many documents in few transactions; one that cannot be parsed is a line in the report."""
        run = self._start(collection, (), options)
        for text in texts:
            name = text.id or self._shown(text.text[:_LOOKED_AT])[:_NAMED]
            try:
                self._add_one(run, *text_source(text.text, text.id, kind=text.kind), text)
            except (SourceError, ParseError) as error:
                run.failed.append(Failure(name, str(error)))
            run.step(name)
        return self._finish(run)

    def add_parsed(
        self,
        documents: Iterable[tuple[SourceFile, Document] | Failure],
        collection: str,
        options: WriteOptions = PLAIN,
        *,
        total: int,
        gone: Sequence[int] = (),
    ) -> IngestReport:
        """Documents that were made rather than read, and never change: each is new. Those of `gone` leave."""
        run = self._start(collection, (), options)
        run.total = total
        for item in documents:
            if isinstance(item, Failure):
                run.failed.append(item)
                continue
            file, document = item
            digest = sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()
            self._committer.queue(run, prepare_parsed(file, document, digest, self._recipe_of(run)), None)
            run.step(file.path)
        report = self._finish(run)
        return replace(report, removed=self._store.delete(gone)) if gone else report

    def _add_one(self, run: Run, file: SourceFile, data: bytes, text: Text) -> None:
        digest = sha256(data).hexdigest()
        title = None if text.title is None else cut_title(self._shown(text.title))
        meta = check_meta(text.meta or {})
        stored = self._store.find(run.collection, file.uri)
        state, same = None, False
        if stored is not None:
            same = stored.sha256 == digest and title in (None, stored.title) and stored.id not in run.unembedded
            same = same and kind_of(file) in (None, stored.kind)
            same = same and set(text.tags) <= set(stored.tags) and not run.options.force
            if same and (text.meta is None or meta == stored.meta):
                run.note_unchanged(stored.id)
                return
            state = state_of(stored)
        prepared = prepare_one(self._scans, run, self._recipe_of(run), file, data, digest, title, meta)
        write = prepared.write
        if stored is not None and same and write.document.meta == stored.meta:  # with what the text itself has
            run.note_unchanged(stored.id)
            return
        tagged = replace(write, tags=tuple(dict.fromkeys((*write.tags, *text.tags))))
        self._committer.queue(run, replace(prepared, write=tagged), state)

    def _shown(self, words: str) -> str:
        """Words of a text as they may be shown."""
        from outcrop.mask import mask_secrets  # late, as in prepare.py

        return words if self._recipe.index_secrets else mask_secrets(words)[0]

    def _finish(self, run: Run) -> IngestReport:
        run.held.close()
        self._committer.flush(run)
        report = run.report()
        if report.removed and self._scans is not None:
            self._scans.store.tidy(lambda: {document.sha256 for document in self._store.documents(Filter())})
        log_run(report)
        return report


_NAMED = 40
_LOOKED_AT = 4096
"""Characters that name a text without a name, and those searched for secrets first: a cut key would not be known."""
