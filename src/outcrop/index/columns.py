"""What search keeps of chunks, in columns, made from the rows that a store feeds.

The words of all rows as one inverted index, their vectors, and what their files are. Segments are made of these
columns and merged by them, and so is what a store that is searched in place keeps (see `derive`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from outcrop.index import names
from outcrop.index.labels import terms_beside_words
from outcrop.index.nearest import sign_bits
from outcrop.index.phrasing import mark_pairs, words_for_phrases
from outcrop.index.segment import Segment
from outcrop.records import SESSION, FeedRow, Matrix
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.text.detect import detect_language
from outcrop.text.languages import ENGLISH
from outcrop.text.terms import PIECED, TERM_BYTES, Terms, language_term

# How often a term of each field counts as if it stood in the text. Title 3 was best, or equal to the best, on all seven
# sets with titles (0, 1, 2, 3 tried, whole documents, BM25 alone). Those of headings and path were not measured:
# between title and text, and like text.
TITLE_WEIGHT: Final = 3
HEADING_WEIGHT: Final = 2
PATH_WEIGHT: Final = 1
OWN_WEIGHT: Final = 4
"""How often a word of a turn counts for one of those around it, which are searched with it. On the half of
`benchmarks.dialogue` that is for choosing, 1, 2, 4 and 6 found .77, .77, .78 and .77 of the turns that answer, and put
one first for .16, .27, .33 and .34 of the questions; with turns alone .53 and .22."""

CODE: Final = "code"
"""In place of a language, of what is indexed as it stands."""

MAX_FREQUENCY: Final = 255
ROW_BITS: Final = 64 - 8 * TERM_BYTES
MAX_BUILD_ROWS: Final = 1 << ROW_BITS


# ------------------------------------------------------------------ words


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The terms of some rows: each of `numbers` stands in the row `owners` says, as often as it counts there.
    `lengths` is how many terms a row has; repeats for their weight, words for phrases and
    labels of tables do not count."""

    lengths: NDArray[np.uint32]
    numbers: NDArray[np.uint64]
    owners: NDArray[np.uint64]


def find_terms(feed: Sequence[FeedRow], terms: Terms) -> Occurrences:
    """The terms of the text, the title, the headings and the path of each row, of words that phrases need, and what
    tables have beside words; of rows in other languages than English also the stems and pieces of words, which add
    nothing to the length."""
    if len(feed) > MAX_BUILD_ROWS:
        raise ValueError(f"{len(feed)} rows are too many for one build; feed at most {MAX_BUILD_ROWS}")
    found: list[NDArray[np.uint64]] = []
    bodies: list[NDArray[np.uint64]] = []
    lengths = np.zeros(len(feed), np.uint32)
    repeats = np.zeros(len(feed), np.int64)
    files: dict[tuple[str, ...], _Header] = {}
    sections: dict[tuple[str, ...], _Header] = {}
    for row, (item, language) in enumerate(zip(feed, find_languages(feed), strict=True)):
        file_key = (language, item.title, item.path)
        file = files.get(file_key)
        if file is None:
            weighted = (item.title, TITLE_WEIGHT), (item.path, PATH_WEIGHT)
            file = files[file_key] = _header(terms, language, *weighted)
        section_key = (language, item.title, *item.heading_path)
        section = sections.get(section_key)
        if section is None:
            section = sections[section_key] = _section(terms, language, item)
        body = np.frombuffer(terms.of(item.text), np.uint64)
        bodies.append(body)
        pieces = _pieces(terms, item.text, language)
        own = np.concatenate((body, pieces)) if len(pieces) else body
        counted = np.tile(own, OWN_WEIGHT) if item.kind == SESSION else own
        marks = _marks_of(language)
        found += (counted, file.terms, section.terms, marks)
        lengths[row] = len(body) + file.length + section.length
        repeats[row] = len(counted) + len(file.terms) + len(section.terms) + len(marks)
    beside = (words_for_phrases(feed, bodies, terms), terms_beside_words(feed, terms))
    owners = np.repeat(np.arange(len(feed), dtype=np.uint64), repeats)
    numbers = np.concatenate((*found, *(more for more, _ in beside)))
    return Occurrences(lengths, numbers, np.concatenate((owners, *(rows for _, rows in beside))))


