"""The table of formats, and how to choose one.

To add a format: one module, one line here. A text format is read in this process from decoded text; a library
format is read in the worker by the `read(raw: RawFile) -> Document` of its module, which is imported there,
when first needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from outcrop.errors import ParseError
from outcrop.parse.data import read_json, read_json_lines, read_toml, read_yaml
from outcrop.parse.markdown import read_markdown
from outcrop.parse.rst import read_rst
from outcrop.parse.scan.formats import PICTURE_SUFFIXES, PICTURE_TYPES
from outcrop.parse.title import file_name, file_stem, first_line, without_id
from outcrop.records import Document
from outcrop.system.dataclass import dataclass
from outcrop.text.mime import looks_like_message

_ZIP = b"PK"
_OLE = b"\xd0\xcf\x11\xe0"
_OFFICE = "application/vnd.openxmlformats-officedocument."


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A format whose text is the file itself: `read` gets the decoded text and the path."""

    kind: str
    read: Callable[[str, str], Document]
    extensions: tuple[str, ...]
    media_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryFormat:
    """A format that a library reads, in the worker; a file must start with one of `magic`, where given."""

    kind: str
    module: str
    extensions: tuple[str, ...]
    media_types: tuple[str, ...]
    magic: tuple[bytes, ...] = ()


Format = TextFormat | LibraryFormat


def read_text(text: str, path: str) -> Document:
    """Plain text, titled by its first line."""
    return Document(text=text, kind="text", title=first_line(text) or file_stem(path))


def read_csv(text: str, path: str) -> Document:
    """Rows of values, kept as they are so that line numbers cite the file."""
    return Document(text=text, kind="csv", title=without_id(file_stem(path)))


def read_code(text: str, path: str) -> Document:
    """Read source code. Imported with the first source file, since a search needs no grammars (20 ms)."""
    from outcrop.parse.code import read_code as read

    return read(text, path)


_CODE = (
    ".py", ".pyi", ".pyx", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".java", ".kt",
    ".kts", ".scala", ".groovy", ".clj", ".cljs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp",
    ".hxx", ".cs", ".fs", ".go", ".rs", ".swift", ".m", ".mm", ".rb", ".php", ".pl", ".pm", ".lua", ".r",
    ".jl", ".dart", ".ex", ".exs", ".erl", ".hrl", ".hs", ".ml", ".mli", ".elm", ".nim", ".zig", ".v",
    ".sv", ".vhd", ".vhdl", ".sol", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".sql",
    ".css", ".scss", ".sass", ".less", ".vue", ".svelte", ".astro", ".proto", ".graphql", ".gql",
    ".thrift", ".tf", ".hcl", ".nix", ".cmake", ".gradle", ".asm", ".s", ".f", ".f90", ".f95", ".pas",
    ".ada", ".lisp", ".el", ".scm", ".rkt", ".vim", ".tcl", ".awk",
)  # fmt: skip

