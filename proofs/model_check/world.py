"""A real index beside its model: operations are done to both, and both are compared after each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from outcrop.contracts import Embedder
from outcrop.errors import Conflict
from outcrop.records.database_url import has_scheme
from proofs.model_check.child import Children
from proofs.model_check.ops import Place, make_embedder, open_place, perform
from proofs.model_check.state import EMBEDDERS, EVERYWHERE, FOLDERS, Key, Model, Op, reconcile, where_of
from proofs.model_check.verify import (
    ALIKE,
    COLLECTIONS,
    SAME_SCORE,
    check_all,
    check_changed,
    check_consistency,
    check_documents,
    check_filter,
    check_hits,
    check_mark,
    check_parity,
    look,
    marks_of,
)

CHECK_DOCUMENTS_EVERY: Final = 5
CHECK_EVERY: Final = 10
CHECK_ALL_EVERY: Final = 200
"""Operations from one full check to the next: of the documents of all collections (those of the operation's own are
checked after each), of the store, and of the text of every document. Judgement: half of the time goes into
operations."""

Where = Callable[[int], str]
"""The place of the n-th index of an episode: a path or a URL."""


class World:
    """One index that two engines have open, its model, and processes that write to it too."""

    def __init__(
        self, home: Path, place_of: Where, children: Children, embedders: dict[str, Embedder] | None = None
    ) -> None:
        self.model = Model()
        self._home = home
        self._place_of = place_of
        self._children = children
        self._embedders = embedders or {name: make_embedder(name) for name in EMBEDDERS}
        self._index = 0
        self._done = 0
        self._gone: list[str] = []
        for folder in FOLDERS:
            (home / folder).mkdir(parents=True)
        self._places = self._open()

    # ------------------------------------------------------------------ places

    @property
    def _db(self) -> str:
        return self._place_of(self._index)

    def _open(self, names: tuple[str, str] | None = None) -> list[Place]:
        names = names or (self.model.embedder, self.model.embedder)
        return [open_place(self._home, self._db, self._embedders[name]) for name in names]

    def close(self) -> None:
        """Close both engines."""
        for place in self._places:
            place.close()

    def _reopen(self) -> None:
        self.close()
        self._places = self._open()

    # ------------------------------------------------------------------ a step

    def step(self, op: Op) -> list[str]:
        """Do an operation, and what is wrong then."""
        self._done += 1
        before = self.model.copy()
        wrong = list(_ACTS.get(op[0], World._perform)(self, op))
        changed = {
            key
            for key in {*before.held, *self.model.held}
            if getattr(before.held.get(key), "text", None) != getattr(self.model.held.get(key), "text", None)
        }
        gone = self._note_gone(before) if changed else []
        reader = self._places[self._done % 2]
        whole = self._done % CHECK_DOCUMENTS_EVERY == 0
        wrong += check_documents(reader, self.model, COLLECTIONS if whole else _touched(op, changed))
        wrong += check_changed(reader, self.model, sorted(changed)[:4], gone, self._done)
        if self._done % CHECK_EVERY == 0:
            wrong += check_consistency(reader)
            if self._gone:
                wrong += check_mark(reader, self.model, self._gone[self._done // CHECK_EVERY % len(self._gone)])
        if self._done % CHECK_ALL_EVERY == 0:
            wrong += check_all(reader, self.model)
        return wrong

    def _note_gone(self, before: Model) -> list[str]:
        """Marks that no document holds any more."""
        held = {mark for held in self.model.held.values() for mark in marks_of(held.text)}
        gone = {mark for old in before.held.values() for mark in marks_of(old.text)} - held
        self._gone = [mark for mark in (*self._gone, *sorted(gone)) if mark not in held][-50:]
        return sorted(gone)

    def _perform(self, op: Op) -> Iterator[str]:
        perform(self._places[self._done // 2 % 2], op)
        self.model.apply(op)
        yield from ()

    def _search(self, op: Op) -> Iterator[str]:
        reader = self._places[self._done % 2]
        yield from check_filter(reader, self.model, where_of(op[1]), self._done % 5)

    def _list(self, op: Op) -> Iterator[str]:
        reader, where = self._places[self._done % 2], where_of(op[1])
        if all(any(key[0] == name for key in self.model.held) for name in where.collections):
            for query in ("winter ledger by the bridge", f"{EVERYWHERE} valley"):
                yield from check_hits(self.model, reader.engine.search(query))

    def _open_again(self, _: Op) -> Iterator[str]:
        self._reopen()
        yield from ()

    def _reembed(self, op: Op) -> Iterator[str]:
        """One engine changes the model; the other, which still has the old one, says so and finds words."""
        old, new = self.model.embedder, op[1]
        self.close()
        self._places = self._open((new, old))
        perform(self._places[0], op)
        self.model.apply(op)
        if self.model.held and new != old:
            answer = self._places[1].engine.search(f"{EVERYWHERE} harbour")
            if answer.reason != "model_mismatch" or not answer.hits:
                yield f"with another model than that of the index a search says {answer.reason}"
            yield from check_hits(self.model, answer)
        self._reopen()

    def _move(self, _: Op) -> Iterator[str]:
        """The index goes to another place, and all goes on there."""
        target = open_place(self._home, self._place_of(self._index + 1), self._embedders[self.model.embedder])
        try:
            report = self._places[0].engine.move_to(target.engine)
            if not report.ok:
                yield f"move: {report}"
        except Conflict as error:  # one that was killed was done already, but for the comparison of rankings
            if "finished copy of this index" not in str(error):
                raise
        target.close()
        self.close()
        if not has_scheme(self._db):
            self._drop_file(self._db)
        self._index += 1
        self._places = self._open()

    def _drop_file(self, db: str) -> None:
        for path in self._home.glob(f"{Path(db).name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _compare(self, op: Op) -> Iterator[str]:
        place = self._places[0]
        for folder in FOLDERS:
            perform(place, ["sync", folder])
        perform(place, ["refresh"])
        perform(place, ["fill"])
        self.model.apply(op)
        yield from check_documents(place, self.model)
        embedder = self._embedders[self.model.embedder]
        both = any(has_scheme(self._place_of(number)) for number in range(self._index + 1))
        if both and len({held.text for held in self.model.held.values()}) < len(self.model.held):
            return  # which of two copies is shown, and so what is said of its file, falls by the order of writing
        apart = ALIKE if both else SAME_SCORE
        yield from check_parity(place, self.model, embedder, self._home / "fresh", apart=apart)

    # ------------------------------------------------------------------ other processes

    def _race(self, op: Op) -> Iterator[str]:
        """Another process writes while this one writes and reads: each hit is as before or as after."""
        _, theirs, ours = op
        states = [self.model, self.model.after(theirs), self.model.after(ours), self.model.after(op)]
        self._children.start(self._home, self._db, self.model.embedder, theirs)
        perform(self._places[0], ours)
        answer = self._places[1].engine.search(EVERYWHERE, limit=30)
        self._children.wait()
        for hit in answer.hits:
            alone = replace(answer, hits=(hit,))
            problems = ["; ".join(check_hits(state, alone)) for state in states]
            if all(problems):
                yield f"while others wrote: {problems[0]}"
        self.model.apply(op)

    def _crash(self, op: Op) -> Iterator[str]:
        """Another process is killed in the middle of a write: each document is as before or as after."""
        _, inner, call = op
        if inner[0] == "move":
            target = self._place_of(self._index + 1)
            self._children.start(self._home, self._db, self.model.embedder, inner, die_at=call, to=target)
            if self._children.wait():  # a finished copy is not copied to again
                self._index += 1
                self._reopen()
            else:
                yield from self._move(inner)
            return
        before, after = self.model.copy(), self.model.after(inner)
        embedder = inner[1] if inner[0] == "reembed" else self.model.embedder
        self._children.start(self._home, self._db, embedder, inner, die_at=call)
        if self._children.wait():
            self.model = after
        else:
            self._places[0].engine._store.put_setting(
                "barrier", str(self._done)
            )  # waits for what a server still does
            self.model, wrong = reconcile(before, after, *look(self._places[1]))
            yield from wrong
        active = self._places[0].engine._store.active_model()
        names = [name for name, known in self._embedders.items() if known.model == active]
        self.model.embedder = names[0] if names else before.embedder
        if self.model.embedder not in (before.embedder, after.embedder):
            yield f"after a kill the index has vectors of {active}"
        if self.model.embedder != before.embedder:
            self._reopen()


def _touched(op: Op, changed: set[Key]) -> list[str]:
    """The collections that an operation has to do with: of what it changed, and of the files that it names."""
    named = {str(arg).partition("/")[0] for arg in op[1:]}
    return [name for name in COLLECTIONS if name in named or any(key[0] == name for key in changed)]


_ACTS: Final[dict[str, Callable[[World, Op], Iterator[str]]]] = {
    "search": World._search,
    "list": World._list,
    "reopen": World._open_again,
    "reembed": World._reembed,
    "move": World._move,
    "compare": World._compare,
    "race": World._race,
    "crash": World._crash,
}
