"""What was done, for people: by an add, a sync or a change, by a move, and by evaluations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from outcrop.serve.cli.render import say_moment
from outcrop.serve.terminal import clean_line, crop, say_count

if TYPE_CHECKING:
    from rich.table import Table

    from outcrop.evals.run import EvalReport, EvalRow
    from outcrop.evals.runs import RankChange, RunLine
    from outcrop.records import Failure, Holdings, IngestReport, MoveReport, Skipped
    from outcrop.serve.cli.session import Screen, Session

LISTED: Final = 10
"""Failures named one by one; more are counted by reason, so that the first screen tells the whole story."""
GROUPS: Final = 6
"""Reasons named when files are counted by reason."""
QUERIES_SHOWN: Final = 10
DIGITS: Final = 12
"""Digits of a digest that are shown; --json has them all."""
RUNS_SHOWN: Final = 20
MANY: Final = 100
"""Files of which a rate says something."""
NAME_CHARS: Final = 18
"""Of the name of a file with questions: what is left of 80 columns."""
CHANGES_SHOWN: Final = 15
FAILED_SHOWN: Final = 10
_COUNTS: Final = {"added": "green", "changed": "yellow", "moved": "cyan", "removed": "magenta", "unchanged": ""}
_FIGURES: Final = {"top_1": "top 1", "recall_10": "R@10", "mrr": "MRR", "ndcg_10": "nDCG@10"}


def print_report(out: Screen, report: IngestReport, *, everything: bool) -> None:
    """Counts, then what was left out and what failed, with the reasons."""
    out.line(*_summary(report))
    if report.masked:
        out.line(f"{say_count(report.masked, 'secret')} masked in the text", style="dim")
    hidden = 0
    sections: tuple[tuple[Sequence[Skipped | Failure], str, str, str, int], ...] = (
        (report.skipped, "skipped", "dim", "dim", 0),
        (report.failed, "failed", "bold red", "red", LISTED),
        (report.remarks, "indexed in spite of damage or doubt", "yellow", "yellow", LISTED),
    )
    for items, words, head, style, listed in sections:
        if items:
            out.line(f"{len(items):,} {words}", style=head)
            _print_lines(out, items, style, listed=listed, everything=everything)
        hidden += max(0, len(items) - listed)
    if hidden and not everything:
        out.line("-v lists every file", style="dim")


def _summary(report: IngestReport) -> list[tuple[str, str]]:
    """`95 added, 2 changed · 1,311 chunks in 1.2 s`."""
    parts: list[tuple[str, str]] = []
    for name, style in _COUNTS.items():
        if count := getattr(report, name):
            parts += [(", " if parts else "", ""), (f"{count:,} {name}", style)]
    written = report.added + report.changed + report.moved
    if written:
        rate = f" ({written / report.seconds:,.0f} files/s)" if report.seconds >= 1 and written >= MANY else ""
        parts.append((f" · {say_count(report.chunks, 'chunk')} in {report.seconds:.1f} s{rate}", "dim"))
    return parts or [("nothing to index", "")]


def print_change(out: Screen, report: IngestReport, names: Sequence[str], at: str) -> None:
    """One line for a change that was noticed while watching; a line more for each failure."""
    masked = f" · {say_count(report.masked, 'secret')} masked" if report.masked else ""
    named = "  " + ", ".join(clean_line(name) for name in names) if names else ""
    more = report.added + report.changed + report.moved - len(names)
    if names and more > 0:
        named += f" and {more} more"
    out.line((f"{at}  ", "dim"), *_summary(report), (masked, "dim"), named)
    for failure in report.failed:
        reason = f"{clean_line(failure.path)}: {clean_line(failure.reason)}"
        out.line(f"{at}  failed: {reason}", style="red")


def _print_lines(
    out: Screen, items: Sequence[Skipped | Failure], style: str, *, listed: int, everything: bool
) -> None:
    if everything or len(items) <= listed:
        for item in items:
            out.line("  ", clean_line(item.path), (f": {clean_line(item.reason)}", style))
        return
    reasons = Counter(item.reason for item in items).most_common()
    for reason, count in reasons[:GROUPS]:
        example = next(item.path for item in items if item.reason == reason)
        like = "" if count > 1 else f" ({clean_line(example)})"
        out.line(f"  {count:,} × {clean_line(reason)}{like}", style=style)
    rest = sum(count for _, count in reasons[GROUPS:])
    if rest:
        out.line(f"  {rest:,} × other reasons", style=style)


def print_move(out: Screen, report: MoveReport, source: str, target: str) -> None:
    """A table of what both hold, what was done, what differs, and what to do next."""
    if report.collections:
        out.console.print(_compare(report))
    done = f"{say_count(report.copied, 'document')} copied" + (
        f", {report.removed:,} removed" if report.removed else ""
    )
    went_on = ", going on from an earlier run" if report.resumed else ""
    out.line(done + went_on, (f" in {report.seconds:.1f} s", "dim"))
    if report.pending:
        out.line(f"without vectors in the copy so far: {say_count(report.pending, 'document')}")
    _print_parity(out, report)
    if report.unranked:
        out.line(clean_line(f"whether both rank alike could not be told: {report.unranked}"), style="red")
    for problem in report.problems:
        out.line(clean_line(problem), style="red")
    out.line(clean_line(_what_next(report, source, target)))


def _compare(report: MoveReport) -> Table:
    from rich.text import Text

    numbers = dict.fromkeys(("documents", "chunks", "vectors"), "right")
    table = _make_table({"collection": "wrap", **numbers, "digest": "left", "the same": "wrap"})
    for row in report.collections:
        same = row.source == row.target
        mark = Text("✓", "green") if same else Text(f"✗ the copy: {_told(row.target)}", "bold red")
        counts = (f"{count:,}" for count in (row.source.documents, row.source.chunks, row.source.vectors))
        table.add_row(clean_line(row.name), *counts, row.source.digest[:DIGITS], mark)
    return table


def _make_table(columns: Mapping[str, str]) -> Table:
    """A table without lines. Numbers stand at the `right`, other columns at the `left` or may `wrap`."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, kind in columns.items():
        table.add_column(name, justify="right" if kind == "right" else "left", no_wrap=kind != "wrap")
    return table


