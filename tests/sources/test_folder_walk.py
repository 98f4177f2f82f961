"""What a walk yields, what it leaves out, and what it says about it."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cost import calls

from outcrop.errors import SourceError
from outcrop.records import Failure, Skipped, SourceFile
from outcrop.sources.exclusions import binary_kind, looks_binary
from outcrop.sources.folder import shields, walk

LIMIT = 1000


def write(root: Path, *paths: str, text: str = "some text") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def found(root: Path, include_secrets: bool = False) -> list[SourceFile | Skipped | Failure]:
    return list(walk(root, max_file_bytes=LIMIT, include_secrets=include_secrets))


def paths(root: Path) -> list[str]:
    return [item.path for item in found(root) if isinstance(item, SourceFile)]


def reasons(root: Path) -> dict[str, str]:
    return {item.path: item.reason for item in found(root) if not isinstance(item, SourceFile)}


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder, and no right to read what is forbidden: as root, file modes would mean nothing."""
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    was = os.geteuid()
    try:
        if was == 0:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        yield folder
    finally:
        os.seteuid(was)
        shutil.rmtree(folder)


def test_a_file_carries_its_real_path_its_place_below_the_root_and_one_stat(tmp_path: Path) -> None:
    write(tmp_path, "real/sub/note.md")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    status = (tmp_path / "real/sub/note.md").stat()
    root = (tmp_path / "real").resolve()
    assert found(tmp_path / "alias") == [
        SourceFile(f"{root}/sub/note.md", "sub/note.md", "file", str(root), status.st_mtime_ns, status.st_size)
    ]


def test_the_order_is_fixed_files_of_a_folder_before_its_sub_folders(tmp_path: Path) -> None:
    write(tmp_path, "b/z.md", "b/a.md", "z.md", "a/x.md", "B.md", "b/c/d.md", ".github/workflow.yml")
    assert paths(tmp_path) == ["B.md", "z.md", ".github/workflow.yml", "a/x.md", "b/a.md", "b/z.md", "b/c/d.md"]


def test_one_file_can_be_the_root_even_if_a_rule_ignores_it(tmp_path: Path) -> None:
    write(tmp_path, "note.md", ".gitignore", text="*.md")
    (item,) = found(tmp_path / "note.md")
    assert isinstance(item, SourceFile)
    real = str((tmp_path / "note.md").resolve())
    assert (item.uri, item.path, item.root) == (real, "note.md", real)


@pytest.mark.parametrize(
    ("name", "reason"), [("photo.JPG", "an image"), (".env", "credentials"), ("empty.md", "empty")]
)
def test_one_file_as_the_root_is_held_to_the_same_limits(tmp_path: Path, name: str, reason: str) -> None:
    write(tmp_path, name, text="" if name == "empty.md" else "x")
    (item,) = found(tmp_path / name)
    assert isinstance(item, Skipped)
    assert reason in item.reason


def test_bookkeeping_is_skipped_silently_and_installed_packages_get_one_line(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".git/config", "x/__pycache__/m.md", ".DS_Store", "x/.cache/y.md")
    write(
        tmp_path,
        "web/node_modules/p/readme.md",
        "web/node_modules/q/readme.md",
        "env/pyvenv.cfg",
        "env/lib/r.md",
    )
    write(tmp_path, "target/CACHEDIR.TAG", "target/doc.md")
    assert paths(tmp_path) == ["a.md"]
    assert reasons(tmp_path) == {
        "web/node_modules/": "installed JavaScript packages",
        "env/": "a Python environment",
        "target/": "a cache, as its CACHEDIR.TAG says",
    }


def test_a_folder_that_is_always_left_out_can_be_added_by_name(tmp_path: Path) -> None:
    write(tmp_path, "node_modules/p/readme.md", "node_modules/pyvenv.cfg")
    assert paths(tmp_path / "node_modules") == ["pyvenv.cfg", "p/readme.md"]


def test_files_that_are_empty_or_too_large_are_left_out_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, "full.md", text="x" * LIMIT)
    write(tmp_path, "over.md", text="x" * (LIMIT + 234))
    write(tmp_path, "empty.md", text="")
    assert paths(tmp_path) == ["full.md"]
    assert reasons(tmp_path) == {"over.md": "1.234 kB is over the limit of 1 kB", "empty.md": "empty"}


def test_binary_files_and_credentials_are_left_out_by_name(tmp_path: Path) -> None:
    write(tmp_path, "a.PNG", "b.tar.gz", "c.so", "server.p12", ".env.local", "id_ed25519", "secrets.json")
    write(tmp_path, ".env.example", "id_ed25519.pub", "environment.md")
    assert paths(tmp_path) == [".env.example", "environment.md", "id_ed25519.pub"]
    told = reasons(tmp_path)
    assert told["a.PNG"] == "an image, no text to read without OCR (the extra ocr)"
    assert told["server.p12"] == told[".env.local"] == told["id_ed25519"] == told["secrets.json"]
    assert "credentials" in told["server.p12"]
    assert "server.p12" in [
        item.path for item in found(tmp_path, include_secrets=True) if isinstance(item, SourceFile)
    ]


