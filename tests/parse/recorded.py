"""Records of sessions as each coding agent writes them, made up word for word."""

from __future__ import annotations

import json
from typing import Any


def lines(*records: object) -> str:
    return "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records)


def claude(kind: str, content: object, at: str, **fields: Any) -> dict[str, Any]:
    """A record as Claude Code writes it."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ann/courier",
        "sessionId": "5f0c",
        "version": "2.0.14",
        "gitBranch": "retries",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u-{at}",
        "timestamp": f"2026-03-02T{at}.120Z",
        **fields,
    }


def tool(name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}


def result(content: object, *, is_error: bool = False) -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": is_error}]


CLAUDE = lines(
    {"type": "file-history-snapshot", "messageId": "m1", "snapshot": {}, "isSnapshotUpdate": False},
    claude("user", "Why do the first calls after a deploy fail?", "10:00:00"),
    claude("assistant", [{"type": "thinking", "thinking": "Let me see.", "signature": "x"}], "10:00:04"),
    claude("assistant", [{"type": "text", "text": "I will look at the retry policy."}], "10:00:05"),
    claude("assistant", [tool("Read", file_path="/home/ann/courier/src/retry.py")], "10:00:06"),
    claude("user", result("1\tclass RetryPolicy:\n2\t    attempts = 3\n" * 500), "10:00:07"),
    claude("assistant", [tool("Bash", command="pytest -q tests/test_retry.py")], "10:00:08"),
    claude("user", result("Error: no module named courier\n  at line 3", is_error=True), "10:00:09"),
    claude(
        "assistant",
        [{"type": "text", "text": "The gateway drops them: three attempts do not last."}],
        "10:01:00",
    ),
    claude(
        "user",
        [{"type": "text", "text": "<system-reminder>Todos are empty.</system-reminder>Then make it five."}],
        "10:02:00",
    ),
    claude("user", "<local-command-stdout>ok</local-command-stdout>", "10:02:01"),
    claude("user", "An agent is told this.", "10:02:02", isSidechain=True),
    claude("assistant", [{"type": "text", "text": "Five attempts now."}], "10:03:00"),
)


def codex(kind: str, at: str, **payload: object) -> dict[str, object]:
    return {"timestamp": f"2026-03-02T{at}Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, object]:
    kind = "input_text" if role == "user" else "output_text"
    return {"role": role, "content": [{"type": kind, "text": text}]}


CODEX = lines(
    codex(
        "session_meta", "10:00:00", id="c1", cwd="/srv/app", originator="codex_cli_rs", git={"branch": "main"}
    ),
    codex(
        "response_item",
        "10:00:00",
        type="message",
        **said("user", "<environment_context>\n<cwd>/srv/app</cwd>"),
    ),
    codex("response_item", "10:00:01", type="message", **said("user", "Why is the cache cold?")),
    codex("event_msg", "10:00:01", type="user_message", message="Why is the cache cold?"),
    codex("response_item", "10:00:02", type="reasoning", summary=[], encrypted_content="gAAA"),
    codex(
        "response_item",
        "10:00:03",
        type="function_call",
        name="shell",
        arguments=json.dumps({"command": ["bash", "-lc", "rg -n cache src"], "workdir": "/srv/app"}),
        call_id="k",
    ),
    codex("response_item", "10:00:04", type="function_call_output", call_id="k", output="src/cache.py:1:…"),
    codex(
        "response_item",
        "10:00:05",
        type="custom_tool_call",
        name="apply_patch",
        input="*** Begin Patch\n*** Update File: src/cache.py\n@@\n-a\n+b\n*** End Patch",
    ),
    codex("response_item", "10:00:06", type="message", **said("assistant", "It was emptied at each start.")),
    codex("turn_context", "10:00:07", model="gpt"),
)


def gemini(id_: str, kind: str, content: object, **fields: object) -> dict[str, object]:
    return {"id": id_, "timestamp": "2026-03-02T10:00:00Z", "type": kind, "content": content, **fields}


GEMINI_HEAD = {"sessionId": "g1", "projectHash": "ab", "startTime": "2026-03-02T10:00:00Z", "lastUpdated": "x"}
CALL = {
    "name": "replace",
    "args": {"file_path": "/srv/app/a.py"},
    "status": "error",
    "resultDisplay": "0 occurrences",
}