def _told(held: Holdings) -> str:
    counts = {"document": held.documents, "chunk": held.chunks, "vector": held.vectors}
    return ", ".join([*(say_count(count, noun) for noun, count in counts.items()), held.digest[:DIGITS]])


def _print_parity(out: Screen, report: MoveReport) -> None:
    from outcrop.records import MIN_OVERLAP

    parity = report.parity
    if parity is None or not parity.queries:
        return
    line = f"{say_count(parity.queries, 'query')} asked of both: {parity.overlap:.1%} of the ten best hits are the same"
    if report.alike:
        out.line(line)
        return
    out.line(f"{line}, {MIN_OVERLAP:.0%} is expected", style="red")
    worst = sorted(parity.different, key=lambda one: one[1])
    for query, overlap in worst[:QUERIES_SHOWN]:
        out.line(f"  {overlap:.0%}  {clean_line(query)}", style="red")
    if len(worst) > QUERIES_SHOWN:
        out.line(f"  and {len(worst) - QUERIES_SHOWN} more, which --json shows", style="dim")


def _what_next(report: MoveReport, source: str, target: str) -> str:
    if report.changed_meanwhile:
        return f"{source} has changes that are not in the copy: stop what writes to it, and run this again to catch up."
    if report.problems:
        return f"{source} was left as it is. The copy cannot be relied on: delete {target} and move again."
    return (
        f"{source} was left as it is: nothing in it was changed or deleted. The copy is used with --db {target}"
    )


