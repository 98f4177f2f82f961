"""What can go wrong, and how each interface says it."""

from __future__ import annotations

import inspect

from docs.site.reference.settings import attribute_docs
from docs.site.table import code, table

from outcrop import errors as tree
from outcrop.errors import OutcropError
from outcrop.records import found
from outcrop.serve.cli import app as cli
from outcrop.serve.http.problems import CODES, STATUSES


def exit_codes() -> str:
    """The codes as the command line itself explains them."""
    paragraphs = inspect.cleandoc(cli.__doc__ or "").split("\n\n")
    text = next(paragraph for paragraph in paragraphs if paragraph.startswith("Exit codes:"))
    parts = " ".join(text.removeprefix("Exit codes:").split()).rstrip(".").split("; ")
    return table(("code", "when"), (part.split(" ", 1) for part in parts))


def errors() -> str:
    """Each error with its exit code and its status."""
    rows = []
    for kind in _all(OutcropError):
        exit_code = next(
            (value for base, value in cli.EXIT_CODES.items() if issubclass(kind, base)), cli.EXIT_ERROR
        )
        status, name = next(((s, n) for base, s, n in STATUSES if issubclass(kind, base)), (500, CODES[500]))
        parent = kind.__bases__[0].__name__
        about = inspect.getdoc(kind) or ""
        rows.append((code(kind.__name__), code(parent), about, exit_code, f"{status} {code(name)}"))
    return table(("error", "is a", "meaning", "exit code", "HTTP"), rows)


def _all(kind: type[OutcropError]) -> list[type[OutcropError]]:
    """The error and those below it that the library's own module declares, as in its tree."""
    own = [child for child in kind.__subclasses__() if child.__module__ == tree.__name__]
    return [kind, *(found for child in own for found in _all(child))]


def reasons() -> str:
    """Why an answer holds nothing, or less than it could."""
    return attribute_docs(found, None)["Reason"]
