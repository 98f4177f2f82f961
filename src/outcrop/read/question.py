"""READ PATH: a pasted text (a bug report, a trace, a chat message) becomes a few short queries, its clauses.

Most of such a text misleads: forms and checklists, versions, links, what a program printed, the reporter's own code.
What is asked stands in the title and the prose. Each kind of evidence is asked by itself and weighed, so that a page of
output cannot drown out a line of title. Time is linear in the length of any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Final

from outcrop.index.query import Query, read_query
from outcrop.read.mentions import paths_in, plain_text, ticked_names
from outcrop.read.traces import Trace, innermost_first
from outcrop.records import Clause, QueryType
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import WORD

MIN_PASTED_WORDS: Final = 12
"""Words of a text of several lines that is read this way; people type fewer (not measured)."""
MAX_TEXT_CHARS: Final = 40_000
"""Of a longer text both ends are read: a pasted log stands before or after the question (not measured)."""
MAX_LINE_CHARS: Final = 1_000
"""What a line is shows in its beginning; of a longer one that is not prose no more is read."""
MAX_TITLE_WORDS: Final = 30
MAX_WORDS: Final[dict[str, int]] = {"problem": 160, "errors": 60, "code": 120}
MAX_ERRORS: Final = 3
MAX_NAMES: Final = 8
MAX_PLACES: Final = 6
"""How much each clause takes. With 80, 160 and 300 words of the problem, and 60, 120 and 240 of the code, the reports
below gave the same to within .015; the others were not measured."""

WEIGHTS: Final[dict[str, float]] = {
    "problem": 0.6,
    "title": 1.0,
    "errors": 0.2,
    "places": 0.2,
    "names": 0.1,
    "code": 0.4,
}
"""How much each clause counts. Chosen on 138 real reports of 20 repositories that are in no labelled set: a changed
file is the first hit for .659 and among the first ten for .913, by the title alone for .630 and .899, by the whole text
as one query for .355 and .754. In trials around these values neither figure moved by more than .015."""

_STOP_WORDS: Final = frozenset(
    "a about again all also am an and any are as at be been but by can could did do does else for from "
    "get give had has have here how i if in into is it its just let like look me more my no not now of ok "
    "okay on one only or our please same say see should show so some such tell than thank thanks that the "
    "their them then there these they thing this those to too us very want was we well were what when "
    "where which while who why will with would yes you your".split()
)
_EMPTY_LINES: Final = re.compile(r"\n{3,}+")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_LOG: Final = re.compile(
    r"\s*\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d[.,\] ]|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|"
    r"FATAL|CRITICAL)[\]:| ]\s*\S)"
)
_LOG_LEVEL: Final = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|error|fatal|panic)\b[\]:|)\s-]*(.*)")
_CODE_LINE: Final = re.compile(
    r".*[;{}]$|(?: {4}|\t)(?!\s*(?:[-*•]|\d+[.)]) ).*[=()\[\]{}].*"
    r"|\s*(?:>>> |\$ |@\w+(?:\(.*\))?$|#include\b|from \S+ import |(?:import|package) [\w.{*\"'/]\S*(?: as \w+)?$)"
    r"|\s*(?:async )?(?:def|class) \w+(?:\(.*|:)$|\s*(?:func|fn|pub|public|private|protected|function|export) .*[{(]$"
)
_HEADING: Final = re.compile(
    r"\s{0,3}(?:#{1,6}\s+(.*)|(?:\*\*|__)([^*_]{2,80})(?:\*\*|__)\s*:?$|((?:[\w'/()-]+ ){0,2}[\w'/()-]+):$)"
)
_ASIDE: Final = re.compile(
    r"(?i)environment|\bversions?\b|\bsystem\b|platform|set-?up|desktop|smartphone|\bos\b|browser|config|check-?list"
    r"|\bbefore\b|prerequisite|screenshot|additional|anything else|other info|related|severity|\binfo|regression"
    r"|\blogs?\b|contribut|terms|code of conduct|validations|device|dependenc|duplicate|\bi have\b|confirm"
)
"""Headings of forms under which nobody says what is wrong, among them those of GitHub's default bug report."""
_FORM: Final = re.compile(r"\s*[-*+]?\s*\[[ xX]?\]\s|\s*(?:[-=_*]\s*){3,}$")
"""A box to tick, a rule between sections."""
_FIELD: Final = re.compile(r"\s*(?:[-*+>]\s*)?[*_`]*([A-Za-z@][\w .,/()@-]{0,48}?)[*_`]*\s*[:=](.*)")
_MACHINE: Final = re.compile(
    r"(?i)\bversions?\b|^(?:os|operating system|platform|browser|device|node(?:\.?js)?|npm|yarn|pnpm|python|pip|ruby"
    r"|php|java|jdk|jvm|go|rust|rustc|cargo|kotlin|gradle|maven|compiler|gcc|clang|docker|kernel|arch(?:itecture)?|distro"
    r"|shell|terminal|editor|ide|host|locale|machine|cpu|sdk|runtime|package manager)\b"
)
_VERSION: Final = re.compile(
    r"(?i)\d+(?:\.\d+)+|\b(?:macos|windows|ubuntu|debian|linux|darwin|fedora|centos|alpine|android|ios)\b"
)
_PREFIX: Final = re.compile(
    r"(?i)^[\s#>*_-]*(?:\[[^\]]{1,24}\]\s*:?\s*|(?:bug|bug report|feature request|issue)\s*:\s*)*"
)
_MARKUP: Final = re.compile(
    r"!\[[^\]\n]*+\]\([^)\n]*+\)|(?<=\])\([^)\n]*+\)|</?[a-zA-Z][\w-]*+(?:\s[^<>\n]*+)?>"
)
_FAILURE: Final = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|fatal|panic(?:ked)?|failed|failure|warning|cannot|invalid|unexpected)\b"
)