def print_evaluation(session: Session, report: EvalReport) -> None:
    """The queries that failed, or all of them, then the figures; on standard error what could not be found at all."""
    out = session.out
    failed = [row for row in report.rows if row.rank is None]
    shown = report.rows if session.verbose else failed[:FAILED_SHOWN]
    for row in sorted(shown, key=lambda row: -(row.rank or report.limit + 1)):
        _print_row(out, row)
    if len(failed) > FAILED_SHOWN and not session.verbose:
        more = len(failed) - FAILED_SHOWN
        out.line(f"and {more} more without a right document; -v shows every query", style="dim")
    figures = {"top_1": "top 1", "recall_3": "R@3", "recall_5": "R@5", **_FIGURES, "similarity": "similarity"}
    table = _make_table(dict.fromkeys(("queries", *figures.values()), "right"))
    table.add_row(f"{len(report.rows):,}", *(f"{getattr(report, name):.3f}" for name in figures))
    out.console.print(table)
    out.line(
        f"embed p50 {report.embed_p50_ms:.2f} ms, p95 {report.embed_p95_ms:.2f} ms; "
        f"search p50 {report.search_p50_ms:.2f} ms, p95 {report.search_p95_ms:.2f} ms; {report.model}",
        style="dim",
    )
    if report.missing:
        missing = say_count(len(report.missing), "expected document")
        session.err.line(f"Warning: not in the index: {missing}", style="yellow")
    for name in report.missing:
        session.err.line("  " + clean_line(name), style="yellow")


def _print_row(out: Screen, row: EvalRow) -> None:
    best = f"first: {clean_line(row.found[0].path)}" if row.found else clean_line(row.reason or "no hits")
    out.line(
        ("   –", "red") if row.rank is None else (f"{row.rank:>4}", "green"),
        f"  {clean_line(row.query)}",
        (f"  expected: {', '.join(map(clean_line, row.expected))}", "cyan"),
        (f"  {best}", "dim"),
    )


def print_runs(out: Screen, runs: Sequence[RunLine], changes: Sequence[RankChange]) -> None:
    """The runs, newest first, each beside the one before it of the same questions, in 80 columns; the model and the
    options on a line of their own where they differ from those above; then what the last run moved."""
    if not runs:
        out.line("no runs yet; `outcrop eval FILE` makes one", style="dim")
        return
    width = max(9, *(len(clean_line(run.name)) for run in runs))
    width = min(width, NAME_CHARS) if out.is_terminal else width
    heads = "".join(f"  {name:>5}" for name in _FIGURES.values())
    out.line(f"{'when':<11}  {'questions':<{width}}  queries{heads}  change", style="dim")
    above = ""
    for at, run in enumerate(runs[:RUNS_SHOWN]):
        if run.problem:
            out.line(f"{run.id}  ", (clean_line(run.problem), "red"))
            continue
        earlier = next((one for one in runs[at + 1 :] if not one.problem and one.name == run.name), None)
        figures = "".join(f"  {_figure(run, key):>{max(5, len(head))}.3f}" for key, head in _FIGURES.items())
        out.line(
            f"{_say_day(run.time):<11}  {crop(clean_line(run.name), width):<{width}}  {run.queries:>7,}{figures}  ",
            ("", "") if earlier is None else _moved(_figure(run, "ndcg_10") - _figure(earlier, "ndcg_10")),
        )
        told = ", ".join(f"{key} {value}" for key, value in (run.options or {}).items() if key != "limit")
        with_ = clean_line(f"{run.model}{'; ' if told else ''}{told}")
        if with_ != above:
            out.line(f"  {with_}", style="dim")
            above = with_
    _print_changes(out, changes)


def _print_changes(out: Screen, changes: Sequence[RankChange]) -> None:
    """How the ranks of single queries moved."""
    for change in changes[:CHANGES_SHOWN]:
        better = (change.after or 10**9) < (change.before or 10**9)
        ranks = f"{change.before or 'none'} → {change.after or 'none'}"
        out.line((ranks, "green" if better else "red"), f"  {clean_line(change.query)}")
    if len(changes) > CHANGES_SHOWN:
        more = say_count(len(changes) - CHANGES_SHOWN, "more query")
        out.line(f"and {more} changed, which --json shows", style="dim")


def _say_day(seconds: float) -> str:
    """`11-17 06:50`; of an earlier year the date."""
    moment = say_moment(seconds)
    return moment[5:] if moment[:4] == time.strftime("%Y") else moment[:10]


def _figure(run: RunLine, name: str) -> float:
    return (run.metrics or {}).get(name, 0.0)


def _moved(by: float) -> tuple[str, str]:
    return f"{by:+.3f}", "green" if by > 0 else "red" if by < 0 else "dim"
