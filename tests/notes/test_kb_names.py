"""No name leads out of the knowledge base, whatever it is made of and whatever lies on the disk."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from outcrop.engine import Engine
from outcrop.errors import Conflict, NotAllowed, NotFound, OutcropError
from outcrop.notes import KnowledgeBase
from outcrop.notes.files import NoteFiles
from outcrop.notes.names import fold, is_name, note_path

REFUSED = [
    "",
    " ",
    "/",
    "//server/share.md",
    "../outside.md",
    "a/../../outside.md",
    "a/../b.md",
    "..",
    ".",
    "./a.md",
    "a//b.md",
    "a/",
    "a/b.md/",
    ".hidden.md",
    ".outcrop/lock.md",
    "a/.git/config.md",
    "..\\outside.md",
    "a\\b.md",
    "C:\\Windows\\a.md",
    "C:/Windows/a.md",
    "C:a.md",
    "a.md:stream.md",
    "nul.md",
    "CON",
    "a/aux.md",
    "com1.txt",
    "LPT¹.md",
    "nul .md",
    "trailing./a.md",
    "trailing /a.md",
    " leading.md",
    "a.md\0.txt",
    "a\nb.md",
    "a\x1b[31m.md",
    "a\u202egnp.md",
    "a\u2028b.md",
    "\ud800.md",
    "．．/outside.md",
    "‥/outside.md",
    "a/․․/outside.md",
    "℀.md",
    "what?.md",
    "pipe|.md",
    "<script>.md",
    "plan.py",
    "notes.html",
    "x" * 300,
    "/".join(["deep"] * 20),
    "/".join(["long" * 50] * 8),
]


@pytest.mark.parametrize("name", REFUSED, ids=[ascii(name)[:40] for name in REFUSED])
def test_a_name_that_could_lead_elsewhere_is_refused_and_makes_nothing(
    kb: KnowledgeBase, root: Path, name: str
) -> None:
    kb.write("kept.md", "kept")
    before = sorted(root.parent.rglob("*.md")), sorted(root.parent.iterdir())
    changes: list[Callable[[], object]] = [
        lambda: kb.write(name, "text"),
        lambda: kb.append(name, "text"),
        lambda: kb.move("kept.md", name),
    ]
    for attempt in changes:
        with pytest.raises(NotAllowed):
            attempt()
    others: list[Callable[[], object]] = [
        lambda: kb.read(name),
        lambda: kb.delete(name),
        lambda: kb.edit(name, "a", "b"),
    ]
    for attempt in others:
        with pytest.raises((NotAllowed, NotFound)):
            attempt()
    assert (sorted(root.parent.rglob("*.md")), sorted(root.parent.iterdir())) == before


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("plan", "plan.md"),
        ("/projects/api.md", "projects/api.md"),
        ("/etc/passwd", "etc/passwd.md"),
        ("release-1.2", "release-1.2.md"),
        ("a/b c/Ünïcode", "a/b c/Ünïcode.md"),
        ("läs mig.txt", "läs mig.txt"),
        ("NOTES.MD", "NOTES.MD"),
        ("x.markdown", "x.markdown"),
        ("家族/می‌خواهم.md", "家族/می‌خواهم.md"),
        ("console.md", "console.md"),
    ],
)
def test_an_ordinary_name_is_kept_and_gets_a_suffix_if_it_has_none(
    kb: KnowledgeBase, root: Path, given: str, path: str
) -> None:
    assert kb.write(given, "words").path == path
    assert (root / path).read_text() == "words"
    assert kb.read(given).text == "words"
    assert [file.path for file in kb.list()] == [path]


ALPHABET = "abAB.…․./\\:~ \0\n\u200d\u202e\ud800éß①Ａ‥"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(st.sampled_from(ALPHABET), max_size=12), st.text(max_size=30)))
@example("../x.md")
@example("a/b/../../../x")
def test_no_name_at_all_makes_a_file_outside_the_root(tmp_path: Path, name: str) -> None:
    files = NoteFiles(tmp_path / "nest" / "kb")
    with suppress(OutcropError), files.locked():
        path = note_path(name)
        files.replace(path, b"x")
        assert files.read(path)[0] == b"x"
        written = files.root / path
        assert written.resolve().is_relative_to(files.root)
        assert path in files.walk()[0]
        files.remove(path)
    assert [str(p) for p in tmp_path.rglob("*") if p.is_file()] == [str(files.root / ".outcrop" / "lock")]


@given(st.text(max_size=20))
def test_names_that_a_file_system_may_confuse_fold_alike(name: str) -> None:
    assert fold(name) == fold(unicodedata.normalize("NFD", name)) == fold(unicodedata.normalize("NFC", name))
    if is_name(name):
        assert not name.startswith(".")
        assert "/" not in name


# ------------------------------------------------------------------ links


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("the secret quetzal")
    return folder


def attempts(kb: KnowledgeBase, path: str) -> list[Callable[[], object]]:
    return [
        lambda: kb.read(path),
        lambda: kb.write(path, "overwritten"),
        lambda: kb.append(path, "overwritten"),
        lambda: kb.edit(path, "quetzal", "overwritten"),
        lambda: kb.move(path, "stolen.md"),
        lambda: kb.move("kept.md", path.replace("secret", "planted")),
    ]


@pytest.mark.parametrize("kind", ["file", "folder", "folder inside", "dangling", "relative"])
def test_links_are_never_followed(kb: KnowledgeBase, root: Path, outside: Path, kind: str) -> None:
    kb.write("kept.md", "kept")
    path = {"file": "secret.md", "dangling": "planted.md"}.get(kind, "link/secret.md")
    if kind == "file":
        (root / "secret.md").symlink_to(outside / "secret.md")
    elif kind == "dangling":
        (root / "planted.md").symlink_to(outside / "planted.md")
    elif kind == "relative":
        (root / "link").symlink_to("../outside")
    elif kind == "folder inside":
        (root / "real").mkdir()
        (root / "link").symlink_to(root / "real")
    else:
        (root / "link").symlink_to(outside)
    for attempt in attempts(kb, path):
        with suppress(NotFound, NotAllowed, Conflict):
            attempt()
    assert [p.name for p in outside.iterdir()] == ["secret.md"]
    assert (outside / "secret.md").read_text() == "the secret quetzal"
    with pytest.raises((NotAllowed, NotFound)):
        kb.read(path)
    kb.refresh()
    assert kb.search("secret quetzal").hits == ()
    assert not any("quetzal" in kb.read(file.path).text for file in kb.list())


def test_deleting_a_link_removes_the_link_and_not_what_it_leads_to(
    kb: KnowledgeBase, root: Path, outside: Path
) -> None:
    root.mkdir()
    (root / "secret.md").symlink_to(outside / "secret.md")
    kb.delete("secret.md")
    assert not (root / "secret.md").is_symlink()
    assert (outside / "secret.md").exists()


def test_a_link_put_in_place_of_a_folder_while_notes_are_written_changes_nothing(
    kb: KnowledgeBase, root: Path, outside: Path
) -> None:
    (root / "real").mkdir(parents=True)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            with suppress(OSError):
                os.rename(root / "real", root / "aside")
                os.symlink(outside, root / "real")
                os.unlink(root / "real")
                os.rename(root / "aside", root / "real")

    thread = threading.Thread(target=swap)
    thread.start()
    files = NoteFiles(root)
    try:
        for number in range(300):
            with suppress(OutcropError), files.locked():
                files.replace(f"real/n{number % 5}.md", b"x")
            with suppress(OutcropError):
                assert files.read("real/secret.md")[0] != b"the secret quetzal"
    finally:
        done.set()
        thread.join()
    assert [p.name for p in outside.iterdir()] == ["secret.md"]


def test_the_control_folder_may_not_be_a_link_either(kb: KnowledgeBase, root: Path, outside: Path) -> None:
    root.mkdir()
    (root / ".outcrop").symlink_to(outside)
    with pytest.raises(NotAllowed):
        kb.write("a.md", "text")
    assert [p.name for p in outside.iterdir()] == ["secret.md"]


def test_a_pipe_or_a_folder_with_the_name_of_a_note_is_refused_and_waits_for_nothing(
    kb: KnowledgeBase, root: Path
) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    for name in ("pipe.md", "folder.md"):
        with pytest.raises(OutcropError):
            kb.read(name)
        with pytest.raises(Conflict):
            kb.write(name, "text")
    assert kb.list() == ()


# ------------------------------------------------------------------ the same name in another spelling


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        ("Plan.md", "plan.md"),
        ("plan.md", "PLAN.MD"),
        ("Projects/plan.md", "projects/plan.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("straße.md", "STRASSE.md"),
        ("a\u200db.md", "ab.md"),
    ],
)
def test_a_name_that_differs_only_in_spelling_is_refused_with_the_one_that_is_there(
    kb: KnowledgeBase, there: str, asked: str
) -> None:
    kb.write(there, "first")
    for attempt in (lambda: kb.write(asked, "second"), lambda: kb.append(asked, "x"), lambda: kb.read(asked)):
        with pytest.raises(Conflict) as refusal:
            attempt()
        assert any(repr(part) in str(refusal.value) for part in there.split("/"))
    kb.write("other.md", "third")
    with pytest.raises(Conflict):
        kb.move("other.md", asked)
    assert kb.read(there).text == "first"


def test_a_note_may_be_moved_to_another_spelling_of_its_own_name(kb: KnowledgeBase, root: Path) -> None:
    kb.write("plan.md", "words")
    kb.move("plan.md", "Plan.md")
    assert [path.name for path in root.glob("*.md")] == ["Plan.md"]


def test_a_file_that_an_editor_gave_an_odd_name_can_be_read_and_found(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    root.mkdir()
    (root / "Q: what?.md").write_text("An odd lantern.")
    assert [hit.document.path for hit in kb.search("odd lantern").hits] == ["Q: what?.md"]
    assert kb.read("Q: what?.md").text == "An odd lantern."
    kb.append("Q: what?.md", "more")
    kb.delete("Q: what?.md")
    assert kb.list() == ()
