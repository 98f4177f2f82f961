"""Commits, trees and revisions, held against real git."""

from __future__ import annotations

import hashlib
import random
import subprocess
from pathlib import Path

import pytest
from tests.sources.repositories import commit, forge_pack, git, head, make, open_at, packed

from outcrop.errors import NotFound, SourceError
from outcrop.sources.commits import MAX_TREES, History, open_history
from outcrop.sources.gitpacks import MissingObject


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Two branches that meet, a renamed file, a tag of each kind."""
    top = make(tmp_path / "repo")
    commit(top, "first", {"a.txt": "a\n", "src/deep/b.txt": "b\n"}, "2024-01-01T10:00:00+0200")
    git(top, "tag", "-a", "-m", "one", "v1")
    git(top, "checkout", "-q", "-b", "topic/x")
    commit(top, "on the branch\n\nWith a body.", {"src/deep/c.txt": "c\n"}, "2024-01-02T10:00:00-0500")
    git(top, "checkout", "-q", "main")
    commit(top, "moved", {"a.txt": None, "docs/a.txt": "a\n", "src/deep/b.txt": "b2\n"}, "2024-01-03T10:00:00Z")
    git(top, "merge", "-q", "--no-ff", "-m", "merged", "topic/x", date="2024-01-04T10:00:00Z")
    git(top, "tag", "light")
    return top


def walk(history: History, tip: str) -> list[str]:
    return [found.name for found in history.walk(tip, lambda _: True)]


def test_all_commits_are_walked_and_say_what_git_says(repo: Path) -> None:
    history = open_at(repo)
    tip = git(repo, "rev-parse", "HEAD")
    assert sorted(walk(history, tip)) == sorted(git(repo, "rev-list", "HEAD").split())
    for name in walk(history, tip):
        found = history.commit(name)
        told = git(repo, "show", "-s", "--format=%T%n%P%n%an%n%aI%n%ct%n%B", name).split("\n")
        assert [found.tree, " ".join(found.parents), found.author] == told[:3]
        assert found.date.isoformat().replace("+00:00", "Z") == told[3].replace("+00:00", "Z")
        assert found.committed_at == float(told[4])
        assert found.message == "\n".join(told[5:]).strip()


@pytest.mark.parametrize("packed_refs", [False, True])
@pytest.mark.parametrize(
    "revision",
    ["HEAD", "main", "v1", "light", "topic/x", "HEAD~1", "HEAD^2", "HEAD^^", "main~2", "refs/heads/main"],
)
def test_revisions_mean_what_they_mean_to_git(repo: Path, revision: str, packed_refs: bool) -> None:
    if packed_refs:
        git(repo, "pack-refs", "--all")
    assert open_at(repo).resolve(revision) == git(repo, "rev-parse", f"{revision}^{{commit}}")


def test_a_short_name_is_a_revision_and_nonsense_is_not(repo: Path) -> None:
    name = git(repo, "rev-parse", "HEAD")
    assert open_at(repo).resolve(name[:8]) == name
    for text in ("nonsense", "HEAD~99", "HEAD^3", "", "..", "HEAD~99999999999", "../../etc/passwd", "abcd"):
        if text:
            with pytest.raises(NotFound):
                open_at(repo).resolve(text)
    with pytest.raises(NotFound, match="not a commit"):
        open_at(repo).resolve(git(repo, "rev-parse", "HEAD^{tree}"))


def test_a_merge_base_is_the_one_git_finds(repo: Path) -> None:
    commit(repo, "later", {"z.txt": "z\n"})
    git(repo, "checkout", "-q", "-b", "other", "HEAD~2")
    commit(repo, "elsewhere", {"y.txt": "y\n"})
    history = open_at(repo)
    for one in ("main", "other", "v1", "topic/x"):
        for other in ("main", "other", "topic/x"):
            found = history.merge_base(history.resolve(one), history.resolve(other))
            assert found == git(repo, "merge-base", one, other)
    git(repo, "checkout", "-q", "--orphan", "alone")
    alone = commit(repo, "alone", {})
    with pytest.raises(NotFound, match="in common"):
        open_at(repo).merge_base(alone, history.resolve("main"))


def test_changes_are_those_git_lists(repo: Path, tmp_path: Path) -> None:
    top = make(tmp_path / "random")
    rng = random.Random(5)
    names = [
        f"{'/'.join(rng.choice('abc') for _ in range(rng.randrange(4)))}/f{n}.txt".strip("/") for n in range(30)
    ]
    there: set[str] = set()
    for number in range(12):
        files: dict[str, str | None] = {}
        for name in rng.sample(names, 5):
            gone = name in there and rng.random() < 0.3
            files[name] = None if gone else f"{name} {number}\n"
            (there.discard if gone else there.add)(name)
        commit(top, str(number), files)
    for folder in (repo, top):
        history = open_at(folder)
        for name in walk(history, git(folder, "rev-parse", "HEAD")):
            found = history.commit(name)
            before = history.commit(found.parents[0]).tree if found.parents else None
            changes, complete = history.changes(before, found.tree, 1000)
            assert complete
            old = found.parents[0] if found.parents else "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # nothing
            told = git(folder, "diff-tree", "-r", "-M100%", "--name-status", old, name)
            expected = set()
            for line in told.splitlines():
                status, *paths = line.split("\t")
                expected.add((status[0], paths[-1], paths[0] if len(paths) > 1 else ""))
            got = {
                (
                    "R"
                    if change.renamed_from
                    else "A"
                    if change.old is None
                    else "D"
                    if change.new is None
                    else "M",
                    change.path,
                    change.renamed_from,
                )
                for change in changes
            }
            assert got == expected


def test_a_shallow_clone_ends_where_it_was_cut(repo: Path, tmp_path: Path) -> None:
    for number in range(5):
        commit(repo, f"later {number}", {"n.txt": str(number)})
    git(tmp_path, "clone", "-q", "--depth", "3", f"file://{repo}", "shallow")
    history = open_at(tmp_path / "shallow")
    found = walk(history, git(repo, "rev-parse", "HEAD"))
    assert found == git(tmp_path / "shallow", "rev-list", "HEAD").split()
    assert len(found) == 3
    assert not history.problems
    assert history.commit(found[-1]).parents == ()


def test_a_partial_clone_tells_what_it_lacks(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", "partial")
    history = open_at(tmp_path / "partial")
    tip = git(repo, "rev-parse", "HEAD")
    assert len(walk(history, tip)) == 4
    changes, complete = history.changes(None, history.commit(tip).tree, 100)
    assert complete
    with pytest.raises(MissingObject, match="partial"):
        history.objects.read(str(changes[0].new), "blob")


def test_a_missing_commit_ends_the_walk_there_and_is_told(repo: Path) -> None:
    name = git(repo, "rev-parse", "v1^{commit}")
    (repo / ".git/objects" / name[:2] / name[2:]).unlink()
    history = open_at(repo)
    assert len(walk(history, git(repo, "rev-parse", "HEAD"))) == 3
    assert [failure.path for failure in history.problems] == [name[:12]]


def test_a_tree_bomb_ends(tmp_path: Path) -> None:
    """Ten folders that each hold the same ten folders, and so on: ten billion files in twenty objects."""
    top = make(tmp_path / "bomb")
    blob = git(top, "hash-object", "-w", "--stdin")
    lines = "".join(f"100644 blob {blob}\tf{n}\n" for n in range(10))
    tree = _mktree(top, lines)
    for _ in range(9):
        tree = _mktree(top, "".join(f"040000 tree {tree}\td{n}\n" for n in range(10)))
    changes, complete = open_at(top).changes(None, tree, 10 * MAX_TREES)
    assert not complete
    assert len(changes) <= 10 * MAX_TREES


def _mktree(top: Path, lines: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(top), "mktree"], input=lines, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"tree 1234\n\n",
        b"author x\n\nmessage",
        b"tree " + b"0" * 40 + b"\nencoding punycode\nauthor A <a> 99999999999999 +9999\n\n\xff\xfe",
        b"tree " + b"0" * 40 + b"\nparent nonsense\n\n",
    ],
)
def test_a_malformed_commit_is_read_or_refused(tmp_path: Path, body: bytes) -> None:
    top = make(tmp_path / "repo")
    name = hashlib.sha1(b"commit %d\0" % len(body) + body).digest()
    forge_pack(top, [(name, head(1, len(body)) + packed(body))])
    history = open_at(top)
    try:
        found = walk(history, name.hex())
    except SourceError:
        return
    assert found == [name.hex()]


def test_a_folder_outside_repositories_has_no_history(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not in a git repository"):
        open_history(tmp_path)
