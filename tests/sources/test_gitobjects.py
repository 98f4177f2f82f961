"""Objects of real repositories are those git reads; forged ones are bounded."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.repositories import commit, forge_pack, git, head, make, open_at, packed, varint

from outcrop.errors import SourceError
from outcrop.sources.gitobjects import ObjectStore
from outcrop.sources.gitpacks import Damaged, MissingObject, ObjectTooLarge, apply_delta


def all_objects(top: Path) -> dict[str, str]:
    """Every object of a repository, as git lists it: its name and its kind."""
    listed = git(top, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    return dict(line.split(" ") for line in listed.splitlines())


def cat(top: Path, kind: str, name: str) -> bytes:
    done = subprocess.run(["git", "-C", str(top), "cat-file", kind, name], capture_output=True, check=True)
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Files that change little by little, so that git packs them as deltas."""
    top = make(tmp_path / "repo")
    lines = [f"line {number} of a longer text that is changed later" for number in range(400)]
    rng = random.Random(7)
    for number in range(14):
        lines[rng.randrange(len(lines))] = f"changed in {number}"
        commit(
            top, f"change {number}", {"src/long.txt": "\n".join(lines), f"src/deep/{number}.txt": str(number)}
        )
    git(top, "tag", "-a", "-m", "a release", "v1")
    return top


@pytest.mark.parametrize(
    "repack",
    [
        (),
        ("repack", "-adq", "--depth=50", "--window=50"),
        ("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"),
        ("gc", "-q", "--aggressive"),
    ],
)
def test_every_object_is_the_one_git_reads(repo: Path, repack: tuple[str, ...]) -> None:
    if repack:
        git(repo, *repack)
    store = open_at(repo).objects
    objects = all_objects(repo)
    assert len(objects) > 60
    for name, kind in objects.items():
        assert store.read_any(name) == (kind, cat(repo, kind, name))
    if repack:
        deltas = [
            line
            for line in git(repo, "verify-pack", "-v", *_indexes(repo)).splitlines()
            if len(line.split()) == 7
        ]
        assert len(deltas) > 5  # what was read was chains


def _indexes(repo: Path) -> list[str]:
    return [str(path) for path in (repo / ".git/objects/pack").glob("*.idx")]


def test_a_repository_with_long_names_is_read(tmp_path: Path) -> None:
    top = make(tmp_path / "repo", "--object-format=sha256")
    commit(top, "first", {"a.txt": "a" * 1000})
    commit(top, "second", {"a.txt": "a" * 1000 + "b"})
    git(top, "repack", "-adq")
    store = open_at(top).objects
    for name, kind in all_objects(top).items():
        assert store.read_any(name) == (kind, cat(top, kind, name))


def test_objects_of_alternates_are_read(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(repo), "borrower")
    store = open_at(tmp_path / "borrower").objects
    assert not list((tmp_path / "borrower/.git/objects/pack").glob("*.idx"))
    for name, kind in all_objects(repo).items():
        assert store.read_any(name)[0] == kind


def test_alternates_that_name_each_other_end(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(repo), "borrower")
    (repo / ".git/objects/info/alternates").write_text(f"{tmp_path}/borrower/.git/objects\n")
    with pytest.raises(MissingObject):
        open_at(repo).objects.read_any("0" * 40)


def test_a_repack_while_it_is_read_goes_unnoticed(repo: Path) -> None:
    store = open_at(repo).objects
    names = list(all_objects(repo))
    assert store.read_any(names[0])
    git(repo, "gc", "-q", "--prune=now")
    assert [store.read_any(name)[0] for name in names]
    git(repo, "commit", "--allow-empty", "-qm", "later")
    git(repo, "repack", "-adq")
    assert store.read_any(git(repo, "rev-parse", "HEAD"))[0] == "commit"


def test_short_names_are_completed(repo: Path) -> None:
    name = git(repo, "rev-parse", "HEAD")
    assert open_at(repo).objects.complete(name[:7]) == [name]
    git(repo, "repack", "-adq")
    assert open_at(repo).objects.complete(name[:7]) == [name]
    assert open_at(repo).objects.complete("zz") == []


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.9])
def test_a_damaged_pack_is_an_error_or_the_truth(repo: Path, at: float) -> None:
    git(repo, "repack", "-adq")
    (pack,) = (repo / ".git/objects/pack").glob("*.pack")
    truth = {name: cat(repo, kind, name) for name, kind in all_objects(repo).items()}
    data = bytearray(pack.read_bytes())
    place = int(at * (len(data) - 32)) + (12 if at else 0)
    data[place : place + 8] = bytes(byte ^ 0x5A for byte in data[place : place + 8])
    pack.chmod(0o600)
    pack.write_bytes(data)
    failures = 0
    try:
        store: ObjectStore | None = open_at(repo).objects
    except SourceError:
        store = None
        failures = 1
    for name in truth if store else ():
        assert store is not None
        try:
            assert store.read_any(name)[1] == truth[name]
        except SourceError:
            failures += 1
    assert failures


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_a_pack_that_is_cut_short_while_it_is_read_is_an_error(repo: Path, share: float) -> None:
    git(repo, "repack", "-adq")
    (pack,) = (repo / ".git/objects/pack").glob("*.pack")
    store = open_at(repo).objects
    names = list(all_objects(repo))
    pack.chmod(0o600)
    os.truncate(pack, int(pack.stat().st_size * share))
    told = 0
    for name in names:
        try:
            store.read_any(name)
        except SourceError:
            told += 1
    assert told


