"""One table of scripts without spaces decides terms, phrases, kinds of queries and sizes alike."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest

from outcrop.chunk.cut import measure_tokens
from outcrop.index.query import read_query
from outcrop.text.phrases import phrase_words
from outcrop.text.scripts import DENSE, HANGUL, UNSPACED
from outcrop.text.terms import Terms

SAMPLES = {
    "Thai": "การค้นหา",
    "Lao": "ການຄົ້ນຫາ",
    "Burmese": "ရှာဖွေခြင်း",
    "Khmer": "ការស្វែងរក",
    "Tai Tham": "ᨣᩤᩴᨾᩮᩬᩥᨦ",
    "Chinese": "检索引擎技术",
    "rare Chinese": "𠀀𠀁𠀂𠀃",
    "Japanese": "人々のけんさくエンジン",
    "half-width kana": "ｹﾝｻｸｴﾝｼﾝ",
    "bopomofo": "ㄐㄧㄢㄙㄨㄛ",
}


@pytest.mark.parametrize("text", SAMPLES.values(), ids=list(SAMPLES))
def test_every_use_agrees_that_a_script_has_no_spaces(terms: Terms, text: str) -> None:
    found = set(terms.of(text))
    folded = unicodedata.normalize("NFKC", text)
    assert all(set(terms.of(one + other)) <= found for one, other in pairwise(folded)), "found by any pair"
    assert len(phrase_words(text)) == len(text), "a phrase matches character by character"
    assert read_query(text).kind == "semantic", "a few characters are a sentence"
    assert measure_tokens(text) == len(text), "a character is a token"


@pytest.mark.parametrize("number", ["๑๒๓๔", "໑໒໓໔", "၁၂၃၄", "១២៣៤"])
def test_a_number_is_one_word_in_any_script(terms: Terms, number: str) -> None:
    assert phrase_words(number) == [number]
    assert len(terms.of(number)) == 1
    assert read_query(number).kind != "semantic"


def test_korean_phrases_go_by_words_and_korean_terms_by_characters(terms: Terms) -> None:
    assert phrase_words("한국어 문장") == ["한국어", "문장"]
    assert set(terms.of("국어")) < set(terms.of("한국어를"))


def test_tibetan_goes_by_syllables_and_counts_by_characters(terms: Terms) -> None:
    assert phrase_words("བོད་ཡིག") == ["བོད", "ཡིག"]
    assert measure_tokens("བོད་ཡིག") == 7


def test_no_range_is_empty_or_holds_latin_greek_or_cyrillic() -> None:
    for ranges in (UNSPACED, HANGUL, DENSE):
        assert all(0x0E00 <= first <= last <= 0x10FFFF for first, last in ranges)
