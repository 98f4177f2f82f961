"""Documentation to documents and pairs: headings, questions people really asked, first sentences, remedies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from outcrop.records import Document
from training.pairs.clean import plain, sentences, worth_asking
from training.pairs.questions import keywords, number, pick, read_sentence
from training.pairs.records import Doc, Gathered
from training.pairs.split import spoken_name

MAX_CHARS: Final = 1500
MIN_WORDS: Final = 20
"""Words of a section that can answer anything."""
MIN_FIRST_WORDS: Final = 7
MAX_FIRST_WORDS: Final = 35
MIN_REST_WORDS: Final = 35
"""What must be left of a section when its first sentence asks for it."""
MAX_SECTIONS: Final = 400
"""Of one file: an API reference of thousands would drown the rest of a package."""

_RULE = re.compile(r"^[=\-~^\"'#*+.:_]{3,}[ \t]*$", re.MULTILINE)
_HEADING_LINE = re.compile(r"^[^\n]*\n(?:[=\-~^\"'`#*+.:_]{3,}[ \t]*\n)?")
_FENCE = re.compile(r"^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\s*(?:\.\. |:\w+:|\||<|\[!\[|!\[|\{%|---|\+[-=]+\+)")
_PROBLEM = re.compile(
    r"trouble\s?shoot|known (?:issues|problems|bugs|limitations)|common (?:errors|problems|issues|mistakes"
    r"|pitfalls)|pitfall"
    r"|gotcha|\berrors?\b|\bfail(?:s|ed|ure|ing)?\b|doesn.t work|does not work|not working|cannot|can.t"
    r"|unable|problem|workaround|warning",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:how|why|what|when|where|which|who|can|could|do|does|is|are|should|will|my|i['’ ]|i'm|i have|did)\b.{6,}",
    re.IGNORECASE,
)
_GENERIC: Final = frozenset(
    "installation install usage license licence licensing contributing contributors authors credits changelog changes "
    "history example examples introduction overview description api reference documentation docs features requirements "
    "getting started quick start quickstart about notes note links see also table of contents contents todo "
    "status badges "
    "acknowledgements acknowledgments support development testing tests build building basic usage options "
    "configuration "
    "setup prerequisites dependencies readme summary background motivation synopsis copyright author details methods "
    "properties parameters returns".split()
)
_SKIPPED = re.compile(
    r"licen[cs]e|copyright|contribut|author|credit|acknowledg|table of contents|changelog|release notes|code of conduct"
    r"|sponsor|backers|badges?|donat|^v?\d+(?:\.\d+)+",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"^(?:(?:\d+|[A-Z]|[ivx]+)[.)]\s*)+|^[^\w`\"'(@$-]+\s*|\s*\{#[\w-]+\}$|¶$|#+$")
_QUESTION_PARAGRAPH = re.compile(
    r"^(?:\*\*|__|Q[:.)]\s*|- \*\*|\* \*\*)?(?P<q>(?:Q[:.)]\s*)?[A-Z][^\n?]{10,140}\?)(?:\*\*|__)?[ "
    r"\t]*\n\s*(?P<a>(?:[^\n]+\n?){1,12})",
    re.MULTILINE,
)
_TO_DO = re.compile(
    r"^(?:to|in order to|if you (?:want|need|wish|would like|'d like) to|when you (?:want|need) to"
    r"|for)\s+(?P<vp>[a-z][^,.;:]{8,90}),",
    re.IGNORECASE,
)
_YOU_CAN = re.compile(
    r"^(?:you|one|users|we)\s+(?:can|may|could|should|need to|must|have to)\s+(?:also\s+|now\s+"
    r"|easily\s+)?(?P<vp>(?!be\b|use\b)[a-z][^.;:]{8,110}?)"
    r"(?:\s+(?:by|using|with|via|through|like this|as follows|in the following)\b|[.:;]|$)",
    re.IGNORECASE,
)
_ALLOWS = re.compile(
    r"^(?P<s>[^.,]{3,60}?)\s+(?:allows?|lets?|enables?|makes it (?:easy|possible))\s+(?:you|users|one"
    r"|developers|us|for)?\s*(?:to\s+)?"
    r"(?P<vp>[a-z][^.;:]{8,100})",
    re.IGNORECASE,
)
_IS_A = re.compile(
    r"^(?P<s>[A-Z`][^.,;:]{1,50}?)\s+(?:is|are)\s+(?:a|an|the|one of|used)\s+[^.]{10,}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with those above it, and the text up to the next heading."""

    titles: tuple[str, ...]
    start: int
    text: str


