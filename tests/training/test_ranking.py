"""Questions with known answers: which a small repository and a folder of pages give, and what is taken out of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from training.ranking.__main__ import LISTED, list_repositories, main
from training.ranking.columns import record
from training.ranking.fit import PRIOR
from training.ranking.hits import WORTH, fit_hits, record_sets, tell_sets
from training.ranking.pages import make_page_questions
from training.ranking.questions import make_questions
from training.ranking.records import Asked, read_cases
from training.ranking.trees import find_git

import outcrop
from outcrop.rank.signals import learnt_weights

POOL = '''"""Connections that are shared between the threads of a server."""

import socket


def acquire_connection(pool, timeout):
    """Wait until one of the idle sockets can be handed to a thread."""
    while not pool.idle:
        pool.wait(timeout)
    return pool.idle.pop()
'''
RETRY = """import time


def retry_later(call, attempts):
    for attempt in range(attempts):
        time.sleep(2 ** attempt)
        if call():
            return True
    return False
"""
GUIDE = f"""# Pool

## How threads share sockets

Call `acquire_connection` before anything is sent, and `acquire_connection` once more after a failure.
{"A server holds as many sockets open as it has threads. " * 3}
"""


def commit(folder: Path, subject: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("add", "-A"), (*who, "commit", "-q", "-m", subject)):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    """One repository of six commits, the last two of which are held back."""
    folder = tmp_path / "repositories" / "acme+pool"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, capture_output=True)
    commit(folder, "Start", {"src/pool.py": POOL})
    commit(folder, "Add a guide", {"docs/guide.md": GUIDE})
    commit(folder, "Add retries", {"src/retry.py": RETRY})
    commit(folder, "Add a licence", {"LICENSE": "MIT\n"})
    commit(folder, "fix: Sleep longer between attempts (#12)", {"src/retry.py": RETRY.replace("2 **", "3 **")})
    commit(folder, "Bump version to 2", {"src/pool.py": POOL + "\nVERSION = 2\n"})
    return folder.parent


def test_a_repository_is_asked_for_what_was_taken_out_of_it(repositories: Path, tmp_path: Path) -> None:
    asked = make_questions(find_git(repositories, "acme+pool"), "acme+pool", tmp_path / "tree")
    by_kind = {item.kind: item for item in asked}
    assert by_kind["doc"].gold == (("src/pool.py", 6, 10),)
    assert by_kind["doc"].text.startswith("Wait until one of the idle sockets")
    assert by_kind["question"].gold == by_kind["doc"].gold
    assert by_kind["file"].gold == (("src/pool.py", 0, 0),)
    assert by_kind["heading"] == Asked("heading", "How threads share sockets", (("docs/guide.md", 3, 7),))
    assert by_kind["topic"] == Asked("topic", "How threads share sockets", (("src/pool.py", 0, 0),))
    assert [item for item in asked if item.kind == "commit"] == [
        Asked("commit", "Sleep longer between attempts", (("src/retry.py", 0, 0),))
    ]
    assert {item.text for item in asked if item.kind == "name"} == {"acquire_connection", "retry_later"}


def test_lines_that_ask_are_empty_and_the_others_keep_their_numbers(repositories: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    make_questions(find_git(repositories, "acme+pool"), "acme+pool", tree)
    before, after = POOL.split("\n"), (tree / "src/pool.py").read_text().split("\n")
    assert after == ["" if '"""' in line else line for line in before]
    assert "How threads" not in (tree / "docs/guide.md").read_text()
    assert (tree / "src/retry.py").read_text() == RETRY, "as it was before the commit that asks for it"


def test_pages_are_asked_for_by_headings_and_sentences_that_they_no_longer_hold(tmp_path: Path) -> None:
    folder = tmp_path / "manual"
    folder.mkdir()
    for number in range(40):
        said = " ".join(f"Part {number} of item {place} turns the wheel {place} times." for place in range(12))
        (folder / f"{number}.html").write_text(f"<h1>How to turn wheel {number}</h1><p>{said}</p>")
    texts, asked = make_page_questions(folder)
    held = {text.id: text for text in texts}
    assert {item.kind for item in asked} == {"section", "cloze"}
    for item in asked:
        text = held[item.gold[0][0]]
        if item.kind == "section":
            assert text.title is None
            assert item.text.startswith("How to turn wheel")
        else:
            assert text.title
            assert item.text not in text.text
    assert make_page_questions(folder) == (texts, asked), "drawn the same way again"


