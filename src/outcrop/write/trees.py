"""TREES: branches and checkouts of one repository become manifests over documents that they share.

A document of a tree is named after its path and content, so it never changes: what two trees have in common is read,
chunked, stored and embedded once. A tree is a list of such documents, replaced as a whole in one transaction. What a
killed run left behind is found again by its name, or removed an hour later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from outcrop.contracts import Store
from outcrop.errors import Conflict, NotFound, SourceError
from outcrop.records import Failure, Filter, IngestReport, Manifest, Skipped, SourceFile
from outcrop.sources.checkout import Checkout, Checkouts, Repository, blob_id, repository_at
from outcrop.sources.commits import History
from outcrop.sources.files import read_plain
from outcrop.sources.folder import shields, walk
from outcrop.sources.gitpacks import ObjectTooLarge
from outcrop.sources.trees import blob_of, blob_uri, match_known_refs, match_refs, walk_tree, worktree_folders
from outcrop.system.dataclass import dataclass
from outcrop.write.add import Adder, tags_of
from outcrop.write.ingest import Ingestor
from outcrop.write.plan import WriteOptions
from outcrop.write.prepare import Job, NoText, Outcome, Prepare, Recipe, Unreadable, prepare_file
from outcrop.write.repositories import (
    BRANCHES,
    collection_of_repository,
    find_repository,
    reach_repository,
    remembered_patterns,
)

UNLISTED_S: Final = 3600.0
"""Documents that no tree lists: a run is about to list them, or was killed that long ago (not measured)."""
_SHA1_DIGITS: Final = 40
MAX_TRIES: Final = 4
"""How often a tree is read again because another process removed what it shares meanwhile (not measured)."""

Read = Callable[[SourceFile], bytes]


def add_branches(
    adder: Adder,
    path: Path,
    collection: str | None,
    patterns: Sequence[str],
    tags: Sequence[str],
    options: WriteOptions,
) -> IngestReport:
    """Add the branches of a repository that match some patterns, and the checkout that the folder is in. Later syncs
    go by the same patterns: new branches come in, deleted ones leave."""
    repository = find_repository(path)
    match_refs(repository, patterns)  # NotFound before anything is written
    name = collection_of_repository(adder.store, repository, collection)
    adder.store.put_setting(f"{BRANCHES}{repository.common_dir}", json.dumps([name, list(patterns)]))
    return add_checkout(adder, repository, name, tags, options, patterns)


def add_checkout(
    adder: Adder,
    repository: Repository,
    collection: str | None,
    tags: Sequence[str],
    options: WriteOptions,
    branches: Sequence[str] = (),
) -> IngestReport:
    """Add one checkout of a repository whose trees are in the index, or a linked one of any, with these branches, or
    those that were asked for last. Its own checkout becomes a manifest too where it was added by itself."""
    store = adder.store
    name = collection_of_repository(store, repository, collection)
    tags_of(store, name, repository.common_dir, tags)
    own = repository_at(repository.common_dir.parent)
    joins = own is not None and own.common_dir == repository.common_dir and own.top != repository.top
    joins = joins and (name, str(repository.common_dir.parent)) in store.roots()

    def work(ingestor: Ingestor) -> IngestReport:
        trees = Trees(store, ingestor, repository, name, options)
        report = IngestReport() if repository.is_bare else trees.sync_checkout(repository.top)
        if joins:
            report += trees.sync_checkout(repository.common_dir.parent)
        patterns = branches or remembered_patterns(store, repository, name)
        return report + trees.sync_refs(patterns) if patterns else report

    return adder.run(work)


def add_bare(
    adder: Adder, repository: Repository, collection: str | None, tags: Sequence[str], options: WriteOptions
) -> IngestReport:
    """Add a bare repository, of which no branches were named: those that were before, else the one of its HEAD."""
    name = collection_of_repository(adder.store, repository, collection)
    if remembered_patterns(adder.store, repository, name):
        return add_checkout(adder, repository, name, tags, options)
    if repository.branch is None or repository.revision is None:
        raise SourceError(f"{repository.top} has nothing on its own branch; name others with --branches")
    return add_branches(adder, repository.top, name, [repository.branch], tags, options)


def sync_repositories(adder: Adder, collection: str | None, options: WriteOptions) -> IngestReport:
    """Bring all checkouts and branches that are in the index up to date."""
    places = {(each.repository, each.collection) for each in adder.store.manifests()}
    reports = []
    for key, name in sorted(places):
        if collection not in (None, name):
            continue
        repository = reach_repository(adder.store, key, name)
        if repository is None:
            reports.append(IngestReport(failed=(Failure(key, "cannot be read; its branches are kept"),)))
            continue
        reports.append(adder.run(partial(_sync_all, adder.store, repository, name, options)))
    return sum(reports, IngestReport())


def _sync_all(
    store: Store, repository: Repository, collection: str, options: WriteOptions, ingestor: Ingestor
) -> IngestReport:
    trees = Trees(store, ingestor, repository, collection, options)
    report = trees.sync_checkouts()
    store.drop_unlisted(UNLISTED_S)
    try:
        patterns = remembered_patterns(store, repository, collection)
        return report + trees.sync_refs(patterns) if patterns else report
    except (SourceError, NotFound) as error:
        return report + IngestReport(failed=(Failure(str(repository.top), f"{error}; its branches are kept"),))


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees of one repository in one collection. `ingestor` writes their documents."""

    store: Store
    ingestor: Ingestor
    repository: Repository
    collection: str
    options: WriteOptions

    @property
    def recipe(self) -> Recipe:
        """How files become documents."""
        return self.ingestor.recipe

    @property
    def key(self) -> str:
        """What its manifests are known to belong together by."""
        return str(self.repository.common_dir)

    def known(self) -> list[Manifest]:
        """The manifests of this repository in this collection."""
        return [
            each
            for each in self.store.manifests()
            if (each.repository, each.collection) == (self.key, self.collection)
        ]

    # ------------------------------------------------------------------ branches

    def sync_refs(self, patterns: Sequence[str]) -> IngestReport:
        """Bring the branches that match into the index, or up to date; those that are gone leave it."""
        history = History(self.repository)
        matched, unmatched = match_known_refs(self.repository, patterns)
        if not matched:  # as a repository looks whose refs cannot be read
            raise NotFound(f"{self.repository.top} has no branch {unmatched[0]!r} any more")
        first = f"refs/heads/{self.repository.branch}"  # which counts where nobody says which
        refs = {name: matched[name] for name in sorted(matched, key=lambda name: name != first)}
        known = {each.name: each for each in self.known()}
        report = IngestReport(skipped=tuple(Skipped(each, "no branch matches any more") for each in unmatched))
        for name, revision in refs.items():
            before = known.get(name)
            had = None if before is None or self.options.force else before.revision
            if had != revision:  # which is no commit where a tag has a message
                report += self._sync_ref(history, name, revision, had)
        for name, each in known.items():
            if each.folder is None and name not in refs:
                report += IngestReport(removed=self.store.drop_manifest(each.id))
        return report

    def _sync_ref(self, history: History, name: str, revision: str, had: str | None) -> IngestReport:
        short = name.split("/", 2)[-1]
        try:
            revision = history.resolve(revision)
            if revision == had:
                return IngestReport()
            tree = history.commit(revision).tree
        except (SourceError, NotFound) as error:
            return IngestReport(failed=(Failure(short, f"{error}; what was read of it before is kept"),))
        limit = self.recipe.max_file_bytes

        def read(file: SourceFile) -> bytes:
            return history.objects.read(blob_of(file.uri), "blob", limit)

        def items() -> Iterator[SourceFile | Skipped | Failure]:
            return walk_tree(history, tree, include_secrets=self.recipe.index_secrets)

        return self._sync_tree(items, read, name, branch=short, revision=revision)

    # ------------------------------------------------------------------ checkouts

    def sync_checkout(self, top: Path) -> IngestReport:
        """Bring the checkout in a folder into the index, or up to date. Files that git's own index proves unchanged
        are not read; documents that were added of the same folder by themselves are replaced."""
        repository = repository_at(top)
        if repository is None:
            raise SourceError(f"{top} is no checkout of a git repository any more")
        found: dict[str, str] = {}
        others = worktree_folders(repository) - {str(top)}
        inside = tuple(f"{other}/" for other in others if other.startswith(f"{top}/"))
        limit = self.recipe.max_file_bytes

        def items() -> Iterator[SourceFile | Skipped | Failure]:
            checkouts = Checkouts()
            states = self.store.states(self.collection)
            checkout = checkouts.at(str(top))
            secrets = self.recipe.index_secrets
            for item in walk(top, max_file_bytes=limit, include_secrets=secrets, checkouts=checkouts):
                if not isinstance(item, SourceFile):
                    yield item
                elif not item.uri.startswith(inside) and not self.ingestor.is_own(item.uri):
                    named = _name_content(item, checkout, states.keys(), limit)
                    if isinstance(named, SourceFile):
                        found[named.uri] = item.uri
                    yield named

        def read(file: SourceFile) -> bytes:
            data = read_plain(Path(found[file.uri]), limit)
            blob = blob_of(file.uri)
            if blob_id(data, "sha1" if len(blob) == _SHA1_DIGITS else "sha256") != blob:
                raise SourceError("it changed while it was read; sync again")
            return data

        branch, revision = repository.branch or "", repository.revision or ""
        report = self._sync_tree(items, read, str(top), branch=branch, revision=revision)
        plain = self.store.states(self.collection, str(top))
        if plain:
            self.store.delete([state.document_id for state in plain.values()])
        return report

    def sync_checkouts(self) -> IngestReport:
        """All checkouts that are known. One that git forgot leaves the index; one that cannot be reached stays."""
        report = IngestReport()
        living = worktree_folders(self.repository)
        for each in self.known():
            if each.folder is None:
                continue
            if not Path(each.folder).is_dir() and each.folder not in living:
                report += IngestReport(removed=self.store.drop_manifest(each.id))
                continue
            try:
                report += self.sync_checkout(Path(each.folder))
            except SourceError as error:  # an unplugged disk must not empty the index
                report += IngestReport(failed=(Failure(each.folder, f"{error}; its documents are kept"),))
        return report

    # ------------------------------------------------------------------ both

    def _sync_tree(
        self,
        items: Callable[[], Iterator[SourceFile | Skipped | Failure]],
        read: Read,
        name: str,
        *,
        branch: str,
        revision: str,
    ) -> IngestReport:
        prepare: Prepare = partial(_prepare_tree, read=read)
        tags, _ = tags_of(self.store, self.collection, Path(self.key), ())
        added = chunks = 0
        for tries in range(1, MAX_TRIES + 1):
            ids, report = self.ingestor.add_tree(items(), self.collection, tags, self.options, prepare)
            added, chunks = added + report.added, chunks + report.chunks
            ids += self._shielded(name, report)
            # A tree that was not read as a whole has no revision, so that the next run reads it again.
            about = {"repository": self.key, "branch": branch, "revision": "" if report.failed else revision}
            try:
                removed = self.store.put_manifest(self.collection, name, ids, **about)
                return replace(report, added=added, chunks=chunks, removed=report.removed + removed)
            except Conflict:
                if tries == MAX_TRIES:
                    raise
        raise AssertionError("unreachable")

    def _shielded(self, name: str, report: IngestReport) -> list[int]:
        """Documents of the tree as it was whose files could not be read this time: what was indexed is not lost."""
        before = [each.id for each in self.known() if each.name == name] if report.failed else []
        if not before:
            return []
        where = Filter(collections=(self.collection,), manifests=tuple(before))
        return [
            info.id
            for info in self.store.documents(where)
            if info.origin == "tree" and any(shields(failure, info.path) for failure in report.failed)
        ]


