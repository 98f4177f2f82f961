"""What must be true of an index, by its model (see proofs/model_check/state.py). Each check yields what is wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from outcrop.contracts import Embedder
from outcrop.engine import Engine
from outcrop.errors import NotFound
from outcrop.records import Answer, DocumentInfo, Filter, Hit, SearchMode, SearchOptions
from proofs.model_check.ops import Place, filter_of, open_place, perform, uri_of
from proofs.model_check.state import (
    EVERYWHERE,
    FOLDERS,
    NOTES,
    TEXTS,
    Key,
    Model,
    Seen,
    Where,
    hash_of,
)

COLLECTIONS: Final = (*FOLDERS, NOTES, TEXTS)
MANY: Final = 400
"""More chunks than an episode ever has."""
SAME_SCORE: Final = 2e-3
ALIKE: Final = 1e-2
"""Scores that are the same in one kind of store; and where an index was in both: what they keep of a vector is the
same, but sums of text and path are rounded to eight bits in one and to sixteen in the other, which is .003 in a score
of the 26 numbers of a letter vector (not measured)."""
QUERIES: Final = (
    "copper lantern by the river",
    "granite",
    "winter archive",
    "how does the engine signal the harbour?",
)


def key_of(document: DocumentInfo) -> Key:
    """The key of a document in the model."""
    return document.collection, document.uri if document.collection == TEXTS else document.path


def marks_of(text: str) -> set[str]:
    """The versions that a text names."""
    return set(re.findall(r"zq[a-z]{5}", text))


def check_documents(place: Place, model: Model, collections: Sequence[str] = COLLECTIONS) -> Iterator[str]:
    """The documents and their hashes are those of the model, and so is what is stale."""
    for collection in collections:
        found = place.engine.hashes(collection)
        expected = {
            uri_of(place.home, *key): held.sha256 for key, held in model.held.items() if key[0] == collection
        }
        if found != expected:
            names = sorted(uri for uri in {*found, *expected} if found.get(uri) != expected.get(uri))
            yield f"{collection}: the index and the model differ in {names}"
        if found and collection != TEXTS:
            stale = {key_of(item.document): item.change for item in place.engine.stale(collection=collection)}
            truth = {key: change for key, change in model.stale().items() if key[0] == collection}
            if stale != truth:
                yield f"stale is {stale}, should be {truth}"


def check_changed(
    place: Place, model: Model, keys: Sequence[Key], gone: Sequence[str], turn: int
) -> Iterator[str]:
    """What an operation wrote is there, what it removed is not: by one of the ways to find it, in turn."""
    for number, key in enumerate(keys):
        if key in model.held:
            yield from check_document(place, model, key)
            if number == turn % len(keys):
                yield from check_vector(place, model, key)
        else:
            try:
                place.engine.get(uri_of(place.home, *key), collection=key[0])
                yield f"{key}: deleted, and still there"
            except NotFound:
                pass
    held = sorted({mark for key in keys if key in model.held for mark in marks_of(model.held[key].text)})
    for number, marks in enumerate((held, gone)):
        if marks:
            leg = LEGS[(turn + number) % len(LEGS)]
            yield from check_mark(place, model, marks[turn % len(marks)], leg)


def check_document(place: Place, model: Model, key: Key) -> Iterator[str]:
    """Its text, tags and chunks."""
    held, engine = model.held[key], place.engine
    try:
        document = engine.get(uri_of(place.home, *key), collection=key[0])
    except NotFound:
        yield f"{key}: not there"
        return
    text = engine.text(document.id)
    if text != held.text or document.sha256 != held.sha256:
        yield f"{key}: its text is {text[:80]!r}, should be {held.text[:80]!r}"
    if document.tags != ((held.tag,) if held.tag else ()):
        yield f"{key}: its tags are {document.tags}, should be {held.tag!r}"
    chunks = engine.chunks(document.id)
    if len(chunks) != document.chunks or not chunks:
        yield f"{key}: {len(chunks)} chunks instead of {document.chunks}"
    if any(text[chunk.start : chunk.end] != chunk.text for chunk in chunks):
        yield f"{key}: a chunk is not what stands there"
    ends = [0, *(chunk.end for chunk in chunks)]
    starts = [*(chunk.start for chunk in chunks), len(text)]
    if any(text[end:start].strip() for end, start in zip(ends, starts, strict=True)):
        yield f"{key}: its chunks do not join to its text"
    if any(one.start >= other.start for one, other in pairwise(chunks)):
        yield f"{key}: its chunks are out of order"


def check_mark(place: Place, model: Model, mark: str, leg: str = "") -> Iterator[str]:
    """A word that only some texts hold is found there and nowhere else: by all legs, or by one."""
    holders = [key for key, held in model.held.items() if mark in held.text]
    for name in (leg,) if leg else LEGS:
        yield from _LEGS[name](place, model, mark, holders)


def _check_words(place: Place, model: Model, mark: str, holders: Sequence[Key]) -> Iterator[str]:
    """By words a chunk is also found by the title of its document."""
    theirs = _chunks(place, holders)
    yield from _check_found(
        place, model, mark, "keyword", {text for text in theirs if mark in text}, set(theirs)
    )


def _check_phrase(place: Place, model: Model, mark: str, holders: Sequence[Key]) -> Iterator[str]:
    """As a phrase a chunk is found by its own text alone."""
    expected = {text for text in _chunks(place, holders) if mark in text}
    yield from _check_found(place, model, f'"{mark} {EVERYWHERE}"', "hybrid", expected, expected)


def _check_found(
    place: Place, model: Model, query: str, mode: SearchMode, least: set[str], most: set[str]
) -> Iterator[str]:
    answer = place.engine.search(query, mode=mode, limit=MANY, merge=False)
    # A phrase that no text holds is dropped, and the answer says so: then it found nothing for the phrase.
    hits = () if answer.unmatched_phrases else answer.hits
    found = {_norm(hit.text) for hit in hits} | {text for hit in hits for text in _copies(place, hit)}
    if not least <= found <= most:
        yield f"{query} by {mode}: found {_short(found - most)} too much, {_short(least - found)} not"
    yield from check_hits(model, answer)


def _copies(place: Place, hit: Hit) -> Iterator[str]:
    """The texts of the near copies that a hit stands for."""
    for copy in hit.also:
        chunks = place.engine.chunks(copy.document_id)
        yield from (_norm(chunk.text) for chunk in chunks if chunk.id == copy.chunk_id)


def _check_names(place: Place, model: Model, mark: str, holders: Sequence[Key]) -> Iterator[str]:
    declaring = {key for key in holders if key[1].endswith(".py") and f"def {mark}(" in model.held[key].text}
    declared = {key_of(chunk.document) for chunk in place.engine.definitions(mark)}
    if declared != declaring:
        yield f"{mark} is declared in {sorted(declared)}, should be {sorted(declaring)}"


def _check_meaning(place: Place, model: Model, mark: str, _: Sequence[Key]) -> Iterator[str]:
    query = f"what of {mark} and the {EVERYWHERE}"
    yield from check_hits(model, place.engine.search(query, mode="semantic", floor=0))


_LEGS: Final[dict[str, Callable[[Place, Model, str, Sequence[Key]], Iterator[str]]]] = {
    "words": _check_words,
    "phrase": _check_phrase,
    "names": _check_names,
    "meaning": _check_meaning,
}
LEGS: Final = tuple(_LEGS)


def _chunks(place: Place, keys: Sequence[Key]) -> list[str]:
    return [
        _norm(chunk.text)
        for key in keys
        for chunk in place.engine.chunks(uri_of(place.home, *key), collection=key[0])
    ]


def check_hits(model: Model, answer: Answer, where: Where | None = None) -> Iterator[str]:
    """Whatever was asked, each hit is a passage of a document as it is now, and tells whether its file changed."""
    if answer.reason == "error":
        yield f"{answer.query}: {answer.detail}"
    for hit in answer.hits:
        key = key_of(hit.document)
        held = model.held.get(key)
        if held is None or held.text[hit.start : hit.end] != hit.text or hit.document.sha256 != held.sha256:
            yield f"{answer.query}: finds {key} {hit.text[:60]!r}, which is not there"
        elif where is not None and not where.passes(key, held):
            yield f"{answer.query}: finds {key}, which does not pass {where}"
        elif hit.stale != model.looks_stale(key):
            yield f"{key}: a hit says stale {hit.stale}, should be {model.looks_stale(key)}"


def check_vector(place: Place, model: Model, key: Key) -> Iterator[str]:
    """A document that does not wait is found by its meaning."""
    held, engine = model.held[key], place.engine
    if held.waits:
        return
    document = engine.get(uri_of(place.home, *key), collection=key[0])
    answer = engine.search(held.text[:200], mode="semantic", floor=0, documents=(document.id,))
    if not answer.hits or answer.hits[0].distance is None:
        yield f"{key}: not found by meaning ({answer.reason}, {answer.detail})"
    yield from check_hits(model, answer)


def check_filter(place: Place, model: Model, where: Where, offset: int) -> Iterator[str]:
    """A list and a search with a filter give all that passes, and nothing else."""
    engine, expected = place.engine, model.matching(where)
    asked = filter_of(where)
    if any(not any(key[0] == name for key in model.held) for name in where.collections):
        try:
            engine.documents(asked)
            yield f"{where}: names a collection that is not there, and nobody says so"
        except NotFound:
            return
    listed = [key_of(document) for document in engine.documents(asked)]
    if listed != expected or engine.count(asked) != len(expected):
        yield f"{where}: lists {listed} ({engine.count(asked)}), should be {expected}"
    page = [key_of(document) for document in engine.documents(asked, limit=3, offset=offset)]
    if page != expected[offset : offset + 3]:
        yield f"{where}: the page at {offset} is {page}"
    options = SearchOptions(where=asked, mode="keyword", limit=MANY, merge=False)
    answer = engine.run_search(EVERYWHERE, options)
    yield from check_hits(model, answer, where)
    shown = {_norm(hit.text) for hit in answer.hits}
    found = {key_of(hit.document) for hit in answer.hits}
    for key in set(expected) - found:  # of the same text twice one is shown
        chunks = engine.chunks(uri_of(place.home, *key), collection=key[0])
        if any(_norm(chunk.text) not in shown for chunk in chunks if EVERYWHERE in chunk.text):
            yield f"{where}: a search for a word of all does not find {key}"


def check_all(place: Place, model: Model) -> Iterator[str]:
    """Every document, each in full, and what the doctor says."""
    for key in sorted(model.held):
        yield from check_document(place, model, key)
    waiting = sum(held.waits for held in model.held.values())
    if place.engine.pending() > waiting:
        yield f"{place.engine.pending()} documents wait, should be {waiting} at most"
    stats = place.engine.status().stats
    chunks = sum(document.chunks for document in place.engine.documents())
    if (stats.documents, stats.chunks) != (len(model.held), chunks):
        yield f"counts disagree: {stats}, there are {len(model.held)} documents and {chunks} chunks"
    yield from (f"doctor: {c.name}: {c.detail}" for c in place.engine.doctor() if not c.ok)


def check_consistency(place: Place) -> Iterator[str]:
    """The store finds nothing wrong with itself."""
    yield from (f"check: {problem}" for problem in place.engine._store.check())


def check_parity(
    place: Place, model: Model, embedder: Embedder, folder: Path, *, apart: float = SAME_SCORE
) -> Iterator[str]:
    """A new index of the same documents ranks alike: no score is more than so much `apart`.

    Removed rows count in the weights of words until they are compacted, which a delete does: so something is deleted
    first.
    """
    _compact(place.engine)
    shutil.rmtree(folder, ignore_errors=True)
    fresh = open_place(place.home, str(folder / "fresh.db"), embedder)
    try:
        for name in FOLDERS:
            if any(key[0] == name for key in model.held):
                perform(fresh, ["sync", name])
        for (collection, name), held in model.held.items():
            if collection == TEXTS:
                tags = [held.tag] if held.tag else []
                fresh.engine.add(text=held.text, id=name, collection=TEXTS, tags=tags)
        fresh.notes.refresh()
        fresh.engine.embed_pending()
        _compact(fresh.engine)
        sample = sorted(held.text for held in model.held.values())[:: max(1, len(model.held) // 3)]
        for query in (*QUERIES, *(text[20:120] for text in sample)):
            yield from _compare(place.engine, fresh.engine, query, apart)
    finally:
        fresh.close()
        shutil.rmtree(folder, ignore_errors=True)


def _compact(engine: Engine) -> None:
    engine.add(text="about to go", id="to go", collection=TEXTS)
    engine.delete("to go", collection=TEXTS)


def _compare(one: Engine, other: Engine, query: str, apart: float) -> Iterator[str]:
    """The ten best of each are among the best of the other with the same score; ties may change places."""
    answers = [engine.search(query, limit=MANY, floor=0) for engine in (one, other)]
    scores = [{_norm(hit.text): hit.score for hit in answer.hits} for answer in answers]
    for here, there in (scores, scores[::-1]):
        for text in list(here)[:10]:
            if abs(here[text] - there.get(text, -1.0)) > apart:
                yield f"{query!r}: {text[:50]!r} scores {here[text]}, in a new index {there.get(text)}"
                return


def look(place: Place) -> tuple[dict[Key, Seen], dict[str, Seen]]:
    """What is there: documents, and files."""
    index = {
        key_of(document): Seen(document.sha256, document.mtime_ns)
        for document in place.engine.documents(Filter())
    }
    disk = {}
    for folder in (*FOLDERS, NOTES):
        for path in (place.home / folder).rglob("*.*"):
            if path.is_file() and not path.relative_to(place.home).parts[1].startswith("."):
                name = str(path.relative_to(place.home))
                disk[name] = Seen(hash_of(path.read_text("utf-8")), path.stat().st_mtime_ns)
    return index, disk


def _norm(text: str) -> str:
    return " ".join(text.split())


def _short(texts: set[str]) -> list[str]:
    return [text[:60] for text in sorted(texts)[:3]]
