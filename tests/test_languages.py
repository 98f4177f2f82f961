"""Documents of several languages in one index, on both stores: found, told, highlighted and explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import outcrop
from outcrop.code.request import read_conversation
from outcrop.errors import QueryError
from outcrop.index.query import read_query
from outcrop.index.wording import Spoken, read_words
from outcrop.records import Message
from outcrop.serve.excerpt import Marker
from outcrop.serve.terminal import clean, crop
from outcrop.text.detect import detect_language
from outcrop.text.terms import Terms

TEXTS = {
    "de": "Die Krankenhäuser der Stadt sind am Wochenende geschlossen. Das ist nicht gut für die Patienten.",
    "ru": "Больницы города закрыты по выходным. Это плохо для пациентов. Функция getUserName() возвращает имя.",
    "en": "The hospitals of the city are closed on weekends. This is not good for the patients.",
    "fi": "Kaupungin sairaalat ovat kiinni viikonloppuna. Se ei ole hyvä asia potilaille, jotka tarvitsevat apua.",
    "ar": "مستشفيات المدينة مغلقة في عطلة نهاية الأسبوع. وهذا ليس جيدا للمرضى الذين يحتاجون إلى العلاج.",
    "tr": "Şehrin hastaneleri hafta sonu kapalı. Bu durum tedaviye ihtiyacı olan hastalar için iyi değil.",
    "ja": "病院は週末に閉まっています。getUserName を呼び出すと名前が返されます。",
    "th": "โรงพยาบาลของเมืองปิดในวันหยุดสุดสัปดาห์ ซึ่งไม่ดีต่อผู้ป่วย",
}


@pytest.fixture(params=["sqlite", "postgres"])
def kb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[outcrop.Engine]:
    place = tmp_path / "i.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with outcrop.open(place, data_dir=tmp_path) as engine:
        for code, text in TEXTS.items():
            engine.add(text=text, id=code)
        yield engine


def first(kb: outcrop.Engine, query: str, language: str | None = None) -> str:
    answer = kb.search(query, mode="keyword", language=language)
    return answer.hits[0].document.uri if answer.hits else ""


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("Wo liegt das Krankenhaus?", "de"),
        ("Krankenhausverwaltung", "de"),
        ("KRANKENHAUS", "de"),
        ("где больница для пациента", "ru"),
        ("missä on sairaala", "fi"),
        ("أين المستشفى", "ar"),
        ("hastane nerede", "tr"),
        ("病院はいつ閉まりますか", "ja"),
        ("โรงพยาบาลปิดเมื่อไร", "th"),
        ("when is the hospital closed", "en"),
    ],
)
def test_a_question_finds_other_forms_of_its_words(kb: outcrop.Engine, query: str, document: str) -> None:
    assert first(kb, query) == document


def test_an_english_name_is_found_in_a_note_of_any_language(kb: outcrop.Engine) -> None:
    found = {hit.document.uri for hit in kb.search("getUserName", mode="keyword").hits}
    assert found == {"ru", "ja"}


def test_an_index_tells_which_languages_it_holds(kb: outcrop.Engine) -> None:
    assert kb.status().languages == dict.fromkeys(TEXTS, 1)


def test_the_language_is_told_guessed_or_forced(kb: outcrop.Engine) -> None:
    assert kb.search("wo ist das Krankenhaus").language == "de"
    assert kb.search("where is the hospital").language == ""
    assert kb.search("sairaala", language="Finnish").language == "fi"
    with pytest.raises(QueryError, match=r"language must be one of .*, not 'klingon'"):
        kb.search("sairaala", language="klingon")


def test_a_language_that_the_model_cannot_read_is_not_doubted_for_that(kb: outcrop.Engine) -> None:
    answer = kb.search("โรงพยาบาล")
    assert answer.hits[0].document.uri == "th"
    assert answer.meaning_share is not None
    assert answer.meaning_share.prose == 0
    assert answer.answerable is None
    assert answer.hits[0].score > 0.5
    assert not answer.is_doubtful


def test_a_hit_says_by_which_rules_its_words_were_read(kb: outcrop.Engine) -> None:
    hit = kb.search("wo ist das Krankenhaus", mode="keyword", explain=True).hits[0]
    assert hit.why.language == "de"
    assert hit.why.matched_terms == ("Krankenhaus",)
    assert hit.why.coverage > 0.8
    marker = Marker(hit.why.matched_terms, hit.why.matched_phrases, hit.why.language)
    assert [hit.text[start:end] for start, end in marker.spans(hit.text)] == ["Krankenhäuser"]


def test_an_english_index_is_searched_as_if_there_were_no_other_language(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(text=TEXTS["en"], id="en")
        assert kb.status().languages == {"en": 1}
        assert kb.search("wo ist das hospital").language == ""
        assert kb.search("hospital", language="de").language == ""


def test_a_name_is_found_in_other_letters_and_the_model_counts_more(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for place in (tmp_path / "i.db", request.getfixturevalue("postgres_url")):
        with outcrop.open(place, data_dir=tmp_path) as kb:
            kb.add(text="Вчера в городе выступал Найджел Фарадж. Речь длилась час.", id="ru")
            kb.add(text="В городе открыли новую больницу для детей и их родителей.", id="other")
            asked, own = kb.search("what did Farage say?"), kb.search("что сказал Фарадж")
            assert asked.hits[0].document.uri == own.hits[0].document.uri == "ru"
            assert kb.search("Farage", mode="keyword").hits[0].document.uri == "ru"
            assert asked.meaning_share is not None
            assert own.meaning_share is not None
            assert asked.meaning_share.prose > own.meaning_share.prose


@pytest.mark.parametrize(
    ("asked", "language", "text", "marked"),
    [
        ("больница", "ru", "Все больницы города", ["больницы"]),
        ("Köln", "de", "Nach Koln oder KÖLN?", ["Koln", "KÖLN"]),
        ("病院はどこですか", "ja", "市の病院は閉まっている", ["病院は"]),
        ("医院周末", "zh", "城市的医院周末关闭", ["医院周末"]),
        ("โรงพยาบาล", "th", "ที่โรงพยาบาลเมือง", ["โรงพยาบาล"]),
        ("अस्पताल", "hi", "शहर के अस्पताल बंद", ["अस्पताल"]),
        ("مدينة", "ar", "مستشفيات المدينة مغلقة", ["المدينة"]),
        ("connection", "ru", "Класс держит connections открытыми", ["connections"]),
    ],
)
def test_what_matched_is_marked_where_it_stands(
    asked: str, language: str, text: str, marked: list[str]
) -> None:
    assert [text[start:end] for start, end in Marker([asked], (), language).spans(text)] == marked


@pytest.mark.parametrize(
    "query",
    ["warum fehlt er", "¿dónde está?", "где ключ", "لماذا فشل؟", "कैसे करें", "为什么失败了", "nasıl kurulur"],
)
def test_a_short_question_of_any_language_is_a_question(query: str) -> None:
    assert read_query(query).kind == "semantic"


@pytest.mark.parametrize("query", ["mit license", "die hard", "login timeout", "come back"])
def test_english_words_that_mean_something_else_elsewhere_stay_what_they_are(query: str) -> None:
    assert read_query(query).kind == "mixed"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Wie richte ich einen Drucker ein?", "Und warum geht das nicht?"),
        ("¿Cómo configuro la impresora?", "¿Y por qué eso no funciona?"),
        ("Comment configurer une imprimante ?", "Et pourquoi cela échoue ?"),
        ("Como configuro a impressora?", "E por que isso não funciona?"),
        ("Как настроить принтер?", "А почему это не работает?"),
        ("كيف أضبط الطابعة؟", "ولماذا هذا؟"),
        ("प्रिंटर कैसे लगाएँ?", "और यह क्यों नहीं?"),
        ("প্রিন্টার কীভাবে বসাব?", "এটি কেন?"),
        ("プリンターの設定方法は？", "それはなぜですか？"),
        ("如何设置打印机？", "那为什么不行呢？"),
        ("프린터를 어떻게 설치하나요?", "그럼 그것은 왜 실패하나요?"),
        ("پرنٹر کیسے انسٹال کریں؟", "اور یہ کیوں ناکام ہوتا ہے؟"),
        ("Bagaimana cara memasang printer?", "Dan mengapa itu gagal?"),
        ("Yazıcı nasıl kurulur?", "Peki bu neden başarısız oluyor?"),
        ("Làm thế nào để cài đặt máy in?", "Và tại sao nó thất bại?"),
        ("Comment configurer une imprimante ?", "Quand est-ce que c'est sorti ?"),
        ("كيف أضبط الطابعة؟", "وكيف يتم إعداده؟"),
    ],
)
def test_a_follow_up_borrows_what_it_is_about(before: str, after: str) -> None:
    request = read_conversation([Message("user", before), Message("assistant", "…"), Message("user", after)])
    assert request.query != after
    assert max(before.rstrip("?？؟").split(), key=len)[:4] in request.query


@pytest.mark.parametrize(
    "asked",
    [
        "Wie sichere ich die Datenbank jede Nacht?",
        "データベースを毎晩保存する方法",
        "Wer hat das Telefon erfunden?",
        "Qui a inventé le téléphone ?",
        "À quelle fréquence la sauvegarde est-elle lancée ?",
        "¿Cada cuánto se ejecuta la copia de seguridad?",
        "Qual è la capitale d'Italia?",
        "ما هي عاصمة المغرب؟",
        "为什么服务器启动后内存占用这么高",
    ],
)
def test_a_question_that_stands_by_itself_borrows_nothing(asked: str) -> None:
    before = "Wie richte ich einen Drucker ein?"
    assert read_conversation([Message("user", before), Message("user", asked)]).query == asked


@pytest.mark.parametrize(
    ("code", "asked", "searched"),
    [
        ("hi", "टेलीफोन का आविष्कार किसने किया?", "टेलीफोन आविष्कार"),
        ("es", "¿Cuál es el tiempo de espera de la base de datos?", "tiempo espera base datos"),
        ("ar", "كيف يتم تثبيت الطابعة على لينكس؟", "تثبيت الطابعة لينكس"),
        ("fr", "Quel est le délai d'attente de l'imprimante ?", "délai attente imprimante"),
        ("fr", "Qu'est-ce qu'un pare-feu ?", "pare-feu"),
        ("bn", "টেলিফোন কে আবিষ্কার করেন?", "টেলিফোন আবিষ্কার"),
        ("pt", "Qual é o tempo limite do banco de dados?", "tempo limite banco dados"),
        ("ru", "Какое время ожидания у базы данных?", "время ожидания базы данных"),
        ("ur", "لینکس پر پرنٹر کیسے انسٹال کریں؟", "لینکس پرنٹر انسٹال"),
        ("id", "Siapa penemu telepon?", "penemu telepon"),
        ("de", "Wie installiert man einen Drucker unter Linux?", "installiert Drucker Linux"),
        ("it", "Come cambiare la password dell'amministratore?", "cambiare password amministratore"),
        ("tr", "Linux'ta yazıcı nasıl kurulur?", "Linux'ta yazıcı kurulur"),
        ("vi", "Thủ đô của Việt Nam là gì?", "Thủ đô Việt Nam"),
        ("ko", "전화기를 누가 발명했나요?", "전화기를 발명했나요"),
        ("zh", "它是什么时候发布的？", "它是 发布的"),
        ("ja", "管理者のパスワードはどうやって変更しますか", "管理者のパスワードは 変更しますか"),
    ],
)
def test_a_question_is_told_and_searched_for_its_words_alone(code: str, asked: str, searched: str) -> None:
    assert detect_language(asked) == code
    assert read_query(asked).kind == "semantic"
    wording = read_words(asked, Terms(), Spoken(code))
    words = dict.fromkeys(word for term, word in wording.words.items() if term not in wording.extra)
    assert set(words) == set(searched.split())


def test_an_elided_article_tells_a_language_and_a_name_does_not() -> None:
    assert detect_language("cambiare la password dell'amministratore") == "it"
    assert detect_language("O'Reilly d'Angelo can't") == ""


def test_cut_text_fits_the_columns_of_a_terminal() -> None:
    assert crop("abc", 3) == "abc"
    assert crop("abcd", 3) == "ab…"
    assert crop("病院は週末", 10) == "病院は週末"
    assert crop("病院は週末", 7) == "病院は…"
    assert crop("अस्पताल", 6) == "अस्पताल", "marks take no column"


def test_direction_marks_of_ordinary_text_leave_no_trace_and_overrides_do() -> None:
    assert clean("שלום\u200f!") == "שלום!"
    assert clean("a\u202eb") == "a\N{REPLACEMENT CHARACTER}b"
