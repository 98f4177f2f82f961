"""Notes know what was true when; one that is replaced stays as what was true before. The same on either store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import NotAllowed, NotFound, QueryError
from outcrop.notes import KnowledgeBase

TODAY = datetime.now(UTC).date().isoformat()
HOUR = "# Tokens\n\nAccess tokens live for an hour.\n"
DAY = "# Token lifetime\n\nAccess tokens live for a day.\n"
ASKED = "how long do access tokens live?"


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    db = request.getfixturevalue("postgres_url") if request.param == "postgres" else tmp_path / "index.db"
    with Engine(load_config({"db": db}, environ={})) as opened:
        yield opened


def told(kb: KnowledgeBase, as_of: str | None = None) -> list[tuple[str, str]]:
    return [(hit.document.path, hit.told) for hit in kb.search(ASKED, as_of=as_of).hits]


def save(root: Path, path: str, text: str) -> None:
    """As an editor does."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_newer_fact_offers_to_supersede_and_then_stands_before_the_older_one(
    kb: KnowledgeBase, engine: Engine
) -> None:
    assert kb.write("api/tokens", HOUR).same_subject == ()
    assert kb.write("api/limits", "# Limits\n\nUploads may have 10 MB at most.\n").same_subject == ()
    written = kb.write("api/lifetime", DAY)
    (older,) = written.same_subject
    assert (older.path, older.line, older.text) == ("api/tokens.md", 3, "Access tokens live for an hour.")
    kb.supersede(written.path, [older.path])
    kb.write("api/lifetime", kb.read("api/lifetime").text)
    assert kb.read("api/tokens").text == f"---\nvalid_until: {TODAY}\n---\n{HOUR}"
    assert kb.read("api/lifetime").text == f"---\nsupersedes: api/tokens.md\n---\n{DAY}"
    assert told(kb) == [
        ("api/lifetime.md", f"valid since {TODAY}; replaces api/tokens.md"),
        ("api/tokens.md", f"replaced by api/lifetime.md on {TODAY}"),
    ]
    plain = engine.search(ASKED).hits
    assert [hit.document.path for hit in plain] == ["api/lifetime.md", "api/tokens.md"]
    assert plain[1].why.boosts[-1].name == "outdated"
    assert f"replaced by api/lifetime.md on {TODAY}" in engine.context(ASKED).text
    assert kb.check() == ()


def test_a_write_that_supersedes_begins_the_one_and_ends_the_other(kb: KnowledgeBase) -> None:
    kb.write("tokens", HOUR)
    source = "---\nvalid_from: 2026-03-01\nsource: meeting of March\n---\n"
    assert kb.write("lifetime", source + DAY, supersedes=["tokens"]).same_subject == ()
    assert kb.read("tokens").text.startswith("---\nvalid_until: 2026-03-01\n---\n")
    assert told(kb)[0] == (
        "lifetime.md",
        "valid since 2026-03-01; replaces tokens.md; from meeting of March",
    )
    assert told(kb, "2026-02-28") == [("tokens.md", "valid until 2026-03-01, then replaced by lifetime.md")]
    assert [path for path, _ in told(kb, "2026-03-01")] == ["lifetime.md"]
    kb.write("forever", "# Sessions\n\nSessions end at midnight.\n", supersedes=["lifetime.md"])
    assert f"valid_from: {TODAY}\n" in kb.read("forever").text
    kb.append("forever", "", supersedes=["tokens"])
    assert "supersedes: [lifetime.md, tokens.md]\n" in kb.read("forever").text
    assert kb.read("tokens").text.startswith("---\nvalid_until: 2026-03-01\n---\n"), "it had ended before"


def test_what_supersedes_nothing_that_is_there_is_refused_before_anything_is_written(
    kb: KnowledgeBase, root: Path
) -> None:
    kb.write("a", HOUR)
    kb.write("plain.txt", "words")
    for older, error in (
        (["a"], QueryError),
        (["plain.txt"], NotAllowed),
        (["x,y"], NotAllowed),
        (["gone"], NotFound),
    ):
        with pytest.raises(error):
            kb.write("a" if older == ["a"] else "new", DAY, supersedes=older)
    with pytest.raises(QueryError, match="is no date"):
        kb.write("new", f"---\nvalid_from: soon\n---\n{DAY}", supersedes=["a"])
    with pytest.raises(NotFound):
        kb.supersede("new", ["a"])
    assert not (root / "new.md").exists()
    assert kb.read("a").text == HOUR


