"""A dataclass whose methods come later behaves as the library's."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from dataclasses import KW_ONLY, FrozenInstanceError, field, replace
from typing import Any

import pytest

from outcrop import records
from outcrop.system.dataclass import dataclass


def make(decorate: Any, **options: bool) -> Any:
    """The same class by either decorator."""

    @decorate(**options)
    class Place:
        """Where something is."""

        path: str
        line: int = 1
        tags: list[str] = field(default_factory=list)
        _: KW_ONLY
        column: int = 0
        secret: str = field(default="", repr=False, compare=False)

    return Place


OPTIONS: list[dict[str, bool]] = [
    {},
    {"slots": True},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"eq": False, "repr": False},
    {"frozen": True, "slots": True, "repr": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_made_shown_compared_and_hashed_as_the_librarys(options: dict[str, bool]) -> None:
    ours, theirs = make(dataclass, **options), make(dataclasses.dataclass, **options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ("__hash__" in vars(ours), ours.__hash__ is None) == (
        "__hash__" in vars(theirs),
        theirs.__hash__ is None,
    )
    given: dict[str, Any] = {"path": "a.md", "line": 2, "tags": ["x"], "column": 3, "secret": "s"}
    mine, same, other = ours(**given), ours(**given), ours(path="a.md")
    assert dataclasses.asdict(mine) == dataclasses.asdict(theirs(**given)) == given
    assert dataclasses.asdict(other) == dataclasses.asdict(theirs(path="a.md"))
    assert other.tags is not ours(path="a.md").tags
    if options.get("repr", True):
        assert repr(mine) == repr(theirs(**given))
    assert (mine == same) == (theirs(**given) == theirs(**given))
    assert (mine == other, mine == 1) == (False, False)
    assert (replace(mine, secret="t") == mine) == options.get("eq", True)
    with pytest.raises(TypeError, match="argument"):
        ours()


def test_a_frozen_one_refuses_changes_and_survives_copies() -> None:
    mine = Point(1, (2, 3))
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        mine.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del mine.x
    assert hash(mine) == hash(Point(1, (2, 3)))
    for twin in (pickle.loads(pickle.dumps(mine)), copy.copy(mine), copy.deepcopy(mine), replace(mine)):
        assert twin == mine
        assert twin is not mine


@dataclass(frozen=True, slots=True)
class Point:
    """At the root, where pickle finds it."""

    x: int
    rest: tuple[int, ...] = ()


def test_an_own_method_stays_and_one_that_follows_init_is_called() -> None:
    @dataclass(slots=True)
    class Sum:
        parts: list[int]
        total: int = 0

        def __post_init__(self) -> None:
            self.total = sum(self.parts)

        def __repr__(self) -> str:
            return f"<{self.total}>"

    assert repr(Sum([1, 2])) == "<3>"


def test_methods_are_compiled_when_they_are_asked_for() -> None:
    ours = make(dataclass, frozen=True, slots=True)
    assert not inspect.isfunction(vars(ours)["__init__"])
    ours("a.md")
    assert inspect.isfunction(vars(ours)["__init__"])
    assert not inspect.isfunction(vars(ours)["__eq__"])


def test_every_record_can_be_made_as_the_library_would() -> None:
    """Fields with defaults of any kind, keywords, and what a class adds itself."""
    seen = 0
    for module in pkgutil.walk_packages(records.__path__, "outcrop.records."):
        for record in vars(importlib.import_module(module.name)).values():
            if isinstance(record, type) and dataclasses.is_dataclass(record):
                body: dict[str, Any] = {
                    "__annotations__": {item.name: item.type for item in dataclasses.fields(record)}
                }
                body |= {item.name: item for item in dataclasses.fields(record)}
                theirs: Any = dataclasses.dataclass(frozen=True)(type(record.__name__, (), body))
                assert str(inspect.signature(record)) == str(inspect.signature(theirs))
                seen += 1
    assert seen > 50
