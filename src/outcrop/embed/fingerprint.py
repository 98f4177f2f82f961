"""Short fingerprints that tell one model's vectors from another's."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

_DIGEST_BYTES = 6
"""Twelve hex digits: they only have to tell apart the few models one database ever sees."""
_READ_BYTES = 1 << 20


def fingerprint(settings: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Twelve hex digits of everything that decides what a model's vectors are."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for setting in settings:
        encoded = setting.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    for path in files:
        digest.update(path.stat().st_size.to_bytes(8, "little"))
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()
