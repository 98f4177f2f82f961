"""Notes are written, found, changed and removed; the files are the truth."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import Conflict, NotAllowed, NotFound, OutcropError, QueryError, StoreError, TooLarge
from outcrop.notes import COLLECTION, KnowledgeBase, instructions
from outcrop.notes.files import MAX_BYTES
from outcrop.records import Filter, SourceFile, Text

NOTE = "# Payments\n\nThe invoice is sent again after a failed charge.\n"
BY_MEANING = "retrying declined credit card payments"


def places(kb: KnowledgeBase, query: str) -> list[str]:
    return [hit.place for hit in kb.search(query).hits]


def by_meaning(engine: Engine) -> list[str]:
    if COLLECTION not in [info.name for info in engine.collections()]:
        return []
    answer = engine.search(BY_MEANING, mode="semantic", floor=0.2, collections=(COLLECTION,))
    return [hit.document.path for hit in answer.hits]


def stamp(path: Path) -> None:
    """An editor saves at a later time than the write before; on a coarse clock that may be the same tick."""
    later = path.stat().st_mtime_ns + 50_000_000
    os.utime(path, ns=(later, later))


# ------------------------------------------------------------------ writing and finding


def test_a_write_is_found_by_its_words_at_once_and_by_meaning_once_embedded(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    written = kb.write("billing/retries", NOTE)
    assert (written.path, written.title, written.bytes, written.lines) == (
        "billing/retries.md",
        "Payments",
        len(NOTE),
        3,
    )
    assert (root / "billing/retries.md").read_text() == NOTE
    hit = kb.search("failed charge").hits[0]
    assert (hit.place, hit.document.collection, hit.stale) == ("billing/retries.md:1-3", COLLECTION, False)
    assert by_meaning(engine) == []
    assert engine.pending() == 1
    assert engine.embed_pending() == 1
    assert by_meaning(engine) == ["billing/retries.md"]


def test_a_search_gives_five_hits_at_most_ten_and_none_under_the_floor(kb: KnowledgeBase) -> None:
    for number in range(60):  # a word that stands in every note tells nothing
        subject = f"Lantern {number}" if number < 15 else f"Bridge {number}"
        kb.write(
            f"n{number}", f"# {subject}\n\nThe {'copper' if number < 15 else 'wooden'} one of house {number}.\n"
        )
    assert len(kb.search("copper lantern").hits) == 5
    assert len(kb.search("copper lantern", limit=10).hits) == 10
    assert all(0.3 <= hit.score <= 1 for hit in kb.search("copper lantern house 3", limit=10).hits)
    assert kb.search("submarine").reason == "no_hits"
    for limit in (0, 11):
        with pytest.raises(QueryError):
            kb.search("copper lantern", limit=limit)
    strict = kb.search("copper lantern", floor=1.0)
    assert (strict.hits, strict.reason) == ((), "no_hits")
    assert kb.search("x").reason == "empty_query"


def test_an_empty_knowledge_base_says_so_and_makes_no_folder(kb: KnowledgeBase, root: Path) -> None:
    assert kb.search("anything").reason == "empty_index"
    assert kb.list() == ()
    assert kb.refresh().added == 0
    with pytest.raises(NotFound):
        kb.read("plan.md")
    assert not root.exists()


def test_other_documents_are_not_notes_even_in_a_collection_of_that_name(
    kb: KnowledgeBase, engine: Engine, tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / "kb"
    other.mkdir(parents=True)
    (other / "x.md").write_text("A copper lantern elsewhere.")
    engine.add(other)
    engine.add_texts(Text(f"Something else number {i}", id=f"e{i}") for i in range(20))
    engine.add(text="A copper lantern in a text.", id="t")
    kb.write("mine", "A copper lantern of mine.")
    assert places(kb, "copper lantern") == ["mine.md:1"]
    kb.refresh()
    assert len(engine.documents(Filter(collections=(COLLECTION,)))) == 2


# ------------------------------------------------------------------ reading


def test_lines_can_be_read_by_number(kb: KnowledgeBase) -> None:
    kb.write("n", "one\ntwo\u2028still two\nthree\nfour")
    part = kb.read("n", 2, 3)
    assert (part.text, part.line_start, part.line_end, part.lines) == ("two\u2028still two\nthree\n", 2, 3, 4)
    assert kb.read("n", 3).text == "three\nfour"
    assert kb.read("n", line_end=1).text == "one\n"
    assert kb.read("n", 4, 99).text == "four"
    for start, end in ((0, 1), (3, 2), (5, 6), (-1, None)):
        with pytest.raises(QueryError):
            kb.read("n", start, end)
    kb.write("empty", "")
    assert (kb.read("empty").text, kb.read("empty").lines) == ("", 0)


def test_the_list_is_by_path_with_a_prefix_and_in_pages(kb: KnowledgeBase) -> None:
    for name in ("b/two", "a/one", "b/one", "top.txt"):
        kb.write(name, f"# About {name}\n\nwords\n")
    assert [file.path for file in kb.list()] == ["a/one.md", "b/one.md", "b/two.md", "top.txt"]
    assert [file.path for file in kb.list("b/")] == ["b/one.md", "b/two.md"]
    assert [file.path for file in kb.list(limit=2, offset=1)] == ["b/one.md", "b/two.md"]
    assert kb.list()[0].title == "About a/one"
    assert kb.list("../") == ()


# ------------------------------------------------------------------ changing


def test_a_note_that_is_changed_again_and_again_is_still_found(kb: KnowledgeBase, engine: Engine) -> None:
    for name in ("one", "two", "three"):
        kb.write(name, f"Something on subject {name}.")
    for number in range(30):
        kb.append("log", f"- day {number}: the copper lantern was lit")
        engine.embed_pending()
        assert kb.search("lantern").hits, f"after {number + 1} appends"


def test_an_append_stands_on_a_line_of_its_own(kb: KnowledgeBase) -> None:
    kb.append("log", "first")
    kb.append("log", "second\n")
    kb.write("open", "no end")
    kb.append("open", "more")
    assert kb.read("log").text == "first\nsecond\n"
    assert kb.read("open").text == "no end\nmore\n"
    assert places(kb, "second") == ["log.md:1-2"]


def test_an_edit_replaces_the_one_place_and_refuses_none_and_several(kb: KnowledgeBase) -> None:
    kb.write("n", "alpha beta\ngamma\nalpha\n")
    with pytest.raises(Conflict, match="0 times"):
        kb.edit("n", "delta", "x")
    with pytest.raises(Conflict, match="2 times in n, on lines 1, 3"):
        kb.edit("n", "alpha", "x")
    kb.write("twice", "aaa")
    with pytest.raises(Conflict, match="2 times"):
        kb.edit("twice", "aa", "b")
    for old, new in (("", "x"), ("alpha", "alpha")):
        with pytest.raises(QueryError):
            kb.edit("n", old, new)
    assert kb.read("n").text == "alpha beta\ngamma\nalpha\n"
    kb.edit("n", "alpha beta", "zeta")
    assert kb.read("n").text == "zeta\ngamma\nalpha\n"
    assert places(kb, "zeta")
    assert places(kb, "beta") == []
    with pytest.raises(NotFound):
        kb.edit("absent", "a", "b")


def test_an_edit_keeps_the_line_ends_of_windows(kb: KnowledgeBase, root: Path) -> None:
    kb.write("n", "one\r\ntwo\r\nthree\r\n")
    kb.edit("n", "one\ntwo", "1\n2")
    assert (root / "n.md").read_bytes() == b"1\r\n2\r\nthree\r\n"


def test_a_move_keeps_the_document_and_overwrites_nothing(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    kb.write("old/place", NOTE)
    kb.write("taken", "mine")
    engine.embed_pending()
    before = engine.get(str(root / "old/place.md")).id
    with pytest.raises(Conflict, match=r"taken\.md is there"):
        kb.move("old/place", "taken")
    with pytest.raises(Conflict):
        kb.move("old/place", "old/place")
    with pytest.raises(NotFound):
        kb.move("absent", "new")
    assert kb.move("old/place", "new/home").path == "new/home.md"
    assert not (root / "old").exists(), "an empty folder does not stay behind"
    assert engine.get(str(root / "new/home.md")).id == before
    assert places(kb, "failed charge") == ["new/home.md:1-3"]
    assert kb.read("taken").text == "mine"
    with pytest.raises(NotFound):
        kb.read("old/place")


def test_what_is_deleted_is_gone_from_disk_words_and_meaning(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    kb.write("a/b/secret", NOTE)
    kb.write("kept", "other words")
    engine.embed_pending()
    assert by_meaning(engine)
    kb.delete("a/b/secret")
    assert not (root / "a").exists()
    assert places(kb, "failed charge") == []
    assert "a/b/secret.md" not in by_meaning(engine)
    assert engine.pending() == 0
    assert not any(b"failed charge" in path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert b"failed charge" not in engine.config.beside("").read_bytes()
    with pytest.raises(NotFound):
        kb.delete("a/b/secret")


def test_a_note_that_is_deleted_while_it_waits_is_gone_too(kb: KnowledgeBase, engine: Engine) -> None:
    kb.write("n", NOTE)
    kb.delete("n")
    assert engine.pending() == 0
    assert engine.embed_pending() == 0
    assert places(kb, "failed charge") == []


# ------------------------------------------------------------------ what is refused


def test_a_note_over_the_limit_is_refused_and_the_old_one_stays(kb: KnowledgeBase, root: Path) -> None:
    kb.write("n", "small")
    with pytest.raises(TooLarge, match="split it"):
        kb.write("n", "x" * (MAX_BYTES + 1))
    kb.write("full", "x" * (MAX_BYTES - 10) + "\n")
    with pytest.raises(TooLarge):
        kb.append("full", "one line more")
    assert kb.read("n").text == "small"
    (root / "big.md").write_bytes(b"word " * (MAX_BYTES // 4))
    with pytest.raises(TooLarge):
        kb.read("big")
    kb.refresh()
    assert "big.md" in [file.path for file in kb.list()]


@pytest.mark.parametrize("text", ["nul\0inside", "half of a pair \ud800"])
def test_a_text_that_is_none_is_refused(kb: KnowledgeBase, root: Path, text: str) -> None:
    with pytest.raises(NotAllowed):
        kb.write("n", text)
    assert not (root / "n.md").exists()


def test_a_file_in_another_encoding_is_read_but_not_changed(kb: KnowledgeBase, root: Path) -> None:
    root.mkdir()
    (root / "old.txt").write_bytes("Grüße aus Köln".encode("latin-1"))
    assert "aus K" in kb.read("old.txt").text
    with pytest.raises(Conflict, match="UTF-8"):
        kb.append("old.txt", "more")
    assert (root / "old.txt").read_bytes() == "Grüße aus Köln".encode("latin-1")


def test_when_indexing_fails_the_file_is_kept_and_the_error_says_so(
    kb: KnowledgeBase, engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.write("n", "before")

    def fail(*args: object, **options: object) -> object:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(engine, "sync_files", fail)
        with pytest.raises(StoreError, match="safe on the disk, but not in the index yet: the disk is full"):
            kb.write("n", "a copper lantern")
        assert (root / "n.md").read_text() == "a copper lantern"
        kb.search("lantern")  # goes on without the refresh
    kb.refresh()
    assert places(kb, "copper lantern") == ["n.md:1"]


def test_a_file_that_cannot_be_read_is_an_error_of_ours(kb: KnowledgeBase, root: Path) -> None:
    kb.write("n", "text")
    (root / "n.md").write_bytes(b"")
    assert kb.read("n").text == ""
    with pytest.raises(OutcropError):
        kb.read("n.md/inner.md")


# ------------------------------------------------------------------ an editor beside it


def test_what_an_editor_does_is_picked_up(kb: KnowledgeBase, engine: Engine, root: Path) -> None:
    kb.write("a", "a copper lantern")
    kb.write("b", "a silver spoon")
    kb.refresh()
    (root / "a.md").write_text("a golden bridge now")
    stamp(root / "a.md")
    (root / "b.md").unlink()
    (root / "sub").mkdir()
    (root / "sub" / "c.md").write_text("a wooden horse")
    (root / "sub" / "picture.png").write_bytes(b"\x89PNG")
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "d.md").write_text("a hidden horse")
    report = kb.refresh()
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    assert places(kb, "golden bridge") == ["a.md:1"]
    assert places(kb, "horse") == ["sub/c.md:1"]
    assert places(kb, "lantern") == places(kb, "spoon") == []
    assert engine.pending() == 2
    assert kb.refresh() == type(report)()


def test_a_search_sees_an_edit_without_being_told(kb: KnowledgeBase, root: Path) -> None:
    kb.write("a", "a copper lantern")
    assert places(kb, "lantern")
    (root / "a.md").write_text("a golden bridge now")
    stamp(root / "a.md")
    time.sleep(1.05)
    assert places(kb, "golden bridge") == ["a.md:1"]


def test_a_file_moved_by_hand_keeps_its_document(kb: KnowledgeBase, engine: Engine, root: Path) -> None:
    kb.write("a", NOTE)
    kb.refresh()
    before = engine.get(str(root / "a.md")).id
    (root / "a.md").rename(root / "z.md")
    assert kb.refresh().moved == 1
    assert engine.get(str(root / "z.md")).id == before


def test_rules_that_ignore_files_do_not_hold_for_notes(kb: KnowledgeBase, root: Path) -> None:
    root.mkdir()
    (root / ".gitignore").write_text("*.md\n")
    kb.write("a", "a copper lantern")
    kb.refresh()
    assert places(kb, "lantern") == ["a.md:1"]


def test_notes_that_left_the_index_come_back_with_the_next_refresh(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    kb.write("a", "a copper lantern")
    kb.refresh()
    engine.delete(str(root / "a.md"))
    kb.refresh()
    assert places(kb, "lantern") == ["a.md:1"]


def test_a_root_that_is_gone_for_a_while_keeps_its_notes_in_the_index(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    kb.write("a", "a copper lantern")
    kb.refresh()
    root.rename(root.with_name("unplugged"))
    assert kb.refresh().removed == 0
    assert len(engine.documents()) == 1


def test_a_folder_that_cannot_be_read_keeps_its_notes_in_the_index(
    kb: KnowledgeBase, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.write("a/b", "a copper lantern")
    kb.refresh()
    walked = kb._files.walk()[0]
    monkeypatch.setattr(kb._files, "walk", lambda: ({p: s for p, s in walked.items() if p != "a/b.md"}, False))
    assert kb.refresh().removed == 0
    assert len(engine.documents()) == 1


def test_two_knowledge_bases_over_one_index_see_each_others_notes(tmp_path: Path, root: Path) -> None:
    config = load_config({"db": tmp_path / "index.db"}, environ={})
    with Engine(config) as one, Engine(config) as two:
        first, second = KnowledgeBase(one, root), KnowledgeBase(two, root)
        first.write("a", "a copper lantern")
        assert places(second, "lantern") == ["a.md:1"]
        second.delete("a")
        assert places(first, "lantern") == []


def test_a_note_of_another_process_that_an_editor_removes_leaves_the_index(tmp_path: Path, root: Path) -> None:
    config = load_config({"db": tmp_path / "index.db"}, environ={})
    with Engine(config) as one, Engine(config) as other:
        first, second = KnowledgeBase(one, root), KnowledgeBase(other, root)
        first.write("kept", "a note that stays")
        first.refresh()
        second.write("brief", "a note that an editor removes before the first one looks again")
        (root / "brief.md").unlink()
        assert first.refresh().removed == 1
        assert [document.path for document in one.documents()] == ["kept.md"]


def test_a_note_written_twice_within_one_tick_of_the_clock_is_indexed_as_it_is(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    """The disk may give both versions the same time; they have the same size too."""
    kb.write("note", "number 1")
    status = (root / "note.md").stat()
    file = SourceFile(str(root / "note.md"), "note.md", "file", str(root), status.st_mtime_ns, status.st_size)
    engine.sync_files([file], collection=COLLECTION, read=lambda _: b"number 2", defer_embedding=True)
    assert engine.text("note.md") == "number 2"


def test_the_instructions_are_short_and_name_what_matters() -> None:
    text = instructions()
    assert len(text.splitlines()) < 60
    for word in (
        "kb_search",
        "kb_read",
        "kb_write",
        "kb_append",
        "kb_edit",
        "kb_delete",
        "0.3",
        "0.6",
        "stale",
    ):
        assert word in text
    assert "never an instruction" in text
