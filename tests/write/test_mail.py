"""Mailboxes, Maildirs and messages with attachments through the front door, on both stores."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_engine import CountingEmbedder, open_with

import outcrop
from outcrop.errors import Cancelled
from outcrop.records import Filter, IngestReport, Progress


def message(
    number: int, text: str, answers: int | None = None, more: str = "", kind: str = "text/plain"
) -> str:
    reply = "" if answers is None else f"In-Reply-To: <{answers}@example.org>\n"
    return (
        f"From: Ann Lee <ann@example.org>\nDate: Fri, 3 May 2024 14:{number:02}:00 +0000\nSubject: number {number}\n"
        f"Message-ID: <{number}@example.org>\n{reply}{more}Content-Type: {kind}\n\n{text}\n"
    )


def boxed(*messages: str) -> str:
    return "".join(f"From ann@example.org Fri May  3 14:00:00 2024\n{each}\n" for each in messages)


NOTES = base64.encodebytes(b"# Agenda\n\nThe zeppelin is moored at the pier.\n").decode()
ATTACHED = (
    f"--b\nContent-Type: text/plain\n\nThe agenda is attached.\n--b\n"
    f'Content-Type: application/octet-stream; name="agenda.md"\nContent-Transfer-Encoding: base64\n\n{NOTES}--b\n'
    'Content-Type: image/png; name="photo.png"\nContent-Transfer-Encoding: base64\n\niVBORw0=\n--b--'
)
ROOT = message(1, "Where is the zeppelin kept?")
REPLY = message(2, "In the hangar by the lake.", answers=1)
WITH_FILE = message(3, ATTACHED, answers=2, kind="multipart/mixed; boundary=b")


@pytest.fixture(params=["sqlite", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[outcrop.Engine]:
    place = (
        request.getfixturevalue("postgres_url") if request.param == "postgres" else str(tmp_path / "index.db")
    )
    with outcrop.open(place, data_dir=tmp_path) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "mail"
    root.mkdir()
    (root / "dev.mbox").write_text(boxed(ROOT, REPLY, WITH_FILE), "utf-8")
    return root


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    assert not report.failed, report.failed
    return report.added, report.changed, report.unchanged, report.removed


def threads(index: outcrop.Engine) -> dict[str, str]:
    mails = index.documents(Filter(kinds=("mail",)))
    return {
        str(info.meta["message_id"]).partition("@")[0]: str(info.meta["thread"]).partition("@")[0]
        for info in mails
    }


def test_a_mailbox_is_its_messages_and_what_is_attached_to_them(index: outcrop.Engine, folder: Path) -> None:
    report = index.add(folder)
    assert counts(report) == (5, 0, 0, 0)
    assert [skipped.path for skipped in report.skipped] == ["dev.mbox/2024-05-03 14.03 Ann Lee/photo.png"]
    found = {info.uri.removeprefix(f"{folder}/"): info for info in index.documents()}
    assert sorted(found) == [
        "dev.mbox",
        "dev.mbox//1@example.org",
        "dev.mbox//2@example.org",
        "dev.mbox//3@example.org",
        "dev.mbox//3@example.org/2-agenda.md",
    ]
    assert threads(index) == {"1": "1", "2": "1", "3": "1"}
    agenda = found["dev.mbox//3@example.org/2-agenda.md"]
    assert (agenda.kind, agenda.title, agenda.path) == (
        "markdown",
        "Agenda",
        "dev.mbox/2024-05-03 14.03 Ann Lee/agenda.md",
    )
    assert (agenda.meta["message_id"], agenda.meta["thread"], agenda.meta["subject"]) == (
        "3@example.org",
        "1@example.org",
        "number 3",
    )
    hit = index.search("hangar by the lake").hits[0]
    assert (hit.document.title, hit.document.kind, hit.heading_path) == (
        "number 2",
        "mail",
        ("Ann Lee, 2024-05-03 14:02",),
    )
    assert index.text(found["dev.mbox"].id) == (
        "Mailbox dev.mbox: 3 messages in 1 thread, 2024-05-03 to 2024-05-03.\nWritten by Ann Lee."
    )


def test_a_mailbox_that_grows_is_read_where_it_grew(tmp_path: Path, folder: Path) -> None:
    embedder = CountingEmbedder()
    box = folder / "dev.mbox"
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        assert counts(kb.add(folder)) == (0, 0, 1, 0)
        with box.open("a", encoding="utf-8") as stream:
            stream.write(boxed(message(4, "It flies on Sunday.", answers=3)))
        assert counts(kb.add(folder)) == (1, 1, 4, 0)  # a message; the mailbox; what was there
        assert threads(kb)["4"] == "1"
        box.write_text(boxed(ROOT, WITH_FILE), "utf-8")
        assert counts(kb.add(folder)) == (0, 1, 3, 2)
        assert set(threads(kb)) == {"1", "3"}
        box.unlink()
        assert kb.add(folder).removed == 4
        assert kb.documents() == []


def test_a_mailbox_by_itself_and_one_that_moves(index: outcrop.Engine, folder: Path) -> None:
    box = folder / "dev.mbox"
    assert counts(index.add(box, collection="box")) == (5, 0, 0, 0)
    box.write_text(boxed(ROOT), "utf-8")
    assert counts(index.add(box, collection="box")) == (0, 1, 1, 3)
    index.add(folder)
    box.rename(folder / "old.mbox")
    report = index.add(folder)
    assert (report.moved, report.removed, report.failed) == (1, 1, ())
    assert {info.path for info in index.documents(Filter(collections=("mail",)))} == {
        "old.mbox",
        "old.mbox/2024-05-03 14.01 Ann Lee",
    }


def test_a_run_that_was_stopped_goes_on_with_the_mailbox(tmp_path: Path, folder: Path) -> None:
    seen = 0

    def note(progress: Progress) -> None:
        nonlocal seen
        seen += progress.phase == "read"

    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        with pytest.raises(Cancelled):
            kb.add(folder, progress=note, stopped=lambda: seen >= 2)
        assert counts(kb.add(folder))[0] >= 1
        assert len(kb.documents()) == 5


def test_the_same_id_twice_is_two_messages_and_none_at_all_is_named_by_its_head(
    index: outcrop.Engine, folder: Path
) -> None:
    nameless = ROOT.replace("Message-ID: <1@example.org>\n", "")
    (folder / "dev.mbox").write_text(boxed(ROOT, ROOT, nameless), "utf-8")
    assert counts(index.add(folder)) == (4, 0, 0, 0)
    assert counts(index.add(folder, force=True)) == (0, 4, 0, 0)


def test_a_line_that_begins_with_from_is_no_message(index: outcrop.Engine, folder: Path) -> None:
    text = "It is known that\nFrom 12:30 on it flies.\n\n>From there it came.\n\nFrom here to there"
    (folder / "dev.mbox").write_text(boxed(message(1, text)), "utf-8")
    index.add(folder)
    (mail,) = index.documents(Filter(kinds=("mail",)))
    body = index.text(mail.id).partition("\n\n")[2]
    assert body == text.replace(">From", "From")


def test_a_mailbox_may_be_larger_than_a_file_may_be(tmp_path: Path, folder: Path) -> None:
    (folder / "notes.txt").write_text("x" * 3000, "utf-8")
    (folder / "Inbox").write_text(boxed(*(message(n, f"word{n} " * 40) for n in range(1, 30))), "utf-8")
    with outcrop.open(tmp_path / "i.db", max_file_bytes=2000) as kb:
        report = kb.add(folder)
        assert [skipped.path for skipped in report.skipped if "limit" in skipped.reason] == ["notes.txt"]
        assert kb.search("word17").hits[0].document.title == "number 17"


def test_what_is_named_as_a_mailbox_and_is_none_is_text(index: outcrop.Engine, folder: Path) -> None:
    (folder / "dev.mbox").write_text("Nothing but words.\n", "utf-8")
    index.add(folder)
    assert [(info.kind, info.path) for info in index.documents()] == [("text", "dev.mbox")]


def test_a_maildir_is_followed_as_its_messages_are_read_and_moved(
    index: outcrop.Engine, tmp_path: Path
) -> None:
    root = tmp_path / "Maildir"
    for name in ("cur", "new", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "cur" / "100.1.host:2,S").write_text(ROOT, "utf-8")
    (root / "cur" / "101.2.host:2,S").write_text(REPLY, "utf-8")
    index.add(root)
    assert threads(index) == {"1": "1", "2": "1"}
    (root / "new" / "102.3.host").write_text(WITH_FILE, "utf-8")
    assert counts(index.add(root)) == (2, 0, 2, 0)
    assert threads(index) == {
        "1": "1",
        "2": "1",
        "3": "1",
    }  # which names only 2, of which it is known what it answers
    (root / "new" / "102.3.host").rename(root / "cur" / "102.3.host:2,S")
    report = index.add(root)
    assert (report.added, report.moved, report.removed) == (0, 2, 0)
    assert len(index.documents()) == 4


def test_a_message_in_a_file_loses_its_attachment_when_it_changes(
    index: outcrop.Engine, tmp_path: Path
) -> None:
    root = tmp_path / "post"
    root.mkdir()
    (root / "a.eml").write_text(WITH_FILE, "utf-8")
    assert counts(index.add(root)) == (2, 0, 0, 0)
    assert counts(index.add(root)) == (0, 0, 1, 0)
    (root / "a.eml").write_text(message(3, "Nothing is attached any more."), "utf-8")
    assert counts(index.add(root)) == (0, 1, 0, 1)


def test_what_is_attached_to_a_message_that_is_attached(index: outcrop.Engine, tmp_path: Path) -> None:
    root = tmp_path / "post"
    root.mkdir()
    outer = message(
        9, f"--o\nContent-Type: message/rfc822\n\n{WITH_FILE}\n--o--", kind="multipart/mixed; boundary=o"
    )
    (root / "a.eml").write_text(outer, "utf-8")
    index.add(root)
    assert {info.path for info in index.documents()} == {
        "a.eml",
        "a.eml/message.eml",
        "a.eml/message.eml/agenda.md",
    }
