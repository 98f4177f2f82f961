"""A Filter becomes a condition in Postgres' SQL."""

from __future__ import annotations

from typing import Any, Final

from outcrop.records import Filter
from outcrop.store.filters import glob_plain
from outcrop.store.postgres.values import to_text

_DATE: Final = "coalesce(d.dated_at, d.mtime_ns / 1e9, d.created_at)"


def filter_sql(where: Filter) -> tuple[str, list[Any]]:
    """A condition on `documents AS d`, and the values to bind in it."""
    conditions: list[str] = []
    values: list[Any] = []

    def need(condition: str, value: object) -> None:
        conditions.append(condition)
        values.append(value)

    if where.collections:
        need("d.collection = ANY (%s)", [to_text(name) for name in where.collections])
    if where.documents:
        need("d.id = ANY (%s)", [int(id_) for id_ in where.documents])
    if where.kinds:
        need("(d.kind = ANY (%s) OR d.language = ANY (%s) AND d.language != '')", list(where.kinds))
        values.append(list(where.kinds))
    for tag in dict.fromkeys(where.tags):
        need("d.id IN (SELECT document_id FROM tags WHERE tag = %s)", to_text(tag))
    if where.since is not None:
        need(f"{_DATE} >= %s", where.since)
    if where.until is not None:
        need(f"{_DATE} < %s", where.until)
    if where.paths:  # last, so that it is asked of as few as possible
        need("d.path ~ %s", glob_plain(where.paths))
    return " AND ".join(conditions) or "true", values
