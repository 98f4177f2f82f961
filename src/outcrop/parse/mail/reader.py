"""A message as a document: who wrote when to whom, what they wrote themselves, and the names of what is attached."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from outcrop.errors import ParseError
from outcrop.parse.decode import decode_with_remark
from outcrop.parse.limits import RawFile
from outcrop.parse.mail.quotes import cut_quotes
from outcrop.parse.title import cut_title
from outcrop.parse.writer import TextWriter, clean_text
from outcrop.records import MAIL, Document, Heading
from outcrop.records.meta import MetaValue
from outcrop.text.mime import (
    Message,
    Part,
    decode_transfer,
    find_references,
    read_addresses,
    read_date,
    read_message,
)

NO_SUBJECT: Final = "(no subject)"
MAX_NAMED: Final = 8
"""Recipients and attachments that are named in the text; the metadata has more."""
MAX_PEOPLE: Final = 100
_MAX_PROPERTY: Final = 1_000


def read(raw: RawFile) -> Document:
    """A message of RFC 5322, in whatever language and however it is packed."""
    return _read(read_message(raw.data), raw)


def read_plain_message(raw: RawFile) -> Document | None:
    """The same for a message that no library is needed for, which is most of them; None where its text is HTML."""
    message = read_message(raw.data)
    if any(part.kind == "text/html" for part in _shown(message, raw.data)):
        return None
    return _read(message, raw)


def _read(message: Message, raw: RawFile) -> Document:
    subject = " ".join(clean_text(message.says("subject")).split())[:_MAX_PROPERTY]
    body, remark = _body(message, raw)
    written = cut_quotes(body, subject)
    writer = TextWriter(raw.max_text_chars)
    head = _head(message)
    start = writer.write("\n".join(filter(None, (head, _to(message)))))
    writer.write(written.text)
    names = [part.name for part in message.parts if part.name]
    if names:
        writer.write(f"Attachments: {_listed(names)}")
    text = writer.finish()
    if not text:
        raise ParseError("a message without sender, date and text; nothing in it can be found")
    headings = (Heading(1, clean_text(head), start),) if head else ()
    return Document(
        text=text,
        kind=MAIL,
        title=cut_title(subject) or NO_SUBJECT,
        headings=headings,
        meta=_properties(message, subject, names, written.signature),
        remark=remark,
    )


def _head(message: Message) -> str:
    """Who wrote and when, in UTC: how people tell one message of a thread from another."""
    sender = next(iter(read_addresses(message.headers.get("from", ""))), ("", ""))
    time = read_date(message.headers.get("date", ""))
    name = " ".join(clean_text(sender[0] or sender[1]).split())[:200]
    return ", ".join(filter(None, (name, f"{time:%Y-%m-%d %H:%M}" if time else "")))


def _to(message: Message) -> str:
    people = [name or address for name, address in read_addresses(message.headers.get("to", ""))]
    return f"To: {_listed(people)}" if people else ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return " ".join(f"{', '.join(name[:200] for name in names[:MAX_NAMED])}{more}".split())


def _properties(message: Message, subject: str, names: list[str], signature: str) -> dict[str, MetaValue]:
    references = find_references(message.headers)
    properties: dict[str, MetaValue | None] = {
        "from": next(iter(_people(message, "from")), ""),
        "to": _people(message, "to"),
        "cc": _people(message, "cc"),
        "subject": subject,
        "date": read_date(message.headers.get("date", "")),
        "message_id": clean_text(message.id),
        "in_reply_to": clean_text(references[-1]) if references else "",
        "thread": clean_text(references[0] if references else message.id),
        "list": clean_text(message.says("list-id")),
        "attachments": tuple(clean_text(name) for name in names[:MAX_PEOPLE]),
        "signature": signature,
    }
    return {name: value for name, value in properties.items() if value}


def _people(message: Message, name: str) -> tuple[str, ...]:
    people = islice(read_addresses(message.headers.get(name, "")), MAX_PEOPLE)
    named = (f"{who} <{address}>" if who and address else who or address for who, address in people)
    return tuple(clean_text(each)[:_MAX_PROPERTY] for each in named)


# ------------------------------------------------------------------ the body


def _body(message: Message, raw: RawFile) -> tuple[str, str]:
    """The text of a message, and what is wrong with it: of alternatives the plain one, where it says something."""
    texts: list[str] = []
    remark = ""
    for part in _shown(message, raw.data):
        content, wrong = _decode(part, raw)
        remark = remark or wrong
        if part.kind == "text/html":
            content = html_words(content, raw.max_text_chars)
        texts.append(clean_text(content).strip("\n"))
    return "\n\n".join(filter(None, texts)), remark


def _shown(message: Message, data: bytes) -> Iterator[Part]:
    """The parts that a reader of mail shows as its text, in order."""
    decided: set[int] = set()
    texts = [part for part in message.parts if part.kind in ("text/plain", "text/html") and not part.attached]
    texts = [part for part in texts if not part.name or part is texts[0]]
    for part in texts:
        if not part.group:
            yield part
        elif part.group not in decided:
            decided.add(part.group)
            rivals = [each for each in texts if each.group == part.group]
            said = [each for each in rivals if data[each.start : each.end].strip()]
            plain = [each for each in said if each.kind == "text/plain"]
            yield from (plain or said)[:1]


def _decode(part: Part, raw: RawFile) -> tuple[str, str]:
    content = decode_transfer(raw.data[part.start : part.end], part.encoding).replace(b"\0", b"")
    try:
        return decode_with_remark(content, part.charset or raw.charset)
    except ParseError:
        return content.decode("utf-8", "replace"), ""


# ------------------------------------------------------------------ HTML

_QUOTES: Final = (
    ".//blockquote",
    ".//div[contains(concat(' ', @class, ' '), ' gmail_quote ')]",
    ".//div[contains(concat(' ', @class, ' '), ' yahoo_quoted ')]",
    ".//div[@id='divRplyFwdMsg']",
    ".//div[contains(@class, 'moz-cite-prefix')]",
)


def html_words(source: str, max_text_chars: int) -> str:
    """The words of an HTML message without what it quotes, unless nothing else is in it."""
    from outcrop.parse.html import (
        parse_html,
        refuse_nested_entities,
        walk_html,
    )  # lxml, which few messages need

    refuse_nested_entities(source)
    root = parse_html(source)
    if root is None:
        return ""
    body = next(root.iter("body"), root)
    for element in list(body.iter("script", "style", "title")):
        _remove(element)
    whole, own = TextWriter(max_text_chars), TextWriter(max_text_chars)
    walk_html(body, whole)
    for path in _QUOTES:
        for element in body.xpath(path):
            if element.get("id") == "divRplyFwdMsg":  # Outlook on the web: the message below follows its header
                for sibling in list(element.itersiblings()):
                    sibling.getparent().remove(sibling)
            _remove(element)
    walk_html(body, own)
    text = own.finish()
    return text if any(map(str.isalnum, text)) else whole.finish()


def _remove(element: Any) -> None:
    """Remove an element but keep the text that follows it."""
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and previous is not None:
        previous.tail = (previous.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)
