"""The store on Postgres with pgvector: one index for many machines, searched in place."""

from outcrop.store.postgres.store import PostgresStore, open_postgres
from outcrop.store.postgres.vectors import Tuning

__all__ = ["PostgresStore", "Tuning", "open_postgres"]
