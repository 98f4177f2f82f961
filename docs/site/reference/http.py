"""The HTTP interface, from its OpenAPI."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from docs.site.table import code, table

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.serve.http.problems import CODES

ALWAYS: Final = frozenset({"400", "401", "403", "408", "422", "429", "503"})
"""What any request may be answered with; told once and not for each."""


@cache
def openapi() -> dict[str, Any]:
    """The description that a server gives of itself at /openapi.json."""
    from outcrop.serve.http.app import make_app
    from outcrop.serve.state import make_state

    with tempfile.TemporaryDirectory() as folder:
        config = load_config({"db": Path(folder) / "index.db"}, {"HOME": folder})
        with Engine(config) as engine:
            return make_app(make_state(engine)).openapi()


def routes() -> str:
    """Each route under its topic: what it does, takes and answers."""
    topics: dict[str, list[str]] = {}
    for path, methods in openapi()["paths"].items():
        for method, route in methods.items():
            topics.setdefault(route["tags"][0], []).append(_route(method.upper(), path, route))
    return "\n\n".join(part for topic, made in topics.items() for part in (f"## {topic}", *made))


def _route(method: str, path: str, route: dict[str, Any]) -> str:
    answers = {
        status: _content(answer) for status, answer in route["responses"].items() if status not in ALWAYS
    }
    params = table(
        ("parameter", "in", "type", "meaning"),
        (
            (
                code(param["name"])
                + (" (required)" if param.get("required") and param["in"] != "path" else ""),
                param["in"],
                type_of(param["schema"]),
                param.get("description") or param["schema"].get("description", ""),
            )
            for param in route.get("parameters", ())
        ),
    )
    body = _content(route["requestBody"]) if "requestBody" in route else ""
    answered = ", ".join(f"{status} {kind}".strip() for status, kind in answers.items() if status < "300")
    refused = ", ".join(status for status in answers if status >= "300")
    lines = [
        f"### {method} {path}",
        route["description"],
        params,
        f"Body: {body}." if body else "",
        f"Answers {answered}." + (f" Also refuses with {refused}." if refused else ""),
    ]
    return "\n\n".join(line for line in lines if line)


def _content(answer: dict[str, Any]) -> str:
    kinds: dict[str, dict[str, Any]] = answer.get("content", {})
    schema: dict[str, Any] = next((kind.get("schema", {}) for kind in kinds.values()), {})
    return type_of(schema) if schema else ", ".join(code(kind) for kind in kinds)


def statuses() -> str:
    """What any request may be refused with, and the code in the body."""
    return table(("status", "code"), ((status, code(CODES[int(status)])) for status in sorted(ALWAYS)))


def bodies() -> str:
    """Everything that is sent or answered, by name."""
    made = []
    for name, schema in sorted(openapi()["components"]["schemas"].items()):
        required = set(schema.get("required", ()))
        rows = table(
            ("member", "type", "meaning"),
            (
                (
                    code(member) + (" *" if member in required else ""),
                    type_of(given),
                    given.get("description", ""),
                )
                for member, given in schema.get("properties", {}).items()
            ),
        )
        made.append("\n\n".join(part for part in (f"### {name}", schema.get("description", ""), rows) if part))
    return "\n\n".join(made)


def type_of(schema: dict[str, Any]) -> str:
    """A schema in words: what may stand there."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_of(kind) for kind in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(code(value) for value in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if schema.get("type") == "object":
        return "object"
    return f"{schema.get('type', 'anything')}{_bounds(schema)}"


def _bounds(schema: dict[str, Any]) -> str:
    said = []
    for name, word in (("minimum", "≥"), ("maximum", "≤")):
        if name in schema:
            said.append(
                f"{word} {schema[name]:g}" if abs(schema[name]) < 1e6 else f"{word} {schema[name]:,.0f}"
            )
    if "maxLength" in schema:
        said.append(f"≤ {schema['maxLength']:,} characters")
    default = schema.get("default")
    if default not in (None, "", []):
        said.append(f"default {str(default).lower() if isinstance(default, bool) else default}")
    return f" ({', '.join(said)})" if said else ""
