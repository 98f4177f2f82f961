"""Grounded chat with a model behind any OpenAI-compatible endpoint: ask, and read the events."""

from outcrop.chat.ask import Chat, Mode, ReopenedIndex, open_chat
from outcrop.chat.events import Delta, Done, Event, Failed, Notice, Source, Sources, ToolCall, event_name

__all__ = [
    "Chat",
    "Delta",
    "Done",
    "Event",
    "Failed",
    "Mode",
    "Notice",
    "ReopenedIndex",
    "Source",
    "Sources",
    "ToolCall",
    "event_name",
    "open_chat",
]
