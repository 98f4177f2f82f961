"""What a store keeps beside each chunk so that it can be searched in place: the same columns as in a segment.

What ranking knows of a chunk beyond its words and vectors is packed into a few bytes, its facts. One byte each for the
version of this format, the role of the file, its family of languages, and how many words its name and its folders
have; then the file's name, its folder and that folder's name, the words of code's files, and the names that the chunk
uses. Numbers of names are 48 bits wide (see `terms`), so six bytes hold one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from outcrop.errors import StoreError
from outcrop.index.columns import combine_vectors, describe_files, find_terms, invert, to_unit_length
from outcrop.index.evidence import ranges_of
from outcrop.index.names import FILE_WORDS, Names, find_packages
from outcrop.index.phrasing import phrase_terms
from outcrop.records import FeedRow
from outcrop.records.derived import Derived
from outcrop.system.arrays import NDArray
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import TERM_BYTES, Terms

FORMAT: Final = 1
"""Raise when facts change their meaning: those of another format are refused until they are made again."""

OF_FILE: Final = ("roles", "families", "titles", "homes", "packages", "stems", "folders")
"""The columns of `Facts` that are the same for all chunks of a file."""
_PLAIN_BYTES: Final = 4
_NUMBERS: Final = 3
_HEAD_BYTES: Final = _PLAIN_BYTES + _NUMBERS * TERM_BYTES
_USE_BYTES: Final = 2 * TERM_BYTES + 3


@dataclass(frozen=True, slots=True)
class Facts:
    """Of some chunks, in columns; the words are as in a segment's `stems` and `folders`. `_bytes` holds the uses still
    packed: row i's are the bytes from `_starts[i]` to `_ends[i]`."""

    roles: NDArray[np.uint8]
    families: NDArray[np.uint8]
    titles: NDArray[np.uint64]
    homes: NDArray[np.uint64]
    packages: NDArray[np.uint64]
    stems: NDArray[np.uint64]
    folders: NDArray[np.uint64]
    _bytes: NDArray[np.uint8]
    _starts: NDArray[np.int64]
    _ends: NDArray[np.int64]

    def uses(self) -> dict[str, NDArray[Any]]:
        """The columns `used_*` of `Names`, by row."""
        at = ranges_of(self._starts, self._ends)
        packed = self._bytes[at].reshape(-1, _USE_BYTES)
        names = packed[:, : 2 * TERM_BYTES].reshape(-1, 2, TERM_BYTES)
        used = _as_numbers(names)
        rest = np.ascontiguousarray(packed[:, 2 * TERM_BYTES :].T)
        counts = (self._ends - self._starts) // _USE_BYTES
        return {
            "used": np.ascontiguousarray(used[:, 0]),
            "used_rows": np.repeat(np.arange(len(counts), dtype=np.uint32), counts),
            "used_hints": np.ascontiguousarray(used[:, 1]),
            "used_kinds": rest[0],
            "used_counts": rest[1],
            "used_marks": rest[2],
            "used_order": np.argsort(used[:, 0], kind="stable").astype(np.uint32),
        }


def pack_facts(
    roles: NDArray[np.uint8],
    families: NDArray[np.uint8],
    numbers: NDArray[np.uint64],
    stems: NDArray[np.uint64],
    folders: NDArray[np.uint64],
    names: Names,
) -> list[bytes]:
    """The facts of each row; `numbers` has its file's name, the folder and the package, `stems` and `folders` are
    words, 0 where there are no more."""
    sizes = np.stack(((stems != 0).sum(axis=1), (folders != 0).sum(axis=1)))
    plain = np.stack((np.full(len(roles), FORMAT), roles, families, sizes[0] | sizes[1] << 4), axis=1)
    heads = np.concatenate((plain.astype(np.uint8), _as_bytes(numbers)), axis=1)
    words = _as_bytes(np.concatenate((stems, folders), axis=1)).reshape(len(roles), 2, FILE_WORDS * TERM_BYTES)
    uses = np.concatenate(
        (
            _as_bytes(np.stack((names.used, names.used_hints), axis=1)),
            np.stack((names.used_kinds, names.used_counts, names.used_marks), axis=1),
        ),
        axis=1,
    )
    ends = np.searchsorted(names.used_rows, np.arange(len(roles)), side="right").tolist()
    packed = []
    start = 0
    for row, end in enumerate(ends):
        stem, folder = (TERM_BYTES * sizes[:, row]).tolist()
        parts = (heads[row], words[row, 0, :stem], words[row, 1, :folder], uses[start:end])
        packed.append(b"".join(part.tobytes() for part in parts))
        start = end
    return packed