@pytest.mark.parametrize(
    "name", ["a.pdf", "a.docx", "a.svg", "a.ts", "a.mts", "Makefile", "png", ".png.md", "a."]
)
def test_suffixes_that_may_be_text_are_not_called_binary(name: str) -> None:
    assert binary_kind(name) is None


def test_a_nul_means_binary_unless_a_byte_order_mark_explains_it() -> None:
    assert looks_binary(b"\x7fELF\x02\x01\x01\x00")
    assert looks_binary("text".encode("utf-16-le"))
    assert not looks_binary("text é".encode())
    assert not looks_binary(b"")
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        assert not looks_binary("text\0".encode(encoding))


def test_links_are_never_followed_and_each_says_where_it_leads(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.md", "root/docs/a.md")
    root = tmp_path / "root"
    (root / "same.md").symlink_to("docs/a.md")
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "nowhere.md").symlink_to("missing")
    (root / "self").symlink_to("self")
    assert paths(root) == ["docs/a.md"]
    told = reasons(root)
    assert told["same.md"] == "a link to docs/a.md, which is itself part of the folder"
    assert "part of the folder" in told["loop"]
    assert "out of the folder" in told["out"]
    assert "out of the folder" in told["out.md"]
    assert told["nowhere.md"] == told["self"] == "a link that leads nowhere"


def test_pipes_and_sockets_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        assert paths(tmp_path) == ["a.md"]
        assert set(reasons(tmp_path)) == {"pipe.md", "s"}
    assert isinstance(found(tmp_path / "pipe.md")[0], Skipped)


def test_a_folder_that_cannot_be_read_is_a_failure_that_shields_what_lies_below() -> None:
    with as_nobody() as root:
        write(root, "open/a.md", "shut/b.md", "shutter.md")
        (root / "shut").chmod(0)
        assert paths(root) == ["shutter.md", "open/a.md"]
        (failure,) = [item for item in found(root) if isinstance(item, Failure)]
        (root / "shut").chmod(0o755)
    assert failure.path == "shut/"
    assert "permission denied" in failure.reason
    assert shields(failure, "shut/b.md")
    assert shields(failure, "shut/c/d.md")
    assert not shields(failure, "shutter.md")
    assert not shields(failure, "open/a.md")
    assert shields(Failure("./", "…"), "anything.md")
    assert shields(Failure("a.md", "…"), "a.md")
    assert not shields(Failure("a", "…"), "a.md")


def test_files_that_can_be_listed_but_not_read_are_one_failure_each() -> None:
    with as_nobody() as root:
        write(root, "a.md", "half/b.md", "half/c.md")
        (root / "half").chmod(0o444)
        assert paths(root) == ["a.md"]
        failures = [item for item in found(root) if isinstance(item, Failure)]
        (root / "half").chmod(0o755)
    assert [failure.path for failure in failures] == ["half/b.md", "half/c.md"]
    assert shields(failures[0], "half/b.md")
    assert not shields(failures[0], "half/c.md")


def test_nothing_is_indexed_beside_an_ignore_file_that_cannot_be_read() -> None:
    with as_nobody() as root:
        write(root, "a.md", "inner/.gitignore", "inner/private.md", text="private.md")
        (root / "inner/.gitignore").chmod(0)
        assert paths(root) == ["a.md"]
        assert "inner/" in reasons(root)


def test_a_root_that_is_missing_or_unreadable_is_an_error_and_never_an_empty_walk(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be added"):
        walk(tmp_path / "missing", max_file_bytes=LIMIT)
    with as_nobody() as root:
        (root / "shut").mkdir(mode=0)
        with pytest.raises(SourceError, match="permission denied"):
            walk(root / "shut", max_file_bytes=LIMIT)
        (root / "shut").chmod(0o755)


def test_names_that_are_not_utf8_are_reported_in_a_form_that_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / "ça va.md").write_text("text")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("text")
    assert paths(tmp_path) == ["ça va.md"]
    (told,) = reasons(tmp_path)
    assert told.encode("utf-8") == b"caf\\udce9.md"


def test_walking_ten_thousand_files_takes_a_few_calls_each(tmp_path: Path) -> None:
    rules = "\n".join(
        ["*.log", "*.tmp", "build/", "/dist", "docs/**/out", "!keep.log", "*~", ".idea", "foo*bar"] * 4
    )
    for folder in range(500):
        here = tmp_path / f"area{folder % 10}" / f"part{folder}"
        here.mkdir(parents=True)
        for number in range(20):
            (here / f"file{number}.md").write_text("x")
        if folder % 100 == 0:
            (here / ".gitignore").write_text(rules + f"\nonly{folder}")
    (tmp_path / ".gitignore").write_text(rules)
    count = sum(isinstance(item, SourceFile) for item in walk(tmp_path, max_file_bytes=LIMIT))
    assert count == 10_000 + 6  # the ignore files are text like any other
    assert calls(lambda: list(walk(tmp_path, max_file_bytes=LIMIT))) < 40 * 10_000
