"""Is the index right? Which documents are stale, and what is damaged."""

from __future__ import annotations

from typing import Final

from outcrop.contracts import Embedder, Store
from outcrop.embed.keys import context_parts, path_key, text_key
from outcrop.index.seam import Index
from outcrop.records import Check, DocumentWrite, Filter, StaleDocument
from outcrop.sources.revisions import change_of
from outcrop.system.limits import check_wanted
from outcrop.system.machine import install_command

EXAMINED_DOCUMENTS: Final = 256
SHOWN_DOCUMENTS: Final = 5
"""Documents that the doctor reads at a time, and those that it names (not measured)."""


def find_stale(store: Store, where: Filter, max_bytes: int) -> list[StaleDocument]:
    """Documents whose files changed or vanished since they were indexed."""
    stale = []
    for document in store.documents(where):
        check_wanted()
        if (change := change_of(document, max_bytes)) is not None:
            stale.append(StaleDocument(document, change))
    return stale


def examine(store: Store, index: Index, embedder: Embedder, *, repair: bool = False) -> list[Check]:
    """Examine the database, what is derived from it, and the model; `repair` rebuilds damaged arrays."""
    problems = [*store.check(), *examine_content(store)]
    checks = [Check("database", not problems, "; ".join(problems) or "consistent")]
    damaged = list(index.check())
    if damaged and repair:
        index.rebuild()
        checks.append(Check("search arrays", True, "were damaged, made again"))
    else:
        hint = "; run with --repair" if damaged else ""
        checks.append(Check("search arrays", not damaged, ("; ".join(damaged) or "whole") + hint))
    stored = store.active_model()
    same = stored is None or stored == embedder.model
    detail = str(embedder.model) if same else f"{stored} is stored, {embedder.model} in use: reembed"
    checks.append(Check("model", same, detail))
    damage = getattr(embedder, "damage", None)  # only a model that ships with files can be damaged
    if damage is not None:
        broken = damage()
        checks.append(Check("model files", not broken, "; ".join(broken) or "whole"))
    return [*checks, examine_languages()]


def examine_content(store: Store) -> list[str]:
    """Documents whose text, title or path is not what was written. Each passage is stored under an address made of its
    content, so a disk that changes a single letter is caught."""
    wrong: list[str] = []
    last = 0
    while batch := store.export(last, EXAMINED_DOCUMENTS):
        wrong += [write.file.path for _, write in batch if not _is_as_written(write)]
        last = batch[-1][0]
    if not wrong:
        return []
    names = ", ".join(wrong[:SHOWN_DOCUMENTS]) + (" …" if len(wrong) > SHOWN_DOCUMENTS else "")
    return [
        f"documents that are not what was written: {len(wrong)} ({names}); check the disk, then read them again with"
        " `outcrop sync --force`"
    ]


def _is_as_written(write: DocumentWrite) -> bool:
    title, kind = write.document.title, write.document.kind
    keys = tuple(
        text_key(*context_parts(title, chunk.heading_path, chunk.text, kind)) for chunk in write.chunks
    )
    return keys == write.text_keys and path_key(write.file.path) == write.path_key


def examine_languages() -> Check:
    """Which grammars are not installed. Not a fault: whoever has no such files needs none."""
    from outcrop.parse.code import missing_grammars  # loads tree-sitter, which most commands never need

    missing = missing_grammars()
    advice = (
        f"read by lines; for their declarations `{install_command('languages')}`, then `outcrop sync --force`"
    )
    return Check("languages", True, f"{', '.join(missing)}: {advice}" if missing else "all grammars are here")
