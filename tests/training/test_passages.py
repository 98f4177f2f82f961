"""What a reranker reads in training is what the engine would show it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from training.passages import make_passage, terms

from outcrop.rank.excerpt import PASSAGE_CHARS

LONG = "\n".join(f"    value_{number} = compute(number={number}, scale=10)" for number in range(60))


def test_terms_are_the_beginnings_of_words_as_the_engine_cuts_them() -> None:
    assert terms("getConnections HTTPServer2 Größe") == [
        "get",
        "connec",
        "http",
        "server",
        "2",
        "gr",
        "öß",
        "e",
    ]
    assert terms("connecting") == terms("Connected")
    assert terms("") == []


@settings(max_examples=80, deadline=None)
@given(
    path=st.text(max_size=300),
    place=st.lists(st.text(max_size=200), max_size=4),
    text=st.text(st.characters() | st.sampled_from("word \n.!"), max_size=2000),
    query=st.text(max_size=60),
)
def test_a_passage_is_never_longer_than_the_engine_allows(
    path: str, place: list[str], text: str, query: str
) -> None:
    assert len(make_passage(path, place, text, query)) <= PASSAGE_CHARS


def test_a_short_document_is_shown_whole_below_its_place() -> None:
    made = make_passage("a/src/pool/client.py", ["Client", "send"], "def send(self):\n    pass\n", "anything")
    assert made == "src/pool/client.py Client > send\ndef send(self):\npass"


def test_the_line_with_the_words_of_the_query_is_kept_wherever_it_stands() -> None:
    for query in ("how are failed requests retried?", "RETRY a request"):
        for before in (0, 30, 59):
            lines = ["def send(self):", *LONG.split("\n")]
            lines.insert(before + 1, "    self.retryRequest(failed=True)")
            made = make_passage("pool.py", [], "\n".join(lines), query)
            assert "self.retryRequest(failed=True)" in made
            assert made.startswith("pool.py\ndef send(self):")
            assert len(made) <= PASSAGE_CHARS


def test_a_short_word_weighs_less_than_a_long_one() -> None:
    common = "\n".join(f"is it as we do {'so ' * 40}{number}" for number in range(6))
    made = make_passage("a.md", [], f"Title\n{common}\nThe deadline passes.", "is it the deadline")
    assert "The deadline passes." in made
    assert make_passage("a.md", [], LONG, "") == make_passage("a.md", [], LONG, "unrelated")
