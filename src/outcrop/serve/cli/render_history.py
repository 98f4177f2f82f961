"""Commits, the history of lines and the impact of a change, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from outcrop.serve.cli.render_code import path_from_here
from outcrop.serve.terminal import clean_line, crop, say_count

if TYPE_CHECKING:
    from outcrop import records
    from outcrop.serve.cli.session import Screen

SHORT: Final = 12
SHOWN_LINES: Final = 4
"""Lines of a commit that are shown: the ones that match, else the first."""
COLUMNS: Final = 160
_LABELS: Final = {"caller": "used by", "test": "tested by", "doc": "written about in", "callee": "uses"}


def print_commits(out: Screen, answer: records.Answer) -> None:
    """Each commit once, with the lines of its best passages."""
    by_commit: dict[int, list[records.Hit]] = {}
    for hit in answer.hits:
        by_commit.setdefault(hit.document.id, []).append(hit)
    for number, hits in enumerate(by_commit.values(), 1):
        info = hits[0].document
        about = f"  {str(info.meta.get('date', ''))[:10]}  {clean_line(str(info.meta.get('author', '')))}"
        score = (f"  {hits[0].score:.2f}", "bold yellow")
        out.line((f"{number}. ", "bold"), (clean_line(info.path), "bold cyan"), (about, "dim"), score)
        out.line("   ", (clean_line(info.title), "green"))
        for hit in hits:
            for line in _best_lines(hit):
                out.line(f"     {crop(clean_line(line), COLUMNS)}")
    if answer.detail:
        out.line(clean_line(answer.detail), style="yellow")
    out.line(say_count(len(by_commit), "commit"), style="dim")


def _best_lines(hit: records.Hit) -> Iterator[str]:
    """The file of a passage, then the lines that hold a matching word."""
    if hit.heading_path:
        yield hit.heading_path[-1]
    lines = [line for line in hit.text.splitlines() if line.strip() and line not in hit.heading_path]
    lines = [line for line in lines if line != hit.document.title and not line.startswith("@@")]
    words = [term.lower() for term in hit.why.matched_terms]
    matching = [line for line in lines if any(word in line.lower() for word in words)]
    yield from (matching or lines)[:SHOWN_LINES]


def print_line_history(out: Screen, found: records.LineHistory) -> None:
    """A line for each commit: which of the lines it made, or that a later one changed them."""
    for first, last in found.uncommitted:
        out.line((f"{_place(first, last):>12}  ", "cyan"), ("not committed yet", "yellow"))
    for change in found.changes:
        made = ", ".join(_place(*run) for run in change.made) or "·"
        commit = change.commit
        elsewhere = "" if change.path == found.path else f"  as {clean_line(change.path)}"
        out.line(
            (f"{made:>12}  ", "cyan"),
            (commit.name[:SHORT], "bold"),
            (f"  {commit.date[:10]}  {clean_line(commit.author)}  ", "dim"),
            (clean_line(commit.subject), "green"),
            (elsewhere, "dim"),
        )
    if found.detail:
        out.line(clean_line(found.detail), style="yellow")


def _place(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def print_impact(out: Screen, found: records.Impact) -> None:
    """Each changed declaration with what depends on it; those that nothing depends on in one line at the end."""
    alone = [item.declaration for item in found.affected if not item.dependents]
    for item in found.affected:
        if not item.dependents:
            continue
        changed = item.declaration
        out.line(
            (f"{clean_line(changed.path)}:{changed.line}", "bold cyan"),
            (f"  {clean_line(changed.name)}", "bold green"),
            (f"  {changed.kind}, {changed.change}", "dim"),
        )
        for dependent in item.dependents:
            _print_dependent(out, dependent)
    if alone:
        names = ", ".join(_first(clean_line(item.name) for item in alone))
        out.line(f"nothing depends on {names}", style="dim")
    for remark in _first(found.remarks):
        out.line(clean_line(remark), style="yellow")
    count = sum(len(item.dependents) for item in found.affected)
    said = f"{say_count(len(found.files), 'file')}, {say_count(len(found.affected), 'declaration')} changed"
    out.line(f"{said}; {say_count(count, 'dependent')}", style="dim")


def _print_dependent(out: Screen, dependent: records.Dependent) -> None:
    place = f"{clean_line(path_from_here(dependent.document))}:{dependent.line}"
    name = f"  {clean_line(dependent.name)}" if dependent.name else ""
    via = f"  through {clean_line(dependent.via)}" if dependent.via else ""
    label = f"  {_LABELS[dependent.relation]} "
    out.line((label, "dim"), (place, "cyan"), (name, "green"), (via, "dim"))
    out.line(f"      {crop(clean_line(dependent.evidence), COLUMNS)}")


def _first(items: Iterable[str], most: int = 10) -> list[str]:
    found = list(items)
    return [*found[:most], f"{len(found) - most:,} more"] if len(found) > most else found
