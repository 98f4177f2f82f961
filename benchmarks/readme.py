"""Write the figures of README.md from the latest results: `python -m benchmarks.readme`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SECTION = re.compile(r"(<!-- figures:[^>]*-->\n).*?(<!-- /figures -->)", re.DOTALL)
PROSE = "nDCG@10"


def latest(name: str) -> dict[str, Any] | None:
    """The newest result whose file name starts with `name-` and a commit."""
    found = [json.loads(path.read_text("utf-8")) for path in RESULTS.glob(f"{name}-*.json")]
    found = [result for result in found if result["name"] == name]
    return max(found, key=lambda result: result["date"], default=None)


def figure(result: dict[str, Any], name: str) -> float:
    return next(float(item["value"]) for item in result["figures"] if item["name"].startswith(name))


def speed_rows() -> list[str]:
    small, large = latest("speed-20000"), latest("speed-200000")
    if small is None or large is None:
        return []
    lines = [
        ("warm search, CPU p50 / p95 (ms)", ("search, CPU p50", "search, CPU p95"), "{:.1f} / {:.1f}"),
        ("search in a 1 % slice, CPU p95 (ms)", ("search in 1 % by tag, CPU p95",), "{:.1f}"),
        ("ingest, chunks per CPU second", ("ingest, chunks per CPU second",), "{:,.0f}"),
        ("ingest, peak memory (MB)", ("ingest, peak memory (RSS)",), "{:,.0f}"),
        ("cold search from the command line, CPU (ms)", ("cold search (command line), CPU",), "{:,.0f}"),
        ("share of the true ten nearest that the bit scan finds", ("recall@10 of the bit scan",), "{:.3f}"),
    ]
    rows = ["| one core of this machine | 20 000 chunks | 200 000 chunks |", "|---|---|---|"]
    for label, names, form in lines:
        cells = [form.format(*(figure(result, name) for name in names)) for result in (small, large)]
        rows.append(f"| {label} | {cells[0]} | {cells[1]} |")
    return [*rows, "", f"Measured on {large['machine']['cpu']}, commit `{large['commit']}`.", ""]


def quality_rows() -> list[str]:
    result = latest("quality")
    if result is None:
        return []
    rows = ["| labelled set | hybrid | keyword alone | meaning alone | RRF |", "|---|---|---|---|---|"]
    spans = ""
    for title, table in result["tables"].items():
        runs = {row.get("search"): row for row in table}
        if "hybrid" not in runs:
            continue
        name, _, size = title.partition(": ")
        if "iou" in runs["hybrid"]:
            hybrid = runs["hybrid"]
            spans = (
                f"{name} ({size}): recall {hybrid['recall']:.3f} at IoU {hybrid['iou']:.3f} over the top five hits "
                "with `cutoff=0.7`."
            )
            continue
        cells = [f"{runs[run]['ndcg@10']:.3f}" for run in ("hybrid", "keyword", "semantic", "rrf")]
        rows.append(f"| {name} ({size}) | {' | '.join(cells)} |")
    return [
        f"{PROSE}, the model that ships, no LLM:",
        "",
        *rows,
        "",
        spans,
        "In-sample: the constants of the ranking, the chunk size and that cutoff were chosen with these sets in view",
        "(each had to help on most), and so were settings of the model. Expect less on others.",
        f"Commit `{result['commit']}`.",
        "",
    ]


def peer_rows() -> list[str]:
    result = latest("peers-20000")
    if result is None:
        return []
    rows = [
        "| 20 000 chunks, one run | ingest CPU (s) | query CPU p50 / p95 (ms) | size (MB) | recall@10 of the nearest |",
        "|---|---|---|---|---|",
    ]
    shown: set[str] = set()
    for table in result["tables"].values():
        for row in table:
            engine = row["engine"]
            if engine in shown or "(semantic)" in engine or "(keyword)" in engine:
                continue
            shown.add(engine)
            recall = row.get("recall@10")
            rows.append(
                f"| {engine} | {row['ingest CPU s']:.1f} | {row['query CPU p50 ms']:.2f} / {row['p95 ms']:.2f} "
                f"| {row['size MB']:.0f} | {'–' if recall is None else f'{recall:.2f}'} |"
            )
    note = "A leg is the like-for-like part; whole means files in, explained hits out, with text and vectors stored."
    return [*rows, "", note, ""]


def crash_rows() -> list[str]:
    result = latest("crash")
    if result is None:
        return []
    rounds, lost = figure(result, "rounds killed"), figure(result, "divergences")
    verified = figure(result, "documents verified")
    return [
        f"{rounds:,.0f} rounds of `kill -9` during ingest, {verified:,.0f} documents verified: {lost:.0f} divergences.",
        "",
    ]


def render(readme: str) -> str:
    """README with its figures as the latest results have them."""
    body = "\n".join([*speed_rows(), *quality_rows(), *peer_rows(), *crash_rows()])
    return SECTION.sub(lambda match: f"{match.group(1)}{body}{match.group(2)}", readme)


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(render(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
