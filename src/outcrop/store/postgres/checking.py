"""Counts, and the full consistency check."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from outcrop.records import StoreStats
from outcrop.store.postgres.connections import Connection
from outcrop.store.postgres.deriving import unpack_lists
from outcrop.store.postgres.vectors import ACTIVE, active_model, fresh, points
from outcrop.store.sql import RULES, Rule, broken_rules

_PENDING: Final = "SELECT document_id FROM pending"

_RULES: Final[tuple[Rule, ...]] = (
    (
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM rows WHERE chunk_id = c.id)",
        "chunks are not in the keyword index: {}",
    ),
    (
        "SELECT count(*) FROM rows r WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE id = r.chunk_id"
        " AND document_id = r.document_id AND position = r.position AND collection_id = r.collection_id)",
        "rows of the keyword index belong to no chunk: {}",
    ),
    (
        "SELECT count(*) FROM collections k WHERE (chunks, terms) != (SELECT count(*), coalesce(sum(length), 0)"
        " FROM rows WHERE collection_id = k.id)",
        "collections do not hold as many chunks or terms as they say: {}",
    ),
    (
        f"SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = c.text_key AND model_id = {ACTIVE})"
        f" AND c.document_id NOT IN ({_PENDING})",
        "chunks have no vector of the active model: {}",
    ),
    (
        f"SELECT count(*) FROM documents d WHERE length(d.path_key) > 0 AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = d.path_key AND model_id = {ACTIVE}) AND d.id NOT IN ({_PENDING})",
        "documents have no path vector of the active model: {}",
    ),
    (
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE text_key = v.key)"
        " AND NOT EXISTS (SELECT 1 FROM documents WHERE path_key = v.key)"
        " AND NOT EXISTS (SELECT 1 FROM notes WHERE summary_key = v.key)",
        "vectors belong to no chunk, no summary and no path: {}",
    ),
    (
        "SELECT count(*) FROM vectors v LEFT JOIN models m ON m.id = v.model_id"
        " WHERE m.id IS NULL OR length(v.vector) != 2 * m.dimensions",
        "vectors do not have the size of their model: {}",
    ),
    (
        f"SELECT count(*) FROM notes n WHERE length(n.summary_key) > 0 AND NOT EXISTS"
        f" (SELECT 1 FROM vectors WHERE key = n.summary_key AND model_id = {ACTIVE})"
        f" AND n.chunk_id NOT IN (SELECT id FROM chunks WHERE document_id IN ({_PENDING}))",
        "summaries have no vector of the active model: {}",
    ),
    (
        "SELECT count(*) FROM notes n WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE id = n.chunk_id)",
        "notes belong to no chunk: {}",
    ),
    (
        "SELECT count(*) FROM declared n WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE id = n.chunk_id)",
        "names belong to no chunk: {}",
    ),
    (
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = c.document_id"
        " AND collection_id = c.collection_id)",
        "chunks belong to no document: {}",
    ),
    (
        "SELECT count(*) FROM (SELECT 1 FROM documents GROUP BY collection, uri HAVING count(*) > 1) twice",
        "documents are there twice: {}",
    ),
    (
        "SELECT count(*) FROM documents d LEFT JOIN (SELECT document_id, max(end_offset) AS last"
        " FROM chunks GROUP BY document_id) c ON c.document_id = d.id"
        " WHERE char_count != length(tail) + coalesce(last, 0) AND strpos(tail, chr(26)) = 0",  # an escaped NUL is two
        "documents do not have as many characters as they should: {}",
    ),
    *RULES,
)


def find_problems(connection: Connection) -> list[str]:
    """One sentence for each thing that is wrong; run it inside a snapshot."""
    return [
        *broken_rules(partial(_count, connection), (*_RULES, *_point_rules(connection))),
        *_list_problems(connection),
    ]


def _point_rules(connection: Connection) -> list[Rule]:
    """What must hold of the vectors that are searched."""
    active = active_model(connection)
    if active is None:
        return []
    both = f"SELECT chunk_id, part FROM {points(active[0])} UNION ALL SELECT chunk_id, part FROM {fresh(active[0])}"
    return [
        (
            f"SELECT count(*) FROM ({both}) p WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE id = p.chunk_id)",
            "vectors for search belong to no chunk: {}",
        ),
        (
            f"SELECT count(*) FROM (SELECT 1 FROM ({both}) p GROUP BY chunk_id, part HAVING count(*) > 1) twice",
            "vectors for search are there twice: {}",
        ),
        (
            f"SELECT count(*) FROM chunks c JOIN vectors v ON v.key = c.text_key AND v.model_id = {ACTIVE}"
            f" WHERE NOT EXISTS (SELECT 1 FROM ({both}) p WHERE p.chunk_id = c.id AND p.part = 0)"
            f" AND c.document_id NOT IN ({_PENDING}) AND v.vector != decode(repeat('00', length(v.vector)), 'hex')",
            "chunks have no vector for search: {}",
        ),
    ]


def _list_problems(connection: Connection) -> list[str]:
    """The lists of terms must hold what the chunks hold: as many entries, and each list whole."""
    listed, kept = (
        _count(connection, query)
        for query in (
            "SELECT coalesce(sum(count), 0) FROM postings",
            "SELECT coalesce(sum(length(words) / 9), 0) FROM rows",
        )
    )
    problems = []
    if listed != kept:
        problems.append(f"the lists of words have {listed} entries, the chunks have {kept}")
    broken = 0
    with connection.cursor(binary=True) as cursor:
        for first, last, count, packed in cursor.stream(
            "SELECT first_chunk, last_chunk, count, packed FROM postings"
        ):
            if len(packed) != 7 * count:
                broken += 1
                continue
            ids = unpack_lists([first], [count], packed).chunk_ids
            broken += not (first <= ids[0] and ids[-1] <= last and np.all(np.diff(ids) > 0))
    if broken:
        problems.append(f"{broken} lists of words are damaged")
    return problems


def _count(connection: Connection, query: str) -> int:
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def count_everything(connection: Connection) -> StoreStats:
    """The counts that must agree, and sizes; run it inside a snapshot."""
    size = _count(
        connection,
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
        " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace",
    )
    return StoreStats(
        documents=_count(connection, "SELECT count(*) FROM documents"),
        chunks=_count(connection, "SELECT count(*) FROM chunks"),
        chunks_with_vector=_count(
            connection,
            f"SELECT count(*) FROM chunks c JOIN vectors v ON v.key = c.text_key AND v.model_id = {ACTIVE}",
        ),
        vectors=_count(connection, "SELECT count(*) FROM vectors"),
        bytes_on_disk=size,
        schema_version=_count(connection, "SELECT version FROM schema_version"),
    )