@dataclass(frozen=True, slots=True)
class _Header:
    """Terms of a title, a path or headings, each as often as it weighs, and how many there are without that."""

    terms: NDArray[np.uint64]
    length: int


def _section(terms: Terms, language: str, item: FeedRow) -> _Header:
    if item.kind == SESSION:
        above = (" ".join(item.heading_path[:1]), HEADING_WEIGHT), (" ".join(item.heading_path[1:]), 1)
        return _header(terms, language, *above)
    headings = " ".join(title for title in item.heading_path if title != item.title)
    return _header(terms, language, (headings, HEADING_WEIGHT))


def _header(terms: Terms, language: str, *weighted: tuple[str, int]) -> _Header:
    repeated: list[NDArray[np.uint64]] = [_NO_TERMS]
    length = 0
    for text, weight in weighted:
        if not text:
            continue
        found = np.frombuffer(terms.of(text), np.uint64)
        length += len(found)
        repeated += [found, _pieces(terms, text, language)] * weight
    return _Header(np.concatenate(repeated), length)


def _pieces(terms: Terms, text: str, language: str) -> NDArray[np.uint64]:
    """What a text in a language is found by beside its terms; nothing of plain English, and of code."""
    if language == CODE or (language in ("", ENGLISH) and text.isascii()):
        return _NO_TERMS
    return np.frombuffer(terms.pieces.of(text, language), np.uint64)


@cache
def _marks_of(language: str) -> NDArray[np.uint64]:
    """The terms that say which language a row is in."""
    if language in ("", CODE):
        return _NO_TERMS
    marks = (language_term(language),) if language == ENGLISH else (language_term(language), PIECED)
    return np.array(marks, np.uint64)


def find_languages(feed: Sequence[FeedRow]) -> list[str]:
    """The language of each row; where its text does not tell, that of its headings and title with it. What stands
    beside a row does not count: it would depend on where a batch ends."""
    return [
        CODE if item.kind == "code" else detect_language(item.text) or detect_language(_with_headings(item))
        for item in feed
    ]


def _with_headings(item: FeedRow) -> str:
    return "\n".join((item.title, *item.heading_path, item.text))


_NO_TERMS: Final = np.zeros(0, np.uint64)


def invert(numbers: NDArray[np.uint64], owners: NDArray[np.uint64]) -> dict[str, Any]:
    """Occurrences (term, row) become postings: term and row share one number, and one sort does it all."""
    pairs = (numbers << np.uint64(ROW_BITS)) | owners
    pairs.sort()
    first = _starts_of_runs(pairs)
    distinct = pairs[first]
    by_term = distinct >> np.uint64(ROW_BITS)
    starts = _starts_of_runs(by_term)
    return {
        "terms": by_term[starts],
        "offsets": np.append(starts, len(distinct)).astype(np.uint32),
        "rows": (distinct & np.uint64(MAX_BUILD_ROWS - 1)).astype(row_type(MAX_BUILD_ROWS)),
        "frequencies": np.minimum(np.diff(first, append=len(pairs)), MAX_FREQUENCY).astype(np.uint8),
    }


def row_type(count: int) -> type[np.uint16] | type[np.uint32]:
    """The numbers that tell so many rows apart."""
    return np.uint16 if count <= 1 << 16 else np.uint32


def _starts_of_runs(ordered: NDArray[np.uint64]) -> NDArray[np.intp]:
    if not len(ordered):
        return np.zeros(0, np.intp)
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


# ------------------------------------------------------------------ vectors


def combine_vectors(
    feed: Sequence[FeedRow], dimensions: int, path_weight: float
) -> tuple[Matrix, NDArray[np.uint32], Matrix]:
    """The vectors of the rows, which rows have a summary with one, and those; not yet of unit length."""
    vectors = np.zeros((len(feed), dimensions), np.float32)
    noted = _summary_rows(feed)
    summaries = np.zeros((len(noted), dimensions), np.float32)
    paths: dict[int, NDArray[np.float32]] = {}
    for row, item in enumerate(feed):
        if item.vector is not None:
            vectors[row] = item.vector
            vectors[row] += _path_share(item, paths, path_weight)
    for place, row in enumerate(noted):
        summaries[place] = feed[row].summary_vector
        summaries[place] += _path_share(feed[row], paths, path_weight)
    return vectors, np.array(noted, np.uint32), summaries


