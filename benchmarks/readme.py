"""Write the figures of README.md from the latest results: `python -m benchmarks.readme`.

README has the few that a newcomer asks for. The rest is made here too, and stands in docs/explanation/figures.md, where
`make pages` writes it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SECTION = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- /figures -->)", re.DOTALL)
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


def scale_rows() -> list[str]:
    """What an index of a million chunks costs."""
    result = latest("scale-1000000")
    if result is None:
        return []
    chunks, text = figure(result, "chunks"), figure(result, "text") / 1000
    size = (figure(result, "database") + figure(result, "search arrays")) / 1000
    return [
        f"{chunks:,.0f} chunks of PyPI's sources and Debian's documentation ({text:.2f} GB of text): an index of "
        f"{size:.2f} GB, {figure(result, 'index to text'):.1f} × the text; search, CPU p50 / p95 "
        f"{figure(result, 'search, CPU p50'):.0f} / "
        f"{figure(result, 'search, CPU p95'):.0f} ms; cold search from the command line, CPU "
        f"{figure(result, 'cold search on the command line, CPU'):.2f} s; a server after 200 searches "
        f"{figure(result, 'server after 200 searches, RSS'):,.0f} MB; files are added at "
        f"{figure(result, 'ingest, grown to empty'):.2f} of the rate at which an empty index takes them. "
        f"Commit `{result['commit']}`; the curves are below.",
        "",
    ]


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


def code_rows() -> list[str]:
    """Source code: quality beside a peer, budgets, maps, a large tree, code and documentation together."""
    peers, budget, maps = latest("code-peers"), latest("code-budget"), latest("code-map")
    if peers is None or budget is None or maps is None:
        return []
    rows = [
        "Source code, 21 repositories in 18 languages, 417 questions, beside semble in one run (both offline):",
        "",
        "| | NDCG@10 | architecture | semantic | symbols | index CPU a chunk (µs) | query CPU p50 / p95 (ms) |",
        "|---|---|---|---|---|---|---|",
    ]
    speeds = next(table for title, table in peers["tables"].items() if title.startswith("all repositories"))
    for quality, speed in zip(peers["tables"]["NDCG@10, mean over repositories"], speeds, strict=True):
        cells = [f"{quality[name]:.3f}" for name in ("ndcg@10", "architecture", "semantic", "symbol")]
        pace = f"{speed['query CPU p50 ms']:.1f} / {speed['CPU p95 ms']:.1f}"
        rows.append(f"| {quality['engine']} | {' | '.join(cells)} | {speed['µs per chunk']:.0f} | {pace} |")
    rows += [
        "",
        f"Speed: all repositories in one index of {speeds[0]['chunks']:,.0f} chunks. Semble's index is in memory and "
        "has no graph; its model is a stand-in, with its own it is published at 0.852.",
        f"In-sample: the signals were set with these repositories in view. Commit `{peers['commit']}`.",
        "",
        "| tokens of a context | 500 | 2 000 | 8 000 |",
        "|---|---|---|---|",
    ]
    for title, table in budget["tables"].items():
        mean = table[-1]
        shares = " | ".join(f"{mean[f'{tokens} tokens']:.3f}" for tokens in (500, 2000, 8000))
        rows.append(f"| share of target files, counted by the {title.rpartition('by the ')[2]} | {shares} |")
    rows += ["", "| map of a repository | target files | asked names |", "|---|---|---|"]
    for row in maps["tables"]["mean over repositories"]:
        rows.append(
            f"| {row['map']}, {row['budget']:,} tokens | {row['target files']:.2f} | {row['asked names']:.2f} |"
        )
    return [*rows, "", *large_rows(), *mixed_rows()]


def model_rows() -> list[str]:
    """The models that ship beside the one before and a well-known transformer, on every set."""
    result = latest("models")
    if result is None:
        return []
    table = result["tables"]["NDCG@10"]
    sets = [name for name in table[0] if name not in ("search", "model")]
    rows = [
        "The models, in one run (NDCG@10; chroma: recall; `dense` is meaning alone without any ranking signal):",
        "",
        f"| search | model | {' | '.join(name.removeprefix('hippo_').partition('_')[0] for name in sets)} |",
        "|---" * (len(sets) + 2) + "|",
    ]
    for row in table:
        cells = ["–" if row.get(name) is None else f"{row[name]:.3f}" for name in sets]
        rows.append(f"| {row['search']} | {row['model'] or ''} | {' | '.join(cells)} |")
    note = f"Commit `{result['commit']}`; how they were made: [training/README.md](training/README.md)."
    return [*rows, "", note, ""]


def large_rows() -> list[str]:
    result = latest("code-large")
    if result is None:
        return []
    lines, cpu = figure(result, "lines"), figure(result, "full index, CPU for a million")
    second, edit = figure(result, "second run"), figure(result, "an edit searchable")
    return [
        f"{result['parameters']['tree']}, {lines / 1e6:.1f} million lines: {cpu:.0f} CPU seconds for a million lines, "
        f"a second run without changes {second:.2f} s, an edited file searchable after {edit:.2f} s.",
        "",
    ]


def mixed_rows() -> list[str]:
    result = latest("code-mixed")
    if result is None:
        return []
    mean = next(iter(result["tables"].values()))[-1]
    return [
        "Code and documentation in one index (nine whole repositories): NDCG@10 "
        f"{mean['questions about code, ndcg@10']:.3f} for questions about code; a user's question has a document among "
        f"its first three hits in {mean['document in three']:.0%}.",
        "",
    ]


def crash_rows() -> list[str]:
    """Killed processes, broken disks, and many operations beside a model."""
    result, faults, model = latest("crash"), latest("faults"), latest("model_check-sqlite")
    if result is None or faults is None or model is None:
        return []
    rounds, lost = figure(result, "rounds killed"), figure(result, "divergences")
    verified = figure(result, "documents verified")
    lines = result["tables"].get("what was killed", ())
    killed = ", ".join(dict.fromkeys(line["what"] for line in lines)) or "ingest"
    return [
        f"{rounds:,.0f} rounds of `kill -9` during {killed}, {verified:,.0f} documents verified:"
        f" {lost:.0f} divergences. {figure(faults, 'faults injected'):,.0f} times a disk that is full, broken or"
        f" read-only: {figure(faults, 'wrong'):.0f} times something lost or unclear."
        f" {figure(model, 'operations'):,.0f} random operations beside a model in memory:"
        f" {figure(model, 'divergences'):.0f} divergences.",
        "",
    ]


def serve_rows() -> list[str]:
    """Many clients, the page, and a server killed while agents write."""
    load, page, killed = latest("serve_load"), latest("page-speed-20000"), latest("notes_crash")
    if load is None or page is None or killed is None:
        return []
    given = load["parameters"]
    return [
        f"Served, {given['chunks']:,} chunks: {given['clients']} clients that think for {given['think']:.0f} s between "
        f"an answer and the next question, `--workers {given['workers']}` on two cores: p50 {figure(load, 'p50'):.0f} "
        f"ms, p99 {figure(load, 'p99'):.0f} ms, {figure(load, 'errors'):.0f} errors. In the browser, from a key to "
        f"painted results: p95 {figure(page, 'steady: key to painted results, p95'):.0f} ms. "
        f"{figure(killed, 'rounds killed'):.0f} times `kill -9` of a server amid notes being written, "
        f"{figure(killed, 'writes acknowledged'):,.0f} acknowledged: {figure(killed, 'divergences'):.0f} lost.",
        "",
    ]


def footprint_rows() -> list[str]:
    """What a new installation costs."""
    result = latest("footprint")
    if result is None:
        return []
    heaviest = max(result["tables"]["by package"], key=lambda row: float(row["files_mb"]))
    name = heaviest["package"].split()[0]
    return [
        f"Installed, without extras: {figure(result, 'files of'):.0f} MB in {figure(result, 'packages'):.0f} packages "
        f"({name} is {heaviest['files_mb']:.0f} of them), and {figure(result, 'bytecode'):.0f} MB of bytecode if pip "
        f"does it, in {figure(result, 'installation'):.0f} s with all downloads. Then a first folder is indexed in "
        f"{figure(result, 'first `outcrop add`'):.1f} s and a first question answered in "
        f"{figure(result, 'first `outcrop search`'):.1f} s. Commit `{result['commit']}`.",
        "",
    ]


def first_rows() -> list[str]:
    """A newcomer's way through README, command by command."""
    result = latest("first-ten-minutes")
    if result is None:
        return []
    rows = ["| step | command of README | CPU (s) | lines of output |", "|---|---|---|---|"]
    for row in result["tables"]["commands"]:
        command = row["command"] if row["command"].startswith("(") else f"`{row['command']}`"
        rows.append(f"| {row['step']} | {command} | {row['CPU s']:.1f} | {row['lines']} |")
    total, clock = figure(result, "all steps, CPU"), figure(result, "all steps, by the clock")
    note = f"All of it: {total:.0f} s of CPU, {clock:.0f} s by the clock. Commit `{result['commit']}`."
    return [*rows, "", note, ""]


