"""eval: how good search is on your own questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outcrop.serve.options import collection_option, common_options, read_rerank, rerank_options
from outcrop.serve.session import Session, pass_session
from outcrop.serve.signals import stop_on_signal
from outcrop.serve.terminal import clean_line

if TYPE_CHECKING:
    from outcrop.evals.run import EvalReport, EvalRow


@click.command("eval")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=10),
    default=10,
    show_default=True,
    help="Ranks to look at; at least 10.",
)
@collection_option("Search only this collection, for cases that name none.")
@click.option(
    "--mode",
    type=click.Choice(("hybrid", "keyword", "semantic")),
    default="hybrid",
    show_default=True,
    help="Words and meaning, or one of them.",
)
@rerank_options
@click.option(
    "--html", "html_path", type=click.Path(path_type=Path, dir_okay=False), help="Write a page to this file."
)
@common_options
@pass_session
def eval_command(
    session: Session,
    file: Path,
    limit: int,
    collection: str | None,
    mode: Any,
    rerank: bool,
    rerank_seconds: float | None,
    html_path: Path | None,
) -> None:
    """Measure search quality on your own questions.

    FILE is JSON, JSONL, CSV or TSV: each case has a `query` and the `expected` document or documents, by path, URL or
    id. A benchmark's folder (queries.jsonl, qrels.tsv) works too. Exits with 3 when no expected document is in the
    index.
    """
    from outcrop.errors import NotFound, SourceError
    from outcrop.evals.dataset import load_cases
    from outcrop.evals.run import evaluate
    from outcrop.records import Filter, SearchOptions

    cases = load_cases(file)
    with session.open_existing() as kb, stop_on_signal() as stop:
        where = Filter(collections=() if collection is None else (collection,))
        second = read_rerank(rerank, rerank_seconds)
        options = SearchOptions(where=where, mode=mode, floor=kb.config.floor, **second)
        report = evaluate(kb, cases, limit=limit, options=options, stopped=stop.is_set)
    if all(len(row.missing) == len(row.expected) for row in report.rows):
        raise NotFound(
            f"none of the expected documents is in the index, for example {report.missing[0]!r}; "
            "name them as `outcrop ls` does"
        )
    if html_path is not None:
        from outcrop.evals.report import html_report

        try:
            html_path.write_text(html_report(report, f"Search quality: {file.name}"), "utf-8")
        except OSError as error:
            raise SourceError(f"{html_path} cannot be written: {error.strerror}") from error
    if session.as_json:
        from outcrop.serve.as_json import plain

        data = plain(report)
        assert isinstance(data, dict)  # noqa: S101 - a record is a dictionary
        session.print_json(data | {"missing": report.missing})
        return
    _print(session, report)
    if html_path is not None:
        click.echo(f"wrote {clean_line(str(html_path))}", err=True)


def _print(session: Session, report: EvalReport) -> None:
    from rich.table import Table
    from rich.text import Text

    console = session.out
    failed = [row for row in report.rows if row.rank is None]
    shown = report.rows if session.verbose else failed[:10]
    for row in sorted(shown, key=lambda row: -(row.rank or report.limit + 1)):
        console.print(_line(row), soft_wrap=True)
    if len(failed) > 10 and not session.verbose:
        console.print(
            Text(f"and {len(failed) - 10} more without a right document; -v shows every query", "dim")
        )
    table = Table(box=None, pad_edge=False, header_style="dim")
    figures = {
        "queries": f"{len(report.rows):,}",
        "top 1": f"{report.top_1:.3f}",
        "R@3": f"{report.recall_3:.3f}",
        "R@5": f"{report.recall_5:.3f}",
        "R@10": f"{report.recall_10:.3f}",
        "MRR": f"{report.mrr:.3f}",
        "nDCG@10": f"{report.ndcg_10:.3f}",
        "similarity": f"{report.similarity:.3f}",
    }
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*figures.values())
    console.print(table)
    console.print(
        Text(
            f"embed p50 {report.embed_p50_ms:.2f} ms, p95 {report.embed_p95_ms:.2f} ms; "
            f"search p50 {report.search_p50_ms:.2f} ms, p95 {report.search_p95_ms:.2f} ms; {report.model}",
            "dim",
        ),
        soft_wrap=True,
    )
    if report.missing:
        session.err.print(
            Text(f"Warning: {len(report.missing)} expected documents are not in the index:", "yellow"),
            soft_wrap=True,
        )
        for name in report.missing:
            session.err.print(Text("  " + clean_line(name), "yellow"), soft_wrap=True)


def _line(row: EvalRow) -> Any:
    from rich.text import Text

    rank = ("   –", "red") if row.rank is None else (f"{row.rank:>4}", "green")
    best = (
        f"  first: {clean_line(row.found[0].path)}" if row.found else f"  {clean_line(row.reason or 'no hits')}"
    )
    expected = ", ".join(clean_line(name) for name in row.expected)
    return Text.assemble(rank, f"  {clean_line(row.query)}", (f"  expected: {expected}", "cyan"), (best, "dim"))
