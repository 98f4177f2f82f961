"""How much meaning should weigh: pages cut into sections, what is asked, and a small repository from end to end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benchmarks.sections import Section, asked_of, read_sections, split_page
from benchmarks.shares import (
    JUDGED,
    OWN,
    SETTINGS,
    Question,
    by_type,
    judge,
    lay_out_newest,
    ndcg,
    read_subjects,
    score,
    sweep,
)

from outcrop.rank.fusion import dense_weight

MARKDOWN = """---
title: front matter
---
above everything

# How to travel #

Book early.

```sh
# not a heading
```

## Paying back {#back}
Within a month.
"""
UNDERLINED = """How to travel
=============

Book early.

Paying back
-----------
Within a month.

- a list
"""


def test_a_page_is_cut_at_its_headings_which_are_in_no_section() -> None:
    travel, back = split_page(MARKDOWN)
    assert (travel.heading, back.heading) == ("How to travel", "Paying back")
    assert "# not a heading" in travel.body
    assert back.body.strip() == "Within a month."
    assert "above everything" not in travel.body


def test_underlined_headings_are_headings() -> None:
    travel, back = split_page(UNDERLINED)
    assert (travel.heading, travel.body.strip()) == ("How to travel", "Book early.")
    assert (back.heading, back.body.split()[-3:]) == ("Paying back", ["-", "a", "list"])


def test_short_and_repeated_headings_are_not_asked() -> None:
    names = ("Usage", "How to travel", "Before you leave", "how to travel")
    assert asked_of([Section(name, "") for name in names]) == [2]


def test_sections_that_say_hardly_anything_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Much is said\n" + "word " * 30 + "\n# Little is said\nword\n")
    (tmp_path / "code.py").write_text("# Not a page\n" + "word " * 30)
    assert [section.heading for section in read_sections(tmp_path)] == ["Much is said"]


def test_places_count_less_the_lower_they_are() -> None:
    assert ndcg(["a", "b"], {"a"}) == 1
    assert ndcg(["b", "a"], {"a"}) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg(["b"], {"a"}) == 0


def test_each_trust_is_asked_with_its_share_of_meaning() -> None:
    asked: list[float | None] = []

    def ask(_: str, balance: float | None) -> list[str]:
        asked.append(balance)
        return ["a"] if balance is None or balance > 0.5 else ["b"]

    question = score("pages", "r", "how does one travel to a client", {"a"}, ask)
    assert question.kind == "semantic"
    assert (asked[0], asked[1], asked[-1]) == (None, 0.0, dense_weight("semantic", 1.0))
    assert (question.scores[OWN], question.scores["0"], question.scores["1"]) == (1.0, 0.0, 1.0)


def test_the_sweep_tells_what_each_trust_gains_and_how_sure_that_is() -> None:
    def scored(full: float) -> dict[str, float]:
        return {setting: full if setting == "1" else 0.5 for setting in SETTINGS}

    questions = [Question("pages", "a", str(n), "mixed", scored(0.75)) for n in range(6)]
    questions += [Question("pages", "b", str(n), "exact", scored(n % 2)) for n in range(2)]
    rows = {row["trust"]: row for row in sweep(questions)}
    assert (rows[OWN]["ndcg@10"], rows[OWN]["95 %"]) == (0.5, "+0.000 +0.000")
    assert (rows["1"]["ndcg@10"], rows["1"]["− own"]) == (0.625, 0.125)  # each repository counts the same
    assert rows["1"]["95 %"] == "-0.125 +0.375"
    exact, mixed = by_type(questions)
    assert (exact["questions"], exact["1"], mixed["1"]) == (2, 0.5, 0.75)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    tree = tmp_path / "owner+name"
    tree.mkdir()

    def commit(message: str, *names: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        for arguments in (("add", *names), ("commit", "-qm", message)):
            subprocess.run(["git", *who, *arguments], cwd=tree, check=True, capture_output=True)

    subprocess.run(["git", "init", "-q"], cwd=tree, check=True, capture_output=True)
    (tree / "pool.py").write_text("def acquire():\n    '''Take a connection from the pool.'''\n")
    commit("Take a connection from the pool", "pool.py")
    travel = "Book the train early and keep every receipt of the journey. " * 4
    food = "Meals are paid by the day, whatever the bill says in the end. " * 4
    (tree / "travel.md").write_text(f"# Getting to the client\n\n{travel}\n# What one eats there\n\n{food}\n")
    commit("Explain receipts of a journey", "travel.md")
    (tree / "CHANGES.md").write_text("# Changes\n")
    commit("Begin a list of changes", "CHANGES.md")
    return tree / ".git"


def test_subjects_ask_for_what_their_commits_changed(repository: Path) -> None:
    assert read_subjects(repository) == [
        ("Begin a list of changes", frozenset(), frozenset()),
        ("Explain receipts of a journey", frozenset(), frozenset({"travel.md"})),
        ("Take a connection from the pool", frozenset({"pool.py"}), frozenset()),
    ]


def test_a_repository_is_asked_for_code_pages_and_sections(repository: Path) -> None:
    questions = list(judge("owner+name", repository, JUDGED, 9))
    assert sorted((question.judged, question.text) for question in questions) == [
        ("code", "Take a connection from the pool"),
        ("pages", "Explain receipts of a journey"),
        ("sections", "Getting to the client"),
        ("sections", "What one eats there"),
    ]
    assert all(question.scores[OWN] == 1 for question in questions if question.judged != "sections")
    assert [question.judged for question in judge("owner+name", repository, ["pages"], 9)] == ["pages"]


def test_what_a_partial_copy_lacks_is_left_out(repository: Path, tmp_path: Path) -> None:
    command = ["git", "--git-dir", str(repository), "rev-parse", "HEAD:pool.py"]
    blob = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (repository / "objects" / blob[:2] / blob[2:]).unlink()
    lay_out_newest(repository, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"travel.md", "CHANGES.md"}
    assert (tmp_path / "out" / "travel.md").read_bytes() == (repository.parent / "travel.md").read_bytes()
