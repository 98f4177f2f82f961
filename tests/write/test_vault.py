"""A vault of Obsidian: notes that link by name, embed each other and carry tags."""

from __future__ import annotations

import time
from pathlib import Path

from tests.test_engine import CountingEmbedder, open_with

from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.parse.markdown import inline_tags
from outcrop.records import NOTE_LINK, Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)
NOTE = """---
aliases: [The airship]
tags: [flight]
---
# Zeppelin

Moored at the [[Lake pier|pier]] since #work/plan, see ![[Photos#^b1]] and [[#Zeppelin]].
Not `[[code]]`, nor #12, and no issue#tag.

```sh
[[ -f x ]] # comment
#nope
```
A second #idea.
"""


def read(text: str, path: str = "vault/a.md") -> Document:
    return parse(text.encode(), path=path, media_type=None, limits=LIMITS)


def test_links_embeds_tags_and_aliases_of_a_note() -> None:
    document = read(NOTE)
    assert document.outline is not None
    assert [(link.name, link.kind) for link in document.outline.references if link.qualifier == NOTE_LINK] == [
        ("Lake pier", "link"),
        ("Photos", "link"),
    ]
    assert document.tags == ("flight", "work/plan", "idea")
    assert document.meta["aliases"] == ("The airship",)


def test_a_hash_in_another_page_is_no_tag() -> None:
    assert read("# Title\n\nuse #region here\n").tags == ()


def test_a_link_by_name_is_an_edge_to_the_note_in_whatever_folder(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "places").mkdir(parents=True)
    (vault / "Zeppelin.md").write_text(NOTE, "utf-8")
    (vault / "places" / "Lake pier.md").write_text(
        "# Lake pier\n\nA pier of oak, forty metres long.\n", "utf-8"
    )
    (vault / "Other.md").write_text("# Other\n\nNothing to do with it.\n", "utf-8")
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        kb.add(vault)
        graph = kb.codebase.graph()
        edges = graph.all_edges()
        paths = {chunk.id: chunk.document.path for chunk in kb._store.chunks(list(range(1, 20)))}
        pairs = {
            (paths[int(graph.chunk_ids(edges.source)[i])], paths[int(graph.chunk_ids(edges.target)[i])])
            for i in range(len(edges))
        }
        assert ("Zeppelin.md", "places/Lake pier.md") in pairs
        assert not any("Other.md" in pair for pair in pairs)


def test_pages_that_notion_exported_are_called_as_they_are() -> None:
    table = parse(
        b"a,b\n1,2\n", path="Tasks 0123456789abcdef0123456789abcdef_all.csv", media_type=None, limits=LIMITS
    )
    assert table.title == "Tasks_all"
    assert read("", "Plan 0123456789abcdef0123456789abcdef.md").title == "Plan"


def test_tags_of_hostile_notes_take_linear_time() -> None:
    before = time.process_time()
    for text in ("```\n" * 400_000, "`a" * 800_000, "#" * 1_600_000, "#a\n" * 400_000, " [[" * 500_000):
        list(inline_tags(text))
        read(f"[[x]] {text}")
    assert time.process_time() - before < 40


def test_a_daily_note_is_called_by_its_file_and_the_vaults_settings_are_no_notes(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text('{"vimMode": true}', "utf-8")
    (vault / "2026-01-05.md").write_text("Worked on [[The airship]]. #log\n", "utf-8")
    with open_with(tmp_path / "i.db", CountingEmbedder()) as kb:
        report = kb.add(vault)
        assert [(info.path, info.title) for info in kb.documents()] == [("2026-01-05.md", "2026-01-05")]
        assert report.skipped == ()
