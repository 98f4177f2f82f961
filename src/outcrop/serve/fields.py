"""Declared options as fields of pydantic models, for the bodies of HTTP and the arguments of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from outcrop.records.option import Option
from outcrop.system.dataclass import dataclass

M = TypeVar("M", bound=BaseModel)
MAX_NAME: Final = 4096
"""Characters of a name or a path: the longest path of Linux."""


@dataclass(frozen=True, slots=True)
class Fields:
    """How one interface writes options: the type of a list (`own`: of single options), of a date, and the help."""

    texts: Any
    date: Any
    describe: Callable[[Option], str]
    own: Mapping[str, Any]

    def extend(self, options: Mapping[str, Option]) -> Callable[[type[M]], type[M]]:
        """Give a model these options, beside its own fields."""
        fields = self.make(options)

        def add(model: type[M]) -> type[M]:
            return create_model(
                model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **fields
            )

        return add

    def make(self, options: Mapping[str, Option]) -> dict[str, Any]:
        """The type and the field of each option, as `create_model` takes them."""
        return {name: self._make(option) for name, option in options.items()}

    def _make(self, option: Option) -> tuple[Any, Any]:
        """The type and the field of an option; a server's own limit comes before the library's."""
        said = self.describe(option) or None
        if option.type is tuple:
            return self.own.get(option.name, self.texts), Field(default=[], description=said)
        kind: Any = self.date if option.metavar == "DATE" else option.type
        if kind is str:
            kind = self.own.get(option.name, Annotated[str, Field(min_length=1, max_length=MAX_NAME)])
        if option.choices:
            kind = Literal[option.choices]
        default = None if option.configured else option.default
        most = option.most if option.served_most is None else option.served_most
        field = Field(default=default, ge=option.least, gt=option.above, le=most, description=said)
        return (kind | None if default is None else kind), field


def read_whole_numbers(body: Mapping[str, Any]) -> dict[str, Any]:
    """4.0 is a whole number to JSON, which has one kind of number; a field for fractions takes either."""
    return {name: _as_whole(value) for name, value in body.items()}


def _as_whole(value: object) -> object:
    if isinstance(value, list):
        return [_as_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
