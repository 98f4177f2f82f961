"""Reading a repository's state from its files, held against real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from outcrop.records import SourceFile
from outcrop.sources.checkout import Checkouts, Repository
from outcrop.sources.folder import walk


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository_of(path: Path) -> Repository | None:
    """The innermost repository that holds a folder."""
    checkout = Checkouts().holding(str(path.resolve()))
    return None if checkout is None else checkout.repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "repo"
    (top / "deep" / "er").mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (top / "a.md").write_text("a")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    return top


def test_branch_and_revision_are_those_git_reports(repo: Path) -> None:
    found = repository_of(repo / "deep" / "er")
    assert found is not None
    assert (found.top, found.git_dir, found.common_dir) == (repo, repo / ".git", repo / ".git")
    assert (found.branch, found.revision) == ("main", git(repo, "rev-parse", "HEAD"))


def test_packed_references_and_a_detached_head_are_read(repo: Path) -> None:
    revision = git(repo, "rev-parse", "HEAD")
    git(repo, "pack-refs", "--all")
    assert not (repo / ".git/refs/heads/main").exists()
    found = repository_of(repo)
    assert found is not None
    assert (found.branch, found.revision) == ("main", revision)
    git(repo, "checkout", "-q", "--detach")
    found = repository_of(repo)
    assert found is not None
    assert (found.branch, found.revision) == (None, revision)


def test_a_worktree_and_a_submodule_lead_to_their_own_head(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "topic/one", str(tmp_path / "tree"))
    tree = repository_of(tmp_path / "tree")
    assert tree is not None
    assert (tree.top, tree.branch, tree.common_dir) == (
        (tmp_path / "tree").resolve(),
        "topic/one",
        repo / ".git",
    )
    assert tree.revision == git(repo, "rev-parse", "topic/one")

    git(repo, "submodule", "--quiet", "add", str(repo), "sub")
    sub = repository_of(repo / "sub")
    assert sub is not None
    assert sub.git_dir == repo / ".git/modules/sub"
    assert sub.revision == git(repo / "sub", "rev-parse", "HEAD")


def test_a_repository_without_commits_has_no_revision(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    found = repository_of(tmp_path)
    assert found is not None
    assert (found.branch, found.revision) == ("main", None)


@pytest.mark.parametrize(
    "head", ["ref: ../../../etc/passwd", "ref: refs/heads/../../x", "nonsense", "ref: refs/heads/.x"]
)
def test_a_head_that_leads_elsewhere_is_not_followed(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(head)
    (tmp_path / ".git/x").write_text("0" * 40)
    found = repository_of(tmp_path)
    assert found is not None
    assert (found.branch, found.revision) == (None, None)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("commondir", b"a\0b\n"),
        ("commondir", b"loop\n"),
        ("config", b"[core]\n\texcludesFile = a\0b\n"),
        ("HEAD", b"ref: refs/heads/a\0b\n"),
    ],
)
def test_malformed_git_files_do_not_stop_a_walk(repo: Path, file: str, content: bytes) -> None:
    (repo / ".git" / "loop").symlink_to(repo / ".git" / "loop")
    (repo / ".git" / file).write_bytes(content)
    assert [found.path for found in walk(repo, max_file_bytes=1000) if isinstance(found, SourceFile)] == [
        "a.md"
    ]


def test_a_worktree_whose_path_has_a_nul_is_not_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")
    assert repository_of(tmp_path) is None


def test_a_folder_outside_any_repository_has_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert repository_of(tmp_path) is None
