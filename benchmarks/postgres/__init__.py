"""An index on Postgres beside one on SQLite."""
