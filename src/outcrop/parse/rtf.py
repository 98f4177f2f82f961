"""Rich Text Format: the words, paragraph by paragraph. One pass over control words and groups."""

from __future__ import annotations

import codecs
import re
from typing import Final

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem, first_line
from outcrop.parse.writer import clean_text, too_long
from outcrop.records import Document
from outcrop.system.limits import timed

_TOKEN: Final = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z'])"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\"
)
_BREAKS: Final = {
    b"par": "\n", b"line": "\n", b"sect": "\n\n", b"page": "\n\n", b"row": "\n", b"cell": " | ", b"nestcell": " | ",
    b"tab": "\t", b"footnote": " ", b"emdash": "—", b"endash": "–", b"bullet": "•", b"lquote": "‘", b"rquote": "’",
    b"ldblquote": "“", b"rdblquote": "”", b"emspace": " ", b"enspace": " ",
}  # fmt: skip
_SIGNS: Final = {b"~": "\xa0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\n": "\n", b"\r": "\n"}
_NOT_TEXT: Final = frozenset(
    b"fonttbl colortbl stylesheet info pict object themedata colorschememapping latentstyles datastore listtable "
    b"listoverridetable rsidtbl generator xmlnstbl fldinst header headerl headerr headerf footer footerl footerr "
    b"footerf filetbl revtbl mmathPr wgrffmtfilter".split()
)
_MAX_DEPTH: Final = 500
_TITLE: Final = re.compile(rb"\{\\title ([^{}\\]{1,400})\}")


def read(raw: RawFile) -> Document:
    """An RTF file as text."""
    if not raw.data.lstrip()[:5] == rb"{\rtf":
        raise ParseError("not RTF: it does not start as one; check that the download is complete")
    text = clean_text(_words(raw.data, raw.max_text_chars))
    lines = [line.rstrip(" |\t") for line in text.split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    given = _TITLE.search(raw.data)
    title = given[1].decode("cp1252", "replace") if given else ""
    return Document(
        text=text, kind="rtf", title=cut_title(clean_text(title)) or first_line(text) or file_stem(raw.path)
    )


class _Reader:
    """What holds where the reading is: the group's state, the encoding, and bytes that are not characters yet."""

    def __init__(self) -> None:
        self.silent, self.skipped = False, 1
        self.codec, self.to_skip, self.waiting = "cp1252", 0, b""
        self._above: list[tuple[bool, int]] = []

    def flush(self) -> str:
        """The bytes that waited, as text: those of one character may be written one by one."""
        said, self.waiting = self.waiting.decode(self.codec, "replace"), b""
        return said

    def take_byte(self, digits: bytes) -> None:
        """A byte in hexadecimal, which may only stand in for a character that was already given by number."""
        if self.to_skip:
            self.to_skip -= 1
        elif not self.silent:
            self.waiting += bytes.fromhex(digits.decode())

    def take_brace(self, brace: bytes) -> None:
        """Open or close a group."""
        self.to_skip = 0
        if brace == b"{":
            if len(self._above) >= _MAX_DEPTH:
                raise ParseError("nested too deeply; open it in its own program and save it again")
            self._above.append((self.silent, self.skipped))
        elif self._above:
            self.silent, self.skipped = self._above.pop()

    def take_word(self, word: bytes, number: bytes | None) -> str:
        """A control word, and what it says."""
        if word in _NOT_TEXT:
            self.silent = True
        elif number is None or word not in (b"ansicpg", b"uc", b"u"):
            return _BREAKS.get(word, "")
        elif word == b"ansicpg":
            self.codec = _codec(number)
        elif word == b"uc":
            self.skipped = max(0, min(int(number), 16))
        else:
            self.to_skip = self.skipped
            return chr(int(number) & 0xFFFF)
        return ""

    def take_text(self, text: bytes) -> str:
        """Text as it stands, without what stands in for a character that was given by number."""
        kept, self.to_skip = text[self.to_skip :], max(0, self.to_skip - len(text))
        return kept.decode(self.codec, "replace")

    def take_sign(self, sign: bytes) -> str:
        """A control sign; a star says that the group is for programs that know it."""
        self.silent = self.silent or sign == b"*"
        return _SIGNS.get(sign, "")


def _words(data: bytes, most: int) -> str:
    reader, parts, length = _Reader(), [], 0
    for match in timed(_TOKEN.finditer(data)):
        if match["byte"]:
            reader.take_byte(match["byte"])
            continue
        parts.append(reader.flush())
        said = ""
        if match["brace"]:
            reader.take_brace(match["brace"])
        elif match["word"]:
            said = reader.take_word(match["word"], match["number"])
        elif match["sign"]:
            said = reader.take_sign(match["sign"])
        elif match["text"]:
            said = reader.take_text(match["text"])
        if said and not reader.silent:
            parts.append(said)
            length += len(said)
            if length > most:
                raise too_long(most)
    parts.append(reader.flush())
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _codec(number: bytes) -> str:
    try:
        return codecs.lookup(f"cp{int(number)}").name
    except LookupError:
        return "cp1252"
