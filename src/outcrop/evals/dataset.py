"""Questions with their right answers, from a file.

A case is a query and the documents that answer it, each named by uri, path or id:

    {"query": "how are retries configured?", "expected": ["notes/retries.md"]}

JSON holds a list of such objects, JSONL one a line. CSV and TSV have the columns `query` and `expected`, one expected
document a row; rows with the same query belong together. `collections` (a name or a list) restricts the search.
A folder with `queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) is read as retrieval benchmarks are shared: its
documents are named by the ids they have in `corpus.jsonl`, and its grades are kept.
"""

from __future__ import annotations

import csv
import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from outcrop.errors import ParseError, SourceError
from outcrop.system.dataclass import dataclass
from outcrop.system.private import make_folder, write_text


@dataclass(frozen=True, slots=True)
class EvalCase:
    """A query and how good each expected document is as an answer: 1 unless the data set grades them."""

    query: str
    expected: Mapping[str, float]
    collections: tuple[str, ...] = ()


def load_cases(path: Path) -> tuple[EvalCase, ...]:
    """The cases of a file or of a benchmark's folder."""
    if path.is_dir():
        cases = _read_benchmark(path)
    else:
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise ParseError(f"{path}: not a data set; write it as {', '.join(sorted(_READERS))}")
        cases = [_as_case(entry, where) for where, entry in reader(path)]
        cases = _join_same(cases)
    if not cases:
        raise ParseError(f"{path}: there are no cases in it")
    return tuple(cases)


_appending = threading.Lock()


def append_case(path: Path, case: EvalCase) -> bool:
    """Add a case to a JSONL file, which is made where there is none; False when it holds that case already. The file is
    written anew beside the old one and put in its place, so a crash leaves either."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ParseError(f"{path}: cases are added to a .jsonl file")
    entry = _as_entry(case)
    case = _as_case(entry, "the new case")
    with _appending:
        text = _read_text(path) if path.exists() else ""
        if case in [_as_case(known, where) for where, known in _read_jsonl(path)] if text.strip() else []:
            return False
        gap = "" if not text or text.endswith("\n") else "\n"
        _replace(path, f"{text}{gap}{json.dumps(entry, ensure_ascii=False)}\n")
    return True


def remove_case(path: Path, case: EvalCase) -> bool:
    """Take a case out of a JSONL file; False when it is not there. Other lines stay as they are."""
    with _appending:
        lines = _read_text(path).split("\n")
        kept = [
            line
            for line in lines
            if not line.strip() or _as_case(_parse_json(line, str(path)), str(path)) != case
        ]
        if len(kept) == len(lines):
            return False
        _replace(path, "\n".join(kept))
    return True


def _as_entry(case: EvalCase) -> dict[str, object]:
    graded = any(grade != 1.0 for grade in case.expected.values())  # else the names are enough
    expected = dict(case.expected) if graded else list(case.expected)
    entry: dict[str, object] = {"query": case.query, "expected": expected}
    return {**entry, "collections": list(case.collections)} if case.collections else entry


def _replace(path: Path, text: str) -> None:
    """Write the file anew beside the old one and put it in its place."""
    draft = path.with_name(f".{path.name}.part")
    try:
        make_folder(path.parent)
        write_text(draft, text)
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    except (OSError, UnicodeEncodeError) as error:
        raise SourceError(f"{path} cannot be written: {error}") from error


Entries = Iterator[tuple[str, object]]


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise SourceError(f"there is no file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from error


def _read_json(path: Path) -> Entries:
    data = _parse_json(_read_text(path), str(path))
    if isinstance(data, dict) and "cases" in data:
        data = data["cases"]
    if not isinstance(data, list):
        raise ParseError(f'{path}: expected a list of cases, or {{"cases": [...]}}')
    for number, entry in enumerate(data, 1):
        yield f"{path}: case {number}", entry


def _read_jsonl(path: Path) -> Entries:
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", _parse_json(line, f"{path}:{number}")


def _read_table(path: Path) -> Entries:
    delimiter = "\t" if path.suffix.lower() in {".tsv", ".tab"} else ","
    rows = csv.DictReader(_read_text(path).splitlines(), delimiter=delimiter)
    if not {"query", "expected"} <= set(rows.fieldnames or ()):
        raise ParseError(f"{path}: the first line must name the columns: query and expected")
    try:
        for row in rows:
            entry = {name: value for name, value in row.items() if name is not None and value}
            yield f"{path}:{rows.line_num}", entry
    except csv.Error as error:
        raise ParseError(f"{path}:{rows.line_num}: {error}") from error


_READERS = {
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".csv": _read_table,
    ".tsv": _read_table,
}


def _parse_json(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ParseError(f"{where}: not JSON: {error}") from error


def _as_case(entry: object, where: str) -> EvalCase:
    if not isinstance(entry, dict):
        raise ParseError(f"{where}: a case is an object with query and expected")
    query = entry.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ParseError(f"{where}: there is no query")
    expected = entry.get("expected")
    grades = expected if isinstance(expected, dict) else dict.fromkeys(_names(expected, where, "expected"), 1.0)
    if not grades:
        raise ParseError(f"{where}: nothing is expected; name at least one document")
    try:
        typed = {str(name): float(grade) for name, grade in grades.items()}
    except (TypeError, ValueError) as error:
        raise ParseError(f"{where}: a grade is a number: {error}") from error
    return EvalCase(query, typed, tuple(_names(entry.get("collections"), where, "collections")))


def _names(value: object, where: str, field: str) -> list[str]:
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int) for item in items):
        raise ParseError(f"{where}: {field} is a name or a list of names")
    return [str(item) for item in items]


def _join_same(cases: Iterable[EvalCase]) -> list[EvalCase]:
    joined: dict[tuple[str, tuple[str, ...]], EvalCase] = {}
    for case in cases:
        key = (case.query, case.collections)
        before = joined.get(key)
        expected = case.expected if before is None else {**before.expected, **case.expected}
        joined[key] = EvalCase(case.query, expected, case.collections)
    return list(joined.values())


def _read_benchmark(folder: Path) -> list[EvalCase]:
    places = (folder / "qrels.tsv", folder / "qrels" / "test.tsv")
    judgements = next((place for place in places if place.is_file()), None)
    if judgements is None:
        raise SourceError(f"{folder}: there is no qrels.tsv and no qrels/test.tsv")
    expected: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_read_text(judgements).splitlines(), 1):
        parts = line.split("\t")
        if number == 1 and parts[-1].strip() == "score":
            continue
        try:
            # Three columns, or the four of TREC with an unused second one.
            query, document, grade = parts[0], parts[-2], float(parts[-1])
        except (IndexError, ValueError) as error:
            raise ParseError(f"{judgements}:{number}: expected query, document and score") from error
        if grade > 0:
            expected.setdefault(query, {})[document] = grade
    cases = []
    for where, entry in _read_jsonl(folder / "queries.jsonl"):
        if not isinstance(entry, dict) or not {"_id", "text"} <= entry.keys():
            raise ParseError(f"{where}: a query is an object with _id and text")
        if str(entry["_id"]) in expected:
            cases.append(EvalCase(str(entry["text"]), expected[str(entry["_id"])]))
    return cases
