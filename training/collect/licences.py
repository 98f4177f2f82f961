"""Which licences let a text into the training data: permissive ones only, and what cannot be read is not kept.

Registries say licences in four ways: SPDX expressions, free words, whole licence texts, and the stanzas of a Debian
copyright file. Each reader here answers with a `Licence`: what was read, and whether it is permissive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

UNKNOWN: Final = "unknown"

PERMISSIVE: Final = frozenset(
    "MIT MIT-0 BSD BSD-1-Clause BSD-2-Clause BSD-3-Clause BSD-4-Clause BSD-Source-Code 0BSD Apache-2.0 ISC PSF-2.0 "
    "Python-2.0 Zlib Unlicense CC0-1.0 CC-BY".split()
)
"""The names that `read_expression` may find and that are kept; every other name is not."""


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence as read, in SPDX words, and whether a text under it may be kept."""

    name: str
    is_permissive: bool


NO_LICENCE: Final = Licence(UNKNOWN, False)

_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        # Copyleft and other conditions first: "BSD-3-Clause-No-Nuclear" and "GPL-compatible MIT" must not read as free.
        (r".*(?:\b[al]?gpl|gnu\b|general public|copyleft|mozilla|\bmpl|eclipse|\bepl|cddl|eupl|sspl|busl).*", ""),
        (r".*(?:non-?commercial|no-?deriv|share-?alike|no-?nuclear|no-?military|-nc\b|-nd\b|-sa\b).*", ""),
        (r".*(?:artistic|proprietary|all rights|commercial|shareware|freeware|patent).*", ""),
        (r"(?:(?:the )?mit(?:[ -]style| software)?|x11|expat|mit[ -]expat|expat[ -]mit|x11[ -]mit|mit[ -]x11)", "MIT"),
        (r"mit[ -]?\(?(?:x11|expat)\)?", "MIT"),
        (r"mit-0|mit no attribution|mit-modern-variant", "MIT-0"),
        (r"0bsd|bsd-0-clause|bsd zero clause|zero-clause bsd|free public 1\.0\.0", "0BSD"),
        (r"bsd-source-code", "BSD-Source-Code"),
        (r"(?:the )?(?:new|modified|revised)[ -]bsd|bsd[ -]new|bsd \(?3[ -]clause\)?|\(?3[ -]clause\)? bsd",
         "BSD-3-Clause"),
        (r"(?:simplified|freebsd)[ -]?(?:bsd)?|bsd[ -]simplified|bsd[ -]style|bsd[ -]like|bsd", "BSD"),
        (r"bsd[ -]?([1-4])[ -]?clauses?(?:-(?:clear|views|modification|freebsd|uc|regents?|original|netbsd))?",
         "BSD-{}-Clause"),
        (r"([1-4])[ -]clauses?[ -]bsd", "BSD-{}-Clause"),
        (r"bsd[ -]?([1-4])", "BSD-{}-Clause"),
        (r"(?:the )?apache(?:[ -]software)?,?(?:[ -]?(?:version |v ?\.?|license-)?2(?:\.0)?)(?:[ -]only)?",
         "Apache-2.0"),
        (r"asl[ -]?2(?:\.0)?|al2|apache2", "Apache-2.0"),
        (r"isc(?:l)?", "ISC"),
        (r"psf(?:[ -]2(?:\.0)?)?|python software foundation|psfl?[ -]?v?2?|psf-2\.0", "PSF-2.0"),
        (r"python-2\.0(?:\.1)?|python", "Python-2.0"),
        (r"zlib(?:[ /]libpng)?", "Zlib"),
        (r"(?:the )?unlicen[cs]e", "Unlicense"),
        (r"cc0(?:[ -]1(?:\.0)?)?(?:[ -]universal)?", "CC0-1.0"),
        (r"creative commons zero.*|cc0 1\.0 universal.*", "CC0-1.0"),
        (r"cc[ -]by(?:[ -][1-4](?:\.[05])?)?|creative commons attribution(?: [1-4]\.[05])?(?: international)?",
         "CC-BY"),
    )
)  # fmt: skip
"""Whole words of one licence, after `_plain`; the first that matches names it. An empty name is one not kept."""

