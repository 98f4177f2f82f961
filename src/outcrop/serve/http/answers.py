"""Answers: records as JSON, and the models that describe them in the OpenAPI.

The models are made from the records, field by field, so that neither can drift from the other; they describe and are
never filled. What is sent is made from the record itself, by `as_json.plain`.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

from outcrop.serve.as_json import dump, plain

SILENCE_S: Final = 15.0
"""After this long a comment is sent, so that proxies do not take a quiet stream for a dead one (not measured)."""
STILL_HERE: Final = b": still here\n\n"


def answer(value: object, status: int = 200) -> Response:
    """A record, or anything made of records, as a JSON response."""
    return send(as_bytes(value), status)


def send(body: bytes, status: int = 200) -> Response:
    """A response from ready-made JSON."""
    return Response(body, status, media_type="application/json")


def as_bytes(value: object) -> bytes:
    """A record, or anything made of records, as JSON."""
    data = plain(value)
    try:
        return to_json(data)  # three times as fast as json
    except PydanticSerializationError:  # a file name that is no text
        return json.dumps(data, separators=(",", ":")).encode()


def frame(name: str, data: object) -> bytes:
    """One event. JSON has no line breaks of its own, so it is one `data` line."""
    return f"event: {name}\ndata: {dump(data)}\n\n".encode()


@cache
def model_of(record: type) -> type[BaseModel]:
    """The model that describes a record, or a NamedTuple, as `plain` writes it."""
    return _make_model(record.__name__, (record.__doc__ or "").partition("\n\n")[0], _members(record))


def shape(name: str, /, **members: Any) -> type[BaseModel]:
    """A model of an answer that is not a record: its members by name and type."""
    return _make_model(name, "", members)


def extended(name: str, record: type, /, **members: Any) -> type[BaseModel]:
    """The model of a record with further members."""
    return _make_model(name, "", _members(record) | members)


def _members(record: type) -> dict[str, Any]:
    hints = get_type_hints(record)
    names = [item.name for item in fields(record)] if is_dataclass(record) else record._fields  # type: ignore[attr-defined]
    return {name: hints[name] for name in names}


def _make_model(name: str, doc: str, members: Mapping[str, Any]) -> type[BaseModel]:
    described: dict[str, Any] = {key: (_described(kind), ...) for key, kind in members.items()}
    config = ConfigDict(extra="forbid", protected_namespaces=())
    return create_model(name, __config__=config, __doc__=doc, **described)


def _described(kind: Any) -> Any:
    """A type as its JSON is described."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields")):
        return model_of(kind)
    if origin in (Union, types.UnionType):
        return Union[tuple(_described(arg) for arg in args)]  # noqa: UP007 - made of values
    if origin is Literal:
        return kind
    if origin in (tuple, list, set, frozenset) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return list[_described(args[0])]  # type: ignore[misc]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _described(args[1])]  # type: ignore[misc]
    return kind


ErrorBody = _make_model("ErrorBody", "What went wrong and what to do next.", {"code": str, "message": str})
Problem = _make_model("Problem", "The one shape of an error.", {"error": ErrorBody})


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer with, for its OpenAPI; those that any may answer with are among them."""
    return {status: {"model": Problem} for status in sorted({400, 401, 403, 408, 422, 429, 503, *statuses})}


def documented(status: int, model: Any, *errors: int) -> dict[str, Any]:
    """The arguments of a route's decorator that document its answer and errors."""
    return {"status_code": status, "response_model": model, "responses": problems(*errors)}


def streamed(*events: str) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI of an answer that is a stream of events with these names; the data of each is JSON."""
    event = {
        "type": "object",
        "properties": {"event": {"enum": list(events)}, "data": {"type": "string"}},
        "required": ["event", "data"],
    }
    described = f"Server-sent events: {', '.join(events)}."
    return {200: {"description": described, "content": {"text/event-stream": {"schema": event}}}}
