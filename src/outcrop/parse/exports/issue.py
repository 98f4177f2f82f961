"""One issue of GitHub, GitLab or Jira, with its comments."""

from __future__ import annotations

from typing import Any, Final

from outcrop.parse.exports.values import (
    MAX_LISTED,
    line,
    load,
    moment,
    named,
    read_as_data,
    record,
    records,
    words,
)
from outcrop.parse.limits import MAX_HEADINGS, RawFile
from outcrop.parse.title import cut_title
from outcrop.parse.writer import TextWriter
from outcrop.records import Document, Heading
from outcrop.records.meta import MetaValue

_MAX_DEPTH: Final = 40
_BLOCKS: Final = frozenset({"paragraph", "heading", "listItem", "codeBlock", "blockquote", "tableRow", "rule"})


def read(raw: RawFile) -> Document:
    """An issue as text: what it says, then each comment under who wrote it and when."""
    issue = record(load(raw.data))
    fields = record(issue.get("fields"))
    key = line(issue.get("key")) or line(f"#{issue.get('number', issue.get('iid', ''))}")
    title = line(fields.get("summary") or issue.get("title"), 300)
    if not title:
        return read_as_data(raw)
    author = fields.get("reporter") or fields.get("creator") or issue.get("user") or issue.get("author")
    created = fields.get("created") or issue.get("created_at") or issue.get("createdAt")
    body = fields.get("description") if fields else issue.get("body", issue.get("description"))
    writer = TextWriter(raw.max_text_chars)
    headings: list[Heading] = []

    def say(who: object, when: object, what: object) -> None:
        head, text = line(named(_person(who), moment(when)), 300), _prose(what)
        if text:
            start = writer.write(f"{head}\n{text}" if head else text)
            if head and len(headings) < MAX_HEADINGS:
                headings.append(Heading(1, head, start))

    writer.write(f"{key} {title}")
    say(author, created, body)
    for comment in _comments(issue, fields):
        about = comment.get("author") or comment.get("user")
        when = comment.get("created") or comment.get("created_at") or comment.get("createdAt")
        say(about, when, comment.get("body"))
    return Document(
        text=writer.finish(),
        kind="issue",
        title=cut_title(f"{key} {title}"),
        headings=tuple(headings),
        tags=_labels(issue, fields),
        meta=_properties(issue, fields, key, _person(author), created),
    )


def _comments(issue: dict[str, Any], fields: dict[str, Any]) -> list[dict[str, Any]]:
    found = records(record(fields.get("comment")).get("comments")) or records(issue.get("comments"))
    return found or records(issue.get("notes"))


def _labels(issue: dict[str, Any], fields: dict[str, Any]) -> tuple[str, ...]:
    given = fields.get("labels") or issue.get("labels")
    labels = given[:MAX_LISTED] if isinstance(given, list) else []
    names = (line(record(label).get("name") or label) for label in labels)
    return tuple(dict.fromkeys(filter(None, names)))


def _properties(
    issue: dict[str, Any], fields: dict[str, Any], key: str, author: str, created: object
) -> dict[str, MetaValue]:
    status = record(fields.get("status")).get("name") or issue.get("state")
    assigned = fields.get("assignee") or issue.get("assignee")
    several = [assigned] if assigned else records(issue.get("assignees"))
    updated = fields.get("updated") or issue.get("updated_at") or issue.get("updatedAt")
    number = issue.get("number", issue.get("iid"))
    found: dict[str, MetaValue | None] = {
        "key": key,
        "number": number if isinstance(number, int) else None,
        "state": line(status).lower(),
        "author": author,
        "assignee": tuple(filter(None, map(_person, several))),
        "type": line(record(fields.get("issuetype")).get("name")),
        "priority": line(record(fields.get("priority")).get("name")),
        "milestone": line(record(issue.get("milestone")).get("title")),
        "url": line(
            issue.get("html_url") or issue.get("web_url") or issue.get("url") or issue.get("self"), 1000
        ),
        "created": moment(created),
        "date": moment(updated) or moment(created),
    }
    return {name: value for name, value in found.items() if value}


def _person(value: object) -> str:
    given = record(value)
    name = given.get("displayName") or given.get("login") or given.get("name") or given.get("username")
    return line(name or value)


def _prose(value: object) -> str:
    """A text, or Atlassian's document format as one."""
    if isinstance(value, str):
        return words(value)
    parts: list[str] = []
    waiting: list[tuple[object, int]] = [(value, 0)]
    while waiting:
        node, depth = waiting.pop()
        given = record(node)
        if isinstance(given.get("text"), str):
            parts.append(given["text"])
        if given.get("type") in _BLOCKS:
            parts.append("\n")
        if depth < _MAX_DEPTH:
            inner = records(given.get("content"))
            waiting.extend((each, depth + 1) for each in reversed(inner))
    return words("".join(parts))
