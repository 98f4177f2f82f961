"""What is known of candidates beyond the scores of the legs: their file, its role, the names they declare, their
project.

The names of collections are compared when a query is asked and stand in no chunk, so nothing is indexed or embedded
again for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.bm25 import LexicalQuery
from outcrop.index.candidates import Masks
from outcrop.index.names import (
    ALIAS,
    CALLABLE,
    HEADER,
    LOCAL,
    METHOD,
    PRIVATE,
    PROTOTYPE,
    ROLES,
    SMALL,
    WHOLE,
    name_mark,
    name_number,
    title_number,
)
from outcrop.index.query import Symbol
from outcrop.index.segment import Segment, View
from outcrop.records import Filter
from outcrop.records.candidates import Candidates
from outcrop.system.arrays import NDArray, distinct, is_among, numbered
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import STOP_WORDS, Terms, other_words_of, words_of

KIND_SHARE: Final = {
    **{WHOLE: 1.0, ALIAS: 1.0, CALLABLE: 0.8, METHOD: 0.8},
    **{LOCAL: 0.5, SMALL: 0.5, PROTOTYPE: 0.5},
}
"""How surely a declaration is the one that is asked for. A type is asked for by its name, a function more often by what
it does; a field or a prototype is less than the thing itself (not measured)."""
SPELLING_SHARE: Final = 0.3
"""A name typed in another case is a guess. In a trial on the code set 0.1 gained .002 NDCG@10 and 0.6 lost .004."""
NESTED_SHARE: Final = 0.9
OTHER_SCOPE_SHARE: Final = 0.4
"""A member of a class is one of many that may have the name; where a class or a module was typed before the name, a
declaration in another one is hardly meant (not measured)."""
NAMESAKE_SHARE: Final = 0.5
"""The weight of a declaration whose file is not named after it, beside one whose file is: `Router` in router.py is the
one. Where a name is all that was typed and no such file declares it, none is worth less."""
CONSTRUCTOR_SHARE: Final = 0.5
FORWARD_SHARE: Final = 0.3
ALIAS_SHARE: Final = 0.4
"""What only points to the thing is worth less: a constructor (`Emitter::Emitter` in emitter.cpp is not the class), a
prototype beside a body, another name for a type beside the type. With these four, of 154 names of 22 packages that no
benchmark judges the right file is first for .93 instead of .84 (NDCG@10 .967, was .933; labelled by hand before these
values were chosen), and of 262 more names drawn by rule for .882 instead of .874. Questions in sentences are asked as
before."""

MAX_DEFINITIONS: Final = 64
"""How many declarations of one name a search looks at in each segment; a commoner name is hardly searched for."""

UNNAMED: Final = "default"
"""The collection of documents that were given none: not a name that anybody chose."""
MAX_NAMED: Final = 8
"""Projects that one query can name; each costs a look-up of the candidates' documents (not measured)."""

Declared = dict[tuple[int, int], float]
"""(segment, row) → how surely it declares a name of the query."""

_ROLE_NAMES: Final = np.array(ROLES)


def describe(view: View, found: Candidates, text: str, declared: Declared, terms: Terms) -> Candidates:
    """The candidates with what the arrays know of them."""
    words = _read_words(text, terms)
    count = len(found)
    role = np.zeros(count, np.uint8)
    stem, folder = np.zeros(count, np.float32), np.zeros(count, np.float32)
    for number, segment in enumerate(view.segments):
        mine = np.flatnonzero(found.segment == number)
        if not len(mine):
            continue
        role[mine] = segment.roles[found.row[mine]]
        mine = mine[found.code[mine]]
        if len(mine):  # what prose is about its title says
            files, place = numbered(segment.files[found.row[mine]])
            stem[mine] = _likeness(segment.stems[files], words)[place]
            folder[mine] = _share(segment.folders[files], words)[place]
    defines = np.zeros(count, np.float32)
    for (number, row), sure in declared.items():
        defines[(found.segment == number) & (found.row == row)] = sure
    _, file = numbered(found.document_id)
    return found.put(
        file=file,
        role=_ROLE_NAMES[role & ~np.uint8(HEADER)],
        header=(role & HEADER) > 0,
        stem=stem,
        folder=folder,
        defines=defines,
        file_words=np.zeros(count, np.float32),
        file_rare_words=np.zeros(count, np.float32),
    )


def cover_files(query: LexicalQuery, found: Candidates) -> Candidates:
    """The candidates with how much of the query those of one document hold between them."""
    weights = np.array(list(query.weights.values()), np.float32)
    by_file = np.zeros((len(weights), int(found.file.max(initial=-1)) + 1), np.bool_)
    row, term = found.times.nonzero()
    by_file[term, found.file[row]] = True
    shares = np.array([query.shares.get(term, 1.0) for term in query.weights], np.float32)
    words: NDArray[np.float32] = shares @ by_file / np.float32(max(float(shares.sum()), 1e-9))
    rare: NDArray[np.float32] = weights @ by_file / np.float32(max(float(weights.sum()), 1e-9))
    return found.put(file_words=words[found.file], file_rare_words=rare[found.file].astype(np.float32))


