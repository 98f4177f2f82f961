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

# Guessing costs ~1 s a megabyte; 64 kB around the first byte that is not ASCII tell the language well enough.
_SAMPLE_BYTES = 64 * 1024

# What old text files are written in. A closed list keeps the guess fast and keeps out codecs that can smuggle
# lone surrogates (UTF-7) or that no file uses (EBCDIC).
_CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r", "cp866", "cp437", "cp850",
    "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "cp949", "mac_roman", "iso8859_2", "tis_620",
]  # fmt: skip

# Charset labels a server or a page may name; anything else (punycode, zlib …) is not a text encoding of files.
_LABEL = re.compile(
    r"(?:utf[-_]?(?:8|16|32)(?:[-_]?[lb]e)?|us-ascii|ascii|latin-?\d|iso[-_]?8859[-_]\d+|windows-\d+|cp\d+|"
    r"koi8[-_][ru]|shift[-_]?jis|x-sjis|sjis|euc[-_](?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5|macintosh|"
    r"tis-620)",
    re.IGNORECASE,
)
_BROWSER_MEANING = {  # pages that say the first mean the second, and browsers read them so
    "iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "x-sjis": "cp932", "shift_jis": "cp932",
    "shift-jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "macintosh": "mac_roman",
}  # fmt: skip

# Where every letter is one byte above 127, so that any stray byte gives one.
_OTHER_SCRIPTS = frozenset("cp1251 cp1253 cp1255 cp1256 koi8_r cp866 tis_620".split())
_FEWEST_LETTERS = 5  # different ones: a word or two. Judgement
_HIGH_RUN = re.compile(rb"[\x80-\xff]{4,}")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ufffd]+")

_CONTROL_BYTES = bytes(b for b in range(32) if b not in b"\t\n\r\f\x1b")
_SURROGATES = re.compile("[\ud800-\udfff]")
BINARY = "binary data, not text; convert it to a text format or exclude it"


def decode(data: bytes, charset: str | None = None) -> str:
    """Text of some bytes with `\\n` line ends and no mark, or ParseError when they are not text.

    `charset` is what the transport declared; a byte order mark is believed before it.
    """
    return decode_with_remark(data, charset)[0]


def decode_with_remark(data: bytes, charset: str | None = None) -> tuple[str, str]:
    """As `decode`, and what was wrong with the bytes, in words; nothing where all is well."""
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
    # Western is what many servers declare for everything; UTF-8 that is valid is not so by chance.
    for encoding in ("utf-8", label) if label == "cp1252" else (label,):
        try:
            return _without_surrogates(data.decode(encoding))
        except (LookupError, UnicodeDecodeError):  # declared wrongly; look for ourselves
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
    """UTF-16 without a mark: every second byte of Western text is NUL, and hardly any other."""
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if len(data) % 2 or half < 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    # Half of one side: what is left of doubt is settled by the strict decoder and the control characters.
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
    """Not UTF-8: UTF-8 with some broken bytes, else the likeliest old encoding; and a remark that says which."""
    loose = data.decode("utf-8", "replace")
    broken = loose.count("\ufffd")
    # Valid multi-byte sequences hardly happen by chance: where they are as many as the broken ones, the file is UTF-8
    # that was cut or patched, and reading all of it as something else would spoil every other letter.
    high = data.translate(None, bytes(range(0x80)))
    valid = _count_valid(loose)
    if valid < broken and (encoding := _guess(data)) and _is_plausible(data, high, encoding):
        text = _without_surrogates(data.decode(encoding, "replace"))
        return text, f"not UTF-8: read as {encoding}, which is a guess; save it as UTF-8 if letters are wrong"
    return loose, _damage(loose)


def _count_valid(loose: str) -> int:
    """Characters beyond ASCII that are no replacement."""
    return sum(map(len, _BEYOND_ASCII.findall(loose)))


def _damage(text: str) -> str:
    broken, first = text.count("\ufffd"), text.index("\ufffd")
    line = text.count("\n", 0, first) + 1
    return f"damaged text: {broken:,} sequences of bytes are no characters, the first in line {line}; shown as \ufffd"


def _is_plausible(data: bytes, high: bytes, encoding: str) -> bool:
    """Whether a guess at another script is more than an accident of a few stray bytes: it must give words.

    Western encodings need none: one accent in a page of English is what they are for. Several bytes make a character
    of the East Asian ones, which chance does not produce.
    """
    if encoding not in _OTHER_SCRIPTS:
        return True
    if len(set(high[:_SAMPLE_BYTES])) < _FEWEST_LETTERS:
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
    charset_normalizer = importlib.import_module("charset_normalizer")  # 40 ms, and most runs never need it
    matches = charset_normalizer.from_bytes(sample, cp_isolation=_CANDIDATES, preemptive_behaviour=False)
    best = matches.best()
    for match in matches:
        # Few accents leave several code pages equally likely; then it is the one most such files are in.
        if match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence >= best.coherence - 0.2:
            return "cp1252"
    return None if best is None else str(best.encoding)


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)
