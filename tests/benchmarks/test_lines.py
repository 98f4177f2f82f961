"""Lines as a benchmark: which lines a source shows, when a hunk is held, and a small repository from end to end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.issues import git_directory
from benchmarks.lines import Change, content_share, held_hunks, judge, judge_prose, load_changes, shown_lines
from tests.code.test_pack_code import make_hit

from benchmarks import lines
from outcrop.records import Context, PackedSource

TEXT = "def f():\n    a = 1\n    return a\n\ndef g():\n    b = 2\n    return b"


def source(shown: str) -> PackedSource:
    return PackedSource(1, make_hit(TEXT, 1, index=1), shown, shown != TEXT)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (TEXT, set(range(11, 18))),
        ("def f():\n    ...\ndef g():\n    b = 2\n    ...", {11, 15, 16}),
        ("def f():\n    ...\n    return b", {11, 17}),
        ("...", set()),
    ],
)
def test_lines_are_found_again_around_what_was_left_out(shown: str, expected: set[int]) -> None:
    assert shown_lines(source(shown)) == expected


def test_a_hunk_is_held_by_half_of_its_lines() -> None:
    context = Context("", 0, 0, (source("def f():\n    a = 1\n    ..."),), ())
    hunks = {"src/f1.py": ((11, 14), (12, 17)), "src/gone.py": ((1, 2),)}
    assert held_hunks(context, hunks, "tree") == {"hunks": 1 / 3, "held": 1, "of": 3, "file": 1.0}


def test_content_is_what_is_shown_of_files() -> None:
    assert content_share(Context("", 40, 100, (source("one two three four"),), ())) == 0.1


def test_reports_have_the_hunks_of_files_that_count(tmp_path: Path) -> None:
    files = [{"path": "a.py", "hunks": [[3, 9]]}, {"path": "tests/test_a.py", "hunks": [[1, 2]]}]
    tasks = [
        {"id": "1", "text": "It fails", "base_commit": "ab", "files": files},
        {"id": "2", "text": "Only tests", "base_commit": "ab", "files": files[1:]},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"repo": "owner/name", "tasks": tasks}))
    assert load_changes(tmp_path / "a.json") == (
        "owner+name",
        [Change("1", "It fails", "ab", {"a.py": ((3, 9),)})],
    )


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., None]:
    tree = tmp_path / "owner+name"
    tree.mkdir()

    def run(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tree, check=True, capture_output=True)

    run("init", "-q")
    return run


def test_later_commits_count_while_their_files_are_as_in_the_snapshot(
    tmp_path: Path, git: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "SNAPSHOTS_BACK", (2,))
    tree = tmp_path / "owner+name"
    (tree / "pool.py").write_text("def acquire():\n    raise RuntimeError('the pool is empty')\n" * 3)
    (tree / "other.py").write_text("def unrelated():\n    return 'roses and winter'\n")
    git("add", ".")
    git("commit", "-qm", "Begin")
    for count in (1, 2):
        (tree / "pool.py").write_text("def acquire():\n    return None\n" * count)
        git("commit", "-qam", f"Acquire no longer fails when the pool is empty and nobody waits {count}")
    (change,) = lines.read_history(git_directory(tmp_path, "owner+name"))
    assert change.text.strip().endswith("waits 1")
    assert change.hunks == {"pool.py": ((1, 6),)}
    rows = list(judge(tree / ".git", [change]))
    assert [(row["budget"], row["hunks"], row["file"]) for row in rows] == [(2000, 1.0, 1.0), (8000, 1.0, 1.0)]


def test_gold_spans_of_prose_are_found_in_its_context(tmp_path: Path) -> None:
    text = "# Boxes\n\nBoxes lie on a shelf.\n\n# Roses\n\nRoses bloom in June.\n"
    start = text.index("Roses bloom")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"id": "garden", "text": text}) + "\n")
    query = {
        "text": "when do roses bloom",
        "corpus_id": "garden",
        "references": [{"start": start, "end": start + 20}],
    }
    (tmp_path / "queries.jsonl").write_text(json.dumps(query) + "\n")
    rows = list(judge_prose(tmp_path, 5))
    assert [(row["budget"], row["gold"]) for row in rows] == [(2000, 1.0), (8000, 1.0)]
    assert 0 < rows[0]["content"] < 1
