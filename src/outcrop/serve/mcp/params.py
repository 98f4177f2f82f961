"""What a tool takes: one table gives the JSON schema that a client sees and the check of what it sends."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from outcrop.errors import QueryError

Kind = Literal["text", "whole", "flag", "texts", "reference"]
"""A string, a whole number, true or false, a list of strings, or a document's number or name."""

LONGEST_TEXT: Final = 4_000
"""Characters of a query or a name: a question with a stack trace fits, a whole file does not. Judgement."""
MAX_ITEMS: Final = 50
"""Items of a list: more names than that are no filter any more. Judgement."""
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter. `least` and `most` bound a number, or the length of a text; `choices` are all there are."""

    name: str
    kind: Kind
    about: str = ""
    required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    alias: str = ""
    """Another name for it, which clients of other servers use."""

    def schema(self) -> dict[str, Any]:
        """The parameter in JSON Schema."""
        found: dict[str, Any] = {"type": _TYPES[self.kind]}
        if self.kind == "texts":
            found["items"] = {"type": "string", "maxLength": LONGEST_TEXT}
            found["maxItems"] = MAX_ITEMS
        if self.kind in ("text", "reference"):
            found["maxLength"] = self.most or LONGEST_TEXT
        if self.kind == "whole":
            found |= {
                name: value
                for name, value in (("minimum", self.least), ("maximum", self.most))
                if value is not None
            }
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        if self.about:
            found["description"] = self.about
        return found

    def wants(self) -> str:
        """What may stand there, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind == "whole":
            if self.most is None:
                return f"a whole number, {self.least or 0} or more"
            return f"a whole number from {self.least or 0} to {self.most}"
        return {"text": "a string", "flag": "true or false", "texts": "a list of strings"}.get(
            self.kind, "a document's number or path"
        )


_TYPES: Final[dict[Kind, str | list[str]]] = {
    "text": "string",
    "whole": "integer",
    "flag": "boolean",
    "texts": "array",
    "reference": ["string", "integer"],
}


def input_schema(params: Sequence[Param]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments: no others are let through."""
    aliases = {param.alias: _without_default(param.schema()) for param in params if param.alias}
    found: dict[str, Any] = {
        "type": "object",
        "properties": {param.name: param.schema() for param in params} | aliases,
        "additionalProperties": False,
    }
    required = [param.name for param in params if param.required]
    return {**found, "required": required} if required else found


def _without_default(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "default"}


def read_arguments(tool: str, params: Sequence[Param], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments with every default filled in; QueryError says what is wrong and what would be right.

    A null counts as not given: some clients send one for every optional parameter.
    """
    given = _by_own_name(params, given or {})
    known = {param.name: param for param in params}
    for name in given:
        if name not in known:
            raise QueryError(_unknown(tool, str(name), list(known)))
    found: dict[str, Any] = {}
    for param in params:
        value = given.get(param.name)
        if value is None:
            if param.required:
                raise QueryError(f"{tool} needs {param.name!r}: {param.wants()}")
            found[param.name] = param.default
        else:
            found[param.name] = _read(param, value)
    return found


def _by_own_name(params: Sequence[Param], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with aliases replaced; where both are given the parameter's own name counts."""
    found = dict(given)
    for param in params:
        if (
            param.alias
            and (value := found.pop(param.alias, None)) is not None
            and found.get(param.name) is None
        ):
            found[param.name] = value
    return found


def _unknown(tool: str, name: str, known: list[str]) -> str:
    if not known:
        return f"{tool} takes no parameters, not {_short(name)}"
    near = difflib.get_close_matches(name[:100].lower(), known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{tool} has no parameter {_short(name)}{hint} It takes {', '.join(known)}"


def _read(param: Param, value: Any) -> Any:
    read = _READERS[param.kind](param, value)
    if read is None:
        raise QueryError(f"{param.name!r} must be {param.wants()}, not {_short(value)}")
    return read


def _read_text(param: Param, value: Any) -> str | None:
    if not isinstance(value, str) or (param.choices and value not in param.choices):
        return None
    most = param.most or LONGEST_TEXT
    if len(value) > most:
        raise QueryError(
            f"{param.name!r} may have {most:,} characters, not {len(value):,}; send less at a time"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise QueryError(f"{param.name!r} holds half of a character pair (a lone surrogate)") from error
    return value


def _read_whole(param: Param, value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return None
    number = int(value)
    below = param.least is not None and number < param.least
    above = param.most is not None and number > param.most
    return None if below or above else number


def _read_flag(_param: Param, value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _read_texts(param: Param, value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    if len(value) > MAX_ITEMS:
        raise QueryError(f"{param.name!r} may have {MAX_ITEMS} items, not {len(value):,}")
    for item in value:
        _read_text(param, item)
    return tuple(value)


def _read_reference(param: Param, value: Any) -> int | str | None:
    if isinstance(value, str):
        return _read_text(param, value)
    number = _read_whole(param, value)
    return number if number is not None and 0 <= number < 2**63 else None


_READERS: Final = {
    "text": _read_text,
    "whole": _read_whole,
    "flag": _read_flag,
    "texts": _read_texts,
    "reference": _read_reference,
}


def _short(value: object) -> str:
    """A value as it was sent, cut: an answer never carries a whole oversized argument back."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int | float):
        text = "a very large number" if abs(value) > 1e18 else repr(value)
    else:
        text = repr(value if not isinstance(value, str) else value[: _SHOWN + 1])
    return text if len(text) <= _SHOWN + 2 else text[:_SHOWN] + "…'"
