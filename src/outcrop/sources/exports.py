"""Files that services export with many records in one: issues of GitHub, GitLab and Jira, posts of Mattermost.

Each record is a part of its file, named by what the service calls it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final

from outcrop.errors import SourceError
from outcrop.records import PART_OF, Inside, SourceFile
from outcrop.sources.files import open_plain, read_plain, take_name
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted

HEAD_BYTES: Final = 8 * 1024
MAX_RECORDS: Final = 200_000
_SUFFIXES: Final = frozenset({".json", ".jsonl", ".ndjson"})
ISSUE: Final = "application/x-issue+json"
CHAT: Final = "application/x-chat+json"

_VERSION: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"version"')
_JIRA: Final = re.compile(r'"issues"\s{0,20}:\s{0,20}\[')
_FIELDS: Final = (
    ("mattermost", (b'"type"', b'"version"')),
    ("jira", (b'"issues"', b'"fields"', b'"key"')),
    ("issues", (b'"number"', b'"title"', b'"body"')),
    ("issues", (b'"iid"', b'"title"', b'"description"')),
)


@dataclass(slots=True)
class Export:
    """What was found in a file: a source for each record, what it is in words, and what its records are called."""

    title: str
    records: str
    parts: list[SourceFile] = field(default_factory=list)

    def describe(self) -> str:
        """The export in a line."""
        count = len(self.parts)
        return f"{self.title}: {count:,} {self.records if count != 1 else self.records.removesuffix('s')}."


def export_kind(uri: str) -> str | None:
    """What export a file is, by its name and the fields in its first bytes; None for any other."""
    if PurePosixPath(uri).suffix.lower() not in _SUFFIXES:
        return None
    try:
        with open_plain(Path(uri)) as stream:
            head = stream.read(HEAD_BYTES)
    except (SourceError, OSError):
        return None
    if head.lstrip()[:1] not in (b"[", b"{"):
        return None
    for kind, names in _FIELDS:
        if all(name in head for name in names):
            return kind if kind != "mattermost" or _VERSION.match(head) else None
    return None


def open_export(file: SourceFile, kind: str, max_bytes: int) -> Export | None:
    """The records of an export; None for what only looks like one. SourceError when it cannot be read."""
    data = read_plain(Path(file.uri), max_bytes)
    text = data.decode("utf-8", "surrogateescape")
    name = PurePosixPath(file.path).name
    found = (
        Export(f"Posts in {name}", "posts") if kind == "mattermost" else Export(f"Issues in {name}", "issues")
    )
    names: set[str] = set()
    for record, start, end in _find_records(text, kind):
        check_wanted()
        about = _name_post(record) if kind == "mattermost" else _name_issue(record)
        if about is None:
            continue
        if len(found.parts) == MAX_RECORDS:
            break
        id_, shown = about
        id_ = take_name(id_, names)
        found.parts.append(
            SourceFile(
                uri=f"{file.uri}{PART_OF}{id_}",
                path=f"{file.path}/{shown}",
                origin="part",
                root=file.root,
                mtime_ns=file.mtime_ns,
                size=end - start,
                media_type=CHAT if kind == "mattermost" else ISSUE,
                inside=Inside(file.uri, start, end),
            )
        )
    return found if found.parts else None


def _find_records(text: str, kind: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The objects of a list, or of lines, and where their bytes lie."""
    decoder = json.JSONDecoder()
    begun = _JIRA.search(text) if kind == "jira" else None
    at = begun.end() if begun else len(text) - len(text.lstrip("\ufeff \t\r\n["))
    counted = counted_bytes = 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        counted_bytes += len(text[counted:at].encode("utf-8", "surrogateescape"))
        size = len(text[at:end].encode("utf-8", "surrogateescape"))
        if isinstance(value, dict):
            yield value, counted_bytes, counted_bytes + size
        counted, counted_bytes = end, counted_bytes + size
        rest = _BETWEEN.match(text, end)
        at = rest.end() if rest else len(text)


_BETWEEN: Final = re.compile(r"[\s,]*")


def _name_issue(record: dict[str, Any]) -> tuple[str, str] | None:
    fields = record.get("fields")
    summary = fields.get("summary") if isinstance(fields, dict) else None
    number = record.get("key") or record.get("number") or record.get("iid")
    title = summary or record.get("title")
    if not isinstance(number, str | int) or not isinstance(title, str) or not title.strip():
        return None
    key = _plain(str(number))[:80] if isinstance(number, str) else f"#{number}"[:80]
    place = record.get("repository_url") or record.get("project_id") or ""
    of = _plain(str(place))[-100:] if isinstance(place, str | int) and place else ""
    return f"{of} {key}".strip(), f"{key} {_plain(title)[:100]}".strip()


def _name_post(record: dict[str, Any]) -> tuple[str, str] | None:
    post = record.get("post") or record.get("direct_post")
    if not isinstance(post, dict) or not isinstance(post.get("message"), str):
        return None
    channel, user = _plain(str(post.get("channel") or "direct"))[:80], _plain(str(post.get("user") or ""))[:80]
    created = post.get("create_at")
    created = created if isinstance(created, int) else 0
    try:
        when = f"{datetime.fromtimestamp(created / 1000, UTC):%Y-%m-%d %H.%M}"
    except (ValueError, OverflowError, OSError):
        when = ""
    team = _plain(str(post.get("team") or ""))[:80]
    return f"{team} {channel} {created % 10**15} {user}".strip(), f"{channel}/{when} {user}".strip()


def _plain(text: str) -> str:
    return " ".join("".join(char if char.isprintable() and char not in "/\\" else " " for char in text).split())
