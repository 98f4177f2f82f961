"""Several queries made of one text become one order: what each of them found is summed by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from outcrop.records.candidates import Candidates, Floats
from outcrop.system.arrays import NDArray, numbered


def fuse_clauses(found: Sequence[Candidates], weights: Sequence[float], cutoff: float = 0.0) -> Candidates:
    """The rows that the clauses put in order, each once, described by the clause that speaks for it most.

    A row's score is the weighted mean over the clauses, 0 where one did not find it. The best row of a document gets
    that of the document: clauses that find different places in one file agree on the file. `cutoff` drops rows below
    this share of the best score.
    """
    asked = [(part, weight) for part, weight in zip(found, weights, strict=True) if len(part.order)]
    if not asked:
        return found[0]
    share = np.array([weight for _, weight in asked], np.float32) / np.float32(sum(weights))
    found = [part for part, _ in asked]
    lengths = [len(part.order) for part in found]
    # Each clause has terms of its own.
    every = Candidates.join(
        [part.put(order=part.order[:0], times=part.times[:0]).take(part.order) for part in found]
    )
    given: Floats = np.repeat(share, lengths) * np.maximum(every.final, 0)
    chunks, chunk = numbered(every.chunk_id)
    total = np.bincount(chunk, given, len(chunks))
    documents, document = numbered(every.document_id)
    agreed = np.zeros((len(found), len(documents)))
    np.maximum.at(agreed, (np.repeat(np.arange(len(found)), lengths), document), given)
    told = _best_of_each(chunk, given)
    total, document = total[chunk[told]], document[told]
    leads = _best_of_each(document, total)
    total[leads] = agreed.sum(axis=0)[document[leads]]
    rows, final = every.take(told), total.astype(np.float32)
    boosts = _join([part.boosts for part in found], [part.order for part in found], told)
    order = np.lexsort((rows.chunk_id, -final))
    return rows.put(
        kind=found[0].kind,
        held=_join([part.held for part in found], [part.order for part in found], told),
        final=final,
        boosts={**boosts, "clauses": final - rows.final},
        order=order[final[order] >= cutoff * final.max(initial=0)],
    )


def _best_of_each(group: NDArray[np.intp], score: NDArray[Any]) -> NDArray[np.intp]:
    """For each group the place of its best score; of equal ones the first."""
    order = np.lexsort((-score, group))
    return order[np.diff(group[order], prepend=-1) > 0]


def _join(
    named: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.intp]], told: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    """Columns that go by names, as those of the rows are joined; what one of them lacks is 0 there."""
    names = dict.fromkeys(name for columns in named for name in columns)
    some = {name: next(columns[name] for columns in named if name in columns) for name in names}
    return {
        name: np.concatenate(
            [
                columns[name][order] if name in columns else np.zeros(len(order), some[name].dtype)
                for columns, order in zip(named, orders, strict=True)
            ]
        )[told]
        for name in names
    }
