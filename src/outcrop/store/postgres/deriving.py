"""What search looks up, written and removed in the transactions that change the chunks it is made of.

Postings are lists: a row has up to `LIST_ROWS` chunks of one term in one collection, packed (see `pack_list`). A write
adds a list for each of its terms; `join_lists` makes few long ones of many short ones when enough have come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from psycopg import sql

from outcrop.records import FeedRow
from outcrop.records.derived import Derived, Deriver, TermRows, pack_words, unpack_words
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.values import Half, copy_rows, half_vectors, plain_row
from outcrop.store.postgres.vectors import ACTIVE, active_model, fresh, points
from outcrop.store.rows import FEED_COLUMNS, feed_rows
from outcrop.system.arrays import NDArray, is_among

LIST_ROWS: Final = 1024
"""Chunks of one list: 7 kB, read whole by a search and written whole when one of them goes (not measured)."""
FEED_ROWS: Final = 2048
"""Chunks derived at a time: bounds memory."""
REMOVED_AT_ONCE: Final = 4096
MANY_LISTS: Final = 32
"""Short lists of one term before they are joined: what a search reads in one go anyway (not measured)."""
TERMS_AT_ONCE: Final = 2000

_POSTING: Final = np.dtype([("away", "<u4"), ("length", "<u2"), ("frequency", "u1")])
"""A chunk in a list: how far its id is from the first, how long it is, how often it holds the term. One after the
other, so that concatenated lists can be read as one."""


def pack_list(
    chunk_ids: NDArray[np.int64], frequencies: NDArray[np.uint8], lengths: NDArray[np.uint16]
) -> bytes:
    """Chunks of one term."""
    packed = np.empty(len(chunk_ids), _POSTING)
    packed["away"] = chunk_ids - chunk_ids[0]
    packed["length"] = lengths
    packed["frequency"] = frequencies
    return packed.tobytes()


def unpack_lists(firsts: Sequence[int], counts: Sequence[int], packed_lists: bytes) -> TermRows:
    """What `pack_list` packed, for several lists concatenated; ascending if they are."""
    packed = np.frombuffer(packed_lists, _POSTING)
    ids = packed["away"] + np.repeat(np.array(firsts, np.int64), counts)
    return TermRows(ids, np.ascontiguousarray(packed["frequency"]), np.ascontiguousarray(packed["length"]))


def in_order(rows: TermRows) -> TermRows:
    """The same, ascending: lists of several collections, or of renumbered documents, overlap."""
    if not np.any(rows.chunk_ids[1:] < rows.chunk_ids[:-1]):
        return rows
    return rows.take(np.argsort(rows.chunk_ids))


# ------------------------------------------------------------------ adding


def derive_chunks(connection: Connection, deriver: Deriver, chunk_ids: Sequence[int]) -> None:
    """Derive and store what search looks up of chunks that were just written."""
    active = active_model(connection)
    assert active is not None  # noqa: S101  the first write sets it before there are chunks
    number, model = active
    for start in range(0, len(chunk_ids), FEED_ROWS):
        part = list(chunk_ids[start : start + FEED_ROWS])
        placed, feed = _feed(connection, "c.id = ANY (%s)", (part,))
        for collection_id, chosen in _by_collection(placed).items():
            derived = deriver.derive([feed[i] for i in chosen], model.dimensions)
            places = [placed[i] for i in chosen]
            _put_rows(connection, collection_id, places, derived)
            _put_postings(connection, collection_id, [place[0] for place in places], derived)
            _put_declared(connection, collection_id, places, derived)
            put_points(connection, fresh(number), collection_id, places, derived)


Place = tuple[int, int, int, int, bool]
"""Chunk id, collection id, document id, position, whether it is code."""


def _feed(
    connection: Connection, condition: str, values: Sequence[Any], limit: int | None = None
) -> tuple[list[Place], list[FeedRow]]:
    rows = connection.execute(
        f"SELECT {FEED_COLUMNS}, c.collection_id, c.position FROM {FEED_TABLES} WHERE {condition}"
        " ORDER BY c.id LIMIT %s",
        (*values, limit),
        binary=True,
    ).fetchall()
    places = [(row[0], row[-2], row[1], row[-1], row[2] == "code") for row in rows]
    return places, feed_rows(plain_row(row[:-2]) for row in rows)


_NOTED = "LEFT JOIN notes n ON n.chunk_id = c.id"
FEED_TABLES: Final = (
    "chunks c JOIN documents d ON d.id = c.document_id"
    f" LEFT JOIN vectors v ON v.key = c.text_key AND v.model_id = {ACTIVE}"
    f" LEFT JOIN vectors p ON p.key = d.path_key AND p.model_id = {ACTIVE} {_NOTED}"
    f" LEFT JOIN vectors s ON s.key = n.summary_key AND s.model_id = {ACTIVE}"
)


def _by_collection(places: Sequence[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for i, place in enumerate(places):
        found.setdefault(place[1], []).append(i)
    return found


def _put_rows(connection: Connection, collection_id: int, places: Sequence[Place], derived: Derived) -> None:
    columns = zip(places, derived.lengths.tolist(), _by_row(derived), derived.facts, strict=True)
    copy_rows(
        connection,
        "rows (chunk_id, collection_id, document_id, position, code, length, words, facts)",
        ["int8", "int4", "int8", "int4", "bool", "int4", "bytea", "bytea"],
        ((*place, length, words, facts) for place, length, words, facts in columns),
    )
    connection.execute(
        "UPDATE collections SET chunks = chunks + %s, terms = terms + %s WHERE id = %s",
        (len(places), int(derived.lengths.sum(dtype=np.int64)), collection_id),
    )


def _by_row(derived: Derived) -> list[bytes]:
    """The terms of each row, packed."""
    terms = np.repeat(derived.terms, np.diff(derived.offsets))
    order = np.argsort(derived.rows, kind="stable")  # terms ascend within a row, as they do in all
    bounds = np.searchsorted(derived.rows[order], np.arange(len(derived.lengths) + 1))
    terms, frequencies = terms[order], derived.frequencies[order]
    return [
        pack_words(terms[start:end], frequencies[start:end])
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _put_postings(
    connection: Connection, collection_id: int, chunk_ids: Sequence[int], derived: Derived
) -> None:
    ids = np.array(chunk_ids, np.int64)[derived.rows]
    lengths = np.minimum(derived.lengths, 65_535).astype(np.uint16)[derived.rows]
    every, ends = TermRows(ids, derived.frequencies, lengths), pairwise(derived.offsets.tolist())
    terms = zip(derived.terms.tolist(), ends, strict=True)
    _copy_lists(connection, ((term, collection_id, every.take(slice(*part))) for term, part in terms))


def _copy_lists(connection: Connection, lists: Iterable[tuple[int, int, TermRows]]) -> None:
    """Write the chunks of terms, each in a collection, as lists of limited length."""
    columns = "term, collection_id, first_chunk, last_chunk, count, packed"
    types = ["int8", "int4", "int8", "int8", "int4", "bytea"]
    copy_rows(connection, f"postings ({columns})", types, (row for each in lists for row in _cut_list(*each)))


def _cut_list(term: int, collection_id: int, rows: TermRows) -> Iterable[tuple[int, int, int, int, int, bytes]]:
    for start in range(0, len(rows.chunk_ids), LIST_ROWS):
        part = rows.take(slice(start, start + LIST_ROWS))
        ids = part.chunk_ids
        packed = pack_list(ids, part.frequencies, part.lengths)
        yield term, collection_id, int(ids[0]), int(ids[-1]), len(ids), packed


def _put_declared(
    connection: Connection, collection_id: int, places: Sequence[Place], derived: Derived
) -> None:
    copy_rows(
        connection,
        "declared (name, collection_id, chunk_id, document_id, scope, kind, mark)",
        ["int8", "int4", "int8", "int8", "int8", "int2", "int2"],
        (
            (name, collection_id, places[row][0], places[row][2], *about)
            for name, row, *about in derived.declared.tolist()
        ),
    )


def put_points(
    connection: Connection, table: str, collection_id: int, places: Sequence[Place], derived: Derived
) -> None:
    """Keep the vectors by which chunks are found: part 0 of their texts, part 1 of their summaries."""
    lines: list[tuple[int, int, int, int, Half]] = []
    has = np.flatnonzero(derived.vectors.any(axis=1))
    for row, half in zip(has.tolist(), half_vectors(derived.vectors[has]), strict=True):
        lines.append((places[row][0], 0, collection_id, places[row][2], half))
    for row, half in zip(derived.noted.tolist(), half_vectors(derived.summary_vectors), strict=True):
        lines.append((places[row][0], 1, collection_id, places[row][2], half))
    target = f"{table} (chunk_id, part, collection_id, document_id, embedding)"
    copy_rows(connection, target, ["int8", "int2", "int4", "int8", "halfvec"], lines)


def feed_points(connection: Connection, deriver: Deriver, table: str, dimensions: int) -> int:
    """Keep the vectors of all chunks in a table that has none yet; how many chunks there are."""
    last = count = 0
    while True:
        placed, feed = _feed(connection, "c.id > %s", (last,), limit=FEED_ROWS)
        if not placed:
            return count
        for collection_id, chosen in _by_collection(placed).items():
            derived = deriver.derive([feed[i] for i in chosen], dimensions)
            put_points(connection, table, collection_id, [placed[i] for i in chosen], derived)
        last, count = placed[-1][0], count + len(placed)


# ------------------------------------------------------------------ removing


def forget_chunks(connection: Connection, chunk_ids: Sequence[int]) -> None:
    """Remove everything that search looks up of these chunks; needs their rows in `rows`."""
    ordered = sorted(chunk_ids)
    active = active_model(connection)
    for start in range(0, len(ordered), REMOVED_AT_ONCE):
        part = ordered[start : start + REMOVED_AT_ONCE]
        gone = connection.execute(
            "DELETE FROM rows WHERE chunk_id = ANY (%s) RETURNING chunk_id, collection_id, length, words",
            (part,),
            binary=True,
        ).fetchall()
        connection.execute("DELETE FROM declared WHERE chunk_id = ANY (%s)", (part,))
        for table in (points(active[0]), fresh(active[0])) if active else ():
            connection.execute(
                sql.SQL("DELETE FROM {} WHERE chunk_id = ANY (%s)").format(sql.Identifier(table)), (part,)
            )
        for collection_id in {row[1] for row in gone}:
            mine = [row for row in gone if row[1] == collection_id]
            connection.execute(
                "UPDATE collections SET chunks = chunks - %s, terms = terms - %s WHERE id = %s",
                (len(mine), sum(row[2] for row in mine), collection_id),
            )
            _thin_out(connection, collection_id, mine)


def _thin_out(connection: Connection, collection_id: int, gone: Sequence[tuple[Any, ...]]) -> None:
    """Remove some chunks from the lists of their terms."""
    ids = np.array(sorted(row[0] for row in gone), np.int64)
    terms = np.unique(np.concatenate([unpack_words(row[3])[0] for row in gone]))
    emptied: list[tuple[int, int]] = []
    changed: list[tuple[int, int, int, bytes]] = []
    for start in range(0, len(terms), TERMS_AT_ONCE):
        lists = connection.execute(
            "SELECT l.* FROM unnest(%s::bigint[]) AS t (term) CROSS JOIN LATERAL"
            " (SELECT term, first_chunk, count, packed FROM postings WHERE term = t.term AND collection_id = %s"
            " AND first_chunk <= %s AND last_chunk >= %s OFFSET 0) l",
            (terms[start : start + TERMS_AT_ONCE].tolist(), collection_id, int(ids[-1]), int(ids[0])),
            binary=True,
        )
        for term, first, count, packed_list in lists:
            packed = np.frombuffer(packed_list, _POSTING)
            keep = ~is_among(packed["away"] + first, ids)
            left = int(keep.sum())
            if left == count:
                continue
            if not left:
                emptied.append((term, first))
                continue
            changed.append((term, first, left, packed[keep].tobytes()))
    if emptied:
        connection.execute(
            "DELETE FROM postings p USING unnest(%s::bigint[], %s::bigint[]) AS u (term, first)"
            " WHERE p.term = u.term AND p.collection_id = %s AND p.first_chunk = u.first",
            ([term for term, _ in emptied], [first for _, first in emptied], collection_id),
        )
    if changed:
        connection.execute(
            "UPDATE postings p SET count = u.count, packed = u.packed"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::bytea[]) AS u (term, first, count, packed)"
            " WHERE p.term = u.term AND p.collection_id = %s AND p.first_chunk = u.first",
            (*(list(column) for column in zip(*changed, strict=True)), collection_id),
        )


# ------------------------------------------------------------------ maintenance


def join_lists(connection: Connection) -> int:
    """Join the short lists of those terms that have many; how many terms there were."""
    crowded = connection.execute(
        "SELECT term, collection_id FROM postings WHERE count < %s GROUP BY term, collection_id HAVING count(*) > %s",
        (LIST_ROWS // 2, MANY_LISTS),
    ).fetchall()
    for start in range(0, len(crowded), TERMS_AT_ONCE):
        part = crowded[start : start + TERMS_AT_ONCE]
        gone = connection.execute(
            "DELETE FROM postings p USING unnest(%s::bigint[], %s::int[]) AS u (term, collection_id)"
            " WHERE p.term = u.term AND p.collection_id = u.collection_id AND p.count < %s"
            " RETURNING p.term, p.collection_id, p.first_chunk, p.count, p.packed",
            ([term for term, _ in part], [id_ for _, id_ in part], LIST_ROWS // 2),
            binary=True,
        ).fetchall()
        by_term: dict[tuple[int, int], list[tuple[int, int, bytes]]] = {}
        for term, collection_id, first, count, packed in sorted(gone):
            by_term.setdefault((term, collection_id), []).append((first, count, packed))
        columns = {key: list(zip(*lists, strict=True)) for key, lists in by_term.items()}
        joined = {
            key: in_order(unpack_lists(firsts, counts, b"".join(packed)))
            for key, (firsts, counts, packed) in columns.items()
        }
        _copy_lists(connection, ((*key, whole) for key, whole in joined.items()))
    return len(crowded)
