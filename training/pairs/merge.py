"""The results of all packages to one data set: what repeats goes, what is plenty is thinned, the rest is counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from training.pairs.questions import number
from training.pairs.split import choose_validation

MAX_SAME_QUERY: Final = 5
"""A query asked of more documents than this tells none of them apart."""
PILLAR_SHARE: Final = 0.2
"""A package that is more than this of all pairs of a language is never held out: most of Elixir is one package."""
PYTHON_SHARE: Final = 0.40
MOST: Final = 1_200_000
"""Pairs in all: more would lengthen the training without adding packages. The largest languages are cut to fit."""
KIND_SHARES: Final = {"name": 0.10, "first": 0.10, "comment": 0.12, "section": 0.20, "test": 0.10}
"""The most of all pairs that one kind may be (not measured)."""


@dataclass(slots=True)
class _Row:
    """A pair in as few bytes as deciding needs."""

    part: int
    doc: int
    pair: int
    kind: str
    lang: str
    query: int
    text: int
    roll: int


def read_part(path: Path) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """A package's name, documents and pairs as its result file holds them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        package = json.loads(file.readline())["package"]
        docs: list[dict[str, Any]] = json.loads(file.readline())
        pairs: list[dict[str, Any]] = json.loads(file.readline())
    return package, docs, pairs


def _key(text: str) -> int:
    return int.from_bytes(
        blake2b(" ".join(text.lower().split()).encode("utf-8", "replace"), digest_size=8).digest()
    )


def merge(parts: Sequence[Path], into: Path, is_dropped: Callable[[str, str], bool]) -> dict[str, Any]:
    """Write docs.jsonl, pairs.jsonl, split.json and stats.json; the statistics.

    `is_dropped(package, path)` tells whether a file must be left out.
    """
    packages: list[str] = []
    rows: list[_Row] = []
    languages: dict[str, str] = {}
    for number_, path in enumerate(parts):
        package, docs, pairs = read_part(path)
        packages.append(package)
        texts = [0 if is_dropped(package, doc["path"]) else _key(doc["text"]) for doc in docs]
        found = [
            _Row(
                number_,
                pair["doc"],
                place,
                pair["kind"],
                docs[pair["doc"]]["lang"],
                _key(pair["q"]),
                texts[pair["doc"]],
                number(pair["q"], package),
            )
            for place, pair in enumerate(pairs)
            if texts[pair["doc"]]
        ]
        rows += found
        languages[package] = Counter(row.lang for row in found).most_common(1)[0][0] if found else ""
    known = {package: lang for package, lang in languages.items() if lang}
    validation = set(choose_validation(known, _pillars(rows, packages)))
    rows = _thinned(_distinct(rows, [package in validation for package in packages]))
    counts = _write(rows, parts, packages, into)
    stats = _statistics(rows, packages, validation) | counts
    split = {"validation": sorted(validation & {packages[row.part] for row in rows})}
    (into / "split.json").write_text(json.dumps(split, indent=1), "utf-8")
    (into / "stats.json").write_text(json.dumps(stats, indent=1), "utf-8")
    return stats


def _pillars(rows: Iterable[_Row], packages: Sequence[str]) -> set[str]:
    """Packages without which a language would hardly be trained."""
    counts = Counter((row.lang, row.part) for row in rows)
    totals: Counter[str] = Counter()
    for (lang, _), count in counts.items():
        totals[lang] += count
    return {packages[part] for (lang, part), count in counts.items() if count > PILLAR_SHARE * totals[lang]}


def _distinct(rows: Iterable[_Row], held_out: Sequence[bool]) -> list[_Row]:
    """Each query and text once; no text of a held-out package that another package has too; no query for all."""
    rows = list(rows)
    trained = {row.text for row in rows if not held_out[row.part]}
    seen: set[tuple[int, int]] = set()
    kept = []
    for row in rows:
        if (row.query, row.text) in seen or (held_out[row.part] and row.text in trained):
            continue
        seen.add((row.query, row.text))
        kept.append(row)
    times = Counter(row.query for row in kept)
    return [row for row in kept if times[row.query] <= MAX_SAME_QUERY]


