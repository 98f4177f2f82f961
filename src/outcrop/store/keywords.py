"""The keyword index: exact phrases, in any script, and words that are gone when their text is deleted.

The index keeps no text of its own. To remove a row FTS5 needs the very text that was put in, so `spaced` is
part of the file format: a change to it takes a migration that builds the index anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from outcrop.phrases import spaced
from outcrop.store.rows import fetch

# Removing a row for good costs 1–5 ms (every word's page is rewritten); rewriting the whole index costs about
# 6 µs a row of it (measured on 20 000 chunks of 1.1 kB). Below one removed row in so many the first is cheaper.
_REWRITE_RATIO = 500


def phrase_query(phrase: str) -> str:
    """An FTS5 query for these words in this order; whatever the phrase holds is words, never syntax."""
    return '"' + spaced(phrase).replace('"', " ").replace("\0", " ") + '"'


def add_rows(connection: apsw.Connection, texts: Iterable[tuple[int, str]]) -> None:
    """Index (chunk id, text) rows."""
    connection.executemany(
        "INSERT INTO keywords (rowid, body) VALUES (?, ?)", ((id_, spaced(text)) for id_, text in texts)
    )


def remove_rows(connection: apsw.Connection, document_ids: str, *, for_good: bool) -> None:
    """Take the chunks of these documents (a JSON list) out of the index; their rows in `chunks` still stand.

    `for_good` also wipes their words from the index's pages. Without it they may linger there, unfindable,
    until the index next merges those pages: enough for a document that is replaced, and many times cheaper.
    """
    wipe = rewrite = False
    if for_good:
        (removed,) = fetch(
            connection,
            "SELECT count(*) FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
            (document_ids,),
        )[0]
        wipe = removed * _REWRITE_RATIO <= count_rows(connection)
        rewrite = not wipe and removed > 0
    if wipe:
        _set_wipe(connection, True)
    connection.execute(
        "INSERT INTO keywords (keywords, rowid, body) SELECT 'delete', id, spaced(text) FROM chunks"
        " WHERE document_id IN (SELECT value FROM json_each(?))",
        (document_ids,),
    )
    if wipe:
        _set_wipe(connection, False)
    if rewrite:
        connection.execute("INSERT INTO keywords (keywords) VALUES ('optimize')")


def count_rows(connection: apsw.Connection) -> int:
    """How many chunks the index holds."""
    return int(fetch(connection, "SELECT count(*) FROM keywords_docsize")[0][0])


def _set_wipe(connection: apsw.Connection, on: bool) -> None:
    connection.execute("INSERT INTO keywords (keywords, rank) VALUES ('secure-delete', ?)", (int(on),))
