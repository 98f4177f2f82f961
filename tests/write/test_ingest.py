"""The write path: what costs what, and what a bad file or a vanished folder may do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cost import calls
from tests.mask.fakes import FAKES
from tests.test_engine import CountingEmbedder, open_with

import outcrop
from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.errors import Cancelled, ParseError
from outcrop.records import Chunk, Document, IngestReport, Progress


def section(name: str, words: str) -> str:
    return f"## {name}\n\n{words * 30}\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    parts = [section(name, f"The {name} part tells of {name} things. ") for name in ("alpha", "beta", "gamma")]
    (root / "guide.md").write_text("# Guide\n\n" + "".join(parts), "utf-8")
    (root / "other.txt").write_text("A short note on feldspar.\n", "utf-8")
    return root


def test_an_unchanged_file_is_not_even_opened(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        kb.add(folder)
        monkeypatch.setattr(
            "outcrop.write.prepare.read_file", lambda *_: pytest.fail("an unchanged file was read")
        )
        report = kb.add(folder)
        assert (report.unchanged, report.added, report.changed) == (2, 0, 0)


def test_a_touched_file_costs_one_hash_and_is_then_known(tmp_path: Path, folder: Path) -> None:
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        before = kb.get("guide.md")
        embedder.embedded.clear()
        os.utime(folder / "guide.md", ns=(1, 1))
        assert kb.add(folder).unchanged == 2
        after = kb.get("guide.md")
        assert (after.updated_at, after.mtime_ns) == (before.updated_at, 1)
        assert embedder.embedded == []
        assert kb.stale() == []


def test_one_changed_section_embeds_only_its_own_chunks(tmp_path: Path, folder: Path) -> None:
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        embedder.embedded.clear()
        guide = folder / "guide.md"
        text = guide.read_text("utf-8")
        guide.write_text(text.replace("The beta part tells", "The BETA part says", 1), "utf-8")
        report = kb.add(folder)
        assert report.changed == 1
        assert report.embedded == len(embedder.embedded) > 0
        assert all("beta" in text for text in embedder.embedded)
        assert kb.text("guide.md") == guide.read_text("utf-8")


def test_a_section_that_moves_within_its_file_keeps_its_vector_and_gets_its_new_place(
    tmp_path: Path, folder: Path
) -> None:
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        embedder.embedded.clear()
        guide = folder / "guide.md"
        text = guide.read_text("utf-8")
        beta = text.index("## beta")
        gamma = text.index("## gamma")
        guide.write_text(text[:beta] + text[gamma:] + text[beta:gamma], "utf-8")
        kb.add(folder)
        assert embedder.embedded == []
        text = guide.read_text("utf-8")
        chunks = kb.chunks("guide.md")
        assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
        assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_a_rename_keeps_the_document_and_embeds_nothing(tmp_path: Path, folder: Path) -> None:
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        before = kb.get("guide.md")
        embedder.embedded.clear()
        (folder / "sub").mkdir()
        (folder / "guide.md").rename(folder / "sub" / "manual.md")
        report = kb.add(folder)
        assert (report.moved, report.added, report.removed) == (1, 0, 0)
        after = kb.get("sub/manual.md")
        assert (after.id, after.created_at) == (before.id, before.created_at)
        assert embedder.embedded == []
        assert kb.search("gamma things").hits[0].document.path == "sub/manual.md"
        assert all(check.ok for check in kb.doctor())


def test_deleted_files_leave_the_index_and_unreadable_folders_do_not(tmp_path: Path, folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir()
    (locked / "kept.txt").write_text("A note on obsidian.\n", "utf-8")
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(folder)
        (folder / "other.txt").unlink()
        # Root may read any folder whatever its mode, so the folder is made unreadable for the walk itself.
        real_scandir = os.scandir
        try:
            os.scandir = lambda path=".": _refuse(path, locked, real_scandir)  # type: ignore[assignment]
            report = kb.add(folder)
        finally:
            os.scandir = real_scandir
        assert report.removed == 1
        assert [failure.path for failure in report.failed] == ["locked/"]
        assert kb.search("obsidian").hits
        assert not kb.search("feldspar", mode="keyword").hits


def _refuse(path: object, locked: Path, real: object) -> object:
    if Path(str(path)) == locked:
        raise PermissionError(13, "Permission denied", str(path))
    return real(path)  # type: ignore[operator]


def test_a_vanished_folder_keeps_its_documents_and_a_vanished_file_does_not(
    tmp_path: Path, folder: Path
) -> None:
    lone = tmp_path / "lone.txt"
    lone.write_text("A note on basalt.\n", "utf-8")
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(folder)
        kb.add(lone)
        folder.rename(tmp_path / "unplugged")
        lone.unlink()
        report = kb.sync()
        assert report.removed == 1
        assert "kept" in report.failed[0].reason
        assert kb.search("feldspar").hits
        assert not kb.search("basalt", mode="keyword").hits


def test_bad_files_are_lines_in_the_report_and_the_run_goes_on(tmp_path: Path, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\ntruncated")
    (folder / "deep.json").write_text("[" * 1_000_000, "utf-8")
    (folder / "blob.dat").write_bytes(bytes(range(256)) * 8)
    (folder / "huge.txt").write_text("x" * 3000, "utf-8")
    (folder / "empty.md").write_text("", "utf-8")
    with outcrop.open(tmp_path / "i.db", max_file_bytes=2_000_000) as kb:
        report = kb.add(folder)
        assert report.added == 3
        assert {failure.path for failure in report.failed} == {"broken.pdf", "deep.json"}
        skipped = {item.path: item.reason for item in report.skipped}
        assert {"blob.dat", "empty.md"} <= set(skipped)
        assert all(failure.reason for failure in report.failed)
        assert all(item.reason for item in report.skipped)


def test_a_mistake_of_ours_costs_one_file_and_not_the_run(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def chunk(document: Document, options: ChunkOptions) -> tuple[Chunk, ...]:
        if "feldspar" in document.text:
            raise IndexError("list index out of range")
        return chunk_document(document, options)

    monkeypatch.setattr("outcrop.write.prepare.chunk_document", chunk)
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(folder)
        assert (report.added, [failure.path for failure in report.failed]) == (1, ["other.txt"])
        assert "a defect of Outcrop" in report.failed[0].reason
        assert "IndexError: list index out of range" in report.failed[0].reason
        assert "Traceback" in caplog.text, "with what it takes to mend it"
        with pytest.raises(ParseError, match="IndexError"):
            kb.add(text="More on feldspar.", id="feldspar")


@pytest.mark.parametrize("kind", [ValueError, ParseError])
def test_what_an_error_quotes_of_a_file_is_masked(
    kind: type[Exception],
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept, secret = FAKES["GitHub"]

    def chunk(document: Document, options: ChunkOptions) -> tuple[Chunk, ...]:
        raise kind(f"invalid literal for int(): '{kept}{secret}'")

    monkeypatch.setattr("outcrop.write.prepare.chunk_document", chunk)
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(folder)
    assert [failure.path for failure in report.failed] == ["guide.md", "other.txt"]
    assert "invalid literal for int()" in report.failed[0].reason
    assert secret not in str(report) + caplog.text


def test_a_file_that_goes_bad_keeps_the_version_that_was_indexed(tmp_path: Path, folder: Path) -> None:
    (folder / "data.json").write_text('{"mineral": "olivine"}', "utf-8")
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(folder)
        (folder / "data.json").write_text("[" * 1_000_000, "utf-8")
        report = kb.add(folder)
        assert "is kept" in report.failed[0].reason
        assert kb.search("olivine").hits[0].stale is True


def test_a_stopped_run_keeps_what_it_committed_and_the_next_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    for i in range(40):
        (root / f"{i:03}.txt").write_text(f"Note {i}. " + "Filler words stand here. " * 2000, "utf-8")
    seen: list[Progress] = []
    with outcrop.open(tmp_path / "i.db") as kb:
        with pytest.raises(Cancelled):
            kb.add(root, progress=seen.append, stopped=lambda: len(seen) > 25)
        kept = len(kb.documents())
        assert 0 < kept < 40
        report = kb.add(root)
        assert (report.unchanged, report.added) == (kept, 40 - kept)
        assert seen[-1].total == 40
        assert all(check.ok for check in kb.doctor())


def test_syncing_thousands_of_unchanged_files_takes_a_few_calls_for_each(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    for i in range(30):
        part = root / f"part{i}"
        part.mkdir(parents=True)
        for j in range(100):
            (part / f"{j}.txt").write_text(f"note {i} {j}", "utf-8")
    with outcrop.open(tmp_path / "i.db") as kb:
        assert kb.add(root).added == 3_000
        assert kb.sync().unchanged == 3_000
        assert calls(kb.sync) < 50 * 3_000


def test_the_same_content_in_two_places_is_embedded_once(tmp_path: Path) -> None:
    root = tmp_path / "copies"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
        (root / name / "same.md").write_text("# Same\n\nThe same words about mica schist.\n", "utf-8")
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(root)
        assert len(embedder.embedded) == 1
        hits = kb.search("mica schist").hits
        assert len(hits) == 1, "identical texts appear once"


def test_an_index_inside_the_folder_it_indexes_is_not_content(folder: Path) -> None:
    with outcrop.open(folder / "index.db") as kb:
        for i in range(30):
            (folder / f"{i}.txt").write_text(f"Note {i}. " + f"Words {i} about gabbro. " * 900, "utf-8")
        kb.add(folder)
        assert kb.status().array_bytes > 0
        report = kb.add(folder)
        assert (report.added, report.changed) == (0, 0)
        assert not [info.path for info in kb.documents() if "index.db" in info.path]


def test_tags_given_to_a_folder_stay_with_it_through_later_syncs(tmp_path: Path, folder: Path) -> None:
    with open_with(tmp_path / "i.db", embedder := CountingEmbedder()) as kb:
        kb.add(folder)
        embedder.embedded.clear()
        assert kb.add(folder, tags=["field"]).changed == 2
        assert embedder.embedded == []
        (folder / "other.txt").write_text("A longer note on feldspar.\n", "utf-8")
        (folder / "new.txt").write_text("A note on apatite.\n", "utf-8")
        report = kb.sync()
        assert (report.added, report.changed, report.unchanged) == (1, 1, 1)
        assert all(document.tags == ("field",) for document in kb.documents())
        assert kb.add(folder, tags=["field"]).unchanged == 3


def test_an_edited_file_is_brought_up_to_date_by_itself_unless_it_is_no_content_any_more(
    tmp_path: Path, folder: Path
) -> None:
    """What a watch does after a save, and where it has to look at the whole folder instead."""
    with outcrop.open(tmp_path / "i.db", max_file_bytes=10_000) as kb:
        kb.add(folder)
        note = folder / "other.txt"

        def sync() -> IngestReport | None:
            return kb._adder.ingestor().sync_known([note], folder, "docs")

        note.write_text("A longer note on feldspar.\n", "utf-8")
        report = sync()
        assert report is not None
        assert report.changed == 1
        for nothing in ("", "x" * 10_001):
            note.write_text(nothing, "utf-8")
            assert sync() is None
            assert kb.add(folder).removed == 1
            assert [info.path for info in kb.documents()] == ["guide.md"]
            note.write_text("A note on feldspar.\n", "utf-8")
            kb.add(folder)
