"""Zip archives of XML, checked before anything is unpacked, and the Office Open XML of Word and PowerPoint in them:
parts that refer to each other by relationships.

Elements and attributes are matched by local name, because the strict variant of the standard differs only in its
namespaces. Read by hand: all that is needed is text, headings and notes, from untrusted files, in linear time.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from typing import Any

from lxml import etree

from outcrop.errors import ParseError
from outcrop.parse.writer import clean_text

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
    """Raise ParseError when an XML part of an Office file declares entities. No program writes such a file: it is a
    bomb, or meant to read other files. Entities are never resolved, so their text would silently be missing."""
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


_PROPERTIES = frozenset({"title", "creator", "subject", "keywords", "created"})


class OfficeFile:
    """An open .docx or .pptx. `main` is the name of the part that holds or lists its content."""

    def __init__(self, data: bytes) -> None:
        self._archive = open_archive(data)
        refuse_entities(self._archive)
        self._names = frozenset(self._archive.namelist())
        main = next(iter(self.related("", "officeDocument").values()), None)
        if main is None:
            raise ParseError("damaged: its main part is missing; open it in its own program and save it again")
        self.main = main

    def __enter__(self) -> OfficeFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def part(self, name: str) -> Any:
        """The root element of a part; ParseError when it cannot be read."""
        return read_xml(self._archive, name)

    def related(self, part: str, kind: str) -> dict[str, str]:
        """The targets of a part's relationships of one kind, by id; an empty name means the file itself."""
        folder, name = posixpath.split(part)
        table = posixpath.join(folder, "_rels", f"{name}.rels")
        found: dict[str, str] = {}
        for element in self.part(table).iter("{*}Relationship") if table in self._names else ():
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target") or "")).lstrip("/")
            if element.get("Type", "").endswith(f"/{kind}") and target in self._names:
                found[element.get("Id") or ""] = target
        return found

    def properties(self) -> dict[str, str]:
        """Title, creator, subject, keywords and creation time, where given."""
        found: dict[str, str] = {}
        for name in self.related("", "core-properties").values():
            for element in self.part(name).iter("{*}*"):
                value = clean_text(element.text or "").strip()
                if value and local_name(element) in _PROPERTIES:
                    found.setdefault(local_name(element), value)
        return found


def local_name(element: Any) -> str:
    """The name of an element without its namespace; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The attribute with this local name in a namespace; empty where there is none."""
    return next((value for key, value in element.attrib.items() if key.endswith(f"}}{name}")), "")
