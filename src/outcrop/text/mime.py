"""The structure of a mail message (RFC 5322, MIME): its headers, and where in its bytes each part lies.

Written for hostile input: every value, the depth and the number of parts are bounded, and the bytes are passed over
once for each level of nesting. Nothing raises: what is no message has no headers and one part.
"""

from __future__ import annotations

import binascii
import codecs
import mmap
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote_to_bytes

from outcrop.system.dataclass import dataclass

MAX_HEADER_BYTES: Final = 256 * 1024
MAX_VALUE_CHARS: Final = 16 * 1024
"""A header that is longer is cut; a thread of a hundred references has 6 000 characters."""
MAX_HEADERS: Final = 1_000
MAX_DEPTH: Final = 16
MAX_PARTS: Final = 1_000
_MAX_NAME_CHARS: Final = 200

Content = bytes | mmap.mmap
"""The bytes of a message, or of a mailbox that it lies in."""

_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")
_FOLD: Final = re.compile(r"\r?\n[ \t]+")
_FIELD: Final = re.compile(r"([!-9;-~]{1,76})[ \t]*:[ \t]*([^\r\n]*)")
_PARAMETER: Final = re.compile(r';\s*([\w.*%-]{1,60})\s*=\s*(?:"((?:[^"\\]|\\.){0,2000})"|([^;"\s]{0,2000}))')
_ENCODED: Final = re.compile(r"=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bBqQ])\?([^?]{0,4000})\?=")
_MESSAGE_ID: Final = re.compile(r"<([^<>\s]{1,500})>")
_NOT_TEXT: Final = frozenset(
    {"idna", "punycode", "utf-7", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf of a message: what it says it is, and its bytes, which `decode_transfer` makes content of. `group` is the
    number of the `multipart/alternative` it is one of, 0 where it stands by itself."""

    kind: str
    charset: str | None
    encoding: str
    name: str
    attached: bool
    related: bool
    group: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Message:
    """Headers by lower-case name, the first of each, and leaves in order."""

    headers: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    def says(self, name: str) -> str:
        """A header for people: encoded words decoded, in one line."""
        return decode_words(self.headers.get(name, ""))

    @property
    def id(self) -> str:
        """Its Message-ID without the angle brackets; empty where it has none."""
        return find_id(self.headers)

    @property
    def is_alone(self) -> bool:
        """Whether it is one text and nothing else."""
        return len(self.parts) == 1 and self.parts[0].kind == "text/plain"


def read_message(data: Content, start: int = 0, end: int | None = None) -> Message:
    """The message in some bytes."""
    end = len(data) if end is None else end
    headers, body = read_headers(data, start, end)
    found: list[Part] = []
    groups = 0
    waiting = [(headers, body, end, 0, 0, "text/plain", False)]
    while waiting and len(found) < MAX_PARTS:
        headers_of, begin, stop, depth, group, usual, related = waiting.pop()
        kind, parameters = _content_type(headers_of.get("content-type", ""), usual)
        boundary = parameters.get("boundary", "")
        if kind.startswith("multipart/") and boundary and depth < MAX_DEPTH:
            if kind == "multipart/alternative":
                groups += 1
                group = groups
            inner = "message/rfc822" if kind == "multipart/digest" else "text/plain"
            within = kind == "multipart/related"
            spans = _split(data, begin, stop, boundary)
            for first, last in reversed(spans):
                fields, body_of = read_headers(data, first, last)
                waiting.append((fields, body_of, last, depth + 1, group, inner, within or related))
        else:
            found.append(_leaf(headers_of, kind, parameters, (begin, stop), group, related))
    return Message(headers, tuple(found))


def read_headers(data: Content, start: int = 0, end: int | None = None) -> tuple[dict[str, str], int]:
    """The headers at an offset, and where the body begins."""
    end = len(data) if end is None else end
    first = data[start : min(start + 2, end)]
    if first.startswith((b"\n", b"\r\n")):
        return {}, start + (1 if first.startswith(b"\n") else 2)
    blank = _BLANK_LINE.search(data, start, min(end, start + MAX_HEADER_BYTES))
    stop, body = (blank.start(), blank.end()) if blank else (min(end, start + MAX_HEADER_BYTES), end)
    headers: dict[str, str] = {}
    for match in _FIELD.finditer(_FOLD.sub(" ", decode_bytes(data[start:stop]))):
        name = match[1].lower()
        if name not in headers:
            headers[name] = match[2][:MAX_VALUE_CHARS].strip()
            if len(headers) >= MAX_HEADERS:
                break
    return headers, body


_STARTS: Final = re.compile(
    rb"(?:Return-Path|Received|Delivered-To|From|To|Date|Subject|Message-ID|MIME-Version|DKIM-Signature|Reply-To|"
    rb"X-[\w-]{1,60}|Content-Type|Authentication-Results|ARC-[\w-]{1,40}|Envelope-to|Sender|List-[\w-]{1,40})[ \t]*:",
    re.IGNORECASE,
)


def looks_like_message(head: bytes) -> bool:
    """Whether a file begins with a header that messages begin with."""
    return _STARTS.match(head) is not None


def _leaf(
    headers: Mapping[str, str],
    kind: str,
    parameters: Mapping[str, str],
    span: tuple[int, int],
    group: int,
    related: bool,
) -> Part:
    disposition, given = _content_type(headers.get("content-disposition", ""), "")
    name = given.get("filename") or parameters.get("name") or ""
    return Part(
        kind=kind,
        charset=parameters.get("charset"),
        encoding=headers.get("content-transfer-encoding", "").strip().lower()[:40],
        name=clean_name(decode_words(name)),
        attached=disposition == "attachment" or bool(name and not kind.startswith("text/")),
        related=related or "content-id" in headers,
        group=group,
        start=span[0],
        end=span[1],
    )


def _split(data: Content, start: int, end: int, boundary: str) -> list[tuple[int, int]]:
    """The spans of the parts between delimiters, without the line end before each."""
    mark = re.escape(boundary[:200].encode("utf-8", "replace"))
    delimiter = re.compile(rb"(?:^|\r?\n)--" + mark + rb"(--)?[ \t]*(?:\r?\n|\Z)")
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    at = max(start - 2, 0)  # the first delimiter may follow the headers' blank line directly
    while len(spans) < MAX_PARTS and (match := delimiter.search(data, at, end)):
        if opened is not None:
            spans.append((opened, max(match.start(), opened)))
        if match[1]:
            return spans
        opened = match.end()
        at = max(match.end() - 1, match.start() + 1)
        if data[at : at + 1] == b"\n" and data[at - 1 : at] == b"\r":
            at -= 1
    if opened is not None and opened < end:  # cut off: what is there counts
        spans.append((opened, end))
    return spans


def _content_type(value: str, usual: str) -> tuple[str, dict[str, str]]:
    kind, _, _ = value.partition(";")
    kind = kind.strip().lower()[:100]
    if not kind:
        return usual, {}
    found: dict[str, str] = {}
    pieces: dict[str, list[tuple[int, bool, str]]] = {}
    for name, quoted, plain in _PARAMETER.findall(value[:MAX_VALUE_CHARS]):
        text = re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        key, star, rest = name.lower().partition("*")
        if not star:
            found.setdefault(key, text)
        else:  # RFC 2231: name*=utf-8''%C3%A4, or in pieces name*0*=…, name*1=…
            number, encoded = rest.rstrip("*"), not rest or rest.endswith("*")
            pieces.setdefault(key, []).append(
                (int(number) if number.isdecimal() and len(number) < 4 else 0, encoded, text)
            )
    for key, several in pieces.items():
        found[key] = _join_pieces(sorted(several, key=lambda piece: piece[0]))
    return kind, found


def _join_pieces(pieces: list[tuple[int, bool, str]]) -> str:
    charset, raw = "", b""
    for number, (_, encoded, text) in enumerate(pieces):
        said = text
        if encoded and not number and text.count("'") >= 2:
            charset, _, said = text.split("'", 2)
        raw += unquote_to_bytes(said) if encoded else said.encode("utf-8", "replace")
    return decode_bytes(raw, charset)


# ------------------------------------------------------------------ values


def decode_bytes(data: bytes, charset: str | None = None) -> str:
    """Bytes as text: in the charset that is named where that is one, else UTF-8, else Windows-1252."""
    if charset:
        try:
            codec = codecs.lookup(charset.strip("\"' "))
            if codec.name.replace("_", "-") not in _NOT_TEXT and codec.name not in ("ascii", "utf-8"):
                return data.decode(codec.name, "replace")
        except (LookupError, ValueError):
            pass
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def decode_words(value: str) -> str:
    """A header with its encoded words (`=?utf-8?q?caf=C3=A9?=`) decoded; characters may be split between two words."""
    if "=?" not in value:
        return " ".join(value.split())
    kept: list[str] = []
    waiting, charset, end = b"", "", 0
    for match in _ENCODED.finditer(value):
        between = value[end : match.start()]
        if waiting and (between.strip() or match[1].lower() != charset):
            kept.append(decode_bytes(waiting, charset))
            waiting = b""
        if between.strip() or not end:
            kept.append(between)
        waiting += _decode_word(match[2], match[3])
        charset, end = match[1].lower(), match.end()
    if waiting:
        kept.append(decode_bytes(waiting, charset))
    kept.append(value[end:])
    return " ".join("".join(kept).split())


def _decode_word(how: str, text: str) -> bytes:
    raw = text.encode("ascii", "replace")
    if how in "qQ":
        return binascii.a2b_qp(raw, header=True)
    return decode_base64(raw)


def decode_transfer(data: bytes, encoding: str) -> bytes:
    """The content of a part, from its bytes and its transfer encoding."""
    if encoding == "base64":
        return decode_base64(data)
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    return data


_NOT_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]+")


def decode_base64(data: bytes) -> bytes:
    """What could be decoded: mailers break lines anywhere, forget padding and are cut off."""
    try:
        return binascii.a2b_base64(data)
    except binascii.Error:
        clean = _NOT_BASE64.sub(b"", data)
        clean = clean[: len(clean) - (len(clean) % 4 == 1)]
        return binascii.a2b_base64(clean + b"=" * (-len(clean) % 4))


def clean_name(name: str) -> str:
    """A file name without folders and what cannot be printed."""
    name = re.split(r"[/\\]", name)[-1]
    name = "".join(char if char.isprintable() else " " for char in name)
    return " ".join(name.split())[:_MAX_NAME_CHARS].strip(". ")


def find_id(headers: Mapping[str, str]) -> str:
    """The Message-ID in some headers."""
    value = headers.get("message-id", "")
    match = _MESSAGE_ID.search(value)
    return match[1] if match else "".join(value[:500].split())


def find_references(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The messages that one answers, the oldest first."""
    ids = [
        *_MESSAGE_ID.findall(headers.get("references", "")),
        *_MESSAGE_ID.findall(headers.get("in-reply-to", ""))[:1],
    ]
    return tuple(dict.fromkeys(ids))


_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|\([^()]*\)|[,;]|[^",;<(]+|.', re.DOTALL)


def read_addresses(value: str) -> list[tuple[str, str]]:
    """(name, address) of everyone in a header; archives write `ann at example.org (Ann Lee)`."""
    found: list[tuple[str, str]] = []
    words: list[str] = []
    comment = address = ""

    def close() -> None:
        nonlocal comment, address
        said = " ".join(decode_words(" ".join(words)).split()).strip("\"' ")
        if address or said or comment:
            spelled = re.sub(r"^(\S+) at (\S+)$", r"\1@\2", said)
            if not address and "@" in spelled and " " not in spelled:
                found.append((comment, spelled))
            else:
                found.append((said or comment, address))
        words.clear()
        comment = address = ""

    for piece in _PIECE.findall(value[:MAX_VALUE_CHARS]):
        if piece in (",", ";"):
            close()
        elif piece[0] == "<" and piece[-1] == ">":
            address = piece[1:-1].strip()
        elif piece[0] == "(" and piece[-1] == ")":
            comment = comment or decode_words(piece[1:-1])
        elif piece[0] == '"' and len(piece) > 1:
            words.append(re.sub(r"\\(.)", r"\1", piece[1:-1]))
        else:
            words.append(piece.strip())
    close()
    return found


def read_date(value: str) -> datetime | None:
    """The time of a Date header in UTC; None where it is none."""
    from email.utils import parsedate_tz  # late: a search reads no mail

    try:
        parsed = parsedate_tz(value[:100])
        if parsed is None:
            return None
        naive = datetime(*parsed[:6], tzinfo=UTC)
        return datetime.fromtimestamp(naive.timestamp() - (parsed[9] or 0), UTC)
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
