"""Values on their way to Postgres and back: text with NULs, vectors of half floats, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from outcrop.errors import StoreError
from outcrop.records.meta import Meta
from outcrop.store.rows import meta_rows
from outcrop.system.arrays import NDArray

_MARK: Final = "\x1a"
_HEAD_BYTES: Final = 4  # of a halfvec on the wire: dimensions and a reserved number, two bytes each


def to_text(value: str | None) -> str | None:
    """A text as Postgres can keep it: it has no NUL."""
    if value is None or ("\0" not in value and _MARK not in value):
        return value
    return value.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")


def from_text(value: str | None) -> str | None:
    """What `to_text` was given."""
    if value is None or _MARK not in value:
        return value
    return value.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)


def text_row(row: Iterable[Any]) -> tuple[Any, ...]:
    """A row with its texts as Postgres can keep them."""
    return tuple(to_text(value) if isinstance(value, str) else value for value in row)


def plain_row(row: Iterable[Any]) -> tuple[Any, ...]:
    """A row with its texts as they were written."""
    return tuple(from_text(value) if isinstance(value, str) else value for value in row)


def id_array(ids: NDArray[np.int64] | Iterable[int]) -> str:
    """Numbers as the text of an array, to be cast: four times as fast as handing over a list."""
    numbers = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return "{" + ",".join(map(str, numbers)) + "}"


def copy_rows(
    connection: psycopg.Connection[Any], target: str, types: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows into `target`, a table with its columns in brackets, by COPY in its binary form."""
    with connection.cursor().copy(f"COPY {target} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def copy_meta(connection: psycopg.Connection[Any], documents: Iterable[tuple[int, int, Meta]]) -> None:
    """Write what is looked up of the metadata of documents, each with its id and that of its collection."""
    rows = (
        text_row((document_id, collection_id, *row))
        for document_id, collection_id, meta in documents
        for row in meta_rows(meta)
    )
    types = ["int8", "int4", "text", "text", "text", "float8", "text"]
    copy_rows(
        connection, "meta_values (document_id, collection_id, key, kind, text, number, folded)", types, rows
    )


class Half(bytes):
    """A vector of half floats as it crosses the wire; made by `half_vectors`."""


def half_vectors(matrix: NDArray[np.float16]) -> list[Half]:
    """The rows of a matrix as values for a column of type halfvec."""
    head = np.array([matrix.shape[1], 0], ">u2").tobytes()
    return [Half(head + row.tobytes()) for row in matrix.astype(">f2")]


def half_matrix(values: bytes, dimensions: int) -> NDArray[np.float16]:
    """What `halfvec_send` gave, concatenated, as rows of a matrix."""
    whole = np.frombuffer(values, np.uint8).reshape(-1, _HEAD_BYTES + 2 * dimensions)
    return np.ascontiguousarray(whole[:, _HEAD_BYTES:]).view(">f2").astype(np.float16)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Half) -> bytes:
        return bytes(obj)


def register_vectors(connection: psycopg.Connection[Any]) -> None:
    """Teach a connection the type halfvec; raises StoreError where the extension is missing."""
    info = TypeInfo.fetch(connection, "halfvec")
    if info is None:
        raise StoreError(
            "the database has no extension `vector`: run CREATE EXTENSION vector in it, as a user who may"
        )
    info.register(connection)
    dumper = type("_HalfDumper", (_HalfDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(Half, dumper)