def beside_rows() -> list[str]:
    """What people use instead, with what each does better than Outcrop, measured in one run."""
    result = latest("compare")
    if result is None:
        return []

    def take(table: str, engine: str, name: str) -> float:
        return next(float(row[name]) for row in result["tables"][table] if row["engine"] == engine)

    quality, speed = "quality, repositories", "speed, repositories, one index, from files"
    size = {name: take("installation and first answer", name, "installed MB") for name in ("outcrop", "semble")}
    ingest = {name: take(speed, name, "ingest CPU s") for name in ("outcrop", "semble")}
    query = {name: take(speed, name, "query CPU p50 ms") for name in ("outcrop", "qmd")}
    behind = {name: -take(quality, name, "difference") for name in ("semble", "chromadb", "llamaindex")}
    maps = {row["map"]: row["target files"] for row in result["tables"]["maps of repositories"][::-1]}
    return [
        "| instead | what it does better | what Outcrop does better |",
        "|---|---|---|",
        "| ripgrep | exact strings and patterns; no index, so never out of date | questions in your own words; ranked "
        "answers; PDF and Office files |",
        f"| semble | {size['semble']:.0f} MB installed, not {size['outcrop']:.0f}; indexes code with "
        f"{ingest['semble'] / ingest['outcrop']:.0%} of the CPU time | NDCG@10 on code higher by "
        f"{behind['semble']:.3f} (semble ran with a stand-in for its model); documents; an index on disk |",
        f"| qmd | {query['qmd']:.1f} ms of CPU a keyword query, not {query['outcrop']:.1f}; a local LLM rewrites your "
        "query | no models to download; code; token budgets |",
        "| Chroma, LlamaIndex | your own vectors, embeddings of images, a hosted service | files in, lines "
        f"out; NDCG@10 on code higher by {behind['chromadb']:.3f} and {behind['llamaindex']:.3f} with the same "
        "model |",
        f"| aider's map | edits code too; no index | a map of 1,000 tokens names {maps['outcrop']:.0%} of the files "
        f"that a question needs, not {maps['aider']:.0%} |",
    ]


