"""What was typed becomes a Query: its kind, its phrases, its words.

A quoted phrase must occur word for word where it is plainly meant that way: in a short query, or where there is nothing
but phrases. In a longer text (an issue, a stack trace, JSON, HTML) quotation marks are just part of the text, and what
they enclose only counts in ranking.

Exact: required phrases, ALL_CAPS, camelCase, snake_case and dotted identifiers, error codes. Semantic: question
words, or four and more plain words. Mixed: the rest. The kind can be forced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from outcrop.index.wording import Translation
from outcrop.records import QueryType, Role
from outcrop.system.dataclass import dataclass
from outcrop.text.scripts import TERM_CHARACTERS

_QUOTED: Final = re.compile(r'"([^"]+)"|“([^“”]+)”')
_IDENTIFIERS: Final = re.compile(
    # Linear on any input: no two neighbouring repeats can match the same character, and each starts only once a run.
    r"""(?x)
    \b[a-z][a-z0-9]*+[A-Z][a-zA-Z0-9]*+\b            # camelCase
  | \b(?:[A-Z][a-z0-9]++){2,}\b                      # PascalCase
  | \b[A-Z]{2,}[a-z]{2,}[a-zA-Z0-9]*+\b              # HTTPServer
  | \b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b | \b_+\w+     # snake_case, SCREAMING_CASE, _private
  | \b[A-Z]{2,}[0-9]*\b                              # ALLCAPS
  | \b[A-Za-z]+-?[0-9]{2,}\b                         # TS-999, E1101
  | \b(?!e\.g\b|i\.e\b)[A-Za-z_]\w*+(?:(?:\.|::|->)[A-Za-z_]\w*+)+  # os.path.join, std::vector
  | \b0x[0-9a-fA-F]+\b | (?<![\w./-])[\w./-]+\.[a-z]{1,4}\b(?=\s|$)(?<!\be\.g)(?<!\bi\.e)  # 0xDEAD, setup.cfg
  | \b\w+\(\)                                        # call()
    """
)
_ACRONYM: Final = re.compile(r"[A-Z]{2,6}")
"""By itself a name to look up; in a sentence (how does the API …, DNA methylation in …) a word like others."""
_QUESTION: Final = re.compile(
    r"(?i)^\s*(?:how|what|why|when|where|who|whom|whose|which|can|could|does|do|did|is|are|was|were|should|would|"
    r"will|explain|describe)\b|[?？؟;]\s*$"
)
_PLAIN_WORD: Final = re.compile(r"[^\W\d_]+")
MIN_ASKING_WORDS: Final = 2
"""By itself a question word is a word to look up."""
MIN_UNSPACED_SENTENCE: Final = 4
"""Characters in a row of a script without spaces that are as good as four words (not measured)."""

_BEFORE_PHRASE: Final = frozenset(" \t")
_AFTER_PHRASE: Final = frozenset(" \t).,;:!?")
"""What stands around quotation marks that set a phrase apart. Elsewhere they belong to something pasted: `"id":"x"`,
`class="box"`, a 5" disk."""
MAX_PHRASE_QUERY_WORDS: Final = 12
"""Words outside the quotation marks of a query whose phrases must occur. People type fewer, and texts that were
pasted have more (not measured)."""
MAX_QUOTED: Final = 64
"""Phrases of a longer text that are kept: a pasted file has thousands."""

MAX_QUERY_CHARS: Final = 20_000
"""A longer query is a pasted document: its beginning says what it is about, the rest only costs time."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name of code in a query; `scope` is what stands before it: `Pool` of `Pool.acquire`."""

    name: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A query as search understands it. `phrases` must occur word for word, `quoted` ones are credited where they do;
    `text` is without the quotation marks; `symbols` are what may be names of code. `loose_kind` is the type of
    the query when no phrase is required. A clause of a pasted text has a `weight` and, in `title`, what alone says
    which kind of file is asked for; the main clause has the others in `also`. `language`
    is the one that it is to be read in, empty where that is left to its words; `translations` are of its words."""

    text: str
    kind: QueryType
    phrases: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    quoted: tuple[str, ...] = ()
    loose_kind: QueryType = "mixed"
    title: str = ""
    weight: float = 1.0
    also: tuple[Query, ...] = ()
    language: str = ""
    translations: tuple[Translation, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Empty and one-character queries have empty answers, except for a letter that is declared as a name, and one
        character of a script in which a character is a word."""
        text = self.text.strip()
        return not text or (len(text) == 1 and text < "\u2e80") or not re.search(r"\w", text)

    @property
    def is_letter(self) -> bool:
        """Whether the query is a single letter: it may be a name that code declares, and nothing else."""
        return len(self.text) == 1 and self.text.isalpha() and self.text < "\u2e80"

    @property
    def is_name(self) -> bool:
        """Whether the query is a single name and nothing else: where it is declared is what is asked for."""
        return len(self.symbols) == 1 and _NAME.fullmatch(self.text.removesuffix("()")) is not None

    def relax(self) -> Query:
        """The same query with no phrase required: they are credited instead."""
        return replace(self, kind=self.loose_kind, phrases=(), quoted=(*self.phrases, *self.quoted))

    def read_in(self, language: str) -> Query:
        """The same query, and its clauses, in a language."""
        return replace(
            self, language=language, also=tuple(replace(clause, language=language) for clause in self.also)
        )