FORMATS: tuple[Format, ...] = (
    TextFormat("markdown", read_markdown, (".md", ".markdown", ".mdx", ".mkd"), ("text/markdown",)),
    TextFormat("rst", read_rst, (".rst", ".rest"), ("text/x-rst", "text/prs.fallenstein.rst")),
    TextFormat("csv", read_csv, (".csv", ".tsv"), ("text/csv", "text/tab-separated-values")),
    TextFormat("json", read_json, (".json", ".geojson", ".jsonc"), ("application/json", "text/json")),
    TextFormat("json", read_json_lines, (".jsonl", ".ndjson"), ("application/x-ndjson", "application/jsonl")),
    TextFormat("yaml", read_yaml, (".yaml", ".yml"), ("application/yaml", "application/x-yaml", "text/yaml")),
    TextFormat("toml", read_toml, (".toml",), ("application/toml",)),
    TextFormat("code", read_code, _CODE, ("text/javascript", "text/css")),
    TextFormat("text", read_text, (".txt", ".text", ".log"), ("text/x-raw",)),
    LibraryFormat(
        "html", "outcrop.parse.html", (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml")
    ),
    LibraryFormat("pdf", "outcrop.parse.pdf", (".pdf",), ("application/pdf", "application/x-pdf")),
    LibraryFormat("doc", "outcrop.parse.word97", (".doc", ".dot"), ("application/msword",), (_OLE,)),
    LibraryFormat(
        "ppt", "outcrop.parse.slides97", (".ppt", ".pps"), ("application/vnd.ms-powerpoint",), (_OLE,)
    ),
    LibraryFormat("docx", "outcrop.parse.word", (".docx",), (f"{_OFFICE}wordprocessingml.document",), (_ZIP,)),
    LibraryFormat(
        "pptx", "outcrop.parse.slides", (".pptx",), (f"{_OFFICE}presentationml.presentation",), (_ZIP,)
    ),
    LibraryFormat(
        "xlsx",
        "outcrop.parse.sheets",
        (".xlsx", ".xlsm", ".xlsb", ".ods", ".xls"),
        (
            f"{_OFFICE}spreadsheetml.sheet",
            "application/vnd.ms-excel",
            "application/vnd.oasis.opendocument.spreadsheet",
        ),
        (_ZIP, _OLE),
    ),
    LibraryFormat(
        "odt",
        "outcrop.parse.opendocument",
        (".odt", ".ott"),
        ("application/vnd.oasis.opendocument.text",),
        (_ZIP,),
    ),
    LibraryFormat(
        "odp",
        "outcrop.parse.opendocument",
        (".odp", ".otp"),
        ("application/vnd.oasis.opendocument.presentation",),
        (_ZIP,),
    ),
    LibraryFormat("rtf", "outcrop.parse.rtf", (".rtf",), ("application/rtf", "text/rtf")),
    LibraryFormat("epub", "outcrop.parse.epub", (".epub",), ("application/epub+zip",), (_ZIP,)),
    LibraryFormat("mail", "outcrop.parse.mail", (".eml",), ("message/rfc822",)),
    LibraryFormat("image", "outcrop.parse.scan.picture", PICTURE_SUFFIXES, PICTURE_TYPES),
    LibraryFormat("session", "outcrop.parse.sessions", (), ("application/x-agent-session",)),
    LibraryFormat("calendar", "outcrop.parse.cards", (".ics", ".ical"), ("text/calendar",)),
    LibraryFormat("contacts", "outcrop.parse.cards", (".vcf", ".vcard"), ("text/vcard", "text/x-vcard")),
    LibraryFormat("chat", "outcrop.parse.exports.chat", (), ("application/x-chat+json",)),
    LibraryFormat("issue", "outcrop.parse.exports.issue", (), ("application/x-issue+json",)),
    LibraryFormat("note", "outcrop.parse.exports.note", (), ("application/x-keep+json",)),
    LibraryFormat("notebook", "outcrop.parse.notebook", (".ipynb",), ("application/x-ipynb+json",)),
)

PLAIN_TEXT = next(f for f in FORMATS if isinstance(f, TextFormat) and f.read is read_text)
RST = next(f for f in FORMATS if f.kind == "rst")
SOURCE_CODE = next(f for f in FORMATS if isinstance(f, TextFormat) and f.read is read_code)
LIBRARY_FORMATS = {f.kind: f for f in FORMATS if isinstance(f, LibraryFormat)}
PACKED_SUFFIXES = frozenset(
    extension
    for each in LIBRARY_FORMATS.values()
    if each.magic or each.kind in ("pdf", "rtf", "mail", "image")
    for extension in each.extensions
)
"""Of formats that are binary by nature and have a reader."""
_BY_EXTENSION = {extension: f for f in FORMATS for extension in f.extensions}
_BY_MEDIA_TYPE = {media_type: f for f in FORMATS for media_type in f.media_types}

_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_RST_DIRECTIVE = re.compile(rb"^\.\. [a-zA-Z][\w:.+-]{0,60}::", re.MULTILINE)
_RST_TITLE = re.compile(rb"^\S[^\n]{0,200}\r?\n([-=~^*#\"'`+])\1{3,}[ \t]*\r?$", re.MULTILINE)
_RST_WITHIN = 64 * 1024
_FIRST_LINE = 200
_SESSION_WITHIN = 64 * 1024  # a record with a pasted text may come first
# Fields that together no other data has: Claude Code, then Codex, then Gemini CLI with its sessions and its log.
_SESSION_FIELDS = (
    (b'"parentUuid"', b'"sessionId"', b'"message"'),
    (b'"leafUuid"', b'"summary"'),
    (b'"session_meta"', b'"payload"', b'"timestamp"'),
    (b'"sessionId"', b'"projectHash"', b'"startTime"'),
    (b'"sessionId"', b'"messageId"', b'"message"', b'"timestamp"'),
)
# The same for what services export: a day of Slack, a space of Google Chat, a note of Google Keep.
_EXPORT_FIELDS = (
    ("chat", re.compile(rb"\s*\[\s*\{"), (b'"type"', b'"message"', b'"ts"', b'"text"')),
    ("chat", re.compile(rb'\s*\{\s*"messages"\s*:\s*\['), (b'"creator"', b'"created_date"')),
    ("note", re.compile(rb"\s*\{"), (b'"isTrashed"', b'"isPinned"', b'"isArchived"')),
)
_BINARY_OFFICE = {"doc": "docx", "ppt": "pptx"}
_PDF_HEADER_WITHIN = 1024  # where PDF readers look for it: mail gateways prepend lines


def choose_format(data: bytes, path: str, media_type: str | None) -> Format:
    """The format of a file: from the media type, else from its name, checked against its first bytes."""
    extension = PurePosixPath(file_name(path)).suffix.lower()
    chosen = _BY_MEDIA_TYPE.get(media_type or "")
    if chosen is None and media_type and media_type.endswith("+json"):
        chosen = _BY_MEDIA_TYPE["application/json"]
    if chosen is None:  # servers say text/plain and octet-stream when they do not know
        chosen = _BY_EXTENSION.get(extension)
    if chosen is None:
        if _is_in_maildir(path) and looks_like_message(data[:_FIRST_LINE]):
            chosen = LIBRARY_FORMATS["mail"]
        elif not extension and _HTML_START.match(data):
            chosen = LIBRARY_FORMATS["html"]
        else:
            chosen = SOURCE_CODE if _is_code(data, path) else PLAIN_TEXT
    if chosen is PLAIN_TEXT and media_type not in PLAIN_TEXT.media_types and _is_rst(data[:_RST_WITHIN]):
        chosen = RST
    if chosen.kind == "json" and _is_session(data[:_SESSION_WITHIN]):
        chosen = LIBRARY_FORMATS["session"]
    elif chosen.kind == "json" and (kind := _tell_export(data[:_SESSION_WITHIN])):
        chosen = LIBRARY_FORMATS[kind]
    return _check_magic(chosen, data, extension)


def _is_in_maildir(path: str) -> bool:
    """Whether a file lies where a Maildir keeps its messages."""
    return path.replace("\\", "/").rpartition("/")[0].rpartition("/")[2] in ("cur", "new")


def _is_rst(head: bytes) -> bool:
    """Whether a plain text, as `.txt` says, is reStructuredText: it has a directive and an underlined title. Sphinx
    projects write their pages so, Django's among them."""
    return _RST_DIRECTIVE.search(head) is not None and _RST_TITLE.search(head) is not None


def _is_session(head: bytes) -> bool:
    """Whether the first records of a data file are those of a coding agent's session."""
    return any(all(name in head for name in names) for names in _SESSION_FIELDS)


def _tell_export(head: bytes) -> str:
    """The kind of what a service exported, by the first records of a data file; empty for any other."""
    for kind, start, names in _EXPORT_FIELDS:
        if start.match(head) and all(name in head for name in names):
            return kind
    return ""


def _is_code(data: bytes, path: str) -> bool:
    """Whether a file with no telling extension is source code by its name (`Makefile`) or first line (`#!`)."""
    from outcrop.parse.code import find_language

    return find_language(path, data[:_FIRST_LINE].decode("utf-8", "replace")) is not None


def _tell_office(chosen: LibraryFormat, data: bytes) -> LibraryFormat:
    """What a `.doc` or `.ppt` is that is none: programs save other formats under these names, which Word opens."""
    if data.lstrip()[:5] == rb"{\rtf":
        return LIBRARY_FORMATS["rtf"]
    if _HTML_START.match(data):
        return LIBRARY_FORMATS["html"]
    return LIBRARY_FORMATS[_BINARY_OFFICE[chosen.kind]] if data.startswith(_ZIP) else chosen


def _check_magic(chosen: Format, data: bytes, extension: str) -> Format:
    if data.startswith(b"%PDF-"):
        return LIBRARY_FORMATS["pdf"]
    if isinstance(chosen, TextFormat):
        return chosen
    if chosen.kind == "pdf" and b"%PDF-" not in data[:_PDF_HEADER_WITHIN]:
        raise ParseError("not a PDF: its header is missing; check that the download is complete")
    if chosen.kind in _BINARY_OFFICE and not data.startswith(_OLE):
        chosen = _tell_office(chosen, data)
    if data.startswith(_OLE) and chosen.magic and chosen.kind not in _BINARY_OFFICE and extension != ".xls":
        raise ParseError(f"password-protected or in an old binary format; save it as plain {chosen.kind}")
    if chosen.magic and not data.startswith(chosen.magic):
        raise ParseError(f"not {chosen.kind}: it does not start as one; check that the download is complete")
    return chosen
