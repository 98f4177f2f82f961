"""The comparison goes on when a peer cannot take part, and its page says what its newest result says."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.code.set import Question, Target
from benchmarks.compare import __main__ as compare
from benchmarks.compare import install as compare_install
from benchmarks.compare import page as compare_page
from benchmarks.compare import peers as compare_peers
from benchmarks.compare import run as compare_run
from benchmarks.compare.cases import Group, Job, code_groups, text_groups
from benchmarks.compare.install import Installed
from benchmarks.compare.judge import Measure, judge, measures_of, sentence
from benchmarks.compare.known import find_items, lay_out_own, without
from benchmarks.compare.peers import OUTCROP, PEERS, Peer, peer_named
from benchmarks.compare.plots import Panel, draw
from benchmarks.compare.run import run_measured
from benchmarks.compare.score import quality_rows, score_question
from benchmarks.readme import latest

ABSENT = Peer("nobody", ("outcrop-no-such-package==0.0.0",), "files", "is not there", "nobody")


@pytest.fixture
def small(tmp_path: Path) -> Group:
    """Two files and a question to each."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "bread.md").write_text(
        "# Bread\n\nFlour, water and salt are kneaded, and the dough rises for a night.\n"
    )
    (folder / "boats.md").write_text(
        "# Boats\n\nThe keel is laid first, then ribs are bent with steam and fastened.\n"
    )
    asked = {"bread.md": "how long does dough rise", "boats.md": "how are the ribs of a boat bent"}
    questions = tuple(Question(path, text, "all", (Target(path),)) for path, text in asked.items())
    return Group("small", "mixed", (Job("small", folder, questions),), "files", timed=True)


def test_a_peer_that_cannot_be_installed_is_a_line_and_the_others_go_on(
    small: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = replace(peer_named(OUTCROP), installer="none")  # as this environment has it: no download
    everybody = (ours, peer_named("SQLite FTS5"), ABSENT)
    for module in (compare, compare_peers):
        monkeypatch.setattr(module, "PEERS", everybody)
    monkeypatch.setattr(compare, "build", lambda *_given: [tmp_path / "no.whl"])
    monkeypatch.setattr(compare, "make_groups", lambda *_given: [small])
    monkeypatch.setattr(compare, "install_rows", lambda _run: None)
    monkeypatch.setenv("UV_OFFLINE", "1")
    options = compare.read_options(["--work", str(tmp_path / "work"), "--limit", "100", "--dry"])
    tables = compare.compare(options).tables
    quality = {row["engine"]: row for row in tables["quality, small"]}
    assert quality[OUTCROP]["ndcg@10"] == 1
    assert quality["SQLite FTS5"]["ndcg@10"] == 1
    assert quality["SQLite FTS5"]["difference"] == 0
    speed = {row["engine"]: row for row in tables["speed, small, from files"]}
    assert speed[OUTCROP]["ingest × ours"] == 1
    assert speed[OUTCROP]["index MB"] > 0
    assert speed[OUTCROP]["peak memory MB"] > 10
    assert [row["engine"] for row in tables["speed, small, from ready-made rows"]] == [
        "outcrop, dense leg",
        "outcrop, lexical leg",
        "SQLite FTS5",
    ]
    lines = {row["peer"]: row["problems"] for row in tables["peers"]}
    assert lines[OUTCROP] == lines["SQLite FTS5"] == ""
    assert lines["nobody"].startswith("installation: ended with")


def test_a_run_that_fails_or_takes_too_long_says_why() -> None:
    failed = run_measured([sys.executable, "-c", "raise SystemExit('no model')"], limit_s=60)
    assert failed.problem == "ended with 1: no model"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    begun = time.monotonic()
    late = run_measured([sys.executable, "-c", child], limit_s=1)
    assert late.problem == "over its limit of 1 s of CPU, or 4 s of waiting"
    assert time.monotonic() - begun < 300
    assert run_measured(["/no/such/program"], limit_s=1).problem.startswith("cannot be started")


def test_a_run_is_measured_with_its_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_run, "LOOK_AROUND_S", 0.0)
    child = "x = bytearray(80_000_000); sum(range(10_000_000)); import time; time.sleep(1)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print('{{\"a\": 1}}')"
    done = run_measured([sys.executable, "-c", parent], limit_s=100)
    assert (done.problem, done.answer) == ("", {"a": 1})
    assert done.peak_rss_bytes > 80_000_000
    assert done.cpu_s > 0.1


def test_every_peer_is_pinned() -> None:
    for peer in PEERS:
        for package in (*peer.packages, compare_peers.NODE):
            assert ("==" if peer.installer == "pip" or "wheel" in package else "@") in package[1:], package


def test_known_items_are_taken_out_of_the_copy(tmp_path: Path) -> None:
    questions = lay_out_own(tmp_path / "own", 20)
    assert len(questions) == 20
    assert {question.category for question in questions} == {"docstring", "heading"}
    for question in questions:
        copy = (tmp_path / "own" / question.targets[0].path).read_text("utf-8")
        line = int(question.id.rpartition(":")[2])
        assert copy.split("\n")[line - 1] == ""
        if question.targets[0].path.endswith(".py"):
            compile(copy, question.id, "exec")


def test_headings_in_code_are_no_items() -> None:
    text = "# T\n\n## One two three\n" + "x " * 200 + "\n```\n## Four five six\n```\n" + "y " * 200
    (item,) = find_items("a.md", text)
    assert item.words == "One two three"
    assert without(text, [item]).split("\n")[2] == ""


