"""Calendars and address books (.ics, .vcf): a section an event, a task or a person.

Both are lines of `NAME;PARAMETER=…:value`, folded at 75 bytes, within BEGIN and END (RFC 5545, RFC 6350).
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import field
from datetime import date, datetime
from typing import Final

from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter
from outcrop.records import Document
from outcrop.records.meta import MetaValue
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import timed

MAX_ENTRIES: Final = 50_000
_MAX_VALUE: Final = 20_000
_FOLD: Final = re.compile(r"\n[ \t]")
_SOFT_FOLD: Final = re.compile(r"=\n(?![A-Z][\w-]*[;:])")
_LINE: Final = re.compile(
    r"(?:[\w-]{1,40}\.)?([A-Za-z][\w-]{0,60})((?:;[^:;\"\n]{1,200}(?:\"[^\"\n]{0,500}\")?){0,20}):([^\n]*)"
)
_ESCAPED: Final = re.compile(r"\\([\\;,nN])")
_TIME: Final = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?)?")
_NAMED: Final = re.compile(r"(?i);CN=(\"[^\"]*\"|[^;]*)")
_MAILTO: Final = re.compile(r"(?i)^mailto:")
_UNITS: Final = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS: Final = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday",
    "SU": "Sunday",
}  # fmt: skip
_DAY: Final = re.compile(r"([+-]?\d{0,2})(MO|TU|WE|TH|FR|SA|SU)")
_EVENTS: Final = ("VEVENT", "VTODO", "VJOURNAL")
_SHOWN: Final = {
    "LOCATION": "Where",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "With",
    "CATEGORIES": "Categories",
    "RRULE": "Repeats",
    "DUE": "Due",
    "STATUS": "Status",
    "URL": "Link",
}
_PERSON: Final = {
    "NICKNAME": "Nickname",
    "ORG": "Organisation",
    "TITLE": "Title",
    "ROLE": "Role",
    "EMAIL": "Email",
    "TEL": "Telephone",
    "ADR": "Address",
    "BDAY": "Birthday",
    "URL": "Link",
    "CATEGORIES": "Categories",
}


@dataclass(slots=True)
class Entry:
    """What stands between a BEGIN and its END: values by name, those that repeat in order."""

    kind: str
    values: dict[str, list[str]] = field(default_factory=dict)

    def first(self, name: str) -> str:
        """The first value of a name; empty where there is none."""
        return self.values.get(name, [""])[0]


def read(raw: RawFile) -> Document:
    """A calendar or an address book as text."""
    source, remark = decode_with_remark(raw.data, raw.charset)
    writer = TextWriter(raw.max_text_chars)
    name, days, people = "", [], []
    for entry in _entries(source):
        if entry.kind == "VCALENDAR":
            name = name or entry.first("X-WR-CALNAME")
        elif entry.kind in _EVENTS:
            days += _write_event(entry, writer)
        elif entry.kind == "VCARD":
            people.append(_write_person(entry, writer))
    text = writer.finish()
    is_book = bool(people)
    meta: dict[str, MetaValue] = {}
    if days:
        meta = {"first": min(days), "last": max(days)}
    single = writer.headings[0].title if len(writer.headings) == 1 else ""
    return Document(
        text=text,
        kind="contacts" if is_book else "calendar",
        title=cut_title(name or single) or file_stem(raw.path),
        headings=tuple(writer.headings),
        meta=meta,
        remark=remark,
    )


def _entries(source: str) -> Iterator[Entry]:
    """Entries in the order of their ends, so that a calendar comes after what is in it; alarms are left out."""
    text = _FOLD.sub("", source)
    if "QUOTED-PRINTABLE" in text.upper():
        text = _SOFT_FOLD.sub("", text)
    open_: list[Entry] = []
    found = 0
    for match in timed(_LINE.finditer(text)):
        name, parameters, value = match[1].upper(), match[2].upper(), match[3][:_MAX_VALUE]
        if name == "BEGIN":
            open_.append(Entry(value.strip().upper()[:40]))
            del open_[:-8]
        elif name == "END":
            if open_:
                yield open_.pop()
                found += 1
            if found >= MAX_ENTRIES:
                return
        elif open_:
            if "QUOTED-PRINTABLE" in parameters:
                value = quopri.decodestring(value.encode("utf-8", "replace")).decode("utf-8", "replace")
            several = open_[-1].values.setdefault(name, [])
            if len(several) < 100:
                named = _NAMED.search(match[2]) if name in ("ATTENDEE", "ORGANIZER") else None
                several.append(_plain(_with_name(value, named[1].strip('"')) if named else value))
    yield from reversed(open_)


def _with_name(address: str, name: str) -> str:
    """Somebody's name and address; programs repeat the address where they know no name."""
    bare = _MAILTO.sub("", address)
    return bare if name.casefold() in ("", bare.casefold()) else f"{name} <{bare}>"


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value).strip()


