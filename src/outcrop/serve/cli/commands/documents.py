"""ls, show, rm: the documents of the index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from outcrop.serve.as_json import as_dict
from outcrop.serve.cli.options import (
    collection_option,
    command,
    document_filters,
    many,
    option,
    read_filters,
    search_option,
)
from outcrop.serve.cli.render import document_facts, print_collections, print_documents, print_facts
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean, clean_line, say_count

if TYPE_CHECKING:
    from outcrop.engine import Engine
    from outcrop.records import DocumentInfo


@command("ls", "outcrop ls -c notes --kind pdf", "outcrop ls --collections")
@document_filters
@option("-n", "--limit", type=click.IntRange(min=1), help="Maximum number of documents.")
@option("--collections", "only_collections", is_flag=True, help="List collections instead.")
@option(
    "--hashes",
    is_flag=True,
    help="Only the SHA-256 of each document's source and its URI, for comparing indexes.",
)
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
            session.show(found, print_collections)
            return
        documents = index.documents(where, limit=limit)
    if hashes:
        _print_hashes(session, documents)
    else:
        session.show(documents, print_documents)


def _print_hashes(session: Session, documents: Sequence[DocumentInfo]) -> None:
    """A line each, as `sha256sum` prints it."""
    if session.as_json:
        names = ("id", "collection", "uri", "sha256")
        session.print_json([{name: getattr(info, name) for name in names} for info in documents])
        return
    for info in documents:
        click.echo(f"{info.sha256}  {clean_line(info.uri)}")


@command("show", "outcrop show notes/keys.md --lines 10-20", "outcrop show 17 --chunks")
@click.argument("reference", metavar="REF")
@collection_option("Where to look for it, when it is in several.")
@option("--chunks", "show_chunks", is_flag=True, help="Show how it was split, chunk by chunk.")
@option("--lines", metavar="A-B", help="Only these lines of the text.")
@option("--info", "only_info", is_flag=True, help="Show its details instead of its text.")
def show_command(
    session: Session,
    reference: str,
    collection: str | None,
    show_chunks: bool,
    lines: str | None,
    only_info: bool,
) -> None:
    """Print a document, or its details.

    REF is an id as `ls` shows it, a path, a URL, or the name a text was given. The text is printed as it was indexed.
    """
    span = read_lines(lines)
    with session.open_existing() as index:
        info = index.get(reference, collection=collection)
        text = "" if only_info else _cut(index.text(info.id), span)
        chunks = index.chunks(info.id) if show_chunks else []
    if session.as_json:
        found: dict[str, object] = {"document": info}
        if not only_info:
            found["text"] = text
        if show_chunks:  # without their document, which stands above them already
            found["chunks"] = [
                {name: value for name, value in as_dict(chunk).items() if name != "document"}
                for chunk in chunks
            ]
        session.print_json(found)
        return
    if only_info or show_chunks:
        print_facts(session.out, document_facts(info))
    if show_chunks:
        from outcrop.records.found import PAGE_WORDS  # numpy comes with it, for which help need not wait

        for chunk in chunks:
            where = f"lines {chunk.line_start}-{chunk.line_end}" + (
                f", {PAGE_WORDS.get(info.kind, 'p.')} {chunk.page}" if chunk.page else ""
            )
            about = clean(" · ".join(" › ".join(path) for path in chunk.headings))
            click.echo(f"\n── chunk {chunk.index}: {where}, {say_count(chunk.tokens, 'token')}  {about}")
            click.echo(clean(chunk.text))
    elif not only_info:
        click.echo(clean(text))


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


@command("rm", "outcrop rm notes/old.md", "outcrop rm -c handbook --yes", "outcrop rm --ref release/1")
@click.argument("references", nargs=-1, metavar="[REF]...")
@collection_option("Remove this whole collection; with REF or --path: look only there.")
@many("--path", "paths", metavar="GLOB", help="Remove documents whose paths match.")
@search_option("where")
@option("--ref", metavar="REF", help="Remove this branch; what it shares with other branches stays.")
@option("--worktree", metavar="PATH", help="Remove the checkout in this folder, in the same way.")
@option("-y", "--yes", is_flag=True, help="Do not ask.")
def rm_command(
    session: Session,
    references: tuple[str, ...],
    collection: str | None,
    paths: tuple[str, ...],
    where: str | None,
    ref: str | None,
    worktree: str | None,
    yes: bool,
) -> int:
    """Remove documents from the index.

    The files themselves are never touched. Removing more than one document asks first, or needs --yes when there is
    no terminal to ask on. A file that is still in an added folder comes back with the next sync.
    """
    if ref is not None or worktree is not None:
        if references or paths or where:
            raise click.UsageError("--ref and --worktree go by themselves, or with -c.")
        with session.open_existing() as index:
            removed = index.forget(ref=ref, worktree=worktree, collection=collection)
        session.tell(
            {"removed": removed}, f"{ref or worktree} is forgotten, {say_count(removed, 'document')} removed"
        )
        return 0
    if not (references or collection or paths or where):
        raise click.UsageError(
            "Nothing to remove: name documents, -c COLLECTION, --path GLOB or --where CONDITION."
        )
    with session.open_existing() as index:
        documents = _to_remove(index, references, collection, paths, where)
        if len(documents) > 1 and not yes:
            listed = [f"  {info.collection}: {info.path}" for info in documents[:10]]
            if len(documents) > 10:
                listed.append(f"  and {len(documents) - 10:,} more")
            question = f"Remove {len(documents):,} documents from the index?"
            session.confirm(question, "Nothing was removed.", listed)
        removed = index.delete(*(info.id for info in documents)) if documents else 0
    if session.as_json:
        session.print_json({"removed": removed, "documents": documents})
    else:
        for info in documents if session.verbose or len(documents) == 1 else ():
            click.echo(clean(f"{info.collection}: {info.path}"))
        if not session.quiet:
            click.echo(f"{say_count(removed, 'document')} removed")
    return 0 if removed else 1


def _to_remove(
    index: Engine,
    references: tuple[str, ...],
    collection: str | None,
    paths: tuple[str, ...],
    where: str | None,
) -> list[DocumentInfo]:
    found = [index.get(reference, collection=collection) for reference in references]
    if paths or where or not references:
        trees = tuple(each.id for each in index.manifests())  # a branch that is not in use must not stay behind
        named = None if collection is None else (collection,)
        wanted = read_filters(collections=named, paths=paths, where=where)
        found.extend(index.documents(replace(wanted, manifests=trees)))
    return list({info.id: info for info in found}.values())
