"""Who is better at what: every measure of a comparison, and the sentence that says how Outcrop stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

NAMED = 4
"""Better ones that a sentence names; the table has all."""
OURS = "outcrop"
LEG_OF = {
    "chromadb": "outcrop, dense leg",
    "lancedb": "outcrop, dense leg",
    "milvus-lite": "outcrop, dense leg",
    "tantivy": "outcrop, lexical leg",
    "SQLite FTS5": "outcrop, lexical leg",
}
"""With which of our legs a peer of ready-made rows is compared. Those with both words and vectors: with none."""
COSTS = (
    ("ingest CPU s", "CPU of ingest", "{:.2f} s"),
    ("query CPU p50 ms", "CPU of a query, median", "{:.2f} ms"),
    ("query CPU p95 ms", "CPU of a query, p95", "{:.2f} ms"),
    ("peak memory MB", "peak memory", "{:.0f} MB"),
    ("index MB", "size of the index", "{:.1f} MB"),
)


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of Outcrop beside that of its peers. `unsure` are peers whose difference chance may explain."""

    name: str
    ours: float
    theirs: Mapping[str, float]
    form: str
    low_is_good: bool
    unsure: frozenset[str] = frozenset()

    def better(self) -> list[str]:
        """Peers that are better, the best first."""
        sign = 1 if self.low_is_good else -1
        found = [name for name, value in self.theirs.items() if sign * value < sign * self.ours]
        return sorted(found, key=lambda name: sign * self.theirs[name])

    def next_best(self) -> str:
        """The best of the peers."""
        return min(self.theirs, key=lambda name: self.theirs[name] if self.low_is_good else -self.theirs[name])


def judge(measure: Measure) -> Literal["leads", "loses"]:
    """Outcrop loses where any peer is better, be it by chance."""
    return "loses" if measure.better() else "leads"


def sentence(measure: Measure) -> str:
    """How Outcrop stands, in one sentence."""
    own = measure.form.format(measure.ours)
    if better := measure.better():
        named = [
            f"{_plain(name)} {measure.form.format(measure.theirs[name])}{_doubt(measure, name)}"
            for name in better[:NAMED]
        ]
        rest = f" and {len(better) - NAMED} more" if len(better) > NAMED else ""
        return f"**{measure.name}**: {', '.join(named)}{rest}; Outcrop {own}."
    best = measure.next_best()
    theirs = f"{measure.form.format(measure.theirs[best])}{_doubt(measure, best)}"
    return f"**{measure.name}**: Outcrop {own}; next is {_plain(best)}, {theirs}."


def _plain(name: str) -> str:
    """A name in a list of names: its own comma would look like one of the list's."""
    return name.replace(", ", " ")


def _doubt(measure: Measure, name: str) -> str:
    return " (within chance)" if name in measure.unsure else ""


def measures_of(result: Mapping[str, Any]) -> Iterator[Measure]:
    """All measures of a result in which there is anybody to compare with."""
    for title, rows in result["tables"].items():
        group = title.partition(", ")[2]
        if title.startswith("quality, "):
            yield from _quality(group, rows)
        elif title.startswith("speed, ") and "ready-made" in title:
            yield from _legs(group.removesuffix(", from ready-made rows"), rows)
        elif title.startswith("speed, "):
            yield from _costs(group, rows, {row["engine"]: OURS for row in rows})
        elif title == "installation and first answer":
            columns = (
                ("installed MB", "installed size", "{:.0f} MB"),
                ("both s", "from nothing to an answer", "{:.0f} s"),
            )
            for column, name, form in columns:
                yield from _one(
                    name, rows, column, form, {row["engine"]: OURS for row in rows}, low_is_good=True
                )
        elif title == "maps of repositories":
            yield from _maps(rows)


def _quality(group: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Measure]:
    values = {row["engine"]: row["ndcg@10"] for row in rows}
    unsure = [row["engine"] for row in rows if row.get("low") is not None and row["low"] <= 0 <= row["high"]]
    if OURS in values and len(values) > 1:
        ours = values.pop(OURS)
        name = f"NDCG@10, {group}"
        yield Measure(name, ours, values, "{:.3f}", low_is_good=False, unsure=frozenset(unsure))
    inner = [
        name for name in rows[0] if name not in ("engine", "ndcg@10", "recall@10", "difference", "low", "high")
    ]
    for name in inner:
        of = {row["engine"]: row[name] for row in rows if row.get(name) is not None}
        if OURS in of and len(of) > 1:
            ours = of.pop(OURS)
            yield Measure(f"NDCG@10, {group}, {name.replace('_', ' ')}", ours, of, "{:.3f}", low_is_good=False)


def _legs(group: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Measure]:
    for leg in dict.fromkeys(LEG_OF.values()):
        some = [row for row in rows if LEG_OF.get(row["engine"]) == leg or row["engine"] == leg]
        said = "vectors alone" if "dense" in leg else "words alone"
        yield from _costs(f"{group}, {said}", some, {row["engine"]: leg for row in some})


def _costs(group: str, rows: Sequence[Mapping[str, Any]], ours: Mapping[str, str]) -> Iterator[Measure]:
    for column, name, form in COSTS:
        yield from _one(f"{name}, {group}", rows, column, form, ours, low_is_good=True)


def _one(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    column: str,
    form: str,
    ours: Mapping[str, str],
    *,
    low_is_good: bool,
) -> Iterator[Measure]:
    values = {row["engine"]: row[column] for row in rows if row[column] is not None}
    base = next((leg for leg in ours.values() if leg in values), None)
    if base is not None and len(values) > 1:
        own = values.pop(base)
        yield Measure(name, own, values, form, low_is_good=low_is_good)


def _maps(rows: Sequence[Mapping[str, Any]]) -> Iterator[Measure]:
    for budget in dict.fromkeys(row["budget"] for row in rows):
        for column in ("target files", "asked names"):
            values = {
                row["map"]: row[column] for row in rows if row["budget"] == budget and row[column] is not None
            }
            if OURS in values and len(values) > 1:
                ours = values.pop(OURS)
                yield Measure(f"map of {budget:,} tokens, {column}", ours, values, "{:.2f}", low_is_good=False)
