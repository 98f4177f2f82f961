"""Where coding agents keep their past sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from outcrop.errors import SourceError

AGENT_FOLDERS: Final = {
    "claude": "~/.claude/projects",
    "codex": "~/.codex/sessions",
    "gemini": "~/.gemini/tmp",
}
"""The folder of each agent, unless it was told to use another."""


def find_sessions(source: str | Path) -> tuple[Path, str | None]:
    """The folder to read and the collection it goes to unless one is given: `claude sessions` for an agent's own
    folder; None for any other, which has one of its own name."""
    agent = str(source)
    if agent in AGENT_FOLDERS:
        folder = Path(AGENT_FOLDERS[agent]).expanduser()
        if not folder.is_dir():
            raise SourceError(
                f"there are no sessions of {agent} in {folder}; name the folder that they are in instead"
            )
        return folder, f"{agent} sessions"
    folder = Path(agent).expanduser()
    if not folder.exists():
        raise SourceError(
            f"there is no folder {agent}, and agents known by name are {', '.join(AGENT_FOLDERS)}"
        )
    return folder, None
