"""Branches and worktrees of a repository: one index, in which they share what they have in common."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.repositories import commit, git, make
from tests.store.conftest import STORES
from tests.write.trees_child import ADDED

from outcrop import open as open_index
from outcrop.engine import Engine
from outcrop.errors import NotFound, SourceError
from outcrop.records import Filter, GrepOptions

SHARED = {
    f"src/part{n}.py": f'def part{n}():\n    """Sorts parcel number {n} by weight."""\n' for n in range(12)
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """main says tariff, feature/x adds a file and edits one, release/1 is what main was before."""
    top = make(tmp_path / "project")
    commit(top, "start", {**SHARED, "README.md": "# Parcels\n\nThe tariff is flat.\n", "notes.bin": "\0\0"})
    git(top, "branch", "release/1")
    commit(top, "zones", {"README.md": "# Parcels\n\nThe tariff depends on zones.\n"})
    git(top, "checkout", "-qb", "feature/x")
    commit(top, "drones", {"src/drone.py": 'def launch():\n    """Launches a delivery drone."""\n'})
    git(top, "checkout", "-q", "main")
    return top


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index is: a file, or a URL."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "index.db")


@pytest.fixture
def index(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(tmp_path)
    with open_index(place) as opened:
        yield opened


def paths(index: Engine, query: str, **options: object) -> list[str]:
    return [hit.document.path for hit in index.search(query, **options).hits]  # type: ignore[arg-type]


def documents(index: Engine, **where: object) -> set[str]:
    return {info.path for info in index.documents(Filter(**where))}  # type: ignore[arg-type]


def stored(index: Engine) -> int:
    return index.status().stats.documents


def test_branches_are_read_without_a_checkout_and_share_what_is_the_same(index: Engine, project: Path) -> None:
    report = index.add(project, branches=["main", "feature/*", "release/*"])
    assert not report.failed
    assert report.added == 12 + 2 + 1  # the common files, two READMEs, the drone
    assert stored(index) == 15
    assert index.sync().added == 0
    with_drone = {*SHARED, "README.md", "src/drone.py"}
    assert documents(index, ref="feature/x") == with_drone
    assert documents(index, ref="refs/heads/main") == with_drone - {"src/drone.py"}
    assert documents(index) == with_drone - {"src/drone.py"}  # the checkout, which is on main


def test_a_search_stays_in_one_tree(index: Engine, project: Path) -> None:
    index.add(project, branches=["main", "feature/*", "release/*"])
    (old,) = index.search("what does the tariff depend on", ref="release/1", paths=["README.md"]).hits
    assert "flat" in old.text
    assert old.revision == git(project, "rev-parse", "release/1")
    (new,) = index.search("what does the tariff depend on", paths=["README.md"]).hits
    assert "zones" in new.text
    assert new.document.uri == str(project / "README.md")
    assert (new.stale, new.revision) == (False, git(project, "rev-parse", "main"))
    assert paths(index, "launch a delivery drone", ref="feature/x")[0] == "src/drone.py"
    assert "src/drone.py" not in paths(index, "launch a delivery drone")
    assert index.definitions("launch") == ()
    assert index.text("README.md").endswith("zones.\n")
    assert index.get(str(project / "README.md")).path == "README.md"


def test_a_ref_that_is_not_there_is_told_with_those_that_are(index: Engine, project: Path) -> None:
    with pytest.raises(NotFound, match="no branch 'nope'"):
        index.add(project, branches=["nope"])
    assert stored(index) == 0
    index.add(project, branches=["main"])
    with pytest.raises(NotFound, match=r"no ref 'nope' in the index; there are: main;.*--branches nope"):
        index.search("tariff", ref="nope")
    with pytest.raises(NotFound, match="no checkout in the index holds"):
        index.search("tariff", worktree="/nowhere")
    with pytest.raises(SourceError, match="not in a git repository"):
        index.add(project.parent, branches=["main"])


def test_a_sync_follows_branches_that_move_come_and_go(index: Engine, project: Path) -> None:
    index.add(project, branches=["main", "release/*"])
    git(project, "branch", "release/2")
    git(project, "branch", "-f", "release/1", "feature/x")
    git(project, "pack-refs", "--all")
    git(project, "gc", "-q", "--prune=now")
    report = index.sync()
    assert not report.failed
    assert "src/drone.py" in documents(index, ref="release/1")
    assert documents(index, ref="release/2") == documents(index, ref="main")
    assert stored(index) == 14  # the README of the release that was is gone
    git(project, "branch", "-D", "release/1")
    index.sync()
    with pytest.raises(NotFound):
        index.search("drone", ref="release/1")
    assert stored(index) == 13


def test_worktrees_share_their_files_with_the_checkout(index: Engine, project: Path) -> None:
    index.add(project)
    assert stored(index) == 13
    tree = project.parent / "elsewhere"
    git(project, "worktree", "add", "-q", str(tree), "feature/x")
    (tree / "src/part0.py").write_text("def part0():\n    '''Weighs balloons.'''\n")
    (tree / "draft.md").write_text("# A draft\n\nNobody tracks this yet.\n")
    report = index.add(tree)
    assert not report.failed
    assert stored(index) == 13 + 3  # the drone, the edited file, the draft
    assert [info.name for info in index.collections()] == ["project"]
    assert "draft.md" in documents(index, worktree=str(tree))
    assert "draft.md" not in documents(index, worktree=str(project))
    (hit,) = index.search("who weighs balloons", worktree=str(tree / "src"), paths=["src/part0.py"]).hits
    assert hit.document.uri == str(tree / "src/part0.py")
    assert not hit.stale
    (tree / "src/part0.py").write_text("def part0():\n    '''Weighs balloonz.'''\n")
    (hit,) = index.search("who weighs balloons", worktree=str(tree), paths=["src/part0.py"]).hits
    assert hit.stale
    index.sync()
    assert stored(index) == 16
    assert len(index.search("balloonz", worktree=str(tree)).hits) > 0


def test_where_one_stands_is_what_is_searched(
    index: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = project.parent / "elsewhere"
    git(project, "worktree", "add", "-q", str(tree), "feature/x")
    index.add(project)
    index.add(tree)
    assert "src/drone.py" not in documents(index)
    monkeypatch.chdir(tree / "src")
    assert "src/drone.py" in documents(index)
    found = list(index.grep("delivery"))
    assert [file.document.uri for file in found] == [str(tree / "src/drone.py")]
    monkeypatch.chdir(project)
    assert list(index.grep("delivery")) == []
    assert list(index.grep("depends", GrepOptions(where=Filter(paths=("README.md",))))) != []


def test_here_names_the_checkout_too(index: Engine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = project.parent / "elsewhere"
    git(project, "worktree", "add", "-q", str(tree), "feature/x")
    index.add(project)
    index.add(tree)
    monkeypatch.chdir(project)
    assert "src/drone.py" not in paths(index, "launch a delivery drone", here=".")
    assert paths(index, "launch a delivery drone", here=str(tree / "src"))[0] == "src/drone.py"
    for ask in (index.context, index.code_context):
        assert "delivery" not in ask("launch a delivery drone", here=".").text
        packed = ask("launch a delivery drone", here=str(tree))
        assert packed.sources[0].hit.document.uri == str(tree / "src/drone.py")
    monkeypatch.chdir(tree)
    assert paths(index, "launch a delivery drone", here=".")[0] == "src/drone.py"


def test_a_switch_of_branches_is_seen_at_once(
    index: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(project, branches=["main", "feature/x"])
    monkeypatch.chdir(project)
    assert "src/drone.py" not in documents(index)
    git(project, "checkout", "-q", "feature/x")
    assert "src/drone.py" in documents(index)  # nothing was synced
    git(project, "checkout", "-q", "main")
    assert "src/drone.py" not in documents(index)


def test_a_tag_with_a_message_is_the_commit_it_names(
    index: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "tag", "-a", "-m", "the flying one", "v2", "feature/x")
    index.add(project, branches=["main", "v2"])
    (hit, *_) = index.search("launch a delivery drone", ref="v2").hits
    assert hit.revision == git(project, "rev-parse", "feature/x")
    assert index.sync().unchanged == len(SHARED) + 1  # the checkout alone is looked at again
    monkeypatch.chdir(project)
    git(project, "checkout", "-q", "v2")
    assert "src/drone.py" in documents(index)


def test_a_worktree_that_is_removed_leaves_and_one_that_is_unplugged_stays(
    index: Engine, project: Path
) -> None:
    first, second = project.parent / "first", project.parent / "second"
    for tree in (first, second):
        git(project, "worktree", "add", "-q", "--detach", str(tree), "feature/x")
        index.add(tree)
    git(project, "worktree", "remove", str(first))
    second.rename(project.parent / "unplugged")
    report = index.sync()
    assert [failure.path for failure in report.failed] == [str(second)]
    assert "src/drone.py" in documents(index, worktree=str(second))
    with pytest.raises(NotFound):
        index.search("drone", worktree=str(first))


def test_a_worktree_inside_its_repository_is_no_part_of_the_outer_one(index: Engine, project: Path) -> None:
    inner = project / ".trees" / "x"
    git(project, "worktree", "add", "-q", str(inner), "feature/x")
    index.add(inner)
    index.add(project)
    assert not [path for path in documents(index, worktree=str(project)) if path.startswith(".trees")]
    assert "src/drone.py" in documents(index, worktree=str(inner))


def test_a_broken_object_is_a_line_in_the_report_and_the_rest_is_there(index: Engine, project: Path) -> None:
    blob = git(project, "rev-parse", "feature/x:src/drone.py")
    file = project / ".git" / "objects" / blob[:2] / blob[2:]
    whole = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(whole[: len(whole) // 2])
    report = index.add(project, branches=["feature/x"])
    assert [failure.path for failure in report.failed] == ["src/drone.py"]
    assert documents(index, ref="feature/x") == {*SHARED, "README.md"}
    file.write_bytes(whole)
    assert not index.sync().failed
    assert "src/drone.py" in documents(index, ref="feature/x")


def test_a_shallow_clone_and_a_lost_commit(index: Engine, project: Path) -> None:
    clone = project.parent / "clone"
    git(project.parent, "clone", "-q", "--depth", "1", "--no-single-branch", project.as_uri(), str(clone))
    report = index.add(clone, branches=["main", "origin/feature/*"])
    assert not report.failed
    assert "src/drone.py" in documents(index, ref="origin/feature/x")
    (clone / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    report = index.sync()
    assert any("main" in failure.path for failure in report.failed)
    assert "README.md" in documents(index, ref="main")  # what was read before is kept


def test_a_partial_clone_has_what_it_holds_and_tells_what_it_lacks(index: Engine, project: Path) -> None:
    git(project, "config", "uploadpack.allowFilter", "true")
    clone = project.parent / "clone"
    git(
        project.parent, "clone", "-q", "--filter=blob:none", project.as_uri(), str(clone)
    )  # main is checked out
    report = index.add(clone, branches=["main", "origin/feature/*"])
    (lacking,) = report.failed
    assert "drone.py" in lacking.path
    assert "partial" in lacking.reason
    assert documents(index, ref="main") == {*SHARED, "README.md"}
    assert "src/drone.py" not in documents(index, ref="origin/feature/x")
    git(clone, "checkout", "-q", "origin/feature/x")  # which fetches it
    assert not index.sync().failed
    assert "src/drone.py" in documents(index, ref="origin/feature/x")


def test_removing_a_collection_removes_all_of_its_trees(index: Engine, project: Path) -> None:
    index.add(project, branches=["main", "feature/x"])
    index.delete(where=Filter(collections=("project",)))
    assert stored(index) == 0
    assert index.sync().added == 0


def test_a_rebased_branch_leaves_nothing_behind(index: Engine, project: Path) -> None:
    index.add(project, branches=["main", "feature/x"])
    git(project, "checkout", "-q", "feature/x")
    (project / "src/drone.py").write_text('def launch():\n    """Launches a kite."""\n')
    git(project, "commit", "-qa", "--amend", "-m", "kites")
    git(project, "checkout", "-q", "main")
    git(project, "reflog", "expire", "--expire=now", "--all")
    git(project, "gc", "-q", "--prune=now")
    assert not index.sync().failed
    assert stored(index) == 14
    assert "kite" in index.search("launches", ref="feature/x", paths=["src/drone.py"]).hits[0].text


def test_rules_and_secrets_hold_in_trees(index: Engine, project: Path) -> None:
    key = "AKIA" + "IOSFODNN7QWXZRTP"
    commit(
        project,
        "rules",
        {
            ".outcropignore": "generated/\n",
            "generated/out.py": "x = 1\n",
            "id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
            "config.py": f'KEY = "{key}"\n',
        },
    )
    os.symlink("README.md", project / "link.md")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "link")
    shutil.rmtree(project / "src")
    index.add(project, branches=["main"])
    found = documents(index, ref="main")
    assert found == {*SHARED, "README.md", ".outcropignore", "config.py"}
    assert all(key not in hit.text for hit in index.search("KEY", ref="main").hits)


def test_a_branch_or_a_checkout_can_be_forgotten(index: Engine, project: Path) -> None:
    index.add(project, branches=["main", "feature/x"])
    assert index.forget(ref="feature/x") == 1
    assert stored(index) == 13
    assert not index.sync().added  # it was asked for by name, so it does not come back
    assert [each.branch for each in index.manifests()] == ["main", "main"]
    assert index.forget(worktree=str(project)) == 0
    assert documents(index) == documents(index, ref="main")


def test_a_copy_has_the_same_trees(index: Engine, project: Path, tmp_path: Path) -> None:
    index.add(project, branches=["main", "feature/x"])
    with open_index(tmp_path / "copy.db") as copy:
        report = index.move_to(copy)
        assert not report.problems
        assert stored(copy) == stored(index)
        assert documents(copy, ref="feature/x") == documents(index, ref="feature/x")
        assert copy.sync().added == 0


@pytest.fixture
def bare(project: Path) -> Path:
    """A server's copy of the project, in which nothing is checked out."""
    git(project.parent, "clone", "-q", "--bare", str(project), "parcels.git")
    return project.parent / "parcels.git"


