"""Zip, tar and 7z files that are opened on request: a document for each file in them, within limits."""

from __future__ import annotations

import base64
import io
import json
import stat
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.parse.test_exports import GITHUB
from tests.parse.test_parse_library_formats import make_pdf
from tests.test_engine import CountingEmbedder, open_with
from tests.write.sevenzips import LZMA2_CODER, framed, sevenzipped

from outcrop.errors import SourceError
from outcrop.records import IngestReport, SourceFile
from outcrop.serve.cli.app import cli
from outcrop.sources.archives import FREE_BYTES, Rules, unpack

MBOX = (
    "From ann@example.org Mon Jan  5 10:00:00 2026\nFrom: Ann <ann@example.org>\nSubject: Lamp oil\n"
    "Message-ID: <1@x>\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\nWe need more lamp oil.\n\n"
    "From dan@example.org Mon Jan  5 11:00:00 2026\nFrom: Dan <dan@example.org>\nSubject: Re: Lamp oil\n"
    "Message-ID: <2@x>\nIn-Reply-To: <1@x>\nDate: Mon, 5 Jan 2026 11:00:00 +0000\n\nTwo barrels are ordered.\n"
)

SEVENZIP = base64.b64decode(  # by 7-Zip 16.02, with an empty file, an empty folder, and a link to /etc/passwd
    "N3q8ryccAASca2286wAAAAAAAAAiAAAAAAAAANMZo40BAEcvZXRjL3Bhc3N3ZCMgT25lCgpUaGUgbGFtcCBpcyBsaXQgYXQgZHVz"
    "ay4KU2FsdCB3YXMgY2FycmllZCBpbiBiYXJyZWxzLgoAAACBMweuD9KN0v1AwJDS/31pTYT+P95MMeoQS5Gvwk5+/t6cZM9aEhAb"
    "6iXRMS8Gsqo9zkDQtU+sO9YSBvcNkhi1jMmTm5/7Es1STDsd4EPz6H4mRwPUEfeSPDZk26p0l8a2MKrDvr4CIV8y4WSIanEC7rXI"
    "+JbwBL05zoFXwXp3LRh2NyQsI3S3bqGIPLeEMXmun204x3INYYTtcQAAFwZMAQmAnwAHCwEAASMDAQEFXQAQAAAMgP4KATrWk8kA"
    "AA=="
)


