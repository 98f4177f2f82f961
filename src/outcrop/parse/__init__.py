"""Bytes to Documents: one module a format, one table of formats."""
