"""Every setting: its type, its default, its variable, and what its docstring says."""

from __future__ import annotations

import ast
import inspect
from dataclasses import MISSING, fields
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from docs.site.table import table

from outcrop import config
from outcrop.config import ENV_PREFIX, Config

UNIT_BYTES = 1024 * 1024


def settings() -> str:
    """One heading a setting, so that a link can lead to it."""
    told = attribute_docs(config, "Config")
    made = []
    for field in fields(Config):
        facts = table(
            ("in config.toml", "variable", "type", "default"),
            [
                (
                    f"`{field.name}`",
                    f"`{ENV_PREFIX}{field.name.upper()}`",
                    f"`{field.type}`",
                    _default(field.name, field.default),
                )
            ],
        )
        made.append(f"## {field.name}\n\n{facts}\n\n{told[field.name]}")
    return "\n\n".join(made)


def attribute_docs(module: ModuleType, name: str | None) -> dict[str, str]:
    """The strings below the attributes of a class, or of a module: Python keeps them in the source alone."""
    body = ast.parse(inspect.getsource(module)).body
    if name is not None:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name)
    found = {}
    for attribute, below in pairwise(body):
        names = attribute.targets if isinstance(attribute, ast.Assign) else [getattr(attribute, "target", None)]
        if (
            isinstance(names[0], ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[names[0].id] = inspect.cleandoc(str(below.value.value))
    return found


def _default(name: str, value: object) -> str:
    if value is MISSING or value == Path():
        return "see below"
    if value in ("", ()):
        return "none"
    if name.endswith("_bytes") and isinstance(value, int):
        return f"{value // UNIT_BYTES:,} MiB"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
