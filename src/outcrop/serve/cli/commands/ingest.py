"""add, sync, watch: what brings documents into the index."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from outcrop.errors import NotFound, ParseError, SourceError
from outcrop.records.meta import MetaValue, read_scalar
from outcrop.records.parsed import is_url
from outcrop.serve.cli.options import collection_option, command, many, option
from outcrop.serve.cli.progress import long_work, show_progress, stop_on_signal
from outcrop.serve.cli.render_reports import print_change, print_report
from outcrop.serve.cli.session import Session

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import IngestReport

STDIN: Final = "-"
TEXT: Final = "A text or a URL"
SHOWN_PATHS: Final = 5
"""Paths named in one line of `watch`; more would hide that something else changed as well."""

_strict = click.option("--strict", is_flag=True, help="Exit with 1 when any file failed.")
_force = click.option("--force", is_flag=True, help="Read files again even if they did not change.")


@command(
    "add",
    "outcrop add ~/notes ~/src/project",
    "outcrop add ~/src/project --branches 'main,release/*'",
    "outcrop add https://example.org/handbook.html -c handbook",
    "git log -p -3 | outcrop add - --title 'latest changes'",
    "outcrop add --sessions claude",
)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@collection_option("Collection to put it in; a folder has one of its own name, the rest go to 'default'.")
@many("--tag", "tags", metavar="TAG", help="Give every document this tag.")
@many(
    "--meta",
    metavar="KEY=VALUE",
    group=TEXT,
    help="Metadata for --where: a number, a date, true or false, or text. Repeating a KEY makes a list.",
)
@option("--title", group=TEXT, help="Title, for a text or a URL.")
@option("--id", "id_", metavar="NAME", group=TEXT, help="Name of a text; adding it again replaces it.")
@option("--kind", group=TEXT, help="Format of a text: md, text, html, json …; detected by default.")
@option("--text", group=TEXT, help="The text to add, instead of a source.")
@option(
    "--ray",
    rare=True,
    metavar="[ADDRESS]",
    is_flag=False,
    flag_value="local",
    help="Read, parse and embed on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT; without ADDRESS on this machine.",
)
@option(
    "--branches",
    metavar="REF,...",
    help="Also add these branches of a folder's repository, without a checkout: main,release/*.",
)
@option(
    "--archives",
    is_flag=True,
    help="Also add the files in zip, tar and 7z archives; remembered for sync and watch.",
)
@option("--history", is_flag=True, help="Also add the commits of a folder's repository.")
@option("--since", metavar="DATE", help="With --history: leave out older commits.")
@many(
    "--sessions",
    metavar="AGENT",
    help="Also add past sessions of a coding agent: claude, codex, gemini, or the folder they are in.",
)
@_force
@_strict
def add_command(
    session: Session,
    sources: tuple[str, ...],
    collection: str | None,
    tags: tuple[str, ...],
    meta: tuple[str, ...],
    title: str | None,
    id_: str | None,
    kind: str | None,
    text: str | None,
    ray: str | None,
    branches: str | None,
    archives: bool,
    history: bool,
    since: str | None,
    sessions: tuple[str, ...],
    force: bool,
    strict: bool,
) -> int:
    """Add folders, files, URLs or text to the index.

    A SOURCE is a folder, a file, a URL, or - for text from standard input. What has not
    changed since it was indexed costs next to nothing, so run it as often as you like.
    """
    texts = _texts(sources, text)
    others = [source for source in sources if source != STDIN]
    _check_ray(ray, texts, others)
    if not sessions or texts or others:
        _check_add(texts, others, title, id_)
    known = read_meta(meta)
    _check_told(kind, known, texts, others)
    elsewhere = bool(texts or any(map(is_url, others)))
    if (history and elsewhere) or (since is not None and not history):
        raise click.UsageError("--history goes with the folder of a repository, and --since with --history.")
    if archives and (elsewhere or branches):
        raise click.UsageError("--archives goes with folders and files.")
    patterns = _read_patterns(branches, with_folders=not (elsewhere or ray))
    common: dict[str, Any] = {"collection": collection, "tags": tags, "force": force}
    with session.open() as index:

        def add(source: str) -> IngestReport:
            if is_url(source):
                return index.add(source, title=title, meta=known, **common)
            with long_work(session) as told:
                report = index.add(source, ray=ray, branches=patterns, archives=archives, **common, **told)
                if history:
                    report += index.add_history(source, collection=collection, since=since, **told)
                return report

        def add_sessions(source: str) -> IngestReport:
            with long_work(session) as told:
                return index.add_sessions(source, **common, **told)

        reports = [
            index.add(text=content, id=id_, title=title, kind=kind, meta=known, **common) for content in texts
        ]
        several = len(sources) + len(sessions) > 1
        reports += [_add_one(add, source, go_on=several) for source in others]
        reports += [_add_one(add_sessions, source, go_on=several) for source in sessions]
    return _finish(session, reports, strict)


def _read_patterns(given: str | None, *, with_folders: bool) -> list[str]:
    """The names of `--branches`, which go with folders alone."""
    patterns = [name.strip() for name in (given or "").split(",") if name.strip()]
    if given is not None and not (patterns and with_folders):
        raise click.UsageError("--branches takes names or patterns, and goes with the folder of a repository.")
    return patterns


def read_meta(given: Sequence[str]) -> dict[str, MetaValue] | None:
    """Metadata as one types it: `year=2020`. What stands in quotes is text whatever it looks like; several values of
    one name are a list."""
    found: dict[str, MetaValue] = {}
    for pair in given:
        key, equals, said = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{pair!r} is no KEY=VALUE; write year=2020", param_hint="--meta")
        is_quoted = len(said) > 1 and said[0] == said[-1] and said[0] in "\"'"
        value = said[1:-1] if is_quoted else read_scalar(said)
        before = found.get(key)
        if key not in found:
            found[key] = value
        else:
            found[key] = (*(before if isinstance(before, tuple) else (before,)), value)
    return found or None


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


def _check_told(
    kind: str | None, meta: Mapping[str, object] | None, texts: Sequence[str], others: Sequence[str]
) -> None:
    if kind is not None and (others or not texts):
        raise click.UsageError("--kind goes with a text; files and URLs tell theirs.")
    if meta and ((not texts and not others) or any(not is_url(source) for source in others)):
        raise click.UsageError(
            "--meta goes with texts and URLs; a file has its own, as front matter for example."
        )


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


def _add_one(add: Callable[[str], IngestReport], source: str, *, go_on: bool) -> IngestReport:
    from outcrop.records import Failure, IngestReport

    try:
        return add(source)
    except (SourceError, ParseError) as error:
        if not go_on:
            raise
        return IngestReport(failed=(Failure(source, str(error)),))


@command("sync", "outcrop sync", "outcrop sync ~/notes --force")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True))
@collection_option("Only the folders of this collection, or the collection a PATH belongs to.")
@_force
@_strict
def sync_command(
    session: Session, paths: tuple[str, ...], collection: str | None, force: bool, strict: bool
) -> int:
    """Bring folders up to date with what is on disk.

    Without a PATH: all folders that were added. New and changed files are indexed, deleted ones leave the index.
    """
    reports = []
    with session.open_existing() as index, long_work(session) as told:
        for path in paths or (None,):
            reports.append(index.sync(path, collection=collection, force=force, **told))
    return _finish(session, reports, strict)


def _finish(session: Session, reports: Sequence[IngestReport], strict: bool) -> int:
    from outcrop.records import IngestReport

    report = sum(reports, IngestReport())
    if session.as_json or report.failed or not session.quiet:
        session.show(report, partial(print_report, everything=session.verbose > 0))
    indexed = report.added + report.changed + report.moved + report.unchanged
    return 1 if report.failed and (strict or not indexed) else 0


@command("watch", "outcrop watch ~/notes ~/src/project")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(exists=True, file_okay=False)
)
@collection_option("Collection to put them in; else each folder's own.")
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
            session.err.line("watching; Ctrl-C ends it", style="dim")
        # None at all when it was stopped by now.
        for report in index.watch(paths, collection=collection, stop=stop):
            _tell(session, index, [report], quiet=True)


def _tell(session: Session, index: Engine, reports: Sequence[IngestReport], quiet: bool = False) -> None:
    """A line for what happened; `quiet` leaves out that nothing did."""
    from outcrop.records import IngestReport

    report = sum(reports, IngestReport())
    happened = report.added + report.changed + report.moved + report.removed + len(report.failed)
    if quiet and not happened:
        return
    if session.as_json:
        session.print_json(report, line=True)
        return
    names = []
    for document_id in report.document_ids[: SHOWN_PATHS if quiet else 0]:
        try:
            names.append(index.get(document_id).path)
        except NotFound:
            continue  # gone again already
    print_change(session.out, report, names, time.strftime("%H:%M:%S"))
