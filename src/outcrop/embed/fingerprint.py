"""What tells one model's files from another's: short fingerprints, and the hashes on a card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b, file_digest
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


def find_damage(folder: Path, expected: Mapping[str, str | None], advice: str) -> list[str]:
    """What is wrong with files, by the sha256 each should have; empty when all is well. Reads them whole."""
    problems = []
    for name, wanted in expected.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                found = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problems.append(f"{path} cannot be read ({error}): {advice}")
            continue
        if found != wanted:
            problems.append(f"{path} is not the file its card names: {advice}")
    return problems