def read_query(text: str, kind: QueryType | None = None) -> Query:
    """Take a typed query apart; `kind` forces its type."""
    text = text[:MAX_QUERY_CHARS].encode("utf-8", "replace").decode("utf-8")
    marked = [match for match in _QUOTED.finditer(text) if re.search(r"\w", match.group())]
    if not marked:
        plain = text.strip()
        found = kind or _detect(text)
        return Query(plain, found, (), read_symbols(plain), (), found)
    phrases = tuple(dict.fromkeys(" ".join(_inside(match).split()) for match in marked))
    plain = _QUOTED.sub(lambda match: f" {_inside(match)} ", text).strip()
    loose = kind or _detect(plain)
    symbols = read_symbols(plain)
    if _must_occur(text, marked):
        return Query(plain, kind or "exact", phrases, symbols, (), loose)
    return Query(plain, loose, (), symbols, phrases[:MAX_QUOTED], loose)


def _inside(match: re.Match[str]) -> str:
    return match.group(1) or match.group(2)


def _must_occur(text: str, marked: Sequence[re.Match[str]]) -> bool:
    """Whether quoted phrases are plainly meant as such: all stand apart, in one line with few words beside them or with
    nothing beside them."""
    outside = _QUOTED.sub(" ", text)
    if not re.search(r"\w", outside):
        return all(_stands_apart(text.replace("\n", " "), match) for match in marked)
    if "\n" in text.strip() or len(outside.split()) > MAX_PHRASE_QUERY_WORDS:
        return False
    return all(_stands_apart(text, match) for match in marked)


def _stands_apart(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(match.start() - 1, 0) : match.start()], text[match.end() : match.end() + 1]
    return (not before or before in _BEFORE_PHRASE) and (not after or after in _AFTER_PHRASE)


_NAME: Final = re.compile(r"[^\W\d]\w*[?!]?(?:(?:\.|::|->|\#|/|\\)[^\W\d]\w*[?!]?)*")
_JOINT: Final = re.compile(r"\.|::|->|\#|/|\\")
_CODELIKE: Final = re.compile(r"_|::|->|\#|\w\.\w|[a-z][A-Z]|[A-Z]{2}")
MAX_SYMBOLS: Final = 12
"""Names of one query that are looked up: a pasted listing has hundreds, and is about none of them."""


def read_symbols(text: str) -> tuple[Symbol, ...]:
    """The words of a query that look like names of code; a word by itself, or with a call's brackets, always may be."""
    found = list(_NAME.finditer(text))
    symbols: dict[Symbol, None] = {}
    for match in found:
        name = match.group()
        called = text.startswith("()", match.end())
        if len(found) == 1 or called or _CODELIKE.search(name) or _quoted_as_code(text, match):
            *scope, last = _JOINT.split(name)
            symbols[Symbol(last, scope[-1] if scope else "")] = None
    return tuple(symbols)[:MAX_SYMBOLS]


def _quoted_as_code(text: str, match: re.Match[str]) -> bool:
    return match.start() > 0 and text[match.start() - 1] == "`" == text[match.end() : match.end() + 1]


def _detect(text: str) -> QueryType:
    words = _PLAIN_WORD.findall(text)
    sentence = bool(_QUESTION.search(text)) or len(words) >= 4 or _asks(text, words)
    identifiers = [
        found for found in _IDENTIFIERS.findall(text) if not (sentence and _ACRONYM.fullmatch(found))
    ]
    if identifiers:
        # One name in a long sentence is a question around that name: both legs have something to say.
        return "mixed" if len(words) > 4 + 2 * len(identifiers) else "exact"
    unspaced = max((match.end() - match.start() for match in TERM_CHARACTERS.finditer(text)), default=0)
    return "semantic" if sentence or unspaced >= MIN_UNSPACED_SENTENCE else "mixed"


def _asks(text: str, words: Sequence[str]) -> bool:
    """Whether a short text begins with a question word of the language that it is in."""
    if len(words) < MIN_ASKING_WORDS:
        return False
    from outcrop.text.detect import detect_language  # of longer texts it is clear without
    from outcrop.text.languages import known_languages

    language = known_languages().get(detect_language(text))
    opening = text.lower().lstrip(" \t\n¿¡").split(maxsplit=1)[0]
    return language is not None and opening in language.asking.split()


# ------------------------------------------------------------------ what is asked for beside the words

