"""The text that teaches an agent how to use Outcrop; it ships as a file beside this one."""

from __future__ import annotations

from importlib.resources import files


def instructions() -> str:
    """Search, then read; what a score means; when to write a note."""
    return files("outcrop.notes").joinpath("instructions.md").read_text("utf-8")
