"""What can be said of an option of a search, declared with the field that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from outcrop.errors import QueryError
from outcrop.system.dataclass import dataclass

T = TypeVar("T")

_KEY: Final = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. Bounds include their value, `above` does not."""

    name: str = ""
    type: Any = None
    """int, float, bool, str, or tuple for a list of values; an option that may be left open has this type or None."""
    default: Any = None
    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    served_most: float | None = None
    """The most that a client of a server may ask for, where that is less than what the library takes."""
    choices: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """On the command line, where they are not `--name`."""
    metavar: str | None = None
    configured: bool = False
    """Whether a setting of the same name gives another default."""
    group: str = ""
    """The heading it stands under in --help."""
    rare: bool = False
    """Whether only --help-all shows it: for tuning and special cases."""
    brief: str = ""
    """What an agent is told of it; empty where the name says enough, since every word costs each agent tokens."""

    def wanted(self) -> str:
        """Which values are allowed, in words that follow "must"."""
        if self.choices:
            return f"be one of {', '.join(self.choices)}"
        if self.above is not None:
            return f"be above {self.above:g}"
        if self.most is None:
            return f"be {self.least or 0:g} or more"
        return f"lie between {self.least or 0:g} and {self.most:g}"

    def check(self, value: Any) -> None:
        """QueryError where the value is out of range; NaN always is."""
        if value is None and self.default is None:
            return
        if self.choices:
            right = value in self.choices
        else:
            right = (
                (self.least is None or value >= self.least)
                and (self.above is None or value > self.above)
                and (self.most is None or value <= self.most)
            )
        if not right:
            raise QueryError(f"{self.name} must {self.wanted()}, not {value}")

    def full_help(self) -> str:
        """The help, with the default where there is one worth naming."""
        if self.configured:
            return f"{self.help} Default: {self._shown_default}, or as configured."
        if self.type in (bool, tuple) or self.default is None:
            return self.help
        return f"{self.help} Default: {self._shown_default}."

    @property
    def _shown_default(self) -> str:
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def is_checked(self) -> bool:
        """Whether it has a range or choices."""
        return bool(self.choices) or (self.least, self.above, self.most) != (None, None, None)


def option(default: T, help: str, **about: Any) -> T:
    """Declare the field of a dataclass as an option; `about` is the rest of `Option`."""
    return field(default=default, metadata={_KEY: Option(default=default, help=help, **about)})


def declared(record: type) -> Mapping[str, Option]:
    """The options among the fields of a dataclass, by name; their types are those of the fields."""
    hints = get_type_hints(record)
    found = {}
    for item in fields(record):
        if _KEY in item.metadata:
            kind, choices = _read_hint(hints[item.name])
            found[item.name] = replace(item.metadata[_KEY], name=item.name, type=kind, choices=choices)
    return found


def _read_hint(hint: Any) -> tuple[type, tuple[str, ...]]:
    """The type of an option, whether it may be left open or not, and its choices."""
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return str, get_args(hint)
    return get_origin(hint) or hint, ()
