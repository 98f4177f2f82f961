"""What a session is made of, whatever agent wrote it: turns with a speaker, a time, words, commands and files.

The output of tools is left out: files are read again when they are needed, and what mattered in a log is in what was
said about it. Of a command that failed the first line of its complaint is kept.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from outcrop.system.dataclass import dataclass

USER: Final = "User"
TASK: Final = "Task"
"""Who asks: a person, or the agent that gives a part of its work to another."""
MAX_COMMAND_CHARS: Final = 200
MAX_LISTED: Final = 40
"""Commands and files that are named in one turn; more are counted."""
MAX_FILES: Final = 100
"""Files that are properties of a session, which come with every hit; each turn names its own (not measured)."""
MAX_PROPERTY_CHARS: Final = 1000
MAX_CONTENT_DEPTH: Final = 4
_TITLES: Final = ("custom-title", "ai-title", "summary")

_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,1000})$", re.MULTILINE)
_FILE_FIELDS: Final = ("file_path", "path", "notebook_path", "absolute_path", "target_file")
_COMMAND_FIELDS: Final = ("command", "cmd")
_LOOKING: Final = frozenset(
    {"Glob", "Grep", "LS", "glob", "grep_files", "list_dir", "list_directory", "search_file_content"}
)
"""Tools whose path is where they look, mostly a folder."""
_REMINDER: Final = ("<system-reminder>", "</system-reminder>")


@dataclass(slots=True)
class Turn:
    """What one side said before the other did, or before it went on after using tools."""

    speaker: str
    time: datetime | None
    texts: list[str] = field(default_factory=list)
    commands: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def used_tools(self) -> bool:
        """Whether anything was done in it."""
        return bool(self.commands or self.files or self.failures)


@dataclass(slots=True)
class Session:
    """A session as it is read. `damaged` lines are no JSON, `unknown` ones of a kind that is not known here."""

    agent: str
    asker: str = USER
    turns: list[Turn] = field(default_factory=list)
    id: str = ""
    folder: str = ""
    branch: str = ""
    damaged: int = 0
    unknown: int = 0
    last: datetime | None = None
    _titles: dict[str, str] = field(default_factory=dict)
    _summaries: dict[str, str] = field(default_factory=dict)
    _messages: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """The last title that a person gave the session, else the program's. A summary counts where it is of a message
        of this session: Claude Code also writes those of other sessions into a file."""
        own = [text for message, text in self._summaries.items() if message in self._messages]
        given = (self._titles.get(kind, "") for kind in _TITLES)
        return next(filter(None, (*given, *reversed(own))), "")

    def name(self, kind: str, title: object) -> None:
        """Remember a title, the last of each kind."""
        if isinstance(title, str) and title:
            self._titles[kind] = title[:MAX_PROPERTY_CHARS]

    def summarise(self, message: object, summary: object) -> None:
        """Remember the summary of what led to a message."""
        if isinstance(message, str) and isinstance(summary, str):
            self._summaries[message] = summary[:MAX_PROPERTY_CHARS]

    def know(self, message: object) -> None:
        """Remember that a message is of this session."""
        if isinstance(message, str):
            self._messages.add(message)

    def note(self, **properties: object) -> None:
        """Remember properties that are texts, the first of each kind."""
        for name, value in properties.items():
            if isinstance(value, str) and value and not getattr(self, name):
                setattr(self, name, value[:MAX_PROPERTY_CHARS])

    def say(self, speaker: str, text: str, when: object) -> None:
        """Add words. They go on with the turn unless somebody else spoke or something was done in between."""
        text = drop_reminders(text).strip()
        if text:
            turn = self._turn(speaker, when)
            if turn.texts and turn.used_tools:
                turn = self._start(speaker, when)
            turn.texts.append(text)

    def use(self, tool: str, arguments: object, when: object) -> None:
        """Add the use of a tool: the command that was run, or the files that were touched."""
        turn = self._turn(self.agent, when)
        if isinstance(arguments, str):
            paths = _PATCHED.findall(arguments)
            turn.files.update(dict.fromkeys(paths))
            if not paths and (decoded := _decode(arguments)) is not None:
                self.use(tool, decoded, when)
        elif isinstance(arguments, dict):
            for name in _FILE_FIELDS if tool not in _LOOKING else ():
                if isinstance(path := arguments.get(name), str) and path:
                    turn.files[path[:1000]] = None
            for name in (*_COMMAND_FIELDS, "input"):
                command = as_command(arguments.get(name))
                if paths := _PATCHED.findall(command):
                    turn.files.update(dict.fromkeys(paths))
                elif command and name in _COMMAND_FIELDS:
                    turn.commands[cut_line(command)] = None

    def fail(self, output: object, when: object) -> None:
        """Add the complaint of a tool that failed."""
        if complaint := cut_line(text_of(output)):
            self._turn(self.agent, when).failures.append(complaint)

    def _turn(self, speaker: str, when: object) -> Turn:
        if self.turns and self.turns[-1].speaker == speaker:
            self._touch(when)
            return self.turns[-1]
        return self._start(speaker, when)

    def _start(self, speaker: str, when: object) -> Turn:
        self.turns.append(Turn(speaker, self._touch(when)))
        return self.turns[-1]

    def _touch(self, when: object) -> datetime | None:
        time = as_time(when)
        if time is not None and (self.last is None or time > self.last):
            self.last = time
        return time


def as_time(when: object) -> datetime | None:
    """A time as agents write it, in UTC; None where it is none."""
    if not isinstance(when, str) or len(when) > 40:
        return None
    try:
        time = datetime.fromisoformat(when)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def text_of(content: object, depth: int = 0) -> str:
    """The words of a message: a string, or a list of parts of which those with text count."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        if content.get("type") in (None, "text", "input_text", "output_text"):
            return text_of(content.get("text"), depth + 1) if depth < MAX_CONTENT_DEPTH else ""
        return ""
    if isinstance(content, list) and depth < MAX_CONTENT_DEPTH:
        return "\n\n".join(filter(None, (text_of(part, depth + 1) for part in content)))
    return ""


def as_command(value: object) -> str:
    """A command line: a string, or a list of arguments, where a shell's own (`bash -lc`) are left out."""
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)
    return value if isinstance(value, str) else ""


def cut_line(text: str) -> str:
    """The first line that says something, cut."""
    line = next((line.strip() for line in text[:20_000].splitlines() if any(map(str.isalnum, line))), "")
    return f"{line[:MAX_COMMAND_CHARS]}…" if len(line) > MAX_COMMAND_CHARS else line


def drop_reminders(text: str) -> str:
    """A text without what the program itself put into it."""
    opening, closing = _REMINDER
    if opening not in text:
        return text
    kept: list[str] = []
    for part in text.split(opening):
        kept.append(part.partition(closing)[2] if kept else part)
    return "".join(kept)


def _decode(arguments: str) -> dict[str, Any] | None:
    try:
        decoded = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None
