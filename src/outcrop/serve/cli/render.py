"""Hits, documents and the state of an index, for people. Every text of a document goes through `clean`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from outcrop.serve.cli.places import path_from_here, place_from_here
from outcrop.serve.cli.render_code import about_code, crop, declared_at, print_warnings
from outcrop.serve.excerpt import Marker, best_lines, cut_line, shared_indent
from outcrop.serve.terminal import clean, clean_line

if TYPE_CHECKING:
    from rich.console import Console

    from outcrop.records import (
        Answer,
        Check,
        CollectionInfo,
        Context,
        DocumentInfo,
        Explanation,
        Hit,
        LeftOut,
        MeaningShare,
        StaleDocument,
        Status,
    )

REVISION_CHARS: Final = 7
"""As git abbreviates a commit."""
HEADING_CHARS: Final = 60
"""A longer heading (a table's header, a whole paragraph) is cut."""
CLAUSE_CHARS: Final = 80
LEFT_OUT_SHOWN: Final = 15
ROOTS_SHOWN: Final = 5
"""Folders and files named for each collection; somebody may have added hundreds of files one by one."""
MIN_SHOWN: Final = 0.0005
"""A smaller boost would be shown as zero."""
_FOUND_BY = {"both": "words + meaning", "keyword": "words", "semantic": "meaning"}


# ------------------------------------------------------------------ search


def print_answer(
    console: Console, answer: Answer, *, full: bool = False, explain: bool = False, verbose: bool = False
) -> None:
    """Hits one below the other, and how long it took. `verbose` adds the commit of each, `explain` why it is there."""
    for number, hit in enumerate(answer.hits, 1):
        print_hit(console, number, hit, full=full, explain=explain, verbose=verbose)
    if answer.detail:
        console.print(Text(clean_line(answer.detail), "yellow"))
    count = len(answer.hits)
    took = f" in {answer.timings_ms['total']:.0f} ms" if "total" in answer.timings_ms else ""
    console.print(Text(f"{count} hit{'' if count == 1 else 's'}{took}", "dim"))
    if explain:
        _print_left_out(console, answer.left_out)
        for clause in answer.question:
            asked = f"asked: {clause.name} × {clause.weight:g}  {crop(clean_line(clause.text), CLAUSE_CHARS)}"
            console.print(Text(asked, "dim"), soft_wrap=True)
        steps = ", ".join(f"{name} {ms:.1f}" for name, ms in answer.timings_ms.items() if name != "total")
        again = f"; {answer.reranked} candidates reranked" if answer.reranked else ""
        read = f"query read as {answer.query_type}{_weights(answer.meaning_share)}{again}"
        console.print(Text(f"{read}; ms: {steps}", "dim"), soft_wrap=True)


def _weights(share: MeaningShare | None) -> str:
    """How much meaning weighed against words."""
    if share is None:
        return ""
    prose, code = f"{100 * share.prose:.0f} %", f"{100 * share.code:.0f} %"
    return f"; meaning weighs {prose}" + ("" if prose == code else f" in prose, {code} in code")


def _print_left_out(console: Console, left_out: Sequence[LeftOut]) -> None:
    """What else was considered, a line each: where, score, reason."""
    for item in left_out[:LEFT_OUT_SHOWN]:
        line = f"left out: {clean_line(place_from_here(item.hit))}  {item.hit.score:.2f}  {item.told}"
        console.print(Text(line, "dim"), soft_wrap=True)
    if len(left_out) > LEFT_OUT_SHOWN:
        console.print(Text(f"and {len(left_out) - LEFT_OUT_SHOWN} more, which --json shows", "dim"))


def print_hit(console: Console, number: int, hit: Hit, *, full: bool, explain: bool, verbose: bool) -> None:
    """`1. path:12-30  Title › Heading  0.83`, of source code `1. path:12-30  Pool.acquire · method  0.83`; then the
    passage."""
    line = Text.assemble((f"{number}. ", "bold"), (clean_line(place_from_here(hit)), _link(hit.document)))
    about = _about(hit)
    if about:
        line.append(f"  {about}", "green")
    line.append(f"  {hit.score:.2f}", "bold yellow")
    line.append(f"  {_FOUND_BY[hit.match_type]}, {clean_line(hit.document.collection)}", "dim")
    if hit.revision and (explain or verbose):
        line.append(f"  {hit.revision[:REVISION_CHARS]}{'+' if hit.dirty else ''}", "dim")
    if hit.copies:
        line.append(f"  {hit.elsewhere}", "dim")
    if hit.stale:
        line.append("  changed since it was indexed", "red")
    console.print(line, soft_wrap=True)
    _print_passage(console, hit, full=full)
    if explain:
        console.print(Text(f"   {explanation(hit.why)}", "dim"), soft_wrap=True)
    for copy in hit.also if explain or verbose else ():
        console.print(Text(f"   also {clean_line(copy.place)}", "dim"), soft_wrap=True)
    console.print()


def _about(hit: Hit) -> str:
    """What a hit is, beside where: the declaration, or the title and the headings."""
    if hit.code is not None and (about := about_code(hit.code)):
        return about
    parts = dict.fromkeys((_title(hit.document), *hit.heading_path))
    return " › ".join(crop(clean_line(part), HEADING_CHARS) for part in parts if part)


def _link(info: DocumentInfo) -> Style:
    """A file can be opened with a click in terminals that know links; the address is percent-encoded."""
    return Style(bold=True, color="cyan", link=Path(info.uri).as_uri() if info.origin == "file" else None)


def _title(info: DocumentInfo) -> str:
    """The title, unless it is only the file's name again."""
    return "" if info.path.endswith(info.title) else info.title


def _print_passage(console: Console, hit: Hit, *, full: bool) -> None:
    marker = Marker(hit.why.matched_terms, hit.why.matched_phrases)
    text = clean(hit.text).expandtabs(4).strip("\n")
    declared = declared_at(hit.code, hit.line_start)
    lines, before, after = (text.split("\n"), 0, 0) if full else best_lines(text, marker, anchor=declared)
    indent = shared_indent(lines)
    cut = console.is_terminal and bool(hit.document.language) and not full
    signature = clean_line(hit.code.signature) if hit.code else ""
    if signature and (declared is None or not before <= declared < before + len(lines)):
        room = max(console.width - 3, 20) if console.is_terminal else len(signature)
        console.print(Text(f"   {crop(signature, room)}", "dim"), soft_wrap=True)
        before = max(before, 1)  # the passage is the middle of a declaration
    if before:
        console.print(Text("   ⋮", "dim"))
    for line in lines:
        shown = Text(line[indent:].rstrip())
        if cut:  # code that wraps no longer looks like code
            shown = Text(cut_line(shown.plain, marker, max(console.width - 5, 20)))
        for start, end in marker.spans(shown.plain):
            shown.stylize("bold red", start, end)
        if console.is_terminal and shown:
            console.print(Padding(shown, (0, 0, 0, 3), expand=False))  # what wraps stays indented
        else:
            console.print(Text("   ") + shown if shown else "", soft_wrap=True)
    if after:
        console.print(Text("   ⋮", "dim"))


def explanation(why: Explanation) -> str:
    """The legs, the signals and the sum, on one line."""
    parts = []
    if why.lexical_rank is not None and why.lexical_score is not None:
        parts.append(f"words: rank {why.lexical_rank}, score {why.lexical_score:.3f}, gives {why.words:.3f}")
    else:
        parts.append("words: not found")
    if why.similarity is not None:
        rank = f"rank {why.dense_rank}, " if why.dense_rank is not None else ""
        parts.append(f"meaning: {rank}similarity {why.similarity:.3f}, gives {why.meaning:.3f}")
    else:
        parts.append("meaning: not found")
    parts.append(f"fused {why.fused:.3f}")
    parts.extend(f"{boost.name} {boost.amount:+.3f}" for boost in why.boosts if abs(boost.amount) >= MIN_SHOWN)
    parts.append(f"total {why.total:.3f}")
    if why.matched:
        parts.append("matched " + ", ".join(map(clean_line, why.matched)))
    return " · ".join(parts)


def print_sources(console: Console, context: Context) -> None:
    """What a packed context is made of."""
    for source in context.sources:
        note = "  cut to fit" if source.truncated else ""
        about = about_code(source.hit.code) if source.hit.code else ""
        parts = (clean_line(place_from_here(source.hit)), about, f"{source.hit.score:.2f}{note}")
        line = f"[{source.number}] " + "  ".join(part for part in parts if part)
        console.print(Text(line, "dim"), soft_wrap=True)
    many = len(context.left_out)
    left = f", {many} hit{'' if many == 1 else 's'} did not fit" if many else ""
    console.print(Text(f"{context.tokens:,} of {context.budget_tokens:,} tokens{left}", "dim"))
    if context.detail and context.sources:
        print_warnings(console, context.detail)
    elif context.detail:
        console.print(Text(clean_line(context.detail), "yellow"), soft_wrap=True)


# ------------------------------------------------------------------ documents


def print_documents(console: Console, documents: Sequence[DocumentInfo]) -> None:
    """One line per document: id, collection, kind, chunks, path, title."""
    if not documents:
        console.print(Text("no documents", "dim"))
        return
    ids = max(len(str(info.id)) for info in documents)
    names = max(len(info.collection) for info in documents)
    kinds = max(len(info.language or info.kind) for info in documents)
    for info in documents:
        line = Text.assemble(
            (f"{info.id:>{ids}}", "bold"),
            f"  {clean_line(info.collection):<{names}}  ",
            (
                f"{info.language or info.kind:<{kinds}}  {info.chunks:>4} {'chunk ' if info.chunks == 1 else 'chunks'}",
                "dim",
            ),
            ("  " + clean_line(path_from_here(info)), "cyan"),
        )
        if _title(info):
            line.append("  " + clean_line(_title(info)), "green")
        if info.tags:
            line.append("  " + " ".join(f"#{clean_line(tag)}" for tag in info.tags), "magenta")
        console.print(line, soft_wrap=True)


def print_collections(console: Console, collections: Sequence[CollectionInfo]) -> None:
    """A table of collections."""
    if not collections:
        console.print(Text("no collections yet; `outcrop add FOLDER` makes one", "dim"))
        return
    rows = [
        (
            clean_line(info.name),
            f"{info.documents:,}",
            f"{info.chunks:,}",
            _moment(info.updated_at),
            _roots(info),
        )
        for info in collections
    ]
    heads = ("collection", "documents", "chunks", "updated")
    name, documents, chunks, updated = (
        max(len(head), *(len(str(row[at])) for row in rows)) for at, head in enumerate(heads)
    )
    from_ = "  from" if any(roots for *_, roots in rows) else ""
    line = f"{heads[0]:<{name}}  {heads[1]:>{documents}}  {heads[2]:>{chunks}}  {heads[3]:<{updated}}{from_}"
    console.print(Text(line.rstrip(), "dim"))
    for title, held, cut, moment, roots in rows:
        text = Text.assemble((f"{title:<{name}}", "cyan"), f"  {held:>{documents}}  {cut:>{chunks}}  {moment}")
        gap = "\n" + " " * (name + documents + chunks + updated + 8)
        text.append("  " + gap.join(roots) if roots else "")
        console.print(text, soft_wrap=True)


def _roots(info: CollectionInfo) -> list[str]:
    """What was added to a collection, one below the other; never cut, so that it can be opened."""
    more = len(info.roots) - ROOTS_SHOWN
    shown = [clean_line(root) for root in info.roots[:ROOTS_SHOWN]]
    return [*shown, f"and {more} more, which --json shows"] if more > 0 else shown


def print_facts(console: Console, facts: Mapping[str, str]) -> None:
    """Names and values, in two columns."""
    width = max(map(len, facts))
    for name, value in facts.items():
        console.print(Text.assemble((f"{name:<{width}}  ", "dim"), clean_line(value)), soft_wrap=True)


def document_facts(info: DocumentInfo) -> dict[str, str]:
    """What is known of a document."""
    facts = {
        "id": str(info.id),
        "collection": info.collection,
        "uri": info.uri,
        "kind": f"{info.kind}, {info.language}" if info.language else info.kind,
        "role": info.role,
        "title": info.title,
        "tags": ", ".join(info.tags),
        "size": f"{info.characters:,} characters, {info.chunks:,} chunks",
        "indexed": _moment(info.updated_at),
        "sha256": info.sha256,
        **{f"meta.{name}": value for name, value in info.meta.items()},
    }
    return {name: value for name, value in facts.items() if value}


# ------------------------------------------------------------------ care


def print_status(console: Console, status: Status) -> None:
    """The index in a few lines, then its collections."""
    stats = status.stats
    model = str(status.model)
    if status.index_model is not None and status.index_model != status.model:
        model += f", but the index was made with {status.index_model}: run `outcrop reembed`"
    print_facts(
        console,
        {
            "index": status.db,
            "size": f"{size(stats.bytes_on_disk)} database, {size(status.array_bytes)} search arrays",
            "holds": f"{stats.documents:,} documents, {stats.chunks:,} chunks",
            "model": model,
        },
    )
    console.print()
    print_collections(console, status.collections)


def print_stale(console: Console, stale: Sequence[StaleDocument]) -> None:
    """Documents whose files have changed since they were indexed."""
    for item in stale:
        line = Text.assemble(
            (f"{item.change:<10}", "red"),
            clean_line(path_from_here(item.document)),
            (f"  {item.document.collection}", "dim"),
        )
        console.print(line, soft_wrap=True)
    ending = "" if len(stale) == 1 else "s"
    advice = f"; `outcrop sync` brings {'them' if ending else 'it'} up to date" if stale else ""
    console.print(Text(f"{len(stale):,} stale document{ending}{advice}", "dim"))


def print_checks(console: Console, checks: Sequence[Check]) -> None:
    """One line per check."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = ("✓ ", "green") if check.ok else ("✗ ", "bold red")
        detail = (clean_line(check.detail), "" if check.ok else "red")
        console.print(Text.assemble(mark, f"{check.name:<{width}}  ", detail), soft_wrap=True)


def size(count: int) -> str:
    """A size in a readable unit."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