def _summary_rows(feed: Sequence[FeedRow]) -> list[int]:
    """Rows whose summary has a vector."""
    return [row for row, item in enumerate(feed) if item.summary_vector is not None]


def _path_share(
    item: FeedRow, paths: dict[int, NDArray[np.float32]], path_weight: float
) -> NDArray[np.float32] | float:
    if item.path_vector is None or not path_weight:
        return 0.0
    if item.document_id not in paths:
        paths[item.document_id] = path_weight * item.path_vector.astype(np.float32)
    return paths[item.document_id]


def to_unit_length(vectors: Matrix) -> Matrix:
    """Bring each row to unit length, in place."""
    vectors[~np.isfinite(vectors).all(axis=1)] = 0  # a model's slip (or a 16-bit overflow) must not spread
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.maximum(norms, 1e-12)
    return vectors


def quantize(
    vectors: Matrix, noted: NDArray[np.uint32], summaries: Matrix, *, signs: bool = True
) -> dict[str, Any]:
    """The columns of a segment for vectors of any length; without `signs` their bits are left out."""
    bits, quantized, scales = _quantize_rows(vectors, signs=signs)
    summary_bits, summary_quantized, summary_scales = _quantize_rows(summaries, signs=signs)
    return {
        "bits": bits,
        "vectors": quantized,
        "scales": scales,
        "noted": noted,
        "summary_bits": summary_bits,
        "summary_vectors": summary_quantized,
        "summary_scales": summary_scales,
    }


def _quantize_rows(
    vectors: Matrix, *, signs: bool
) -> tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.float32]]:
    """Sign bits, eight-bit numbers and the scale of each row, of vectors brought to unit length."""
    vectors = to_unit_length(vectors)
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (peaks / 127).astype(np.float32)
    quantized = np.rint(vectors / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    bits = sign_bits(vectors) if signs else np.zeros((-(-vectors.shape[1] // 64), 0), np.uint64)
    return bits, quantized, scales


# ------------------------------------------------------------------ files and names


def describe_files(feed: Sequence[FeedRow], terms: Terms) -> dict[str, Any]:
    """Columns that say what a row's file is, and the names of code."""
    first_rows: dict[int, int] = {}
    for row, item in enumerate(feed):
        first_rows.setdefault(item.document_id, row)
    number = {document_id: place for place, document_id in enumerate(first_rows)}
    titles, homes = np.zeros(len(first_rows), np.uint64), np.zeros(len(first_rows), np.uint64)
    stems = np.zeros((len(first_rows), names.FILE_WORDS), np.uint64)
    folders = np.zeros((len(first_rows), names.FILE_WORDS), np.uint64)
    for document_id, row in first_rows.items():
        titles[number[document_id]] = names.file_title(feed[row].path)
        homes[number[document_id]] = names.name_number(f"{feed[row].path.rpartition('/')[0]}/")
        stem, folder = names.file_words(feed[row].path, terms)
        stems[number[document_id], : len(stem)] = stem
        folders[number[document_id], : len(folder)] = folder
    return {
        "roles": np.fromiter(map(_role, feed), np.uint8, len(feed)),
        "families": np.fromiter((names.family_number(item.language) for item in feed), np.uint8, len(feed)),
        "files": np.fromiter((number[item.document_id] for item in feed), np.uint32, len(feed)),
        "titles": titles,
        "homes": homes,
        "stems": stems,
        "folders": folders,
        "names": names.build_names(feed, first_rows),
    }


def _role(item: FeedRow) -> int:
    return names.ROLES.index(item.role) | (
        names.HEADER if item.code is not None and item.code.kind == "header" else 0
    )


# ------------------------------------------------------------------ segments


def build_segment(feed: Sequence[FeedRow], terms: Terms, dimensions: int, path_weight: float) -> Segment:
    """Rows from the store become a segment: analyse the texts, invert them, quantize the vectors."""
    found = find_terms(feed, terms)
    return Segment(
        chunk_ids=np.fromiter((item.chunk_id for item in feed), np.int64, len(feed)),
        document_ids=np.fromiter((item.document_id for item in feed), np.int64, len(feed)),
        code=np.fromiter((item.kind == "code" for item in feed), np.bool_, len(feed)),
        lengths=found.lengths,
        **invert(found.numbers, found.owners),
        pairs=mark_pairs(feed),
        **quantize(*combine_vectors(feed, dimensions, path_weight)),
        **describe_files(feed, terms),
    )
