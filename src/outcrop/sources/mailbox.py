"""Mail on disk: the messages of an mbox file, and what is attached to a message, as parts of their file.

A message is named by its Message-ID, so that a mailbox that grows is read again only where it grew. The bytes are
passed over once, here, where the file is; what a message says is for `parse`.
"""

from __future__ import annotations

import mmap
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from outcrop.errors import SourceError
from outcrop.records import PART_OF, Failure, Inside, Skipped, SourceFile
from outcrop.records.meta import MetaValue
from outcrop.sources.exclusions import binary_kind
from outcrop.sources.files import explain, open_plain, read_plain, take_name
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import check_wanted
from outcrop.text.mime import (
    Content,
    Message,
    Part,
    find_id,
    find_references,
    looks_like_message,
    read_addresses,
    read_date,
    read_headers,
    read_message,
)
from outcrop.text.threads import find_threads

MAX_MESSAGES: Final = 500_000
"""Of one mailbox: what is known of each takes a kilobyte (not measured)."""
MAX_ATTACHED_DEPTH: Final = 3
"""Messages that are attached to messages."""
HEAD_BYTES: Final = 256
LINKS_WITHIN: Final = 64 * 1024
"""Bytes of a message in which its references are looked for."""
_MAX_ID_CHARS: Final = 200
_SHOWN_PEOPLE: Final = 20

# A day, month, time and year follow the sender; archives of lists write `From ann at example.org  Thu May  2 …`.
_FROM_LINE: Final = re.compile(
    rb"From [^\n]{0,400}?\d{1,2}:\d\d(?::\d\d)?[^\n]{0,60}\r?\n(?=[!-9;-~]{1,76}[ \t]*:|[>\r\n])"
)
_MAILBOX_SUFFIXES: Final = frozenset({".mbox", ".mbx", ".mboxrd", ".mboxcl"})
_UNNAMED: Final = frozenset({"", ".txt"})
_SIGNATURES: Final = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature",
     "application/pgp-keys", "application/pgp-encrypted", "message/delivery-status"}
)  # fmt: skip

_AS_IT_IS: Final = ("", "7bit", "8bit", "binary")
MESSAGE: Final = "message/rfc822"
About = tuple[tuple[str, MetaValue], ...]
MailKind = Literal["message", "mailbox"]


def mail_kind(uri: str) -> MailKind | None:
    """Whether a file is a message or a mailbox: by its name, where that does not tell by its first line."""
    folder, _, name = uri.replace("\\", "/").rpartition("/")
    suffix = PurePosixPath(name).suffix.lower()
    if suffix == ".eml":
        return "message"
    in_maildir = folder.rpartition("/")[2] in ("cur", "new")
    if suffix not in _MAILBOX_SUFFIXES and suffix not in _UNNAMED and not in_maildir:
        return None
    try:
        with open_plain(Path(uri)) as stream:
            head = stream.read(HEAD_BYTES)
    except (SourceError, OSError):
        return None  # whoever reads it says why that fails
    if in_maildir:
        return "message" if looks_like_message(head) else None
    return "mailbox" if head.startswith(b"From ") and re.match(rb"From [^\n]*\d{1,2}:\d\d", head) else None


@dataclass(slots=True)
class Mailbox:
    """What was found in a mailbox: a source for each message and each attachment, and what to say of the whole."""

    parts: list[SourceFile] = field(default_factory=list)
    notes: list[Skipped | Failure] = field(default_factory=list)
    messages: int = 0
    threads: int = 0
    people: Counter[str] = field(default_factory=Counter)
    first: str = ""
    last: str = ""

    def describe(self, name: str) -> str:
        """The mailbox in some lines."""
        span = f", {self.first} to {self.last}" if self.first else ""
        people = ", ".join(name for name, _ in self.people.most_common(_SHOWN_PEOPLE))
        messages = "1 message" if self.messages == 1 else f"{self.messages:,} messages"
        threads = "1 thread" if self.threads == 1 else f"{self.threads:,} threads"
        lines = [f"Mailbox {name}: {messages} in {threads}{span}."]
        return "\n".join([*lines, f"Written by {people}." if people else ""]).strip()


