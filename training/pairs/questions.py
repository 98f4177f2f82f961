"""First sentences rewritten into what people type into a search box or ask an agent.

Rules only: find the verb, bring it to its bare form, cut what only a reader of the code could have known, and put the
rest into one of a few dozen moulds, chosen by a hash so that the same sentence always gives the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from training.pairs.english import STOP_WORDS, VERBS, bare_verb, gerund, participle, third_person
from training.pairs.moulds import (
    CALLED,
    KEYWORDS,
    OF_A_CLASS,
    OF_A_CLAUSE,
    OF_A_DOING_CLASS,
    OF_A_NOUN,
    OF_THE_CODE,
    POLITE,
    RAISED,
    SPOKEN,
    WITH_LANGUAGE,
)

MAX_WORDS: Final = 14
"""Nobody types more: of the words of a longer sentence the first clause stays."""
MIN_CONTENT: Final = 2
"""Words that say something; with fewer a question could mean any function."""


_ASIDE = re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]")
_CLAUSE = re.compile(
    r"[;:]\s|\s[-–—]{1,2}\s|,\s(?=which|where|given|so|but|and then|or\s|returning|using|unless|otherwise"
    r"|if\s|and\s|with|e\.g|i\.e"
    r"|i\s?f\s|for example|such as|as\s|while|in order|then|this|it\s|we\s|that)|\.\s"
    r"|\s(?=[Ss]ee\s+[@:`#\w])|\s(?=Examples?\b)"
)
_EDGE = ".,;:!?\"'`*-–—_ \t"
_ARTICLE = re.compile(
    r"\b(?:the|a|an|this|these|those|any)\s+(?:(?:given|specified|supplied|provided|passed|passed-in)\s+)?|^given\s+",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"\b(the|a|an|any|this|each)\s+(?:given|specified|supplied|provided|passed|passed-in)\s+(?=\w)",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    r"\s+(?:and|then)\s+returns?\s+(?:it|them|the result|a new one)$|\s+if\s+(?:any|necessary|needed|possible)$"
)
_TRUE_IF = re.compile(
    r"^(?!if\b)(?:returns?|gets?|is|yields?|evaluates? to|gives?)?\s*(?:a\s+)?(?:bool(?:ean)?\s+)?(?:that\s+)?"
    r"(?:(?:`*(?:true|false|non-?zero|1|0)`*)\s+(?:if(?:f| and only if)?|when|whenever|in case)"
    r"|(?:indicat\w+\s+)?(?:whether|if)(?:\s+or\s+not)?)\s+",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"^(?:checks?|tests?|determines?|verif(?:y|ies)|tells?|sees?|decides?|detects?|indicates?|says?|returns?"
    r"|predicate for)\s+"
    r"(?:for\s+)?(?:whether|if)(?:\s+or\s+not)?\s+",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:this|the|a)\s+(?:\w+\s+)?(?:function|method|class|helper|routine|procedure|macro|module|utility"
    r"|object|type"
    r"|struct|interface|trait|hook|component|decorator|command|script|test|wrapper)\s+(?:that\s+|which\s+"
    r"|will\s+|can be used to\s+"
    r"|is used to\s+|is\s+)?|(?:helper|utility|convenience|internal|private|static|simple|small"
    r"|handy)\s+(?:function|method|class|"
    r"routine|wrapper|decorator|macro|hook)?\s*(?:(?:that|which|to)\s+)|(?:function|method|class|used|use this|allows?"
    r"|a way|responsible|convenience)\s+(?:you\s+|us\s+|the user\s+|users\s+)?to\s+|(?:optionally|simply|just"
    r"|now|also|first"
    r"|recursively|lazily|safely|automatically|asynchronously|internally|synchronously|manually|actually|immediately"
    r"|(?:read[- ]?only\s+)?(?:property|attribute|accessor|getter|setter)\s+(?:for|to|that"
    r"|which)(?:\s+(?:getting|get))?"
    r"|quickly|atomically|explicitly|please|we|it|you can|will)\s+)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"^(?:given|for|if|when|on|with|from|in|after|before|by|using|like)\s([^,]{3,80}),\s+(?:this (?:function "
    r"|method )?|it |will )?(\w+)\s",
    re.IGNORECASE,
)
_DEFINED = re.compile(
    r"^(?:this\s+|the\s+)?[\w.`]+(?:\s+\w+)?\s+(?:is|are|represents|holds|describes|defines|provides"
    r"|implements)\s+(?:an?|the)?\s*(?=\w)",
    re.IGNORECASE,
)
_RAISED = re.compile(
    r"^(?:exceptions?\s+|errors?\s+)?(?:is\s+)?(?:raised|thrown|returned|emitted)\s+(?:when|if|in case|by|for"
    r"|on|to)\s+",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"^(?:is\s+|function\s+|callback\s+|method\s+|event\s+|hook\s+)?(?:called|invoked|fired|triggered"
    r"|executed|run)\s+(?:when(?:ever)?|if|after|before|once|on|by)\s+",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:is|are|was|were|must|can|will|has|have|should|does|be)\b", re.IGNORECASE)
_GETTERS: Final = frozenset("return get fetch retrieve obtain give yield lookup provide".split())
_ASKED_GETTERS: Final = ("get", "get", "get", "get", "find", "return", "return", "fetch")
_NUMBERS = re.compile(r"^[\d\W]+$")
_MEMBER = re.compile(r"\b(?:self|this|cls)[.:]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a sentence says one can do (`verb` and what follows it), or what it names (no verb)."""

    verb: str
    rest: str
    event: str = ""  # what happens: an error is raised, a function is called

    @property
    def phrase(self) -> str:
        """Both, as they would be said."""
        return f"{self.verb} {self.rest}".strip()


