"""What git's index says of the files it tracks, held against real git."""

from __future__ import annotations

import hashlib
import os
import random
import struct
import subprocess
import time
import tracemalloc
from pathlib import Path

import pytest
from tests.cost import calls

from outcrop.records import Skipped
from outcrop.sources.checkout import Checkout, Checkouts, blob_id, is_dirty, repository_at
from outcrop.sources.folder import walk
from outcrop.sources.gitindex import IndexTooLarge, Tracked, read_index

LONG = "long/" + "n" * 240 + "/" + "m" * 240


def git(folder: Path, *arguments: str, text: str | None = None) -> str:
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *settings, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        check=True,
        text=True,
        input=text,
    )
    return done.stdout


def make_repo(top: Path, object_format: str = "sha1") -> Path:
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main", f"--object-format={object_format}")
    for name in ("a.md", "b/c.md", "b/c/../d.md", "ä ö.md", 'odd "name"\t\n.md', LONG, "b.md", "z"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"content of {name}\n")
    Path(os.fsdecode(os.fsencode(top) + b"/caf\xe9")).write_text("latin")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    return top


def checkout_at(top: Path) -> Checkout:
    found = Checkouts().at(str(top))
    assert found is not None
    return found


def tracked_at(top: Path) -> Tracked:
    tracked = checkout_at(top).tracked
    assert tracked is not None
    return tracked


def staged(top: Path) -> dict[str, str]:
    """Path → blob, as git tells them."""
    lines = subprocess.run(["git", "ls-files", "-sz"], cwd=top, capture_output=True, check=True).stdout
    entries = (line.partition(b"\t") for line in lines.split(b"\0") if line)
    return {os.fsdecode(path): meta.split()[1].decode() for meta, _, path in entries}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repo(tmp_path.resolve() / "repo")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("version", [2, 3, 4])