def test_a_bare_repository_is_nothing_but_branches(index: Engine, bare: Path) -> None:
    report = index.add(bare, branches=["feature/*", "main", "release/*"])
    assert not report.failed
    assert [info.name for info in index.collections()] == ["parcels"]
    assert stored(index) == 15
    assert "src/drone.py" in documents(index, ref="feature/x")
    assert documents(index) == {*SHARED, "README.md"}  # its HEAD, which is main
    git(bare, "update-ref", "refs/heads/main", "refs/heads/feature/x")
    git(bare, "update-ref", "-d", "refs/heads/release/1")
    git(bare, "pack-refs", "--all")
    git(bare, "gc", "-q", "--prune=now")
    report = index.sync()
    assert not report.failed
    assert ("release/*", "no branch matches any more") in [(item.path, item.reason) for item in report.skipped]
    assert {each.branch for each in index.manifests()} == {"main", "feature/x"}
    assert "src/drone.py" in documents(index)
    assert [file.ref for file in index.grep("delivery")] == ["main"]
    assert index.add_history(bare).added == 3
    bare.rename(bare.with_name("unplugged.git"))
    assert {failure.path for failure in index.sync().failed} == {str(bare)}
    assert "src/drone.py" in documents(index)  # kept


def test_a_bare_repository_without_branches_named_has_the_one_of_its_head(index: Engine, bare: Path) -> None:
    index.add(bare)
    assert [each.branch for each in index.manifests()] == ["main"]
    assert documents(index) == {*SHARED, "README.md"}
    index.add(bare, branches=["feature/x"])
    index.add(bare)  # as it was asked for last
    assert [each.branch for each in index.manifests()] == ["feature/x"]
    empty = make(bare.with_name("empty.git"), "--bare")
    with pytest.raises(SourceError, match="nothing on its own branch; name others with --branches"):
        index.add(empty)