def _thinned(rows: list[_Row]) -> list[_Row]:
    """The kinds and the language that would be too much of it cut to their share, by hash."""
    for kind, share in KIND_SHARES.items():
        rows = _thin(rows, lambda row, kind=kind: row.kind == kind, share)  # type: ignore[misc]
    rows = _thin(rows, lambda row: row.lang == "python", PYTHON_SHARE)
    counts = Counter(row.lang for row in rows)
    ceiling = _ceiling(counts, MOST)
    for lang, count in counts.items():
        room = ceiling * _weight(lang)
        if count > room:
            rows = _keep(rows, lambda row, lang=lang: row.lang == lang, room)  # type: ignore[misc]
    return rows


def _weight(lang: str) -> int:
    """Most questions that are typed into a web search are of Python: it may be three times as much as any other."""
    return 3 if lang == "python" else 1


def _ceiling(counts: Mapping[str, int], most: int) -> int:
    """How much of one language there may be so that all together are `most`."""
    low, high = 0, max(counts.values(), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle * _weight(lang)) for lang, count in counts.items()) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _thin(rows: list[_Row], is_meant: Callable[[_Row], bool], share: float) -> list[_Row]:
    others = sum(not is_meant(row) for row in rows)
    return _keep(rows, is_meant, int(others * share / (1 - share)))


def _keep(rows: list[_Row], is_meant: Callable[[_Row], bool], room: int) -> list[_Row]:
    """As many of those that are meant as there is room for, by hash; all others."""
    meant = [row for row in rows if is_meant(row)]
    if len(meant) <= room:
        return rows
    meant.sort(key=lambda row: row.roll)
    kept = {id(row) for row in meant[:room]}
    return [row for row in rows if id(row) in kept or not is_meant(row)]


def _write(rows: Sequence[_Row], parts: Sequence[Path], packages: Sequence[str], into: Path) -> dict[str, int]:
    by_part: dict[int, list[_Row]] = {}
    for row in rows:
        by_part.setdefault(row.part, []).append(row)
    next_id = 0
    docs_new, pairs_new = into / "docs.jsonl.new", into / "pairs.jsonl.new"
    with docs_new.open("w", encoding="utf-8") as docs_file, pairs_new.open("w", encoding="utf-8") as pairs_file:
        for place in sorted(by_part, key=lambda part: packages[part]):
            package, docs, pairs = read_part(parts[place])
            chosen = by_part[place]
            ids = {doc: next_id + count for count, doc in enumerate(sorted({row.doc for row in chosen}))}
            next_id += len(ids)
            for doc, id_ in ids.items():
                docs_file.write(
                    json.dumps({"id": id_, "package": package} | docs[doc], ensure_ascii=False) + "\n"
                )
            for row in sorted(chosen, key=lambda row: (row.doc, row.pair)):
                pair = pairs[row.pair]
                line = {"q": pair["q"], "doc": ids[row.doc], "kind": pair["kind"]}
                pairs_file.write(json.dumps(line, ensure_ascii=False) + "\n")
    docs_new.rename(into / "docs.jsonl")
    pairs_new.rename(into / "pairs.jsonl")
    return {"docs": next_id, "pairs": len(rows)}


def _statistics(rows: Iterable[_Row], packages: Sequence[str], validation: set[str]) -> dict[str, Any]:
    rows = list(rows)
    table: dict[str, Counter[str]] = {}
    for row in rows:
        table.setdefault(row.lang, Counter())[row.kind] += 1
    used = {row.part for row in rows}
    return {
        "packages": len(used),
        "registries": dict(Counter(packages[part].partition("/")[0] for part in used)),
        "validation_packages": len(validation & {packages[part] for part in used}),
        "validation_pairs": sum(packages[row.part] in validation for row in rows),
        "kinds": dict(Counter(row.kind for row in rows).most_common()),
        "languages": {lang: sum(counts.values()) for lang, counts in sorted(table.items())},
        "kind_by_language": {lang: dict(counts.most_common()) for lang, counts in sorted(table.items())},
    }


def table_lines(stats: dict[str, Any]) -> Iterator[str]:
    """The table of kinds and languages, for people."""
    kinds = list(stats["kinds"])
    yield " ".join([f"{'':12}", *(f"{kind:>9}" for kind in kinds), f"{'all':>9}"])
    by_size = sorted(stats["languages"].items(), key=lambda item: -item[1])
    for lang, total in by_size:
        counts = stats["kind_by_language"][lang]
        yield " ".join([f"{lang:12}", *(f"{counts.get(kind, 0):9}" for kind in kinds), f"{total:9}"])
    yield " ".join([f"{'all':12}", *(f"{stats['kinds'][kind]:9}" for kind in kinds), f"{stats['pairs']:9}"])
