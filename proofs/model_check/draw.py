"""How the operations of the model check are drawn (see proofs/model_check/state.py)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from proofs.model_check.state import (
    EMBEDDERS,
    FILE_SLOTS,
    FOLDERS,
    KINDS,
    NOTE_SLOTS,
    NOTES,
    PATHS,
    TEXT_SLOTS,
    TEXTS,
    Op,
)


class Drawer:
    """Draws operations without looking at what is there: the same seed gives the same sequence."""

    def __init__(self, seed: str, *, light: bool = False) -> None:
        """`light` draws changes of files, which cost next to nothing, four times as often as the rest."""
        self._weights = {
            kind: weight * (4 if light and kind in _LIGHT else 1) for kind, weight in _WEIGHTS.items()
        }
        self._chosen = random.Random(seed)
        self._number = 0

    def draw(self) -> Op:
        """The next operation."""
        names, weights = zip(*self._weights.items(), strict=True)
        return self._make(self._chosen.choices(names, weights)[0])

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _version(self) -> int:
        """Mostly a new one; sometimes one that was there before, or nothing at all."""
        drawn = self._chosen.random()
        if drawn < 0.02:
            return 0
        return self._chosen.randint(1, self._number + 1) if drawn < 0.12 else self._next()

    def _where(self) -> dict[str, Any]:
        kind = self._chosen.randrange(6)
        if kind == 0:
            return {"collections": [self._chosen.choice((*FOLDERS, NOTES, TEXTS))]}
        if kind == 1:
            return {"collections": list(FOLDERS), "ext": self._chosen.choice(list(KINDS))}
        if kind == 2:
            return {"path": self._chosen.choice(list(PATHS))}
        if kind == 3:
            return {"tag": self._chosen.choice(("blue", "red"))}
        if kind == 4:
            return {"collections": list(FOLDERS), "since": self._chosen.randint(1, self._number + 1)}
        return {"collections": [self._chosen.choice(FOLDERS)], "path": "x/**", "ext": "md"}

    def _pair(self) -> tuple[str, str]:
        """Two slots of the same kind of file."""
        slot = self._chosen.choice(FILE_SLOTS)
        ext = slot.rpartition(".")[2]
        return slot, self._chosen.choice([s for s in FILE_SLOTS if s.endswith(ext) and s != slot])

    def _file_op(self, folder: str = "") -> Op:
        while True:
            op = self._make(
                self._chosen.choice(("write", "write", "write", "touch", "remove", "rename", "copy"))
            )
            if all(not isinstance(arg, str) or arg.startswith(folder) for arg in op[1:]):
                return op

    def _make(self, kind: str) -> Op:
        return _DRAWN[kind](self, self._chosen) if kind in _DRAWN else [kind]

    def _note_edit(self) -> Op:
        """What an editor does to a note."""
        slot = self._chosen.choice(NOTE_SLOTS)
        return (
            ["remove", slot] if self._chosen.random() < 0.2 else ["write", slot, self._version(), self._next()]
        )

    def _text_op(self) -> Op:
        slot = self._chosen.choice(TEXT_SLOTS)
        return ["text", slot, self._version() or 1, self._chosen.random() < 0.3]

    def _texts_op(self) -> Op:
        slots = self._chosen.sample(TEXT_SLOTS, self._chosen.randint(2, 6))
        return ["texts", [[slot, self._version() or 1] for slot in slots], self._chosen.random() < 0.2]

    def _watch_op(self) -> Op:
        folder = self._chosen.choice(FOLDERS)
        return ["watch", folder, [self._file_op(folder) for _ in range(self._chosen.randint(1, 5))]]

    def _race_op(self) -> Op:
        ours = self._make(self._chosen.choice(("text", "texts", "note")))
        return ["race", ["sync", self._chosen.choice(FOLDERS)], ours]

    def _crash_op(self) -> Op:
        """Dies at a call that is drawn from all sizes alike: a write makes some ten thousand."""
        return ["crash", self._make(self._chosen.choice(_WRITES)), round(10 ** self._chosen.uniform(1.5, 4.7))]

    def _any_key(self) -> tuple[str, str]:
        chosen = self._chosen
        if chosen.random() < 0.5:
            return TEXTS, chosen.choice(TEXT_SLOTS)
        folder, _, name = chosen.choice(FILE_SLOTS).partition("/")
        return folder, name


_DRAWN: Final[dict[str, Callable[[Drawer, random.Random], Op]]] = {
    "write": lambda by, chosen: ["write", chosen.choice(FILE_SLOTS), by._version(), by._next()],
    "edit note": lambda by, _: by._note_edit(),
    "touch": lambda by, chosen: ["touch", chosen.choice(FILE_SLOTS), by._next()],
    "remove": lambda _, chosen: ["remove", chosen.choice(FILE_SLOTS)],
    "rename": lambda by, _: ["rename", *by._pair()],
    "copy": lambda by, _: ["copy", *by._pair(), by._next()],
    "sync": lambda _, chosen: ["sync", chosen.choice(FOLDERS)],
    "text": lambda by, _: by._text_op(),
    "texts": lambda by, _: by._texts_op(),
    "delete": lambda by, _: ["delete", *by._any_key()],
    "delete where": lambda by, _: ["delete where", by._where()],
    "search": lambda by, _: ["search", by._where()],
    "list": lambda by, _: ["list", by._where()],
    "note": lambda by, chosen: ["note", chosen.choice(NOTE_SLOTS), by._version(), by._next()],
    "note append": lambda by, chosen: [
        "note append",
        chosen.choice(NOTE_SLOTS),
        by._version() or 1,
        by._next(),
    ],
    "note move": lambda _, chosen: ["note move", *chosen.sample(NOTE_SLOTS, 2)],
    "note delete": lambda _, chosen: ["note delete", chosen.choice(NOTE_SLOTS)],
    "reembed": lambda _, chosen: ["reembed", chosen.choice(EMBEDDERS)],
    "watch": lambda by, _: by._watch_op(),
    "race": lambda by, _: by._race_op(),
    "crash": lambda by, _: by._crash_op(),
}

_WRITES: Final = (
    ("sync",) * 6
    + ("text", "texts", "texts", "delete", "delete where", "note", "note append", "note move")
    + ("note delete", "refresh", "fill", "sync all", "reembed", "move")
)

_WEIGHTS: Final = {
    "write": 300,
    "touch": 40,
    "remove": 80,
    "rename": 60,
    "copy": 50,
    "edit note": 40,
    "sync": 100,
    "sync all": 12,
    "text": 70,
    "texts": 15,
    "delete": 20,
    "delete where": 4,
    "note": 45,
    "note append": 20,
    "note move": 12,
    "note delete": 12,
    "refresh": 25,
    "fill": 15,
    "search": 60,
    "list": 40,
    "reopen": 6,
    "reembed": 1.5,
    "move": 1.2,
    "watch": 0.6,
    "race": 4,
    "crash": 12,
    "compare": 2.5,
}
"""How often each is drawn, of a thousand. Changes of files are cheap and are what most of a day is made of."""

_LIGHT: Final = frozenset({"write", "touch", "remove", "rename", "copy", "edit note"})
