"""Which store an index is in: a file is SQLite, a URL is Postgres."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from outcrop.contracts import Store
from outcrop.errors import ConfigError, NotFound
from outcrop.records.database_url import DatabaseUrl
from outcrop.store.sqlite.store import open_sqlite
from outcrop.system.machine import need_extra

if TYPE_CHECKING:
    from outcrop.records.derived import Deriver


def open_store(
    db: Path | DatabaseUrl,
    deriver: Callable[[], Deriver],
    *,
    read_only: bool = False,
    create: bool = True,
    vector_index: Literal["", "hnsw", "ivfflat"] = "",
    vector_effort: float = 1.0,
) -> Store:
    """Open the index, upgrading it unless it is to be read only. Where there is none it is made, or, without `create`,
    NotFound says how.

    The rest is for a store that is searched in place: `deriver` is asked when first needed, `vector_index` names
    the kind of index its vectors shall have (empty: as it is), `vector_effort` says how far a query searches it.
    """
    if isinstance(db, Path):
        if not create and not db.exists():
            raise NotFound(f"there is no index at {db} yet; `outcrop add FOLDER` makes one")
        return open_sqlite(db, read_only=read_only)
    try:
        import psycopg  # noqa: F401 - only to see whether it is there
    except ModuleNotFoundError as error:
        raise need_extra(ConfigError, "an index on Postgres", "postgres") from error
    from outcrop.store.postgres import Tuning, open_postgres

    return open_postgres(
        db, deriver, read_only=read_only, create=create, tuning=Tuning(vector_index or None, vector_effort)
    )