def pick(seed: str, choices: Sequence[str], salt: str) -> str:
    """One of several, always the same for the same seed."""
    return choices[number(seed, salt) % len(choices)]


def number(seed: str, salt: str) -> int:
    """A number that is the same in every run."""
    return int.from_bytes(
        blake2b(f"{salt}\0{seed}".encode("utf-8", "replace"), digest_size=6).digest(), "little"
    )


def spoken_language(language: str, seed: str) -> str:
    """What somebody would call the language, or nothing for one without a table entry."""
    return pick(seed, SPOKEN[language], "language") if language in SPOKEN else ""


def read_sentence(sentence: str, kind: str = "") -> Asked | None:
    """What a first sentence says: an instruction with its verb made bare, or a noun phrase."""
    said = _MEMBER.sub("", _ASIDE.sub("", sentence)).strip(_EDGE)
    condition = _CONDITION.match(said)
    if condition is not None and bare_verb(condition[2], "the"):
        said = said[condition.start(2) :]
    said = _CLAUSE.split(said, maxsplit=1)[0].strip(_EDGE)
    for pattern in (_CHECK, _TRUE_IF):
        found = pattern.match(said)
        if found is not None:
            rest = said[found.end() :]
            return Asked("check if", _shorten(rest)) if len(rest.split()) > 1 else None
    for _ in range(2):
        said = _OPENING.sub("", said, count=1)
    words = said.split()
    if not words:
        return None
    after = words[1] if len(words) > 1 else ""
    if _RAISED.match(said):
        return Asked("", _shorten(_RAISED.sub("", said)), "raised")
    if _CALLED.match(said):
        return Asked("", _shorten(_CALLED.sub("", said)), "called")
    verb = bare_verb(words[0].strip(_EDGE), "" if kind in _TYPES else after.strip(_EDGE))
    if verb == "check" and after.lower() in ("if", "whether", "that"):
        return Asked("check if", _shorten(" ".join(words[2:])))
    if verb:
        return Asked(verb, _shorten(_second_verb(" ".join(words[1:]))))
    if words[0].lower() in _NO_START:
        return None
    return Asked("", _shorten(_DEFINED.sub("", said)))


def _second_verb(rest: str) -> str:
    """`and returns it` after a bare verb is `and return it`."""
    return re.sub(
        r"\b(and|or|then)\s+([a-z]+s)\b",
        lambda found: f"{found[1]} {_bare(found[2]) or found[2]}",
        rest,
        count=2,
    )


def _bare(word: str) -> str:
    verb = bare_verb(word, "it")
    return verb if word.endswith("s") else ""


def _shorten(said: str) -> str:
    words = _TRAIL.sub("", said).split()
    if len(words) > MAX_WORDS:
        words = words[:MAX_WORDS]
        while len(words) > MIN_CONTENT and words[-1].lower().strip(_EDGE) in STOP_WORDS:
            words.pop()
    return " ".join(words).strip(_EDGE)


_IS = re.compile(r"^(?:is|are|was)\s+(?:an?\s+|the\s+)?", re.IGNORECASE)


def without_name(sentence: str, name: str) -> str:
    """`Open opens a file` in the manner of Go is `opens a file`."""
    first, _, rest = sentence.partition(" ")
    if not rest or first.strip("`()*,:").lower() != name.lower():
        return sentence
    return _IS.sub("", rest.strip())


def keywords(text: str) -> list[str]:
    """The words of a text that say something, in order, each once."""
    words = (word.strip(_EDGE + "()[]{}<>").lower() for word in text.split())
    return list(
        dict.fromkeys(word for word in words if word and word not in STOP_WORDS and not _NUMBERS.match(word))
    )


