"""What is embedded for a chunk and a path, the content addresses of their vectors, and the fingerprints of models.

A chunk whose text and context did not change keeps its key, so its vector is found instead of made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path, PurePosixPath

from outcrop.records import SESSION
from outcrop.text.pattern import pattern

_KEY_BYTES = 16
"""128 bits: among a billion chunks the odds that any two collide are about one in 10^21."""
# The personalisation of blake2b keeps the kinds apart: a text and a path of the same letters differ.
_TEXT, _PATH, _SUMMARY = b"outcrop.text", b"outcrop.path", b"outcrop.summary"
_TITLE, _SECTION = "Document: ", "Section: "
_PATH_COMPONENTS = 3
"""A file's name and two folders: those further up are shared by most of a collection and only dilute."""
# A number says which of many a file is, not what it is about: the web questions set lost .13 nDCG@10 (dense) to the
# numbers its documents are named by.
_NUMBERING = pattern(r"(?<![^\W_])(?<!\.)(?:[^\W\d_]?\d[\d.]*)(?![^\W_])")


def text_key(context: str, text: str) -> bytes:
    """Content address of a chunk's vector, from its context and its text (see `context_parts`), 16 bytes."""
    head = context.encode("utf-8", "surrogatepass")
    digest = blake2b(len(head).to_bytes(8, "little"), digest_size=_KEY_BYTES, person=_TEXT)
    digest.update(head)
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def path_key(path: str) -> bytes:
    """Content address of the vector of a path, 16 bytes; never equal to that of a text."""
    encoded = path.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=_KEY_BYTES, person=_PATH).digest()


def summary_key(summary: str) -> bytes:
    """Content address of the vector of a chunk's summary, 16 bytes."""
    encoded = summary.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=_KEY_BYTES, person=_SUMMARY).digest()


def context_head(title: str, heading_path: Sequence[str]) -> str:
    """The lines put before a chunk's text: its document's title and its headings, where there are any. A file name that
    is only a number (`0421.py`) says nothing about the file and is left out."""
    name = _telling_title(title)
    sections = [section for section in map(_one_line, heading_path) if section]
    # A markdown file's title usually is its first heading: saying it twice would double its weight.
    if sections and sections[0].casefold() == name.casefold():
        del sections[0]
    lines = []
    if name:
        lines.append(f"{_TITLE}{name}\n")
    if sections:
        lines.append(f"{_SECTION}{' > '.join(sections)}\n")
    return "".join(lines)


def context_parts(title: str, heading_path: Sequence[str], text: str, kind: str) -> tuple[str, str]:
    """What is embedded for a chunk: the lines before it, and its text. What was said around a turn of a conversation
    follows it: in a heading those words would weigh more than its own."""
    if kind == SESSION:
        return context_head(title, heading_path[:1]), "\n".join((text, *heading_path[1:]))
    return context_head(title, heading_path), text


def context_text(title: str, heading_path: Sequence[str], text: str, kind: str = "") -> str:
    """The text that is embedded for a chunk: title, section, an empty line, and its own text."""
    head, body = context_parts(title, heading_path, text, kind)
    return f"{head}\n{body}" if head else body


def split_context(text: str) -> tuple[str, str]:
    """The title and headings that `context_text` put before a chunk, without their labels, and the chunk itself."""
    if not text.startswith((_TITLE, _SECTION)):
        return "", text
    head, _, body = text.partition("\n\n")
    return " ".join(line.removeprefix(_TITLE).removeprefix(_SECTION) for line in head.split("\n")), body


def path_text(path: str) -> str:
    """The last three components of a path as words, the file's name without its extension, without numbering."""
    name = PurePosixPath(path)
    words = " ".join((*name.parts[-_PATH_COMPONENTS:-1], name.stem))
    return " ".join(_NUMBERING.sub(" ", words).split())


@lru_cache(maxsize=256)  # it is asked for each chunk of a document
def _telling_title(title: str) -> str:
    """A title on one line; nothing of a file name that is only a number."""
    name = _one_line(title)
    return "" if any(map(str.isalpha, PurePosixPath(name).suffix)) and not path_text(name) else name


def _one_line(text: str) -> str:
    return " ".join(text.split())


_DIGEST_BYTES = 6
"""Twelve hex digits: they only have to tell apart the few models one database ever sees."""
_READ_BYTES = 1 << 20


def fingerprint(settings: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Twelve hex digits of everything that decides what a model's vectors are."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for setting in settings:
        encoded = setting.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    for path in files:
        digest.update(path.stat().st_size.to_bytes(8, "little"))
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def find_damage(folder: Path, expected: Mapping[str, str | None], advice: str) -> list[str]:
    """What is wrong with files, by the sha256 each should have; empty when all is well. Reads them whole."""
    problems = []
    for name, wanted in expected.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                found = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problems.append(f"{path} cannot be read ({error}): {advice}")
            continue
        if found != wanted:
            problems.append(f"{path} is not the file its card names: {advice}")
    return problems
