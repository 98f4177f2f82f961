"""Mailboxes: whatever a file holds, its parts lie in it, have names of their own and can be read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from outcrop.records import SourceFile
from outcrop.sources.files import read_file
from outcrop.sources.mailbox import open_mailbox
from outcrop.text.mime import read_message
from proofs.fuzz.mutate import change_some
from proofs.fuzz.target import Target, made_folder, need


def check_mailbox(data: bytes) -> None:
    """Every part of a mailbox is a stretch of it that can be read, under a name that no other has."""
    path = _folder() / "a.mbox"
    path.write_bytes(data or b"\n")
    found = open_mailbox(SourceFile(str(path), "a.mbox", "file", str(path.parent), 1, len(data)))
    uris = [part.uri for part in found.parts]
    need(len(uris) == len(set(uris)), "each part has a name of its own")
    need(found.threads <= found.messages, "no more threads than messages")
    for part in found.parts:
        place = part.inside
        need(place is not None and 0 <= place.start <= place.end <= len(data), "a part lies in its file")
        need(part.uri.isprintable() and part.path.isprintable(), "names can be printed")
        read_file(part, len(data) + 1)
    message = read_message(data)
    need(all(0 <= each.start <= each.end <= len(data) for each in message.parts), "parts lie in the message")


@cache
def _folder() -> Path:
    return made_folder()


MAILS = (
    Target(
        "mailbox",
        20_000,
        lambda chance, seeds: change_some(chance, seeds.of("mbox"), 60_000),
        check_mailbox,
        "parts in their file, each with a name",
    ),
)