_NOISE_WORDS = re.compile(r"\b(?:licen[cs]es?d?|osi approved|under the|agreement|terms)\b", re.IGNORECASE)
_JOINTS = re.compile(r"([()]|(?<![\w-])(?:and|or|with)(?![\w-])|[|&;,/]+)", re.IGNORECASE)
_MAX_EXPRESSION_CHARS = 160  # what is longer is a licence's text, not its name


def read_expression(text: str) -> Licence:
    """Reads an SPDX expression or a free name: of alternatives one has to be permissive, of a sum all."""
    cleaned = " ".join(text.split())
    if not cleaned or len(cleaned) > _MAX_EXPRESSION_CHARS:
        return NO_LICENCE
    whole = _name_of(cleaned)
    if whole:
        return Licence(whole, True)
    parser = _Expression(_JOINTS.split(re.sub(r"(?i),(?=\s*version)|\((?=2\.0\))|(?<=\(2\.0)\)", "", cleaned)))
    try:
        return parser.read()
    except ValueError:
        return NO_LICENCE


def read_text(text: str) -> Licence:
    """Reads the licence from its own text (a LICENSE file, or a metadata field that holds one)."""
    flat = " ".join(text.split()).lower()
    if not flat or _COPYLEFT_TEXT.search(flat):
        return NO_LICENCE
    for phrase, name in _TEXTS:
        if phrase in flat:
            return Licence(name, True)
    return NO_LICENCE


