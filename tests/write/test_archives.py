"""Zip and tar files that are opened on request: a document for each file in them, within limits."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.parse.test_exports import GITHUB
from tests.parse.test_parse_library_formats import make_pdf
from tests.test_engine import CountingEmbedder, open_with

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


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.tar.gz", "bomb.tar.xz"])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, name: str) -> None:
    files = {f"{number}.txt": bytes(4_000_000) for number in range(30)}
    content = zipped({**files}) if name.endswith("zip") else tarred(files, name.rpartition(".")[2])
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
