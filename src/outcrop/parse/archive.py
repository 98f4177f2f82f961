"""Zip archives, checked before anything is unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

from lxml import etree

from outcrop.errors import ParseError

# Far above any real document (the largest seen is an EPUB of 2 900 entries), far below what fills a machine.
_MAX_ENTRIES = 10_000
_MAX_TOTAL_BYTES = 512 * 1024**2
# Office XML compresses 5 to 30 times; a bomb a thousand times. Small entries may compress at any rate.
_MAX_RATIO = 100
_RATIO_FROM_BYTES = 1_000_000


def open_archive(data: bytes) -> zipfile.ZipFile:
    """Open an archive; ParseError when it is damaged, encrypted or a bomb."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise ParseError(f"damaged archive ({error}); check that the download is complete") from error
    entries = archive.infolist()
    if len(entries) > _MAX_ENTRIES:
        raise ParseError(f"an archive of more than {_MAX_ENTRIES:,} entries; not a document")
    if sum(entry.file_size for entry in entries) > _MAX_TOTAL_BYTES:
        raise ParseError(f"unpacks to more than {_MAX_TOTAL_BYTES // 1024**2} MiB; split it into smaller files")
    for entry in entries:
        if entry.flag_bits & 0x1:
            raise ParseError("encrypted; save it without a password")
        if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > _MAX_RATIO * max(1, entry.compress_size):
            raise ParseError(
                f"{entry.filename[:80]!r} unpacks to over {_MAX_RATIO} times its size; likely a bomb"
            )
    return archive


def check_archive(data: bytes) -> None:
    """Raise ParseError unless the archive is safe to hand to a library."""
    with open_archive(data) as archive:
        refuse_entities(archive)


def refuse_entities(archive: zipfile.ZipFile) -> None:
    """Raise ParseError when an XML part of an Office file declares entities.

    No program writes such a file: it is a bomb, or meant to read other files. Entities are never resolved, so their
    text would silently be missing.
    """
    for name in archive.namelist():
        if name.lower().endswith((".xml", ".rels")) and _declares_entities(archive, name):
            raise ParseError(
                f"{name[:80]!r} in it declares XML entities, which Office files never do: likely a bomb, and not read"
            )


def _declares_entities(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether a part declares an entity before its first element. Damage is left to the reader of the whole part."""
    try:
        with archive.open(name) as stream:
            parsed = etree.iterparse(
                stream, ("start",), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
            )
            for _, root in parsed:
                declared = root.getroottree().docinfo.internalDTD
                return declared is not None and any(True for _ in declared.iterentities())
    except (etree.XMLSyntaxError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError):
        pass
    return False


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a file in an archive; ParseError when it is missing or damaged."""
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
        raise ParseError(
            f"damaged: {name[:80]} in it cannot be read; save it again in its own program"
        ) from error


def read_xml(archive: zipfile.ZipFile, name: str) -> Any:
    """The root element of an XML file in an archive; ParseError when it is missing or not XML."""
    # Entities stay unresolved and nothing is fetched: documents are untrusted.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, recover=True
    )
    try:
        root = etree.fromstring(read_entry(archive, name), parser)
    except etree.XMLSyntaxError as error:
        raise ParseError(f"damaged: {name[:80]} in it is not XML; save it again in its own program") from error
    if root is None:
        raise ParseError(f"damaged: {name[:80]} in it is empty; save it again in its own program")
    return root