def _prepare_tree(
    jobs: Sequence[Job], recipe: Recipe, check_stopped: Callable[[], None], *, read: Read
) -> Generator[Outcome, None, None]:
    """As `prepare_here`, for files whose size shows only when they are read."""
    for job in jobs:
        check_stopped()
        try:
            data = read(job.file)
        except ObjectTooLarge as error:
            yield NoText(job.file, str(error))
        except SourceError as error:
            yield Unreadable(job.file, str(error))
        else:
            sized = replace(job.file, size=len(data))
            at_hand = partial(_give, data)
            yield prepare_file(Job(sized, None), recipe, at_hand) if data else NoText(sized, "empty")


def _give(data: bytes, _: SourceFile) -> bytes:
    return data


def _name_content(
    file: SourceFile, checkout: Checkout | None, known: Container[str], limit: int
) -> SourceFile | Failure:
    """A file of a checkout under the name of its content. Where git's index proves what is in it, and a document of
    that is there, it is not read."""
    assert file.mtime_ns is not None  # noqa: S101  a file on disk has one
    assert file.size is not None  # noqa: S101
    tracked = None if checkout is None else checkout.tracked
    if tracked is not None and tracked.proves_unchanged(file.path, file.mtime_ns, file.size):
        entry = tracked.get(file.path)
        uri = blob_uri(entry.blob, file.path) if entry else ""
        if uri in known:
            return SourceFile(uri, file.path, "tree", size=file.size)
    try:
        data = read_plain(Path(file.uri), limit)
    except SourceError as error:
        return Failure(file.path, str(error))
    algorithm = "sha1" if tracked is None else tracked.algorithm
    return SourceFile(blob_uri(blob_id(data, algorithm), file.path), file.path, "tree", size=file.size)
