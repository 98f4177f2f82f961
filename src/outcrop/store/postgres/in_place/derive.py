"""What a store keeps beside each chunk so that it can be searched in place: the same columns as in a segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from outcrop.index.columns import combine_vectors, describe_files, find_terms, invert, to_unit_length
from outcrop.index.names import find_packages
from outcrop.index.phrasing import phrase_terms
from outcrop.records import FeedRow
from outcrop.records.derived import Derived
from outcrop.store.postgres.in_place.facts import pack_facts
from outcrop.text.terms import Terms


class SearchDeriver:
    """Makes what search looks up, as `derived.Deriver` promises.

    The chunks of a document are to be fed together: its file is declared as a module by the first of them.
    """

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
            declared=np.stack(
                (
                    names.defined,
                    names.defined_rows.astype(np.uint64),
                    names.defined_scopes,
                    names.defined_kinds.astype(np.uint64),
                    names.defined_marks.astype(np.uint64),
                ),
                axis=1,
            ),
        )

    def phrase_terms(self, words: Sequence[str]) -> list[frozenset[int]]:
        """For each word of a phrase, a set of terms: a chunk that holds the word has at least one of them."""
        return phrase_terms(words, self._terms)
