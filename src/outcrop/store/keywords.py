"""The keyword index: exact phrases, in any script, and words that are gone when their text is deleted.

The index keeps no text of its own. To remove a row FTS5 needs the very text that was put in, so `spaced` is
part of the file format: a change to it takes a migration that builds the index anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import apsw

from outcrop.store.rows import fetch

# Scripts written without spaces. Each character becomes a word, so that a phrase matches by sequence.
_UNSPACED = re.compile(
    "(["
    "\u0e01-\u0e4e"  # Thai
    "\u0e80-\u0ecf\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
    "\u1950-\u19cf\u1a20-\u1a7f"  # Tai Le, New Tai Lue, Tai Tham
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"  # Han radicals, marks and numerals
    "\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "])"
)

# Removing a row for good costs 1–5 ms (every word's page is rewritten); rewriting the whole index costs about
# 6 µs a row of it (measured on 20 000 chunks of 1.1 kB). Below one removed row in so many the first is cheaper.
_REWRITE_RATIO = 500


def spaced(text: str) -> str:
    """The text as the keyword index sees it: characters of scripts without spaces stand apart."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


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
