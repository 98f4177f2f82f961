"""status and refresh: what the index holds, and bringing it up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from outcrop.serve.mcp.desk import Call
from outcrop.serve.mcp.params import Offset, Page, Paths, Text, Texts
from outcrop.serve.mcp.reply import Part, Reply, fence_parts, one_line
from outcrop.serve.state import allowed_roots, require_root
from outcrop.serve.terminal import say_count

if TYPE_CHECKING:
    from outcrop.records import IngestReport

MAX_LISTED: Final = 50
"""Collections or failures that are named; the rest is a number."""


def status(call: Call) -> Reply:
    """What is indexed: collections, sizes, folders, whether anything still waits to be embedded."""
    found = call.engine.status()
    state = call.state
    data: dict[str, Any] = {
        "documents": found.stats.documents,
        "chunks": found.stats.chunks,
        "pending": call.engine.pending(),
        "model": str(found.index_model or found.model),
        "read_only": state.read_only,
        "kb": one_line(str(state.config.kb)),
        "roots": [one_line(str(root)) for root in allowed_roots(call.engine)[:MAX_LISTED]],
        "collections": [
            {"name": one_line(info.name), "documents": info.documents, "chunks": info.chunks}
            for info in found.collections[:MAX_LISTED]
        ],
    }
    counts = f"{say_count(found.stats.documents, 'document')}, {say_count(found.stats.chunks, 'chunk')}"
    head = f"{counts}, model {data['model']}."
    if data["pending"]:
        pending = say_count(data["pending"], "chunk")
        head += f" Without a vector so far: {pending}; words find them, meaning does not."
    parts = [
        Part(f"{one_line(info.name)}: {say_count(info.documents, 'document')}")
        for info in found.collections[:MAX_LISTED]
    ]
    listed = f"\nCollections:\n{fence_parts(parts)}" if parts else "\nNothing is indexed yet."
    return Reply(head + listed, data)


def refresh(call: Call, path: Text | None = None) -> Reply:
    """Read changed files again: one folder or file by its full path, or all that were added. Use it when hits are STALE
    or after you changed many files. Only folders the user allowed."""
    target = None if path is None else require_root(call.engine, path)
    if target is None:
        call.state.kb.refresh()
    report = call.engine.sync(target, progress=call.progress, stopped=call.stopped)
    return show_report(report)


def add(
    call: Call,
    path: Text,
    collection: Text | None = None,
    branches: Annotated[Texts | None, Field(description="of its repository: main, release/*")] = None,
    archives: Annotated[bool, Field(description="open zip, tar, 7z")] = False,
) -> Reply:
    """Index a folder or file by its full path. Only in folders the user allowed: see status."""
    target = require_root(call.engine, path, repository=bool(branches))
    told: dict[str, Any] = {"progress": call.progress, "stopped": call.stopped}
    told |= {"collection": collection, "branches": branches or (), "archives": archives}
    return show_report(call.engine.add(target, **told))


def list_documents(
    call: Call,
    collection: Text | None = None,
    paths: Paths | None = None,
    where: Text | None = None,
    limit: Page = 50,
    offset: Offset = 0,
) -> Reply:
    """Which documents are indexed, by path."""
    from outcrop.engine import read_filter

    wanted = read_filter(collections=None if collection is None else (collection,), paths=paths, where=where)
    found = call.engine.documents(wanted, limit=limit + 1, offset=offset)
    page = found[:limit]
    if not page:
        return Reply("No more documents." if offset else "No documents are indexed here; status says what is.")
    parts = [
        Part(f"{info.path} · {info.title} · {info.kind} · {info.collection}, document {info.id}")
        for info in page
    ]
    more = f"\nMore: call again with offset={offset + limit}." if len(found) > limit else ""
    count = f"{say_count(len(page), 'document')}, by collection and path."
    return Reply(f"{count}\n{fence_parts(parts, offset + 1)}{more}")


def show_report(report: IngestReport) -> Reply:
    """What a refresh did."""
    names = ("added", "changed", "moved", "unchanged", "removed", "chunks", "masked")
    data: dict[str, Any] = {name: getattr(report, name) for name in names}
    data["skipped"] = len(report.skipped)
    data["failed"] = [
        {"path": one_line(item.path), "reason": one_line(item.reason)} for item in report.failed[:MAX_LISTED]
    ]
    counts = ", ".join(f"{data[name]} {name}" for name in (*names[:5], "skipped"))
    text = f"Up to date: {counts}; {say_count(report.chunks, 'chunk')} written in {report.seconds:.1f} s."
    if report.masked:
        text += f" {say_count(report.masked, 'secret')} masked."
    if report.remarks:
        remarks = [Part(f"{item.path}: {item.reason}") for item in report.remarks[:MAX_LISTED]]
        text += f"\n{len(report.remarks)} indexed in spite of damage or doubt:\n{fence_parts(remarks)}"
    if report.failed:
        parts = [Part(f"{item['path']}: {item['reason']}") for item in data["failed"]]
        text += f"\n{len(report.failed)} could not be read:\n{fence_parts(parts)}"
    return Reply(text, data)
