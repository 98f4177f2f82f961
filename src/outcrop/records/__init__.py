"""The nouns that flow through the pipeline, from a source to a packed context; a module for each stretch of the way.

All are frozen: a stage makes new ones, it never edits another stage's. Wherever a noun lives, it is imported from here,
and its module is loaded when it is first asked for: a search does not wait for the reports of a write.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from outcrop.records.asked import *
    from outcrop.records.found import *
    from outcrop.records.history import *
    from outcrop.records.matched import *
    from outcrop.records.meta import *
    from outcrop.records.parsed import *
    from outcrop.records.reports import *
    from outcrop.records.scanned import *
    from outcrop.records.stored import *
    from outcrop.records.validity import *

_MODULES: Final = (
    "asked",
    "meta",
    "parsed",
    "stored",
    "validity",
    "found",
    "matched",
    "reports",
    "scanned",
    "history",
)
"""Where nouns live, in the order in which a query meets them; each imports only earlier ones."""


def __getattr__(name: str) -> object:
    for module in () if name.startswith("_") else _MODULES:
        home = vars(importlib.import_module(f"outcrop.records.{module}"))
        if name in home:
            globals()[name] = home[name]  # the next access does not come through here
            return home[name]
    raise AttributeError(f"module 'outcrop.records' has no attribute {name!r}")
