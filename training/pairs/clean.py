"""Comments and marked-up prose to plain sentences, and which of them are worth asking with."""

from __future__ import annotations

import re
from typing import Final

from training.pairs.english import is_english

MAX_QUERY_WORDS: Final = 60
MIN_QUERY_WORDS: Final = 3

_MARKERS = re.compile(
    r"^[ \t]*(?:/\*+!?<?|\*+/|\*(?!\*)|//[/!]*<?|#+[!:|]?(?!\w)|--+(?:[ \t]*[|^])?(?:\[=*\[)?"
    r"|[rRuUbB]{0,2}(?:\"{3}|'{3})|;+|%+"
    r"|<!--|\{-[ \t]*\|?|=(?:begin|end)\b|@(?:module|type)?doc[ \t]+(?:~[sS])?\"{0,3}|@brief|\\brief)?[ \t]?",
    re.MULTILINE,
)
_ENDS = re.compile(r"(?:\*+/|-->|-\}|\"{3}|'{3}|\]=*\])[ \t]*$", re.MULTILINE)
_TAG_LINE = re.compile(
    r"^[ \t]*(?:[@\\](?!brief|summary|description|short|details|ref|c\b|p\b|code\b|link)\w+|:\w[\w "
    r"]*[^:\n]*:(?!`)|\.\. \w[\w:-]*::|>>>|\.\.\.\s|```|~~~"
    r"|(?:args?|arguments|parameters?|params|returns?|raises?|yields?|examples?|notes?|usage|see also|attributes|throws"
    r"|remarks|inputs?|outputs?|warnings?|todo|keyword arguments|kwargs|references|options|# \w+|#+ "
    r"?\w+)\s*:?\s*$|-{3,}|={3,}"
    r"|\w+\s*:\s*\w+(?:\[|,|$)|<pre|[-*+] )",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY = re.compile(r"<summary>(.*?)</summary>", re.DOTALL | re.IGNORECASE)
_SEE = re.compile(r"<\w+\s+\w+=\"(?:\w:)?([^\"]*)\"\s*/?>")
_INLINE_TAG = re.compile(r"\{@\w+\s+#?([^}|\n]*?)(?:\|[^}]*)?\}")
_ROLE = re.compile(r":[\w:+-]+:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`")
_RST_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{1,2}")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^()\n]*\)|\[[^\[\]\n]*\])")
_RUST_LINK = re.compile(r"\[`?([\w:.()!#<>]+)`?\](?![(\[])")
_RDOC_LINK = re.compile(r"\{([^{}\n]+)\}\[[^\]\n]*\]|(?<![\w+])\+(\w[\w.#:]*)\+(?!\w)")
_HTML = re.compile(r"</?[a-zA-Z][^<>\n]{0,120}>")
_ENTITY: Final = {
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&quot;": '"',
    "&nbsp;": " ",
    "&#39;": "'",
    "&mdash;": "-",
}
_ENTITIES = re.compile("|".join(map(re.escape, _ENTITY)))
_DOXYGEN = re.compile(
    r"(?:^|(?<=\s))[@\\](?:c|p|ref|a|e|b|em|link|endlink|brief|short|summary|description|details|code)\b\s*"
)
_MARKS = re.compile(
    r"[`*]{1,3}(?=\S)|(?<=\S)[`*]{1,3}|(?<!\w)_{1,2}(?=\w[^_\n]{0,60}\w_{1,2}(?!\w))|\|(?=\w+\|)"
)
_URL = re.compile(r"\(?\b(?:https?|ftp)://\S+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\svs\.)(?<!\setc\.)(?<!\scf\.)(?<!\.\.\.)\s+(?=[A-Z\"'`(\[])"
)
_BOILERPLATE = re.compile(
    r"""^(?:mark:|please\ read|call-seq|\S+\.(?:java|[jt]sx?|py|cs|h|cpp|swift|kt|go|rs|rb|php)\b|@
      | (?:(?:default|copy|move|class|private|the|a|empty|no-?arg(?:ument)?)\ )*
        (?:constructor|destructor|initiali[sz]er|getter|setter)s?(?:\s+for\s+\S+(?:\s+\S+)?)?\.?$
      | see\b | @?see\s | todo\b | fixme | xxx\b | hack\b | deprecated\b | \{?@inherit | inherit(?:ed)?\s?doc
      | overrid(?:e|es|den)\b | implements?\s+\{?@?\w+[.:#\w]*\.?$
      | auto-?\s?generated | automatically\ generated | generated\ by | do\ not\ edit | noqa | type:\s*ignore
      | eslint | pylint | pragma | region\b | nolint
      | same\ as\b | alias\ (?:for|of|to)\b | ditto | not\ implemented | internal(?:\ use\ only)?\.?$
      | private\.?$ | public\ api\.?$ | constants?\.?$
      | https?:// | file:\s | author\b | created\ (?:by|on) | copyright | \(c\)\ | ©|spdx | licen[cs]
      | this\ file\ is\ part | all\ rights | version\b\s*:?\s*\d
      | initiali[sz]es?\ (?:a|an|the)\ (?:new\ )?instance
      | (?:creates?|constructs?)\ (?:a|an)\ (?:new\ )?instance(?:\ of\ \S+(?:\ class)?)?\.?$
      | missing\ (?:associated\ )?doc | undocumented
      | \w+\ (?:constructor|interface|class|struct|object|module|enum|type)\.?$ | -\*- | vim?: | usage:\s
      | test\ case\s*\d | lang=\w+ | required\ by | for\ (?:testing|internal) | only\ for | placeholder | lorem
      | begin\b | end\b | section\b | step\ \d | tests?\ for\b.{0,12}$ )""",
    re.IGNORECASE | re.VERBOSE,
)
_LICENCE = re.compile(
    r"copyright|licen[cs]ed? under|redistribut|permission is hereby|all rights reserved|without warranty"
    r"|spdx-|apache license"
    r"|mit license|gnu general|unless required by|warranties|liable for",
    re.IGNORECASE,
)
_CODE_LIKE = re.compile(r"[{}=;<>|\\$@^~]|\(\)|->|::|\w\(\w|\[\w*\]|\w/\w+/")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+")


