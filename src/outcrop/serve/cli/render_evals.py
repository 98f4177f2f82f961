"""Evaluations that were kept, for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.evals.runs import RankChange, RunLine

RUNS_SHOWN: Final = 20
CHANGES_SHOWN: Final = 15
_FIGURES: Final = {"top_1": "top 1", "recall_10": "R@10", "mrr": "MRR", "ndcg_10": "nDCG@10"}


def print_runs(console: Console, runs: Sequence[RunLine], changes: Sequence[RankChange]) -> None:
    """The runs, newest first, each beside the one before it of the same questions; then what the last one moved."""
    if not runs:
        console.print(Text("no runs yet; `outcrop eval FILE` makes one", "dim"))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("when", "questions", "queries"):
        table.add_column(name, justify="right" if name == "queries" else "left", no_wrap=True)
    for name in (*_FIGURES.values(), "change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("model and options")
    for at, run in enumerate(runs[:RUNS_SHOWN]):
        if run.problem:
            table.add_row(run.id, *[""] * (len(_FIGURES) + 3), Text(clean_line(run.problem), "red"))
            continue
        earlier = next((one for one in runs[at + 1 :] if not one.problem and one.name == run.name), None)
        told = ", ".join(f"{key} {value}" for key, value in (run.options or {}).items() if key != "limit")
        table.add_row(
            time.strftime("%Y-%m-%d %H:%M", time.localtime(run.time)),
            clean_line(run.name),
            f"{run.queries:,}",
            *(f"{(run.metrics or {}).get(key, 0.0):.3f}" for key in _FIGURES),
            _change(run, earlier),
            Text(clean_line(f"{run.model}{'; ' if told else ''}{told}"), "dim"),
        )
    console.print(table)
    for change in changes[:CHANGES_SHOWN]:
        better = (change.after or 10**9) < (change.before or 10**9)
        ranks = f"{change.before or 'none'} → {change.after or 'none'}"
        console.print(
            Text.assemble((ranks, "green" if better else "red"), f"  {clean_line(change.query)}"),
            soft_wrap=True,
        )
    if len(changes) > CHANGES_SHOWN:
        console.print(
            Text(f"and {len(changes) - CHANGES_SHOWN} more queries changed, which --json shows", "dim")
        )


def _change(run: RunLine, earlier: RunLine | None) -> Text:
    """By how much nDCG@10 moved against the run before."""
    if earlier is None:
        return Text("")
    moved = (run.metrics or {}).get("ndcg_10", 0.0) - (earlier.metrics or {}).get("ndcg_10", 0.0)
    return Text(f"{moved:+.3f}", "green" if moved > 0 else "red" if moved < 0 else "dim")
