"""The file on disk: what is gone when it is deleted, and what is said when the file is not as it should be."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.store.builders import MODEL, OTHER, key, make_code, make_write, notes_of, put, vector, vectors_for

from outcrop.errors import CorruptDatabase, NewerDatabase, StoreError
from outcrop.store.quantized import pack_vectors
from outcrop.store.sqlite.connections import Connections
from outcrop.store.sqlite.store import SqliteStore, open_sqlite

SECRETS = ("xyzzysecret", "QuuxTitle", "plughpath", "fredmeta", "wibbletag", "tailsecretthing")


def on_disk(db: Path, *, lower: bool = True) -> bytes:
    whole = b"".join(path.read_bytes() for path in sorted(db.parent.glob(db.name + "*")))
    return whole.lower() if lower else whole


def packed_vector(of: bytes) -> bytes:
    return pack_vectors(vector(of)[None, :])[0]


def pieces_of_blocks(db: Path, document_id: int) -> list[bytes]:
    """Pieces of all that is stored, packed, of what the chunks of a document say."""
    raw = apsw.Connection(str(db))
    blocks: list[tuple[bytes]] = list(
        raw.execute(
            "SELECT packed FROM text_blocks WHERE first_chunk IN (SELECT id FROM chunks WHERE document_id = ?)",
            (document_id,),
        )
    )
    raw.close()
    assert blocks
    return [packed[at : at + 12] for (packed,) in blocks for at in range(0, len(packed) - 12, 4)]


def found_on_disk(db: Path, pieces: list[bytes]) -> list[bytes]:
    whole = on_disk(db, lower=False)
    return [piece for piece in pieces if piece in whole]


def filler(number: int, chunks: int) -> str:
    return "\n\n".join(
        f"Paragraph {number} {i} about apples {i * 7919 % 1000} and pears." for i in range(chunks)
    )


@pytest.mark.parametrize("others", [0, 3, 60])
@pytest.mark.parametrize("how", ["delete", "write"])
def test_deleted_text_is_gone_from_the_disk(sqlite: SqliteStore, db: Path, others: int, how: str) -> None:
    put(sqlite, *(make_write(f"{i}.md", filler(i, 40)) for i in range(others)))
    text = "some\n\nthe xyzzysecret is here\n\ntailsecretthing"
    (id_,) = put(
        sqlite,
        make_write(
            "plughpath.md",
            text,
            spans=[(0, 4), (6, 29)],
            title="QuuxTitle",
            tags=("wibbletag",),
            meta={"a": "fredmeta"},
        ),
    )
    pieces = pieces_of_blocks(db, id_)
    assert found_on_disk(db, pieces) == pieces
    assert packed_vector(key("some")) in on_disk(db, lower=False)
    if how == "delete":
        sqlite.delete([id_])
    else:
        sqlite.write([], {}, MODEL, remove=[id_])
    found = [secret for secret in SECRETS if secret.lower().encode() in on_disk(db)]
    assert found == []
    assert found_on_disk(db, pieces) == []
    assert packed_vector(key("some")) not in on_disk(db, lower=False)
    assert list(sqlite.check()) == []
    assert sqlite.match_phrase("apples").size == others * 40


def test_the_names_and_summaries_of_deleted_code_are_gone_from_the_disk(sqlite: SqliteStore, db: Path) -> None:
    put(sqlite, make_code("kept.py"))
    (id_,) = put(sqlite, make_code("gone.py", "secret", notes=(notes_of("XyzzySecret", "a quuxsummary"),)))
    pieces = pieces_of_blocks(db, id_)
    assert found_on_disk(db, pieces) == pieces
    assert packed_vector(key("summary:a quuxsummary")) in on_disk(db, lower=False)
    sqlite.delete([id_])
    assert found_on_disk(db, pieces) == []
    assert packed_vector(key("summary:a quuxsummary")) not in on_disk(db, lower=False)


def test_deleting_much_gives_the_space_back(sqlite: SqliteStore, db: Path) -> None:
    ids = put(sqlite, *(make_write(f"{i}.md", filler(i, 30)) for i in range(60)))
    before = sqlite.stats().bytes_on_disk
    sqlite.delete(ids[:55])
    assert sqlite.stats().bytes_on_disk < before / 2
    assert list(sqlite.check()) == []


def test_a_delete_goes_on_while_a_reader_holds_a_snapshot(sqlite: SqliteStore, db: Path) -> None:
    (id_,) = put(sqlite, make_write(text="xyzzysecret"))
    pieces = pieces_of_blocks(db, id_)
    reader = open_sqlite(db)
    with reader.snapshot():
        assert sqlite.delete([id_]) == 1
        assert reader.text(id_) == "xyzzysecret"
    reader.close()
    sqlite.close()
    assert found_on_disk(db, pieces) == []


def test_the_file_is_durable_and_tidy(sqlite: SqliteStore, db: Path) -> None:
    put(sqlite, make_write())
    with sqlite._connections.writing() as connection:
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2
        assert connection.pragma("auto_vacuum") == 2
        assert connection.pragma("secure_delete") == 1
    sqlite.close()
    assert [path.name for path in db.parent.iterdir()] == ["index.db"]


def test_the_folder_of_the_database_is_made(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a" / "b" / "index.db").close()
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="folder"):
        open_sqlite(tmp_path / "file" / "index.db")
    with pytest.raises(StoreError, match="opened"):
        open_sqlite(tmp_path / "a")


def test_a_newer_database_is_refused_and_left_alone(db: Path) -> None:
    open_sqlite(db).close()
    raw = apsw.Connection(str(db))
    raw.pragma("user_version", 99)
    raw.close()
    before = db.read_bytes()
    for read_only in (False, True):
        with pytest.raises(NewerDatabase, match="upgrade"):
            open_sqlite(db, read_only=read_only)
    assert db.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(db: Path) -> None:
    raw = apsw.Connection(str(db))
    raw.execute("CREATE TABLE photos (id)")
    raw.close()
    before = db.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_sqlite(db)
    assert db.read_bytes() == before


def cut_in_half(db: Path) -> None:
    data = db.read_bytes()
    db.write_bytes(data[: len(data) // 2])


def overwrite_header(db: Path) -> None:
    db.write_bytes(b"this is a letter, not a database " * 200)


def scramble_the_middle(db: Path) -> None:
    data = bytearray(db.read_bytes())
    data[4096 * 4 :] = b"\x5a" * (len(data) - 4096 * 4)
    db.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [cut_in_half, overwrite_header, scramble_the_middle])
def test_a_damaged_database_is_reported_with_the_way_out(db: Path, damage: Callable[[Path], None]) -> None:
    store = open_sqlite(db)
    put(store, *(make_write(f"{i}.md", filler(i, 20)) for i in range(20)))
    store.close()
    damage(db)

    def use() -> None:
        damaged = open_sqlite(db)
        try:
            assert list(damaged.check()) != []
            damaged.feed(0, 1000)
        finally:
            damaged.close()

    with pytest.raises(CorruptDatabase, match="move it away"):
        use()


def test_a_full_disk_loses_nothing(sqlite: SqliteStore) -> None:
    (id_,) = put(sqlite, make_write())
    with sqlite._connections.writing() as connection:
        connection.pragma("max_page_count", int(connection.pragma("page_count")) + 5)
    with pytest.raises(StoreError, match="disk is full"):
        put(sqlite, *(make_write(f"{i}.md", filler(i, 50)) for i in range(20)))
    assert sqlite.text(id_) == make_write().document.text
    assert list(sqlite.check()) == []
    with sqlite._connections.writing() as connection:
        connection.pragma("max_page_count", 2**30)
    put(sqlite, make_write("later.md"))
    assert sqlite.stats().documents == 2


def test_a_store_for_reading_only_reads_and_refuses_to_write(db: Path) -> None:
    with pytest.raises(StoreError, match="no index"):
        open_sqlite(db, read_only=True)
    assert not db.exists()
    writer = open_sqlite(db)
    (id_,) = put(writer, make_write())
    reader = open_sqlite(db, read_only=True)
    put(writer, make_write(text="second"))
    assert reader.text(id_) == "second"
    assert list(reader.check()) == []
    for change in (
        lambda: reader.delete([id_]),
        lambda: put(reader, make_write()),
        lambda: reader.activate(OTHER),
    ):
        with pytest.raises(StoreError, match="reading only"):
            change()
    writer.close()
    reader.close()
    alone = open_sqlite(db, read_only=True)
    assert alone.text(id_) == "second"
    alone.close()


def test_a_database_that_may_not_be_written_is_still_read(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = open_sqlite(db)
    (id_,) = put(writer, make_write(text="first"))
    writer.close()
    with monkeypatch.context() as patched:  # permissions do not bind root, who may run the tests
        patched.setattr("outcrop.store.sqlite.connections.os.access", lambda _path, _mode: False)
        reader = open_sqlite(db)
        assert reader.text(id_) == "first"
        assert not list(db.parent.glob("*-shm"))
        with pytest.raises(StoreError, match="cannot be written"):
            reader.delete([id_])
    writer = open_sqlite(db)
    put(writer, make_write(text="second"))
    with monkeypatch.context() as patched:
        patched.setattr("outcrop.store.sqlite.connections.os.access", lambda _path, _mode: False)
        assert reader.text(id_) == "second"
        writer.close()
        assert reader.text(id_) == "second"
        reader.close()


def test_a_file_that_is_no_database_is_not_called_a_damaged_index(db: Path) -> None:
    db.write_text("root:x:0:0:root:/root:/bin/bash\n" * 100)
    with pytest.raises(CorruptDatabase, match="is not an index"):
        open_sqlite(db)


def test_no_room_for_the_files_beside_the_database_is_called_a_full_disk(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outcrop.store.sqlite.connections._FULL_BELOW_BYTES", 2**62)
    db.parent.mkdir(parents=True, exist_ok=True)
    with (
        pytest.raises(StoreError, match="disk is full"),
        Connections(db, read_only=False, busy_timeout_s=1.0).reading(),
    ):
        raise apsw.IOError("disk I/O error")


def test_what_sqlite_says_of_a_damaged_file_is_cut_to_a_readable_length(db: Path) -> None:
    store = open_sqlite(db)
    put(store, *(make_write(f"{i}.md", filler(i, 20)) for i in range(20)))
    store.close()
    data = bytearray(db.read_bytes())
    data[4096:8192] = b"\x5a" * 4096  # the map of which page belongs to which
    db.write_bytes(bytes(data))
    damaged = open_sqlite(db)
    problems = list(damaged.check())
    damaged.close()
    assert problems
    assert max(map(len, problems)) < 400


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("DELETE FROM chunks WHERE id = 2", "texts belong to no chunk: 1"),
        ("DELETE FROM text_blocks", "chunks have no text: 4"),
        ("UPDATE text_blocks SET packed = x'00'", "texts are damaged: 2"),
        ("UPDATE text_blocks SET packed = (SELECT packed FROM text_blocks LIMIT 1)", "texts are damaged: 2"),
        ("UPDATE chunks SET end_offset = end_offset + 1 WHERE id = 1", "texts are damaged: 1"),
        ("UPDATE text_blocks SET first_chunk = 30 WHERE first_chunk = 1", "texts belong to no chunk: 2"),
        ("DELETE FROM vectors WHERE id = (SELECT min(id) FROM vectors)", "have no "),
        ("INSERT INTO vectors (id, vector) VALUES ((1 << 40) + 77, x'00')", "vectors belong to no content: 1"),
        (
            "INSERT INTO contents (id, key) VALUES (77, x'00')",
            "contents belong to no chunk, no summary and no path: 1",
        ),
        ("DELETE FROM contents WHERE id = 1", "contents are not there: 1"),
        ("UPDATE vectors SET vector = x'00' WHERE id = (SELECT min(id) FROM vectors)", "size of their model"),
        ("UPDATE chunks SET summary_id = 77 WHERE id = 3", "summaries have no vector of the active model: 1"),
        ("UPDATE chunks SET summary_id = NULL", "contents belong to no chunk, no summary and no path: 2"),
        ("UPDATE documents SET chunk_count = 5", "as many chunks"),
        ("UPDATE documents SET char_count = 5", "as many characters"),
        ("UPDATE documents SET id = 50 WHERE id = 1", "chunks belong to no document: 2"),
        ("UPDATE chunks SET start_offset = 99", "out of order"),
        ("INSERT INTO tags VALUES (77, 'x')", "tags belong to no document: 1"),
        ("INSERT INTO removals (chunk_id) SELECT id FROM chunks", "listed as removed"),
    ],
)
def test_check_says_what_is_wrong(sqlite: SqliteStore, db: Path, sql: str, sentence: str) -> None:
    put(sqlite, make_write(), make_code())
    assert list(sqlite.check()) == []
    raw = apsw.Connection(str(db))
    raw.execute(sql)
    raw.close()
    assert any(sentence in problem for problem in sqlite.check()), list(sqlite.check())


def test_a_copy_of_the_file_is_a_copy_of_the_index(sqlite: SqliteStore, db: Path, tmp_path: Path) -> None:
    (id_,) = put(sqlite, make_write())
    sqlite.close()
    shutil.copy(db, tmp_path / "copy.db")
    copy = open_sqlite(tmp_path / "copy.db")
    assert copy.text(id_) == make_write().document.text
    copy.close()


def test_two_databases_have_two_identities(sqlite: SqliteStore, tmp_path: Path) -> None:
    other = open_sqlite(tmp_path / "other.db")
    assert other.lineage(1) != sqlite.lineage(1)
    other.close()


@pytest.mark.parametrize("others", [0, 3, 60])
def test_words_that_waited_for_their_vectors_are_gone_from_the_disk_too(
    sqlite: SqliteStore, db: Path, others: int
) -> None:
    put(sqlite, *(make_write(f"{i}.md", filler(i, 40)) for i in range(others)))
    write = make_write("late.md", "the xyzzysecret is here")
    (id_,) = sqlite.write([write], {}, MODEL, defer_embedding=True)
    pieces = pieces_of_blocks(db, id_)
    assert sqlite.fill(MODEL, vectors_for(write)) == 1
    assert pieces_of_blocks(db, id_) == pieces
    sqlite.delete([id_])
    assert found_on_disk(db, pieces) == []
    assert list(sqlite.check()) == []


def test_a_chunk_that_lost_its_vector_is_told_apart_from_a_pending_one(db: Path) -> None:
    store = open_sqlite(db)
    put(store, make_write())
    store.write([make_write("late.md", "late words")], {}, MODEL, defer_embedding=True)
    assert list(store.check()) == []
    raw = apsw.Connection(str(db))
    raw.execute("DELETE FROM vectors WHERE id = (1 << 40) + (SELECT content_id FROM chunks WHERE id = 1)")
    raw.execute("INSERT INTO pending VALUES (999)")
    raw.close()
    assert list(store.check()) == [
        "chunks have no vector of the active model: 1",
        "documents that wait for vectors are not there: 1",
    ]
    store.close()


def test_bytes_that_are_no_text_are_a_damaged_database(sqlite: SqliteStore) -> None:
    """SQLite keeps what the disk made of a text, and hands it out."""
    with pytest.raises(CorruptDatabase, match="move it away"), sqlite._connections.reading() as connection:
        connection.execute("SELECT CAST(x'66f166' AS TEXT)").fetchall()
