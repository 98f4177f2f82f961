"""eval: how good search is on your own questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outcrop.errors import NotFound, SourceError
from outcrop.records import Filter, SearchOptions
from outcrop.serve.as_json import as_dict
from outcrop.serve.cli.options import collection_option, command, option, read_given, search_option
from outcrop.serve.cli.progress import stop_on_signal
from outcrop.serve.cli.render_reports import print_evaluation, print_runs
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean_line
from outcrop.system.private import write_text

if TYPE_CHECKING:
    from outcrop.evals.run import EvalReport
    from outcrop.evals.runs import RankChange


@command("eval", "outcrop eval questions.jsonl", "outcrop eval questions.jsonl --rerank", "outcrop eval --runs")
@click.argument("file", type=click.Path(exists=True, path_type=Path), required=False)
@option(
    "-n",
    "--limit",
    type=click.IntRange(min=10),
    default=10,
    show_default=True,
    help="Number of ranks to look at, at least 10.",
)
@collection_option("Search only this collection, for cases that name none.")
@search_option("mode")
@search_option("balance")
@search_option("rerank")
@search_option("rerank_seconds")
@option("--runs", is_flag=True, help="List the runs that were kept, of FILE or all, and compare the last two.")
@option("--no-keep", is_flag=True, help="Do not keep this run beside the index.")
@option(
    "--html", "html_path", type=click.Path(path_type=Path, dir_okay=False), help="Write a page to this file."
)
def eval_command(
    session: Session,
    /,
    file: Path | None,
    limit: int,
    collection: str | None,
    runs: bool,
    no_keep: bool,
    html_path: Path | None,
    **given: Any,
) -> None:
    """Measure search quality on your own questions.

    FILE is JSON, JSONL, CSV or TSV: each case has a `query` and the `expected` document or documents, by path, URL or
    id. A benchmark's folder (queries.jsonl, qrels.tsv) works too. Runs are kept beside the index, so that --runs can
    show what a change did. Exits with 3 when no expected document is in the index.
    """
    if runs:
        _show_runs(session, file)
        return
    if file is None:
        raise click.UsageError(
            "Nothing to measure: give a FILE with questions, or --runs for what was measured."
        )
    from outcrop.evals.dataset import load_cases
    from outcrop.evals.run import evaluate
    from outcrop.evals.runs import RUNS_ENDING

    cases = load_cases(file)
    folder = session.config().beside(RUNS_ENDING)
    with session.open_existing() as index, stop_on_signal() as stop:
        where = Filter(collections=() if collection is None else (collection,))
        options = SearchOptions(where=where, floor=index.config.floor, **read_given(given, index))
        report = evaluate(index, cases, limit=limit, options=options, stopped=stop.is_set)
    if all(len(row.missing) == len(row.expected) for row in report.rows):
        raise NotFound(
            f"none of the expected documents is in the index, for example {report.missing[0]!r}; "
            "name them as `outcrop ls` does"
        )
    if not no_keep:
        _keep(folder, report, options, file.name)
    if html_path is not None:
        from outcrop.evals.report import html_report

        try:
            write_text(html_path, html_report(report, f"Search quality: {file.name}"))
        except OSError as error:
            raise SourceError(f"{html_path} cannot be written: {error.strerror}") from error
    if session.as_json:
        session.print_json(as_dict(report, missing=report.missing))
        return
    print_evaluation(session, report)
    if html_path is not None:
        click.echo(f"wrote {clean_line(str(html_path))}", err=True)


def _keep(folder: Path, report: EvalReport, options: SearchOptions, name: str) -> None:
    """Keep the run; where that cannot be, the figures are worth having all the same."""
    from outcrop.evals.runs import as_run, save_run

    try:
        save_run(folder, as_run(report, options, name))
    except SourceError as error:
        click.echo(f"Warning: {clean_line(str(error))}", err=True)


def _show_runs(session: Session, file: Path | None) -> None:
    from outcrop.evals.runs import RUNS_ENDING, compare_runs, list_runs, load_run

    folder = session.config().beside(RUNS_ENDING)
    lines = [line for line in list_runs(folder) if file is None or line.problem or line.name == file.name]
    readable = [line for line in lines if not line.problem]
    same = [line for line in readable if line.name == readable[0].name][:2]
    changes: tuple[RankChange, ...] = ()
    if len(same) == 2:
        changes = compare_runs(load_run(folder, same[1].id), load_run(folder, same[0].id))
    if session.as_json:
        session.print_json({"runs": lines, "changes": changes})
        return
    print_runs(session.out, lines, changes)