def test_entries_are_those_that_git_lists(tmp_path: Path, object_format: str, version: int) -> None:
    top = make_repo(tmp_path.resolve() / "repo", object_format)
    if version == 3:  # git writes it when an entry needs it
        (top / "announced").write_text("x")
        git(top, "add", "-N", "announced")
        git(top, "update-index", "--skip-worktree", "z")
    git(top, "update-index", "--assume-unchanged", "a.md")
    git(top, "update-index", f"--index-version={version}")
    assert (top / ".git/index").read_bytes()[7] == version
    tracked = tracked_at(top)
    blobs = {path: entry.blob for path in tracked if (entry := tracked.get(path)) is not None}
    assert blobs == staged(top)
    entry, status = tracked.get(LONG), (top / LONG).stat()
    assert entry is not None
    assert (entry.size, entry.mtime_ns, entry.mode) == (status.st_size, status.st_mtime_ns, 0o100644)
    assert all(path in tracked for path in ("a.md", "z")), "whatever flags an entry has"
    if version == 3:
        announced = tracked.get("announced")
        assert announced is not None
        assert announced.intent_to_add
    assert tracked.get("b") is None
    assert tracked.holds_below("b/")
    assert tracked.holds_below("long/")
    assert not tracked.holds_below("lon/")
    assert not tracked.holds_below("zz/")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_content_has_the_name_git_gives_it(tmp_path: Path, algorithm: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={algorithm}")
    for text in ("", "some text\n"):
        name = git(tmp_path, "hash-object", "--stdin", text=text).strip()
        assert blob_id(text.encode(), "sha1" if algorithm == "sha1" else "sha256") == name


def dirty(top: Path, path: str) -> bool | None:
    return is_dirty(checkout_at(top), path, (top / path).read_bytes())


def test_an_edit_and_a_new_file_are_dirty_until_they_are_added(top: Path) -> None:
    assert dirty(top, "a.md") is False
    (top / "a.md").write_text("edited")
    (top / "new.md").write_text("new")
    assert (dirty(top, "a.md"), dirty(top, "new.md"), dirty(top, "b.md")) == (True, True, False)
    git(top, "add", "-N", "new.md")
    assert dirty(top, "new.md") is True
    git(top, "add", ".")
    assert (dirty(top, "a.md"), dirty(top, "new.md")) == (False, False)


def test_line_endings_that_git_converts_do_not_make_a_file_dirty(top: Path) -> None:
    git(top, "config", "core.autocrlf", "true")
    (top / "dos.md").write_bytes(b"one\r\ntwo\r\n")
    git(top, "add", "dos.md")
    assert dirty(top, "dos.md") is False
    (top / "dos.md").write_bytes(b"one\r\nthree\r\n")
    assert dirty(top, "dos.md") is True


def test_a_git_lfs_file_is_compared_with_its_pointer(top: Path) -> None:
    data = b"large content\n"
    oid = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    (top / "large").write_text(pointer)
    git(top, "add", "large")
    assert is_dirty(checkout_at(top), "large", data) is False
    assert is_dirty(checkout_at(top), "large", data + b"x") is True


def test_a_file_in_conflict_is_dirty(top: Path) -> None:
    git(top, "checkout", "-qb", "topic")
    (top / "a.md").write_text("theirs\n")
    git(top, "commit", "-qam", "theirs")
    git(top, "checkout", "-q", "main")
    (top / "a.md").write_text("ours\n")
    git(top, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(top, "merge", "topic")
    assert dirty(top, "a.md") is True
    assert is_dirty(checkout_at(top), "a.md", b"ours\n") is True
    entry = tracked_at(top).get("a.md")
    assert entry is not None
    assert entry.conflicted


def unchanged(top: Path, path: str) -> bool:
    status = (top / path).stat()
    return tracked_at(top).proves_unchanged(path, status.st_mtime_ns, status.st_size)


def test_a_stat_proves_a_file_unchanged_only_when_it_is_older_than_the_index(top: Path) -> None:
    past = time.time_ns() - 10_000_000_000
    os.utime(top / "a.md", ns=(past, past))
    git(top, "update-index", "--refresh")
    assert unchanged(top, "a.md")
    os.utime(top / "a.md", ns=(past, past + 1))
    assert not unchanged(top, "a.md")
    os.utime(top / "a.md", ns=(past, past))
    assert unchanged(top, "a.md")
    os.utime(top / ".git/index", ns=(past, past))
    assert not unchanged(top, "a.md"), "an edit in the same tick of the clock would not show"
    assert not tracked_at(top).proves_unchanged("missing", past, 1)


def test_a_file_added_with_intent_only_is_not_proven_unchanged(top: Path) -> None:
    past = time.time_ns() - 10_000_000_000
    (top / "new.md").write_text("new")
    os.utime(top / "new.md", ns=(past, past))
    git(top, "add", "-N", "new.md")
    # Git leaves the stat empty; another program need not.
    index = bytearray((top / ".git/index").read_bytes()[:-20])
    at = index.index(b"new.md\0") - 64
    struct.pack_into(">II", index, at + 8, *divmod(past, 10**9))
    struct.pack_into(">I", index, at + 36, 3)
    (top / ".git/index").write_bytes(index + hashlib.sha1(index).digest())
    entry = tracked_at(top).get("new.md")
    assert entry is not None
    assert (entry.mtime_ns, entry.size, entry.intent_to_add) == (past, 3, True)
    assert not unchanged(top, "new.md")


def test_a_split_index_and_a_sparse_one_are_not_guessed_at(top: Path) -> None:
    git(top, "update-index", "--split-index")
    assert checkout_at(top).tracked is None
    assert is_dirty(checkout_at(top), "a.md", b"x") is None
    git(top, "update-index", "--no-split-index")
    assert checkout_at(top).tracked is not None
    git(top, "sparse-checkout", "set", "--cone", "--sparse-index", "b")
    assert b"sdir" in (top / ".git/index").read_bytes()
    assert checkout_at(top).tracked is None
    git(top, "sparse-checkout", "disable")
    assert checkout_at(top).tracked is not None


def test_before_the_first_add_nothing_is_tracked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    top = tmp_path.resolve()
    assert len(tracked_at(top)) == 0
    assert is_dirty(checkout_at(top), "a.md", b"x") is True


def test_an_unknown_object_format_is_not_guessed_at(top: Path) -> None:
    with (top / ".git/config").open("a") as config:
        config.write("[extensions]\n\tobjectFormat = sha3\n")
    assert checkout_at(top).tracked is None


def test_an_omitted_checksum_is_not_damage(top: Path) -> None:
    index = top / ".git/index"
    data = index.read_bytes()
    index.write_bytes(data[:-20] + bytes(20))
    assert len(tracked_at(top)) == len(staged(top))
    index.write_bytes(data[:-20] + bytes(19) + b"\1")
    assert checkout_at(top).tracked is None


@pytest.mark.parametrize("version", [2, 4])
def test_a_damaged_index_gives_none_and_never_an_error(top: Path, version: int) -> None:
    git(top, "update-index", f"--index-version={version}")
    index = top / ".git/index"
    data = index.read_bytes()
    chance = random.Random(version)
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(12, len(data) - 20)] = chance.randrange(256)
        cut = bytes(broken[: chance.choice((len(data), chance.randrange(len(data))))])
        index.write_bytes(cut)
        assert read_index(index, "sha1") is None or cut == data
        # With a checksum that fits, what is read is whatever the bytes say; it must only not fail.
        body = cut[:-20]
        index.write_bytes(body + hashlib.sha1(body).digest())
        found = read_index(index, "sha1")
        assert found is None or all(found.get(path) is not None for path in found)
    index.write_bytes(b"DIRC" + (2).to_bytes(4, "big") + b"\xff" * 4 + bytes(20))
    assert read_index(index, "sha1") is None


def shared_names(count: int, length: int) -> bytes:
    """An index of version 4 in which every name is this long and repeats all but the end of the one before it."""
    out = bytearray(b"DIRC" + (4).to_bytes(4, "big") + count.to_bytes(4, "big"))
    for number in range(count):
        out += bytes(60) + b"\x0f\xff"
        ending = b"%08d" % number
        out += (b"\x08" + ending if number else b"\0" + b"a" * length + ending) + b"\0"
    return bytes(out) + hashlib.sha1(out).digest()


def test_a_small_index_with_gigabytes_of_names_is_not_read(top: Path) -> None:
    index = top / ".git/index"
    index.write_bytes(shared_names(2_000, 100))
    assert len(read_index(index, "sha1") or ()) == 2_000
    index.write_bytes(shared_names(20_000, 260_000))  # 1.7 MB that mean 5.2 GB
    before = index.stat().st_size
    tracemalloc.start()
    with pytest.raises(IndexTooLarge, match="names in git's index"):
        read_index(index, "sha1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert before < 2_000_000
    assert peak < 20 * before
    (top / "kept.md").write_text("# Kept\n")
    (line,) = [item for item in walk(top, max_file_bytes=10_000) if item.path == ".git/index"]
    assert isinstance(line, Skipped)
    assert "walked without it" in line.reason
    assert "kept.md" in [item.path for item in walk(top, max_file_bytes=10_000)]
    (top / "inner").mkdir(exist_ok=True)
    lines = [item.path for item in walk(top / "inner", max_file_bytes=10_000)]
    assert str(top / ".git/index") in lines  # entered from below its top, it is told by its whole path


def test_repositories_of_one_run_share_a_bound_on_memory(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of folders may link to the same git folder."""
    index = top / ".git/index"
    index.write_bytes(shared_names(2_000, 100))
    held = read_index(index, "sha1")
    assert held is not None
    monkeypatch.setattr("outcrop.sources.checkout._MAX_HELD_BYTES", 3 * held.held_bytes + 1000)
    for number in range(6):
        (top / f"part{number}").mkdir()
        (top / f"part{number}" / ".git").write_text("gitdir: ../.git\n")
        (top / f"part{number}" / "a.md").write_text("# A\n")
    found = list(walk(top, max_file_bytes=10_000))
    unread = [item.path for item in found if isinstance(item, Skipped) and "too large" in item.reason]
    assert len(unread) == 4  # the top and two parts have room
    assert sum(item.path.startswith("part") and item.path.endswith("a.md") for item in found) == 6


def test_packed_refs_full_of_line_ends_take_little_memory(top: Path) -> None:
    revision = "a" * 40
    (top / ".git/HEAD").write_text("ref: refs/heads/packed\n")
    (top / ".git/packed-refs").write_bytes(b"\n" * 16_000_000 + f"{revision} refs/heads/packed\n".encode())
    tracemalloc.start()
    found = repository_at(top)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found is not None
    assert found.revision == revision
    assert peak < 100_000_000


def test_fifty_thousand_entries_are_read_without_a_call_for_each(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    blob = git(tmp_path, "hash-object", "-w", "--stdin", text="x").strip()
    names = (f"src/area{n // 1000}/part{n // 20}/some_file_name_{n}.py" for n in range(50_000))
    git(tmp_path, "update-index", "--index-info", text="".join(f"100644 {blob}\t{name}\n" for name in names))
    for version in (2, 4):
        git(tmp_path, "update-index", f"--index-version={version}")
        tracked = read_index(tmp_path / ".git/index", "sha1")
        assert tracked is not None
        assert len(tracked) == 50_000
        assert calls(lambda: read_index(tmp_path / ".git/index", "sha1")) < 10 * 50_000


def test_a_folder_is_held_by_the_innermost_repository(top: Path, tmp_path: Path) -> None:
    inner = make_repo(top / "b/inner")
    (inner / "deep/er").mkdir(parents=True)
    git(top, "worktree", "add", "-qb", "side", str(tmp_path / "tree"))
    checkouts = Checkouts()
    folders = (
        top,
        top / "b",
        inner,
        inner / "deep/er",
        inner / "deep",
        tmp_path.resolve() / "tree/b",
        tmp_path,
    )
    found = [checkouts.holding(str(folder)) for folder in folders]
    assert [each and each.top for each in found] == [
        *(str(top), str(top)),
        *(str(inner), str(inner), str(inner)),
        str(tmp_path.resolve() / "tree"),
        None,
    ]
    side = checkouts.holding(str(tmp_path.resolve() / "tree"))
    assert side is not None
    assert side.tracked is not None
    assert side.repository.branch == "side"
    assert set(side.tracked) == set(tracked_at(top))