def questions(
    sentence: str, *, language: str, kind: str, around: str, seed: str, count: int, package: str = ""
) -> list[str]:
    """Up to `count` different questions that the declaration a sentence speaks of would answer.

    `around` is the class it stands in, as words: it completes what says too little by itself.
    """
    asked = read_sentence(sentence, kind)
    if asked is None or (not asked.verb and len(asked.rest.split()) < MIN_CONTENT):
        return []
    content = keywords(asked.rest)
    if (
        len(around) > 3
        and around not in _NO_PLACE
        and not asked.event
        and len(content) < MIN_CONTENT + 1
        and not set(around.split()) & set(content)
    ):
        joint = "of" if asked.verb in _GETTERS or not asked.verb else "in"
        asked = Asked(asked.verb, f"{asked.rest} {joint} {around}".strip())
        content = keywords(asked.rest)
    if len(content) < MIN_CONTENT:
        return []
    found = []
    for place in range(count):
        salt = f"{place}"
        question = _mould(asked, language, kind, f"{seed}\0{sentence}", salt)
        if package and number(seed, f"package{salt}") % 12 == 0 and package not in question:
            question = f"{package} {question}"
        found.append(_typed(question, number(seed, f"typed{salt}")))
    return list(dict.fromkeys(question for question in found if question))


def _mould(asked: Asked, language: str, kind: str, seed: str, salt: str) -> str:
    roll = number(seed, f"mould{salt}") % 100
    spoken = spoken_language(language, seed + salt)
    moulds: Sequence[str]
    if asked.event:
        moulds = RAISED if asked.event == "raised" else CALLED
    elif not asked.verb and _FINITE.search(asked.rest):
        moulds = OF_A_CLAUSE
    elif not asked.verb:
        moulds = OF_A_CLASS if kind in _TYPES else OF_A_NOUN
    elif kind in _TYPES:
        moulds = OF_A_DOING_CLASS
    elif not spoken or roll < (20 if language == "python" else 30):
        moulds = OF_THE_CODE
    elif roll < (36 if language == "python" else 48):
        moulds = POLITE
    elif roll < (42 if language == "python" else 56):
        moulds = KEYWORDS
    else:
        moulds = WITH_LANGUAGE
    mould = pick(seed, moulds, f"which{salt}")
    return " ".join(_fill(mould, asked, spoken, seed, salt).split())


_NO_START: Final = frozenset(
    "and or but because since note otherwise don't not no never there we you i if when while this that it "
    "for in on at by due as "
    "with only must should can may".split()
)
_NO_PLACE: Final = frozenset("prototype exports module self this tests class impl default".split())
_TYPES: Final = frozenset(
    "class struct interface trait enum type protocol module object record union namespace extension".split()
)


def _fill(mould: str, asked: Asked, spoken: str, seed: str, salt: str) -> str:
    verb, rest = asked.verb, asked.rest
    if verb in _GETTERS:
        verb = pick(seed, _ASKED_GETTERS, f"getter{salt}")
    plain = _ARTICLE.sub("", rest)
    plain = plain[:1].lower() + plain[1:] if plain[1:2].islower() else plain
    rest = _GIVEN.sub(r"\1 ", rest)
    passive = _passive(verb, rest) if "{passive}" in mould else ""
    if "{passive}" in mould and not passive:
        mould = pick(seed, ("{vp}", "{short}"), f"active{salt}")
    head, _, tail = verb.partition(" ")
    return mould.format(
        vp=f"{verb} {rest}",
        short=f"{verb} {plain}".strip(),
        third=f"{third_person(head)} {tail} {rest}",
        ing=f"{gerund(head)} {tail} {rest}",
        passive=passive,
        np=plain,
        lang=spoken,
        keys=" ".join(keywords(f"{verb if verb not in _GETTERS else ''} {rest}")[:7]),
    )


_SHORT_OBJECT = 6
"""`where is the list of open files written`: with more words between, nobody would ask so."""
_PREPOSITION = re.compile(
    r"\s(?=(?:to|from|in|into|for|with|on|at|by|using|as|if|when|and|that|which|through|over|up|down|out|off)\s)"
)


def _passive(verb: str, rest: str) -> str:
    """`the list of files written to disk` of `write the list of files to disk`; nothing where that gets clumsy."""
    if " " in verb or verb not in VERBS or verb in _GETTERS or verb in _ASKED_GETTERS:
        return ""
    parts = _PREPOSITION.split(rest, maxsplit=1)
    if not 1 <= len(parts[0].split()) <= _SHORT_OBJECT or _PREPOSITION.match(f" {parts[0]} "):
        return ""
    return " ".join([parts[0], participle(verb), *parts[1:]])


def _typed(question: str, roll: int) -> str:
    """As typed: lower case most of the time, no closing mark; now and then a question mark."""
    plain = " ".join(question.strip(_EDGE).split())
    plain = plain if roll % 5 == 0 else plain.lower()
    return (
        f"{plain}?" if roll % 17 == 0 and plain.lower().startswith(("how", "where", "what", "which")) else plain
    )
