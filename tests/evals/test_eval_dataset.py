"""Cases from every form of file, and what is said of a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from outcrop.errors import ParseError, SourceError
from outcrop.evals.dataset import EvalCase, load_cases

CASES = [
    {"query": "first?", "expected": ["a.md", "b.md"], "collections": "notes"},
    {"query": "second?", "expected": "c.md"},
]
READ = (
    EvalCase("first?", {"a.md": 1.0, "b.md": 1.0}, ("notes",)),
    EvalCase("second?", {"c.md": 1.0}),
)


def test_json_and_jsonl_hold_the_same_cases(tmp_path: Path) -> None:
    files = {
        "list.json": json.dumps(CASES),
        "object.json": json.dumps({"cases": CASES}),
        "lines.jsonl": "\ufeff" + "\n\n".join(map(json.dumps, CASES)) + "\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
        assert load_cases(tmp_path / name) == READ, name


def test_rows_of_a_table_with_the_same_query_belong_together(tmp_path: Path) -> None:
    rows = [("first?", "a.md", "notes"), ("second?", "c.md", ""), ("first?", "b.md", "notes")]
    for suffix, comma in ((".csv", ","), (".tsv", "\t")):
        file = tmp_path / f"cases{suffix}"
        file.write_text(
            "\n".join(comma.join(row) for row in [("query", "expected", "collections"), *rows]) + "\n"
        )
        assert load_cases(file) == READ


def test_a_benchmark_folder_keeps_its_grades_and_drops_what_is_irrelevant(tmp_path: Path) -> None:
    queries = [{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "nobody judged it"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\t17\t2\nq1\t18\t1\nq1\t19\t0\nq9\t20\t1\n"
    )
    assert load_cases(tmp_path) == (EvalCase("first?", {"17": 2.0, "18": 1.0}),)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", "3", "expected a list of cases"),
        ("a.json", "[]", "no cases"),
        ("a.json", '[{"expected": "a"}]', "case 1: there is no query"),
        ("a.json", '[{"query": "x"}]', "nothing is expected"),
        ("a.json", '[{"query": "x", "expected": [null]}]', "name or a list of names"),
        ("a.json", '[{"query": "x", "expected": {"a": "high"}}]', "a grade is a number"),
        ("a.jsonl", '{"query": "x", "expected": "y"}\nnope', "a.jsonl:2: not JSON"),
        ("a.csv", "question,answer\nx,y\n", "query and expected"),
        ("a.yaml", "query: x", "not a data set"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ParseError, match=said):
        load_cases(tmp_path / name)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no file"):
        load_cases(tmp_path / "none.json")
    with pytest.raises(SourceError, match="no qrels"):
        load_cases(tmp_path)
