"""The store on Postgres with pgvector: one index for many machines, searched where it lies."""

from outcrop.store.postgres.store import PostgresStore, open_postgres

__all__ = ["PostgresStore", "open_postgres"]
