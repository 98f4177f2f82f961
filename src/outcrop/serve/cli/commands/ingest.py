"""add, sync, watch: what brings documents into the index."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from outcrop.records.parsed import is_url
from outcrop.serve.cli.options import collection_option, common_options, many
from outcrop.serve.cli.progress import show_progress
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.cli.signals import stop_on_signal

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import IngestReport

STDIN: Final = "-"
SHOWN_PATHS: Final = 5
"""Paths named in one line of `watch`; more would hide that something else changed as well."""

_strict = click.option("--strict", is_flag=True, help="Exit with 1 when any file failed.")
_force = click.option("--force", is_flag=True, help="Read files again even if they did not change.")


@click.command("add")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@collection_option("Collection to put it in; a folder has one of its own name, the rest go to 'default'.")
@many("--tag", "tags", metavar="TAG", help="Give every document this tag.")
@click.option("--title", help="Title, for a text or a URL.")
@click.option("--id", "id_", metavar="NAME", help="Name of a text: adding it again replaces it.")
@click.option("--kind", help="How to read a text: md, text, html, json …; recognised when not given.")
@click.option("--text", help="The text to add, instead of a source.")
@click.option(
    "--ray",
    metavar="[ADDRESS]",
    is_flag=False,
    flag_value="local",
    help="Read, parse and embed on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; without ADDRESS on this machine.",
)
@_force
@_strict
@common_options
@pass_session
def add_command(
    session: Session,
    sources: tuple[str, ...],
    collection: str | None,
    tags: tuple[str, ...],
    title: str | None,
    id_: str | None,
    kind: str | None,
    text: str | None,
    ray: str | None,
    force: bool,
    strict: bool,
) -> None:
    """Add folders, files, URLs or text to the index.

    A SOURCE is a folder, a file, a URL, or - for text from standard input. What is in the index already and did
    not change costs next to nothing, so run it as often as you like.
    """
    texts = _texts(sources, text)
    others = [source for source in sources if source != STDIN]
    _check_ray(ray, texts, others)
    _check_add(texts, others, title, id_)
    if kind is not None and (others or not texts):
        raise click.UsageError("--kind goes with a text; files and URLs tell theirs.")
    reports: list[IngestReport] = []
    with session.open() as index:
        for content in texts:
            reports.append(
                index.add(
                    text=content, id=id_, title=title, kind=kind, collection=collection, tags=tags, force=force
                )
            )
        for source in others:
            reports.append(
                _add_one(session, index, source, len(sources) > 1, collection, tags, title, force, ray)
            )
    _finish(session, reports, strict)


def _texts(sources: Sequence[str], text: str | None) -> list[str]:
    texts = [] if text is None else [text]
    if STDIN in sources:
        data = sys.stdin.buffer.read()
        try:
            texts.append(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise click.UsageError(
                "standard input is not UTF-8 text; save it to a file and add that instead"
            ) from error
    return texts


def _check_add(texts: Sequence[str], others: Sequence[str], title: str | None, id_: str | None) -> None:
    if not texts and not others:
        raise click.UsageError("Nothing to add: name a folder, a file or a URL, or give --text.")
    if id_ is not None and (len(texts) != 1 or others):
        raise click.UsageError("--id names one text; files and URLs have their own names.")
    files = [source for source in others if not is_url(source)]
    if title is not None and (len(texts) + len(others) != 1 or files):
        raise click.UsageError("--title goes with one text or URL; files have their own titles.")
    for file in files:
        if not file.strip():  # an unset variable of a script; as a path it would be the current folder
            raise click.UsageError("A source is empty; write . for the current folder.")
        if not Path(file).expanduser().exists():
            raise click.UsageError(f"There is no file or folder {file!r}.")


def _check_ray(ray: str | None, texts: Sequence[str], others: Sequence[str]) -> None:
    if ray is None:
        return
    if texts or any(map(is_url, others)):
        raise click.UsageError("--ray reads files and folders; add texts and URLs without it.")
    if ray not in {"local", "auto"} and not re.fullmatch(r"(ray://)?[^/\s]+:\d+", ray):
        raise click.UsageError(
            f"{ray!r} is no address of a Ray cluster: write auto, HOST:PORT or ray://HOST:PORT after --ray, or name "
            "the folder before it."
        )


def _add_one(
    session: Session,
    index: Engine,
    source: str,
    go_on: bool,
    collection: str | None,
    tags: Sequence[str],
    title: str | None,
    force: bool,
    ray: str | None,
) -> IngestReport:
    from outcrop.errors import ParseError, SourceError
    from outcrop.records import Failure, IngestReport

    try:
        if is_url(source):
            return index.add(source, collection=collection, tags=tags, title=title, force=force)
        with stop_on_signal() as stop, show_progress(session) as progress:
            return index.add(
                source,
                collection=collection,
                tags=tags,
                force=force,
                ray=ray,
                progress=progress,
                stopped=stop.is_set,
            )
    except (SourceError, ParseError) as error:
        if not go_on:
            raise
        return IngestReport(failed=(Failure(source, str(error)),))


@click.command("sync")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True))
@collection_option("Only the folders of this collection, or the collection a PATH belongs to.")
@_force
@_strict
@common_options
@pass_session
def sync_command(
    session: Session, paths: tuple[str, ...], collection: str | None, force: bool, strict: bool
) -> None:
    """Bring folders up to date with what is on disk.

    Without a PATH: all folders that were added. New and changed files are indexed, deleted ones leave the index.
    """
    reports = []
    with session.open_existing() as index, stop_on_signal() as stop, show_progress(session) as progress:
        for path in paths or (None,):
            reports.append(
                index.sync(path, collection=collection, force=force, progress=progress, stopped=stop.is_set)
            )
    _finish(session, reports, strict)


def _finish(session: Session, reports: Sequence[IngestReport], strict: bool) -> None:

    from outcrop.records import IngestReport

    report = sum(reports, IngestReport())
    if session.as_json:
        session.print_json(report)
    else:
        from outcrop.serve.cli.render_reports import print_report

        print_report(session.out, report, everything=session.verbose > 0)
    indexed = report.added + report.changed + report.moved + report.unchanged
    if report.failed and (strict or not indexed):
        click.get_current_context().exit(1)


@click.command("watch")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, file_okay=False)
)
@collection_option("Collection to put them in; else each folder's own.")
@common_options
@pass_session
def watch_command(session: Session, paths: tuple[str, ...], collection: str | None) -> None:
    """Keep folders fresh while their files change.

    Syncs them first, then prints a line for every change until Ctrl-C or SIGTERM. With --json each line is one JSON
    document.
    """
    with session.open() as index, stop_on_signal() as stop:
        with show_progress(session) as progress:
            first = [
                index.sync(path, collection=collection, progress=progress, stopped=stop.is_set)
                for path in paths
            ]
        _tell(session, index, first)
        if not session.as_json:
            session.err.print("watching; Ctrl-C ends it", style="dim")
        for report in index.watch(
            paths, collection=collection, stop=stop
        ):  # none at all when it was stopped by now
            _tell(session, index, [report], quiet=True)


def _tell(session: Session, index: Engine, reports: Sequence[IngestReport], quiet: bool = False) -> None:
    """A line for what happened; `quiet` leaves out that nothing did."""
    from outcrop.errors import NotFound
    from outcrop.records import IngestReport
    from outcrop.serve.cli.render_reports import print_change

    report = sum(reports, IngestReport())
    happened = report.added + report.changed + report.moved + report.removed + len(report.failed)
    if quiet and not happened:
        return
    if session.as_json:
        session.print_json_line(report)
        return
    names = []
    for document_id in report.document_ids[: SHOWN_PATHS if quiet else 0]:
        try:
            names.append(index.get(document_id).path)
        except NotFound:
            continue  # gone again already
    print_change(session.out, report, names, time.strftime("%H:%M:%S"))
