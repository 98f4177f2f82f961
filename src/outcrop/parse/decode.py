"""Bytes to text: which encoding, and whether it is text at all."""

from __future__ import annotations

import codecs
import importlib
import re
from typing import Final

from outcrop.errors import ParseError

# Order matters: the UTF-32 LE mark begins with the UTF-16 LE mark.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Guessing costs about 1 s per megabyte; 64 kB around the first non-ASCII byte show the language well enough.
_SAMPLE_BYTES = 64 * 1024

# Encodings of old text files. A closed list keeps the guess fast, and excludes codecs that can smuggle in lone
# surrogates (UTF-7) or that no file uses (EBCDIC).
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp866", "cp437", "cp850",
    "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "cp949", "mac_roman", "iso8859_2", "tis_620",
]  # fmt: skip

# Charset labels that a server or a page may name; other codecs (punycode, zlib …) are not encodings of files.
_LABEL = re.compile(
    r"(?:utf[-_]?(?:8|16|32)(?:[-_]?[lb]e)?|us-ascii|ascii|latin-?\d|iso[-_]?8859[-_]\d+|windows-\d+|cp\d+|"
    r"koi8[-_][ru]|shift[-_]?jis|x-sjis|sjis|euc[-_](?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5|macintosh|"
    r"tis-620)",
    re.IGNORECASE,
)
_BROWSER_MEANING = {  # pages that name the first mean the second, and browsers treat them so
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "x-sjis": "cp932", "shift_jis": "cp932",
    "shift-jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "macintosh": "mac_roman",
}  # fmt: skip

# Encodings where each letter is one byte above 127, so that any stray byte gives one.
_OTHER_SCRIPTS = frozenset("cp1251 cp1253 cp1255 cp1256 koi8_r cp866 tis_620".split())
_MIN_LETTERS = 5  # different ones: a word or two (not measured)
_HIGH_RUN = re.compile(rb"[\x80-\xff]{4,}")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ufffd]+")

_CONTROL_BYTES = bytes(b for b in range(32) if b not in b"\t\n\r\f\x1b")
_SURROGATES = re.compile("[\ud800-\udfff]")
BINARY = "binary data, not text; convert it to a text format or exclude it"


def decode(data: bytes, charset: str | None = None) -> str:
    """Decode bytes to text with `\\n` line ends and no byte order mark; ParseError when they are not text.

    `charset` is what the transport declared; a byte order mark takes precedence.
    """
    return decode_with_remark(data, charset)[0]


def decode_with_remark(data: bytes, charset: str | None = None) -> tuple[str, str]:
    """Like `decode`, with a remark on what was wrong with the bytes; empty if nothing was."""
    remark = ""
    text = _decode_marked(data)
    if text is None and charset is not None:
        text = _decode_declared(data, charset)
    if text is None:
        text, remark = _decode_unmarked(data)
    elif "\ufffd" in text:
        remark = _damage(text)
    if "\0" in text:
        raise ParseError(BINARY)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, remark


def _decode_marked(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _without_surrogates(data[len(mark) :].decode(encoding, "replace"))
    return None


def _decode_declared(data: bytes, charset: str) -> str | None:
    label = charset.strip().lower()
    if not _LABEL.fullmatch(label):
        return None
    label = _BROWSER_MEANING.get(label, label)
    # Many servers declare everything as Western; bytes are not valid UTF-8 by chance.
    for encoding in ("utf-8", label) if label == "cp1252" else (label,):
        try:
            return _without_surrogates(data.decode(encoding))
        except (LookupError, UnicodeDecodeError):  # declared wrongly: detect it
            continue
    return None


def _decode_unmarked(data: bytes) -> tuple[str, str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if "\0" not in text:
            return text, ""
    if (wide := _decode_wide(data)) is not None:
        return wide, ""
    sample = data[:_SAMPLE_BYTES]
    # Text holds next to no control bytes; compressed or encrypted data holds one in nine.
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    if b"\0" in data or controls * 50 > len(sample):
        raise ParseError(BINARY)
    return _decode_legacy(data)


def _decode_wide(data: bytes) -> str | None:
    """UTF-16 without a byte order mark: in Western text every second byte is NUL, and hardly any other."""
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if len(data) % 2 or half < 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    # Half of one side is enough: the strict decoder and the check for control characters settle the rest.
    if max(even, odd) * 2 < half or min(even, odd) * 20 > half:
        return None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    head = text[:_SAMPLE_BYTES]
    printable = sum(1 for char in head if char.isprintable() or char in "\t\n\r\f\ufeff")
    return text if printable * 20 >= len(head) * 19 else None


def _decode_legacy(data: bytes) -> tuple[str, str]:
    """Decode what is not valid UTF-8: as UTF-8 with broken bytes, or in the likeliest old encoding; with a remark."""
    loose = data.decode("utf-8", "replace")
    broken = loose.count("\ufffd")
    # Valid multi-byte sequences hardly occur by chance: where they are at least as many as the broken ones, the file is
    # UTF-8 that was cut or patched, and another encoding would garble all other letters.
    high = data.translate(None, bytes(range(0x80)))
    valid = sum(map(len, _BEYOND_ASCII.findall(loose)))
    if valid < broken and (encoding := _guess(data)) and _is_plausible(data, high, encoding):
        text = _without_surrogates(data.decode(encoding, "replace"))
        return text, f"not UTF-8: read as {encoding}, which is a guess; save it as UTF-8 if letters are wrong"
    return loose, _damage(loose)


def _damage(text: str) -> str:
    broken, first = text.count("\ufffd"), text.index("\ufffd")
    line = text.count("\n", 0, first) + 1
    return (
        f"damaged text: {broken:,} byte sequences are not characters, the first in line {line}; shown as \ufffd"
    )


def _is_plausible(data: bytes, high: bytes, encoding: str) -> bool:
    """Whether a guess at another script is more than an accident of stray bytes: it must give words. Western encodings
    are exempt: one accent in a page of English is what they are for. So are East Asian ones, whose multi-byte
    characters do not occur by chance."""
    if encoding not in _OTHER_SCRIPTS:
        return True
    if len(set(high[:_SAMPLE_BYTES])) < _MIN_LETTERS:
        return False
    runs = _HIGH_RUN.findall(data[: 64 * _SAMPLE_BYTES])
    in_words = sum(map(len, runs))
    letters = b"".join(runs).decode(encoding, "replace")
    alphabetic = sum(char.isalpha() for char in letters)
    return in_words * 2 >= min(len(high), 64 * _SAMPLE_BYTES) and alphabetic * 10 >= len(letters) * 9


def _guess(data: bytes) -> str | None:
    first = re.search(rb"[\x80-\xff]", data)
    start = max(0, (first.start() if first else 0) - _SAMPLE_BYTES // 4)
    # Whole lines, so that no multi-byte character is cut at either end.
    start = data.rfind(b"\n", 0, start) + 1 if start else 0
    if first and first.start() - start > _SAMPLE_BYTES // 2:
        start = first.start()
    sample = data[start : start + _SAMPLE_BYTES]
    if len(sample) == _SAMPLE_BYTES and (end := sample.rfind(b"\n")) > _SAMPLE_BYTES // 2:
        sample = sample[:end]
    charset_normalizer = importlib.import_module("charset_normalizer")  # 40 ms, rarely needed
    matches = charset_normalizer.from_bytes(sample, cp_isolation=_CANDIDATES, preemptive_behaviour=False)
    best = matches.best()
    for match in matches:
        # With few accents several code pages are equally likely: choose the commonest.
        if match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence >= best.coherence - 0.2:
            return "cp1252"
    return None if best is None else str(best.encoding)


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
