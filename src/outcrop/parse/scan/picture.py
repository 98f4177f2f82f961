"""A picture file: a document without text until its pages are read."""

from __future__ import annotations

from outcrop.errors import ParseError
from outcrop.parse.limits import RawFile
from outcrop.parse.scan.formats import is_picture
from outcrop.parse.title import file_stem
from outcrop.records import Document


def read(raw: RawFile) -> Document:
    """What is known of a picture before anybody looked at it."""
    if not is_picture(raw.data):
        raise ParseError("not a picture: it does not start as one; check that the download is complete")
    return Document(text="", kind="image", title=file_stem(raw.path), pages=(0,), unread=(1,))
