"""Conditions on metadata: any text is a condition that says itself again and chooses what plain Python would, or a
QueryError."""

from __future__ import annotations

import random
from functools import cache

from tests.store.builders import make_write, put
from tests.store.conditions import DATES, KEYS, NUMBERS, TEXTS, holds

from outcrop.contracts import Store
from outcrop.errors import QueryError
from outcrop.records import Filter, Meta, MetaValue
from outcrop.records.where import read_where
from outcrop.store.sqlite.store import open_sqlite
from proofs.fuzz.mutate import change
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target, made_folder, need

_WORDS = (
    "a", "b", '"content type"', '"and"', "größe", "year", "and", "or", "not", "in", "contains", "exists", "true",
    "false", "==", "!=", "<", "<=", ">", ">=", "(", ")", "[", "]", ",", "=", "<>", "&&", "7", "-2.5", "1e3",
    "2024-05-06", "2024-05-06T10:30:00Z", '"Lee"', "'x'", '"2024"', '"a%_"', '"Straße"', "\\", '"',
)  # fmt: skip
_WHOLE = (
    "year >= 2020",
    'a contains "Lee"',
    'b in ("b", 7, true)',
    "not (a == 7 or b exists)",
    "größe < 2024-05-06",
    "a != 'b' and b <= 7.5",
)


def _make(chance: random.Random, seeds: Seeds) -> bytes:  # noqa: ARG001
    parts = [chance.choice((*_WORDS, *_WHOLE)) for _ in range(chance.randrange(1, 9))]
    if chance.random() < 0.5:
        parts = [chance.choice((*_WHOLE, f"({chance.choice(_WHOLE)})")) for _ in parts]
        parts = f" {chance.choice(('and', 'or', 'and not'))} ".join(parts).split(" ")
    text = " ".join(parts).encode()
    return text if chance.random() < 0.4 else change(text, chance, [word.encode() for word in _WHOLE], 12_000)


@cache
def _documents() -> tuple[Store, dict[str, Meta]]:
    chance = random.Random(5)
    values: tuple[MetaValue, ...] = (*TEXTS, *NUMBERS, *DATES, True, False)
    metas: dict[str, Meta] = {}
    for number in range(30):
        meta: dict[str, MetaValue] = {}
        for key in chance.sample((*KEYS, "year"), 4):
            listed = chance.random() < 0.2
            meta[key] = tuple(chance.sample(values, 2)) if listed else chance.choice(values)  # type: ignore[arg-type]
        metas[f"{number}.md"] = meta
    store = open_sqlite(made_folder() / "index.db")
    put(store, *(make_write(path, f"words of {path}", meta=meta) for path, meta in metas.items()))
    return store, metas


def check_condition(data: bytes) -> None:
    """Read it, say it, read what it says, and choose documents by it."""
    text = data.decode("utf-8", "replace")
    try:
        condition = read_where(text)
    except QueryError as error:
        need(len(str(error)) < 300, "a mistake is told in short")
        return
    need(read_where(str(condition)) == condition, "a condition says what it is")
    store, metas = _documents()
    chosen = {info.path for info in store.documents(Filter(where=text))}
    need(chosen == {path for path, meta in metas.items() if holds(condition, meta)}, "SQL and Python agree")


CONDITIONS = (
    Target(
        "where",
        40_000,
        _make,
        check_condition,
        "a condition that says itself and chooses as Python does, or a QueryError",
        guided=True,
    ),
)
"""What reads conditions."""
