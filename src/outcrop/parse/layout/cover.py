"""Who, what and when: how the first page of a report names it where its file does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from outcrop.parse.layout.headings import find_title
from outcrop.parse.layout.order import Line

WITHIN: Final = 80
"""Lines of the first page that are looked at."""
_REGISTRANT: Final = re.compile(r"(?i)\W*exact name of (?:the )?(?:registrant|issuer|company)")
_REPORT: Final = re.compile(
    r"(?i)\W*(form \d{1,2}-[a-z]{1,3}\b|(?:annual|quarterly|interim|half-year(?:ly)?) report(?: and accounts)?)"
)
_PERIOD: Final = re.compile(
    r"(?i)\b((?:(?:fiscal|financial|quarterly) )?(?:year|quarter|period|(?:three|six|nine|twelve) months) ended:?\s+"
    r"(?:[a-z]{3,9} \d{1,2}, ?\d{4}|\d{1,2} [a-z]{3,9} \d{4}))"
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")


def title_of(pages: Sequence[Sequence[Line]]) -> str:
    """What the first page with text says largest, with the time it reports on; of a report to an authority, whose
    largest words are the authority's, who reports, what and for when."""
    first = list(islice(next((lines for lines in pages if lines), ()), WITHIN))
    title = find_title(pages)
    said = " ".join(line.text for line in first)
    when = found[1] if (found := _PERIOD.search(said)) else ""
    who = next((first[at - 1].text for at, line in enumerate(first) if at and _REGISTRANT.match(line.text)), "")
    if who:
        what = next((match[1] for line in first if (match := _REPORT.match(line.text))), "")
        return ", ".join(part for part in (who, what, when) if part)
    if title and when and not _YEAR.search(title):
        return f"{title}, {when}"
    return title
