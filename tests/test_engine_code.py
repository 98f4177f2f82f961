"""A repository through the front door: its names are found where they are declared, and go with their files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_engine import CountingEmbedder, open_with

import outcrop
from outcrop.index.arrays import SearchArrays
from outcrop.index.names import name_number
from outcrop.rank.signals import learnt_weights
from outcrop.read import search
from outcrop.records import Filter

FILES = {
    "app/pool.py": '''"""Pools."""

from app.lease import Lease


class ConnectionPool:
    """Keeps connections open."""

    def acquire(self) -> Lease:
        return Lease(self)

    def drop(self, lease):
        self.free.append(lease)
''',
    "app/lease.py": """class Lease:
    def __init__(self, pool):
        self.pool = pool

    def close(self):
        self.pool.drop(self)
""",
    "app/server.py": """from app.pool import ConnectionPool


def serve():
    pool = ConnectionPool()
    pool = pool or ConnectionPool()
    ConnectionPool.shared = ConnectionPool()
    return pool.acquire()
""",
    "web/pool.ts": """import { Lease } from './lease';

export class BrowserPool {
  acquire(): Lease { return new Lease(this); }
}
""",
    "tests/test_pool.py": """from app.pool import ConnectionPool


def test_pool():
    assert ConnectionPool().acquire()
""",
    "README.md": """# App

