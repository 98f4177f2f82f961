"""When a note is true: what its front matter says of that, and what became of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

from outcrop.records.meta import Meta, show_value
from outcrop.system.dataclass import dataclass

Standing = Literal["valid", "replaced", "expired", "future"]
"""How a note stands at a moment: true, replaced by a newer one, past its `valid_until`, or before its `valid_from`."""

VALID_FROM: Final = "valid_from"
VALID_UNTIL: Final = "valid_until"
SUPERSEDES: Final = "supersedes"
SOURCE: Final = "source"
TIMED: Final = (VALID_FROM, VALID_UNTIL, SUPERSEDES)
"""The entries of front matter by which a note takes part in time; `source` only says where it is from."""
MAX_SUPERSEDED: Final = 50
"""Notes that one may name: nobody replaces more by hand (not measured)."""


@dataclass(frozen=True, slots=True)
class Validity:
    """What a hit's note says of time, and how it stands at the moment that was asked. Times are seconds since the
    epoch, `until` exclusive and the earlier of what the note says and what replaced it. `replaced_by` and `replaces`
    are paths; `source` is where the fact is from."""

    standing: Standing
    since: float | None = None
    until: float | None = None
    replaced_by: str = ""
    replaces: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_outdated(self) -> bool:
        """Whether it is not true at that moment."""
        return self.standing != "valid"

    @property
    def told(self) -> str:
        """The same in words: `replaced by api/tokens.md on 2026-03-01`; empty where there is nothing to say."""
        said = []
        if self.standing == "replaced":
            said.append(f"replaced by {self.replaced_by} on {_day(self.until)}")
        elif self.standing == "expired":
            said.append(f"was valid until {_day(self.until)}")
        elif self.standing == "future":
            said.append(f"not valid before {_day(self.since)}")
        elif self.since is not None:
            said.append(f"valid since {_day(self.since)}")
        if self.standing == "valid" and self.until is not None:
            then = f", then replaced by {self.replaced_by}" if self.replaced_by else ""
            said.append(f"valid until {_day(self.until)}{then}")
        if self.replaces:
            said.append(f"replaces {', '.join(self.replaces)}")
        if self.source:
            said.append(f"from {self.source}")
        return "; ".join(said)


def read_moment(text: str) -> float | None:
    """A date of front matter (ISO 8601, UTC unless it says otherwise) as seconds since the epoch; None for none."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def text_in(meta: Meta, name: str) -> str:
    """An entry of front matter as text, whatever it looks like; empty where there is none."""
    return show_value(meta[name]) if name in meta else ""


def moment_in(meta: Meta, name: str) -> float | None:
    """The date that an entry of front matter holds; None where there is none, or none that can be read."""
    return read_moment(text_in(meta, name))


def superseded_in(meta: Meta) -> tuple[str, ...]:
    """What the note says it replaces, as it is written there: paths, or `[[links]]` as some editors have them."""
    names = (
        name.strip().removeprefix("[[").removesuffix("]]") for name in text_in(meta, SUPERSEDES).split(",")
    )
    plain = (name.partition("|")[0].partition("#")[0].strip() for name in names)
    return tuple(dict.fromkeys(name for name in plain if name))[:MAX_SUPERSEDED]


def _day(seconds: float | None) -> str:
    """A moment as its day; with the time of day where that is not midnight."""
    if seconds is None:
        return "a day that is not told"
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%d" if seconds % 86_400 == 0 else "%Y-%m-%d %H:%M UTC")
