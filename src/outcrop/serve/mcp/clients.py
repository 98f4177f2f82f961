"""Where each client keeps its servers, and what an entry looks like there.

Paths and shapes are those of the clients' own documentation in November 2026; one that moves its file needs a line.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from outcrop.errors import ConfigError
from outcrop.serve.mcp.edits import put_entry, put_table, read_jsonc, remove_entry, remove_table
from outcrop.system.dataclass import dataclass

NAME: Final = "outcrop"
"""How clients list the server."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that talks to servers. `file` is the user's, below the home folder, or below the folder where programs
    of this system keep their settings when it begins with `{settings}`; `project` the one of a project, None where
    there is none. `section` holds the entries."""

    title: str
    file: str
    project: str | None
    section: str = "mcpServers"
    typed: bool = False
    """Whether an entry says that it is started as a process (`"type": "stdio"`)."""

    def path(self, home: Path, settings: Path, project: Path | None = None) -> Path:
        """The file to change."""
        if project is not None:
            if self.project is None:
                raise ConfigError(f"{self.title} has no configuration per project; leave out --project")
            return project / self.project
        return Path(self.file.replace("{settings}", str(settings))) if "{" in self.file else home / self.file


CLIENTS: Final[dict[str, Client]] = {
    "claude": Client("Claude Code", ".claude.json", ".mcp.json", typed=True),
    "claude-desktop": Client("Claude Desktop", "{settings}/Claude/claude_desktop_config.json", None),
    "cursor": Client("Cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    "vscode": Client("VS Code", "{settings}/Code/User/mcp.json", ".vscode/mcp.json", "servers", typed=True),
    "codex": Client("Codex", ".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "windsurf": Client("Windsurf", ".codeium/windsurf/mcp_config.json", None),
    "zed": Client("Zed", ".config/zed/settings.json", ".zed/settings.json", "context_servers"),
    "gemini": Client("Gemini CLI", ".gemini/settings.json", ".gemini/settings.json"),
}


def settings_folder(home: Path, config_home: Path, platform: str = sys.platform) -> Path:
    """Where programs of this system keep their settings."""
    if platform == "darwin":
        return home / "Library" / "Application Support"
    return home / "AppData" / "Roaming" if platform == "win32" else config_home


def make_entry(client: Client, command: list[str]) -> dict[str, Any]:
    """What starts the server, as this client writes it."""
    kind = {"type": "stdio"} if client.typed else {}
    return {**kind, "command": command[0], "args": command[1:]}


def with_entry(client: Client, path: Path, text: str, entry: Mapping[str, Any]) -> str:
    """The client's file with our entry; what a person added to it stays. ConfigError where the rest would change."""
    before = _read(path, text)
    section = before.get(client.section, {})
    kept = section.get(NAME) if isinstance(section, dict) else None
    whole = {**(kept if isinstance(kept, dict) else {}), **entry}
    put = put_table if path.suffix == ".toml" else put_entry
    return _checked(path, put(text, client.section, NAME, whole), before, client.section, whole)


def without_entry(client: Client, path: Path, text: str) -> str:
    """The client's file without our entry."""
    before = _read(path, text)
    section = before.get(client.section)
    if not isinstance(section, dict) or NAME not in section:  # a file of any shape may lie there
        return text
    remove = remove_table if path.suffix == ".toml" else remove_entry
    return _checked(path, remove(text, client.section, NAME), before, client.section, None)


def find_entry(client: Client, path: Path, text: str) -> dict[str, Any] | None:
    """Our entry, as it is in the client's file."""
    section = _read(path, text).get(client.section)
    found = section.get(NAME) if isinstance(section, dict) else None
    return found if isinstance(found, dict) else None


def snippet(client: Client, path: Path, entry: dict[str, Any]) -> str:
    """The entry as a person would add it by hand."""
    put = put_table if path.suffix == ".toml" else put_entry
    return put("", client.section, NAME, entry)


def _read(path: Path, text: str) -> dict[str, Any]:
    """What the file says."""
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"it is not TOML: {error}") from error
    if not text.strip("\ufeff \t\r\n"):
        return {}
    value = read_jsonc(text).value
    if not isinstance(value, dict):
        raise ConfigError("it is not an object")
    return value


def _checked(
    path: Path, text: str, before: dict[str, Any], section: str, entry: Mapping[str, Any] | None
) -> str:
    """The new text, after checking that nothing but our entry has changed."""
    after = _read(path, text)
    ours = after.get(section, {}).pop(NAME, None) if isinstance(after.get(section, {}), dict) else None
    rest = {name: value for name, value in before.get(section, {}).items() if name != NAME}
    expected = {**before, section: rest}
    if ours != entry or {**after, section: after.get(section, {})} != expected:
        raise ConfigError("it is written in a way that cannot be changed safely from here")
    return text
