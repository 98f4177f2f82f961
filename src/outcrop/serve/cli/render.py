"""Hits, documents and the state of an index, for people. Every text of a document goes through `clean`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from outcrop.records.meta import show_value
from outcrop.serve.cli import render_code
from outcrop.serve.cli.passage import Passage
from outcrop.serve.cli.render_code import about_code, path_from_here, place_from_here
from outcrop.serve.terminal import clean_line, crop, say_count

if TYPE_CHECKING:
    from outcrop import records
    from outcrop.serve.cli.session import Screen

REVISION_CHARS: Final = 7
"""As git abbreviates a commit."""
HEADING_CHARS: Final = 60
"""A longer heading (a table's header, a whole paragraph) is cut."""
CLAUSE_CHARS: Final = 80
LEFT_OUT_SHOWN: Final = 15
LANGUAGES_SHOWN: Final = 8
ROOTS_SHOWN: Final = 5
"""Folders and files named for each collection; somebody may have added hundreds of files one by one."""
MIN_SHOWN: Final = 0.0005
"""A smaller boost would be shown as zero."""
_FOUND_BY = {"both": "words + meaning", "keyword": "words", "semantic": "meaning"}


def print_answer(
    out: Screen,
    answer: records.Answer,
    *,
    full: bool = False,
    explain: bool = False,
    verbose: bool = False,
    quiet: bool = False,
) -> None:
    """Hits one below the other, and unless `quiet` how many in what time. `verbose` adds the commit of each, `explain`
    why it is there."""
    for number, hit in enumerate(answer.hits, 1):
        print_hit(out, number, hit, full=full, explain=explain, verbose=verbose)
    if answer.detail:
        out.line(clean_line(answer.detail), style="yellow")
    took = f" in {answer.timings_ms['total']:.0f} ms" if "total" in answer.timings_ms else ""
    if not quiet:
        out.line(say_count(len(answer.hits), "hit") + took, style="dim")
    if explain:
        _print_left_out(out, answer.left_out)
        for clause in answer.question:
            asked = f"asked: {clause.name} × {clause.weight:g}  {crop(clean_line(clause.text), CLAUSE_CHARS)}"
            out.line(asked, style="dim")
        steps = ", ".join(f"{name} {ms:.1f}" for name, ms in answer.timings_ms.items() if name != "total")
        again = f"; {say_count(answer.reranked, 'candidate')} reranked" if answer.reranked else ""
        words = f" in {_name_language(answer.language)}" if answer.language else ""
        read = f"query read as {answer.query_type}{words}{_weights(answer.meaning_share)}{again}"
        out.line(f"{read}; ms: {steps}", style="dim")


def _weights(share: records.MeaningShare | None) -> str:
    """How much meaning weighed against words."""
    if share is None:
        return ""
    prose, code = f"{100 * share.prose:.0f} %", f"{100 * share.code:.0f} %"
    return f"; meaning weighs {prose}" + ("" if prose == code else f" in prose, {code} in code")


def _print_left_out(out: Screen, left_out: Sequence[records.LeftOut]) -> None:
    """What else was considered, a line each: where, score, reason."""
    for item in left_out[:LEFT_OUT_SHOWN]:
        line = f"left out: {clean_line(place_from_here(item.hit))}  {item.hit.score:.2f}  {item.told}"
        out.line(line, style="dim")
    if len(left_out) > LEFT_OUT_SHOWN:
        out.line(f"and {len(left_out) - LEFT_OUT_SHOWN} more, which --json shows", style="dim")


def print_hit(out: Screen, number: int, hit: records.Hit, *, full: bool, explain: bool, verbose: bool) -> None:
    """`1. path:12-30  Title › Heading  0.83`, or of source code `Pool.acquire · method`; then the passage."""
    about, passage = about_hit(hit), Passage(out, hit, full=full)
    facts = f"  {_FOUND_BY[hit.match_type]}, {clean_line(hit.document.collection)}"
    if hit.revision and (explain or verbose):
        facts += f"  {hit.revision[:REVISION_CHARS]}{'+' if hit.dirty else ''}"
    if hit.copies:
        facts += f"  {hit.elsewhere}"
    out.line(
        (f"{number}. ", "bold"),
        (clean_line(place_from_here(hit)), f"bold cyan link {passage.link}" if passage.link else "bold cyan"),
        (f"  {about}" if about else "", "green"),
        (f"  {hit.score:.2f}", "bold yellow"),
        (facts, "dim"),
        ("  changed since it was indexed" if hit.stale else "", "red"),
        (f"  {clean_line(hit.told)}" if hit.told else "", "red" if _is_outdated(hit) else "dim"),
    )
    passage.print()
    if explain:
        out.line(f"   {explanation(hit.why)}", style="dim")
    for copy in hit.also if explain or verbose else ():
        out.line(f"   also {clean_line(copy.place)}", style="dim")
    out.line()


def _is_outdated(hit: records.Hit) -> bool:
    return hit.validity is not None and hit.validity.is_outdated


def about_hit(hit: records.Hit) -> str:
    """What a hit is, beside where: the declaration, or the title and the headings."""
    if hit.code is not None and (about := about_code(hit.code)):
        return about
    parts = dict.fromkeys((_title(hit.document), *hit.heading_path))
    return " › ".join(crop(clean_line(part), HEADING_CHARS) for part in parts if part)


def _title(info: records.DocumentInfo) -> str:
    """The title, unless it is only the file's name again."""
    return "" if info.path.endswith(info.title) else info.title


def explanation(why: records.Explanation) -> str:
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


def print_sources(out: Screen, context: records.Context) -> None:
    """What a packed context is made of."""
    for source in context.sources:
        note = "  cut to fit" if source.truncated else ""
        about = about_code(source.hit.code) if source.hit.code else ""
        parts = (clean_line(place_from_here(source.hit)), about, f"{source.hit.score:.2f}{note}")
        line = f"[{source.number}] " + "  ".join(part for part in parts if part)
        out.line(line, style="dim")
    left = f", {say_count(len(context.left_out), 'hit')} did not fit" if context.left_out else ""
    out.line(f"{context.tokens:,} of {say_count(context.budget_tokens, 'token')}{left}", style="dim")
    if context.detail and context.sources:
        render_code.print_warnings(out, context.detail)
    elif context.detail:
        out.line(clean_line(context.detail), style="yellow")


def print_documents(out: Screen, documents: Sequence[records.DocumentInfo]) -> None:
    """One line per document: id, collection, kind, chunks, path, title."""
    if not documents:
        out.line("no documents", style="dim")
        return
    ids = max(len(str(info.id)) for info in documents)
    names = max(len(info.collection) for info in documents)
    kinds = max(len(info.language or info.kind) for info in documents)
    for info in documents:
        chunks = f"{info.chunks:>4} {'chunk ' if info.chunks == 1 else 'chunks'}"
        title, tags = clean_line(_title(info)), " ".join(f"#{clean_line(tag)}" for tag in info.tags)
        out.line(
            (f"{info.id:>{ids}}", "bold"),
            f"  {clean_line(info.collection):<{names}}  ",
            (f"{info.language or info.kind:<{kinds}}  {chunks}", "dim"),
            (f"  {clean_line(path_from_here(info))}", "cyan"),
            (f"  {title}" if title else "", "green"),
            (f"  {tags}" if tags else "", "magenta"),
        )


def print_collections(out: Screen, collections: Sequence[records.CollectionInfo]) -> None:
    """A table of collections."""
    if not collections:
        out.line("no collections yet; `outcrop add FOLDER` makes one", style="dim")
        return
    heads = ("collection", "documents", "chunks", "updated")
    rows = [
        (clean_line(info.name), f"{info.documents:,}", f"{info.chunks:,}", say_moment(info.updated_at))
        for info in collections
    ]
    name, documents, chunks, updated = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    from_ = "  from" if any(info.roots for info in collections) else ""
    line = f"{heads[0]:<{name}}  {heads[1]:>{documents}}  {heads[2]:>{chunks}}  {heads[3]:<{updated}}{from_}"
    out.line(line.rstrip(), style="dim")
    gap = "\n" + " " * (name + documents + chunks + updated + 8)
    for info, (title, held, cut, moment) in zip(collections, rows, strict=True):
        roots = "  " + gap.join(_roots(info)) if info.roots else ""
        out.line((f"{title:<{name}}", "cyan"), f"  {held:>{documents}}  {cut:>{chunks}}  {moment}{roots}")


def _roots(info: records.CollectionInfo) -> list[str]:
    """What was added to a collection, one below the other; never cut, so that it can be opened."""
    more = len(info.roots) - ROOTS_SHOWN
    shown = [clean_line(root) for root in info.roots[:ROOTS_SHOWN]]
    return [*shown, f"and {more} more, which --json shows"] if more > 0 else shown


def print_facts(out: Screen, facts: Mapping[str, str]) -> None:
    """Names and values, in two columns."""
    width = max(map(len, facts))
    for name, value in facts.items():
        out.line((f"{name:<{width}}  ", "dim"), clean_line(value))


def document_facts(info: records.DocumentInfo) -> dict[str, str]:
    """What is known of a document."""
    facts = {
        "id": str(info.id),
        "collection": info.collection,
        "uri": info.uri,
        "kind": f"{info.kind}, {info.language}" if info.language else info.kind,
        "role": info.role,
        "title": info.title,
        "tags": ", ".join(info.tags),
        "size": f"{say_count(info.characters, 'character')}, {say_count(info.chunks, 'chunk')}",
        "indexed": say_moment(info.updated_at),
        "sha256": info.sha256,
        **{f"meta.{name}": show_value(value) for name, value in info.meta.items()},
    }
    return {name: value for name, value in facts.items() if value}


def print_status(out: Screen, status: records.Status) -> None:
    """The index in a few lines, then its collections."""
    stats = status.stats
    model = str(status.model)
    if status.index_model is not None and status.index_model != status.model:
        model += f", but the index was made with {status.index_model}: run `outcrop reembed`"
    print_facts(
        out,
        {
            "index": status.db,
            "size": f"{size(stats.bytes_on_disk)} database, {size(status.array_bytes)} search arrays",
            "holds": f"{say_count(stats.documents, 'document')}, {say_count(stats.chunks, 'chunk')}",
            "model": model,
            **({"text in": _name_languages(status.languages)} if status.languages else {}),
        },
    )
    out.line()
    print_collections(out, status.collections)


def _name_language(code: str) -> str:
    from outcrop.text.languages import name_language  # a plain search names none

    return name_language(code)


def _name_languages(chunks: Mapping[str, int]) -> str:
    named = [f"{_name_language(code)} {count:,}" for code, count in chunks.items()]
    more = f" and {len(named) - LANGUAGES_SHOWN} more" if len(named) > LANGUAGES_SHOWN else ""
    return ", ".join(named[:LANGUAGES_SHOWN]) + more


def print_stale(out: Screen, stale: Sequence[records.StaleDocument]) -> None:
    """Documents whose files have changed since they were indexed."""
    for item in stale:
        path, collection = clean_line(path_from_here(item.document)), item.document.collection
        out.line((f"{item.change:<10}", "red"), path, (f"  {collection}", "dim"))
    them = "it" if len(stale) == 1 else "them"
    advice = f"; `outcrop sync` brings {them} up to date" if stale else ""
    out.line(say_count(len(stale), "stale document") + advice, style="dim")


def print_checks(out: Screen, checks: Sequence[records.Check]) -> None:
    """One line per check."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark = ("✓ ", "green") if check.ok else ("✗ ", "bold red")
        detail = (clean_line(check.detail), "" if check.ok else "red")
        out.line(mark, f"{check.name:<{width}}  ", detail)


def size(count: int) -> str:
    """A size in a readable unit."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def say_moment(seconds: float) -> str:
    """A time of this machine's clock, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def say_age(seconds: float) -> str:
    """How long ago that was: `just now`, `3 hours ago`, `2 days ago`."""
    past = time.time() - seconds
    for unit, size_s in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if past >= size_s:
            return f"{say_count(int(past // size_s), unit)} ago"
    return "just now"
