"""Errors as clients see them: one shape, one table of statuses, and no detail of the machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from outcrop import errors
from outcrop.errors import OutcropError
from outcrop.serve.jobs import TooManyJobs
from outcrop.serve.patience import Overdue

# The first that fits counts, so the special stand before the general.
STATUSES: Final[tuple[tuple[type[OutcropError], int, str], ...]] = (
    (errors.TooLarge, 413, "too_large"),
    (errors.NotAllowed, 403, "not_allowed"),
    (errors.Conflict, 409, "conflict"),
    (errors.ChatError, 503, "chat"),
    (errors.Ambiguous, 409, "ambiguous"),
    (errors.NotFound, 404, "not_found"),
    (errors.QueryError, 422, "invalid"),
    (errors.BlockedAddress, 403, "blocked_address"),
    (errors.OutsideRoots, 403, "outside_roots"),
    (errors.SourceError, 422, "source"),
    (errors.ParseError, 422, "parse"),
    (errors.ConfigError, 503, "configuration"),
    (errors.EmbedError, 503, "model"),
    (errors.DatabaseBusy, 503, "busy"),
    (errors.StoreError, 503, "index"),
    (TooManyJobs, 429, "too_many_jobs"),
    (Overdue, 503, "overdue"),
    (errors.Cancelled, 503, "cancelled"),
)

CODES: Final[Mapping[int, str]] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    413: "too_large",
    415: "not_json",
    422: "invalid",
    429: "too_many_requests",
    500: "unexpected",
    503: "unavailable",
}


class Refused(Exception):
    """A request that the interface itself refuses, with its status."""

    def __init__(
        self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code or CODES.get(status, "error")
        self.headers = dict(headers or {})


def body_of(code: str, message: str) -> bytes:
    """The one shape of an error."""
    return json.dumps({"error": {"code": code, "message": message}}).encode()


def refusal_of(error: OutcropError) -> Refused:
    """An error of the engine as the client sees it."""
    named = ((status, code) for kind, status, code in STATUSES if isinstance(error, kind))
    status, code = next(named, (500, "unexpected"))
    headers = {"Retry-After": "5"} if status in {429, 503} else {}
    return Refused(status, str(error), code=code, headers=headers)


def describe_invalid(found: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with a body or a query, by field, without repeating the values sent."""
    lines = []
    for error in found[:5]:
        place = ".".join(str(part) for part in error["loc"][1:])  # the first says only whether body or query
        lines.append(f"{place}: {error['msg']}" if place else str(error["msg"]))
    return "; ".join(lines)[:1000]