def test_columns_are_those_that_the_engine_weighs(repositories: Path, tmp_path: Path) -> None:
    asked = make_questions(find_git(repositories, "acme+pool"), "acme+pool", tmp_path / "tree")
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(tmp_path / "tree")
        cases = record(engine, "acme+pool", asked)
        for item, case in zip(asked, cases, strict=True):
            assert case.right_file.any(), item
            assert case.code.all() or item.kind != "topic"
            if item.kind != "topic":
                weights = [learnt_weights().columns[name][case.type] for name in PRIOR]
                best = max(
                    hit.why.total - sum(boost.amount for boost in hit.why.boosts if boost.name == "repeats")
                    for hit in engine.search(item.text).hits
                )
                assert (case.columns @ weights).max() == pytest.approx(best, abs=1e-4)


def test_the_command_writes_every_weight_and_makes_no_cases_twice(
    repositories: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--repos", str(repositories), "--only", "acme+pool", "--into", str(tmp_path / "made")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "acme+pool: commit 1, doc 1" in told
    assert "OF_SHARE" in told
    written = json.loads((tmp_path / "made" / "weights.json").read_text())
    assert written["columns"].keys() == learnt_weights().columns.keys()
    assert all(worth.keys() == {"exact", "mixed", "semantic"} for worth in written["columns"].values())
    assert main(words) == 0
    assert "acme+pool: commit" not in capsys.readouterr().out
    kept = read_cases(tmp_path / "made" / "cases" / "acme+pool.npz")
    assert sum(case.right_file.any() for case in kept) == written["questions"] > 0
    assert kept[0].columns.dtype == np.float32


def labelled_set(folder: Path, about: str) -> Path:
    """A set of ten texts, each of which answers one question."""
    things = (
        "kettle",
        "ladder",
        "violin",
        "anchor",
        "candle",
        "saddle",
        "bucket",
        "mirror",
        "pillow",
        "hammer",
    )
    folder.mkdir()
    lines = [
        {"id": f"{about}-{one}", "text": f"The {one} of the {about} lies behind the door."} for one in things
    ]
    asked = [{"id": f"q-{one}", "text": f"where is the {one} of the {about}"} for one in things]
    for name, rows in (("corpus", lines), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gold = [f"q-{one}\t{about}-{one}\t1" for one in things]
    (folder / "qrels.tsv").write_text("\n".join(["query\tdocument\tgrade", *gold]) + "\n")
    return folder


def test_labelled_sets_teach_what_the_score_of_prose_says(tmp_path: Path) -> None:
    folders = [labelled_set(tmp_path / about, about) for about in ("castle", "harbour")]
    hits = record_sets(folders)
    assert {one.kind for one in hits} == set(WORTH)
    assert all(not one.right.any() for one in hits if "strange" in one.kind or "taken" in one.kind)
    worth = fit_hits(hits)
    assert worth.keys() == learnt_weights().prose.keys()
    there = [one for one in hits if one.kind == "there"]
    rows = np.vstack([one.rows for one in there])
    odds = rows @ np.array([worth[name] for name in there[0].names]) + worth["offset"]
    right = np.concatenate([one.right for one in there])
    assert odds[right].mean() > odds[~right].mean() + 1
    assert [line.split(":")[0] for line in tell_sets(hits)] == ["castle", "harbour"]


def test_without_repositories_there_is_nothing_to_learn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--repos", str(tmp_path), "--into", str(tmp_path / "made")]) == 1
    assert "holds none of the repositories" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError, match="clone it there"):
        find_git(tmp_path, "acme+pool")


def test_listed_repositories_are_found_by_the_names_of_their_folders(tmp_path: Path) -> None:
    listed = [line for line in LISTED.read_text().splitlines() if not line.startswith("#")]
    assert listed == sorted(set(listed))
    (tmp_path / listed[0].replace("/", "+")).mkdir()
    assert list_repositories(tmp_path) == [listed[0].replace("/", "+")]
