"""A note replaces others: what that changes in their front matter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from outcrop.errors import NotAllowed, QueryError
from outcrop.notes.front_matter import listed, read_entry, require_no_comma, set_entry
from outcrop.records.validity import SUPERSEDES, VALID_FROM, VALID_UNTIL, read_moment


def require_timed(path: str, older: Sequence[str]) -> None:
    """Refuse what cannot be said in front matter: notes that are not Markdown, a note that replaces itself."""
    if path in older:
        raise QueryError(
            f"{path} cannot supersede itself; write it anew, or give the newer fact a note of its own"
        )
    for name in (path, *older):
        require_no_comma(name)
        if name.lower().endswith(".txt"):
            raise NotAllowed(
                f"{name} is plain text, which has no front matter; move it to a name that ends in .md"
            )


def begin(text: str, older: Sequence[str], *, is_new: bool) -> tuple[str, str]:
    """The text of a note that replaces others, and since when. One that is new begins today unless it says when."""
    moment = read_entry(text, VALID_FROM)
    if moment and read_moment(moment) is None:
        raise QueryError(f"{VALID_FROM} is {moment!r}, which is no date; write 2026-01-31")
    if not moment:
        moment = datetime.now(UTC).date().isoformat()
        if is_new:
            text = set_entry(text, VALID_FROM, [moment])
    known = listed(read_entry(text, SUPERSEDES))
    return set_entry(text, SUPERSEDES, list(dict.fromkeys((*known, *older)))), moment


def end(text: str, moment: str) -> str:
    """The text of a note that something replaces at a moment; one that ended before stays as it is."""
    ended = read_moment(read_entry(text, VALID_UNTIL))
    begun = read_moment(moment)
    if ended is not None and begun is not None and ended <= begun:
        return text
    return set_entry(text, VALID_UNTIL, [moment])
