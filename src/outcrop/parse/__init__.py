"""Bytes to Documents: `entry.py` is the way in, one module a format, one table of formats (`formats.py`).

Text formats are read in this process, in one pass. Formats that need a library (HTML, PDF, Office, EPUB,
notebooks) are read in a worker process with a deadline and a memory limit, so that a hostile file costs an
error and nothing else.
"""
