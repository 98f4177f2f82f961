"""ls, show, rm: the documents of the index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from outcrop.serve.cli.options import collection_option, common_options, document_filters, many, read_filters
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.terminal import clean, clean_line

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import DocumentInfo, StoredChunk


@click.command("ls")
@document_filters
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Documents at most.")
@click.option("--collections", "only_collections", is_flag=True, help="List collections instead.")
@click.option(
    "--hashes", is_flag=True, help="Only the SHA-256 of each document's source, and its uri: to diff by."
)
@common_options
@pass_session
def ls_command(
    session: Session, /, limit: int | None, only_collections: bool, hashes: bool, **filters: Any
) -> None:
    """List documents, or collections."""
    if hashes and only_collections:
        raise click.UsageError("--hashes are of documents; a collection has none")
    where = read_filters(**filters)
    with session.open_existing() as index:
        if only_collections:
            names = where.collections
            found = [info for info in index.collections(roots=True) if not names or info.name in names]
            if session.as_json:
                session.print_json(found)
            else:
                from outcrop.serve.cli.render import print_collections

                print_collections(session.out, found)
            return
        documents = index.documents(where, limit=limit)
    if hashes:
        _print_hashes(session, documents)
    elif session.as_json:
        session.print_json(documents)
    else:
        from outcrop.serve.cli.render import print_documents

        print_documents(session.out, documents)


def _print_hashes(session: Session, documents: Sequence[DocumentInfo]) -> None:
    """A line each, as `sha256sum` prints it."""
    if session.as_json:
        session.print_json(
            [
                {"id": info.id, "collection": info.collection, "uri": info.uri, "sha256": info.sha256}
                for info in documents
            ]
        )
        return
    for info in documents:
        click.echo(f"{info.sha256}  {clean_line(info.uri)}")


@click.command("show")
@click.argument("reference", metavar="REF")
@collection_option("Where to look for it, when it is in several.")
@click.option("--chunks", "show_chunks", is_flag=True, help="Show how it was cut, chunk by chunk.")
@click.option("--lines", metavar="A-B", help="Only these lines of the text.")
@click.option("--info", "only_info", is_flag=True, help="What is known of it, without its text.")
@common_options
@pass_session
def show_command(
    session: Session,
    reference: str,
    collection: str | None,
    show_chunks: bool,
    lines: str | None,
    only_info: bool,
) -> None:
    """Print a document, or what is known of it.

    REF is an id as `ls` shows it, a path, a URL, or the name a text was given. The text is printed as it was indexed.
    """
    span = read_lines(lines)
    with session.open_existing() as index:
        info = index.get(reference, collection=collection)
        text = "" if only_info else _cut(index.text(info.id), span)
        chunks = index.chunks(info.id) if show_chunks else []
    if session.as_json:
        extra = {"chunks": [replace_document(chunk) for chunk in chunks]} if show_chunks else {}
        content = {} if only_info else {"text": text}
        session.print_json({"document": info, **content, **extra})
        return
    if only_info or show_chunks:
        from outcrop.serve.cli.render import document_facts, print_facts

        print_facts(session.out, document_facts(info))
    if show_chunks:
        for chunk in chunks:
            where = f"lines {chunk.line_start}-{chunk.line_end}" + (f", p. {chunk.page}" if chunk.page else "")
            about = clean(" · ".join(" › ".join(path) for path in chunk.headings))
            click.echo(f"\n── chunk {chunk.index}: {where}, {chunk.tokens} tokens  {about}")
            click.echo(clean(chunk.text))
    elif not only_info:
        click.echo(clean(text))


def replace_document(chunk: StoredChunk) -> dict[str, object]:
    """A chunk without its document, which stands above it already."""
    from dataclasses import fields

    return {field.name: getattr(chunk, field.name) for field in fields(chunk) if field.name != "document"}


def read_lines(lines: str | None) -> tuple[int, int | None]:
    """The first and the last line of a range as one types it: 10-20, 10- or 10."""
    if lines is None:
        return 1, None
    match = re.fullmatch(r"(\d+)?(-)?(\d+)?", lines)
    if not match or not (match[1] or match[3]):
        raise click.BadParameter(
            f"{lines!r} is not a range of lines; write 10-20, 10- or 10", param_hint="--lines"
        )
    first = int(match[1] or 1)
    last = int(match[3]) if match[3] else None if match[2] else first
    if first < 1 or (last is not None and last < first):
        raise click.BadParameter("lines count from 1, the first before the last", param_hint="--lines")
    return first, last


def _cut(text: str, span: tuple[int, int | None]) -> str:
    first, last = span
    if span == (1, None):
        return text
    lines = text.split("\n")
    if first > len(lines):
        raise click.BadParameter(f"the text ends with line {len(lines)}", param_hint="--lines")
    return "\n".join(lines[first - 1 : last])


@click.command("rm")
@click.argument("references", nargs=-1, metavar="[REF]...")
@collection_option("Remove this whole collection; with REF or --path: look only there.")
@many("--path", "paths", metavar="GLOB", help="Remove documents with paths like this.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@common_options
@pass_session
def rm_command(
    session: Session, references: tuple[str, ...], collection: str | None, paths: tuple[str, ...], yes: bool
) -> None:
    """Remove documents from the index.

    The files themselves are never touched. Removing more than one document asks first, or needs --yes where there is
    nobody to ask. A file that is still in an added folder comes back with the next sync.
    """
    if not (references or collection or paths):
        raise click.UsageError("Nothing to remove: name documents, -c COLLECTION or --path GLOB.")
    with session.open_existing() as index:
        documents = _to_remove(index, references, collection, paths)
        if len(documents) > 1 and not yes:
            _confirm(session, documents)
        removed = index.delete(*(info.id for info in documents)) if documents else 0
    if session.as_json:
        session.print_json({"removed": removed, "documents": documents})
    else:
        for info in documents if session.verbose or len(documents) == 1 else ():
            click.echo(clean(f"{info.collection}: {info.path}"))
        click.echo(f"{removed:,} document{'' if removed == 1 else 's'} removed")
    if not removed:
        click.get_current_context().exit(1)


def _to_remove(
    index: Engine, references: tuple[str, ...], collection: str | None, paths: tuple[str, ...]
) -> list[DocumentInfo]:
    from outcrop.records import Filter

    found = [index.get(reference, collection=collection) for reference in references]
    if paths or not references:
        where = Filter(paths=paths)
        if collection is not None:
            where = replace(where, collections=(collection,))
        found.extend(index.documents(where))
    return list({info.id: info for info in found}.values())


def _confirm(session: Session, documents: list[DocumentInfo]) -> None:
    question = f"Remove {len(documents):,} documents from the index?"
    if not session.on_terminal or session.as_json:
        raise click.UsageError(f"{question} Say --yes; there is nobody to ask.")
    for info in documents[:10]:
        click.echo(clean(f"  {info.collection}: {info.path}"), err=True)
    if len(documents) > 10:
        click.echo(f"  and {len(documents) - 10:,} more", err=True)
    if not click.confirm(question, err=True):
        click.echo("Nothing was removed.", err=True)
        click.get_current_context().exit(1)
