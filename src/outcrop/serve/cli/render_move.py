"""What a move did and what the check of it found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from outcrop.records import MIN_OVERLAP
from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.records import Holdings, MoveReport

QUERIES_SHOWN: Final = 10
DIGITS: Final = 12
"""Digits of a digest that are shown; --json has them all."""


def print_move(console: Console, report: MoveReport, source: str, target: str) -> None:
    """A table of what both hold, what was done, what differs, and what to do next."""
    if report.collections:
        console.print(_table(report))
    done = f"{report.copied:,} documents copied" + (f", {report.removed:,} removed" if report.removed else "")
    went_on = ", going on from an earlier run" if report.resumed else ""
    console.print(Text.assemble(done + went_on, (f" in {report.seconds:.1f} s", "dim")))
    if report.waiting:
        console.print(Text(f"{report.waiting:,} documents wait for vectors in the copy"))
    _print_parity(console, report)
    if report.unranked:
        line = f"whether both rank alike could not be told: {report.unranked}"
        console.print(Text(clean_line(line), "red"), soft_wrap=True)
    for problem in report.problems:
        console.print(Text(clean_line(problem), "red"), soft_wrap=True)
    console.print(Text(clean_line(_what_next(report, source, target))), soft_wrap=True)


def _table(report: MoveReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("collection")
    for name in ("documents", "chunks", "vectors"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("digest", no_wrap=True)
    table.add_column("the same")
    for row in report.collections:
        same = row.source == row.target
        mark = Text("✓", "green") if same else Text(f"✗ the copy: {_told(row.target)}", "bold red")
        counts = (f"{count:,}" for count in (row.source.documents, row.source.chunks, row.source.vectors))
        table.add_row(clean_line(row.name), *counts, row.source.digest[:DIGITS], mark)
    return table


def _told(held: Holdings) -> str:
    counts = f"{held.documents:,} documents, {held.chunks:,} chunks, {held.vectors:,} vectors"
    return f"{counts}, {held.digest[:DIGITS]}"


def _print_parity(console: Console, report: MoveReport) -> None:
    parity = report.parity
    if parity is None or not parity.queries:
        return
    line = f"{parity.queries} queries asked of both: {parity.overlap:.1%} of the ten best hits are the same"
    if report.alike:
        console.print(Text(line))
        return
    console.print(Text(f"{line}, {MIN_OVERLAP:.0%} is expected", "red"))
    worst = sorted(parity.different, key=lambda one: one[1])
    for query, overlap in worst[:QUERIES_SHOWN]:
        console.print(Text(f"  {overlap:.0%}  {clean_line(query)}", "red"), soft_wrap=True)
    if len(worst) > QUERIES_SHOWN:
        console.print(Text(f"  and {len(worst) - QUERIES_SHOWN} more, which --json shows", "dim"))


def _what_next(report: MoveReport, source: str, target: str) -> str:
    if report.changed_meanwhile:
        return f"{source} has changes that are not in the copy: stop what writes to it, and run this again to catch up."
    if report.problems:
        return f"{source} was left as it is. The copy cannot be relied on: delete {target} and move again."
    return (
        f"{source} was left as it is: nothing in it was changed or deleted. The copy is used with --db {target}"
    )
