"""Makes `src/outcrop/serve/mcp/greeting.json`: what the protocol's library answers at the start of every conversation.

python -m scripts.greeting
"""

from __future__ import annotations

import json
from typing import Any

import anyio
from mcp import Client

from outcrop.serve.mcp.desk import Desk
from outcrop.serve.mcp.greeting import ANSWERS
from outcrop.serve.mcp.server import make_server
from outcrop.serve.mcp.tools import LEAN, TOOLS


def make_greeting() -> str:
    """The text of the file."""
    made: dict[str, Any] = {"answers": {}, "tools/list": {}}
    made["writing"] = [name for name, tool in (TOOLS | LEAN).items() if tool.writes]
    for name in ("lean", "all"):
        answers = anyio.run(_ask, name)
        made["tools/list"][name] = answers.pop("tools/list")["tools"]
        made["answers"] = answers
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


async def _ask(tools: str) -> dict[str, Any]:
    def refuse() -> Any:
        raise AssertionError("a greeting needs no index")

    async with Client(make_server(Desk(refuse), tools), mode="legacy") as client:
        session = client.session
        answers = {
            "initialize": session.initialize_result,
            "tools/list": await client.list_tools(),
            "prompts/list": await client.list_prompts(),
            "resources/templates/list": await client.list_resource_templates(),
        }
    return {
        name: answer.model_dump(mode="json", by_alias=True, exclude_unset=True)  # type: ignore[union-attr]
        for name, answer in answers.items()
    }


if __name__ == "__main__":
    ANSWERS.write_text(make_greeting(), "utf-8")
