"""Which names a note may have: those that denote exactly one file below the root, on every system."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from outcrop.errors import NotAllowed

SUFFIXES: Final = (".md", ".markdown", ".txt")
MAX_NAME_BYTES: Final = 255
"""What nearly every file system allows for one name."""
MAX_PATH_BYTES: Final = 1000
"""Leaves room for the folder of the user within the 4 096 bytes (macOS: 1 024) that a system takes (not measured)."""
MAX_DEPTH: Final = 16
"""Nested folders. Nobody finds a note that lies deeper (not measured)."""

_DEVICES: Final = frozenset(
    "con prn aux nul conin$ conout$ clock$".split()
    + [f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"]
)
_RESERVED: Final = frozenset('<>:"|?*')
"""Windows takes none of them in a name; there a colon names a drive, or a hidden stream of a file."""
_JOINERS: Final = "\u200c\u200d"
"""Words of some scripts, and emoji, need them. Some file systems do not see them: they never make a difference."""
_REFUSED_CATEGORIES: Final = ("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp")
_OTHER_SUFFIX: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


def note_path(given: str) -> str:
    """The path of a note, relative to the root, as it stands on disk; without a suffix it gets `.md`.

    Raises NotAllowed for whatever could lead out of the root.
    """
    if not given or not given.strip():
        raise NotAllowed("give the note a path, such as projects/plan.md")
    parts = given.removeprefix("/").split("/")  # agents write /projects/plan.md: the root is the knowledge base
    if parts[0] == "":
        raise NotAllowed(f"{_show(given)} names no note: give a path such as projects/plan.md")
    if not parts[-1].lower().endswith(SUFFIXES):
        if _OTHER_SUFFIX.search(parts[-1]):
            raise NotAllowed(
                f"{_show(given)} must end in {', '.join(SUFFIXES)}: the knowledge base holds notes"
            )
        if parts[-1]:
            parts[-1] += SUFFIXES[0]
    for part in parts:
        _check_name(part, given)
    if len(parts) > MAX_DEPTH:
        raise NotAllowed(f"{_show(given)} lies in more than {MAX_DEPTH - 1} folders; move it up")
    path = "/".join(parts)
    if len(path.encode("utf-8")) > MAX_PATH_BYTES:
        raise NotAllowed(f"{_show(given)} is longer than {MAX_PATH_BYTES} bytes; shorten it")
    return path


def require_portable(path: str) -> None:
    """Refuse names that some system cannot have, for a note that is to be made. One that an editor made may be read."""
    for name in path.split("/"):
        reserved = sorted(_RESERVED.intersection(name))
        if reserved:
            raise NotAllowed(
                f"{_show(path)}: {' '.join(reserved)} cannot be in a name on every system; leave it out"
            )
        if name != name.strip() or name.endswith("."):
            raise NotAllowed(f"{_show(path)}: a name must not begin or end with a space, nor end with a dot")
        stem = name.partition(".")[0].strip()
        if {stem.lower(), fold(stem)} & _DEVICES:
            raise NotAllowed(f"{_show(path)}: {stem} is the name of a device on Windows")


def is_note_name(name: str) -> bool:
    """Whether a file with this name is a note."""
    return name.lower().endswith(SUFFIXES) and is_name(name)


def is_name(name: str) -> bool:
    """Whether a file or folder of the knowledge base may have this name."""
    try:
        _check_name(name, name)
    except NotAllowed:
        return False
    return True


def fold(name: str) -> str:
    """The name as the least particular file system sees it: equal for names that differ only by case, by Unicode
    normalisation, or by characters one cannot see."""
    bare = name.translate(dict.fromkeys(map(ord, _JOINERS)))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", bare).casefold())


def _check_name(name: str, given: str) -> None:
    if name == "":
        raise NotAllowed(f"{_show(given)} has an empty part: write one / between names, none at the end")
    if name.startswith("."):
        raise NotAllowed(f"{_show(given)}: names that begin with a dot are hidden, and .. leads out")
    if "\\" in name:
        raise NotAllowed(f"{_show(given)}: write / between folders, not \\")
    for character in name:
        if character not in _JOINERS and unicodedata.category(character) in _REFUSED_CATEGORIES:
            raise NotAllowed(f"{_show(given)} holds a character that cannot be seen or written")
    if fold(name).startswith(".") or "/" in fold(name):
        raise NotAllowed(f"{_show(given)} looks like a name that is not allowed")
    if len(name.encode("utf-8")) > MAX_NAME_BYTES:
        raise NotAllowed(f"{_show(given)}: a name has at most {MAX_NAME_BYTES} bytes; shorten it")


def _show(given: str) -> str:
    """The path for a message: on one line, without what a terminal would obey, not endless."""
    short = given if len(given) <= 120 else f"{given[:120]}…"
    return repr(short) if short.isprintable() else ascii(short)
