"""What must hold in either store: queries that count the rows that break a rule, and a sentence for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

Count = Callable[[str], int]
"""Runs a query for one number."""
Rule = tuple[str, str]
"""A query that counts rows that should not exist, and the sentence that says how many there are."""

RULES: Final[tuple[Rule, ...]] = (
    (
        "SELECT count(*) FROM pending WHERE document_id NOT IN (SELECT id FROM documents)",
        "{} documents that wait for vectors are not there",
    ),
    (
        "SELECT count(*) FROM tags t WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = t.document_id)",
        "{} tags belong to no document",
    ),
    (
        "SELECT count(*) FROM documents d LEFT JOIN (SELECT document_id, count(*) AS many FROM chunks"
        " GROUP BY document_id) c ON c.document_id = d.id WHERE d.chunk_count != coalesce(many, 0)",
        "{} documents do not have as many chunks as they should",
    ),
    (
        "SELECT count(*) FROM (SELECT start_offset, end_offset, lag(start_offset) OVER"
        " (PARTITION BY document_id ORDER BY position) AS before FROM chunks) placed"
        " WHERE end_offset < start_offset OR start_offset < before",
        "{} chunks are out of order in their document",
    ),
    (
        "SELECT count(*) FROM removals r WHERE EXISTS (SELECT 1 FROM chunks WHERE id = r.chunk_id)",
        "{} chunks are listed as removed but are there",
    ),
)


def broken_rules(count: Count, rules: Iterable[Rule]) -> list[str]:
    """One sentence for each rule that is broken."""
    counted = ((count(query), sentence) for query, sentence in rules)
    return [sentence.format(found) for found, sentence in counted if found]