_COPYLEFT_TEXT = re.compile(
    r"gnu (?:lesser |affero |library )?general public|mozilla public|eclipse public|common development and distribution"
    r"|creative commons attribution-?\s?(?:share|non|no)|server side public|business source|european union public"
    r"|commons clause|shall not be used for evil|shall be used for good"
)
_TEXTS: Final = (
    ("apache license, version 2.0", "Apache-2.0"),
    ("apache license version 2.0, january 2004", "Apache-2.0"),
    (
        "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee",
        "ISC",
    ),
    (
        "permission to use, copy, modify, and distribute this software for any purpose with or without fee",
        "ISC",
    ),
    ("permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    ("redistribution and use in source and binary forms", "BSD"),
    ("this is free and unencumbered software released into the public domain", "Unlicense"),
    ("cc0 1.0 universal", "CC0-1.0"),
    ("this software is provided 'as-is', without any express or implied warranty", "Zlib"),
    ("python software foundation license version 2", "PSF-2.0"),
)
"""A sentence each of these licences has and no other one: the first found names it."""


def read_pypi(expression: str, field: str, classifiers: Sequence[str]) -> Licence:
    """Reads what PyPI says: the SPDX expression alone where there is one, else field and classifiers, which must agree.

    Several licence classifiers do not say whether one may choose, so all of them have to be permissive.
    """
    if expression:
        return read_expression(expression)
    said = [line.rpartition("::")[2].strip() for line in classifiers if line.startswith("License ::")]
    named = [read_expression(_CLASSIFIERS.get(name, name)) for name in said if name not in _SAYING_NOTHING]
    field = _CLASSIFIERS.get(field.strip(), field)
    written = read_expression(field) if len(field) <= _MAX_EXPRESSION_CHARS else read_text(field)
    if not named:
        return written
    if not all(licence.is_permissive for licence in named) or (
        _is_refused(field) and not written.is_permissive
    ):
        return NO_LICENCE
    return Licence(" AND ".join(sorted({licence.name for licence in named})), True)


_SAYING_NOTHING: Final = frozenset(("OSI Approved", "License", "DFSG approved", "Freely Distributable"))
_CLASSIFIERS: Final = {"Apache Software License": "Apache-2.0"}
"""PyPI has one classifier for Apache; projects of this century mean version 2.0 by it."""


def read_npm(declared: object) -> Licence:
    """Reads the `license` or `licenses` of a package.json: a string, an object with `type`, or a list of either."""
    if isinstance(declared, str):
        return read_expression(declared)
    if isinstance(declared, dict):
        return read_npm(declared.get("type", ""))
    if isinstance(declared, list) and declared:
        for each in declared:  # the old form means that one may choose
            licence = read_npm(each)
            if licence.is_permissive:
                return licence
    return NO_LICENCE


def has_copyleft_header(text: str) -> bool:
    """Whether the first lines of a file put it under terms that are not kept."""
    flat = " ".join(_COMMENT_MARKS.sub(" ", text[:HEADER_CHARS]).split()).lower()
    return _HEADER.search(flat) is not None


HEADER_CHARS: Final = 3000
"""A licence header stands in these first characters; what comes later talks about licences."""

_COMMENT_MARKS = re.compile(r"(?m)^\s*(?:\*|#+|//+|--+|;+|%+)|/\*")
_HEADER = re.compile(
    r"gnu (?:lesser |affero |library )?general public|\bgpl ?v?[23]\b|mozilla public|eclipse public"
    r"|microsoft public license|common development and distribution|attribution-?\s?(?:share|non|no)"
    r"|server side public|business source license"
    r"|spdx-license-identifier: ?\(?(?:[al]?gpl|mpl|epl|cddl|sspl|busl)[^ ]*(?! or )"
)


@dataclass(frozen=True, slots=True)
class Stanza:
    """A group of files in a copyright file: which paths, the licence as written, and as read."""

    pattern: re.Pattern[str]
    words: str
    licence: Licence

    def is_of_all(self) -> bool:
        """Whether this is the group `*`, of the files that no other names."""
        return self.pattern.fullmatch("\0") is not None


@dataclass(frozen=True, slots=True)
class CopyrightFile:
    """A machine-readable debian/copyright: the licence of each group of files, the last group that fits counting."""

    stanzas: tuple[Stanza, ...]
    source: str = ""

    def whole(self) -> tuple[str, Licence]:
        """The licence of the package, as written and as read: that of the group `*`; where there is none, each file
        has to be asked for, and the package may be kept when any group may."""
        for stanza in reversed(self.stanzas):
            if stanza.is_of_all():
                return stanza.words, stanza.licence
        is_any = any(stanza.licence.is_permissive for stanza in self.stanzas)
        return "by file", Licence("by file", is_any)

    def licence_of(self, path: str) -> Licence:
        """The licence of a file by its path below the root of the sources."""
        for stanza in reversed(self.stanzas):
            if stanza.pattern.fullmatch(path):
                return stanza.licence
        return NO_LICENCE

    def refuses_tail(self, path: str) -> bool:
        """Whether any end of a path falls in a group that is not permissive, other than the one of all files; where
        there is no such group, whether none falls in a permissive one."""
        parts = path.split("/")
        tails = ["/".join(parts[at:]) for at in range(len(parts))]
        fitting = [
            stanza
            for stanza in self.stanzas
            if stanza.is_of_all() or any(stanza.pattern.fullmatch(tail) for tail in tails)
        ]
        return not fitting or any(not stanza.licence.is_permissive for stanza in fitting)


def read_copyright(text: str) -> CopyrightFile | None:
    """Reads a debian/copyright in the machine-readable format, with nothing for one in free words."""
    if not re.match(r"\s*Format(?:-Specification)?\s*:", text, re.IGNORECASE):
        return None
    uncommented = re.sub(r"(?m)^#.*\n", "", text.replace("\r\n", "\n"))
    paragraphs = [dict(_fields(paragraph)) for paragraph in re.split(r"\n[ \t]*\n", uncommented)]
    texts: dict[str, str] = {}
    for fields in paragraphs:
        words, _, body = fields.get("license", "").partition("\n")
        if body.strip():
            texts.setdefault(words.strip().lower(), body)
    stanzas: list[Stanza] = []
    for fields in paragraphs:
        if fields.get("files") and fields.get("license"):
            globs = re.split(r"[\s,]+", fields["files"].strip())
            words = fields["license"].split("\n", 1)[0].strip()
            pattern = re.compile("|".join(map(_glob, globs)), re.DOTALL)
            stanzas.append(Stanza(pattern, words, _read_named(words, texts)))
    source = next((fields["source"] for fields in paragraphs if "source" in fields), "")
    return CopyrightFile(tuple(stanzas), source) if stanzas else None


def _read_named(words: str, texts: dict[str, str]) -> Licence:
    """A licence by its name; a name that the file made up itself (`Go`, `foo license`) by the text given for it."""
    licence = read_expression(words)
    if licence.is_permissive or _is_refused(words):
        return licence
    text = texts.get(words.lower(), "")
    return read_text(text) if len(text) <= _MAX_TEXT_CHARS else licence


_MAX_TEXT_CHARS = 4000
"""A BSD or MIT text is half as long; what is longer adds conditions of its own."""


def _fields(paragraph: str) -> Iterable[tuple[str, str]]:
    for match in re.finditer(r"(?m)^([\w-]+)[ \t]*:[ \t]*((?:.*)(?:\n[ \t].*)*)", paragraph):
        yield match[1].lower(), match[2]


def _glob(pattern: str) -> str:
    """A Debian glob as an expression: `*` and `?` match slashes too, and a leading `./` says nothing."""
    escaped = re.escape(pattern.removeprefix("./"))
    return escaped.replace(r"\*", ".*").replace(r"\?", ".")


class _Expression:
    """Licence expressions: `or` (also `|`, `/`) binds less than `and` (also `&`, `,`, `;`), `with` only adds leave."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = [token.strip() for token in tokens if token.strip()]
        # "Expat, and BSD": a comma before a word joins nothing of its own.
        self._tokens = [
            token
            for token, after in zip(self._tokens, [*self._tokens[1:], ""], strict=True)
            if token not in {",", ";"} or after.lower() not in {"and", "or", ""}
        ]
        self._at = 0

    def read(self) -> Licence:
        licence = self._any()
        if self._at != len(self._tokens):
            raise ValueError("words after the expression")
        return licence

    def _peek(self) -> str:
        return self._tokens[self._at].lower() if self._at < len(self._tokens) else ""

    def _any(self) -> Licence:
        options = [self._all()]
        while self._peek() in {"or", "|", "||", "/"}:
            self._at += 1
            options.append(self._all())
        kept = [option for option in options if option.is_permissive]
        return Licence(" OR ".join(option.name for option in kept or options), bool(kept))

    def _all(self) -> Licence:
        parts = [self._one()]
        while self._peek() in {"and", "&", ",", ";"}:
            self._at += 1
            parts.append(self._one())
        return Licence(" AND ".join(part.name for part in parts), all(part.is_permissive for part in parts))

    def _one(self) -> Licence:
        word = self._peek()
        self._at += 1
        if word == "(":
            inner = self._any()
            if self._peek() != ")":
                raise ValueError("an open parenthesis")
            self._at += 1
            return inner
        if not word or word in {")", "or", "and", "with", "|", "/", ",", ";", "&"}:
            raise ValueError("a licence was expected")
        if self._peek() == "with":  # an exception gives more leave than its licence
            self._at += 2
        name = _name_of(word)
        return Licence(name or word, bool(name))


def _name_of(words: str) -> str:
    """The SPDX name of one permissive licence; nothing for any other."""
    plain = _plain(words)
    for pattern, name in _PATTERNS:
        match = pattern.fullmatch(plain)
        if match:
            return name.format(*match.groups()) if name else ""
    return ""


def _plain(words: str) -> str:
    """The words without what says nothing: "The MIT License (MIT)" is "the mit"."""
    text = _NOISE_WORDS.sub(" ", words.strip().strip("\"'.").lower())
    text = re.sub(r"\((?:mit|bsd|isc|apache(?:[- ]2\.0)?|psf|zlib|unlicense|cc[0-9a-z. -]*|iscl)\)", " ", text)
    return re.sub(r"[ ,-]+$", "", " ".join(text.split())).strip()


def _is_refused(field: str) -> bool:
    """Whether the words name conditions, rather than nothing that can be read."""
    refused = [pattern for pattern, name in _PATTERNS if not name]
    return bool(field) and any(pattern.fullmatch(" ".join(field.split())[:4000]) for pattern in refused)
