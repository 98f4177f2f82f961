"""Write the page of the comparison from its newest result: `python -m benchmarks.compare.page`.

Tables and lists stand in `docs/explanation/compare.md` between marks, plots beside it as SVG.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.compare.judge import Measure, judge, measures_of, sentence
from benchmarks.compare.plots import Panel, draw
from benchmarks.readme import ROOT, latest

PAGE: Final = ROOT / "docs" / "explanation" / "compare.md"
PLOTS: Final = ROOT / "docs" / "explanation" / "compare"
_PART: Final = re.compile(r"(<!-- compare: (.+?) -->\n).*?(<!-- /compare -->)", re.DOTALL)
AGENTS_TABLE: Final = "agents, until the lines have been seen"
Result = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def number(value: Any, form: str = "{:.3f}") -> str:
    """A value, or a dash where there is none."""
    return "–" if value is None else form.format(value)


def amount(value: Any) -> str:
    """A time or size with three digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def tables_of(result: Result, start: str) -> dict[str, Rows]:
    """The tables whose title starts so, by the rest of their title."""
    return {
        title.removeprefix(start): rows
        for title, rows in result["tables"].items()
        if title.startswith(start) and rows
    }


# ------------------------------------------------------------------ parts of the page


def run_part(result: Result) -> str:
    """What ran where."""
    machine, load = result["machine"], ", ".join(map(str, result["machine"]["load"]))
    system = machine["system"].partition("-with")[0]
    resumed = result["parameters"].get("resumed")
    taken = f"It took over what an earlier run had done, at commit `{resumed.split()[0]}`. " if resumed else ""
    return (
        f"Measured on {result['date'][:10]} at commit `{result['commit']}` on {machine['cores']} cores "
        f"({machine['cpu']}), {system}, Python {machine['python']}, in {result['seconds'] / 60:.0f} minutes. "
        f"{taken}Others used the machine too (load {load} at the end): CPU time and ratios are what to read."
    )


def peers_part(result: Result) -> str:
    """Everybody with pins, how they are used, and what went wrong."""
    rows = [
        (
            row["peer"],
            row["packages"],
            row["what"] + (f". **Failed:** {row['problems']}" if row["problems"] else ""),
        )
        for row in result["tables"]["peers"]
    ]
    return table(("tool", "version", "used as"), [tuple(map(_cell, row)) for row in rows])


def quality_part(result: Result) -> str:
    """A table a group of cases, best first, and a plot of both kinds."""
    parts = []
    for group, rows in tables_of(result, "quality, ").items():
        inner = [
            name
            for name in rows[0]
            if name not in ("engine", "ndcg@10", "recall@10", "difference", "low", "high")
        ]
        made = [
            (
                _ours(row["engine"]),
                number(row["ndcg@10"]),
                number(row["recall@10"]),
                *(number(row.get(name)) for name in inner),
                _difference(row),
            )
            for row in sorted(rows, key=lambda row: -row["ndcg@10"])
        ]
        head = ("", "NDCG@10", "recall@10", *(_short(name) for name in inner), "difference to ours")
        parts.append(f"### {_title(group)}\n\n{table(head, made)}")
        if f"quality-{_slug(group)}.svg" in plots(result):
            parts.append(f"![NDCG@10, {group}](compare/quality-{_slug(group)}.svg)")
    return "\n\n".join(parts)


def speed_part(result: Result) -> str:
    """A table for every index that was timed."""
    parts = []
    for title, rows in tables_of(result, "speed, ").items():
        made = [
            (
                _ours(row["engine"]),
                amount(row["ingest wall s"]),
                amount(row["ingest CPU s"]),
                number(row["ingest × ours"], "{:.2f}"),
                f"{amount(row['query CPU p50 ms'])} / {amount(row['query CPU p95 ms'])}",
                number(row["query × ours"], "{:.2f}"),
                f"{amount(row['query wall p50 ms'])} / {amount(row['query wall p95 ms'])}",
                amount(row["peak memory MB"]),
                amount(row["index MB"]),
            )
            for row in rows
        ]
        head = (
            "",
            "ingest wall (s)",
            "ingest CPU (s)",
            "× ours",
            "query CPU p50 / p95 (ms)",
            "× ours",
            "query wall p50 / p95 (ms)",
            "memory (MB)",
            "index (MB)",
        )
        parts.append(f"### {_title(title)}\n\n{table(head, made)}")
        if f"speed-{_slug(title)}.svg" in plots(result):
            parts.append(f"![Cost, {title}](compare/speed-{_slug(title)}.svg)")
    return "\n\n".join(parts)


def install_part(result: Result) -> str:
    """Size of an installation and the way to a first answer."""
    rows = sorted(result["tables"]["installation and first answer"], key=lambda row: row["installed MB"])
    made = [
        (
            _ours(row["engine"]),
            str(row["packages"]),
            amount(row["installed MB"]),
            f"{amount(row['installation s'])} ({amount(row['installation, CPU s'])})",
            amount(row["first answer s"]),
            amount(row["both s"]),
        )
        for row in rows
    ]
    head = ("", "packages", "installed (MB)", "installation (CPU) (s)", "then first answer (s)", "both (s)")
    return f"{table(head, made)}\n\n![Installation](compare/install.svg)"


