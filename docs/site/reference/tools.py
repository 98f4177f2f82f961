"""What an agent is given: the tools and prompts of the server, and the clients it can be written into."""

from __future__ import annotations

from typing import Any

from docs.site.table import code, table

from outcrop.serve.mcp.clients import CLIENTS
from outcrop.serve.mcp.params import describe_wanted, input_schema
from outcrop.serve.mcp.resources import list_prompts, list_templates
from outcrop.serve.mcp.tools import TOOLS


def tools() -> str:
    """Each tool with its parameters, in the words that an agent reads."""
    made = []
    for tool in TOOLS.values():
        schema = input_schema(tool.takes)
        params = table(
            ("parameter", "what may stand there", "default", "meaning"),
            (
                (
                    code(name) + (" (required)" if name in schema.get("required", ()) else ""),
                    describe_wanted(param),
                    _default(param),
                    param.get("description", ""),
                )
                for name, param in schema["properties"].items()
            ),
        )
        kind = "Changes something; not there with `--read-only`." if tool.writes else "Reads."
        made.append("\n\n".join(part for part in (f"### {tool.name}", tool.about, kind, params) if part))
    return "\n\n".join(made)


def _default(param: dict[str, Any]) -> str:
    default = param.get("default")
    if default is None:
        return ""
    return code(str(default).lower() if isinstance(default, bool) else default)


def prompts() -> str:
    """What a person may pick in a client."""
    rows = [
        (code(prompt.name), prompt.description, ", ".join(code(arg.name) for arg in prompt.arguments or ()))
        for prompt in list_prompts().prompts
    ]
    return table(("prompt", "what it does", "takes"), rows)


def resources() -> str:
    """What a person may put before a model."""
    return table(
        ("resource", "what it is"),
        ((code(found.uri_template), found.description) for found in list_templates().resource_templates),
    )


def clients() -> str:
    """The clients that `outcrop install` knows, and the files it writes."""
    rows = [
        (code(name), client.title, code(_place(client.file)), code(client.project) if client.project else "–")
        for name, client in CLIENTS.items()
    ]
    return table(("name", "client", "file", "with `--project`"), rows)


def _place(file: str) -> str:
    return file.replace("{settings}", "SETTINGS") if "{" in file else f"~/{file}"