def open_mailbox(file: SourceFile) -> Mailbox:
    """The messages of an mbox file. SourceError when it cannot be read."""
    found = Mailbox()
    try:
        with open_plain(Path(file.uri)) as stream, _mapped(stream.fileno()) as data:
            _take_messages(found, file, data)
    except (OSError, ValueError) as error:
        raise SourceError(f"{file.uri} cannot be read: {explain(error)}") from error
    return found


def _take_messages(found: Mailbox, file: SourceFile, data: mmap.mmap) -> None:
    names: set[str] = set()
    heads: list[tuple[SourceFile, Message]] = []
    for start, end in _find_messages(data):
        if len(heads) == MAX_MESSAGES:
            reason = f"holds more than {MAX_MESSAGES:,} messages; the last ones are left out, split it"
            found.notes.append(Failure(file.path, reason))
            break
        check_wanted()
        heads.append(_take_message(file, data, start, end, names))
        _note_message(found, heads[-1][1])
    links = ((message.id or source.uri, find_references(message.headers)) for source, message in heads)
    threads = find_threads(links)
    found.messages, found.threads = len(heads), len(set(threads.values()))
    for source, message in heads:
        known = in_thread(source, threads[message.id or source.uri])
        found.parts.append(known)
        for item in find_attachments(known, message, data):
            if isinstance(item, SourceFile):
                found.parts.append(item)
            else:
                found.notes.append(item)


def _inside(source: SourceFile) -> Inside:
    assert source.inside is not None  # noqa: S101  every part has one
    return source.inside


def _mapped(descriptor: int) -> mmap.mmap:
    return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)