def zipped(files: dict[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(files: dict[str, bytes], form: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=f"w:{form}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
    return file.getvalue()


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    assert not report.failed, report.failed
    return report.added, report.changed, report.unchanged, report.removed


def open_file(path: Path, content: bytes, rules: Rules) -> dict[str, bytes]:
    path.write_bytes(content)
    out = path.parent / f"{path.name} out"
    out.mkdir()
    found = unpack(SourceFile(str(path), path.name, "file", str(path.parent), 1, len(content)), out, rules)
    return {member.name: member.place.read_bytes() for member in found.members}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "papers"
    root.mkdir()
    return root


def test_archives_are_opened_on_request_and_then_followed(tmp_path: Path, folder: Path) -> None:
    files: dict[str, bytes | str] = {
        "guide/lamp.md": "# Lighthouse\n\nThe lamp is lit at dusk.\n",
        "Takeout/All mail.mbox": MBOX,
        "issues.json": json.dumps([GITHUB]),
        "paper.pdf": make_pdf([["The harbour was built of granite"]]),
    }
    (folder / "backup.zip").write_bytes(zipped(files))
    (folder / "notes.tgz").write_bytes(tarred({"one.txt": b"Salt was carried in barrels.\n"}, "gz"))
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(folder)
        assert report.added == 0
        assert {"--archives" in skipped.reason for skipped in report.skipped} == {True}

        assert counts(kb.add(folder, archives=True)) == (8, 0, 0, 0)
        assert {info.path for info in kb.documents()} == {
            "backup.zip",
            "backup.zip/guide/lamp.md",
            "backup.zip/Takeout/All mail.mbox/2026-01-05 10.00 Ann",
            "backup.zip/Takeout/All mail.mbox/2026-01-05 11.00 Dan",
            "backup.zip/issues.json/#12 First requests fail",
            "backup.zip/paper.pdf",
            "notes.tgz",
            "notes.tgz/one.txt",
        }
        hit = kb.search("granite").hits[0]
        assert (hit.place, hit.document.kind) == ("backup.zip/paper.pdf p. 1", "pdf")
        assert counts(kb.sync()) == (0, 0, 2, 0), "nothing is unpacked that did not change"

        files["guide/lamp.md"] = "# Lighthouse\n\nThe lamp burns whale oil now.\n"
        del files["issues.json"]
        (folder / "backup.zip").write_bytes(zipped(files))
        assert counts(kb.sync()) == (0, 2, 4, 1), "the page and the archive changed, the issue is gone"
        assert kb.search("whale oil").hits[0].document.path == "backup.zip/guide/lamp.md"

        (folder / "backup.zip").unlink()
        assert counts(kb.sync()) == (0, 0, 1, 5)
    assert not list(Path(tempfile.gettempdir()).glob("outcrop-archive-*/*/backup*"))


def test_what_a_folder_would_leave_out_is_left_out_of_archives_too(tmp_path: Path, folder: Path) -> None:
    inner = {"a.txt": "inner"}
    (folder / "x.zip").write_bytes(
        zipped(
            {
                "kept.txt": "words",
                ".env": "TOKEN=1",
                "clip.mp4": "film",
                "inner.zip": zipped({**inner}),
                "empty.txt": "",
                "__MACOSX/._kept.txt": "fork",
                "node_modules/a/readme.md": "installed",
            }
        )
    )
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(folder, archives=True)
        told = {skipped.path: skipped.reason for skipped in report.skipped}
        assert told.keys() == {f"x.zip/{name}" for name in (".env", "clip.mp4", "inner.zip", "empty.txt")}
        assert told["x.zip/inner.zip"] == "an archive in an archive; unpack it"
        assert {info.path for info in kb.documents()} == {"x.zip", "x.zip/kept.txt"}


@pytest.mark.parametrize("form", ["", "gz", "bz2", "xz"])
def test_every_way_of_packing_a_tar_is_read_also_in_several_parts(tmp_path: Path, form: str) -> None:
    files = {"a/one.txt": b"one " * 50_000, "a/two.txt": b"two"}
    whole = tarred(files, "")
    content = tarred(files, form)
    assert open_file(tmp_path / f"a.tar.{form}".rstrip("."), content, Rules(10**6)) == files
    if form:
        packer = __import__({"gz": "gzip", "bz2": "bz2", "xz": "lzma"}[form])
        parts = packer.compress(whole[:70_000]) + packer.compress(whole[70_000:])
        assert open_file(tmp_path / f"b.tar.{form}", parts, Rules(10**6)) == files


def test_a_7z_as_7_zip_writes_it_is_read_without_its_links(tmp_path: Path, folder: Path) -> None:
    (folder / "a.7z").write_bytes(SEVENZIP)
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(folder, archives=True)
        assert counts(report) == (3, 0, 0, 0)
        assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [("a.7z/empty.txt", "empty")]
        assert kb.search("barrels").hits[0].document.path == "a.7z/two.txt"
        assert counts(kb.sync()) == (0, 0, 1, 0)


def test_a_link_in_a_zip_is_no_file(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.md", "words")
    assert open_file(tmp_path / "a.zip", file.getvalue(), Rules(1000)) == {"a.md": b"words"}


@pytest.mark.parametrize(
    ("coders", "reason"),
    [
        (bytes((1, 0x23, 3, 4, 1, 5, 0, 0, 0, 0, 0)), "packed in a way that is not read; unpack it"),
        (bytes((1, 0x24, 6, 0xF1, 7, 1, 0)), "encrypted; unpack it with its password"),
        (LZMA2_CODER, ""),
    ],
)
def test_what_a_7z_is_packed_with_is_told_where_it_is_not_read(
    tmp_path: Path, coders: bytes, reason: str
) -> None:
    path = tmp_path / "a.7z"
    path.write_bytes(sevenzipped({"a.md": b"some words", "big.md": bytes(3_000), "b.md": b"more"}, coders))
    found = unpack(SourceFile(str(path), "a.7z", "file", str(tmp_path), 1, 100), tmp_path / "out", Rules(1000))
    large = "" if reason else "over the limit of 0.001 MB"
    assert [note.reason for note in found.notes] == ([reason] * 3 if reason else [large])
    assert [member.place.read_bytes() for member in found.members] == (
        [] if reason else [b"some words", b"more"]
    )


def test_the_list_of_a_7z_is_bounded(tmp_path: Path) -> None:
    many = sevenzipped({f"{number}.md": b"x" for number in range(20_001)})
    window = sevenzipped({"a.md": bytes(140 * 1024**2)}, bytes((1, 0x21, 0x21, 1, 40)))
    long = framed(b"\1" + bytes(33 * 1024**2), b"")
    names = framed(b"\1\5\xff" + struct.pack("<Q", 1 << 60), b"")
    refused = ((many, "20,000 files"), (window, "memory"), (long, "too long a list"), (names, "20,000 files"))
    for at, (content, message) in enumerate(refused):
        with pytest.raises(SourceError, match=message):
            open_file(tmp_path / f"{at}.7z", content, Rules(10**9))


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.tar.gz", "bomb.tar.xz", "bomb.7z"])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, name: str) -> None:
    files = {f"{number}.txt": bytes(4_000_000) for number in range(30)}
    content = (
        zipped({**files})
        if name.endswith("zip")
        else sevenzipped(files)
        if name.endswith("7z")
        else tarred(files, name.rpartition(".")[2])
    )
    with pytest.raises(SourceError, match="likely a bomb"):
        open_file(tmp_path / name, content, Rules(10**7))
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.txt")) <= max(FREE_BYTES, 200 * len(content))


def test_names_never_lead_out_and_are_told_apart(tmp_path: Path) -> None:
    files = {
        "../../evil.txt": b"up",
        "/etc/evil.txt": b"root",
        "evil.txt": b"plain",
        "a\\..\\b.txt": b"windows",
    }
    found = open_file(tmp_path / "a.tar", tarred(files, ""), Rules(1000))
    assert sorted(found.values()) == sorted(files.values())
    assert all(not name.startswith("/") and ".." not in name.split("/") for name in found)
    assert not (tmp_path.parent / "evil.txt").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.zip", b"PK\x03\x04 and nothing else", "damaged archive"),
        ("a.tgz", b"\x1f\x8b\x08\x00garbage", "damaged archive"),
        ("a.tar", b"words " * 500, "damaged archive"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c and nothing else", "damaged archive"),
        ("a.7z", SEVENZIP[:200], "damaged archive"),
        ("a.7z", SEVENZIP[:60] + b"\xff" + SEVENZIP[61:], "damaged archive"),
        ("a.7z", sevenzipped({"a.md": b"words", "b.md": b"more"}, sizes=2), "damaged archive"),
        ("a.7z", sevenzipped({"a.md": b"words", "b.md": b"more"}, sizes=90), "damaged archive"),
        ("a.tar.xz", tarred({"a.txt": bytes(range(256)) * 9}, "xz")[:100], "damaged archive"),
    ],
)
def test_damage_is_a_line_in_the_report(
    tmp_path: Path, folder: Path, name: str, content: bytes, message: str
) -> None:
    (folder / name).write_bytes(content)
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        [failure] = kb.add(folder, archives=True).failed
    assert failure.path == name
    assert message in failure.reason


def test_archives_go_with_folders_and_files(tmp_path: Path) -> None:
    with (
        open_with(tmp_path / "i.db", CountingEmbedder()) as kb,
        pytest.raises(SourceError, match="archives are those in a folder"),
    ):
        kb.add(text="words", archives=True)
    done = CliRunner().invoke(cli, ["add", "--archives", "--text", "words"])
    assert done.exit_code == 2
    assert "--archives goes with folders and files" in done.output
