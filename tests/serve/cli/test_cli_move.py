"""move: what is said, and with which code it ends."""

from __future__ import annotations

from pathlib import Path

import apsw
import psycopg
import pytest
from tests.serve.cli.runner import Outcrop

from outcrop.engine import open_engine
from outcrop.errors import Cancelled
from outcrop.maintain import copy as copying
from outcrop.records.database_url import DatabaseUrl


def test_a_file_becomes_another_and_the_first_stays(kb: Outcrop, tmp_path: Path) -> None:
    copy = tmp_path / "deep" / "copy.db"
    done = kb("move", kb.db, copy)
    assert done.exit_code == 0
    assert "3 documents copied" in done.stdout
    assert "✓" in done.stdout
    assert "100.0% of the ten best hits are the same" in done.stdout
    assert f"{kb.db} was left as it is: nothing in it was changed or deleted" in done.stdout
    assert kb.json("ls", "--db", copy) == kb.json("ls")
    assert kb.json("search", "failed request", "--db", copy)["hits"]


def test_json_says_all_of_it(kb: Outcrop, tmp_path: Path) -> None:
    told = kb.json("move", kb.db, tmp_path / "copy.db")
    assert told["ok"] is True
    assert (told["source"], told["target"]) == (str(kb.db), str(tmp_path / "copy.db"))
    assert (told["copied"], told["problems"], told["changed_meanwhile"]) == (3, [], False)
    (notes,) = told["collections"]
    assert notes["source"] == notes["target"]
    assert told["parity"]["overlap"] == 1


def test_what_cannot_be_moved_is_an_error_and_changes_nothing(kb: Outcrop, tmp_path: Path) -> None:
    missing = kb("move", tmp_path / "none.db", tmp_path / "copy.db")
    assert missing.exit_code == 3
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "copy.db").exists()
    same = kb("move", kb.db, kb.db)
    assert same.exit_code == 4
    assert "the same index" in same.stderr
    other = tmp_path / "other.db"
    assert kb("add", "--text", "mine", "--db", other).exit_code == 0
    full = kb("move", kb.db, other)
    assert full.exit_code == 4
    assert "holds documents" in full.stderr
    assert kb("move", kb.db).exit_code == 2
    assert len(kb.json("ls", "--db", other)) == 1


def test_a_copy_that_is_not_the_same_ends_with_1_and_says_what_differs(
    kb: Outcrop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.db"
    steps: list[object] = []
    with monkeypatch.context() as patch, open_engine(kb.db) as here, open_engine(copy) as there:
        patch.setattr(copying, "BATCH_DOCUMENTS", 1)
        with pytest.raises(Cancelled):
            here.move_to(there, progress=steps.append, stopped=lambda: len(steps) > 1)
    database = apsw.Connection(str(copy))
    database.execute("UPDATE documents SET title = 'Another' WHERE id = 1")
    database.close()
    done = kb("move", kb.db, copy)
    assert done.exit_code == 1
    assert "going on from an earlier run" in done.stdout
    assert "✗ the copy: 3 documents" in done.stdout
    assert "is not the same in the copy" in done.stdout
    assert f"delete {copy} and move again" in done.stdout
    told = kb("move", kb.db, copy, "--json")
    assert told.exit_code == 1
    assert '"ok": false' in told.stdout


def test_an_index_moves_to_postgres_and_back(
    kb: Outcrop, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTCROP_DATA_DIR", str(tmp_path / "data"))
    there = kb("move", kb.db, postgres_url)
    assert there.exit_code == 0, there.output
    assert "***" in there.stdout
    back = kb("move", postgres_url, tmp_path / "back.db")
    assert back.exit_code == 0, back.output
    assert kb.json("ls", "--db", tmp_path / "back.db") == kb.json("ls")
    assert len(kb.json("ls", "--db", postgres_url)) == 3
    mistyped = postgres_url.replace("schema=", "schema=no_")
    for command in (("move", mistyped, tmp_path / "none.db"), ("search", "--db", mistyped, "word")):
        empty = kb(*command)
        assert empty.exit_code == 3
        assert "outcrop add FOLDER" in empty.stderr
    url = DatabaseUrl.parse(mistyped)
    with psycopg.connect(url.uri()) as connection:
        made = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (url.schema,)).fetchone()
    assert made is None, "who only reads makes nothing"