def _find_messages(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Where each message lies, without its `From ` line."""
    begun: int | None = None
    line = 0
    while line >= 0:
        match = _FROM_LINE.match(data, line)
        if match is not None and (begun is None or _blank_before(data, line)):
            if begun is not None:
                yield begun, max(line - _blank_before(data, line), begun)
            begun = match.end()
        line = data.find(b"\nFrom ", line) + 1 or -1
    if begun is not None:
        yield begun, max(len(data) - _blank_before(data, len(data)), begun)


def _blank_before(data: mmap.mmap, line: int) -> int:
    """The length of the empty line before a `From ` line, which ends a message; 0 where there is none."""
    if data[max(line - 2, 0) : line] == b"\n\n":
        return 1
    return 2 if data[max(line - 3, 0) : line] == b"\n\r\n" else 0


def _take_message(
    file: SourceFile, data: mmap.mmap, start: int, end: int, names: set[str]
) -> tuple[SourceFile, Message]:
    """The source of a message, and its structure as far as it has one."""
    headers, body = read_headers(data, start, end)
    message = Message(headers)
    if "multipart/" in headers.get("content-type", "").lower():
        message = read_message(data, start, end)
    name = find_id(headers) or sha256(data[start:body]).hexdigest()[:32]
    name = _as_name(name)
    name = take_name(name, names)
    return (
        SourceFile(
            uri=f"{file.uri}{PART_OF}{name}",
            path=f"{file.path}/{_shown_name(headers)}",
            origin="part",
            root=file.root,
            mtime_ns=file.mtime_ns,
            size=end - start,
            media_type=MESSAGE,
            inside=Inside(file.uri, start, end),
        ),
        message,
    )


def _as_name(id_: str) -> str:
    """A Message-ID as part of a name: printable, without what separates parts, not too long."""
    name = "".join(char if char.isprintable() and char not in "/\\" else "_" for char in id_)
    return name if len(name) <= _MAX_ID_CHARS else sha256(id_.encode("utf-8", "replace")).hexdigest()[:32]


def _shown_name(headers: Mapping[str, str]) -> str:
    """A message as people call it: when, and of whom."""
    time = read_date(headers.get("date", ""))
    people = read_addresses(headers.get("from", ""))
    sender = (people[0][0] or people[0][1]) if people else ""
    sender = " ".join(
        "".join(char if char.isprintable() and char not in "/\\" else " " for char in sender).split()
    )
    when = f"{time:%Y-%m-%d %H.%M}" if time else ""
    return f"{when} {sender[:80]}".strip() or "message"


def _note_message(found: Mailbox, message: Message) -> None:
    time = read_date(message.headers.get("date", ""))
    if time is not None:
        day = f"{time:%Y-%m-%d}"
        found.first = min(found.first or day, day)
        found.last = max(found.last, day)
    people = read_addresses(message.headers.get("from", ""))
    if people:
        found.people[" ".join((people[0][0] or people[0][1]).split())[:80]] += 1


# ------------------------------------------------------------------ single messages


def open_message(file: SourceFile, max_bytes: int) -> tuple[SourceFile, Message, bytes]:
    """A message that is a file of its own, its structure and its bytes. SourceError when it cannot be read."""
    data = read_plain(Path(file.uri), max_bytes)
    return replace(file, inside=Inside(file.uri, 0, len(data))), read_message(data), data


def read_links(file: SourceFile) -> tuple[str, tuple[str, ...]]:
    """The id of a message that is a file of its own, and those it refers to; no id where it cannot be read."""
    try:
        with open_plain(Path(file.uri)) as stream:
            headers, _ = read_headers(stream.read(LINKS_WITHIN))
    except (SourceError, OSError):
        return "", ()
    return find_id(headers), find_references(headers)


def in_thread(source: SourceFile, thread: str) -> SourceFile:
    """A message of which it is known what thread it belongs to."""
    return replace(source, inside=replace(_inside(source), meta=(("thread", thread),)))


def find_attachments(source: SourceFile, message: Message, data: Content) -> Iterator[SourceFile | Skipped]:
    """What is attached to a message: a source for each part with text, a line for what has none. Pictures that an HTML
    text shows, and signatures, are nothing that was attached."""
    waiting = [(source, message)]
    while waiting:
        holder, holding = waiting.pop()
        about = _about(holder, holding)
        for number, part in enumerate(holding.parts, 1):
            if not _is_attachment(part):
                continue
            name = part.name or ("message.eml" if part.kind == MESSAGE else f"attachment {number}")
            name += ".pdf" if part.kind == "application/pdf" and "." not in name else ""
            reason = binary_kind(name)
            if reason is not None:
                yield Skipped(f"{holder.path}/{name}", f"{reason}, no text to read")
                continue
            found = _attached(holder, part, f"{number}-{_as_name(name)}", name, about)
            yield found
            depth = found.uri.partition(PART_OF)[2].count("/")
            if part.kind == MESSAGE and part.encoding in _AS_IT_IS and depth <= MAX_ATTACHED_DEPTH:
                waiting.append((found, read_message(data, part.start, part.end)))


def _is_attachment(part: Part) -> bool:
    if part.kind in _SIGNATURES or (part.related and part.kind.startswith("image/")):
        return False
    return part.attached or part.kind == MESSAGE


def _about(source: SourceFile, message: Message) -> About:
    """What is known of an attachment from its message."""
    about: dict[str, MetaValue | None] = {
        "message_id": message.id,
        "from": message.says("from")[:1000],
        "subject": message.says("subject")[:1000],
        "message_date": read_date(message.headers.get("date", "")),
    }
    thread = [pair for pair in _inside(source).meta if pair[0] == "thread"]
    return (*thread, *((name, value) for name, value in about.items() if value))


def _attached(holder: SourceFile, part: Part, id_: str, name: str, about: About) -> SourceFile:
    charset = f'; charset="{part.charset}"' if part.charset else ""
    return SourceFile(
        uri=f"{holder.uri}{'/' if holder.origin == 'part' else PART_OF}{id_}",
        path=f"{holder.path}/{name}",
        origin="part",
        root=holder.root,
        mtime_ns=holder.mtime_ns,
        size=part.end - part.start,
        media_type=part.kind + charset,
        inside=Inside(
            _inside(holder).file, part.start, part.end, part.encoding, () if part.kind == MESSAGE else about
        ),
    )


def is_large_mailbox(path: str) -> bool:
    """Whether a file that is too large for a document is a mailbox, which is read message by message."""
    return os.path.isfile(path) and mail_kind(path) == "mailbox"  # noqa: PTH113  asked for large files only