@dataclass(slots=True)
class Reading:
    """A text taken apart: its prose, the lines that are not prose, and the stack traces."""

    prose: list[str] = field(default_factory=list)
    pasted: list[str] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)

    @property
    def text(self) -> str:
        """The prose."""
        return "\n".join(self.prose)

    @property
    def errors(self) -> list[str]:
        """The last error is the one that was seen, the first what began it; of logs and output lines that tell one."""
        traced = list(dict.fromkeys(error[:400] for error in self.trace.errors))
        logged = (found[1] for line in self.pasted if _LOG.match(line) and (found := _LOG_LEVEL.search(line)))
        printed = (
            line.strip()
            for line in self.pasted
            if _FAILURE.search(line) and not _LOG.match(line) and not _CODE_LINE.match(line.lstrip())
        )
        told = dict.fromkeys(line[:200] for line in (*logged, *printed) if len(line.split()) > 2)
        return [*traced[-1:], *traced[:-1][:2], *islice(told, MAX_ERRORS)]


def read_text(content: str, limit: int = MAX_TEXT_CHARS) -> Reading:
    """Sort the lines of a text into prose and what was pasted, read the traces, and drop what a form asks for beside
    the problem."""
    reading = Reading()
    fence, is_aside = "", False
    aside: list[str] = []
    trace = reading.trace
    for raw in both_ends(_without(without_context(content), "<!--", "-->"), limit).split("\n"):
        line = raw[:MAX_LINE_CHARS].rstrip()
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())):
            fence = "" if fence else mark[1]
            trace.end()
        elif trace.take(line):
            continue
        elif fence or _LOG.match(line) or _CODE_LINE.match(line) or _is_data(raw):
            if not is_aside:
                reading.pasted.append(line)
        elif line.lstrip().startswith(">"):
            reading.pasted.append(line.lstrip("> "))
        elif heading := reading.prose and _HEADING.match(line):
            is_aside = _ASIDE.search(heading[1] or heading[2] or heading[3] or "") is not None
        elif line.strip() and not _FORM.match(line) and not _is_machine(line):
            (aside if is_aside else reading.prose).append(raw)
    if len(reading.prose) < 2:  # so it is told under such a heading after all
        reading.prose += aside
    return reading


def _is_machine(line: str) -> bool:
    """Whether a line of a form tells about the machine: `OS: Ubuntu 22.04`."""
    found = _FIELD.match(line)
    if found is None:
        return False
    return _MACHINE.search(found[1]) is not None or (
        _VERSION.search(found[2]) is not None and len(found[2].split()) < 8
    )


