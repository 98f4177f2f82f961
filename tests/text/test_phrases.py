"""The words of a phrase are those that the keyword index of SQLite sees."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.text.phrases import holds_phrase, phrase_finder, phrase_words
from outcrop.text.scripts import UNSPACED_CHARACTER


@pytest.fixture(scope="module")
def fts5() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5"
        " (body, tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")"
    )
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab (t, instance)")
    return connection


def seen_by(connection: apsw.Connection, text: str) -> list[str]:
    connection.execute("DELETE FROM t")
    connection.execute("INSERT INTO t VALUES (?)", (UNSPACED_CHARACTER.sub(r" \1 ", text),))
    return [str(term) for (term,) in connection.execute("SELECT term FROM words ORDER BY offset")]


@pytest.mark.parametrize(
    "text",
    [
        "Café naïve foo_bar x-1 don't",
        "बैंक ऑफ़ इंडिया",
        "ภาษาไทย 東京 tower",
        "Straße ÅNGSTRÖM fine ½ x² Ⅷ",
        "한국어 문장 하나",
        "e\u0301 é",
        "Ελλάδα Σ",
    ],
)
def test_words_are_those_of_sqlites_tokenizer(fts5: apsw.Connection, text: str) -> None:
    assert phrase_words(text) == seen_by(fts5, text)


@given(st.text(st.characters(max_codepoint=0x17F, blacklist_categories=["Cs"], blacklist_characters="\0")))
def test_words_of_any_latin_text_are_those_of_sqlites_tokenizer(text: str) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5"
        " (body, tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")"
    )
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab (t, instance)")
    assert phrase_words(text) == seen_by(connection, text)


def test_a_phrase_is_whole_words_in_order() -> None:
    assert holds_phrase("The quick, brown fox.", phrase_words("Quick BROWN"))
    assert not holds_phrase("The quick brownish fox", phrase_words("quick brown"))
    assert not holds_phrase("brown and quick", phrase_words("quick brown"))
    assert not holds_phrase("anything", ["nothing"])


WORDS = st.lists(st.sampled_from(["a", "ab", "b1", "1", "é", "東"]), min_size=1, max_size=3)
GAPS = st.sampled_from([" ", "_", "-.", "", "\n", "É"])


@given(WORDS, st.lists(st.tuples(GAPS, st.sampled_from(["A", "ab", "b1", "1", "é", "東"])), max_size=8))
def test_phrase_finder_agrees_with_holds_phrase(words: list[str], text: list[tuple[str, str]]) -> None:
    joined = "".join(gap + word for gap, word in text)
    assert phrase_finder(words)(joined) == holds_phrase(joined, words)