def _write_event(entry: Entry, writer: TextWriter) -> list[date]:
    """Write an event, a task or a journal entry; the day it is on."""
    start = _when(entry.first("DTSTART") or entry.first("DUE"))
    end = _when(entry.first("DTEND"))
    summary = entry.first("SUMMARY") or {"VTODO": "Task", "VJOURNAL": "Journal"}.get(entry.kind, "Event")
    writer.write_heading(2, f"{summary}, {_spell(start)}" if start else summary)
    until = f" to {_spell(end)}" if end and end != start else ""
    lines = [f"When: {_spell(start)}{until}"] if start else []
    for name, label in _SHOWN.items():
        values = [_spell_value(name, value) for value in entry.values.get(name, [])[:40]]
        lines += [f"{label}: {', '.join(filter(None, values))}"] if any(values) else []
    writer.write("\n".join(lines))
    writer.write(entry.first("DESCRIPTION"))
    if start is None:
        return []
    return [start.date() if isinstance(start, datetime) else start]


def _write_person(entry: Entry, writer: TextWriter) -> str:
    name = entry.first("FN") or " ".join(filter(None, reversed(entry.first("N").split(";")[:2])))
    name = name or entry.first("ORG") or entry.first("EMAIL") or "Somebody"
    writer.write_heading(2, name)
    lines = []
    for key, label in _PERSON.items():
        values = [
            ", ".join(filter(None, map(str.strip, value.split(";")))) for value in entry.values.get(key, [])
        ]
        lines += [f"{label}: {'; '.join(filter(None, values))}"] if any(values) else []
    writer.write("\n".join(lines))
    writer.write(entry.first("NOTE"))
    return name


def _when(value: str) -> date | None:
    match = _TIME.match(value)
    if match is None:
        return None
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
        return datetime(day.year, day.month, day.day, int(match[4]), int(match[5])) if match[4] else day
    except ValueError:
        return None


def _spell(when: date | None) -> str:
    return f"{when:%Y-%m-%d %H:%M}" if isinstance(when, datetime) else f"{when or ''}"


def _spell_value(name: str, value: str) -> str:
    if name == "DUE":
        return _spell(_when(value))
    return _spell_rule(value) if name == "RRULE" else _MAILTO.sub("", value)


def _spell_rule(rule: str) -> str:
    """`FREQ=WEEKLY;INTERVAL=2;BYDAY=FR` as people say it: every 2 weeks on Friday. What is rarer stays as it is."""
    parts = dict(part.upper().partition("=")[::2] for part in rule.split(";"))
    unit = _UNITS.get(parts.pop("FREQ", ""))
    every, count = parts.pop("INTERVAL", "1"), parts.pop("COUNT", "")
    days = [_DAY.fullmatch(day) for day in filter(None, parts.pop("BYDAY", "").split(","))]
    until = _when(parts.pop("UNTIL", ""))
    parts.pop("WKST", None)
    if unit is None or parts or not all(days) or not every.isdecimal():
        return rule
    said = f"every {unit}" if every == "1" else f"every {every} {unit}s"
    names = [f"{_spell_place(day[1])}{_DAYS[day[2]]}" for day in days if day]
    said += f" on {', '.join(names)}" if names else ""
    said += f", {count} times" if count else ""
    return said + (f", until {_spell(until)}" if until else "")


def _spell_place(number: str) -> str:
    """Which of its kind in a month: `2` is the 2nd, `-1` the last."""
    if not number:
        return ""
    if number.startswith("-"):
        return "the last " if number == "-1" else f"the {number[1:]}. last "
    return f"the {number.lstrip('+')}. "
