"""A session file as a document: a section a turn, headed by who spoke and when."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from outcrop.parse.data import read_json, read_json_lines
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.roles import role_of
from outcrop.parse.sessions.agents import GEMINI, keep_latest, take, tell_agent
from outcrop.parse.sessions.turns import MAX_FILES, MAX_LISTED, Session, Turn
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter, clean_text, too_long
from outcrop.records import SESSION, Document, Heading

TOLD_WITHIN: Final = 50
"""Records by which the agent is told: it may begin with notes of its own."""


def read(raw: RawFile) -> Document:
    """A session of Claude Code, Codex or Gemini CLI."""
    session = _read_session(raw.data)
    if session is None:
        return _read_data(raw)
    writer = TextWriter(raw.max_text_chars)
    headings: list[Heading] = []
    for turn in session.turns:
        body = _body(turn, session.folder)
        if body:
            head = _head(turn)
            start = writer.write(f"{head}\n{body}")
            if len(headings) < MAX_HEADINGS:
                headings.append(Heading(1, head, start))
    return Document(
        text=writer.finish(),
        kind=SESSION,
        title=cut_title(clean_text(session.title)) or _first_words(session) or file_stem(raw.path),
        headings=tuple(headings),
        meta=_properties(session),
        remark=_remark(session),
    )


def _read_data(raw: RawFile) -> Document:
    """What has the fields of a session and is none: the data file that its name says."""
    text, remark = decode_with_remark(raw.data, raw.charset)
    if len(text) > raw.max_text_chars:
        raise too_long(raw.max_text_chars)
    as_lines = raw.path.lower().endswith((".jsonl", ".ndjson"))
    document = read_json_lines(text, raw.path) if as_lines else read_json(text, raw.path)
    return replace(document, role=role_of(raw.path, text), remark=remark)


def _read_session(data: bytes) -> Session | None:
    records = _records(data)
    first = list(islice(records, TOLD_WITHIN))
    agent = next(filter(None, map(tell_agent, first)), None)
    if agent is None:
        return None
    session = Session(agent)
    everything = chain(first, records)
    for record in keep_latest(everything) if agent == GEMINI else everything:
        if record is _DAMAGED:
            session.damaged += 1
        else:
            take(session, record)
    return session


_DAMAGED: Final = object()
_LINE: Final = re.compile(r"[^\n]+")


def _records(data: bytes) -> Iterator[object]:
    """The records of a file: a line each, or all in one JSON text."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if text.lstrip()[:1] == "[" or "\n" in text.strip()[:3]:  # written over several lines
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            whole = None
        if whole is not None:
            yield from whole if isinstance(whole, list) else (whole,)
            return
    for found in _LINE.finditer(text):
        line = found[0].strip()
        if line:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield _DAMAGED


def _head(turn: Turn) -> str:
    return f"{turn.speaker}, {turn.time:%Y-%m-%d %H:%M}" if turn.time else turn.speaker


def _body(turn: Turn, folder: str) -> str:
    parts = list(turn.texts)
    done = [f"Ran: {command}" for command in list(turn.commands)[:MAX_LISTED]]
    done += [f"Failed: {complaint}" for complaint in turn.failures[:MAX_LISTED]]
    files = [_below(path, folder) for path in turn.files]
    if files:
        more = f" and {len(files) - MAX_LISTED} more" if len(files) > MAX_LISTED else ""
        done.append(f"Files: {', '.join(files[:MAX_LISTED])}{more}")
    if done:
        parts.append("\n".join(done))
    return "\n\n".join(parts)


def _below(path: str, folder: str) -> str:
    """A path as the session's folder sees it."""
    inner = path.removeprefix(f"{folder}/") if folder else path
    return " ".join(clean_text(inner).split())


def _first_words(session: Session) -> str:
    return next((cut_title(clean_text(text)) for turn in session.turns for text in turn.texts), "")


def _properties(session: Session) -> dict[str, str]:
    """What filters and lists show. The date is that of the last turn, so `since` finds sessions that went on."""
    files = dict.fromkeys(_below(path, session.folder) for turn in session.turns for path in turn.files)
    started = next((turn.time for turn in session.turns if turn.time), None)
    properties = {
        "agent": session.agent,
        "session": session.id,
        "folder": session.folder,
        "branch": session.branch,
        "started": started.isoformat() if started else "",
        "date": session.last.isoformat() if session.last else "",
        "files": "\n".join(islice(files, MAX_FILES)),
    }
    return {name: clean_text(value) for name, value in properties.items() if value}


def _remark(session: Session) -> str:
    counts = ((session.damaged, "damaged"), (session.unknown, "of unknown kind"))
    told = [f"{count} {'line' if count == 1 else 'lines'} {what}" for count, what in counts if count]
    return f"{' and '.join(told)} left out" if told else ""
