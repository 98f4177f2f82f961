"""A query to lists of candidates: by words and by meaning."""
