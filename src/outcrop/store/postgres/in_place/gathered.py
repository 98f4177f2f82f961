"""Segments of the few rows that one search needs, made from what the store returns; and the part of the reference graph
that starts at a few chunks.

An edge is a use of a name joined with a declaration by evidence (see `graph`). All that takes part in that for some
chunks are the names they use, what their files import, and who declares those names: that is looked up, and the graph
of it has the same edges from those chunks as the graph of the whole index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from outcrop.contracts import SearchableStore
from outcrop.index.columns import quantize
from outcrop.index.evidence import IMPORT, MAX_DECLARED
from outcrop.index.graph import Graph
from outcrop.index.names import LOCAL, MODULE, NAME_ARRAYS, PRIVATE, Names
from outcrop.index.segment import Segment, View
from outcrop.records.derived import ChunkRows, DeclaredRows
from outcrop.store.postgres.in_place.derive import OF_FILE, Facts, place_facts, unpack_facts
from outcrop.system.arrays import NDArray, distinct, is_among

Ids = NDArray[np.int64]

_NOTHING_USED: Final = {
    name: np.zeros(0, kind) for name, kind in NAME_ARRAYS.items() if not name.startswith("defined")
}


def segment_of_rows(rows: ChunkRows, terms: Collection[int], declared: DeclaredRows) -> Segment:
    """The rows as a segment that knows these terms and these declarations, and no names that are used."""
    return _segment(
        rows.chunk_ids,
        rows.document_ids,
        rows.code,
        np.arange(len(rows.chunk_ids), dtype=np.uint32),  # each row has what is known of its file by itself
        unpack_facts(rows.facts),
        names_of(rows.chunk_ids, declared, _NOTHING_USED),
        lengths=rows.lengths,
        positions=rows.positions,
        **postings_of(rows.words, terms),
        **quantize(
            rows.vectors.astype(np.float32), rows.noted, rows.summary_vectors.astype(np.float32), signs=False
        ),
    )


def segment_of_names(
    chunk_ids: NDArray[np.int64],
    document_ids: NDArray[np.int64],
    files: NDArray[np.uint32],
    facts: Facts,
    declared: DeclaredRows,
    used: dict[str, NDArray[Any]],
) -> Segment:
    """A segment that knows names only, for the reference graph; `facts` are those of files, of which `files` tells that
    of each row, and `used` has the columns of that name."""
    return _segment(
        chunk_ids,
        document_ids,
        np.ones(len(chunk_ids), np.bool_),
        files,
        facts,
        names_of(chunk_ids, declared, used),
        lengths=np.zeros(len(chunk_ids), np.uint32),
        **_NO_POSTINGS,
        **quantize(
            np.zeros((len(chunk_ids), 0), np.float32), np.zeros(0, np.uint32), np.zeros((0, 0), np.float32)
        ),
    )


def _segment(
    chunk_ids: NDArray[np.int64],
    document_ids: NDArray[np.int64],
    code: NDArray[np.bool_],
    files: NDArray[np.uint32],
    facts: Facts,
    names: Names,
    **others: Any,
) -> Segment:
    of_file = {name: getattr(facts, name) for name in OF_FILE}
    return Segment(
        chunk_ids=chunk_ids,
        document_ids=document_ids,
        code=code,
        files=files,
        **(of_file | {name: of_file[name][files] for name in ("roles", "families")}),
        names=names,
        pairs=np.zeros((0, len(chunk_ids)), np.uint8),  # phrases are looked up by the store
        **others,
    )


def postings_of(words: Sequence[bytes], terms: Collection[int]) -> dict[str, Any]:
    """Which rows hold each of these terms and how often, from the packed words of each row (see `derived`)."""
    wanted = np.sort(np.fromiter(terms, np.uint64, len(terms)))
    counts = np.fromiter((len(packed) // 9 for packed in words), np.int64, len(words))
    parts = [np.frombuffer(packed, "<u8", count) for packed, count in zip(words, counts.tolist(), strict=True)]
    every = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    held = np.flatnonzero(is_among(every, wanted))
    ends = np.cumsum(counts)
    rows = np.searchsorted(ends, held, side="right")
    # Where the frequency stands among the bytes of all rows: behind the terms of its own row.
    at = held + 8 * ends[rows]
    frequencies = np.frombuffer(b"".join(words), np.uint8)[at]
    numbers = every[held]
    order = np.argsort(numbers, kind="stable")
    found, starts = np.searchsorted(wanted, numbers[order]), np.arange(len(wanted) + 1)
    return {
        "terms": wanted,
        "offsets": np.searchsorted(found, starts).astype(np.uint32),
        "rows": rows[order].astype(np.uint32),
        "frequencies": frequencies[order],
    }


_NO_POSTINGS: Final = postings_of((), ())


def names_of(chunk_ids: NDArray[np.int64], declared: DeclaredRows, used: dict[str, NDArray[Any]]) -> Names:
    """The names of rows: of the declarations those in one of the chunks, which ascend."""
    here = np.flatnonzero(is_among(declared.chunk_ids, chunk_ids))
    rows = np.searchsorted(chunk_ids, declared.chunk_ids[here])
    order = np.lexsort((rows, declared.names[here]))
    here = here[order]
    return Names(
        defined=declared.names[here],
        defined_rows=rows[order].astype(np.uint32),
        defined_scopes=declared.scopes[here],
        defined_kinds=declared.kinds[here],
        defined_marks=declared.marks[here],
        **used,
    )


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
    own = own.take(~is_among(own.names, distinct(declared.names)))
    chunks = distinct(np.concatenate((near.chunk_ids, declared.chunk_ids)))
    documents = np.zeros(len(chunks), np.int64)
    documents[np.searchsorted(chunks, declared.chunk_ids)] = declared.document_ids
    place = np.searchsorted(chunks, near.chunk_ids)
    documents[place] = near.document_ids
    # What the graph wants to know of a file any of its chunks can tell, so one of each is read.
    meant = declared.take(_may_be_meant(declared, used) & ~is_among(declared.document_ids, document_ids))
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
        declared.join(own),
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
        declared.take(~is_among(declared.names, common)),
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