def measured_rows() -> list[str]:
    """The few figures of the front page, weak ones included."""
    small, large, scale = latest("speed-20000"), latest("speed-200000"), latest("scale-1000000")
    quality, code, compare = latest("quality"), latest("code"), latest("compare")
    crash, installed = latest("crash"), latest("footprint")
    if not (small and large and scale and quality and code and compare and crash and installed):
        return []
    pace = [
        f"{figure(one, 'search, CPU p50'):.1f} / {figure(one, 'search, CPU p95'):.1f}" for one in (small, large)
    ]
    slow = f"{figure(scale, 'search, CPU p50'):.0f} / {figure(scale, 'search, CPU p95'):.0f}"
    rates = sorted(figure(one, "ingest, chunks per CPU second") for one in (small, large, scale))
    sets = [{row.get("search"): row for row in rows} for rows in quality["tables"].values()]
    prose = [runs for runs in sets if "ndcg@10" in runs.get("hybrid", {})]
    means = [sum(runs[name]["ndcg@10"] for runs in prose) / len(prose) for name in ("hybrid", "keyword")]
    ours, *others = compare["tables"]["quality, own files"]
    best = max(others, key=lambda row: float(row["ndcg@10"]))
    rows = {
        "a warm search, CPU p50 / p95": f"{pace[0]} ms in 20 000 chunks, {pace[1]} in 200 000, {slow} in a million",
        "indexing": f"{rates[0]:,.0f} to {rates[-1]:,.0f} chunks a CPU second",
        "questions about code, NDCG@10 on 21 repositories": f"{figure(code, 'NDCG@10'):.3f}",
        f"questions about prose, mean of {len(prose)} labelled sets": f"{means[0]:.3f}; by words alone {means[1]:.3f}",
        "code and documentation of this project in one index": f"{ours['ndcg@10']:.3f}; the best of {len(others)} "
        f"other tools {best['ndcg@10']:.3f}",
        f"killed {figure(crash, 'rounds killed'):,.0f} times while writing": f"{figure(crash, 'divergences'):.0f} of "
        f"{figure(crash, 'documents verified'):,.0f} documents lost or wrong",
        "installed, without extras": f"{figure(installed, 'files of'):.0f} MB, in "
        f"{figure(installed, 'installation'):.0f} s with all downloads",
    }
    return [
        "| measured, on one core | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows.items()),
    ]


PARTS = {"beside": beside_rows, "measured": measured_rows}


def render(readme: str) -> str:
    """README with its figures as the latest results have them."""

    def make(match: re.Match[str]) -> str:
        rows = "\n".join(PARTS[match.group(2)]())
        return f"{match.group(1)}{rows}\n{match.group(3)}"

    return SECTION.sub(make, readme)


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(render(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
