"""What tools take: the signature of each gives the JSON schema that a client sees and the check of what it sends."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, create_model

from outcrop.errors import QueryError
from outcrop.records.asked import FILTER_OPTIONS, SEARCH_OPTIONS
from outcrop.records.option import Option
from outcrop.serve.fields import Fields, read_whole_numbers
from outcrop.serve.mcp.reply import MAX_TOKENS, MIN_TOKENS

LONGEST_TEXT: Final = 4_000
"""Characters of a query or a name: a question with a stack trace fits, a whole file does not (not measured)."""
MAX_ITEMS: Final = 50
"""Items of a list: a filter of more names is hardly a filter (not measured)."""
MAX_HITS: Final = 50
MAX_LISTED: Final = 200
"""Documents or notes on one page of a list."""
_SHOWN: Final = 40

Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Texts = Annotated[list[Text], Field(max_length=MAX_ITEMS)]
Paths = Annotated[Texts, Field(description=FILTER_OPTIONS["paths"].brief)]
Reference = Annotated[
    Text | Annotated[int, Field(ge=0, lt=2**63)],
    WithJsonSchema({"type": ["string", "integer"], "maxLength": LONGEST_TEXT}),
]
"""A document's number or name."""
MaxTokens = Annotated[int, Field(ge=MIN_TOKENS, le=MAX_TOKENS)]
Budget = Annotated[int, Field(ge=100, le=MAX_TOKENS)]
LineNumber = Annotated[int, Field(ge=1, le=2**31)]
Limit = Annotated[int, Field(ge=1, le=MAX_HITS)]
Page = Annotated[int, Field(ge=1, le=MAX_LISTED)]
Offset = Annotated[int, Field(ge=0, le=SEARCH_OPTIONS["offset"].served_most)]

_FIELDS: Final = Fields(
    Texts, Text, lambda option: option.brief, {"ref": Text, "worktree": Text, "where": Text}
)


class Arguments(BaseModel):
    """What a tool takes: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """What the client said; the rest is the tool's own default."""
        return self.model_dump(exclude_unset=True)


def arguments_of(
    run: Callable[..., object], options: Mapping[str, Option], without: Collection[str] = ()
) -> type[Arguments]:
    """The parameters of a tool after the first, which is the call, but for those that it goes `without`; `options` of a
    search are what its `**` takes."""
    fields: dict[str, Any] = {}
    _, *parameters = inspect.signature(run, eval_str=True).parameters.values()
    for item in parameters:
        if item.kind is not item.VAR_KEYWORD and item.name not in without:
            fields[item.name] = (item.annotation, ... if item.default is item.empty else item.default)
    return create_model(run.__name__, __base__=Arguments, **fields, **_FIELDS.make(options))


def input_schema(takes: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments in as few words as will do: each agent reads all of them."""
    whole = takes.model_json_schema()
    found = {
        "type": "object",
        "properties": {name: _compact(schema) for name, schema in whole.get("properties", {}).items()},
        "additionalProperties": False,
    }
    return {**found, "required": whole["required"]} if "required" in whole else found


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter without its title, the null that stands for not given, a default that says nothing, and how long an
    item of a list may be: a refusal says that."""
    for kind in schema.get("anyOf", ()):
        if kind != {"type": "null"}:
            schema = {**kind, **schema}
    if "items" in schema:
        schema = {**schema, "items": {"type": schema["items"]["type"]}}
    empty = schema.get("default") in (None, [], 0)  # 0 is also false
    return {
        name: value
        for name, value in schema.items()
        if name not in ("title", "anyOf") and not (name == "default" and empty)
    }


def describe_wanted(schema: Mapping[str, Any]) -> str:
    """What is accepted, in words."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "integer":
        return f"a whole number from {schema['minimum']} to {schema['maximum']}"
    if isinstance(schema["type"], list):
        return "a document's number or path"
    return {"string": "a string", "boolean": "true or false", "array": "a list of strings"}[schema["type"]]


def read_arguments(tool: str, takes: type[Arguments], given: Mapping[str, Any] | None) -> Arguments:
    """The arguments, checked; QueryError says what is wrong and what would be right.

    A null counts as not given: some clients send one for every optional parameter.
    """
    said = {
        name: value
        for name, value in (given or {}).items()
        if value is not None or name not in takes.model_fields
    }
    try:
        return takes.model_validate(read_whole_numbers(said))
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        unknown = next((item for item in wrong if item["type"] == "extra_forbidden"), None)
        if unknown is not None:
            raise QueryError(_refuse_unknown(tool, str(unknown["loc"][0]), list(takes.model_fields))) from error
        raise QueryError(_refuse(tool, takes, wrong[0], said)) from error


def _refuse(tool: str, takes: type[Arguments], wrong: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    """What is wrong with one argument, so that an agent can correct it."""
    name = str(wrong["loc"][0])
    wanted = describe_wanted(input_schema(takes)["properties"][name])
    if wrong["type"] == "missing":
        return f"{tool} needs {name!r}: {wanted}"
    if wrong["type"] == "string_too_long":
        most, size = wrong["ctx"]["max_length"], len(wrong["input"])
        return f"{name!r} may have {most:,} characters, not {size:,}; send less at a time"
    if wrong["type"] == "string_unicode":
        return f"{name!r} holds half of a character pair (a lone surrogate)"
    if wrong["type"] == "too_long":
        return f"{name!r} may have {wrong['ctx']['max_length']} items, not {len(said[name]):,}"
    return f"{name!r} must be {wanted}, not {_short(said[name])}"


def _refuse_unknown(tool: str, name: str, known: list[str]) -> str:
    if not known:
        return f"{tool} takes no parameters, not {_short(name)}"
    near = difflib.get_close_matches(name[:100].lower(), known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"{tool} has no parameter {_short(name)}{hint} It takes {', '.join(known)}"


def _short(value: object) -> str:
    """A value as it was sent, shortened: a refusal never repeats an oversized argument in full."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int | float):
        text = "a very large number" if abs(value) > 1e18 else repr(value)
    else:
        text = repr(value if not isinstance(value, str) else value[: _SHOWN + 1])
    return text if len(text) <= _SHOWN + 2 else text[:_SHOWN] + "…'"
