"""Picture files that are read as pages, by their suffix, and how they begin."""

from __future__ import annotations

from typing import Final

HEIF: Final = "an HEIC picture; to read it: pip install pillow-heif"

PICTURE_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".heic", ".heif")
PICTURE_TYPES: Final = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/heic", "image/heif")


def is_picture(data: bytes) -> bool:
    """Whether bytes begin as one of these formats does."""
    head = data[:16]
    riff = head.startswith(b"RIFF") and head[8:12] == b"WEBP"
    heif = head[4:8] == b"ftyp" and head[8:12] in (
        b"heic",
        b"heix",
        b"mif1",
        b"msf1",
        b"hevc",
        b"heim",
        b"heis",
    )
    return riff or heif or head.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*"))
