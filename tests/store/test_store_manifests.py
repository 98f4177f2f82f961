"""What every store promises of branches and checkouts: manifests of documents that any number of them share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.store.builders import make_write, put

from outcrop.contracts import Store
from outcrop.errors import Conflict
from outcrop.records import DocumentWrite, Filter

REPOSITORY = "/src/project/.git"


def tree_write(path: str, text: str, collection: str = "main") -> DocumentWrite:
    """A document of a tree: named after its path and its content."""
    write = make_write(path, text, collection=collection)
    file = replace(
        write.file, uri=f"blob:{hash(text) & 0xFFFF:x}/{path}", origin="tree", root=None, mtime_ns=None
    )
    return replace(write, file=file)


def ids_of(store: Store, *manifests: str) -> list[int]:
    """The documents that a search in these manifests may touch."""
    known = {each.name: each.id for each in store.manifests()}
    return [int(each) for each in store.select(Filter(manifests=tuple(known[name] for name in manifests)))]


def test_manifests_share_documents_and_a_filter_never_mixes_them(store: Store) -> None:
    same, old, new = put(
        store,
        tree_write("same.md", "alike in both"),
        tree_write("a.md", "as it was"),
        tree_write("a.md", "as it is"),
    )
    (note,) = put(store, make_write("note.md", "of no branch"))
    store.put_manifest(
        "main", "refs/heads/old", [same, old], repository=REPOSITORY, branch="old", revision="1" * 40
    )
    store.put_manifest("main", "/src/project", [same, new], repository=REPOSITORY, branch="main")
    first, second = store.manifests()
    assert (first.name, first.repository, first.branch, first.revision) == (
        "refs/heads/old",
        REPOSITORY,
        "old",
        "1" * 40,
    )
    assert (first.folder, second.folder) == (None, "/src/project")
    assert ids_of(store, "refs/heads/old") == [same, old, note]
    assert ids_of(store, "/src/project") == [same, new, note]
    assert [info.id for info in store.documents(Filter(manifests=(second.id,), paths=("a.md",)))] == [new]
    assert list(store.check()) == []


def test_a_document_goes_with_the_last_manifest_that_holds_it(store: Store) -> None:
    same, old, new = put(
        store, tree_write("same.md", "alike"), tree_write("a.md", "was"), tree_write("a.md", "is")
    )
    store.put_manifest("main", "refs/heads/one", [same, old], repository=REPOSITORY)
    store.put_manifest("main", "refs/heads/two", [same, old], repository=REPOSITORY)
    assert store.put_manifest("main", "refs/heads/one", [same, new], repository=REPOSITORY) == 0
    assert store.put_manifest("main", "refs/heads/two", [same, new], repository=REPOSITORY) == 1
    assert store.document(old) is None
    one, two = store.manifests()
    assert store.drop_manifest(one.id) == 0
    assert store.drop_manifest(two.id) == 2
    assert store.manifests() == []
    assert store.select(Filter()).tolist() == []
    assert list(store.check()) == []


def test_a_manifest_of_documents_that_are_gone_is_refused_and_changes_nothing(store: Store) -> None:
    kept, lost = put(store, tree_write("a.md", "stays"), tree_write("b.md", "goes"))
    store.put_manifest("main", "refs/heads/main", [kept, lost], repository=REPOSITORY, revision="1" * 40)
    store.delete([lost])
    with pytest.raises(Conflict, match="read it again"):
        store.put_manifest("main", "refs/heads/main", [kept, lost], repository=REPOSITORY, revision="2" * 40)
    (manifest,) = store.manifests()
    assert manifest.revision == "1" * 40
    assert ids_of(store, "refs/heads/main") == [kept]


def test_a_manifest_whose_documents_are_all_removed_is_forgotten(store: Store) -> None:
    first, second = put(store, tree_write("a.md", "one"), tree_write("b.md", "two"))
    store.put_manifest("main", "refs/heads/main", [first, second], repository=REPOSITORY)
    store.delete([first])
    assert [each.name for each in store.manifests()] == ["refs/heads/main"]
    store.delete([second])
    assert store.manifests() == []


def test_what_a_killed_run_left_goes_only_when_it_is_old(store: Store) -> None:
    fresh = tree_write("fresh.md", "another run is about to list this")
    stale = replace(tree_write("stale.md", "its run was killed"), created_at=1.0, updated_at=1.0)
    held, fresh_id, stale_id = put(store, tree_write("a.md", "held"), fresh, stale)
    assert store.put_manifest("main", "refs/heads/main", [held], repository=REPOSITORY) == 0
    assert store.drop_unlisted(older_than_s=1000.0) == 1
    assert store.drop_unlisted(older_than_s=1000.0) == 0
    assert store.document(fresh_id) is not None
    assert store.document(stale_id) is None
    assert store.document(held) is not None
