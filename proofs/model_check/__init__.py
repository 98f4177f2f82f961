"""Random operations on a real index, compared with a simple model in memory."""
