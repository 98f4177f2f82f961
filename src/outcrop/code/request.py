"""A conversation to what should be searched for: the latest request, what it borrows, and what it points at.

The latest user message is the query, as a search reads any pasted text (`read/question.py`); one that makes no sense
alone borrows from the turns before it. Whatever a message says, it can only make something preferred, never compulsory:
much of a conversation is text that was retrieved or generated. Time is linear in the length of any input.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from outcrop.code.follow_up import read_follow_up
from outcrop.errors import QueryError
from outcrop.index.query import MAX_QUERY_CHARS
from outcrop.read import mentions
from outcrop.read.question import Reading, both_ends, is_meaningful, read_text, without_context
from outcrop.read.traces import innermost_first
from outcrop.records import Directive, Message
from outcrop.system.dataclass import dataclass
from outcrop.text.terms import WORD

# How much of a conversation is read and kept: the numbers were not measured.
MAX_QUERY_WORDS: Final = 400
"""What a question borrows beyond that repeats it, and every word costs a look-up."""
MAX_MESSAGE_CHARS: Final = 400_000
MAX_DIRECTIVES: Final = 24
MAX_MENTIONED: Final = 20
MENTIONED_PER_MESSAGE: Final = 8
"""So that one long answer does not push out what was said before it."""
EARLIER_MESSAGES: Final = 12
NAMES_FROM_PASTE: Final = 12
FRAMES_NAMED: Final = 3
"""Functions of the innermost frames that become words of the query; further out they are about something else."""
FOLLOW_UP_WORDS: Final = 9
"""A longer message says by itself what it is about."""
BORROWED_TURNS: Final = 3
BORROWED_WORDS: Final = 40

_POINTING: Final = re.compile(
    r"(?i)\b(?:it|its|that|this|these|those|they|them|their|there|same|above|former|latter|one|ones)\b"
)
_LEADING_ON: Final = re.compile(r"(?i)\s*(?:and|now|but|also|then|again|what about|how about)\b")


@dataclass(frozen=True, slots=True)
class Request:
    """What a conversation asks for: a text to search by, what is to be preferred, and names it spoke of before."""

    query: str
    directives: tuple[Directive, ...] = ()
    mentioned: tuple[str, ...] = ()


def read_conversation(messages: Sequence[Message]) -> Request:
    """What to search for, from the turns of a conversation, oldest first."""
    turns = [
        (role, message.content)
        for message in messages
        if (role := message.role.strip().lower()) not in {"system", "developer"} and message.content.strip()
    ]
    latest = max((i for i, (role, _) in enumerate(turns) if role == "user"), default=None)
    if latest is None:
        raise QueryError(
            "there is no user message with text: send messages with at least one "
            '{"role": "user", "content": "the question"}'
        )
    asked = without_context(turns[latest][1])
    reading = read_text(asked, MAX_MESSAGE_CHARS)
    borrowed = _borrow(reading, [content for role, content in turns[:latest] if role == "user"])
    query = _add_topic(asked, borrowed) if borrowed else both_ends(asked, MAX_QUERY_CHARS).strip()
    if not WORD.search(query):
        raise QueryError("the latest user message holds no words: say what to look for, or paste a whole error")
    directives = _directives_of([reading, *borrowed])
    said = set(query.split()) | {directive.target for directive in directives}
    mentioned = [name for name in _names_before(turns[:latest]) if name not in said]
    return Request(query, directives, tuple(mentioned[:MAX_MENTIONED]))


# ------------------------------------------------------------------ what it borrows


def _borrow(reading: Reading, earlier: Sequence[str]) -> list[Reading]:
    """For a message that makes no sense alone, the user turns before it, back to one that does."""
    borrowed: list[Reading] = []
    current = reading
    for content in reversed(earlier[-BORROWED_TURNS:]):
        if not _follows_up(current):
            break
        current = read_text(content)
        borrowed.append(current)
    return borrowed


def _follows_up(reading: Reading) -> bool:
    if reading.trace.errors or reading.trace.frames or reading.pasted:
        return False
    text = mentions.plain_text(reading.text)
    words = text.split()
    if len(words) > FOLLOW_UP_WORDS:
        return False
    named = bool(mentions.NAME.search(text)) or any(True for _ in mentions.paths_in(text))
    other = read_follow_up(text)
    if other is not None:
        return other.leans_on(named=named)
    meaningful = sum(map(is_meaningful, words))
    if _POINTING.search(text):
        return meaningful <= 4
    return not named and (meaningful <= 1 or (meaningful <= 3 and bool(_LEADING_ON.match(text))))


def _add_topic(asked: str, borrowed: Sequence[Reading]) -> str:
    """The request in its own words, then what the turns before it were about: their words, errors and names."""
    words = mentions.plain_text(asked).split()
    more: list[str] = []
    for earlier in borrowed:
        topic = [word for word in mentions.plain_text(earlier.text).split() if is_meaningful(word)]
        more += [*topic[:BORROWED_WORDS], *earlier.errors, *_names_in_paste(earlier)]
    said = set(words)
    added = dict.fromkeys(word for item in more for word in item.split() if word not in said)
    return " ".join(word[: mentions.MAX_NAME_CHARS] for word in islice((*words, *added), MAX_QUERY_WORDS))


def _names_in_paste(reading: Reading) -> list[str]:
    """Names out of traces, code, logs and quotes that are likely what the question is about."""
    frames = [frame.name for frame in innermost_first(reading.trace.frames) if frame.name][:FRAMES_NAMED]
    return list(dict.fromkeys((*frames, *mentions.pasted_names(reading.pasted))))[:NAMES_FROM_PASTE]


# ------------------------------------------------------------------ what it points at


def _directives_of(readings: Sequence[Reading]) -> tuple[Directive, ...]:
    """Paths that were typed, then frames, names in backticks, and places in what was pasted; latest message first."""
    targets: list[str] = []
    for reading in readings:
        text = reading.text
        targets += mentions.paths_in(text)
        targets += (frame.target for frame in innermost_first(reading.trace.frames))
        targets += mentions.ticked_names(text)
        targets += (
            path for line in reading.pasted for path in mentions.paths_in(line) if re.search(r":\d+$", path)
        )
    return tuple(Directive(target) for target in islice(dict.fromkeys(targets), MAX_DIRECTIVES))


def _names_before(turns: Sequence[tuple[str, str]]) -> list[str]:
    """Paths and names of the turns before, the latest turn first."""
    found: dict[str, None] = {}
    for _, content in reversed(turns[-EARLIER_MESSAGES:]):
        reading = read_text(content)
        text = reading.text
        names = (
            *mentions.paths_in(text),
            *mentions.ticked_names(text),
            *(frame.target for frame in innermost_first(reading.trace.frames)),
            *mentions.spoken_names(text),
            *_names_in_paste(reading),
        )
        found.update(dict.fromkeys(islice(dict.fromkeys(names), MENTIONED_PER_MESSAGE)))
    return list(found)
