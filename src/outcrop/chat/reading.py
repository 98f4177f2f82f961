"""A message of a model as its frames come: its text, the tools it calls, the chances of its first word."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from outcrop.system.dataclass import dataclass

_MAX_CALLS: Final = 16
"""Calls that one message may make; a model that asks for more is in a loop."""
_MAX_ARGUMENT_CHARACTERS: Final = 20_000
"""A query and a number need a hundred; what is longer is cut, and the model is told that it is no JSON."""
_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
"""Where servers put a model's reasoning. Not shown, but a sign of life."""


class Malformed(Exception):
    """A frame that breaks the protocol."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the model wants called, with its arguments as it wrote them."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Part:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Reading:
    """One message as far as it has come. `started`: the model said, thought or called something. `chances` are those
    of its first word."""

    started: bool = False
    chances: Mapping[str, float] = field(default_factory=dict)
    finish: str = ""
    frames: int = 0
    _spoken: bool = False
    _calls: list[_Part] = field(default_factory=list)
    _by_index: dict[int, _Part] = field(default_factory=dict)

    def take(self, data: bytes) -> str:
        """Add a frame; return the text it adds to the answer, if any. Raises Malformed or ServerSays."""
        frame = _load(data)
        self.frames += 1
        if frame.get("error"):
            raise ServerSays(data)
        choices = frame.get("choices") or []
        if not isinstance(choices, list):
            raise Malformed
        if not choices:
            return ""  # how many tokens were used, and other remarks
        choice = choices[0]
        said = (choice.get("delta") or choice.get("message") or {}) if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            raise Malformed
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            self.finish = finish
        self._take_calls(said.get("tool_calls") or [])
        text = said.get("content") or said.get("refusal") or ""
        if not isinstance(text, str):
            raise Malformed
        if text and not self._spoken:
            self._spoken = True
            self.chances = _chances(choice.get("logprobs"))
        if text or self._calls or any(said.get(name) for name in _THOUGHTS):
            self.started = True
        return text

    def calls(self) -> tuple[Call, ...]:
        """The message's calls in order; each has an id, the model's or ours."""
        return tuple(
            Call(part.id or f"call_{number}", part.name, part.arguments)
            for number, part in enumerate(self._calls)
        )

    def _take_calls(self, fragments: Any) -> None:
        if not isinstance(fragments, list) or not all(isinstance(item, dict) for item in fragments):
            raise Malformed
        for fragment in fragments:
            function = fragment.get("function") or {}
            if not isinstance(function, dict):
                raise Malformed
            part = self._part_of(fragment, function)
            if part is None:
                continue
            part.id = part.id or _text(fragment.get("id"))
            part.name = part.name or _text(function.get("name"))
            part.arguments += _arguments(function.get("arguments"))
            part.arguments = part.arguments[:_MAX_ARGUMENT_CHARACTERS]

    def _part_of(self, fragment: dict[str, Any], function: dict[str, Any]) -> _Part | None:
        """The call a fragment belongs to: that of its index, unless it has another id, since some servers number all
        calls 0; without an index the latest, unless it names a function itself."""
        index, name, named = fragment.get("index"), _text(function.get("name")), _text(fragment.get("id"))
        known = self._by_index.get(index) if isinstance(index, int) else None
        if known is None and not isinstance(index, int) and self._calls and not name:
            known = self._calls[-1]
        if known is not None and not (name and named and known.id and named != known.id):
            return known
        if len(self._calls) == _MAX_CALLS:
            return None
        part = _Part()
        self._calls.append(part)
        if isinstance(index, int):
            self._by_index[index] = part
        return part


class ServerSays(Exception):
    """A frame that reports an error; `data` is the frame."""

    def __init__(self, data: bytes) -> None:
        super().__init__("the server reports an error")
        self.data = data


def _load(data: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(frame, dict):
        raise Malformed
    return frame


def _chances(logprobs: Any) -> dict[str, float]:
    """What a frame tells of its first token; nothing where it is told in another form."""
    try:
        rows = logprobs["content"][0]["top_logprobs"]
        told = [(row["token"].strip().casefold(), math.exp(row["logprob"])) for row in rows]
    except (TypeError, LookupError, AttributeError, OverflowError):
        return {}
    chances: dict[str, float] = {}
    for word, chance in told:
        chances[word] = chances.get(word, 0.0) + chance
    return chances


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments are JSON as text, in pieces; some servers send the object itself."""
    return json.dumps(value) if isinstance(value, dict) else _text(value)
