"""Bug reports as a benchmark: what counts as found, and a small repository from end to end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benchmarks.issues import counts, git_directory, judge, read_history, score


@pytest.mark.parametrize(
    ("path", "is_judged"),
    [
        ("src/pool.c", True),
        ("lib/attest.py", True),
        ("tests/test_pool.py", False),
        ("src/pool_test.go", False),
        ("pkg/a.spec.ts", False),
        ("CHANGELOG.md", False),
        ("docs/guide.html", False),
    ],
)
def test_tests_changelogs_and_documentation_do_not_count(path: str, is_judged: bool) -> None:
    assert counts(path) is is_judged


def test_a_file_is_found_if_it_is_among_the_first() -> None:
    assert score(["a", "b", "c", "d", "e", "f"], frozenset("f")) == {1: 0.0, 5: 0.0, 10: 1.0}


def test_commit_messages_are_asked_of_the_tree_before_them(tmp_path: Path) -> None:
    tree = tmp_path / "owner+name"
    tree.mkdir()

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tree, check=True, capture_output=True)

    git("init", "-q")
    (tree / "pool.py").write_text('def acquire():\n    raise RuntimeError("the pool is empty")\n')
    (tree / "other.py").write_text("def unrelated():\n    return 'roses and winter'\n")
    git("add", ".")
    git("commit", "-qm", "Begin")
    (tree / "pool.py").write_text("def acquire():\n    return None\n")
    git(
        "commit",
        "-qam",
        'Acquire no longer fails with "the pool is empty" when nobody waits for it, and {"a": "b"}',
    )
    (task,) = read_history(git_directory(tmp_path, "owner+name"))
    assert task.files == {"pool.py"}
    (row,) = judge(tree / ".git", [task])
    assert row["as_is"] == row["bare"] == {1: 1.0, 5: 1.0, 10: 1.0}


def test_a_repository_is_found_whatever_the_case_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "PHPOffice+Sheet/repo").mkdir(parents=True)
    (tmp_path / "PHPOffice+Sheet/repo/HEAD").touch()
    assert git_directory(tmp_path, "phpoffice+sheet") == tmp_path / "PHPOffice+Sheet/repo"
    with pytest.raises(SystemExit, match="clone it there"):
        git_directory(tmp_path, "phpoffice+word")
