"""The store on Postgres with pgvector: one index for many machines, searched in place."""

from outcrop.store.postgres.nearness import Tuning
from outcrop.store.postgres.opening import open_postgres
from outcrop.store.postgres.store import PostgresStore

__all__ = ["PostgresStore", "Tuning", "open_postgres"]
