"""How an index on Postgres is searched in place: the store finds, this process ranks."""
