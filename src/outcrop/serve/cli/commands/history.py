"""history, impact: what is asked of a repository's past, and of a change to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outcrop.errors import SourceError
from outcrop.serve.cli.options import command, option, search_option
from outcrop.serve.cli.progress import long_work
from outcrop.serve.cli.render_history import print_commits, print_impact, print_line_history
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import say_count

if TYPE_CHECKING:
    from outcrop.engine import Engine

STDIN = "-"
MAX_DIFF_BYTES = 64 * 1024 * 1024

_repo = option(
    "--repo",
    "repository",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    metavar="DIR",
    help="The repository. Default: the one you are in.",
)


@command(
    "history",
    "outcrop history why was the retry limit raised",
    "outcrop history src/pool.py:42-60",
    "outcrop history --path src/pool.py --since 2026-01-01 timeout",
)
@click.argument("asked", nargs=-1, required=True, metavar="QUERY...|FILE:LINE")
@_repo
@search_option("limit")
@search_option("paths")
@search_option("since")
@search_option("until")
def history_command(session: Session, /, asked: tuple[str, ...], repository: str, **given: Any) -> int:
    """Find commits that answer a question, or that wrote some lines.

    A QUERY searches the commits of the repository: messages, files and hunks. In a repository you added they are read
    on first use and brought up to date on every later one. FILE:LINE and FILE:FIRST-LAST list the commits that wrote
    these lines, latest first, by following hunks. Exits with 1 when there is nothing to show.
    """
    from outcrop.engine.history import is_place, read_line_history

    if len(asked) == 1 and is_place(asked[0]):
        found = read_line_history(asked[0], repository)
        session.show(found, print_line_history)
        return 0 if found.changes or found.uncommitted else 1
    options = {name: value for name, value in given.items() if value not in (None, ())}
    with session.open_existing() as index:
        known = _bring_up_to_date(session, index, repository)
        answer = index.history(" ".join(asked), repository=repository if known else None, **options)
    session.show(answer, print_commits)
    return 0 if answer.hits else 1


def _bring_up_to_date(session: Session, index: Engine, repository: str) -> bool:
    """Read new commits of a repository whose files or history were added; whether it is one."""
    from outcrop.engine.history import find_top

    try:
        top = find_top(repository)
    except SourceError:
        return False
    added = (Path(root) for root in index.roots())
    if str(top) not in index.histories() and not any(root.is_relative_to(top) for root in added):
        return False
    with long_work(session) as told:
        report = index.add_history(top, **told)
    for failure in report.failed:
        session.err.line(f"{failure.path}: {failure.reason}", style="yellow")
    if report.added and not session.as_json:
        session.err.line(f"{say_count(report.added, 'commit')} read", style="dim")
    return True


@command(
    "impact",
    "outcrop impact",
    "outcrop impact origin/main...HEAD --json",
    "git diff | outcrop impact --diff -",
)
@click.argument("change", required=False, metavar="[CHANGE]")
@option(
    "--diff",
    metavar="FILE|A..B|A...B|REF|-",
    help="The same as CHANGE.",
)
@_repo
@option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum of each kind."
)
def impact_command(session: Session, change: str | None, diff: str | None, repository: str, limit: int) -> int:
    """Show what depends on a change: callers, tests and documents.

    They are listed for each declaration the change touches, with the line that proves it. CHANGE is two revisions
    (A..B, A...B), one revision against the folder, or a unified diff: a file, or - for standard input. Without it the
    change is whatever differs from the last commit. For scripts and CI: exits with 0 when nothing depends on it, with 1
    when something does.
    """
    if change is not None and diff is not None:
        raise click.UsageError("name the change once: as CHANGE or with --diff")
    diff = change or diff or "HEAD"
    patch = _read_diff(diff)
    with session.open_existing() as index:
        found = index.impact(diff, diff=patch, folder=repository, limit=limit)
    session.show(found, print_impact)
    return 1 if any(item.dependents for item in found.affected) else 0


def _read_diff(diff: str) -> str | None:
    """The text of a diff; None where revisions are named."""
    if diff == STDIN:
        return sys.stdin.buffer.read(MAX_DIFF_BYTES).decode("utf-8", "surrogateescape")
    file = Path(diff)
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        return stream.read(MAX_DIFF_BYTES).decode("utf-8", "surrogateescape")
