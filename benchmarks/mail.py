"""Mail of a list as it is: python -m benchmarks.mail [--messages 10000] [--seed 1]

Makes an archive as mailers write one, the same for the same seed: threads of one to sixty messages, of which some name
only the message they answer, some have lost the beginning of their references, and some answer a message that nobody
kept; quotes in the manner of six programs and five languages, signatures, footers of the list, HTML with and without
a plain text beside it, three transfer encodings, attachments. Its sentences are those of this project's own pages.

Then one index reads the mailbox, and reads it again when it has grown. Threads must be exactly those that were made;
nothing that was quoted may be found in a message; ingest takes CPU time of all processes.
"""

from __future__ import annotations

import argparse
import base64
import quopri
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.utils import format_datetime
from pathlib import Path
from typing import Final

import outcrop
from benchmarks.report import ROOT, Report, cpu_s
from outcrop.parse.isolate import close_worker
from outcrop.records import Filter

INGEST_BAR: Final = 500
NAMES: Final = (
    "Ann Lee", "Jörg Müller", "Zoë Dubois", "José Núñez", "Łukasz Kowalski", "Ивана Петрова", "田中 太郎", "Bob Ray",
    "Mary-Jane O'Neil", "Anders Sørensen", "Elif Yılmaz", "Pedro Gonçalves",
)  # fmt: skip
ATTRIBUTIONS: Final = (
    "On {day}, {date} at {time}, {name} <{address}> wrote:",
    "Am {date} um {time} schrieb {name} <{address}>:",
    "Le {date} à {time}, {name} <{address}> a écrit :",
    "El {date} a las {time}, {name} (<{address}>) escribió:",
    "Op {date} om {time} schreef {name} <{address}>:",
    "{name} <{address}> writes:",
)
OUTLOOK: Final = (
    "-----Original Message-----\nFrom: {name} <{address}>\nSent: {date} {time}\nTo: dev\nSubject: {subject}\n",
    "________________________________\nVon: {name} <{address}>\nGesendet: {date} {time}\nAn: dev\nBetreff: {subject}\n",
)
FOOTER: Final = "\n_______________________________________________\ndev mailing list\nhttps://lists.example.org/listinfo/dev\n"


@dataclass(slots=True)
class Made:
    """A message that was made: what its author wrote is `own`, a mark nobody else has."""

    id: str
    thread: int
    own: str
    chain: tuple[str, ...]
    author: int
    time: datetime
    subject: str
    text: str
    raw: bytes = b""
    kept: bool = True


