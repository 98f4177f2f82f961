"""Past sessions of coding agents: one document a session, one section a turn."""

from outcrop.parse.sessions.reader import read

__all__ = ["read"]