@dataclass(frozen=True, slots=True)
class _Words:
    """The distinct words of a query: how many, and the terms that each may be in a name."""

    count: int
    forms: NDArray[np.uint64]


def query_words(text: str, terms: Terms) -> NDArray[np.uint64]:
    """The distinct words of a query as terms, compounds by their parts only, as the words of a file's name are."""
    return _as_terms(text, terms, words_of)


def _read_words(text: str, terms: Terms) -> _Words:
    """The words of a query, also in the other number."""
    words = query_words(text, terms)
    return _Words(len(words), distinct(np.concatenate((words, _as_terms(text, terms, other_words_of)))))


def _as_terms(text: str, terms: Terms, split: Callable[[str, Terms], Sequence[int]]) -> NDArray[np.uint64]:
    found: dict[int, None] = {}
    for surface, _ in terms.words(text):
        if surface.lower() not in STOP_WORDS and len(surface) > 1:
            found.update(dict.fromkeys(split(surface, terms)))
    return np.array(list(found), np.uint64)


def _likeness(names: NDArray[np.uint64], words: _Words) -> NDArray[np.float32]:
    """How far a file's name is what the query says: the share of its words that are asked for, less where they are
    only a small part of what is asked."""
    if not words.count:
        return np.zeros(len(names), np.float32)
    hits = _is_in(names, words.forms).sum(axis=1)
    size = np.maximum((names != 0).sum(axis=1), 1)
    result: NDArray[np.float32] = (hits / size * np.sqrt(np.minimum(hits / words.count, 1))).astype(np.float32)
    return result


