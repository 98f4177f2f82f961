"""`dataclass` as the standard library has it, whose methods are compiled when they are first asked for.

The library's own compiles six methods for each class, one after the other, in .4 ms. A command loads a hundred records
and makes some of thirty: a sixth of a cold search went into methods that nobody called. Here a class gets its fields,
and each method as the library writes it, later. Type checkers see the library's own.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """A class with its fields, and its methods to come. Takes the options of the library's."""
        return _declare(cls, options) if cls is not None else lambda cls: _declare(cls, options)


_MADE_BY: Final = {"__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "eq"}
"""Methods, and the option that leaves each out."""
_NONE: Final = dict.fromkeys(_MADE_BY.values(), False)


def _declare(cls: Any, options: dict[str, bool]) -> Any:
    own = vars(cls).copy()
    frozen = options.get("frozen", False)
    made: Any = dataclasses.dataclass(**options | _NONE | {"frozen": False})(cls)
    for name, option in _MADE_BY.items():
        if name not in own and options.get(option, True):
            setattr(made, name, _Later(made, name, frozen) if name != "__hash__" or frozen else None)
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
        if options.get("slots") and "__getstate__" not in own:
            made.__getstate__, made.__setstate__ = _state_of, _restore
    return made


class _Absent:
    """Stands for an argument that was not given, whose default is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"  # as the library shows it in signatures


_ABSENT: Final = _Absent()


class _Later:
    """Stands where a method of a class will, until somebody looks for it."""

    __slots__ = ("_cls", "_frozen", "_name")

    def __init__(self, cls: type, name: str, frozen: bool) -> None:
        self._cls, self._name, self._frozen = cls, name, frozen

    def __get__(self, instance: object, owner: type) -> Any:
        method = self._compile()
        setattr(self._cls, self._name, method)
        return method if instance is None else method.__get__(instance, owner)

    def _compile(self) -> Any:
        if self._name == "__init__":
            return _write_init(self._cls, self._frozen)
        cls: Any = self._cls  # the library's, of a class that has the same fields and nothing else
        body: dict[str, Any] = dict(cls.__dataclass_fields__)
        body["__annotations__"] = {name: field.type for name, field in body.items()}
        body["__qualname__"], body["__module__"], body["__doc__"] = cls.__qualname__, cls.__module__, ""
        asked = _NONE | {_MADE_BY[self._name]: True}
        if self._name == "__hash__":
            asked["frozen"] = True
        return vars(dataclasses.dataclass(**asked)(type(cls.__name__, (), body)))[self._name]


def _write_init(cls: Any, frozen: bool) -> Any:
    """The `__init__` that the library would write, without the two methods beside it that refuse changes."""
    fields = dataclasses.fields(cls)
    given: dict[str, Any] = {"_set": object.__setattr__, "_absent": _ABSENT}
    placed: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in fields:
        name = value = parameter = field.name
        if field.default_factory is not dataclasses.MISSING:
            given[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
        elif field.default is not dataclasses.MISSING:
            given[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        (named if field.kw_only else placed).append(parameter)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    takes = ", ".join(["self", *placed, *(["*", *named] if named else [])])
    lines = "\n  ".join(body or ["pass"])
    source = f"def make({', '.join(given)}):\n def __init__({takes}):\n  {lines}\n return __init__"
    made: dict[str, Any] = {}
    exec(source, vars(sys.modules[cls.__module__]), made)  # noqa: S102 - names of fields, as the library does
    init = made["make"](**given)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return init


def _refuse_to_set(_record: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_record: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state_of(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def _restore(record: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(record), state, strict=True):
        object.__setattr__(record, field.name, value)
