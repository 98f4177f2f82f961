"""Real repositories, made by git, and packs that git would never make."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import zlib
from pathlib import Path

from outcrop.sources.checkout import repository_at
from outcrop.sources.commits import History

SETTINGS = (
    "user.name=Ann",
    "user.email=ann@example.com",
    "protocol.file.allow=always",
    "gc.auto=0",
    "init.defaultBranch=main",
)


def git(folder: Path, *arguments: str, date: str = "") -> str:
    """Run git without the user's configuration; what it printed."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    if date:
        env |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, env=env, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make(top: Path, *options: str) -> Path:
    """An empty repository."""
    top.mkdir(parents=True)
    git(top, "init", "-q", *options)
    return top


def commit(top: Path, message: str, files: dict[str, str | None], date: str = "") -> str:
    """Write files (None removes one) and commit them; the commit's name."""
    for path, text in files.items():
        file = top / path
        if text is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    git(top, "add", "-A")
    git(top, "commit", "-qm", message, "--allow-empty", date=date)
    return git(top, "rev-parse", "HEAD")


def open_at(top: Path) -> History:
    """The history of a repository, as it is now."""
    repository = repository_at(top.resolve())
    assert repository is not None
    return History(repository)


def head(kind: int, size: int) -> bytes:
    """The head of an object in a pack."""
    first, size = kind << 4 | size & 15, size >> 4
    out = bytearray()
    while size:
        out.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    out.append(first)
    return bytes(out)


def varint(value: int) -> bytes:
    """A size as deltas write it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def forge_pack(top: Path, objects: list[tuple[bytes, bytes]]) -> Path:
    """A pack of raw entries, each under the name given, and an index that fits; the pack."""
    body = b"PACK" + struct.pack(">II", 2, len(objects))
    offsets = {}
    for name, entry in objects:
        offsets[name] = len(body)
        body += entry
    body += hashlib.sha1(body).digest()
    names = sorted(offsets)
    fanout = [sum(name[0] <= byte for name in names) for byte in range(256)]
    index = b"\xfftOc" + struct.pack(">I", 2) + struct.pack(">256I", *fanout) + b"".join(names)
    index += b"\0\0\0\0" * len(names) + b"".join(struct.pack(">I", offsets[name]) for name in names)
    index += body[-20:]
    index += hashlib.sha1(index).digest()
    folder = top / ".git/objects/pack"
    folder.mkdir(exist_ok=True)
    pack = folder / "pack-forged.pack"
    pack.write_bytes(body)
    pack.with_suffix(".idx").write_bytes(index)
    return pack


def packed(data: bytes) -> bytes:
    """Content as packs hold it."""
    return zlib.compress(data)