def _is_data(line: str) -> bool:
    """A long line with hardly a space: minified code, base64."""
    return len(line) > MAX_LINE_CHARS and line.count(" ") * 20 < len(line)


def without_context(content: str) -> str:
    """Without context that this engine packed into an earlier prompt: nobody typed it."""
    return _without(content, "<codeRag:chunks", "</codeRag:chunks>")


def _without(content: str, opening: str, closing: str) -> str:
    kept, at = [], 0
    while (start := content.find(opening, at)) >= 0:
        kept.append(content[at:start])
        end = content.find(closing, start)
        at = len(content) if end < 0 else end + len(closing)
    return "".join((*kept, content[at:]))


def both_ends(content: str, limit: int) -> str:
    """A text, or where it is longer than the limit its beginning and its end: there the request stands."""
    content = _EMPTY_LINES.sub("\n\n", content.replace("\r", ""))
    half = limit // 2
    return content if len(content) <= limit else f"{content[:half]}\n{content[-half:]}"


def is_meaningful(word: str) -> bool:
    """Whether a word says what a text is about."""
    return any(part.lower() not in _STOP_WORDS for part in WORD.findall(word))


# ------------------------------------------------------------------ the clauses


def read_question(text: str) -> tuple[Clause, ...]:
    """The clauses of a pasted text, the main one first; none of a query that was typed, and of pasted code."""
    if len(text[:MAX_TEXT_CHARS].split()) < MIN_PASTED_WORDS or "\n" not in text.strip():
        return ()
    reading = read_text(text)
    title = _find_title(reading.prose)
    said = {
        "problem": _first_words(map(_speech, reading.prose), MAX_WORDS["problem"]),
        "title": title,
        "errors": _first_words(reading.errors, MAX_WORDS["errors"]),
        "places": " ".join(_find_places(reading)),
        "names": " ".join(islice(dict.fromkeys(ticked_names(reading.text)), MAX_NAMES)),
        "code": _first_words(reading.pasted, MAX_WORDS["code"]),
    }
    if not (title or said["errors"] or said["places"]):
        return ()
    if not title or said["problem"] == title:  # "It fails:" before a trace
        said["problem"] = ""
    return tuple(Clause(name, said, WEIGHTS[name]) for name, said in said.items() if WORD.search(said))


def as_query(clauses: Sequence[Clause], kind: QueryType | None) -> Query:
    """The clauses as one query: the main one, which has the others beside it. Only the title says what is asked for,
    and what stands in quotation marks need not occur."""
    title = next((clause.text for clause in clauses if clause.name == "title"), clauses[0].text)
    queries = [
        replace(read_query(clause.text, kind).relax(), title=title, weight=clause.weight) for clause in clauses
    ]
    return replace(queries[0], also=tuple(queries[1:]))


def _find_title(prose: Sequence[str]) -> str:
    """The first line that says something, without what a form puts before it."""
    for line in prose:
        words = _PREFIX.sub("", _speech(line), count=1).split()[:MAX_TITLE_WORDS]
        if sum(map(is_meaningful, words)) > 1 and not line.startswith(("    ", "\t")):  # as code is
            return " ".join(words)
    return ""


def _speech(line: str) -> str:
    """The words of a line of prose, without markup and addresses."""
    return plain_text(_MARKUP.sub(" ", line))


def _first_words(lines: Iterable[str], limit: int) -> str:
    return " ".join(islice((word for line in lines for word in line.split()), limit))


def _find_places(reading: Reading) -> list[str]:
    """The functions and files of a trace, innermost first, and the files that are named."""
    words: dict[str, None] = {}
    for frame in innermost_first(reading.trace.frames)[:MAX_PLACES]:
        words.update(dict.fromkeys((*frame.name.split(".")[-1:], _file_words(frame.target))))
    lines = (*reading.prose, *reading.pasted)
    words.update(
        dict.fromkeys(islice((_file_words(path) for line in lines for path in paths_in(line)), MAX_PLACES))
    )
    return [word for word in words if word]


def _file_words(path: str) -> str:
    """The end of a path, which is what an index may know of it."""
    return "/".join(path.partition(":")[0].split("/")[-2:])
