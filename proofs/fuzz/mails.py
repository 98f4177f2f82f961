"""Mailboxes and exports: whatever a file holds, its parts lie in it, have names of their own and can be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from outcrop.records import SourceFile
from outcrop.sources.exports import export_kind, open_export
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
    need(found.threads <= found.messages, "no more threads than messages")
    _check_parts(found.parts, data)
    message = read_message(data)
    need(all(0 <= each.start <= each.end <= len(data) for each in message.parts), "parts lie in the message")


def check_export(data: bytes) -> None:
    """The same for the records of an export, each of which is JSON by itself."""
    path = _folder() / "a.json"
    path.write_bytes(data)
    kind = export_kind(str(path))
    if kind is None:
        return
    source = SourceFile(str(path), "a.json", "file", str(path.parent), 1, len(data))
    found = open_export(source, kind, len(data) + 1)
    if found is None:
        return
    _check_parts(found.parts, data)
    for part in found.parts:
        need(
            isinstance(json.loads(read_file(part, len(data) + 1).decode("utf-8", "replace")), dict), "a record"
        )


def _check_parts(parts: Sequence[SourceFile], data: bytes) -> None:
    uris = [part.uri for part in parts]
    need(len(uris) == len(set(uris)), "each part has a name of its own")
    for part in parts:
        place = part.inside
        need(place is not None and 0 <= place.start <= place.end <= len(data), "a part lies in its file")
        need(part.uri.isprintable() and part.path.isprintable(), "names can be printed")
        read_file(part, len(data) + 1)


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
    Target(
        "export",
        20_000,
        lambda chance, seeds: change_some(chance, seeds.of("export"), 60_000),
        check_export,
        "records in their file, each with a name",
    ),
)
