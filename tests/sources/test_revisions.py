"""Hits tell the commit they came from, in real repositories."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.records import Hit

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **IDENTITY},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def commit(folder: Path, message: str = "change") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path, **files: str) -> str:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for name, word in files.items():
        (folder / f"{name}.py").write_text(source(name, word))
    return commit(folder, "first")


def source(name: str, word: str) -> str:
    return f'def {name}():\n    """The {word} of the thing."""\n    return "{word}"\n'


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "index.db") as engine:
        yield engine


def hit_of(kb: outcrop.Engine, word: str, path: str) -> Hit:
    (hit,) = [hit for hit in kb.search(word).hits if hit.document.path == path]
    return hit


def stamp(kb: outcrop.Engine, word: str, path: str) -> tuple[str | None, bool | None]:
    hit = hit_of(kb, word, path)
    return hit.revision, hit.dirty


def test_a_file_is_clean_then_dirty_then_clean_at_the_next_commit(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    first = make_repository(repo, alpha="granite", beta="basalt")
    kb.add(repo)
    assert stamp(kb, "granite", "alpha.py") == (first, False)
    (repo / "alpha.py").write_text(source("alpha", "gneiss"))
    (repo / "fresh.py").write_text(source("fresh", "quartz"))
    kb.sync()
    assert stamp(kb, "gneiss", "alpha.py") == (first, True)
    assert stamp(kb, "quartz", "fresh.py") == (first, True)
    assert stamp(kb, "basalt", "beta.py") == (first, False)
    second = commit(repo)
    kb.sync()
    for word, path in (("gneiss", "alpha.py"), ("quartz", "fresh.py"), ("basalt", "beta.py")):
        assert stamp(kb, word, path) == (second, False)


def test_after_a_switch_of_branches_every_file_is_of_the_other_commit(
    kb: outcrop.Engine, tmp_path: Path
) -> None:
    repo = tmp_path / "repo"
    first = make_repository(repo, alpha="granite", beta="basalt")
    git(repo, "switch", "-qc", "other")
    (repo / "alpha.py").write_text(source("alpha", "gneiss"))
    second = commit(repo)
    kb.add(repo)
    assert stamp(kb, "gneiss", "alpha.py") == (second, False)
    git(repo, "switch", "-q", "main")
    kb.sync()
    assert stamp(kb, "granite", "alpha.py") == (first, False)
    assert stamp(kb, "basalt", "beta.py") == (first, False)


def test_a_submodule_and_a_nested_repository_have_their_own_commits(kb: outcrop.Engine, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library", gamma="marble")
    repo = tmp_path / "repo"
    make_repository(repo, alpha="granite")
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "library"), "parts")
    outer = commit(repo)
    inner = make_repository(repo / "inner", delta="dolomite")
    kb.add(repo)
    assert stamp(kb, "granite", "alpha.py") == (outer, False)
    assert stamp(kb, "marble", "parts/gamma.py") == (library, False)
    assert stamp(kb, "dolomite", "inner/delta.py") == (inner, False)


def test_a_worktree_has_the_commit_that_is_checked_out_there(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    first = make_repository(repo, alpha="granite")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "alpha.py").write_text(source("alpha", "gneiss"))
    second = commit(tmp_path / "side")
    kb.add(repo)
    kb.add(tmp_path / "side")
    assert {hit.revision for hit in kb.search("thing").hits} == {first}
    assert {hit.revision for hit in kb.search("thing", worktree=str(tmp_path / "side")).hits} == {second}


def test_a_folder_in_a_repository_has_the_commit_of_the_repository(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    make_repository(repo, alpha="granite")
    (repo / "src").mkdir()
    (repo / "src" / "beta.py").write_text(source("beta", "basalt"))
    head = commit(repo)
    kb.add(repo / "src")
    assert stamp(kb, "basalt", "beta.py") == (head, False)


def test_outside_repositories_a_document_has_no_commit(kb: outcrop.Engine, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "alpha.py").write_text(source("alpha", "granite"))
    kb.add(tmp_path / "plain")
    kb.add(text="granite in a text of its own", id="note")
    assert {(hit.revision, hit.dirty) for hit in kb.search("granite").hits} == {(None, None)}


def test_before_the_first_commit_a_document_has_no_commit(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    (repo / "alpha.py").write_text(source("alpha", "granite"))
    kb.add(repo)
    assert hit_of(kb, "granite", "alpha.py").revision is None


def test_a_folder_that_becomes_or_ceases_to_be_a_repository_is_noticed(
    kb: outcrop.Engine, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "alpha.py").write_text(source("alpha", "granite"))
    kb.add(plain)
    assert stamp(kb, "granite", "alpha.py") == (None, None)
    git(plain, "init", "-q")
    head = commit(plain)
    kb.sync()
    assert stamp(kb, "granite", "alpha.py") == (head, False)
    (plain / ".git").rename(tmp_path / "gone")
    kb.sync()
    assert stamp(kb, "granite", "alpha.py") == (None, None)


def test_a_document_written_after_the_last_survey_has_no_commit_rather_than_a_wrong_one(
    kb: outcrop.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = tmp_path / "repo"
    first = make_repository(repo, alpha="granite", beta="basalt")
    kb.add(repo)
    time.sleep(0.01)
    (repo / "alpha.py").write_text(source("alpha", "gneiss"))
    commit(repo)
    # As if killed between writing the documents and looking at the repository.
    with monkeypatch.context() as patch:
        patch.setattr("outcrop.write.ingest.note_revisions", lambda *_, **__: None)
        kb.sync()
    assert stamp(kb, "gneiss", "alpha.py") == (None, None)
    assert stamp(kb, "basalt", "beta.py") == (first, False)
    head = git(repo, "rev-parse", "HEAD")
    kb.sync()
    assert stamp(kb, "gneiss", "alpha.py") == (head, False)
    assert stamp(kb, "basalt", "beta.py") == (head, False)


def test_a_single_file_of_a_repository_has_its_commit(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    head = make_repository(repo, alpha="granite")
    kb.add(repo / "alpha.py")
    (hit,) = kb.search("granite").hits
    assert (hit.revision, hit.dirty) == (head, False)


def test_another_engine_on_the_same_index_reports_the_same_commits(kb: outcrop.Engine, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    make_repository(repo, alpha="granite")
    kb.add(repo)
    with outcrop.open(tmp_path / "index.db") as other:
        assert hit_of(other, "granite", "alpha.py").dirty is False
        (repo / "alpha.py").write_text(source("alpha", "gneiss"))
        second = commit(repo)
        kb.sync()
        assert stamp(other, "gneiss", "alpha.py") == (second, False)
