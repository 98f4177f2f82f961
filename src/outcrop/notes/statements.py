"""What a note states: a subject and a value, a line or a sentence each, as rules can tell.

Three shapes: `name: value` (also a row of two cells), `subject verb value` for verbs that give one value, and a
sentence with a value that has a type, such as a number with its unit, a date, a version, a weekday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from outcrop.notes.front_matter import body_start
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import STOP_WORDS, WORD

MAX_STATEMENTS: Final = 300
"""Of one note; a longer one is hardly about one subject (not measured)."""
MAX_STATEMENT_CHARS: Final = 400
"""A longer sentence states more than one thing."""
MAX_VALUE_WORDS: Final = 6
"""Of a value without a type: more words are an explanation, not a value."""

TermsOf = Callable[[str], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a note. `subject` and `value` are terms; `typed` has the values that have a type, by type.
    `shape` is the verb, or `pair`; without one it may differ from another by a typed value or a negation alone.
    `heading` is what it stands under."""

    path: str
    line: int
    text: str
    subject: frozenset[int]
    value: frozenset[int]
    shape: str
    typed: Mapping[str, frozenset[str]]
    heading: frozenset[int]
    is_negated: bool


_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": "1", "an": "1", "half": "0.5", "once": "1", "twice": "2"}
_UNITS: Final = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("duration", 0.001)),
    **dict.fromkeys(("s", "sec", "second", "seconds"), ("duration", 1.0)),
    **dict.fromkeys(("min", "minute", "minutes"), ("duration", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("duration", 3600.0)),
    **dict.fromkeys(("day", "days"), ("duration", 86_400.0)),
    **dict.fromkeys(("week", "weeks"), ("duration", 604_800.0)),
    **dict.fromkeys(("month", "months"), ("duration", 2_592_000.0)),
    **dict.fromkeys(("year", "years"), ("duration", 31_536_000.0)),
    **dict.fromkeys(("kb", "kib"), ("size", 1e3)),
    **dict.fromkeys(("mb", "mib"), ("size", 1e6)),
    **dict.fromkeys(("gb", "gib"), ("size", 1e9)),
    **dict.fromkeys(("tb", "tib"), ("size", 1e12)),
    **dict.fromkeys(("%", "percent"), ("share", 1.0)),
    **dict.fromkeys(("times", "retries", "attempts", "tries"), ("times", 1.0)),
}
_QUANTITY: Final = re.compile(
    rf"(?<![\w.])(\d[\d,]*(?:\.\d+)?|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
    rf"[ \t-]*({'|'.join(sorted(_UNITS, key=len, reverse=True))})(?!\w)",
    re.IGNORECASE,
)
_TYPES: Final = {
    "address": re.compile(r"(?:https?|ssh|postgres(?:ql)?|redis)://[^\s)>\"'`]{1,200}"),
    "date": re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)"),
    "time": re.compile(r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d(?![\d:])"),
    "version": re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){1,3}(?![\w.]|\.\d)|(?<![\w.])v\d{1,4}(?!\w)"),
    "weekday": re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE),
    "month": re.compile(
        r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    ),
    "number": re.compile(r"(?<![\w.#-])\d[\d,]*(?:\.\d+)?(?![\w%]|\.\d)"),
    "code": re.compile(r"`([^`\n]{1,80})`"),
}
_NEGATIONS: Final = re.compile(
    r"\b(?:not|never|no longer|cannot|no|without|disabled|off|false|forbidden|deprecated)\b|n't\b",
    re.IGNORECASE,
)
_SWITCHES: Final = re.compile(
    r"\b(?:yes|no|true|false|on|off|enabled|disabled|allowed|forbidden)\b", re.IGNORECASE
)
_PAIR: Final = re.compile(r"(?P<key>[^\s:=|][^:=|]{0,58}[^\s:=|]|[^\s:=|]):[ \t]+(?P<value>\S.*)")
_ROW: Final = re.compile(r"\|[ \t]*(?P<key>[^|]{1,60}?)[ \t]*\|[ \t]*(?P<value>[^|]{1,120}?)[ \t]*\|")
_VERB: Final = re.compile(
    r"(?P<subject>\S.{0,160}?)\s+(?:now\s+|currently\s+|always\s+|still\s+)?(?P<verb>"
    r"uses?|runs? on|lives? (?:in|at|on)|moved to|(?:is|are) (?:owned by|run by|called|named|stored in|kept in|set to"
    r"|hosted on|written in|deployed to|based on|in|at|on)|belongs? to|defaults? to|deploys? to|is|are)\s+"
    r"(?P<value>\S.{0,160})",
    re.IGNORECASE,
)
_SAME_VERBS: Final = {"are": "is", "uses": "use", "runs on": "run on"}
_QUALIFIES: Final = re.compile(
    r"\s+(?:for|in|as|on|to|by|with|from|after|before|when|if|unless|at)\s+", re.IGNORECASE
)
_GENERIC: Final = re.compile(
    r"\b(?:liv(?:es?|ing)|lasts?|expires?|happens?|runs?|starts?|begins?|listens?|ke(?:eps?|pt)|tak(?:es?|en)|ha(?:s|ve)|gets?"
    r"|us(?:es?|ed)|sets?|must|may|only|now|new|currently|most|least|at|limited|allow(?:s|ed)?|go(?:es)?|retain(?:s|ed)?"
    r"|per|every|each|up|about)\b",
    re.IGNORECASE,
)
"""Words around a value that do not tell one subject from another."""
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+")
_MARKUP: Final = re.compile(r"^[ \t]*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,4}[.)][ \t]+|>[ \t]*)+|\*\*|__")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(.*)")
_REMARK: Final = re.compile(
    r"(?:decided|updated|written|created|agreed|last (?:updated|changed))\b", re.IGNORECASE
)
"""How a sentence begins that says when a note was written."""
_FREE_KEYS: Final = frozenset(
    "note notes todo see example examples reason reasons why because warning hint tip source sources date author"
    " summary context background update updated decision decided question answer e.g i.e".split()
)
"""Names before a colon that begin a remark, not a value."""