def read_prose(document: Document, path: str, package: str, out: Gathered) -> None:
    """Add what a documentation file gives."""
    if document.role in ("generated", "vendored", "lock", "test"):
        return
    for section in sections_of(document)[:MAX_SECTIONS]:
        _read_section(section, document, path, package, out)


def sections_of(document: Document) -> list[Section]:
    """The text under each heading, with the headings above it."""
    text, headings = document.text, document.headings
    if not headings:
        return [Section((), start, part) for start, part in _paragraph_groups(text)]
    found: list[Section] = []
    above: list[tuple[int, str]] = []
    if text[: headings[0].start].strip():
        found.append(Section((), 0, text[: headings[0].start]))
    for place, heading in enumerate(headings):
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, plain(_NUMBERING.sub("", heading.title))))
        end = headings[place + 1].start if place + 1 < len(headings) else len(text)
        body = text[heading.start : end]
        line = _HEADING_LINE.match(body)
        if line is not None and _RULE.fullmatch(line[0].split("\n")[0].strip()):  # an overlined heading
            line = re.match(r"[^\n]*\n[^\n]*\n[^\n]*\n", body)
        found.append(
            Section(
                tuple(title for _, title in above), heading.start, body[line.end() if line else len(body) :]
            )
        )
    return found


def _paragraph_groups(text: str) -> list[tuple[int, str]]:
    """A text without headings in stretches of about the size of a chunk."""
    groups: list[tuple[int, str]] = []
    at = 0
    while at < min(len(text), 60 * MAX_CHARS):
        end = text.rfind("\n\n", at + MAX_CHARS // 3, at + MAX_CHARS)
        end = end if end > at else min(len(text), at + MAX_CHARS)
        groups.append((at, text[at:end]))
        at = end
    return groups


def cut_text(text: str) -> str:
    """As much of a text as a chunk holds, whole lines."""
    text = _RULE.sub("", text).strip()
    return (
        text if len(text) <= MAX_CHARS else (text[:MAX_CHARS].rpartition("\n")[0] or text[:MAX_CHARS]).strip()
    )


def _read_section(section: Section, document: Document, path: str, package: str, out: Gathered) -> None:
    body = cut_text(section.text)
    title = section.titles[-1] if section.titles else ""
    if title and _SKIPPED.search(" ".join(section.titles)):
        return
    words = len(_FENCE.sub(" ", body).split())
    if words < MIN_WORDS or not _reads_well(body):
        return
    head = " > ".join(dict.fromkeys((document.title or PurePosixPath(path).name, *section.titles)))
    seed = f"{package}\0{path}\0{head}\0{section.start}"

    def add(text: str) -> int:
        return out.add(Doc(path, section.start, head, text, document.kind, False))

    whole = add(body)
    _ask_inside(section, add, out)
    if title:
        _ask_title(section, package, seed, whole, out)
    _ask_first(body, add, seed, out)


def _reads_well(text: str) -> bool:
    """Prose, not a table, a list of links or another language."""
    letters = sum(map(str.isalpha, text))
    return letters > 0.55 * len(text) and worth_asking(plain(_FENCE.sub(" ", text))[:600], 8)


def _ask_title(section: Section, package: str, seed: str, doc: int, out: Gathered) -> None:
    title = section.titles[-1]
    bare = spoken_name(package)
    content = keywords(title)
    if not content or not worth_asking(title, 1) or len(title) > 150:
        return
    above = next((part for part in reversed(section.titles[:-1]) if part.lower() != title.lower()), "")
    if _ASKS.match(title) and (
        title.endswith("?") or title.lower().startswith(("how ", "why ", "what ", "when to "))
    ):
        place = above or bare
        is_clear = len(content) > 1 or content[0] in place.lower()
        out.ask(title if is_clear else f"{title.rstrip('?')} {place}", doc, "faq")
        return
    kind = "issue" if _PROBLEM.search(" ".join(section.titles)) else "section"
    is_generic = all(word in _GENERIC for word in content)
    if is_generic or (len(content) < 2 and not above):
        query = title if bare in title.lower() else f"{bare} {title.lower()}"
    elif len(content) < 3 and above and len(above.split()) < 8:
        query = pick(
            seed, (f"{above} {title}", f"{title} {above}", f"{above} > {title}", f"{title} in {above}"), "above"
        )
    else:
        query = title
    if len(query.split()) < 2:
        query = f"{bare} {query}"
    out.ask(query, doc, kind)
    asked = read_sentence(title)
    if asked is not None and asked.verb and len(keywords(asked.rest)) > 0 and not asked.event:
        moulds = (
            "how to {v}",
            "how do i {v}",
            "how to {v} with {p}",
            "{p} {v}",
            "how can i {v} in {p}",
            "{v} in {p}",
        )
        out.ask(pick(seed, moulds, "title").format(v=asked.phrase.lower(), p=bare), doc, kind)


def _ask_inside(section: Section, add: Callable[[str], int], out: Gathered) -> None:
    """Questions that stand in bold or after a `Q:` with their answers below."""
    for found in list(_QUESTION_PARAGRAPH.finditer(section.text))[:20]:
        question, answer = (
            plain(re.sub(r"^Q[:.)]\s*", "", found["q"])),
            cut_text(re.sub(r"^A[:.)]\s*", "", found["a"])),
        )
        if (
            worth_asking(question, 4)
            and _ASKS.match(question)
            and len(answer.split()) >= 10
            and _reads_well(answer)
        ):
            out.ask(question, add(answer), "faq")


def _ask_first(body: str, add: Callable[[str], int], seed: str, out: Gathered) -> None:
    """The first sentence asks for the rest: as a question where a rule allows, else now and then as it stands."""
    paragraph = re.split(r"\n[ \t]*\n", body, maxsplit=1)[0]
    if (
        re.search(r"^(?: {3,}|\t)", paragraph, re.MULTILINE)
        or _DIRECTIVE.match(paragraph)
        or paragraph.lstrip().startswith(("- ", "* ", "1.", "```", "    "))
    ):
        return
    said = sentences(plain(paragraph))
    if not said:
        return
    first = said[0].rstrip(":")
    count = len(first.split())
    if not MIN_FIRST_WORDS <= count <= MAX_FIRST_WORDS or not worth_asking(first, 5):
        return
    question = as_question(first, seed)
    question = question if len(keywords(question)) > 1 else ""
    is_cloze = number(seed, "cloze") % 3 == 0
    if not question and not is_cloze:
        return
    raw = re.match(rf"[\s\S]{{{max(10, len(first) // 2)},}}?[.!?:](?=\s)", body)
    rest = body[raw.end() :].strip() if raw is not None else ""
    if len(rest.split()) < MIN_REST_WORDS or not _reads_well(rest):
        if question:
            out.ask(question, add(body), "first")
        return
    doc = add(rest)
    if question:
        out.ask(question, doc, "first")
    if is_cloze:
        out.ask(first, doc, "first")


def as_question(sentence: str, seed: str) -> str:
    """What a sentence of a manual answers, as a question; nothing where no rule knows."""
    found = _TO_DO.match(sentence) or _YOU_CAN.match(sentence)
    if found is not None and found["vp"].split()[0].lower() not in (
        "the",
        "a",
        "an",
        "this",
        "example",
        "more",
        "each",
    ):
        moulds = ("how to {}", "how do i {}", "how can i {}", "{}")
        return pick(seed, moulds, "todo").format(_to_reader(found["vp"]))
    found = _ALLOWS.match(sentence)
    if found is not None:
        return pick(seed, ("how to {}", "how do i {}", "how can i {}"), "allows").format(
            _to_reader(found["vp"])
        )
    found = _IS_A.match(sentence)
    if found is not None and found["s"].lower().split()[0] not in _POINTERS and len(found["s"].split()) <= 5:
        subject = re.sub(r"^(?:the|a|an)\s+", "", found["s"], flags=re.IGNORECASE)
        return pick(
            seed, ("what is {}", "{}", "what does {} mean", "{} explained", "what is {} for"), "is"
        ).format(subject)
    return ""


_POINTERS: Final = frozenset(
    "it this that these those there they here what which the following above below".split()
)


def _to_reader(phrase: str) -> str:
    """`your files` of a manual are `my files` of who asks."""
    return re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "i", phrase)).strip()
