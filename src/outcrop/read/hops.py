"""READ PATH: documents that the best hits name.

A question may need two documents, of which only one has its words: the page of a film names the director, whose own
page says where he was born. Prose declares its titles (see `index.names`). Names that stand word for word in the best
hits are looked up among them, and the best passage of a document that is found so gets a share of the score of the
hit that names it. It stays behind that hit, so the first hit never changes. Code has its own graph (`links`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np

from outcrop.contracts import Store
from outcrop.index.bm25 import HeldWords
from outcrop.index.names import spoken_number
from outcrop.index.query import Query
from outcrop.index.seam import Index, Matches
from outcrop.records import SearchOptions, StoredChunk
from outcrop.records.candidates import Candidates
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import STOP_WORDS, Terms

NAMING_HITS: Final = 3
"""Hits whose texts are read for names; five found no more on the questions below."""
SHARE: Final = 0.3
"""What a named document gets of the score of the hit that names it. In a trial 150 questions were made of words of two
linked pages of the Python and PostgreSQL manuals: both are among five for .797 with 0, .810 with .1, .820 with .2, .823
with .3 or .6. 150 questions for one page stay at .980."""
MIN_WORDS: Final = 4
"""A shorter query asks for one thing (not measured)."""
MAX_BEARERS: Final = 2
"""A title that more documents bear names none of them (not measured)."""
MIN_RARITY: Final = 0.5
"""How rare the words of a title have to be together, as a share of what a word is worth that stands nowhere: at 20 000
chunks a single word may stand in 100 of them. Recall as above is .827 with .3, .823 with .5, .810 with .8; .5 is the
careful one."""
MAX_NAMED: Final = 8
"""Documents that one query reaches so (not measured)."""
MAX_CHARS: Final = 4000
MAX_NAMES: Final = 100
"""Characters of a hit that are read, and names of one that are looked up (not measured)."""

MAX_TITLE_CHARS: Final = 60
"""Of the title in an explanation."""

_CAPITAL: Final = r"[A-Z0-9À-ÖØ-žΑ-ΩА-Я]\w*+(?:['’]\w++)?+"
_LOWER: Final = r" (?:of|the|and|in|on|at|for|to|with|a|de|la|le|du|von|van|der|den|&)"
_JOINT: Final = rf"(?:(?:{_LOWER}){{0,3}} |, |-|(?:(?<=\b\w)|(?<=\b\w\w))\. )"
_RUN: Final = re.compile(rf"\b{_CAPITAL}(?:{_JOINT}{_CAPITAL}){{0,7}}")
_PART: Final = re.compile(_CAPITAL)
_MARKED: Final = re.compile(r"[\"“«‘`*\[]([^\n\"”»’`*\[\]]{3,80})[\"”»’`*\]]")
_POSSESSIVE: Final = re.compile(r"['’]s$")
_AMID: Final = re.compile(r"[\w,;)] \W?$")
"""What stands before a word that is not the first of its sentence, heading or item."""


READ_AHEAD: Final = 2
"""For so many hits one chunk more is fetched, before merging and duplicates shrink them; then as many again if needed.
Of 300 questions to 20 000 chunks of prose 244 need no more."""


def read_ahead(options: SearchOptions) -> int:
    """How many chunks the hits of a page and those before it are hoped to be made of."""
    wanted = options.offset + options.limit
    return wanted + wanted // READ_AHEAD if options.merge else wanted + 1


@dataclass(frozen=True, slots=True)
class _Named:
    """A document that a hit names: the best one that does, and how rare the name is."""

    document: int
    first_chunk: int
    by: StoredChunk
    rarity: float


def follow_names(
    query: Query,
    options: SearchOptions,
    seen: Matches,
    store: Store,
    index: Index,
    terms: Terms,
    score: Callable[[Matches], Candidates],
) -> Matches:
    """What came up, in order, with what its best hits name; `score` scores rows that had not come up before. The order
    is the former one. The same object where the question leaves nothing open. The chunks that will be shown are read
    along with those that may name something: the store is asked once."""
    if not leaves_open(query, seen):
        return seen
    found, hits = seen.found, _first_documents(seen.found)
    shown = [] if options.offset else found.order[: read_ahead(options)].tolist()
    wanted = found.chunk_id[list(dict.fromkeys([*hits, *shown]))].tolist()
    seen = replace(seen, read={chunk.id: chunk for chunk in store.chunks(wanted)})
    told = _look_up(seen, [seen.read[id_] for id_ in wanted[: len(hits)] if id_ in seen.read], index, terms)
    there = set(found.document_id.tolist()) if told else set()
    late = np.array(sorted({named.first_chunk for named in told if named.document not in there}), np.int64)
    if len(late):
        seen = index.add_rows(seen, late, options.where)
        found = _join(found, score(seen)) if len(seen.found) else found
    return replace(seen, found=_credit(found, told)) if told else seen


def leaves_open(query: Query, seen: Matches) -> bool:
    """Whether a question has words that the first hit does not answer. A short or exact query asks for one thing."""
    words, order = seen.words, seen.found.order
    if words is None or query.kind == "exact" or query.phrases or not len(order):
        return False
    if len(set(words.words.values())) < MIN_WORDS:
        return False
    return HeldWords(words).coverage(seen.found.times[order[0]].tolist()) < 1


def spoken_names(text: str) -> Iterator[str]:
    """What may be names in a text: capitalised words that stand together, also some of them, and what is marked by
    quotation marks, as a link or as code. A single word counts only amid a sentence, where it need not be written so.
    """
    yield from _MARKED.findall(text)
    for run in _RUN.finditer(text):
        parts = list(_PART.finditer(run[0]))
        if len(parts) > 1 and parts[0][0].lower() in STOP_WORDS:
            yield run[0]
            parts = parts[1:]
        elif len(parts) == 1 and not _AMID.search(text, max(run.start() - 3, 0), run.start()):
            continue
        if len(parts) == 1:
            yield parts[0][0]
        for i, first in enumerate(parts):
            for last in parts[i + 1 :]:
                yield run[0][first.start() : last.end()]


def _first_documents(found: Candidates) -> list[int]:
    """The places of the first hits, each of another document; hits of code name nothing here."""
    best: dict[int, int] = {}
    for place in found.order[: 4 * NAMING_HITS].tolist():
        best.setdefault(int(found.document_id[place]), place)
    return [place for place in list(best.values())[:NAMING_HITS] if not found.code[place]]


def _look_up(seen: Matches, read: Sequence[StoredChunk], index: Index, terms: Terms) -> list[_Named]:
    """The documents that the texts which were read name, those of the best hit first."""
    mentions: dict[int, tuple[str, StoredChunk]] = {}
    for chunk in read:
        for name in islice(dict.fromkeys(spoken_names(chunk.text[:MAX_CHARS])), MAX_NAMES):
            mentions.setdefault(spoken_number(_POSSESSIVE.sub("", name)), (name, chunk))
    mentions.pop(0, None)
    places = {title: place for place, title in enumerate(mentions)}
    bearers: dict[int, dict[int, int]] = {}
    for title, document, chunk_id in (
        index.find_titled(seen.view, mentions, MAX_BEARERS + 1) if mentions else ()
    ):
        bearers.setdefault(title, {}).setdefault(document, chunk_id)
    few = {title: which for title, which in bearers.items() if len(which) <= MAX_BEARERS}
    rarity = _weigh_rarity(seen, [mentions[title][0] for title in few], index, terms)
    told = []
    for title, which in sorted(few.items(), key=lambda item: places[item[0]]):
        name, by = mentions[title]
        if rarity[name] >= MIN_RARITY and by.document.id not in which:
            told += [_Named(document, chunk_id, by, rarity[name]) for document, chunk_id in which.items()]
    return told[:MAX_NAMED]


def _weigh_rarity(seen: Matches, names: list[str], index: Index, terms: Terms) -> dict[str, float]:
    """For each name how rare its words are together in this index, 0 to 1."""
    weights = index.weigh(seen.view, " ".join(names)) if names else {}
    most = math.log(2 * (seen.view.chunks + 1))
    return {
        name: min(sum(weights.get(term, 0.0) for term in set(terms.of(name))) / most, 1.0) for name in names
    }


def _join(found: Candidates, late: Candidates) -> Candidates:
    """The rows that had come up and those that had not, all scored."""
    every = Candidates.join([part.put(order=part.order[:0]) for part in (found, late)])
    boosts = {name: np.concatenate((amount, late.boosts[name])) for name, amount in found.boosts.items()}
    unread = np.zeros(len(late), np.bool_)
    held = {phrase: np.concatenate((where, unread)) for phrase, where in found.held.items()}
    kept = {name: getattr(found, name) for name in ("kind", "asked", "wants_guide", "order")}
    return every.put(boosts=boosts, held=held, **kept)


def _credit(found: Candidates, told: list[_Named]) -> Candidates:
    """The best passage of each document that is named gets a share of the score of the best hit that names it."""
    final, boosts = found.final.copy(), dict(found.boosts)
    done: set[int] = set()
    for named in told:
        rows = np.flatnonzero(found.document_id == named.document)
        if not len(rows) or named.document in done:
            continue
        done.add(named.document)
        place, head = rows[np.argmax(found.final[rows])], found.final[found.chunk_id == named.by.id][0]
        raised = min(final[place] + SHARE * named.rarity * head, np.nextafter(head, np.float32(0)))
        if raised > final[place]:
            column = boosts.setdefault(_boost_name(named.by), np.zeros(len(found), np.float32))
            column[place] = raised - final[place]
            final[place] = raised
    return found.put(final=final, boosts=boosts)


def _boost_name(chunk: StoredChunk) -> str:
    """Which hit names it. By title: merging and this very signal still move places."""
    title = " ".join(chunk.document.title.split())
    return f"named by {title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + '…'}"