def find_statements(path: str, text: str, terms_of: TermsOf) -> list[Statement]:
    """The statements of a note, in order."""
    found: list[Statement] = []
    start = body_start(text)
    line_number = 1 + text.count("\n", 0, start)
    title: frozenset[int] = frozenset()
    heading: frozenset[int] = frozenset()
    is_code = False
    for number, raw in enumerate(text[start:].split("\n"), line_number):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            is_code = not is_code
        if is_code or not line:
            continue
        if match := _HEADING.match(line):
            heading = terms_of(match[1])
            title = title or heading
            continue
        for sentence in _sentences(line):
            statement = _read(path, number, sentence, title | heading, terms_of)
            if statement is not None:
                found.append(statement)
        if len(found) >= MAX_STATEMENTS:
            return found[:MAX_STATEMENTS]
    return found


def _sentences(line: str) -> Iterator[str]:
    if line.startswith("|"):
        yield line
        return
    for part in _SENTENCE.split(_MARKUP.sub("", line)):
        sentence = part.strip()
        if 3 < len(sentence) <= MAX_STATEMENT_CHARS and not _is_remark(sentence):
            yield sentence


def _is_remark(sentence: str) -> bool:
    """Whether it says something about the note, not about its subject."""
    key, colon, _ = sentence.partition(":")
    return bool(_REMARK.match(sentence) or (colon and key.strip().lower() in _FREE_KEYS))


def _read(path: str, line: int, text: str, heading: frozenset[int], terms_of: TermsOf) -> Statement | None:
    """One statement; None where no rule finds a subject and a value."""
    plain = text.rstrip(".!。")
    shape, subject, value, qualified = _take_apart(plain)
    typed, rest = take_values(value)
    if shape and not typed:  # limited to 3 attempts: what qualifies the verb is the value
        typed, qualified = take_values(qualified)
    if not shape:
        typed, rest = take_values(plain)
    is_vague = shape == "is" and not (value[:1].isupper() or _SWITCHES.search(value))
    if not typed and (is_vague or len(WORD.findall(value)) > MAX_VALUE_WORDS):
        shape = ""
    about = f"{subject} {qualified} {rest if typed or not shape else ''}"
    terms = terms_of(_GENERIC.sub(" ", _NEGATIONS.sub(" ", about)))
    if not terms and shape:
        terms = heading
    if not terms:
        return None
    said = terms_of(_NEGATIONS.sub(" ", value)) if shape else frozenset[int]()
    negated = len(_NEGATIONS.findall(plain)) % 2 == 1
    return Statement(path, line, text, terms, said, shape, typed, heading, negated)


def _take_apart(plain: str) -> tuple[str, str, str, str]:
    """The shape of a statement (none, where it has no shape), its subject, its value, and what qualifies that: of
    `Postgres for sessions` the value is Postgres."""
    match = _ROW.match(plain) or _PAIR.fullmatch(plain)
    if match:
        return "pair", match["key"], match["value"], ""
    match = _VERB.fullmatch(plain)
    if match is None:
        return "", "", "", ""
    value, *qualified = _QUALIFIES.split(match["value"], maxsplit=1)
    verb = match["verb"].lower()
    return _SAME_VERBS.get(verb, verb), match["subject"], value, " ".join(qualified)


def take_values(text: str) -> tuple[dict[str, frozenset[str]], str]:
    """The values of a text that have a type, in a form in which equal ones are the same, and the text without them."""
    found: dict[str, set[str]] = {}

    def quantity(match: re.Match[str]) -> str:
        number, unit = match[1].lower().replace(",", ""), match[2].lower()
        kind, factor = _UNITS[unit]
        found.setdefault(kind, set()).add(f"{float(_NUMBERS.get(number, number)) * factor:g}")
        return " "

    def take(kind: str) -> Callable[[re.Match[str]], str]:
        def taken(match: re.Match[str]) -> str:
            value = match[match.lastindex or 0].lower()
            found.setdefault(kind, set()).add(_plain_value(kind, value))
            return " "

        return taken

    rest = text
    for kind in ("code", "address", "date", "time"):
        rest = _TYPES[kind].sub(take(kind), rest)
    rest = _QUANTITY.sub(quantity, rest)
    for kind in ("version", "weekday", "month", "number"):
        rest = _TYPES[kind].sub(take(kind), rest)
    return {kind: frozenset(values) for kind, values in found.items()}, rest


def _plain_value(kind: str, value: str) -> str:
    if kind == "weekday":
        return value.removesuffix("s")
    if kind == "version":
        return value.removeprefix("v")
    return value.replace(",", "") if kind == "number" else value


def content_terms(of: Callable[[str], list[tuple[str, tuple[int, ...]]]]) -> TermsOf:
    """The terms of a text without words that carry no meaning of their own."""

    def terms(text: str) -> frozenset[int]:
        return frozenset(
            number for word, numbers in of(text) if word.lower() not in STOP_WORDS for number in numbers
        )

    return terms