def test_a_loose_object_that_is_damaged_is_an_error(repo: Path) -> None:
    name = git(repo, "rev-parse", "HEAD")
    file = repo / ".git/objects" / name[:2] / name[2:]
    file.chmod(0o600)
    for data in (
        b"",
        b"x",
        zlib.compress(b"commit 5\0abc"),
        zlib.compress(b"nothing"),
        zlib.compress(b"blob 1\0a"),
    ):
        file.write_bytes(data)
        with pytest.raises(SourceError):
            open_at(repo).objects.read(name, "commit")


def test_a_pipe_in_place_of_an_object_does_not_hang(repo: Path) -> None:
    name = git(repo, "rev-parse", "HEAD")
    file = repo / ".git/objects" / name[:2] / name[2:]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(Damaged, match="plain file"):
        open_at(repo).objects.read_any(name)


# ------------------------------------------------------------------ hostile packs


def test_a_loose_bomb_is_refused_before_it_is_unpacked(repo: Path) -> None:
    name = "ab" + "0" * 38
    folder = repo / ".git/objects/ab"
    folder.mkdir(exist_ok=True)
    (folder / name[2:]).write_bytes(zlib.compress(b"blob 999999999999\0" + bytes(1 << 20)))
    with pytest.raises(ObjectTooLarge):
        open_at(repo).objects.read_any(name)
    (folder / name[2:]).write_bytes(zlib.compress(b"blob 10\0" + bytes(1 << 28), 1))  # says 10, holds 256 MB
    with pytest.raises(Damaged):
        open_at(repo).objects.read_any(name)


def test_deltas_on_each_other_end(repo: Path) -> None:
    one, other = b"\x01" * 20, b"\x02" * 20
    delta = packed(varint(4) + varint(4) + b"\x90\x04")
    forge_pack(repo, [(one, head(7, 4) + other + delta), (other, head(7, 4) + one + delta)])
    with pytest.raises(Damaged, match="chain"):
        open_at(repo).objects.read_any(one.hex())


def test_a_delta_bomb_is_refused(repo: Path) -> None:
    """Each delta makes its base eight times as large: some kilobytes would become 256 MB."""
    names = [bytes([number]) * 20 for number in range(1, 6)]
    size = 1 << 16
    objects = [(names[0], head(3, size) + packed(bytes(size)))]
    for before, name in pairwise(names):
        delta = (
            varint(size) + varint(size * 8) + b"\x80" * (size * 8 >> 16)
        )  # 64 KB from the beginning, so often
        objects.append((name, head(7, len(delta)) + before + packed(delta)))
        size *= 8
    forge_pack(repo, objects)
    store = open_at(repo).objects
    with pytest.raises(ObjectTooLarge):
        store.read_any(names[-1].hex())


def test_a_long_chain_of_large_objects_is_refused_by_its_bytes(repo: Path) -> None:
    size = 8 << 20
    names = [number.to_bytes(20, "big") for number in range(1, 200)]
    copy = b"\xf0" + (1 << 23).to_bytes(3, "little")
    delta = varint(size) + varint(size) + copy
    objects = [(names[0], head(3, size) + packed(bytes(size)))]
    objects += [(name, head(7, len(delta)) + before + packed(delta)) for before, name in pairwise(names)]
    forge_pack(repo, objects)
    with pytest.raises(ObjectTooLarge, match="chain"):
        open_at(repo).objects.read_any(names[-1].hex())


@pytest.mark.parametrize("offset", [(1 << 64) - 1, 1 << 63, 1 << 40, 0])
def test_an_index_that_points_anywhere_is_an_error(repo: Path, offset: int) -> None:
    pack = forge_pack(repo, [(b"\x05" * 20, head(3, 5) + packed(b"hello"))])
    index = bytearray(pack.with_suffix(".idx").read_bytes())
    at = 8 + 1024 + 24
    index[at : at + 4] = b"\x80\0\0\0"  # the first of the large offsets, which follow
    index[at + 4 : at + 12] = offset.to_bytes(8, "big")
    pack.with_suffix(".idx").write_bytes(index)
    with pytest.raises(Damaged):
        open_at(repo).objects.read_any("05" * 20)


def test_content_under_a_false_name_is_refused(repo: Path) -> None:
    forge_pack(repo, [(b"\x05" * 20, head(3, 5) + packed(b"hello"))])
    with pytest.raises(Damaged, match="name"):
        open_at(repo).objects.read_any("05" * 20)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_delta_gives_bytes_or_an_error(base: bytes, delta: bytes) -> None:
    with contextlib.suppress(SourceError):
        assert len(apply_delta(base, delta, 1000)) <= 1000


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("forged") / "repo")


@given(st.binary(min_size=1, max_size=200))
def test_any_pack_gives_an_error(forged: Path, data: bytes) -> None:
    forge_pack(forged, [(b"\x07" * 20, data)])
    with pytest.raises(SourceError):
        open_at(forged).objects.read_any("07" * 20)
