"""The part of the reference graph that starts at a few chunks, in a store that is searched in place.

An edge is a use of a name joined with a declaration by evidence (see `graph`). All that takes part in that for some
chunks are the names they use, what their files import, and who declares those names: that is looked up, and the graph
of it has the same edges from those chunks as the graph of the whole index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from outcrop.contracts import SearchableStore
from outcrop.index.evidence import IMPORT, MAX_DECLARED
from outcrop.index.graph import Graph
from outcrop.index.names import LOCAL, MODULE, PRIVATE
from outcrop.index.segment import View
from outcrop.records.derived import DeclaredRows
from outcrop.store.postgres.in_place.derive import place_facts, unpack_facts
from outcrop.store.postgres.in_place.gathered import join_declared, segment_of_names, take_declared
from outcrop.system.arrays import NDArray, distinct, is_among

Ids = NDArray[np.int64]


def graph_around(store: SearchableStore, chunk_ids: Ids, document_ids: Ids) -> Graph:
    """A graph with all edges that leave some chunks, which are in these documents; both ascend."""
    near = store.document_facts(document_ids)
    facts = unpack_facts(near.facts)
    used = facts.uses()
    # Of other chunks of the same files only the imports matter.
    matter = is_among(near.chunk_ids, chunk_ids)[used["used_rows"]] | (used["used_kinds"] == IMPORT)
    used = _take_used(used, matter)
    declared = store.declaring(distinct(used["used"]).tolist(), MAX_DECLARED + 1)
    declared, used = _without_common(declared, used)
    own = store.declared_in(near.chunk_ids)  # a chunk stands in the class of which it declares a part
    own = take_declared(own, ~is_among(own.names, distinct(declared.names)))
    chunks = distinct(np.concatenate((near.chunk_ids, declared.chunk_ids)))
    documents = np.zeros(len(chunks), np.int64)
    documents[np.searchsorted(chunks, declared.chunk_ids)] = declared.document_ids
    place = np.searchsorted(chunks, near.chunk_ids)
    documents[place] = near.document_ids
    # What the graph wants to know of a file any of its chunks can tell, so one of each is read.
    meant = take_declared(
        declared, _may_be_meant(declared, used) & ~is_among(declared.document_ids, document_ids)
    )
    far = store.chunk_facts(distinct(meant.chunk_ids[_first_of_each(meant.document_ids)]))
    first = _first_of_each(near.document_ids)
    told = np.concatenate((near.document_ids[first], far.document_ids))
    files = distinct(documents)
    known = unpack_facts([*(near.facts[row] for row in first.tolist()), *far.facts])
    used["used_rows"] = place[used["used_rows"]].astype(np.uint32)
    segment = segment_of_names(
        chunks,
        documents,
        np.searchsorted(files, documents).astype(np.uint32),
        place_facts(known, np.searchsorted(files, told), len(files)),
        join_declared(declared, own),
        used,
    )
    return Graph(View((segment,), (np.zeros(len(segment), np.bool_),), 0, None, 0, 0))


def _first_of_each(values: Ids) -> NDArray[np.intp]:
    """Where each value stands first."""
    order = np.argsort(values, kind="stable")
    fresh = np.ones(len(values), np.bool_)
    fresh[1:] = values[order][1:] != values[order][:-1]
    return order[fresh]


def _take_used(used: dict[str, NDArray[Any]], which: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    kept = {name: column[which] for name, column in used.items() if name != "used_order"}
    return {**kept, "used_order": np.argsort(kept["used"], kind="stable").astype(np.uint32)}


def _without_common(
    declared: DeclaredRows, used: dict[str, NDArray[Any]]
) -> tuple[DeclaredRows, dict[str, NDArray[Any]]]:
    """Without the names that are declared too often to be joined."""
    names = distinct(declared.names)
    often = np.searchsorted(declared.names, names, side="right") - np.searchsorted(declared.names, names)
    common = names[often > MAX_DECLARED]
    return (
        take_declared(declared, ~is_among(declared.names, common)),
        _take_used(used, ~is_among(used["used"], common)),
    )


def _may_be_meant(declared: DeclaredRows, used: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Which declarations a use can mean at all, so that more must be known of them: modules, and those written in the
    same case, unless they stand inside a function of another file. The others only count."""
    kinds = declared.kinds & ~np.uint8(PRIVATE)
    written = np.sort(_spelled(used["used"], used["used_marks"]))
    spelled = is_among(_spelled(declared.names, declared.marks), written)
    may: NDArray[np.bool_] = (kinds >= MODULE) | (spelled & (kinds != LOCAL))
    return may


def _spelled(names: NDArray[np.uint64], marks: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A name with its mark as one number: names are 48 bits wide."""
    result: NDArray[np.uint64] = (names << np.uint64(8)) | marks
    return result