def _is_in(names: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which names are among a few words. (np.isin sorts them first, which takes longer than all of this.)"""
    found: NDArray[np.bool_] = (names[:, :, None] == words[None, None, :]).any(axis=2)
    return found


def _share(names: NDArray[np.uint64], words: _Words) -> NDArray[np.float32]:
    """The share of the query's words that stand in the folders' names."""
    hits = _is_in(names, words.forms).sum(axis=1)
    result: NDArray[np.float32] = np.minimum(hits / max(words.count, 1), 1).astype(np.float32)
    return result


def find_declared(view: View, masks: Masks, symbols: tuple[Symbol, ...], *, alone: bool = False) -> Declared:
    """The rows that declare the names of a query, with how surely; `alone` if a name is all that was typed."""
    declared: Declared = {}
    for symbol in symbols:
        places = [
            (number, segment, segment.names.definitions(name_number(symbol.name)))
            for number, segment in enumerate(view.segments)
        ]
        if sum(where.stop - where.start for *_, where in places) > MAX_DEFINITIONS:
            places = [(n, segment, _of_scope(segment, where, symbol)) for n, segment, where in places]
        found: list[_Declaration] = []
        for number, segment, where in places:
            mask = masks[number]
            for i in range(where.start, min(where.stop, where.start + MAX_DEFINITIONS)):
                row = int(segment.names.defined_rows[i])
                if view.deleted[number][row] or (mask is not None and not mask[row]):
                    continue
                found.append(_read_declaration(segment, i, (number, row), symbol))
        for place, sure in _weigh(found, alone=alone):
            declared[place] = max(declared.get(place, 0.0), sure)
    return declared


@dataclass(frozen=True, slots=True)
class _Declaration:
    """One of the declarations of a name: its place, how surely it is meant if there is no other, and whether its file
    is called so."""

    place: tuple[int, int]
    kind: int
    sure: float
    called: bool


def _weigh(found: Sequence[_Declaration], *, alone: bool) -> Iterator[tuple[tuple[int, int], float]]:
    """What the declarations of one name are worth beside each other."""
    whole = any(one.kind == WHOLE for one in found)
    body = any(one.kind in (CALLABLE, METHOD) for one in found)
    namesake = any(one.called and one.kind in (WHOLE, ALIAS, CALLABLE, METHOD) for one in found)
    for one in found:
        sure = one.sure
        if not one.called and (namesake or not alone):
            sure *= NAMESAKE_SHARE
        if one.kind == PROTOTYPE and body:
            sure *= FORWARD_SHARE
        if one.kind == ALIAS and whole:
            sure *= ALIAS_SHARE
        yield one.place, sure


def find_titled(
    segment: Segment, gone: NDArray[np.bool_], titles: Collection[int], most: int
) -> list[tuple[int, int, int]]:
    """(title, document id, chunk id) of the rows with one of these titles, at most `most` of each."""
    wanted = np.sort(np.fromiter(titles, np.uint64, len(titles)))
    found: list[tuple[int, int, int]] = []
    for title in wanted[is_among(wanted, segment.names.defined)].tolist():
        where = segment.names.definitions(title)
        rows = segment.names.defined_rows[where][:most]
        rows = rows[~gone[rows]]
        ids = zip(segment.document_ids[rows].tolist(), segment.chunk_ids[rows].tolist(), strict=True)
        found += ((title, *id_) for id_ in ids)
    return found


def _of_scope(segment: Segment, where: slice, symbol: Symbol) -> slice:
    """For a name with very many declarations: the range from the first to the last one in the scope that was asked for,
    if there is one."""
    if not symbol.scope:
        return where
    scope = np.uint64(name_number(symbol.scope))
    found = np.flatnonzero(segment.names.defined_scopes[where] == scope)
    return slice(where.start + int(found[0]), where.start + int(found[-1]) + 1) if len(found) else where


def _read_declaration(segment: Segment, i: int, place: tuple[int, int], symbol: Symbol) -> _Declaration:
    names, row = segment.names, place[1]
    kind = int(names.defined_kinds[i]) & ~PRIVATE
    sure = KIND_SHARE.get(kind, 0.0)
    if int(names.defined_marks[i]) != name_mark(symbol.name):
        sure *= SPELLING_SHARE
    scope = int(names.defined_scopes[i])
    if symbol.scope:
        if scope != name_number(symbol.scope) and not _file_called(segment, row, symbol.scope):
            sure *= OTHER_SCOPE_SHARE
    elif scope:
        sure *= CONSTRUCTOR_SHARE if scope == name_number(symbol.name) else NESTED_SHARE
    return _Declaration(place, kind, sure, _file_called(segment, row, symbol.name))


def _file_called(segment: Segment, row: int, name: str) -> bool:
    """Whether a row's file is called by this name, written in any style."""
    return int(segment.titles[int(segment.files[row])]) == title_number(name)


@dataclass(frozen=True, slots=True)
class _Names:
    """The words of each collection's name, and in how many names each word stands."""

    version: int
    words: Mapping[str, frozenset[int]]
    holders: Mapping[int, int]

    def apartness(self, words: Iterable[int]) -> dict[int, float]:
        """How well words tell projects apart: 1 where one name alone holds a word, 0 where all do."""
        others = len(self.words) - 1
        return {word: (len(self.words) - self.holders[word]) / others for word in words}


class Projects:
    """Which projects a query names: a collection's name counts for its documents, though no text of theirs holds it.
    The names are read again when the store has changed. Safe for threads."""

    def __init__(self, store: Store, terms: Terms) -> None:
        self._store = store
        self._terms = terms
        self._known = _Names(-1, {}, {})

    def credit(
        self, version: int, text: str, weights: Mapping[int, float], documents: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """For each of some documents how much of the query, 0 to 1, its project's name answers.

        Nothing where all of them would get the same: a name that everything shares sets nothing apart.
        """
        credit = np.zeros(len(documents), np.float32)
        named = self._named(version, text, weights) if len(documents) else {}
        distinct = tuple(np.unique(documents).tolist()) if named else ()
        for name, share in sorted(named.items(), key=lambda item: -item[1])[:MAX_NAMED]:
            there = self._store.select(Filter(collections=(name,), documents=distinct))
            credit = np.maximum(credit, np.where(is_among(documents, there), np.float32(share), 0))
        return credit - credit.min() if named else credit

    def _named(self, version: int, text: str, weights: Mapping[int, float]) -> dict[str, float]:
        """The collections that a query names, and what share of the query their names are."""
        names = self._names(version)
        if len(names.words) < 2:
            return {}
        asked = query_words(text, self._terms).tolist()
        if names.holders.keys().isdisjoint(asked):
            return {}
        rarest = max(weights.values(), default=1.0)  # of a word that no text holds
        weigh = {word: weights.get(word, rarest) for word in asked}
        total = sum(weigh.values())
        found: dict[str, float] = {}
        for name, words in names.words.items():
            apart = {} if words.isdisjoint(asked) else names.apartness(words)
            said = sum(weigh[word] * apart.get(word, 0) for word in asked)
            if said:
                of_name = sum(apart.get(word, 0) for word in asked) / sum(apart.values())
                found[name] = said / total * of_name
        return found

    def _names(self, version: int) -> _Names:
        """The names as they are now. Collections without a chosen name count too: the others differ from them."""
        known = self._known
        if known.version != version:
            words = {
                name: frozenset(query_words(name if name != UNNAMED else "", self._terms).tolist())
                for name in self._store.collection_names()
            }
            holders = Counter(word for found in words.values() for word in found)
            known = self._known = _Names(version, words, holders)
        return known