def test_labelled_sets_and_repositories_become_groups(tmp_path: Path) -> None:
    for name, size in (("few", 2), ("many", 3)):
        data = tmp_path / "data" / name
        data.mkdir(parents=True)
        (data / "corpus.jsonl").write_text(
            "".join(f'{{"id": "d{i}", "text": "text {i}"}}\n' for i in range(size))
        )
        (data / "queries.jsonl").write_text('{"id": "q", "text": "text"}\n{"id": "unjudged", "text": "text"}\n')
        (data / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    sets, largest = text_groups(tmp_path / "data", tmp_path / "work", 10, {"few": ".py"})
    assert [job.name for job in sets.jobs] == ["few"]
    assert sets.jobs[0].questions[0].targets == (Target("000/000001.py"),)
    assert (largest.jobs[0].name, largest.timed) == ("many", True)
    trees = tmp_path / "trees" / "lib" / "src"
    trees.mkdir(parents=True)
    (trees / "a.py").write_text("A = 1\n")
    (tmp_path / "lib.json").write_text(
        '{"root": "src", "language": "python", "queries": [{"id": "1", "text": "a", "category": "symbol", '
        '"targets": [{"path": "src/a.py"}]}]}'
    )
    alone, together = code_groups(tmp_path, tmp_path / "trees", tmp_path / "work", 10)
    assert alone.jobs[0].questions[0].targets == (Target("a.py"),)
    assert together.jobs[0].questions[0].targets == (Target("lib/a.py"),)
    assert (together.jobs[0].folder / "lib" / "a.py").is_file()


def test_a_file_counts_once_and_a_place_by_its_lines() -> None:
    question = Question("q", "", "", (Target("b", (5, 6)),))
    found = [("a", 1, 2), ("a", 3, 4), ("b", 1, 9)]
    assert score_question(question, found, "places")[0] == pytest.approx(0.5)
    assert score_question(question, found, "files")[0] == pytest.approx(0.6309, abs=1e-4)


def test_the_difference_to_ours_has_an_interval(small: Group) -> None:
    right = {"small": {path: [(path, 1, 3)] for path in ("bread.md", "boats.md")}}
    ours, theirs = quality_rows(small, {OUTCROP: right, "other": {"small": {}}})
    assert ours["difference"] is None
    assert (theirs["difference"], theirs["low"], theirs["high"]) == (-1, -1, -1)


def test_a_measure_is_lost_when_anybody_is_better() -> None:
    lost = Measure("time", 2.0, {"a": 1.0, "b": 3.0}, "{:.0f} s", low_is_good=True)
    assert (judge(lost), sentence(lost)) == ("loses", "**time**: a 1 s; Outcrop 2 s.")
    led = Measure("quality", 0.9, {"a": 0.5}, "{:.1f}", low_is_good=False)
    assert (judge(led), sentence(led)) == ("leads", "**quality**: Outcrop 0.9; next is a, 0.5.")


def test_plots_put_the_best_on_top_and_colour_ours() -> None:
    svg = draw(
        "t", [Panel("p", (("slow", 9.0), ("outcrop, leg", 1.0)), "{:.0f}", low_is_good=True, logarithmic=True)]
    )
    assert svg.index("outcrop, leg") < svg.index("slow")
    assert svg.count('class="ours"') == 1


def test_the_page_says_what_the_newest_result_says() -> None:
    result = latest("compare")
    assert result is not None, "run `make compare` with DATA, REPOSITORIES and REPOS"
    page = compare_page.PAGE.read_text("utf-8")
    assert compare_page.render(page, result) == page, "run `python -m benchmarks.compare.page`"
    kept = {path.name: path.read_text("utf-8") for path in compare_page.PLOTS.glob("*.svg")}
    assert kept == compare_page.plots(result), "run `python -m benchmarks.compare.page`"
    lost = [measure for measure in measures_of(result) if judge(measure) == "loses"]
    assert lost
    assert all(sentence(measure) in page for measure in lost)


def test_options_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--only", "nobody"], ["--repos", "x"]):
        with pytest.raises(SystemExit):
            compare.read_options(words)
    assert "there are: outcrop" in capsys.readouterr().err
    assert isinstance(compare.read_options(["--quick"]), argparse.Namespace)


def test_what_was_installed_before_is_not_installed_again(tmp_path: Path) -> None:
    kept = tmp_path / "peers" / "outcrop-no-such-package==0.0.0.json"
    kept.parent.mkdir()
    kept.write_text('{"home": "there", "bytes": 7}')
    assert compare_install.install(ABSENT, tmp_path, None) == Installed("there", bytes=7)


def test_what_chance_may_explain_is_said_of_losses_and_of_leads() -> None:
    rows = [
        {"engine": OUTCROP, "ndcg@10": 0.5, "recall@10": 1.0, "difference": None, "low": None, "high": None},
        {"engine": "other", "ndcg@10": 0.4, "recall@10": 1.0, "difference": -0.1, "low": -0.2, "high": 0.1},
    ]
    (led,) = measures_of({"tables": {"quality, some": rows}})
    assert sentence(led).endswith("next is other, 0.400 (within chance).")
    (lost,) = measures_of({"tables": {"quality, some": [rows[0], rows[1] | {"ndcg@10": 0.6}]}})
    assert sentence(lost) == "**NDCG@10, some**: other 0.600 (within chance); Outcrop 0.500."