def unpack_facts(facts: Sequence[bytes]) -> Facts:
    """What `pack_facts` packed; raises StoreError for what it did not."""
    sizes = np.fromiter(map(len, facts), np.int64, len(facts))
    whole = np.frombuffer(b"".join(facts), np.uint8)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    _require(bool((sizes >= _HEAD_BYTES).all()))
    heads = whole[starts[:, None] + np.arange(_HEAD_BYTES)]
    plain = np.ascontiguousarray(heads[:, :_PLAIN_BYTES].T)
    stems, folders = (plain[3] & 15).astype(np.int64), (plain[3] >> 4).astype(np.int64)
    begin = starts + _HEAD_BYTES
    uses = begin + TERM_BYTES * (stems + folders)
    known = (plain[0] == FORMAT) & (uses <= ends) & ((ends - uses) % _USE_BYTES == 0)
    _require(bool((known & (stems <= FILE_WORDS) & (folders <= FILE_WORDS)).all()))
    title, home, package = _as_numbers(heads[:, _PLAIN_BYTES:].reshape(-1, _NUMBERS, TERM_BYTES)).T
    return Facts(
        roles=plain[1],
        families=plain[2],
        titles=np.ascontiguousarray(title),
        homes=np.ascontiguousarray(home),
        packages=np.ascontiguousarray(package),
        stems=_words(whole, begin, stems),
        folders=_words(whole, begin + TERM_BYTES * stems, folders),
        _bytes=whole,
        _starts=uses,
        _ends=ends,
    )


def place_facts(facts: Facts, places: NDArray[np.intp], count: int) -> Facts:
    """Facts of `count` files, known at these places and empty elsewhere; without uses."""

    def place(column: NDArray[Any]) -> NDArray[Any]:
        spread = np.zeros((count, *column.shape[1:]), column.dtype)
        spread[places] = column
        return spread

    known = {name: place(getattr(facts, name)) for name in OF_FILE}
    nothing = np.zeros(count, np.int64)
    return Facts(**known, _bytes=np.zeros(0, np.uint8), _starts=nothing, _ends=nothing)


def _require(well: bool) -> None:
    if not well:
        raise StoreError(
            "what is kept for searching was made by another version of Outcrop; make it again: outcrop doctor --repair"
        )


def _words(whole: NDArray[np.uint8], begin: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.uint64]:
    """`count` numbers of each row, one row a line, 0 where there are no more."""
    found = np.zeros((len(begin), FILE_WORDS), np.uint64)
    at = ranges_of(begin, begin + TERM_BYTES * count)
    found[np.arange(FILE_WORDS) < count[:, None]] = _as_numbers(whole[at].reshape(-1, TERM_BYTES))
    return found


def _as_bytes(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Each line of numbers as bytes."""
    count, width = numbers.shape
    wide = np.ascontiguousarray(numbers, "<u8").view(np.uint8).reshape(count, width, 8)
    return wide[:, :, :TERM_BYTES].reshape(count, width * TERM_BYTES)


def _as_numbers(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The numbers that the last axis holds the bytes of."""
    wide = np.zeros((*packed.shape[:-1], 8), np.uint8)
    wide[..., :TERM_BYTES] = packed
    numbers: NDArray[np.uint64] = wide.view("<u8")[..., 0].astype(np.uint64, copy=False)
    return numbers


class SearchDeriver:
    """Makes what search looks up, as `derived.Deriver` promises. The chunks of a document are to be fed together: its
    file is declared as a module by the first of them."""

    def __init__(self, terms: Terms, path_weight: float) -> None:
        self._terms = terms
        self._path_weight = path_weight

    def derive(self, feed: Sequence[FeedRow], dimensions: int) -> Derived:
        """What search looks up of these chunks, at most 65 536; vectors have this many dimensions."""
        found = find_terms(feed, self._terms)
        files = describe_files(feed, self._terms)
        names, of_file = files["names"], files["files"]
        vectors, noted, summaries = combine_vectors(feed, dimensions, self._path_weight)
        packages = find_packages(names, of_file, len(files["homes"]))
        # Only of code the words of its file's name count.
        is_code = np.fromiter((item.kind == "code" for item in feed), np.bool_, len(feed))[:, None]
        declared = (
            *(names.defined, names.defined_rows, names.defined_scopes),
            *(names.defined_kinds, names.defined_marks),
        )
        return Derived(
            lengths=found.lengths,
            **invert(found.numbers, found.owners),
            vectors=to_unit_length(vectors).astype(np.float16),
            noted=noted,
            summary_vectors=to_unit_length(summaries).astype(np.float16),
            facts=pack_facts(
                files["roles"],
                files["families"],
                np.stack((files["titles"], files["homes"], packages), axis=1)[of_file],
                np.where(is_code, files["stems"][of_file], np.uint64(0)),
                np.where(is_code, files["folders"][of_file], np.uint64(0)),
                names,
            ),
            declared=np.stack([column.astype(np.uint64) for column in declared], axis=1),
        )

    def phrase_terms(self, words: Sequence[str]) -> list[frozenset[int]]:
        """For each word of a phrase, a set of terms: a chunk that holds the word has at least one of them."""
        return phrase_terms(words, self._terms)
