"""Secrets on their way in: from whatever source, they reach neither index, vectors, arrays, logs nor reports."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.mask.fakes import ALNUM, FAKES, draw, private_key
from tests.test_engine import CountingEmbedder

import outcrop
from outcrop.config import load_config
from outcrop.notes import KnowledgeBase
from outcrop.records import Progress, Skipped
from outcrop.sources.exclusions import CREDENTIALS

KEPT, SECRET = FAKES["GitHub"]
PASSWORD = "kX9#mP2$vLq"
NOTE = f"# Deploying\n\nThe wombat logs in with {KEPT}{SECRET}.\n\n## Database\n\npassword: {PASSWORD}\n"
CODE = (
    f'"""Deploys with {KEPT}{SECRET}."""\n\n\ndef connect(password: str = "{PASSWORD}") -> str:\n'
    f'    """Log in with {KEPT}{SECRET}."""\n    return "{KEPT}{SECRET}"\n'
)


def open_index(
    folder: Path, embedder: CountingEmbedder | None = None, *, index_secrets: bool = False
) -> outcrop.Engine:
    config = load_config({"db": folder / "i.db", "index_secrets": index_secrets}, environ={})
    return outcrop.Engine(config, embedder=embedder)


def holders(folder: Path, *secrets: str) -> list[str]:
    """The files below a folder that hold one of these secrets."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(secret.encode() in path.read_bytes() for secret in secrets)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    root.mkdir()
    (root / "deploying.md").write_text(NOTE, "utf-8")
    (root / "connect.py").write_text(CODE, "utf-8")
    (root / ".env").write_text(f"TOKEN={KEPT}{SECRET}\n", "utf-8")
    (root / "server.pem").write_text(private_key(), "utf-8")
    return root


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "index"
    path.mkdir()
    return path


def test_no_secret_of_a_folder_reaches_index_vectors_logs_or_report(
    folder: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedder = CountingEmbedder()
    told: list[Progress] = []
    with open_index(place, embedder) as kb:
        report = kb.add(folder, progress=told.append)
        assert (report.added, report.masked) == (2, 6)
        assert set(report.skipped) == {Skipped(".env", CREDENTIALS), Skipped("server.pem", CREDENTIALS)}
        assert kb.text("deploying.md") == NOTE.replace(SECRET, "*" * 36).replace(PASSWORD, "*" * 11)
        hit = kb.search("how does the wombat log in?").hits[0]
        assert KEPT + "*" * 36 in hit.text
        assert not hit.stale
        assert kb.stale() == []
        assert not [hit for hit in kb.search(f'"{SECRET}"').hits if SECRET in hit.text]
    assert not [text for text in embedder.embedded if SECRET in text or PASSWORD in text]
    assert holders(place, SECRET, SECRET.lower(), PASSWORD) == []
    spoken = str([vars(record) for record in caplog.records]) + str(asdict(report)) + str(told)
    assert SECRET not in spoken
    assert PASSWORD not in spoken


def test_lines_and_characters_are_those_of_the_file(folder: Path, place: Path) -> None:
    with open_index(place) as kb:
        kb.add(folder)
        for hit in kb.search("wombat database password").hits:
            lines = (folder / hit.document.path).read_text("utf-8").split("\n")
            told = "\n".join(lines[hit.line_start - 1 : hit.line_end])
            assert len(told.strip()) == len(hit.text.strip())


def test_texts_and_their_titles_are_masked_and_adding_them_again_changes_nothing(place: Path) -> None:
    told: list[Progress] = []
    with open_index(place) as kb:
        first = kb.add(text=NOTE, id="note", title=f"Key {KEPT}{SECRET}")
        assert (first.added, first.masked) == (1, 2)
        assert kb.get("note").title == f"Key {KEPT}{'*' * 36}"
        again = kb.add(text=NOTE, id="note", title=f"Key {KEPT}{SECRET}")
        assert (again.unchanged, again.masked) == (1, 0)
        many = kb.add_texts(
            [outcrop.Text(f"{KEPT}{SECRET} is the key"), outcrop.Text(" \n")], progress=told.append
        )
        assert (many.added, many.masked, len(many.failed)) == (1, 1, 1)
    assert SECRET not in str(told)
    assert holders(place, SECRET, PASSWORD) == []


def test_a_note_stays_on_the_disk_as_it_was_written_and_only_the_index_is_masked(place: Path) -> None:
    root = place.parent / "kb"
    with open_index(place) as engine:
        kb = KnowledgeBase(engine, root)
        kb.write("deploying.md", NOTE)
        assert kb.read("deploying.md").text == NOTE
        assert SECRET not in kb.search("wombat").hits[0].text
        engine.embed_pending()
        assert kb.refresh().changed == 0
        kb.edit("deploying.md", PASSWORD, "something else")
        assert "something else" in kb.search("database password").hits[0].text
    assert holders(place, SECRET, PASSWORD) == []
    assert holders(root, SECRET) == ["deploying.md"]


def test_with_the_setting_everything_is_taken_in_as_it_is(folder: Path, place: Path) -> None:
    with open_index(place, index_secrets=True) as kb:
        report = kb.add(folder)
        assert (report.added, report.masked, report.skipped) == (4, 0, ())
        assert kb.text("deploying.md") == NOTE


def test_an_index_from_before_is_masked_by_force_and_not_by_itself(folder: Path, place: Path) -> None:
    with open_index(place, index_secrets=True) as kb:
        kb.add(folder)
    with open_index(place) as kb:
        report = kb.sync()
        assert (report.changed, report.unchanged, report.masked) == (0, 3, 0)
        assert report.removed == 1  # .env, whose name is enough
        assert SECRET in kb.text("deploying.md")
        forced = kb.add(folder, force=True)
        assert (forced.changed, forced.removed, forced.masked) == (2, 1, 6)  # server.pem, by what it holds
        assert SECRET not in kb.text("deploying.md")
    assert holders(place, SECRET, PASSWORD) == []


def test_a_document_that_became_credentials_leaves_the_index(folder: Path, place: Path) -> None:
    chain = folder / "chain.pem"
    chain.write_text("-----BEGIN CERTIFICATE-----\nquetzal\n-----END CERTIFICATE-----\n")
    with open_index(place) as kb:
        kb.add(folder)
        assert kb.get("chain.pem").kind
        chain.write_text(chain.read_text() + private_key())
        os.utime(chain, ns=(1, 1))
        report = kb.sync()
        assert (report.removed, Skipped("chain.pem", CREDENTIALS) in report.skipped) == (1, True)


def test_a_moved_file_is_masked_under_its_new_name(folder: Path, place: Path) -> None:
    with open_index(place) as kb:
        kb.add(folder)
        (folder / "deploying.md").rename(folder / "releasing.md")
        report = kb.sync()
        assert (report.moved, report.masked) == (1, 2)
        assert SECRET not in kb.text("releasing.md")


def test_a_secret_in_a_property_of_a_document_is_masked(place: Path) -> None:
    token = draw(ALNUM, 32)
    with open_index(place) as kb:
        kb.add(text=f"---\ntitle: Wombats\napi_key: {token}\n---\n# Wombats\n\nThey dig.\n", id="wombats.md")
        assert kb.get("wombats.md").title
    assert holders(place, token) == []
