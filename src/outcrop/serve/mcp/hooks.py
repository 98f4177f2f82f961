"""Where clients keep their hooks, and how ours is put there and taken out again.

Files and shapes are those of the clients' own documentation in November 2026. Clients without hooks that can add to
what a tool answered are not here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from outcrop.errors import ConfigError
from outcrop.serve.hook import DEADLINE_S, EVENTS
from outcrop.serve.mcp.edits import put_item, read_jsonc, remove_item
from outcrop.system.dataclass import dataclass
from outcrop.workers.process import command_line, python_command

MODULE: Final = "outcrop.serve.hook"
"""What our command runs, and what it is known by."""
_SECTION: Final = "hooks"
_CURSOR: Final = '{\n  "version": 1\n}\n'
"""What Cursor wants in a file of hooks, whatever else is in it."""
_PATIENCE_S: Final = round(DEADLINE_S) + 3
"""After which the client ends it: it is over by itself before."""


@dataclass(frozen=True, slots=True)
class HookFile:
    """Where a client keeps hooks: for the user, below the home folder, and in a project, in a file that is not shared
    where there is one, since the command is this machine's. `tools` matches the tools that search."""

    file: str
    project: str
    tools: str
    is_flat: bool = False
    """Whether an entry is the command itself, instead of a list of commands."""
    is_in_ms: bool = False

    def path(self, home: Path, project: Path | None) -> Path:
        """The file to change."""
        return project / self.project if project is not None else home / self.file


HOOK_FILES: Final[dict[str, HookFile]] = {
    "claude": HookFile(".claude/settings.json", ".claude/settings.local.json", "Grep|Bash"),
    "codex": HookFile(".codex/hooks.json", ".codex/hooks.json", "Bash"),
    "cursor": HookFile(".cursor/hooks.json", ".cursor/hooks.json", "Grep|Shell", is_flat=True),
    "gemini": HookFile(
        ".gemini/settings.json",
        ".gemini/settings.json",
        "grep_search|search_file_content|run_shell_command",
        is_in_ms=True,
    ),
}


def hook_file(client: str, title: str) -> HookFile:
    """Where this client keeps hooks."""
    if client not in HOOK_FILES:
        raise ConfigError(
            f"{title} has no hooks that can answer beside a search; leave out --hooks ({', '.join(HOOK_FILES)} have)"
        )
    return HOOK_FILES[client]


def make_hook(client: str, db: str) -> dict[str, Any]:
    """The entry, as this client writes it. Nothing of the folder that the client works in is run: neither modules there
    (-P) nor what Python's variables name (-E)."""
    file = HOOK_FILES[client]
    words = [*python_command(), "-E", "-m", MODULE, client, "--db", db]
    shown = command_line(words)
    timeout = _PATIENCE_S * 1000 if file.is_in_ms else _PATIENCE_S
    if file.is_flat:
        return {"command": shown, "matcher": file.tools, "timeout": timeout}
    return {"matcher": file.tools, "hooks": [{"type": "command", "command": shown, "timeout": timeout}]}


def with_hook(client: str, text: str, hook: dict[str, Any]) -> str:
    """The client's file with our hook; ConfigError where anything else would change."""
    before = text
    if client == "cursor" and not text.strip():
        before = text = _CURSOR
    return _checked(client, before, put_item(text, _SECTION, EVENTS[client], hook, is_ours), hook)


def without_hook(client: str, text: str) -> str:
    """The client's file without our hook; nothing where nothing else is in it."""
    after = _checked(client, text, remove_item(text, _SECTION, EVENTS[client], is_ours), None)
    is_left = client == "cursor" and after != text and "".join(after.split()) == "".join(_CURSOR.split())
    return "" if is_left else after


def find_hook(client: str, text: str) -> dict[str, Any] | None:
    """Our hook, as it is in the client's file."""
    found: dict[str, Any] | None = next((entry for entry in _list(_read(text), client) if is_ours(entry)), None)
    return found


def is_ours(entry: Any) -> bool:
    """Whether an entry of a list of hooks is ours, and nothing but ours."""
    if not isinstance(entry, dict):
        return False
    commands = entry.get(_SECTION, [entry])
    return (
        isinstance(commands, list)
        and len(commands) == 1
        and isinstance(commands[0], dict)
        and f"-m {MODULE} " in str(commands[0].get("command"))
    )


def _checked(client: str, before: str, after: str, hook: dict[str, Any] | None) -> str:
    """The new text, after checking that nothing but our hook has changed."""
    had, has = (_read(text) for text in (before, after))
    ours = [entry for entry in _list(has, client) if is_ours(entry)]
    if ours != ([hook] if hook else []) or _rest(had, client) != _rest(has, client):
        raise ConfigError("it is written in a way that cannot be changed safely from here")
    return after


def _read(text: str) -> dict[str, Any]:
    value = read_jsonc(text).value if text.strip("\ufeff \t\r\n") else {}
    if not isinstance(value, dict) or not isinstance(value.get(_SECTION, {}), dict):
        raise ConfigError("it is not an object with an object of hooks")
    return value


def _list(value: dict[str, Any], client: str) -> list[Any]:
    found = value.get(_SECTION, {}).get(EVENTS[client], [])
    return found if isinstance(found, list) else []


def _rest(value: dict[str, Any], client: str) -> dict[str, Any]:
    """What is not ours."""
    others = {name: entries for name, entries in value.get(_SECTION, {}).items() if name != EVENTS[client]}
    return {**value, _SECTION: (others, [entry for entry in _list(value, client) if not is_ours(entry)])}
