"""What a store keeps of a chunk is what a segment knows of it, and phrases are found by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.rows import TERMS, feed_row

from outcrop.errors import StoreError
from outcrop.index.columns import build_segment
from outcrop.index.evidence import packages_of
from outcrop.index.names import NAME_ARRAYS
from outcrop.records import CodeNotes, Definition, FeedRow, Mention
from outcrop.store.postgres.in_place.derive import FORMAT, SearchDeriver, unpack_facts
from outcrop.text.phrases import holds_phrase, phrase_words
from outcrop.text.terms import language_term

DIMENSIONS = 12
DERIVER = SearchDeriver(TERMS, 0.5)


def notes(*names: str, uses: tuple[Mention, ...] = ()) -> CodeNotes:
    return CodeNotes(
        symbol=names[0] if names else "",
        kind="function",
        defines=tuple(Definition(name, "function", "Pool" if i else "") for i, name in enumerate(names)),
        mentions=uses,
    )


def some_feed() -> list[FeedRow]:
    rng = np.random.default_rng(7)

    def vector() -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
        return rng.standard_normal(DIMENSIONS).astype(np.float16)

    path = vector()
    broken = np.full(DIMENSIONS, np.nan, np.float16)
    uses = (
        Mention("release", "call", "self", 300),
        Mention("pool.base", "import", "Base"),
        Mention("x", "use"),
    )
    return [
        feed_row(
            1, "plain words, twice: words", document_id=1, vector=vector(), path_vector=path, path="a/b.md"
        ),
        feed_row(
            2, "more of it", document_id=1, vector=vector(), path_vector=path, path="a/b.md", title="Guide"
        ),
        feed_row(
            3,
            "def acquire(self): return self.release(x)",
            document_id=2,
            kind="code",
            path="src/net/connection_pool.py",
            language="python",
            role="test",
            vector=vector(),
            summary_vector=vector(),
            code=notes("acquire", "Release", uses=uses),
        ),
        feed_row(4, "", document_id=3, path="readme.md", kind="text"),
        feed_row(
            5,
            "x = 1",
            document_id=2,
            kind="code",
            path="src/net/connection_pool.py",
            code=notes(),
            vector=broken,
        ),
    ]


def test_the_columns_are_those_of_a_segment() -> None:
    feed = some_feed()
    made, segment = DERIVER.derive(feed, DIMENSIONS), build_segment(feed, TERMS, DIMENSIONS, 0.5)
    for name in ("lengths", "terms", "offsets", "rows", "frequencies", "noted"):
        np.testing.assert_array_equal(getattr(made, name), getattr(segment, name), err_msg=name)
        assert getattr(made, name).dtype == getattr(segment, name).dtype
    for vectors, levels, scales in (
        (made.vectors, segment.vectors, segment.scales),
        (made.summary_vectors, segment.summary_vectors, segment.summary_scales),
    ):
        assert vectors.dtype == np.float16
        np.testing.assert_allclose(vectors, levels * scales[:, None], atol=0.005)
    assert not made.vectors[3:].any()
    names = segment.names
    columns = (
        names.defined,
        names.defined_rows,
        names.defined_scopes,
        names.defined_kinds,
        names.defined_marks,
    )
    np.testing.assert_array_equal(made.declared, np.stack([c.astype(np.uint64) for c in columns], axis=1))
    assert made.declared.dtype == np.uint64


def test_facts_come_back_as_the_segment_has_them() -> None:
    feed = some_feed()
    facts, segment = (
        unpack_facts(DERIVER.derive(feed, DIMENSIONS).facts),
        build_segment(feed, TERMS, DIMENSIONS, 0.5),
    )
    np.testing.assert_array_equal(facts.roles, segment.roles)
    np.testing.assert_array_equal(facts.families, segment.families)
    np.testing.assert_array_equal(facts.titles, segment.titles[segment.files])
    np.testing.assert_array_equal(facts.homes, segment.homes[segment.files])
    np.testing.assert_array_equal(facts.packages, packages_of(segment)[segment.files])
    code = segment.code[:, None]
    np.testing.assert_array_equal(facts.stems, np.where(code, segment.stems[segment.files], 0))
    np.testing.assert_array_equal(facts.folders, np.where(code, segment.folders[segment.files], 0))
    assert facts.stems[2].any()
    assert not facts.stems[0].any()
    for name, column in facts.uses().items():
        expected = getattr(segment.names, name)
        assert column.dtype == expected.dtype == NAME_ARRAYS[name]
        np.testing.assert_array_equal(column, expected, err_msg=name)
    assert facts.uses()["used_counts"].max() == 255


def test_nothing_is_derived_of_nothing() -> None:
    made = DERIVER.derive([], DIMENSIONS)
    assert made.vectors.shape == made.summary_vectors.shape == (0, DIMENSIONS)
    assert (len(made.lengths), len(made.terms), made.offsets.tolist(), list(made.facts)) == (0, 0, [0], [])
    assert made.declared.shape == (0, 5)
    assert len(unpack_facts(made.facts).uses()["used"]) == 0


def test_facts_of_another_format_are_refused() -> None:
    facts = DERIVER.derive(some_feed(), DIMENSIONS).facts
    for other in (
        bytes([FORMAT + 1]) + facts[2][1:],
        facts[2][:-1],
        b"",
        facts[2][:3] + b"\xff" + facts[2][4:],
    ):
        with pytest.raises(StoreError, match="doctor --repair"):
            unpack_facts([facts[0], other])


def terms_of(text: str) -> set[int]:
    return set(DERIVER.derive([feed_row(1, text)], 0).terms.tolist())


WRITING = st.text(
    st.one_of(
        st.sampled_from("aAeE zZ09_-'’./:+#@ \n…–“”•\u00a0"),
        st.sampled_from("éÉüßøØıİſﬁ²½ⅧªΣςάя中文東한국ไทबै\u0301\u093f\u200d™№℃ｆｕ１"),
        st.characters(codec="utf-8"),
    ),
    max_size=60,
)


@given(WRITING, st.data())
def test_a_chunk_has_a_term_for_every_word_of_a_phrase_cut_out_of_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    words = phrase_words(text[start : data.draw(st.integers(start, len(text)))])
    if holds_phrase(text, words):
        own = terms_of(text)
        for word, terms in zip(words, DERIVER.phrase_terms(words), strict=True):
            assert own & terms, word


@pytest.mark.parametrize("text", ["see also: foo_bar HTTPServer2 it's 3.14", "“Typeset” – it’s… •done\u00a0so"])
def test_a_plain_text_has_no_terms_for_phrases_only(text: str) -> None:
    assert terms_of(text) - {language_term("en"), language_term("")} == set(TERMS.of(text))


def test_words_for_phrases_do_not_count_as_words() -> None:
    made = DERIVER.derive([feed_row(1, "Café Café is near the Straße")], 0)
    assert made.lengths.tolist() == [6]
    text = "Café Café is near the Straße"
    known = {*TERMS.of(text), *TERMS.pieces.of(text, "en"), language_term("en")}
    extra = sorted(set(made.terms.tolist()) - known)
    assert len(extra) == 1, "ß is no letter with an accent"
    at = made.terms.tolist().index(extra[0])
    assert made.frequencies[made.offsets[at]] == 1
    assert extra[0] in DERIVER.phrase_terms(["cafe"])[0]