The ConnectionPool of `app/pool.py` keeps connections; ask the ConnectionPool for a lease.
""",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


@pytest.fixture
def kb(tmp_path: Path, repo: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(repo)
        yield engine


def declaring(kb: outcrop.Engine, name: str) -> set[str]:
    """Paths of the files that declare a name, as the search arrays know it."""
    paths = set()
    view = kb.parts.index.refresh()
    for segment, dead in zip(view.segments, view.deleted, strict=True):
        rows = segment.names.defined_rows[segment.names.definitions(name_number(name))]
        paths |= {kb.get(int(segment.document_ids[row])).path for row in rows if not dead[row]}
    return paths


@pytest.mark.parametrize(
    ("query", "path", "symbol"),
    [
        ("ConnectionPool", "app/pool.py", "ConnectionPool"),
        ("connectionpool", "app/pool.py", "ConnectionPool"),
        ("`ConnectionPool`", "app/pool.py", "ConnectionPool"),
        ("Lease.close", "app/lease.py", "Lease"),
        ("BrowserPool.acquire()", "web/pool.ts", "BrowserPool"),
        ("serve()", "app/server.py", "serve"),
    ],
)
def test_a_name_is_found_first_where_it_is_declared(
    kb: outcrop.Engine, query: str, path: str, symbol: str
) -> None:
    hit = kb.search(query).hits[0]
    assert (hit.document.path, hit.document.kind) == (path, "code")
    assert hit.code is not None
    assert hit.code.symbol == symbol
    alone = kb.search(query, merge=False).hits[0]
    assert (alone.document.path, alone.heading_path) == (path, tuple(symbol.split(".")))
    assert any(boost.amount > 0 for boost in hit.why.boosts if boost.name == "definition")


def test_a_filter_by_language_rules_the_rest_out(kb: outcrop.Engine) -> None:
    assert {hit.document.path for hit in kb.search("pool acquire lease", kinds=["typescript"]).hits} == {
        "web/pool.ts"
    }
    assert {document.language for document in kb.documents(Filter(kinds=("python",)))} == {"python"}
    answer = kb.search("ConnectionPool", kinds=["typescript"])
    assert "app/pool.py" not in {hit.document.path for hit in answer.hits}
    assert declaring(kb, "acquire") == {"app/pool.py", "web/pool.ts"}


def test_a_deleted_file_takes_its_names_along(kb: outcrop.Engine, repo: Path) -> None:
    assert declaring(kb, "ConnectionPool") == {"app/pool.py"}
    (repo / "app/pool.py").unlink()
    assert kb.sync().removed == 1
    assert declaring(kb, "ConnectionPool") == set()
    hits = kb.search("ConnectionPool").hits
    assert hits
    assert not any(boost.amount for hit in hits for boost in hit.why.boosts if boost.name == "definition")
    assert all(check.ok for check in kb.doctor())


def test_a_changed_file_declares_what_it_declares_now(kb: outcrop.Engine, repo: Path) -> None:
    text = FILES["app/pool.py"].replace("ConnectionPool", "SocketPool")
    (repo / "app/pool.py").write_text(text, "utf-8")
    assert kb.sync().changed == 1
    assert (declaring(kb, "ConnectionPool"), declaring(kb, "SocketPool")) == (set(), {"app/pool.py"})
    assert kb.search("SocketPool").hits[0].document.path == "app/pool.py"


def test_names_are_the_same_for_the_next_process(kb: outcrop.Engine, tmp_path: Path) -> None:
    assert isinstance(kb.parts.index, SearchArrays)
    kb.parts.index.save(force=True)
    with outcrop.open(tmp_path / "index.db") as again:
        assert declaring(again, "acquire") == {"app/pool.py", "web/pool.ts"}
        first, second = kb.search("ConnectionPool").hits, again.search("ConnectionPool").hits
        assert [(hit.place, hit.score) for hit in first] == [(hit.place, hit.score) for hit in second]


RUNS = '''"""Runs that are kept."""


def save_run(folder, run):
    """Keep a run."""
    folder.joinpath(run.id).write_text(run.as_json())


def load_run(folder, name):
    """A run that was kept."""
    return parse_run(folder.joinpath(name).read_text())


def list_runs(folder):
    """The latest runs, newest first."""
    return [load_run(folder, name) for name in sorted(names_of(folder))]
'''


def test_code_that_shares_a_word_with_a_question_is_no_likely_answer_beside_a_note_that_answers_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/runs.py").write_text(RUNS, "utf-8")
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(tmp_path / "src")
        asked = "when do the backups run?"
        alone = kb.search(asked)
        assert alone.is_doubtful
        assert alone.hits[0].score < 0.2
        kb.add(text="Backups run at 02:30 every night; restore with restic and the key.", id="backups")
        note, code = kb.search(asked).hits
        assert (note.document.path, code.document.path) == ("backups", "runs.py")
        assert note.score > 0.8
        assert code.score < 0.3 * note.score
        assert {boost.name for boost in note.why.boosts}.isdisjoint({"lead"}), "as if there were no code"


def test_prose_has_no_language_and_its_hits_no_declaration(kb: outcrop.Engine) -> None:
    hit = next(
        hit for hit in kb.search("keeps connections ask for a lease").hits if hit.document.kind == "markdown"
    )
    assert (hit.document.language, hit.document.path) == ("", "README.md")
    assert hit.code is None or not hit.code.defines


def test_summaries_are_embedded_once_and_again_for_another_model(tmp_path: Path, repo: Path) -> None:
    first = CountingEmbedder("first")
    with open_with(tmp_path / "i.db", first) as kb:
        kb.add(repo)
        notes = [
            chunk.code for info in kb.documents() for chunk in kb.chunks(info.id) if chunk.code is not None
        ]
        summaries = {note.summary for note in notes if note.summary}
        assert len(summaries) > 3
        assert summaries <= set(first.embedded)
        first.embedded.clear()
        (repo / "app/server.py").rename(repo / "app/service.py")
        assert kb.sync().moved == 1
        assert not summaries & set(first.embedded), "a renamed file says the same"
    second = CountingEmbedder("second", dimensions=13)
    with open_with(tmp_path / "i.db", second) as kb:
        kb.reembed()
        assert summaries <= set(second.embedded)
        rows = kb._store.feed(0, 1000)
        assert sum(row.summary_vector is not None for row in rows) >= len(summaries)
        assert all(row.summary_vector is None or row.summary_vector.size == 13 for row in rows)
        assert all(check.ok for check in kb.doctor())
        view = kb.parts.index.refresh()
        assert sum(len(segment.noted) for segment in view.segments) >= len(summaries)


def test_a_chunk_of_code_is_found_by_what_its_summary_says(tmp_path: Path, repo: Path) -> None:
    with open_with(tmp_path / "i.db", embedder := CountingEmbedder()) as kb:
        embedder.path_weight = 0.0
        kb.add(repo)
        chunk = next(chunk for chunk in kb.chunks("app/pool.py") if chunk.code and chunk.code.defines)
        assert chunk.code is not None
        hit = kb.search(chunk.code.summary, mode="semantic", merge=False).hits[0]
        assert hit.chunk_ids == (chunk.id,)
        assert hit.why.similarity == pytest.approx(1, abs=0.01), "the code itself is not that near"


LICENCE = """\
# Copyright {year} The {word} Authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
"""
STUBS = "".join(
    f"def {name}(event):\n    raise NotImplementedError('TODO stub')\n\n\n"
    for name in ("before", "after", "failed")
)
WORDS = (
    "amber birch cedar delta ember fjord grove harbor inlet jetty knoll ledge marsh nook orchard pond quarry ridge "
    "slope tarn"
).split()


@pytest.fixture
def alike(tmp_path: Path) -> Iterator[outcrop.Engine]:
    """Twenty files with the same licence and the same stubs, every other one with words of its own at the top."""
    root = tmp_path / "repo"
    root.mkdir()
    for i, word in enumerate(WORDS):
        steps = "".join(
            f"    total += measure_{word}(sample, {j}) * weight_of(sample, {j})\n" for j in range(20)
        )
        own = f"def {word}_total(sample):\n    total = 0\n{steps}    return total\n"
        about = f'\n"""Totals of the {word}."""\n' if i % 2 else ""
        head = LICENCE.format(year=2000 + i, word=word.title()) + about
        text = f"{head}\nimport os\nfrom {word} import measure_{word}\n\n\n{STUBS}{own}"
        (root / f"{word}.py").write_text(text, "utf-8")
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(root)
        yield engine


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Apache License", "Licensed under the Apache License"),
        ("licensed without warranties or conditions of any kind", "WITHOUT WARRANTIES"),
        ("TODO stub", "TODO stub"),
        ("where are events that failed not implemented", "NotImplementedError"),
    ],
)
def test_licences_and_stubs_that_stand_in_every_file_do_not_crowd_an_answer(
    alike: outcrop.Engine, query: str, words: str, merge: bool
) -> None:
    hits = alike.search(query, merge=merge).hits
    assert words in hits[0].text, "one is shown: it was asked for"
    assert sum(words in hit.text for hit in hits) <= 2


def test_a_phrase_in_quotes_asks_for_every_place_that_holds_it(alike: outcrop.Engine) -> None:
    hits = alike.search('"Licensed under the Apache License"', limit=20).hits
    assert len({hit.document.path for hit in hits}) == 20
    assert "[20]" in alike.context('"Licensed under the Apache License"', budget_tokens=20_000, cutoff=0.0).text


def test_what_sets_a_file_apart_is_found_though_it_looks_like_all_the_others(alike: outcrop.Engine) -> None:
    for word in ("cedar", "delta", "tarn"):
        assert alike.search(f"{word} total").hits[0].document.path == f"{word}.py"
        assert alike.search(f"who imports measure_{word}").hits[0].document.path == f"{word}.py"
    assert len({hit.document.path for hit in alike.search("total of measured samples").hits}) == 10


def test_rows_that_only_say_what_stands_beside_a_candidate_do_not_move_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repo"
    root.mkdir()

    def function(name: str, words: str) -> str:
        filler = "".join(f"    {name}_{i} = follow({name}_{i}, {i})\n" for i in range(20))
        return f"def {name}():\n    # {words}\n{filler}\n\n"

    far = function("first", "kestrel " * 6) + function("second", "nothing") + function("third", "kestrel")
    (root / "far.py").write_text(far, "utf-8")
    for name in ("b", "c", "d"):
        (root / f"{name}.py").write_text(function(f"only_{name}", "kestrel " * 3 + name), "utf-8")
    monkeypatch.setattr(search, "POOL", 1)
    with outcrop.open(tmp_path / "index.db") as engine:
        engine.add(root)
        best, second = engine.search("kestrel", query_type="mixed", mode="keyword", merge=False, limit=2).hits
    assert (best.document.path, best.line_start) == ("far.py", 1)
    (coherence,) = [boost.amount for boost in second.why.boosts if boost.name == "coherence"]
    weights = {name: by_kind["mixed"] for name, by_kind in learnt_weights().columns.items()}
    own_score = second.why.fused / weights["match, code"]
    assert coherence == pytest.approx(weights["coherence"] * own_score, abs=1e-4), (
        "its file has this chunk only"
    )
