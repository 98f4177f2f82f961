"""The records that each agent writes, as public documentation and the programs' own sources describe them (2025-26).

None of the formats is promised to stay: what is not known is counted, and never ends the reading of a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from outcrop.parse.sessions.turns import TASK, Session, as_command, text_of

Record = dict[str, Any]

CLAUDE, CODEX, GEMINI = "Claude", "Codex", "Gemini"

_CLAUDE_ASIDE: Final = frozenset(
    {
        "system", "progress", "attachment", "file-history-snapshot", "file-history-delta", "queue-operation",
        "mode", "last-prompt", "pr-link", "agent-name", "permission-mode", "tag", "marble-origami-commit",
    }
)  # fmt: skip
_CODEX_ASIDE: Final = frozenset(
    {"turn_context", "compacted", "world_state", "reasoning", "event", "inter_agent_communication",
     "ghost_snapshot", "web_search_call", "tool_search_call", "tool_search_output"}
)  # fmt: skip
_GEMINI_ASIDE: Final = frozenset({"info", "error", "warning"})
# What programs write in the user's name.
_SCAFFOLDING: Final = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<INSTRUCTIONS>",
    "# AGENTS.md instructions", "<local-command-", "<turn_aborted>", "Caveat: The messages below",
    "<bash-stdout>", "<bash-stderr>", "<task-notification>", "<skill>", "<session_context>",
)  # fmt: skip


def tell_agent(record: object) -> str | None:
    """Which agent wrote a record, by the fields that only it has; None where that cannot be told."""
    if not isinstance(record, dict):
        return None
    kind = _kind(record)
    if "payload" in record and "timestamp" in record and kind in ("session_meta", "response_item", "event_msg"):
        return CODEX
    if "sessionId" in record and ("projectHash" in record or "messageId" in record):
        return GEMINI
    if kind in ("user", "assistant") and {"sessionId", "uuid", "message"} <= record.keys():
        return CLAUDE
    if kind == "summary" and "leafUuid" in record:
        return CLAUDE
    if kind in _CLAUDE_ASIDE and ("sessionId" in record or "messageId" in record):
        return CLAUDE
    if kind is None and {"id", "timestamp", "instructions"} <= record.keys():
        return CODEX  # the header of its first versions
    return None


def _kind(record: Record) -> str | None:
    """What a record says it is; a question mark where that is no text."""
    kind = record.get("type")
    return kind if kind is None or isinstance(kind, str) else "?"


def take(session: Session, record: object) -> None:
    """Add what one record says to a session."""
    if not isinstance(record, dict):
        session.unknown += 1
        return
    known = _TAKERS[session.agent](session, record)
    session.unknown += not known


# ------------------------------------------------------------------ Claude Code


def _take_claude(session: Session, record: Record) -> bool:
    kind, message = _kind(record), record.get("message")
    if kind == "summary":
        session.summarise(record.get("leafUuid"), record.get("summary"))
        return True
    if kind in ("custom-title", "ai-title"):
        session.name(kind, record.get("customTitle") or record.get("aiTitle"))
        return True
    if kind not in ("user", "assistant"):
        return kind in _CLAUDE_ASIDE
    session.know(record.get("uuid"))
    aside = bool(record.get("isSidechain"))
    if aside and not session.id:
        session.asker = TASK  # a file of its own
    session.note(id=record.get("sessionId"), folder=record.get("cwd"), branch=record.get("gitBranch"))
    if aside != (session.asker == TASK) or _is_added(record):
        return True  # another agent's part, or the program's
    if not isinstance(message, dict):
        return False
    when, content = record.get("timestamp"), message.get("content")
    if kind == "user":
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_result" and part.get("is_error"):
                session.fail(part.get("content"), when)
        session.say(session.asker, _typed(text_of(content)), when)
        return True
    for part in content if isinstance(content, list) else (content,):
        if isinstance(part, dict) and part.get("type") == "tool_use":
            session.use(str(part.get("name")), part.get("input"), when)
        else:
            session.say(session.agent, text_of(part), when)
    return True


def _is_added(record: Record) -> bool:
    """Whether nobody said it: the program adds it, or makes a shorter copy of what was said before."""
    copied = str(record.get("agentId")).startswith("acompact")
    return bool(record.get("isMeta") or record.get("isCompactSummary") or copied)


def _typed(text: str) -> str:
    """What a user typed: a slash command as it was, nothing where the program spoke."""
    text = text.strip()
    if text.startswith(_SCAFFOLDING):
        return ""
    if text.startswith(("<command-name>", "<command-message>")):
        name = text.partition("<command-name>")[2].partition("</command-name>")[0]
        words = text.partition("<command-args>")[2].partition("</command-args>")[0]
        return f"{name.strip()} {words.strip()}".strip()
    if text.startswith("<bash-input>"):
        return "! " + text.removeprefix("<bash-input>").partition("</bash-input>")[0].strip()
    return text


# ------------------------------------------------------------------ Codex


def _take_codex(session: Session, record: Record) -> bool:
    kind, payload, when = _kind(record), record.get("payload"), record.get("timestamp")
    if kind == "session_meta" and isinstance(payload, dict):
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        session.note(id=payload.get("id"), folder=payload.get("cwd"), branch=branch)
        if isinstance(payload.get("source"), dict) and "subagent" in payload["source"]:
            session.asker = TASK
        return True
    if kind == "event_msg":
        return _take_codex_event(session, payload, when)
    if kind == "response_item":
        return isinstance(payload, dict) and _take_codex_item(session, payload, when)
    if kind is None:  # first versions: a header and notes of the program's state
        session.note(id=record.get("id"))
        return "id" in record or "record_type" in record
    return kind in _CODEX_ASIDE or _take_codex_item(session, record, when)


def _take_codex_item(session: Session, item: Record, when: object) -> bool:
    kind = _kind(item)
    if kind == "message":
        role, text = item.get("role"), text_of(item.get("content"))
        if role in ("user", "assistant"):
            asked = role == "user"
            session.say(session.asker if asked else session.agent, _typed(text) if asked else text, when)
        return role in ("user", "assistant", "developer", "system")
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        used = item.get("arguments") or item.get("input") or item.get("action")
        session.use(str(item.get("name")), used, when)
        return True
    return kind in ("function_call_output", "custom_tool_call_output") or kind in _CODEX_ASIDE


def _take_codex_event(session: Session, payload: object, when: object) -> bool:
    if not isinstance(payload, dict):
        return False
    if payload.get("type") == "exec_command_end" and payload.get("exit_code") not in (0, None):
        session.fail(payload.get("stderr") or payload.get("aggregated_output"), when)
    return True  # what is displayed is also said in an item


# ------------------------------------------------------------------ Gemini CLI


def keep_latest(records: Iterable[object]) -> Iterator[object]:
    """The records of a Gemini session as they stand at its end: a message that is written again replaces the earlier
    one, `$set` may replace them all, and `$rewindTo` takes back a message and what followed it."""
    others: list[object] = []
    messages: dict[str, object] = {}
    for record in records:
        given = record if isinstance(record, dict) else {}
        properties, id_, back = given.get("$set"), given.get("id"), given.get("$rewindTo")
        if isinstance(properties, dict) and isinstance(properties.get("messages"), list):
            messages = {_id_of(message, at): message for at, message in enumerate(properties["messages"])}
        elif isinstance(back, str):
            while back in messages:
                messages.popitem()
        elif isinstance(id_, str):
            messages[id_] = record
        else:
            others.append(record)
    return chain(others, messages.values())


def _id_of(message: object, at: int) -> str:
    id_ = message.get("id") if isinstance(message, dict) else None
    return id_ if isinstance(id_, str) else f"number {at}"


def _take_gemini(session: Session, record: Record) -> bool:
    if "projectHash" in record:  # the whole session, or its head
        session.note(id=record.get("sessionId"))
        session.name("summary", record.get("summary"))
        if record.get("kind") == "subagent":
            session.asker = TASK
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else ():
            take(session, message)
        return True
    if "$set" in record:
        if isinstance(record["$set"], dict):
            session.name("summary", record["$set"].get("summary"))
        return isinstance(record["$set"], dict)
    kind, when = _kind(record), record.get("timestamp")
    if kind == "user":
        session.note(id=record.get("sessionId"))
        # What was typed is displayed; the content has the files in it that were named there.
        typed = record.get("displayContent") or record.get("content", record.get("message"))
        session.say(session.asker, _typed(text_of(typed)), when)
    elif kind == "gemini":
        session.say(session.agent, text_of(record.get("content")), when)
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                session.use(str(call.get("name")), call.get("args"), call.get("timestamp"))
                if call.get("status") == "error":
                    session.fail(
                        as_command(call.get("error")) or call.get("resultDisplay"), call.get("timestamp")
                    )
    return kind in ("user", "gemini") or kind in _GEMINI_ASIDE


_TAKERS: Final = {CLAUDE: _take_claude, CODEX: _take_codex, GEMINI: _take_gemini}