def maps_part(result: Result) -> str:
    """What maps show within a budget."""
    rows = result["tables"].get("maps of repositories", [])
    made = [
        (
            _ours(row["map"]),
            f"{row['budget']:,}",
            number(row["target files"], "{:.2f}"),
            number(row["asked names"], "{:.2f}"),
            f"{row['tokens']:,.0f}",
            amount(row["CPU s"]),
        )
        for row in rows
    ]
    head = (
        "",
        "budget (tokens)",
        "target files shown",
        "asked names shown",
        "tokens used",
        "CPU, all first maps (s)",
    )
    return table(head, made) if made else "Not in this run."


def agents_part(result: Result) -> str:
    """What scripted agents read with each tool until they have seen the lines."""
    rows = result["tables"].get(AGENTS_TABLE, [])
    made = [
        (
            _ours(row["agent"]),
            f"{row['answered %']:g}",
            *(
                number(row[f"{what} {where}"], "{:,.0f}")
                for what in ("tokens", "calls")
                for where in ("median", "at 90 %")
            ),
        )
        for row in rows
    ]
    head = ("", "found %", "tokens, median", "tokens, at 90 %", "calls, median", "calls, at 90 %")
    own = "[a run of its own](../how-to/coding-agents.md#how-much-it-saves)"
    return table(head, made) if made else f"Not in this run; {own} is on the page for coding agents."


def cases_part(result: Result) -> str:
    """Which files and how many questions."""
    rows = [
        (
            row["group"],
            row["case"],
            f"{row['files']:,}",
            str(row["questions"])
            if f"quality, {row['group']}" in result["tables"]
            else "not reached in this run",
        )
        for row in result["tables"]["cases"]
    ]
    return table(("group", "case", "files", "questions"), rows)


def losses_part(result: Result) -> str:
    """A sentence for every measure that Outcrop does not lead."""
    return _listed(measure for measure in measures_of(result) if judge(measure) == "loses")


def wins_part(result: Result) -> str:
    """A sentence for every measure that it leads."""
    return _listed(measure for measure in measures_of(result) if judge(measure) == "leads")


def _listed(measures: Any) -> str:
    found: list[Measure] = list(measures)
    return "\n".join(f"- {sentence(measure)}" for measure in found) or "Nowhere in this run."


PARTS: Final[dict[str, Callable[[Result], str]]] = {
    "run": run_part,
    "losses": losses_part,
    "wins": wins_part,
    "peers": peers_part,
    "quality": quality_part,
    "speed": speed_part,
    "install": install_part,
    "maps": maps_part,
    "agents": agents_part,
    "cases": cases_part,
}


# ------------------------------------------------------------------ plots


def plots(result: Result) -> dict[str, str]:
    """File name → SVG."""
    made = {}
    for group, rows in tables_of(result, "quality, ").items():
        points = tuple((row["engine"], row["ndcg@10"]) for row in rows)
        made[f"quality-{_slug(group)}.svg"] = draw(
            f"NDCG@10, {group}", [Panel(f"NDCG@10, {group}", points, "{:.3f}", low_is_good=False)]
        )
    measures = (
        ("ingest CPU s", "ingest, CPU (s)"),
        ("query CPU p50 ms", "query, CPU p50 (ms)"),
        ("peak memory MB", "peak memory (MB)"),
        ("index MB", "index (MB)"),
    )
    for title, rows in tables_of(result, "speed, ").items():
        panels = [_panel(rows, column, f"{said}, logarithmic") for column, said in measures]
        made[f"speed-{_slug(title)}.svg"] = draw(f"Cost, {title}", [panel for panel in panels if panel.rows])
    rows = result["tables"]["installation and first answer"]
    panels = [
        _panel(rows, "installed MB", "installed (MB), logarithmic"),
        _panel(rows, "both s", "from nothing to the first answer (s), logarithmic"),
    ]
    made["install.svg"] = draw("Installation and first answer", panels)
    return made


def _panel(rows: Rows, column: str, title: str) -> Panel:
    points = tuple((row["engine"], row[column]) for row in rows if row[column] is not None)
    return Panel(title, points, "{:,.3g}", low_is_good=True, logarithmic=True)


# ------------------------------------------------------------------ words


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _ours(name: str) -> str:
    return f"**{name}**" if name.partition(",")[0] == "outcrop" else name


def _difference(row: Mapping[str, Any]) -> str:
    if row.get("difference") is None:
        return "–"
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(name: str) -> str:
    return name.replace("_", " ")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def render(page: str, result: Result) -> str:
    """The page with its parts as the result has them."""
    return _PART.sub(lambda match: f"{match.group(1)}{PARTS[match.group(2)](result)}\n{match.group(3)}", page)


def main() -> None:
    """Write page and plots."""
    result = latest("compare")
    if result is None:
        raise SystemExit("there is no result: run `make compare` with DATA, REPOSITORIES and REPOS first")
    PLOTS.mkdir(exist_ok=True)
    for old in PLOTS.glob("*.svg"):
        old.unlink()
    for name, svg in plots(result).items():
        Path(PLOTS / name).write_text(svg, "utf-8")
    PAGE.write_text(render(PAGE.read_text("utf-8"), result), "utf-8")


if __name__ == "__main__":
    main()