def strip_markers(comment: str) -> str:
    """A comment without what marks its lines as one."""
    return _MARKERS.sub("", _ENDS.sub("", comment[:2500])).strip("\"' \t\r\n")


def plain(text: str) -> str:
    """One line of prose without the marks of its markup."""
    text = _INLINE_TAG.sub(r"\1", text)
    text = _RST_LINK.sub(r"\1", _ROLE.sub(r"\1", text))
    text = _RUST_LINK.sub(r"\1", _LINK.sub(r"\1", text))
    text = _RDOC_LINK.sub(lambda found: found[1] or found[2], text)
    text = _HTML.sub(" ", _SEE.sub(r"\1", text))
    text = _ENTITIES.sub(lambda found: _ENTITY[found[0]], text)
    text = _DOXYGEN.sub("", text)
    text = _URL.sub("", _MARKS.sub("", text))
    return " ".join(text.replace("`", "").split()).strip(" -*#\t\"'")


def asked_part(comment: str) -> tuple[str, str]:
    """The first paragraph of a documentation comment in plain words, and what is left of it, as it stands there."""
    bare = strip_markers(comment)
    summary = _SUMMARY.search(bare)
    if summary is not None:
        return plain(summary[1]), bare[summary.end() :].strip()
    for paragraph in _BLANK_LINE.split(bare):
        tag = _TAG_LINE.search(paragraph)
        said = paragraph[: tag.start()] if tag is not None else paragraph
        words = plain(said)
        if words:
            at = bare.find(paragraph) + len(said)
            return words, bare[at:].strip()
        if tag is not None:
            break
    return "", bare


def sentences(text: str) -> list[str]:
    """The sentences of a line of prose."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def worth_asking(text: str, least: int = MIN_QUERY_WORDS) -> bool:
    """Whether a query of these words says something in English, and is neither code nor boilerplate."""
    if len(text) > 1200 or _BOILERPLATE.match(text) or _LICENCE.search(text):
        return False
    words = _WORD.findall(text)
    if len(words) < least or sum(map(len, words)) < 0.5 * len(text):
        return False
    return 3 * len(_CODE_LIKE.findall(text)) <= len(words) and is_english(text)


def cap(text: str, words: int = MAX_QUERY_WORDS) -> str:
    """Whole sentences up to so many words, at least the first, cut."""
    kept: list[str] = []
    for sentence in sentences(text):
        if kept and len(" ".join([*kept, sentence]).split()) > words:
            break
        kept.append(sentence)
    return " ".join(" ".join(kept).split()[:words])
