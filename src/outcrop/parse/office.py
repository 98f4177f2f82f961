"""Office Open XML, written by Word and PowerPoint: a zip of XML parts that refer to each other by relationships.

Elements and attributes are matched by local name, because the strict variant of the standard differs only in its
namespaces. Read by hand: all that is needed is text, headings and notes, from untrusted files, in linear time.
"""

from __future__ import annotations

import posixpath
from typing import Any

from outcrop.errors import ParseError
from outcrop.parse.archive import open_archive, read_xml, refuse_entities
from outcrop.parse.writer import clean_text

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
        """The targets of a part's relationships of one kind, by relationship id; an empty name means the file
        itself."""
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