ASKING_WORDS: Final[dict[str, Role]] = {
    # "test runner" may mean the code that runs tests; then its tests are not punished, which costs little.
    **dict.fromkeys(
        "test tests tested testing testdata unittest unittests testcase testcases pytest conftest specs fixture "
        "fixtures mock mocks mocked mocking".split(),
        "test",
    ),
    **dict.fromkeys("bench benches benchmark benchmarks benchmarked benchmarking".split(), "benchmark"),
    **dict.fromkeys(
        "example examples demo demos tutorial tutorials cookbook cookbooks quickstart samples".split(),
        "example",
    ),
    **dict.fromkeys(
        "compat compatibility legacy deprecated deprecation polyfill polyfills shim shims backport "
        "backports".split(),
        "compat",
    ),
    **dict.fromkeys("docs documentation sphinx mkdocs docusaurus vitepress".split(), "docs"),
    **dict.fromkeys("autogenerated codegen protobuf protoc pb2 snapshot snapshots".split(), "generated"),
    **dict.fromkeys("changelog changelogs changed".split(), "changelog"),
    **dict.fromkeys("vendor vendored vendoring vendors".split(), "vendored"),
    **dict.fromkeys("minified uglified".split(), "minified"),
    **dict.fromkeys("lockfile lockfiles".split(), "lock"),
}
"""Words, and parts of names (`test_pool`, `PoolTest`, `tests/pool.py`), that ask for a role. Not here: `spec` and
`sample`, which are about protocols and rates, `generated`, which happens to tokens, and `lock`, which is held."""

_ASKING_PHRASES: Final[tuple[tuple[re.Pattern[str], Role], ...]] = (
    (re.compile(r"[._]spec\b|\bspec/|\bspec (?:file|for|of)\b|\be2e\b"), "test"),
    (re.compile(r"\bsample (?:code|apps?|applications?|projects?|programs?|usage)\b"), "example"),
    (re.compile(r"\bbackwards?[- ]compat|\bold(?:er)? versions? of python\b"), "compat"),
    (re.compile(r"\bconf\.py\b|\bdocs?/"), "docs"),
    (
        re.compile(
            r"(?:^|\b(?:the|auto|by|in|all|automatically)[ -])generated "
            r"(?:by\b|code|files?|sources?|class(?:es)?|clients?|stubs?|bindings?|parsers?|messages?|types?)"
            r"|\bauto[- ]generated\b|@generated|\bcode generat(?:ion|or)\b"
        ),
        "generated",
    ),
    (
        re.compile(
            r"\bchange[- ]logs?\b|\brelease[-_ ]notes\b|\bwhat['’]?s new\b|\b(?:breaking|latest|recent) changes\b"
            r"|\bnew in\b|\b(?:last|latest|next|new|this|previous|which|what) (?:release|version)\b"
            r"|\b(?:since|version|release|in) v?\d+\.\d+"
            r"|\bwhen (?:was|were|did)\b.{1,80}\b(?:add|remov|introduc|fix|deprecat|renam|releas|chang|dropp?)"
        ),
        "changelog",
    ),
    (re.compile(r"\bthird[-_ ]party\b|\bnode_modules\b"), "vendored"),
    (re.compile(r"[.-]min\.(?:js|css)\b|\.bundle\.js\b"), "minified"),
    (
        re.compile(
            r"\block[- ]files?\b|\bgo\.sum\b|\bpinned (?:versions?|dependenc)"
            r"|\b(?:package|yarn|pnpm|bun|deno|poetry|pdm|uv|cargo|gemfile|composer|podfile|pubspec|mix|flake)[-.]lock\b"
        ),
        "lock",
    ),
)
_NOT_ASKING = re.compile(r"\bfor example\b|\be\.g\.")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+[a-z]+")

_GUIDE: Final = re.compile(
    r"\bhow (?:do|does|can|could|should|would) (?:i|we|you|one)\b|\bhow to\b|\binstallation\b"
    r"|\bget(?:ting)? started\b|\bquick ?-?start\b|\btutorials?\b|\bguides?\b|\busage\b|\bfaq\b|\bfrequently asked\b"
    r"|\b(?:upgrading|migrating) (?:to|from)\b|\bchange ?log\b|\brelease notes\b|\breadme\b"
    r"|^\s*(?:what is|why)\b|\b(?:core )?concepts?\b|\b(?:in|for|of|with) my\b|\bfeatures\b"
)


def asks_for_guide(query: str) -> bool:
    """Whether a query is one of a user of the program, which its documentation answers, and not one about its code."""
    return _GUIDE.search(query.lower()) is not None


def asks_for(query: str) -> frozenset[Role]:
    """The roles of files that a query asks for, in words ("tests of the pool") or by a name (`tests/pool.py`)."""
    plain = _NOT_ASKING.sub(" ", query)
    asked: set[Role] = {
        role for word in _WORD.findall(plain) if (role := ASKING_WORDS.get(word.lower())) is not None
    }
    lowered = plain.lower()
    asked.update(role for phrase, role in _ASKING_PHRASES if phrase.search(lowered))
    return frozenset(asked)
