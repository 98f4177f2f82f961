"""What an add, a sync or a change did, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.records import Failure, IngestReport, Skipped

LISTED: Final = 10
"""Failures named one by one; more are counted by reason, so that the first screen tells the whole story."""
GROUPS: Final = 6
"""Reasons named when files are counted by reason."""

_COUNTS: Final = (
    ("added", "green"),
    ("changed", "yellow"),
    ("moved", "cyan"),
    ("removed", "magenta"),
    ("unchanged", ""),
)


def print_report(console: Console, report: IngestReport, *, everything: bool) -> None:
    """Counts, then what was left out and what failed, with the reasons."""
    console.print(summary(report))
    if report.masked:
        console.print(Text(f"{_masked(report)} in the text", "dim"))
    if report.skipped:
        console.print(Text(f"{len(report.skipped):,} skipped", "dim"))
        _print_lines(console, report.skipped, "dim", listed=0, everything=everything)
    if report.failed:
        console.print(Text(f"{len(report.failed):,} failed", "bold red"))
        _print_lines(console, report.failed, "red", listed=LISTED, everything=everything)
    if report.remarks:
        console.print(Text(f"{len(report.remarks):,} indexed in spite of damage or doubt", "yellow"))
        _print_lines(console, report.remarks, "yellow", listed=LISTED, everything=everything)
    hidden = len(report.skipped) + sum(max(0, len(each) - LISTED) for each in (report.failed, report.remarks))
    if hidden and not everything:
        console.print(Text("-v lists every file", "dim"))


def summary(report: IngestReport) -> Text:
    """`95 added, 2 changed · 1,311 chunks in 1.2 s`."""
    counts = [(name, style, getattr(report, name)) for name, style in _COUNTS]
    text = Text(", ").join(Text(f"{count:,} {name}", style) for name, style, count in counts if count)
    if not text:
        text = Text("nothing to index")
    written = report.added + report.changed + report.moved
    if written:
        noun = "chunk" if report.chunks == 1 else "chunks"
        text.append(f" · {report.chunks:,} {noun} in {report.seconds:.1f} s", "dim")
        if report.seconds >= 1:
            text.append(f" ({written / report.seconds:,.0f} files/s)", "dim")
    return text


def print_change(console: Console, report: IngestReport, names: Sequence[str], at: str) -> None:
    """One line for a change that was noticed while watching; a line more for each failure."""
    line = Text(f"{at}  ", "dim") + summary(report)
    if report.masked:
        line.append(f" · {_masked(report)}", "dim")
    if names:
        more = report.added + report.changed + report.moved - len(names)
        line.append(
            "  " + ", ".join(clean_line(name) for name in names) + (f" and {more} more" if more > 0 else "")
        )
    console.print(line, soft_wrap=True)
    for failure in report.failed:
        reason = f"{clean_line(failure.path)}: {clean_line(failure.reason)}"
        console.print(Text(f"{at}  failed: {reason}", "red"), soft_wrap=True)


def _masked(report: IngestReport) -> str:
    return f"{report.masked:,} {'secret' if report.masked == 1 else 'secrets'} masked"


def _print_lines(
    console: Console, items: Sequence[Skipped | Failure], style: str, *, listed: int, everything: bool
) -> None:
    if everything or len(items) <= listed:
        for item in items:
            console.print(
                Text.assemble("  ", clean_line(item.path), (f": {clean_line(item.reason)}", style)),
                soft_wrap=True,
            )
        return
    reasons = Counter(item.reason for item in items).most_common()
    for reason, count in reasons[:GROUPS]:
        example = next(item.path for item in items if item.reason == reason)
        like = "" if count > 1 else f" ({clean_line(example)})"
        console.print(Text(f"  {count:,} × {clean_line(reason)}{like}", style), soft_wrap=True)
    rest = sum(count for _, count in reasons[GROUPS:])
    if rest:
        console.print(Text(f"  {rest:,} × other reasons", style))
