"""Cases that are added one by one, and runs that are kept."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.engine import open_engine
from outcrop.errors import NotFound, ParseError, SourceError
from outcrop.evals import runs
from outcrop.evals.dataset import EvalCase, append_case, load_cases, remove_case
from outcrop.evals.run import evaluate
from outcrop.evals.runs import EvalRun, RankedCase, as_run, compare_runs, list_runs, load_run, save_run
from outcrop.records import Filter, SearchOptions

RUN = EvalRun(
    id="",
    time=1_700_000_000.0,
    name="cases.jsonl",
    model="static@1/256",
    options={"mode": "hybrid"},
    metrics={"ndcg_10": 0.5},
    cases=(RankedCase("wombats", ("wombat",), 1, 1.0, "wombat"), RankedCase("emus", ("emu",), None, 0.0)),
)


# ------------------------------------------------------------------ cases


def test_a_case_that_is_added_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cases.jsonl"
    first = EvalCase("how are retries configured?", {"notes/retries.md": 1.0})
    graded = EvalCase('"quoted"\nüber', {"a.md": 2.0, "b.md": 1.0}, ("notes",))
    assert append_case(path, first)
    assert append_case(path, graded)
    assert load_cases(path) == (first, graded)


def test_a_case_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case = EvalCase("wombats", {"wombat": 1.0})
    assert append_case(path, case)
    assert not append_case(path, case)
    assert append_case(path, replace(case, collections=("zoo",)))
    assert append_case(path, replace(case, expected={"other": 1.0}))
    assert len(path.read_text().splitlines()) == 3


def test_a_case_is_taken_back_and_other_lines_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    by_hand = '{"query": "by hand",  "expected": "x.md"}\n'
    path.write_text(by_hand)
    case = EvalCase("wombats", {"wombat": 1.0}, ("zoo",))
    append_case(path, case)
    assert not remove_case(path, replace(case, collections=()))
    assert remove_case(path, case)
    assert path.read_text() == by_hand
    assert not remove_case(path, case)


def test_a_line_without_its_end_is_not_run_into(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"query": "by hand", "expected": "x.md"}')
    append_case(path, EvalCase("added", {"y.md": 1.0}))
    assert [case.query for case in load_cases(path)] == ["by hand", "added"]


def test_what_is_no_case_is_refused_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    for wrong in (EvalCase(" ", {"x": 1.0}), EvalCase("x", {})):
        with pytest.raises(ParseError):
            append_case(path, wrong)
    assert not path.exists()
    with pytest.raises(ParseError, match=r"\.jsonl"):
        append_case(tmp_path / "cases.csv", EvalCase("x", {"x": 1.0}))
    path.write_text("not json\n")
    with pytest.raises(ParseError, match=r"cases\.jsonl:1"):
        append_case(path, EvalCase("x", {"x": 1.0}))
    assert path.read_text() == "not json\n"
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SourceError):
        append_case(blocked / "cases.jsonl", EvalCase("x", {"x": 1.0}))


def test_threads_that_add_cases_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"

    def add(thread: int) -> None:
        for i in range(10):
            append_case(path, EvalCase(f"query {thread} {i}", {"x": 1.0}))
            append_case(path, EvalCase(f"shared {i}", {"x": 1.0}))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(path.read_text().splitlines()) == 90
    assert len(load_cases(path)) == 90
    assert [one.name for one in tmp_path.iterdir()] == ["cases.jsonl"], "no draft is left behind"


# ------------------------------------------------------------------ runs


def test_a_run_is_kept_listed_and_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    assert list_runs(folder) == ()
    first = save_run(folder, RUN)
    second = save_run(folder, replace(RUN, time=RUN.time + 60, metrics={"ndcg_10": 0.75}))
    assert load_run(folder, first) == replace(RUN, id=first)
    assert [line.id for line in list_runs(folder)] == [second, first]
    assert [line.metrics for line in list_runs(folder)] == [{"ndcg_10": 0.75}, {"ndcg_10": 0.5}]
    assert [line.queries for line in list_runs(folder, limit=1)] == [2]


def test_a_report_becomes_a_run(tmp_path: Path) -> None:
    with open_engine(tmp_path / "i.db") as kb:
        kb.add(text="Wombats dig long burrows in the ground.", id="wombat", collection="zoo")
        options = SearchOptions(balance=0.5, where=Filter(collections=("zoo",)))
        report = evaluate(kb, [EvalCase("wombats burrows", {"wombat": 1.0})], options=options)
    run = as_run(report, options, "cases.jsonl")
    assert run.options == {"balance": 0.5, "collections": ["zoo"], "limit": 10}
    assert run.metrics["top_1"] == 1.0
    assert run.cases == (RankedCase("wombats burrows", ("wombat",), 1, 1.0, "wombat"),)
    id_ = save_run(tmp_path / "runs", run)
    assert load_run(tmp_path / "runs", id_) == replace(run, id=id_)


DAMAGED = (
    *("", "{", "[]", "null", "3", '"x"', "{}", "[" * 100_000, '{"cases": 3}'),
    json.dumps({"time": 1, "name": "", "model": "", "options": {}, "metrics": {"a": "b"}, "cases": []}),
    json.dumps({"time": 1, "name": "", "model": "", "options": 4, "metrics": {}, "cases": []}),
    '{"time": NaN, "name": "", "model": "", "options": {}, "metrics": {}, "cases": []}',
    json.dumps({"time": 1, "name": "", "model": "", "options": {}, "metrics": {}, "cases": ["x"]}),
)


@pytest.mark.parametrize("content", DAMAGED, ids=[text[:20] for text in DAMAGED])
def test_a_damaged_run_is_a_line_and_no_crash(tmp_path: Path, content: str) -> None:
    good = save_run(tmp_path, RUN)
    damaged = "20300101T000000000Z-abcdef"
    (tmp_path / f"{damaged}.json").write_text(content)
    lines = list_runs(tmp_path)
    assert [line.id for line in lines] == [damaged, good]
    assert lines[0].problem
    assert not lines[1].problem
    with pytest.raises(ParseError):
        load_run(tmp_path, damaged)


@given(st.text(max_size=30) | st.sampled_from(["../secret", "/etc/passwd", "..", "", "a" * 5000, "a\0b"]))
def test_an_id_is_never_a_way_to_another_file(name: str) -> None:
    with pytest.raises(NotFound, match="there is no run"):
        load_run(Path("/tmp"), name)


def test_ids_are_safe_file_names_and_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    id_ = save_run(tmp_path, RUN)
    assert id_.replace("-", "").isalnum()
    assert [line.id for line in list_runs(tmp_path)] == [id_]
    assert (tmp_path / "notes.json").exists()


def test_only_the_latest_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "KEPT_RUNS", 3)
    ids = [save_run(tmp_path, replace(RUN, time=RUN.time + i)) for i in range(5)]
    assert [line.id for line in list_runs(tmp_path)] == ids[:1:-1]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="cannot be kept"):
        save_run(tmp_path / "file", RUN)


def test_two_runs_are_compared_by_the_ranks_of_their_common_queries() -> None:
    cases = [
        ("moved a little", 4, 5),
        ("lost", 1, None),
        ("found", None, 3),
        ("same", 2, 2),
        ("same none", None, None),
    ]
    before = replace(RUN, cases=tuple(RankedCase(query, ("x",), rank, 0.0) for query, rank, _ in cases))
    after = [RankedCase(query, ("x",), rank, 0.0) for query, _, rank in cases]
    after.append(RankedCase("new", ("x",), 1, 1.0))
    changes = compare_runs(before, replace(RUN, cases=tuple(after)))
    assert [(change.query, change.before, change.after) for change in changes] == [
        ("lost", 1, None),
        ("found", None, 3),
        ("moved a little", 4, 5),
    ]