def sentences() -> list[str]:
    """Sentences of this project's pages."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        prose = re.sub(r"(?s:```.*?```|<!--.*?-->)|(?m:^[#|].*$)", " ", page.read_text("utf-8"))
        found += re.findall(r"[A-Z][^.!?\n|`<>\[\]]{30,200}[.!?]", " ".join(prose.split()))
    return found


def make_archive(count: int, seed: int) -> list[Made]:
    """The messages of an archive, in the order of their times; some of them were never kept."""
    chance, words = random.Random(seed), sentences()
    made: list[Made] = []
    start, thread = datetime(2019, 1, 7, 8, tzinfo=UTC), 0
    while sum(each.kept for each in made) < count:
        thread += 1
        start += timedelta(minutes=chance.randrange(1, 240))
        size = min(60, 1 + int(chance.expovariate(0.25)))
        of_thread: list[Made] = []
        for number in range(size):
            answered = chance.choice(of_thread[-6:]) if of_thread else None
            of_thread.append(
                _make(chance, words, thread, number, answered, start + timedelta(minutes=7 * number))
            )
        if size > 2 and chance.random() < 0.05:
            of_thread[0].kept = False
        made += of_thread
    return sorted((each for each in made if each.kept), key=lambda each: each.time)[:count]


def _make(
    chance: random.Random, words: list[str], thread: int, number: int, answered: Made | None, time: datetime
) -> Made:
    mark = f"mark{thread}x{number}"
    own = [" ".join(chance.sample(words, chance.randrange(1, 4))) for _ in range(chance.randrange(1, 5))]
    own[0] = f"{own[0]} {mark}."
    subject = (
        chance.choice(words)[:50].rstrip(".")
        if answered is None
        else re.sub("^(?:Re: )?", "Re: ", answered.subject)
    )
    message = Made(
        id=f"{thread}.{number}.{chance.randrange(10**9)}@example.org",
        thread=thread,
        own=mark,
        chain=(*answered.chain, answered.id) if answered else (),
        author=chance.randrange(len(NAMES)),
        time=time,
        subject=subject,
        text="\n\n".join(own),
    )
    message.raw = _write(chance, message, answered)
    return message


def _write(chance: random.Random, message: Made, answered: Made | None) -> bytes:
    text = message.text
    fields = _fields(message)
    if answered is not None:
        said = _fields(answered)
        quoted = "\n".join(f"> {line}" for line in answered.text.split("\n"))
        if chance.random() < 0.25:
            text = f"{text}\n\n{chance.choice(OUTLOOK).format(**said)}\n{answered.text}\n"
        elif chance.random() < 0.5:
            text = f"{chance.choice(ATTRIBUTIONS).format(**said)}\n\n{quoted}\n\n{text}"
        else:
            text = f"{text}\n\n{chance.choice(ATTRIBUTIONS).format(**said)}\n{quoted}\n"
    elif chance.random() < 0.4:
        text += f"\n\n-- \n{fields['name']}\nExample Ltd, Sample Street 1\n"
    if chance.random() < 0.5:
        text += FOOTER
    kind, body = _body(chance, text, message, answered)
    lines = [
        "Received: from mail.example.org (mail.example.org [192.0.2.1])\n\tby lists.example.org (Postfix) with ESMTP",
        f"From: {_encoded(fields['name'])} <{fields['address']}>",
        "To: dev@lists.example.org",
        f"Subject: {_encoded(message.subject)}",
        f"Date: {format_datetime(message.time)}",
        f"Message-ID: <{message.id}>",
        "List-Id: Developers <dev.lists.example.org>",
        "MIME-Version: 1.0",
    ]
    if message.chain:
        luck = chance.random()
        if luck > 0.15:  # others name only what they answer
            chain = message.chain[-3:] if luck > 0.9 else message.chain
            lines.append("References: " + "\n ".join(f"<{id_}>" for id_ in chain))
        lines.append(f"In-Reply-To: <{message.chain[-1]}>")
    return ("\n".join([*lines, *kind]) + "\n\n").encode() + body


def _encoded(words: str) -> str:
    return words if words.isascii() else Header(words, "utf-8", maxlinelen=76).encode()


def _fields(message: Made) -> dict[str, str]:
    name = NAMES[message.author]
    return {
        "name": name,
        "address": f"person{message.author}@example.org",
        "subject": message.subject,
        "day": f"{message.time:%a}",
        "date": f"{message.time:%d.%m.%Y}",
        "time": f"{message.time:%H:%M}",
    }


def _body(chance: random.Random, text: str, message: Made, answered: Made | None) -> tuple[list[str], bytes]:
    """Headers that say how the body is packed, and the body."""
    plain = _packed(chance, text.encode(), "text/plain")
    if chance.random() > 0.3:
        return plain
    page = "".join(f"<p>{line}</p>" for line in message.text.split("\n\n"))
    if answered is not None:
        page += f'<div class="gmail_quote"><div>On that day wrote:</div><blockquote>{answered.text}</blockquote></div>'
    html = _packed(chance, f"<html><body>{page}</body></html>".encode(), "text/html")
    if chance.random() < 0.2:
        return html
    parts = [(["Content-Type: multipart/alternative; boundary=inner"], _joined("inner", [plain, html]))]
    if chance.random() < 0.2:
        name = f'Content-Disposition: attachment; filename="notes-{message.own}.txt"'
        kind, body = _packed(chance, f"An attached list of {message.own[4:]} things.\n".encode(), "text/plain")
        parts.append(([*kind, name], body))
    return ['Content-Type: multipart/mixed; boundary="=_outer"'], _joined("=_outer", parts)


def _packed(chance: random.Random, content: bytes, kind: str) -> tuple[list[str], bytes]:
    how = chance.choice(("8bit", "quoted-printable", "base64"))
    if how == "8bit":
        content = re.sub(rb"(?m)^(>*From )", rb">\1", content)
    elif how == "base64":
        content = base64.encodebytes(content)
    else:
        content = quopri.encodestring(content)
    return [f'Content-Type: {kind}; charset="utf-8"', f"Content-Transfer-Encoding: {how}"], content


def _joined(boundary: str, parts: list[tuple[list[str], bytes]]) -> bytes:
    inner = b"".join(
        b"--%s\n%s\n\n%s\n" % (boundary.encode(), "\n".join(kind).encode(), body) for kind, body in parts
    )
    return inner + b"--%s--\n" % boundary.encode()


def mailbox(messages: list[Made]) -> Iterator[bytes]:
    """An mbox file of these, a piece each."""
    for message in messages:
        sender = _fields(message)["address"].encode()
        yield b"From %s %s\n%s\n\n" % (
            sender,
            f"{message.time:%a %b %d %H:%M:%S %Y}".encode(),
            message.raw.rstrip(b"\n"),
        )


def run(count: int, seed: int) -> Report:
    """Make an archive, read it, and judge."""
    made = make_archive(count, seed)
    report = Report("mail", {"messages": count, "seed": seed})
    with tempfile.TemporaryDirectory() as work:
        box = Path(work, "mail", "dev.mbox")
        box.parent.mkdir()
        grown = count - count // 100
        box.write_bytes(b"".join(mailbox(made[:grown])))
        index = outcrop.open(Path(work, "index.db"))
        first = _timed(index, box.parent)
        box.write_bytes(b"".join(mailbox(made)))
        again = _timed(index, box.parent)
        unchanged = _timed(index, box.parent)
        report.add("mailbox", box.stat().st_size / 1e6, "MB")
        report.add("ingest, messages per CPU second", grown / first[0], "messages/s", at_least=INGEST_BAR)
        report.add("documents of messages, attachments and the mailbox", first[1], "documents")
        report.add(
            "the mailbox grew by 1 %: of the CPU of the first time", again[0] / first[0], "", at_most=0.25
        )
        report.add("documents that were read then, of messages that came", again[1] / (count - grown), "")
        report.add("nothing changed: of the CPU of the first time", unchanged[0] / first[0], "", at_most=0.05)
        _judge(report, index, made)
        index.close()
    return report


def _timed(index: outcrop.Engine, folder: Path) -> tuple[float, int]:
    before = cpu_s()
    done = index.add(folder, collection="mail")
    close_worker()  # its CPU time counts once it has ended
    if done.failed:
        raise SystemExit(f"not read: {done.failed[:3]}")
    return cpu_s() - before, done.added + done.changed


def _judge(report: Report, index: outcrop.Engine, made: list[Made]) -> None:
    by_id = {each.id: each for each in made}
    found = {str(info.meta["message_id"]): info for info in index.documents(Filter(kinds=("mail",)))}
    report.add("messages found", len(found.keys() & by_id.keys()), "messages", at_least=len(made))
    threads: dict[str, set[int]] = {}
    named: dict[int, set[str]] = {}
    for id_, info in found.items():
        threads.setdefault(str(info.meta["thread"]), set()).add(by_id[id_].thread)
        named.setdefault(by_id[id_].thread, set()).add(str(info.meta["thread"]))
    report.add("threads", len(named), "threads")
    report.add("threads that are mixed or torn", _count(threads) + _count(named), "threads", at_most=0)
    lost = foreign = cut = 0
    for id_, info in found.items():
        text = index.text(info.id)
        marks = set(re.findall(r"mark\d+x\d+", text))
        lost += by_id[id_].own not in marks
        foreign += bool(marks - {by_id[id_].own} - {f"mark{by_id[id_].own[4:]}"})
        cut += "Sample Street" in text or "mailing list\n" in text
    report.add("messages whose own words are lost", lost, "messages", at_most=0)
    report.add("messages that repeat another's words", foreign, "messages", at_most=0)
    report.add("messages with a signature or a footer left", cut, "messages", at_most=0)


def _count(sets: dict[str, set[int]] | dict[int, set[str]]) -> int:
    return sum(len(each) > 1 for each in sets.values())


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    report = run(given.messages, given.seed)
    if given.messages >= 10_000:
        report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
