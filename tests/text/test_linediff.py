"""Line differences are right and shortest; patches of git and diff are read."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.repositories import commit, git, make

from outcrop.text.linediff import changed_lines, diff_lines, read_patch

LINES = st.lists(st.sampled_from(["a", "b", "c", "  d", "", "e"]), max_size=16)


def longest_common(old: list[str], new: list[str]) -> int:
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, left in enumerate(old):
        for j, right in enumerate(new):
            same = left == right
            table[i + 1][j + 1] = table[i][j] + 1 if same else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(LINES, LINES)
def test_hunks_turn_one_side_into_the_other_with_the_fewest_lines(old: list[str], new: list[str]) -> None:
    made: list[str] = []
    done = 0
    for hunk in diff_lines(old, new):
        made += old[done : hunk.old]
        assert len(made) == hunk.new
        made += new[hunk.new : hunk.new + hunk.new_count]
        done = hunk.old + hunk.old_count
    assert made + old[done:] == new
    assert len(old) - sum(hunk.old_count for hunk in diff_lines(old, new)) == longest_common(old, new)


def test_a_new_function_is_one_run_and_not_the_end_of_another() -> None:
    old = ["def a():", "    return 1", "", "def c():", "    return 1"]
    new = ["def a():", "    return 1", "", "def b():", "    return 1", "", "def c():", "    return 1"]
    (hunk,) = diff_lines(old, new)
    assert new[hunk.new : hunk.new + hunk.new_count] == ["def b():", "    return 1", ""]


def test_a_run_joins_another_that_it_can_meet_as_in_git(tmp_path: Path) -> None:
    # One method replaced by one line and the next removed: both end in `end`, so two runs could be told or one.
    old = ["class A", "  def one", "    1", "  end", "", "  def two", "    2", "  end", "end"]
    new = ["class A", "  include B", "  end", "end"]
    assert [tuple(hunk) for hunk in diff_lines(old, new)] == [(1, 6, 1, 1)]
    for name, lines in (("old", old), ("new", new)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    told = subprocess.run(
        ["git", "diff", "--no-index", "-U0", "old", "new"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert [line for line in told.splitlines() if line.startswith("@@")] == ["@@ -2,6 +2 @@ class A"]


def test_runs_that_could_slide_far_take_no_longer() -> None:
    old = ["", "x"] * 20_000
    start = time.process_time()
    diff_lines(old, ["", "", "x", *old[2:-40], "y"])
    assert time.process_time() - start < 5


def test_texts_with_nothing_in_order_end_soon_and_keep_what_stands_out() -> None:
    old = [f"{number * 7919 % 20000}" for number in range(20_000)]
    new = [f"{number * 104729 % 20000}" for number in range(20_000)]
    old[10_000:10_000] = ["only here", "and here"]
    new[9_000:9_000] = ["only here", "and here"]
    hunks = diff_lines(old, new)
    made: list[str] = []
    done = 0
    for hunk in hunks:
        made += old[done : hunk.old] + new[hunk.new : hunk.new + hunk.new_count]
        done = hunk.old + hunk.old_count
    assert made + old[done:] == new


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = make(tmp_path / "repo")
    commit(top, "one", {"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "old name.txt": "x\ny\n", "gone.txt": "q\n"})
    return top


def test_patches_of_git_are_read_with_their_lines(repo: Path) -> None:
    (repo / "a.txt").write_text("1\ntwo\n3\n4\n5\n6\n7\n9\nten")
    (repo / "gone.txt").unlink()
    (repo / "ünew \t.txt").write_text("n\n")
    git(repo, "mv", "old name.txt", "new name.txt")
    git(repo, "add", "-A")
    found = {
        (patch.old_path, patch.new_path): patch for patch in read_patch(git(repo, "diff", "-M", "HEAD") + "\n")
    }
    assert found.keys() == {
        ("a.txt", "a.txt"),
        ("gone.txt", ""),
        ("", "ünew \t.txt"),
        ("old name.txt", "new name.txt"),
    }
    marks = [mark for hunk in found["a.txt", "a.txt"].hunks for mark in changed_lines(hunk)]
    assert sorted(marks) == [("+", 2), ("+", 9), ("-", 2), ("-", 8)]


def test_a_patch_of_diff_is_read(repo: Path) -> None:
    (repo / "b.txt").write_text("1\n2\n3\n")
    done = subprocess.run(
        ["diff", "-u", "a.txt", "b.txt"], cwd=repo, capture_output=True, text=True, check=False
    )
    (patch,) = read_patch(f"some words before\n{done.stdout}\nand after\n")
    assert (patch.old_path, patch.new_path) == ("a.txt", "b.txt")
    assert [mark for mark in changed_lines(patch.hunks[0]) if mark[0] == "-"] == [
        ("-", n) for n in range(4, 10)
    ]


@given(st.text(alphabet="-+@ \\ab/1,2\n", max_size=200))
def test_any_text_is_read_as_some_patch(text: str) -> None:
    for patch in read_patch(f"--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n{text}"):
        for hunk in patch.hunks:
            assert len(list(changed_lines(hunk))) <= len(hunk.lines)
