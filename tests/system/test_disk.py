"""Locks, replacement and folders of both kinds of system. What Windows does is played by a fake of `msvcrt`, and its
folders run here by path: that they work on Windows itself is not shown by this."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

import outcrop
from outcrop.errors import Conflict, NotAllowed, NotFound
from outcrop.notes.files import NoteFiles
from outcrop.system import disk
from outcrop.system.disk import Folder, lock_windows, remove_unused, replace_file, try_lock, wait_for_lock

POSIX_ONLY = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "posix_ipc")


class FakeMsvcrt(ModuleType):
    """Locks as the documentation of msvcrt tells: a region from where the file stands, refused with EACCES while
    another descriptor of the file has it."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.held: dict[tuple[int, int], int] = {}
        self.error = errno.EACCES

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if self.held.get(place, descriptor) != descriptor:
            raise OSError(self.error, "locked")
        self.held[place] = descriptor

    def close(self, descriptor: int) -> None:
        self.held = {place: holder for place, holder in self.held.items() if holder != descriptor}


@pytest.fixture
def msvcrt(monkeypatch: pytest.MonkeyPatch) -> FakeMsvcrt:
    fake = FakeMsvcrt()
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    return fake


@pytest.fixture
def handles(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The lock file, opened twice, as two processes have it."""
    first, second = (os.open(tmp_path / "lock", disk.LOCK, disk.FILE) for _ in range(2))
    yield first, second
    for handle in (first, second):
        os.close(handle)


def test_a_lock_of_this_system_has_one_holder_and_ends_with_it(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", disk.LOCK, disk.FILE) for _ in range(2))
    assert try_lock(first)
    os.write(first, b"moves where the file stands")
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)
    with pytest.raises(OSError, match="Bad file descriptor"):
        try_lock(second)


def test_a_lock_of_windows_has_one_holder(handles: tuple[int, int], msvcrt: FakeMsvcrt) -> None:
    first, second = handles
    assert lock_windows(first)
    os.write(first, b"moves where the file stands")
    assert not lock_windows(second)
    msvcrt.error = errno.EDEADLOCK
    assert not lock_windows(second)
    msvcrt.error = errno.EBADF
    with pytest.raises(OSError, match="locked"):
        lock_windows(second)
    msvcrt.close(first)
    assert lock_windows(second)


def test_one_waits_for_a_lock_and_gives_up(handles: tuple[int, int]) -> None:
    first, second = handles
    assert wait_for_lock(first, 0)
    assert not wait_for_lock(second, 0.02)


def test_a_file_that_is_in_use_is_replaced_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    tries: list[Path] = []
    really = Path.replace

    def refuse(source: Path, target: Path) -> Path:
        tries.append(source)
        if len(tries) < 3:
            raise PermissionError(errno.EACCES, "in use")
        return really(source, target)

    def always_refuse(_source: Path, _target: Path) -> Path:
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(Path, "replace", refuse)
    new.write_text("new")
    old.write_text("old")
    with pytest.raises(PermissionError):
        replace_file(new, old, patient=False)
    replace_file(new, old, patient=True)
    assert old.read_text() == "new"
    assert len(tries) == 3
    monkeypatch.setattr(disk, "REPLACE_WAIT_S", 0.02)
    monkeypatch.setattr(Path, "replace", always_refuse)
    with pytest.raises(PermissionError):
        replace_file(new, old, patient=True)


def test_a_mapped_file_stays_until_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "segment"
    assert remove_unused(file)
    file.touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "in use")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        assert not remove_unused(file, lenient=True)
        with pytest.raises(PermissionError):
            remove_unused(file, lenient=False)
    assert remove_unused(file)
    assert not file.exists()


@pytest.mark.parametrize("by_path", [True] if disk.WINDOWS else [False, True])
def test_folders_do_the_same_by_descriptor_and_by_path(tmp_path: Path, by_path: bool) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "away").symlink_to(tmp_path.parent)
    with closing(Folder(tmp_path, by_path=by_path)) as folder:
        folder.make("inner")
        with pytest.raises(FileExistsError):
            folder.make("inner")
        with closing(folder.enter("inner")) as inner, closing(folder.enter("inner")) as again:
            assert inner.is_same(again)
            assert not inner.is_same(folder)
            folder.rename("file", inner, "moved")
            inner.sync()
            assert inner.names() == ["moved"]
            with os.fdopen(inner.open("moved", disk.READ), "rb") as stream:
                assert stream.read() == b"x"
            assert inner.stat("moved").st_size == 1
            inner.remove("moved")
        for name, error in (("link", errno.ELOOP), ("nothing", errno.ENOENT)):
            with pytest.raises(OSError, match=r".") as told:
                folder.open(name, disk.READ)
            assert told.value.errno == error
        for name in ("away", "link"):
            with pytest.raises(OSError, match=r".") as told:
                folder.enter(name)
            assert told.value.errno in (errno.ELOOP, errno.ENOTDIR)
        folder.remove_folder("inner")
        assert sorted(folder.names()) == ["away", "link"]


def test_notes_are_kept_by_path_as_by_descriptor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole life of a note as Windows would have it, with its lock."""
    monkeypatch.setattr("outcrop.notes.files.Folder", lambda path: Folder(path, by_path=True))
    files = NoteFiles(tmp_path / "kb")
    with files.locked():
        files.replace("plans/today.md", b"one")
        files.replace("plans/today.md", b"two\r\n")
        files.replace("other.md", b"three")
    assert files.read("plans/today.md")[0] == b"two\r\n"
    assert sorted(files.walk()[0]) == ["other.md", "plans/today.md"]
    with files.locked():
        with pytest.raises(Conflict):
            files.rename("other.md", "plans/today.md")
        files.rename("plans/today.md", "done.md")
        files.remove("other.md")
    assert sorted(path.name for path in (tmp_path / "kb").iterdir()) == [".outcrop", "done.md"]
    (tmp_path / "kb" / "away").symlink_to(tmp_path)
    with pytest.raises(NotAllowed), files.locked():
        files.replace("away/out.md", b"x")
    with pytest.raises(NotFound):
        files.read("gone.md")


@pytest.mark.parametrize(
    "code",
    [
        "import outcrop",
        "from outcrop.serve.cli.app import cli; cli(['--help'])",
        "from outcrop.serve.cli.app import cli; cli(['search', '--help'])",
        "from outcrop.serve.cli.app import cli; cli(['search', 'wombat', '--db', DB])",
        "from outcrop.serve.cli.app import cli; cli(['add', '--text', 'quokka', '--db', DB])",
        "from outcrop.serve.cli.app import cli; cli(['add', NOTES, '--db', DB])",
        "from outcrop.serve.cli.app import cli; cli(['serve', '--help'])",
        "import outcrop.notes, outcrop.chat, outcrop.serve.jobs, outcrop.parse.worker",
        "import outcrop.serve.http.app, outcrop.serve.http.server, outcrop.serve.mcp.server",
    ],
)
def test_nothing_that_only_posix_has_is_imported_at_the_start(tmp_path: Path, code: str) -> None:
    """The modules are blocked in a child, as if they were not there; locks of the index go by the fake of msvcrt."""
    db = tmp_path / "index.db"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Wombat\n\nA wombat digs.\n")
    with outcrop.open(db) as index:
        index.add(text="The wombat sleeps.")
    child = (
        f"import sys, asyncio, subprocess{', mcp' if 'mcp' in code else ''}\n"  # not ours: they choose by system
        f"for name in {POSIX_ONLY!r}: sys.modules[name] = None\n"
        "import types, outcrop.system.disk as disk\n"
        "sys.modules['msvcrt'] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *given: None)\n"
        "disk.try_lock = disk.lock_windows\n"
        f"DB, NOTES = {str(db)!r}, {str(tmp_path / 'notes')!r}\n{code}\n"
    )
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
