"""Texts in other languages are read as English; English and code keep their vectors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import Stemmer

from outcrop.embed.letters import MOST_SPELLINGS, spell_in_latin, spell_name, write_name
from outcrop.embed.lexicon import CARD, FILES, Lexicon, hash_word
from outcrop.embed.static import PACKAGED_MODEL, StaticEmbedder
from outcrop.errors import EmbedError

STATIC = StaticEmbedder()
PASSAGES = {
    "en": ("The library is open on Sunday.", "The king lost the war.", "Cut the bread with a knife."),
    "de": ("Die Bibliothek ist am Sonntag geöffnet.", "Der König verlor den Krieg.", "Schneide Brot mit dem Messer."),
    "ru": ("Библиотека открыта в воскресенье.", "Король проиграл войну.", "Нарежь хлеб ножом."),
    "es": ("La biblioteca abre el domingo.", "El rey perdió la guerra.", "Corta el pan con un cuchillo."),
    "zh": ("图书馆星期天开放。", "国王输了战争。", "用刀切面包。"),
    "ar": ("المكتبة مفتوحة يوم الأحد.", "خسر الملك الحرب.", "اقطع الخبز بالسكين."),
    "tr": ("Kütüphane pazar günü açık.", "Kral savaşı kaybetti.", "Ekmeği bıçakla kes."),
    "ja": ("図書館は日曜日に開いています。", "王様は戦争に負けた。", "ナイフでパンを切る。"),
}  # fmt: skip


def lexicon() -> Lexicon:
    assert STATIC.lexicon is not None
    return STATIC.lexicon


@pytest.mark.parametrize("asked", PASSAGES)
@pytest.mark.parametrize("held", PASSAGES)
def test_a_question_in_one_language_is_nearest_to_its_passage_in_another(asked: str, held: str) -> None:
    passages = STATIC.embed_documents(PASSAGES[held])
    passages /= np.linalg.norm(passages, axis=1, keepdims=True)
    for number, question in enumerate(PASSAGES[asked]):
        assert int(np.argmax(passages @ STATIC.embed_query(question))) == number


@pytest.mark.parametrize("language", [code for code in PASSAGES if code != "en"])
def test_other_languages_are_told_from_english(language: str) -> None:
    assert all(map(lexicon().is_foreign, PASSAGES[language]))


@pytest.mark.parametrize(
    "text",
    [
        *PASSAGES["en"],
        "def getUserName(self, user_id):\n    return self.die(user_id)",
        "for (auto it = map.begin(); it != map.end(); ++it) { des = la.in; }",
        "a naïve approach to the problem",
        "defense",
        "",
        "12 345 0x7f",
    ],
)
def test_english_and_code_keep_the_bits_of_the_model_without_a_dictionary(text: str, tmp_path: Path) -> None:
    for name in ("card.json", "static.npy", "weights.npy", "vocab.txt"):
        shutil.copy(PACKAGED_MODEL / name, tmp_path / name)
    alone = StaticEmbedder(tmp_path)
    assert alone.lexicon is None
    np.testing.assert_array_equal(STATIC.embed_documents([text]), alone.embed_documents([text]))
    np.testing.assert_array_equal(STATIC.embed_query(text), alone.embed_query(text))


def test_a_name_out_of_code_is_the_same_in_any_text() -> None:
    english, foreign = lexicon().split("Die Funktion getUserName gibt den Namen zurück und user_id auch nicht")
    assert english == "getUserName user_id"
    assert "getUserName" not in foreign


def test_other_letters_in_an_english_text_are_read_beside_it() -> None:
    text = "The word for library in this place is написано: библиотека, as everybody here should know by now"
    assert lexicon().split(text) == (text, "написано библиотека")


def test_forms_and_compounds_are_read_by_what_they_begin_with() -> None:
    words = {token for token, _ in lexicon().read_word("библиотеками")}
    assert words & {token for token, _ in lexicon().read_word("библиотека")}
    assert ("bibliotheksbuch", "library") in {
        (word, other) for word, other, _ in lexicon().translate("Bibliotheksbuch", 5)
    }


def test_a_question_of_unknown_words_has_no_vector_and_does_not_vote() -> None:
    assert not STATIC.embed_query("ყვავილი მთაზე ცხოვრობს").any()
    assert STATIC.embed_query("библиотека").any()


def test_english_words_are_said_in_other_languages() -> None:
    assert "bibliothek" in dict(lexicon().say("library", "de"))
    assert not lexicon().say("library", "xx")
    assert not lexicon().say("zzqqxx", "de")


def test_the_forms_of_a_word_are_all_tokens_with_its_stem() -> None:
    names = lexicon()._names
    stems = Stemmer.Stemmer("english").stemWords(names)
    assert all(name[:1] == stem[:1] for name, stem in zip(names, stems, strict=True))
    for word in ("election", "elections", "skies", "dying", "zzqqxx", "3", ""):
        stem = Stemmer.Stemmer("english").stemWord(word)
        wanted = [name for name, of in zip(names, stems, strict=True) if of == stem and name != word]
        assert list(lexicon()._forms_of(word)) == wanted


def test_names_are_spelled_in_latin_letters() -> None:
    assert spell_in_latin("обама") == "obama"
    assert spell_in_latin("größe") == "große"
    assert spell_in_latin("カメラ") == "kamera"


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("микельсон", "mickelson"),
        ("марлоу", "marlow"),
        ("пантерз", "panthers"),
        ("обамой", "obama"),
        ("трампа", "trump"),
        ("фарадж", "faraj"),
        ("ハドソン", "hadoson"),
    ],
)
def test_a_name_has_many_ways_of_being_spelled(written: str, spelled: str) -> None:
    assert spelled in spell_name(written)
    assert len(spell_name(written)) <= MOST_SPELLINGS


@pytest.mark.parametrize("word", ["", "да", "größe", "です", "图书馆", "а" * 5000])
def test_what_is_no_name_in_another_script_has_no_spellings(word: str) -> None:
    assert spell_name(word) == []


def test_a_name_is_written_in_the_letters_of_a_language() -> None:
    assert "марлоу" in write_name("marlow", "ru")
    assert "фарадж" in write_name("farage", "ru")
    assert "пантерз" in write_name("panthers", "uk")
    assert not set("іїєґ") & set("".join(write_name("mickelson", "ru")))
    assert write_name("marlow", "de") == write_name("größe", "ru") == write_name("x2", "ru") == []


def test_an_unknown_name_is_looked_up_as_it_may_be_spelled() -> None:
    assert ("марлоу", "marlow", 1.0) in lexicon().translate("Марлоу", 5)
    assert not [other for word, other, _ in lexicon().translate("библиотека", 5) if other == "biblioteka"]
    assert ("марлоу", 1.0) in lexicon().say("marlow", "ru")


def test_a_form_without_translations_has_those_of_its_other_forms() -> None:
    said = dict(lexicon().say("republicans", "uk"))
    assert said
    assert said.keys() <= dict(lexicon().say("republican", "uk")).keys()


def test_a_dictionary_that_is_damaged_is_reported(tmp_path: Path) -> None:
    for path in PACKAGED_MODEL.iterdir():
        shutil.copy(path, tmp_path / path.name)
    assert StaticEmbedder(tmp_path).damage() == []
    (tmp_path / "de.txt.gz").write_bytes(b"nothing")
    model = StaticEmbedder(tmp_path)
    assert [problem for problem in model.damage() if "de.txt.gz" in problem]
    assert model.lexicon is not None
    with pytest.raises(EmbedError, match="reinstall"):
        model.lexicon.say("library", "de")
    np.save(tmp_path / "tones.npy", np.zeros(3, np.int8))
    with pytest.raises(EmbedError, match="size"):
        StaticEmbedder(tmp_path)
    (tmp_path / CARD).write_text("{}")
    with pytest.raises(EmbedError, match="reinstall"):
        StaticEmbedder(tmp_path)


def test_the_card_names_every_file() -> None:
    card = json.loads((PACKAGED_MODEL / CARD).read_text("utf-8"))
    assert set(card["sha256"]) == {*FILES, *(f"{language}.txt.gz" for language in card["languages"])}
    assert hash_word("library") == hash_word("library") < 1 << 32


@pytest.mark.timeout(60)
def test_hostile_words_take_linear_time() -> None:
    for text in ("а" * 300_000, "图" * 100_000, "e\u0301" * 100_000, "xя" * 100_000):
        STATIC.embed_documents([text])
        STATIC.embed_query(text)


def test_plain_english_is_told_by_a_third_of_its_words_and_nothing_else_is() -> None:
    english = (
        "The harbour of the town was built when the old bridge fell, and the boats of the men are kept there. "
        * 4
    )
    assert not lexicon().is_foreign(english)
    for language in ("de", "es", "tr", "ru"):
        assert lexicon().is_foreign(" ".join(PASSAGES[language]) * 4)
