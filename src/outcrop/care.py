"""CARE: what keeps an index right over the years: what is stale, another model, what is damaged."""

from __future__ import annotations

from collections.abc import Callable

from outcrop.contracts import Embedder, Store
from outcrop.embed.batches import BATCH_TEXTS, embed_all
from outcrop.embed.keys import context_text
from outcrop.errors import Cancelled
from outcrop.records import Check, Filter, Progress, StaleDocument
from outcrop.search.arrays import SearchArrays
from outcrop.sources.freshness import change_of


def find_stale(store: Store, where: Filter, max_bytes: int) -> list[StaleDocument]:
    """Documents whose files changed or vanished since they were indexed (D5)."""
    changes = ((document, change_of(document, max_bytes)) for document in store.documents(where))
    return [StaleDocument(document, change) for document, change in changes if change is not None]


def examine(store: Store, arrays: SearchArrays, embedder: Embedder, *, repair: bool = False) -> list[Check]:
    """Examine the truth, what is derived from it and the model; `repair` makes damaged arrays again."""
    problems = list(store.check())
    checks = [Check("database", not problems, "; ".join(problems) or "consistent")]
    damaged = list(arrays.check())
    if damaged and repair:
        arrays.rebuild()
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
    return checks


def reembed(
    store: Store,
    embedder: Embedder,
    progress: Callable[[Progress], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> int:
    """Give every chunk and path a vector of this model, batch by batch, then switch to it; how many were made."""
    made = 0
    model = embedder.model
    total = store.stats().chunks if progress is not None else None
    while waiting := store.unembedded(model, BATCH_TEXTS):
        ids = {chunk_id: key for key, chunk_id in waiting}
        texts = {
            ids[chunk.id]: context_text(chunk.document.title, chunk.heading_path, chunk.text)
            for chunk in store.chunks(list(ids))
        }
        store.add_vectors(model, embed_all(embedder.embed_documents, texts))
        made += len(texts)
        if progress is not None:
            progress(Progress(made, total, made, "", "embed"))
        if stopped is not None and stopped():
            raise Cancelled("stopped; the old vectors still serve, run it again to go on")
    while waiting := store.unembedded_summaries(model, BATCH_TEXTS):
        ids = {chunk_id: key for key, chunk_id in waiting}
        summaries = {ids[chunk.id]: chunk.code.summary for chunk in store.chunks(list(ids)) if chunk.code}
        store.add_vectors(model, embed_all(embedder.embed_documents, summaries))
        if stopped is not None and stopped():
            raise Cancelled("stopped; the old vectors still serve, run it again to go on")
    while waiting := store.unembedded_paths(model, BATCH_TEXTS):
        paths = {key: info.path for key, info in ((key, store.document(i)) for key, i in waiting) if info}
        store.add_vectors(model, embed_all(embedder.embed_paths, paths))
    if store.active_model() != model:
        store.activate(model)
    return made
