"""What Outcrop writes is for its owner alone, whatever the umask; what is open to others is closed."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.serve.cli.runner import Outcrop

import outcrop
from outcrop.evals.dataset import EvalCase, append_case
from outcrop.notes import KnowledgeBase
from outcrop.serve.jobs import Jobs, Task
from outcrop.serve.state import require_root
from outcrop.system.private import make_folder


@pytest.fixture(autouse=True)
def lax_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose default data folder does not exist yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home" / "share"))
    return tmp_path / "home"


def modes(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.rglob("*")}


def open_to_others(folder: Path) -> list[str]:
    return sorted(name for name, mode in modes(folder).items() if int(mode, 8) & 0o077)


def use_everything(db: Path | None, source: Path) -> None:
    """Write all that an index has beside it: arrays, notes, jobs, eval cases."""
    with outcrop.open(db) as engine:
        engine.add(source)
        engine.search("roses")
        engine.parts.index.purge()  # arrays of so few rows are not saved otherwise
        KnowledgeBase(engine, engine.config.kb).write("plans/spring.md", "# Spring\n\nPrune the roses.\n")
        jobs = Jobs(engine, engine.config.beside(".jobs.json"), partial(require_root, engine))
        jobs.start()
        jobs.submit(Task("sync", str(source)))
        jobs.close()
        jobs.stop()
        append_case(engine.config.folder / "eval-cases.jsonl", EvalCase("roses", {"roses.md": 1.0}))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "roses.md").write_text("# Roses\n\nPrune roses in late winter.\n")
    return folder


def loosen(folder: Path) -> None:
    """As a copy or a backup may leave it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_new_index_is_for_its_owner_alone(home: Path, source: Path) -> None:
    use_everything(None, source)
    made = modes(home)
    assert any(name.endswith(".arrays/manifest.json") for name in made)
    assert any(name.endswith("spring.md") for name in made)
    assert open_to_others(home) == []
    with outcrop.open() as engine:  # the log lives while the index is open
        engine.add(text="more", id="more")
        assert {name.rpartition("-")[2] for name in modes(home) if "db-" in name} == {"wal", "shm"}
        assert open_to_others(home) == []
        assert engine.said == ""


def test_what_is_open_to_others_is_closed_and_said_once(
    home: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    use_everything(None, source)
    loosen(home / "share" / "outcrop")
    with caplog.at_level(logging.WARNING), outcrop.open() as engine:
        assert "now only you can" in engine.said
    assert len([line for line in caplog.records if "now only you can" in line.message]) == 1
    assert open_to_others(home) == []
    with outcrop.open() as engine:
        assert engine.said == ""


def test_a_folder_that_merely_holds_the_index_keeps_its_mode(tmp_path: Path, source: Path) -> None:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "main.py").write_text("print(1)\n")
    db = project / "index.db"
    use_everything(db, source)
    loosen(project)
    outcrop.open(db).close()
    kept = {"kb", "kb/plans", "src", "src/main.py"}  # nobody can tell who made the folders of the notes
    assert set(open_to_others(project)) == kept
    assert stat.S_IMODE(project.stat().st_mode) == 0o755


def test_notes_in_a_folder_of_the_user_keep_their_mode_and_new_ones_are_private(
    tmp_path: Path, source: Path
) -> None:
    notes = tmp_path / "vault"
    notes.mkdir(mode=0o755)
    (notes / "shared.md").write_text("# Shared\n")
    with outcrop.open(tmp_path / "index.db", kb=notes) as engine:
        kb = KnowledgeBase(engine, notes)
        kb.append("shared.md", "more")
        kb.write("own.md", "# Own\n")
    loosen(notes)
    (notes / "own.md").chmod(0o600)
    outcrop.open(tmp_path / "index.db", kb=notes).close()
    assert modes(notes)["shared.md"] == "0o644"
    assert modes(notes)["own.md"] == "0o600"


def test_a_shared_index_keeps_its_permissions_and_its_arrays_follow(tmp_path: Path, source: Path) -> None:
    db = tmp_path / "index.db"
    use_everything(db, source)
    arrays = tmp_path / "index.db.arrays"
    db.chmod(0o640)
    arrays.chmod(0o750)
    with outcrop.open(db, shared=True) as engine:
        engine.add(text="a new passage about tulips", id="tulips")
        engine.search("tulips")
        engine.parts.index.purge()
        assert engine.said == ""
        assert stat.S_IMODE(db.with_name("index.db-wal").stat().st_mode) == 0o640
    assert stat.S_IMODE(db.stat().st_mode) == 0o640
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in arrays.glob("manifest.json")} == {"0o640"}


def test_links_and_foreign_files_are_left_alone(tmp_path: Path, source: Path) -> None:
    db = tmp_path / "index.db"
    outcrop.open(db).close()
    target = tmp_path / "elsewhere"
    target.write_text("mine")
    target.chmod(0o644)
    (tmp_path / "index.db.jobs.json").symlink_to(target)
    outcrop.open(db).close()
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_a_file_that_is_no_index_is_not_touched(tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear Ann, " * 200)
    other.chmod(0o644)
    with pytest.raises(outcrop.OutcropError):
        outcrop.open(other)
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_the_command_line_says_it_on_standard_error(tmp_path: Path, source: Path) -> None:
    db = tmp_path / "index.db"
    use_everything(db, source)
    db.chmod(0o644)
    command = Outcrop(db, source)
    assert "now only you can" in command("status", "--json").stderr
    assert command("status", "--json").stderr == ""


def test_folders_are_made_private_and_existing_ones_kept(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    make_folder(tmp_path / "there" / "a" / "b")
    assert modes(tmp_path) == {"there": "0o755", "there/a": "0o700", "there/a/b": "0o700"}
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"exist|directory"):
        make_folder(tmp_path / "file" / "x")


def test_the_doctor_tells_of_keys_that_others_can_read(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('embed_key = "k"\n')
    settings.chmod(0o644)
    monkeypatch.setenv("OUTCROP_CONFIG", str(settings))
    command = Outcrop(tmp_path / "index.db", source)
    assert "which holds keys: chmod 600" in command("doctor").stdout
    assert stat.S_IMODE(settings.stat().st_mode) == 0o644  # the user's own file
    settings.chmod(0o600)
    assert command("doctor").exit_code == 0
    settings.write_text("limit = 5\n")
    settings.chmod(0o644)
    assert command("doctor").exit_code == 0
