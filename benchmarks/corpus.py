"""Real prose for benchmarks: read from a folder, cut into pieces, laid out as a folder of files to index.

A source is a folder of text, Markdown, reStructuredText or HTML (also gzipped), or a `.jsonl` file whose lines
have a `text` and perhaps a `path`. When more is wanted than the source holds, halves of pieces from different
files are joined: new text of the same words, the same in every run, never a copy of a piece.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits

PIECE_CHARS = 1200
"""About the size of the chunks that Outcrop makes of prose."""
PIECES_A_FILE = 12
SLICE_EVERY = 100
"""One file in so many lies in `slice/` and has the tag `slice`: what filtered searches ask for."""
MAX_SOURCE_BYTES = 4_000_000

TEXT_SUFFIXES = frozenset({".txt", ".md", ".rst", ".html", ".htm", ""})
DEFAULT_SOURCES = (Path("/usr/share/doc"), Path(sysconfig.get_paths()["purelib"]))

LIMITS = ParseLimits(timeout_s=60, memory_bytes=1 << 30)

_PARAGRAPH = re.compile(r"\n\s*\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffd]")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_IDENTIFIER = re.compile(r"\b[A-Za-z]\w*(?:[._]\w+)+\b|\b[a-z]+[A-Z]\w+\b")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some paragraphs of one file, about as long as a chunk."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder of prose ready to be indexed."""

    folder: Path
    files: int
    chunks: int
    text_bytes: int


def read_pieces(source: Path) -> Iterator[Piece]:
    """The pieces of a source, in a fixed order."""
    if source.is_file():
        with source.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Piece(str(row.get("path") or source.name), row["text"])
        return
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_SOURCE_BYTES:
            text = _read_text(path)
            if text is not None:
                yield from _cut(path.relative_to(source).as_posix(), text)


def read_sources(source: Path | None) -> list[Piece]:
    """The distinct pieces of a source, or of what most machines have when none is given."""
    sources = [source] if source is not None else [path for path in DEFAULT_SOURCES if path.is_dir()]
    distinct = {
        piece.text: piece for path in sources for piece in read_pieces(path) if not _CONTROL.search(piece.text)
    }
    if len(distinct) < 50:
        raise SystemExit(f"{sources} hold too little text; name a folder of documents with --corpus")
    return list(distinct.values())


def extend(pieces: list[Piece]) -> Iterator[Piece]:
    """All pieces, then new ones joined from halves of different files, for as long as they are asked for."""
    yield from pieces
    count = len(pieces)
    for lap in range(1, count):
        for i, piece in enumerate(pieces):
            other = pieces[(i + lap * 7919) % count]  # a prime step: partners come from far apart
            if other.path != piece.path:
                yield Piece(f"{piece.path}+{lap}", f"{_halves(piece.text)[0]}\n\n{_halves(other.text)[1]}")


def lay_out(pieces: list[Piece], chunks: int, folder: Path) -> Layout:
    """Write files of about twelve pieces until Outcrop makes `chunks` chunks of them; kept between runs."""
    kept = folder.with_name(folder.name + ".json")
    if kept.is_file():
        facts = json.loads(kept.read_text("utf-8"))
        return Layout(folder, facts["files"], facts["chunks"], facts["text_bytes"])
    if folder.exists():
        shutil.rmtree(folder)
    made = files = text_bytes = 0
    waiting: list[Piece] = []
    for piece in extend(pieces):
        if waiting and (len(waiting) == PIECES_A_FILE or waiting[0].path != piece.path):
            counted, size = _write(folder, files, waiting)
            files, made, text_bytes, waiting = files + 1, made + counted, text_bytes + size, []
            if made >= chunks:
                break
        waiting.append(piece)
    facts = {"files": files, "chunks": made, "text_bytes": text_bytes}
    kept.write_text(json.dumps(facts), "utf-8")
    return Layout(folder, **facts)


def lay_out_small(pieces: list[Piece], files: int, folder: Path) -> Path:
    """A folder of exactly so many files of one piece each."""
    done = folder.with_name(folder.name + ".done")
    if not done.exists():
        for number, piece in zip(range(files), extend(pieces), strict=False):
            path = folder / f"{number // 200:03}" / f"{number:06}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(piece.text, "utf-8")
        done.touch()
    return folder


def draw_queries(pieces: list[Piece], count: int, seed: int = 7) -> list[str]:
    """Distinct queries as people type them: fragments of sentences, first lines, identifiers."""
    chosen = random.Random(seed)
    queries: dict[str, None] = {}
    while len(queries) < count:
        piece = chosen.choice(pieces)
        kind = chosen.random()
        identifiers = _IDENTIFIER.findall(piece.text)
        if kind < 0.1 and identifiers:
            queries[chosen.choice(identifiers)] = None
            continue
        if kind < 0.2:
            words = _WORD.findall(piece.text.strip().partition("\n")[0])[:10]
        else:
            words = _WORD.findall(chosen.choice(_SENTENCE.split(piece.text)))
            length = chosen.randint(3, 12)
            start = chosen.randint(0, max(len(words) - length, 0))
            words = words[start : start + length]
        if len(words) >= 2:
            queries[" ".join(words)] = None
    return list(queries)


def _read_text(path: Path) -> str | None:
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in TEXT_SUFFIXES:
        return None
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if b"\0" in data[:4096]:
            return None
        return parse(data, path=path.name.removesuffix(".gz"), limits=LIMITS).text
    except (OSError, EOFError, ParseError):
        return None


def _cut(path: str, text: str) -> Iterator[Piece]:
    waiting = ""
    for paragraph in _PARAGRAPH.split(text):
        for start in range(0, len(paragraph), 2 * PIECE_CHARS):
            part = paragraph[start : start + 2 * PIECE_CHARS].strip()
            waiting = f"{waiting}\n\n{part}" if waiting else part
            if len(waiting) >= PIECE_CHARS:
                yield Piece(path, waiting)
                waiting = ""
    if len(waiting) > PIECE_CHARS // 3:
        yield Piece(path, waiting)


def _halves(text: str) -> tuple[str, str]:
    """A text in two, at the end of the sentence or word nearest to its middle."""
    ends = [match.end() for match in _SENTENCE.finditer(text)] or [
        match.end() for match in re.finditer(r"\s", text)
    ]
    middle = min(ends, key=lambda end: abs(end - len(text) // 2), default=len(text) // 2)
    return text[:middle].strip(), text[middle:].strip()


def _write(folder: Path, number: int, pieces: list[Piece]) -> tuple[int, int]:
    """Write one file, Markdown and plain text by turns; (chunks Outcrop makes of it, bytes)."""
    title = Path(pieces[0].path.partition("+")[0]).stem.replace("_", " ") or "untitled"
    body = "\n\n".join(piece.text for piece in pieces)
    in_slice = number % SLICE_EVERY == 0
    markdown = in_slice or number % 2 == 0
    text = f"# {title} {number}\n\n{body}\n" if markdown else f"{title} {number}\n\n{body}\n"
    if in_slice:
        text = f"---\ntags: [slice]\n---\n{text}"
    name = f"{number:06}.{'md' if markdown else 'txt'}"
    path = folder / "slice" / name if in_slice else folder / f"{number // 200:03}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8", "replace")
    path.write_bytes(data)
    return len(chunk_document(parse(data, path=path.name, limits=LIMITS), ChunkOptions())), len(data)