def test_worktrees_of_a_bare_repository_share_its_collection(index: Engine, bare: Path) -> None:
    around = bare.with_name("parcels")
    around.mkdir()
    bare.rename(around / ".bare")
    (around / ".git").write_text("gitdir: ./.bare\n")
    git(around, "worktree", "add", "-q", "work", "feature/x")
    assert not index.add(around / "work").failed
    assert stored(index) == 14
    assert not index.add(around, branches=["main"]).failed
    assert [info.name for info in index.collections()] == ["parcels"]
    assert stored(index) == 14
    assert documents(index, worktree=str(around / "work")) == documents(index, ref="main") | {"src/drone.py"}
    assert {each.name for each in index.manifests()} == {str(around / "work"), "refs/heads/main"}
    git(around, "worktree", "remove", "work")
    assert not index.sync().failed
    assert {each.name for each in index.manifests()} == {"refs/heads/main"}


def test_a_folder_that_only_looks_like_a_bare_repository_is_a_folder(index: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "looks"
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("A page about heads of state.\n")
    (folder / "config").write_text("[core]\n\tbare = false\n")
    (folder / "page.md").write_text("# Tides\n\nThe tide turns at six.\n")
    index.add(folder)
    assert "page.md" in documents(index)
    assert index.manifests() == ()


# ------------------------------------------------------------------ kills, and several processes

ROOT = Path(__file__).parents[2]


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.write.trees_child", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE)


def end(process: subprocess.Popen[str]) -> int:
    with process:
        _, said = process.communicate(timeout=300)
    assert process.returncode in (0, -signal.SIGKILL), said
    return process.returncode


def trees_of(index: Engine) -> dict[str, set[tuple[str, str]]]:
    """What each tree holds: paths and contents."""
    return {
        each.name: {
            (info.path, info.sha256)
            for info in index._store.documents(Filter(manifests=(each.id,)))
            if info.origin == "tree"
        }
        for each in index.manifests()
    }


def test_a_kill_at_any_step_leaves_whole_trees_and_the_next_run_goes_on(
    place: str, project: Path, tmp_path: Path
) -> None:
    with open_index(tmp_path / "whole.db") as index:
        index.add(project, branches=ADDED)
        whole, count = trees_of(index), stored(index)
    kills = 0
    with open_index(place):
        pass  # the tables are made once
    while end(start("kill", place, project, kills)) == -signal.SIGKILL:
        kills += 1
        with open_index(place) as index:
            assert list(index._store.check()) == []
            assert trees_of(index).items() <= whole.items()  # each is there as a whole, or not at all
            assert not index.add(project, branches=ADDED).failed
            assert (trees_of(index), stored(index)) == (whole, count)
            assert "src/drone.py" in paths(index, "launch a delivery drone", ref="feature/x")
            index.delete(where=Filter(collections=("project",)))
            assert stored(index) == 0
    assert kills >= 2 * (len(ADDED) + 1)  # before and after each tree at least


def test_a_tree_is_not_short_of_what_another_process_removed_while_it_was_read(
    index: Engine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add(project, branches=["main"])
    write = index._store.write
    gone: list[int] = []

    def write_while_another_removes(*arguments: Any, **named: Any) -> list[int]:
        ids = write(*arguments, **named)
        if not gone:
            gone.extend(info.id for info in index._store.documents() if info.path == "src/part1.py")
            assert index._store.delete(gone) == 1
        return ids

    monkeypatch.setattr(index._store, "write", write_while_another_removes)
    assert not index.add(project, branches=["feature/x"]).failed
    assert documents(index, ref="feature/x") == {*SHARED, "README.md", "src/drone.py"}


def test_two_processes_that_add_and_forget_the_same_trees_lose_and_mix_nothing(
    place: str, project: Path, tmp_path: Path
) -> None:
    trees = [project.parent / name for name in ("first", "second")]
    for number, tree in enumerate(trees):
        git(project, "worktree", "add", "-q", "--detach", str(tree), "feature/x")
        (tree / "own.md").write_text(f"# Own\n\nOnly of tree {number}.\n")
    with open_index(tmp_path / "whole.db") as index:
        for tree in trees:
            index.add(tree, branches=ADDED)
        whole, count = trees_of(index), stored(index)
    with open_index(place):
        pass
    for process in [start("add", place, tree, 6) for tree in trees]:
        assert end(process) == 0
    with open_index(place) as index:
        assert list(index._store.check()) == []
        assert (trees_of(index), stored(index)) == (whole, count)
        assert [check for check in index.doctor() if not check.ok] == []
