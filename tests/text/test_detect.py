"""Which language a text is in."""

from __future__ import annotations

import pytest

from outcrop.text.detect import detect_language
from outcrop.text.languages import find_code, function_words, known_languages, name_language
from outcrop.text.pieces import has_stemmer

SENTENCES = {
    "en": "The hospitals of the city are closed on weekends, which is not good for the patients.",
    "de": "Die Krankenhäuser der Stadt sind am Wochenende geschlossen, und das ist nicht gut für die Patienten.",
    "fr": "Les hôpitaux de la ville sont fermés le week-end, ce qui n'est pas bon pour les patients.",
    "es": "Los hospitales de la ciudad están cerrados los fines de semana, y eso no es bueno para los pacientes.",
    "pt": "Os hospitais da cidade estão fechados ao fim de semana, o que não é bom para os pacientes.",
    "it": "Gli ospedali della città sono chiusi nel fine settimana e questo non è un bene per i pazienti.",
    "nl": "De ziekenhuizen van de stad zijn in het weekend gesloten en dat is niet goed voor de patiënten.",
    "sv": "Sjukhusen i staden är stängda på helgen och det är inte bra för patienterna.",
    "fi": "Kaupungin sairaalat ovat kiinni viikonloppuna, mikä ei ole hyvä potilaille.",
    "pl": "Szpitale w mieście są zamknięte w weekend i nie jest to dobre dla pacjentów.",
    "cs": "Nemocnice ve městě jsou o víkendu zavřené, což není dobré pro pacienty.",
    "hu": "A város kórházai hétvégén zárva vannak, és ez nem jó a betegeknek.",
    "ro": "Spitalele din oraș sunt închise în weekend și acest lucru nu este bun pentru pacienți.",
    "tr": "Şehrin hastaneleri hafta sonu kapalı ve bu hastalar için iyi değil.",
    "vi": "Các bệnh viện của thành phố đóng cửa vào cuối tuần và điều đó không tốt cho bệnh nhân.",
    "id": "Rumah sakit di kota ini tutup pada akhir pekan dan itu tidak baik untuk pasien.",
    "ru": "Больницы города закрыты по выходным, и это плохо для пациентов.",
    "uk": "Лікарні міста зачинені на вихідних, і це погано для пацієнтів.",
    "el": "Τα νοσοκομεία της πόλης είναι κλειστά τα Σαββατοκύριακα.",
    "ar": "مستشفيات المدينة مغلقة في عطلة نهاية الأسبوع وهذا ليس جيدا للمرضى.",
    "fa": "بیمارستان‌های شهر در آخر هفته بسته هستند و این برای بیماران خوب نیست.",
    "he": "בתי החולים של העיר סגורים בסוף השבוע.",
    "hi": "शहर के अस्पताल सप्ताहांत में बंद रहते हैं और यह मरीजों के लिए अच्छा नहीं है।",
    "bn": "শহরের হাসপাতালগুলি সপ্তাহান্তে বন্ধ থাকে এবং এটি রোগীদের জন্য ভালো নয়।",
    "ta": "நகரத்தின் மருத்துவமனைகள் வார இறுதியில் மூடப்பட்டுள்ளன.",
    "th": "โรงพยาบาลของเมืองปิดในวันหยุดสุดสัปดาห์",
    "ja": "市の病院は週末に閉まっていて、患者にはよくない。",
    "zh": "城市的医院周末关闭，这对病人不好。",
    "ko": "도시의 병원은 주말에 문을 닫는다.",
    "ka": "ქალაქის საავადმყოფოები შაბათ-კვირას დაკეტილია.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_tells_its_language(code: str) -> None:
    assert detect_language(SENTENCES[code]) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "login page timeout",
        "def load(path): return json.loads(path)",
        "die hard",
        "mit license",
        "a d s l",
    ],
)
def test_what_says_too_little_is_not_told(text: str) -> None:
    assert detect_language(text) == ""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "Jeu de caractères ISO 8859-15 en octal. La norme ISO 8859 inclut plusieurs extensions 8 bits au jeu de "
               "caractères ASCII (également appelé ISO 646-IRV). L'ISO 8859-15 encode les caractères utilisés dans "
               "beaucoup de langues d'Europe de l'Ouest et ajoute le signe de l'Euro."),
        ("da", "Programmet læser filen og skriver resultatet til standarduddata. Hvis filen ikke findes, vises en "
               "fejl, og programmet afsluttes med koden 1."),
    ],
)  # fmt: skip
def test_technical_texts_with_few_small_words_and_a_sister_language_are_told(code: str, text: str) -> None:
    assert detect_language(text) == code


def test_a_note_full_of_english_names_has_the_language_of_its_sentences() -> None:
    assert detect_language("getUserName を呼び出すと UserStore から名前が返されます。") == "ja"
    assert detect_language("Функция getUserName возвращает имя из UserStore.") == "ru"


def test_a_few_words_have_a_language_that_the_index_holds() -> None:
    assert detect_language("Drucker einrichten") == ""
    assert detect_language("Drucker einrichten", ["de", "fr"]) == "de"
    assert detect_language("conjunto de caracteres", ["fr", "es"]) in ("fr", "es")
    assert detect_language("los caracteres en octal", ["fr", "de", "es"]) == "es"
    assert detect_language("налаштування мережі", ["de", "uk"]) == "uk"
    assert detect_language("настройка сети", ["de"]) == "ru", "what has its script is known without"


def test_every_language_has_a_name_and_can_be_asked_for_by_it() -> None:
    for code, language in known_languages().items():
        assert name_language(code) == language.name
        assert find_code(language.name.upper()) == find_code(code) == code
    assert find_code("klingon") is None
    assert name_language("tlh") == "tlh"


def test_every_stemmer_that_is_named_is_there() -> None:
    import Stemmer

    named = {language.stemmer for language in known_languages().values() if language.stemmer}
    assert named <= set(Stemmer.algorithms())
    assert has_stemmer("de")
    assert not has_stemmer("vi")
    assert not has_stemmer("unknown")


@pytest.mark.parametrize("code", ["en", "hi", "es", "fr", "ar", "bn", "pt", "ru", "de", "ur"])
def test_the_most_used_languages_with_spaces_have_words_that_say_nothing(code: str) -> None:
    assert len(function_words(code)) >= 60
    if code != "en":
        language = known_languages()[code]
        assert language.asking
        assert language.pointing
        assert language.leading
