"""Sums and signatures of a release, with a real key."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from scripts.release import check_checkout, public_key_of, sign, verify, write_sums


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys") / "releases")


def make_key(path: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tests", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name)
    return write_sums([tmp_path / "b.whl", tmp_path / "a.tar.gz"])


def test_sums_can_be_checked_by_anyone(sums: Path) -> None:
    assert [line.split()[1] for line in sums.read_text().splitlines()] == ["a.tar.gz", "b.whl"]
    check = ["sha256sum", "--check", "--strict", "--quiet", sums.name]
    assert subprocess.run(check, cwd=sums.parent, check=False).returncode == 0
    (sums.parent / "a.tar.gz").write_text("something else")
    assert subprocess.run(check, cwd=sums.parent, capture_output=True, check=False).returncode != 0


def test_a_signature_is_verified_and_signing_again_replaces_it(sums: Path, key: Path) -> None:
    sign(sums, key)
    signature = sign(sums, key)
    assert signature.name == "SHA256SUMS.sig"
    assert verify(sums, signature, public_key_of(key))


def test_a_changed_file_another_key_or_another_purpose_is_no_signature(
    sums: Path, key: Path, tmp_path: Path
) -> None:
    signature = sign(sums, key)
    assert not verify(sums, signature, public_key_of(make_key(tmp_path / "other")))
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", "git", str(sums)]
    signature.unlink()
    subprocess.run(command, check=True, capture_output=True)
    assert not verify(sums, signature, public_key_of(key))
    signature = sign(sums, key)
    sums.write_text("0000  a.tar.gz\n")
    assert not verify(sums, signature, public_key_of(key))


def test_a_key_without_its_public_half_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="ssh-keygen -y"):
        public_key_of(tmp_path / "lost")


def test_what_is_not_committed_is_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert list(check_checkout(tmp_path)) == []
    (tmp_path / "note.txt").write_text("x")
    assert list(check_checkout(tmp_path)) == ["not committed: note.txt"]
