"""A note of Google Keep."""

from __future__ import annotations

from outcrop.parse.exports.values import line, load, moment, read_as_data, record, records, words
from outcrop.parse.limits import RawFile
from outcrop.parse.title import cut_title, file_stem
from outcrop.parse.writer import TextWriter
from outcrop.records import Document
from outcrop.records.meta import MetaValue


def read(raw: RawFile) -> Document:
    """A note as text: its words, its list with what is done, its links. Labels are tags."""
    note = record(load(raw.data))
    if "isTrashed" not in note:
        return read_as_data(raw)
    writer = TextWriter(raw.max_text_chars)
    title = line(note.get("title"), 300)
    writer.write_heading(1, title)
    writer.write(words(note.get("textContent")))
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {line(item.get('text'), 2000)}"
        for item in records(note.get("listContent"))
    ]
    writer.write("\n".join(items))
    for link in records(note.get("annotations")):
        writer.write(" ".join(filter(None, (line(link.get("title")), line(link.get("url"), 1000)))))
    text = writer.finish()
    states = {"archived": note.get("isArchived") is True, "trashed": note.get("isTrashed") is True}
    edited, created = moment(note.get("userEditedTimestampUsec")), moment(note.get("createdTimestampUsec"))
    meta: dict[str, MetaValue] = {
        "service": "Google Keep",
        **{name: True for name, is_so in states.items() if is_so},
    }
    meta |= {name: time for name, time in (("created", created), ("date", edited or created)) if time}
    tags = (line(label.get("name")) for label in records(note.get("labels")))
    return Document(
        text=text,
        kind="note",
        title=cut_title(title) or cut_title(text) or file_stem(raw.path),
        headings=tuple(writer.headings),
        tags=tuple(dict.fromkeys(filter(None, tags))),
        meta=meta,
    )
