"""Archives: whatever a file holds, what is unpacked lies in its folder, is bounded, and each file has its own name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from tests.write.sevenzips import framed, sevenzipped
from tests.write.test_archives import SEVENZIP

from outcrop.errors import SourceError
from outcrop.records import SourceFile
from outcrop.sources.archives import FREE_BYTES, MAX_RATIO, Rules, unpack
from proofs.fuzz.mutate import change, change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import Target, made_folder, need

FILES = (
    ("notes/one.md", b"# One\n\nwords\n"),
    ("../../etc/passwd", b"root\n"),
    ("/abs//a\x01b.txt", b"x" * 5_000),
    ("cur/1", b"From: a@b.c\nSubject: s\n\nhello\n"),
    ("big.txt", b"\0" * 12_000),
    ("notes/one.md", b"again\n"),
    ("inner.zip", b"PK"),
    ("empty", b""),
)
RULES = Rules(max_file_bytes=10_000)
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gz": partial(gzip.compress, mtime=0),  # the same bytes each time
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in dict(FILES).items():  # a tar holds one twice
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _tar(form: str, kind: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
        for name, content in FILES:
            header = tarfile.TarInfo(name if kind == tarfile.USTAR_FORMAT else f"{name}-{'é' * 120}.txt")
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return FORMS[form](file.getvalue())


@cache
def _seeds() -> tuple[list[bytes], list[bytes], list[bytes]]:
    kinds = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    sevens = [SEVENZIP, sevenzipped(dict(FILES[:5]))]
    return [_zip()], [_tar(form, kind) for form in FORMS for kind in kinds], sevens


def _make(chance: random.Random, seeds: Seeds) -> bytes:
    zips, tars, sevens = _seeds()
    drawn = chance.random()
    if drawn < 0.3:
        return b"z" + change_some(chance, [*zips, *seeds.of("docx")], 60_000)
    if drawn < 0.6:
        return b"t" + change_some(chance, tars, 60_000)
    whole = chance.choice(sevens)
    (offset,) = struct.unpack("<Q", whole[12:20])
    packed, header = whole[32 : 32 + offset], whole[32 + offset :]
    if chance.random() < 0.5:
        return b"7" + framed(change(header, chance, [header], 60_000), packed)  # its checksums are right
    return b"7" + change(whole, chance, sevens, 60_000)


def check_archive(data: bytes) -> None:
    """Unpack it; the first byte says as what."""
    home = _folder()
    path = home / {b"z": "a.zip", b"7": "a.7z"}.get(data[:1], "a.tgz")
    path.write_bytes(data[1:])
    out = home / "out"
    out.mkdir()
    try:
        found = unpack(SourceFile(str(path), path.name, "file", str(home), 1, len(data)), out, RULES)
        names = [member.name for member in found.members]
        need(len(names) == len(set(names)), "each file has a name of its own")
        need(found.unpacked <= max(FREE_BYTES, MAX_RATIO * len(data)), "what is unpacked is bounded")
        for member in found.members:
            need(member.name.isprintable() and "//" not in member.name, "names can be printed and told apart")
            need(not member.name.startswith("/") and ".." not in member.name.split("/"), "names lead nowhere")
            need(member.place.resolve().is_relative_to(out.resolve()), "a file lies in the folder")
            need(0 < member.place.stat().st_size == member.size <= RULES.max_file_bytes, "a file is bounded")
    except SourceError as error:
        need(str(error), "an error says what happened")
    finally:
        shutil.rmtree(out)


@cache
def _folder() -> Path:
    return made_folder()


ARCHIVES = (Target("archive", 10_000, _make, check_archive, "bounded files in a folder, or a SourceError"),)
"""What opens archives."""