def test_a_kill_between_the_two_notes_leaves_the_older_one_superseded(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.write("tokens", HOUR)
    put = KnowledgeBase._put

    def dies(self: KnowledgeBase, path: str, content: bytes) -> object:
        if path == "tokens.md":
            raise KeyboardInterrupt
        return put(self, path, content)

    monkeypatch.setattr(KnowledgeBase, "_put", dies)
    with pytest.raises(KeyboardInterrupt):
        kb.write("lifetime", DAY, supersedes=["tokens"])
    assert kb.read("tokens").text == HOUR
    assert told(kb)[1] == ("tokens.md", f"replaced by lifetime.md on {TODAY}")


def test_an_editor_may_do_all_of_it_and_the_index_follows(
    kb: KnowledgeBase, engine: Engine, root: Path
) -> None:
    save(root, "auth/tokens.md", HOUR)
    save(root, "auth/day.md", f"---\nsupersedes: '[[tokens]]'\nvalid_from: 2026-03-01\n---\n{DAY}")
    save(
        root, "old.md", "---\nvalid_until: 2020-05-01\n---\n# Lunch\n\nLunch is at noon in the blue kitchen.\n"
    )
    save(root, "later.md", "---\nvalid_from: 2999-01-01\n---\n# Move\n\nThe office is on Mars.\n")
    kb.refresh()
    assert told(kb)[1] == ("auth/tokens.md", "replaced by auth/day.md on 2026-03-01")
    assert kb.search("lunch in the blue kitchen").hits[0].told == "was valid until 2020-05-01"
    assert kb.search("office on Mars").hits[0].told == "not valid before 2999-01-01"
    assert kb.search("lunch in the blue kitchen", as_of="2021-01-01").hits == ()
    assert (
        engine.search("lunch in the blue kitchen", as_of="2020-04-30").hits[0].told == "valid until 2020-05-01"
    )
    (root / "auth/day.md").unlink()
    kb.refresh()
    assert told(kb) == [("auth/tokens.md", "")]


def test_check_lists_contradictions_links_and_dates(kb: KnowledgeBase, root: Path) -> None:
    save(root, "a.md", HOUR)
    save(root, "b.md", DAY)
    save(root, "c.md", "---\nvalid_until: 2020-01-01\n---\n# Once\n\nAccess tokens live for a week.\n")
    save(root, "loop1.md", "---\nsupersedes: loop2\n---\n# One\n\nFirst words.\n")
    save(root, "loop2.md", "---\nsupersedes: loop3.md\n---\n# Two\n\nSecond words.\n")
    save(root, "loop3.md", "---\nsupersedes: /loop1.md\n---\n# Three\n\nThird words.\n")
    save(root, "self.md", "---\nsupersedes: self\n---\n# Self\n\nFourth words.\n")
    save(root, "lost.md", "---\nsupersedes: nowhere/at-all.md\n---\n# Lost\n\nFifth words.\n")
    save(root, "date.md", "---\nvalid_from: next week\n---\n# Date\n\nSixth words.\n")
    save(root, "never.md", "---\nvalid_from: 2026-02-01\nvalid_until: 2026-01-01\n---\n# Never\n\nWords.\n")
    found = {(problem.kind, problem.path): problem for problem in kb.check()}
    assert set(found) == {
        ("contradiction", "a.md"),
        ("circular", "loop1.md"),
        ("circular", "loop2.md"),
        ("circular", "loop3.md"),
        ("circular", "self.md"),
        ("dangling", "lost.md"),
        ("date", "date.md"),
        ("date", "never.md"),
    }
    clash = found["contradiction", "a.md"]
    assert (clash.line, clash.other_path, clash.other_line) == (3, "b.md", 3)
    assert "next week" in found["date", "date.md"].told
    assert all(hit.told == "" for hit in kb.search("first second third words").hits), (
        "a circle replaces nothing"
    )


def test_a_folder_that_is_no_knowledge_base_takes_part_too(engine: Engine, tmp_path: Path) -> None:
    save(tmp_path / "vault", "tokens.md", HOUR)
    save(tmp_path / "vault", "new/day.md", f"---\nvalid_from: 2026-03-01\nsupersedes: tokens.md\n---\n{DAY}")
    engine.add(tmp_path / "vault")
    hits = engine.search(ASKED).hits
    assert [(hit.document.path, hit.told) for hit in hits] == [
        ("new/day.md", "valid since 2026-03-01; replaces tokens.md"),
        ("tokens.md", "replaced by new/day.md on 2026-03-01"),
    ]
    assert [info.path for info in engine.documents(limit=9)] == ["new/day.md", "tokens.md"]
    past = engine.search(ASKED, as_of="2026-01-01").hits
    assert [hit.document.path for hit in past] == ["tokens.md"]
