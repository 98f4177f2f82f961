"""Conversations: a day of a Slack channel, a thread of Mattermost, a space of Google Chat. A section a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final

from outcrop.parse.exports.values import line, load, moment, named, read_as_data, record, records, words
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.title import cut_title, file_name, file_stem
from outcrop.parse.writer import TextWriter
from outcrop.records import Document, Heading
from outcrop.records.meta import MetaValue
from outcrop.system.dataclass import dataclass

_MAX_PEOPLE: Final = 100
_SLACK_MARK: Final = re.compile(r"<([@#!]?)([^<>|\n]{1,500})(?:\|([^<>\n]{0,500}))?>")
_GOOGLE_DATE: Final = re.compile(
    r"(?:\w{3,9}, )?(\w{3,9}) (\d{1,2}), (\d{4}) at (\d{1,2}):(\d\d):(\d\d)\s*(AM|PM)?", re.IGNORECASE
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_JOINS: Final = frozenset(
    {"channel_join", "channel_leave", "group_join", "group_leave", "bot_add", "bot_remove"}
)


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who said what and when, whether it answers one, and the names of files that came with it."""

    speaker: str
    when: datetime | None
    text: str
    answers: bool = False
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages with the service and the channel that they are of; `thread` names them where they are one."""

    service: str
    channel: str
    said: tuple[Said, ...]
    thread: str = ""


def read(raw: RawFile) -> Document:
    """A conversation as text; a data file that only looks like one is read as that."""
    conversation = _tell(load(raw.data), raw.path)
    if conversation is None or not conversation.said:
        return read_as_data(raw)
    writer = TextWriter(raw.max_text_chars)
    headings: list[Heading] = []
    for each in conversation.said:
        head = line(named(each.speaker, each.when) + (", in reply" if each.answers else ""), 300)
        files = f"Files: {', '.join(each.files)}" if each.files else ""
        body = "\n\n".join(filter(None, (each.text, files)))
        start = writer.write(f"{head}\n{body}" if head else body)
        if head and len(headings) < MAX_HEADINGS:
            headings.append(Heading(1, head, start))
    return Document(
        text=writer.finish(),
        kind="chat",
        title=_title(conversation, raw.path),
        headings=tuple(headings),
        meta=_properties(conversation),
    )


def _title(conversation: Conversation, path: str) -> str:
    days = sorted(f"{each.when:%Y-%m-%d}" for each in conversation.said if each.when)
    if conversation.thread:
        first = cut_title(conversation.said[0].text)
        return first or conversation.channel or file_stem(path)
    return " ".join(filter(None, (conversation.channel, days[0] if days else ""))) or file_stem(path)


def _properties(conversation: Conversation) -> dict[str, MetaValue]:
    times = sorted(each.when for each in conversation.said if each.when)
    people = tuple(dict.fromkeys(each.speaker for each in conversation.said if each.speaker))[:_MAX_PEOPLE]
    properties: dict[str, MetaValue | None] = {
        "service": conversation.service,
        "channel": conversation.channel,
        "thread": conversation.thread,
        "from": conversation.said[0].speaker,
        "people": people,
        "started": times[0] if times else None,
        "date": times[-1] if times else None,
        "messages": len(conversation.said),
    }
    return {name: value for name, value in properties.items() if value}


def _tell(value: object, path: str) -> Conversation | None:
    """The conversation in a data file, by the fields that only its service writes."""
    if isinstance(value, list):
        messages = records(value)
        if messages and all(each.get("type") == "message" and "ts" in each for each in messages[:5]):
            folder = PurePosixPath(path.replace("\\", "/")).parent.name
            return Conversation("Slack", f"#{folder}" if folder else "", tuple(_slack(messages)))
        return None
    top = record(value)
    post = record(top.get("post") or top.get("direct_post"))
    if top.get("type") in ("post", "direct_post") and "message" in post:
        return _mattermost(post)
    messages = records(top.get("messages"))
    if messages and "creator" in messages[0]:
        folder = PurePosixPath(path.replace("\\", "/")).parent.name
        return Conversation("Google Chat", folder, tuple(_google(messages)))
    return None


# ------------------------------------------------------------------ Slack


def _slack(messages: list[dict[str, Any]]) -> Iterator[Said]:
    names = {line(each.get("user")): name for each in messages if (name := _slack_name(each))}
    for each in messages:
        if line(each.get("subtype")) in _JOINS:
            continue
        user = line(each.get("user"))
        speaker = _slack_name(each) or names.get(user) or line(each.get("username")) or user
        text = _slack_text(words(each.get("text")), names)
        parts = [words(more.get("text") or more.get("fallback")) for more in records(each.get("attachments"))]
        text = "\n\n".join(filter(None, (text, *(_slack_text(part, names) for part in parts))))
        files = tuple(
            filter(None, (line(file.get("name") or file.get("title")) for file in records(each.get("files"))))
        )
        answers = each.get("thread_ts") not in (None, each.get("ts"))
        if text or files:
            yield Said(speaker, moment(each.get("ts")), text, answers, files[:20])


def _slack_name(message: dict[str, Any]) -> str:
    profile = record(message.get("user_profile"))
    return line(profile.get("real_name") or profile.get("display_name") or profile.get("name"))


def _slack_text(text: str, names: dict[str, str]) -> str:
    def spell(match: re.Match[str]) -> str:
        mark, target, label = match.groups()
        if mark == "@":
            return f"@{label or names.get(target, target)}"
        if mark == "#":
            return f"#{label or target}"
        if mark == "!":
            return f"@{label or target.partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    text = _SLACK_MARK.sub(spell, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


# ------------------------------------------------------------------ Mattermost and Google


def _mattermost(post: dict[str, Any]) -> Conversation:
    def said(each: dict[str, Any], answers: bool) -> Said:
        files = tuple(
            filter(None, (file_name(line(file.get("path"), 1000)) for file in records(each.get("attachments"))))
        )
        return Said(
            line(each.get("user")),
            moment(each.get("create_at")),
            words(each.get("message")),
            answers,
            files[:20],
        )

    members = post.get("channel_members")
    with_whom = ", ".join(filter(None, map(line, members[:20]))) if isinstance(members, list) else ""
    channel = line(post.get("channel")) or with_whom
    messages = [said(post, False), *(said(reply, True) for reply in records(post.get("replies")))]
    thread = f"{channel} {post.get('create_at')}" if isinstance(post.get("create_at"), int) else channel
    kept = tuple(each for each in messages if each.text or each.files)
    return Conversation("Mattermost", channel, kept, thread[:400] or "post")


def _google(messages: list[dict[str, Any]]) -> Iterator[Said]:
    for each in messages:
        creator = record(each.get("creator"))
        speaker = line(creator.get("name") or creator.get("email"))
        files = tuple(
            filter(None, (line(file.get("original_name")) for file in records(each.get("attached_files"))))
        )
        text = words(each.get("text"))
        if text or files:
            yield Said(
                speaker,
                _google_date(each.get("created_date")),
                text,
                "quoted_message_metadata" in each,
                files[:20],
            )


def _google_date(value: object) -> datetime | None:
    """`Tuesday, May 3, 2022 at 2:12:03 PM UTC`."""
    match = _GOOGLE_DATE.match(line(value).replace("\u202f", " "))
    if match is None or match[1][:3].lower() not in _MONTHS:
        return None
    hour = int(match[4]) % 12 + 12 * (match[7].upper() == "PM") if match[7] else int(match[4])
    month = _MONTHS.index(match[1][:3].lower()) + 1
    try:
        return datetime(int(match[3]), month, int(match[2]), hour, int(match[5]), int(match[6]), tzinfo=UTC)
    except ValueError:
        return None
