"""What changes an index: add, sync, watch, delete. The write path is imported by the first call that needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from outcrop.contracts import Stop
from outcrop.engine.reading import SIGNATURES, Reading
from outcrop.errors import NotFound, QueryError, SourceError
from outcrop.records import DEFAULT_COLLECTION, Filter, MetaValue, Scalar, SourceFile, Text

if TYPE_CHECKING:
    from outcrop.records import IngestReport, OnProgress
    from outcrop.write.prepare import Prepare

MAX_COUNTED_PENDING: Final = 10_000
"""`pending` counts no further than this, which keeps it cheap enough to ask every second (not measured)."""


class Writing(Reading):
    """The part of an Engine that changes the index."""

    def add(
        self,
        source: str | Path | None = None,
        *,
        text: str | None = None,
        id: str | None = None,
        title: str | None = None,
        kind: str | None = None,
        collection: str | None = None,
        tags: Sequence[str] = (),
        meta: Mapping[str, MetaValue | Sequence[Scalar]] | None = None,
        force: bool = False,
        defer_embedding: bool = False,
        ray: str | None = None,
        branches: Sequence[str] = (),
        archives: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add a folder, a file, a URL or a text. What is there already and unchanged costs next to nothing.

        A folder goes into a collection of its own name unless one is given; the rest into `default`. `id` names a
        text, so that adding it again replaces it; `kind` says how to read it (`md`, `text`, `html`, `json` …), where
        neither the id's extension nor the text itself does. `meta` is what is known of a text or a page beside its
        words, by name: text, numbers, dates, true or false, and lists of these; files have theirs in them. `force`
        reads and chunks again what did not change. With `defer_embedding` it is found by its words at once, and by
        meaning after `embed_pending`, in whatever process.
        `ray` is the address of a Ray cluster that reads, parses and embeds the files of a folder: `auto`, `HOST:PORT`,
        `ray://HOST:PORT`, or `local` for one on this machine alone. `branches` are patterns (`main`, `release/*`) of
        branches of the repository that a folder is in: they are read without a checkout, and share what they have in
        common with it and with each other. `search` takes one of them as `ref`.
        `archives` opens zip, tar and 7z files: each file in them is a document. `sync` and `watch` go on doing so.
        """
        from outcrop.records.parsed import is_url
        from outcrop.sources.text import text_source
        from outcrop.write.add import fetch_url
        from outcrop.write.plan import WriteOptions

        _check_added(source, text, kind=kind, meta=meta, archives=archives, branches=branches, ray=ray)
        options = WriteOptions(force, defer_embedding, progress, stopped, archives)
        if text is not None:
            file, data = text_source(text, id, kind=kind)
        elif is_url(source):
            file, data = fetch_url(self.config, source)
        else:
            path = Path(str(source)).expanduser()
            if branches:
                from outcrop.write.trees import add_branches

                return add_branches(self._adder, path, collection, branches, tags, options)
            cluster = self._cluster(ray, defer_embedding=defer_embedding)
            return self._signed(self._adder.add_path(path, collection, tags, options, cluster))
        target = collection or DEFAULT_COLLECTION
        wanted = Text("", title=title, tags=tuple(tags), meta=meta)
        return self._adder.run(lambda ingestor: ingestor.add(file, data, target, wanted, options))

    def add_sessions(
        self,
        source: str | Path,
        *,
        collection: str | None = None,
        tags: Sequence[str] = (),
        force: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add the past sessions of a coding agent: `claude`, `codex`, `gemini`, or the folder that they are in. One
        session is one document, one turn a section. `sync` and `watch` follow them as any folder."""
        from outcrop.sources.sessions import find_sessions

        folder, named = find_sessions(source)
        return self.add(
            folder, collection=collection or named, tags=tags, force=force, progress=progress, stopped=stopped
        )

    def repository_places(self, path: str | Path) -> tuple[Path, ...]:
        """What adding branches of the repository that a folder is in reads: its checkout, its folder of objects and
        those it borrows from, as real paths. Whoever lets others add should know them."""
        from outcrop.sources.gitobjects import object_folders
        from outcrop.write.repositories import find_repository

        repository = find_repository(Path(path))
        places = (repository.top, repository.common_dir, *object_folders(repository.common_dir / "objects"))
        return tuple(dict.fromkeys(place.resolve() for place in places))

    def _cluster(self, address: str | None, *, defer_embedding: bool) -> Prepare | None:
        if address is None:
            return None
        from outcrop.cluster.prepare import open_cluster

        return open_cluster(self.config, self.parts, address, defer_embedding=defer_embedding)

    def add_texts(
        self,
        texts: Iterable[Text],
        *,
        collection: str | None = None,
        force: bool = False,
        defer_embedding: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Add many texts in few transactions; memory stays bounded however many the iterable gives."""
        from outcrop.write.plan import WriteOptions

        target = collection or DEFAULT_COLLECTION
        options = WriteOptions(force, defer_embedding, progress, stopped)
        return self._adder.run_once(lambda ingestor: ingestor.add_many(texts, target, options))

    def sync(
        self,
        path: str | Path | None = None,
        *,
        collection: str | None = None,
        force: bool = False,
        progress: OnProgress | None = None,
        stopped: Stop | None = None,
    ) -> IngestReport:
        """Bring folders up to date: those added before, or the one given. Deleted files leave the index."""
        if path is not None:
            target = Path(path).expanduser()
            return self.add(target, collection=collection, force=force, progress=progress, stopped=stopped)
        roots = [(name, root) for name, root in self._store.roots() if collection in (None, name)]
        trees = any(collection in (None, each.collection) for each in self._store.manifests())
        if collection is not None and not roots and not trees:
            self._known.require((collection,))
        from outcrop.records import IngestReport
        from outcrop.write.add import sync_root
        from outcrop.write.plan import WriteOptions

        options = WriteOptions(force, progress=progress, stopped=stopped)
        reports = self._adder.run(
            lambda ingestor: [
                sync_root(self._store, ingestor, name, Path(root), options) for name, root in roots
            ]
        )
        report = self._signed(sum(reports, IngestReport()))
        if trees:
            from outcrop.write.trees import sync_repositories

            report += sync_repositories(self._adder, collection, options)
        return report

    def _signed(self, report: IngestReport) -> IngestReport:
        """After files were written: the signatures by which `grep` passes over most of them."""
        if report.added or report.changed or report.moved:
            from outcrop.index.trigrams import Signatures
            from outcrop.read.grep import sign_files

            sign_files(self._view(), Signatures(self.config.beside(SIGNATURES)))
        return report

    def sync_files(
        self,
        files: Sequence[SourceFile],
        gone: Iterable[str] = (),
        *,
        collection: str,
        read: Callable[[SourceFile], bytes],
        defer_embedding: bool = False,
    ) -> IngestReport:
        """Bring single files of a folder up to date, found and read by the caller, whatever the folder's rules say of
        them; documents with a uri of `gone` leave the index, or move where a new file has the same bytes."""
        from outcrop.write.plan import WriteOptions

        options = WriteOptions(defer_embedding=defer_embedding)
        return self._adder.run(
            lambda ingestor: ingestor.sync_files(files, gone, collection, read=read, options=options)
        )

    def embed_pending(self, *, stopped: Stop | None = None) -> int:
        """Embed what was added with `defer_embedding`, by whatever process, in small batches; how many documents were
        completed.

        The queue is the index itself: interrupted, it goes on where it stopped. Two processes that do so at once only
        waste work.
        """
        return self._adder.embed_pending(stopped) if self.pending() else 0

    def pending(self) -> int:
        """How many documents wait for a vector, counted up to 10 000. Cheap: for asking each second."""
        return len(self._store.pending(MAX_COUNTED_PENDING))

    def watch(
        self, paths: Sequence[str | Path], *, collection: str | None = None, stop: threading.Event | None = None
    ) -> Iterator[IngestReport]:
        """Sync folders, then keep them fresh: yields a report after the first sync and after every change."""
        roots = [Path(path).expanduser().resolve() for path in paths]
        yield from self._adder.watch(roots, collection, stop or threading.Event())

    def forget(
        self, *, ref: str | None = None, worktree: str | None = None, collection: str | None = None
    ) -> int:
        """Forget a branch or a checkout, with the documents that no other holds; how many went."""
        from outcrop.read.manifests import choose_manifests
        from outcrop.write.repositories import forget_pattern

        if (ref is None) == (worktree is None):
            raise QueryError("give a ref or a worktree to forget")
        where = Filter(collections=() if collection is None else (collection,), ref=ref, worktree=worktree)
        self._known.require(where.collections)
        removed = 0
        for each in choose_manifests(self._known.manifests(), where):
            if ref is not None and each.folder is not None:
                raise NotFound(f"{ref} is only known as the checkout {each.folder}; name that as the worktree")
            forget_pattern(self._store, each)
            removed += self._store.drop_manifest(each.id)
        self.parts.index.purge()
        return removed

    def delete(self, *references: int | str, collection: str | None = None, where: Filter | None = None) -> int:
        """Remove documents by id, uri or path, or all that pass a filter; how many went. Gone means gone."""
        ids = [self.get(reference, collection=collection).id for reference in references]
        if where is not None:
            if where.is_empty():
                raise QueryError("an empty filter would delete everything; name collections instead")
            ids.extend(self._store.select(where).tolist())
        removed = self._store.delete(ids)
        self.parts.index.purge()
        if removed:
            from outcrop.store.scans import SCANS, ScanStore

            kept = ScanStore(self.config.beside(SCANS))
            kept.tidy(lambda: {document.sha256 for document in self._store.documents()}, after_s=0)
        return removed


def _check_added(
    source: str | Path | None,
    text: str | None,
    *,
    kind: str | None,
    meta: Mapping[str, object] | None,
    archives: bool,
    branches: Sequence[str],
    ray: str | None,
) -> None:
    """SourceError where an option does not go with what is added."""
    from outcrop.records.parsed import is_url

    if (source is None) == (text is None) or source == "":
        raise SourceError("give either a source (folder, file or URL) or a text")
    is_file = text is None and not is_url(source)
    if kind is not None and text is None:
        raise SourceError("kind goes with a text; files and URLs have their own")
    if meta is not None and is_file:
        raise SourceError("metadata goes with a text or a URL; a file has its own, as front matter for example")
    if archives and (branches or not is_file):
        raise SourceError("archives are those in a folder, or a file")
    if branches and not is_file:
        raise SourceError("branches go with the folder of a repository")
    if ray is not None and not is_file:
        raise SourceError("a Ray cluster reads files and folders; add a URL or a text without it")
