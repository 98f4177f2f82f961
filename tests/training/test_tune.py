"""How much to trust a model: files laid out, ranks found again, and the table that is printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from training.tune import (
    BLENDS,
    PATHS,
    TRUSTS,
    Package,
    Remembering,
    Trusted,
    ask,
    lay_out,
    main,
    read_packages,
    tune,
)

import outcrop
from outcrop.embed.keys import path_text
from outcrop.embed.static import StaticEmbedder
from outcrop.records import Vector
from training import tune as tuning

NAMED = {
    1: ("src/pool/client.py", "def retry():\n    return connect()\n"),
    12: ("src/pool/client.py", "def hang_up():\n    return disconnect()\n"),
    7: ("Makefile", "install:\n\tcp outcrop /usr/local/bin\n"),
    8: ("rake/Rakefile", "task :publish do\n  upload\nend\n"),
    21: ("man/ls.1", ".TH LS 1\n.SH NAME\nls \\- list directory contents\n"),
    22: ("docs/changes.1.12.md", "# Colours\n\nThe palette has sixteen shades.\n"),
    23: (".editorrc", "indent everything by four blanks\n"),
    24: ("docs", "a file whose name elsewhere is a folder of waterfalls\n"),
}
QUERIES = {
    1: "retry",
    12: "hang up",
    7: "install outcrop",
    8: "publish task",
    21: "list directory contents",
    22: "palette shades",
    23: "indent by four blanks",
    24: "waterfalls",
}


class Longest:
    """A reranker that prefers long texts, and how many it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        self.asked += len(texts)
        return [float(len(text)) for text in texts]


@pytest.fixture
def package() -> Package:
    documents = {number: {"path": path, "text": text} for number, (path, text) in NAMED.items()}
    return Package("pypi/named", documents, [(text, "question", right) for right, text in QUERIES.items()])


def test_a_document_becomes_a_file_of_its_own_name_whatever_the_name(package: Package, tmp_path: Path) -> None:
    lay_out(package, tmp_path)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(files) == len(NAMED)
    for number, (path, text) in NAMED.items():
        (file,) = (one for one in files if one.parts[0] == str(number))
        assert file.as_posix() == f"{number}/{path}"
        assert (tmp_path / file).read_text() == text + "\n"
        assert path_text(file.as_posix()) == path_text(path), "a model reads the number"


def test_the_right_document_is_found_by_its_number_and_no_other_is_taken_for_it(
    package: Package, tmp_path: Path
) -> None:
    lay_out(package, tmp_path / "files")
    with outcrop.Engine(outcrop.Config(db=tmp_path / "index.db"), embedder=StaticEmbedder()) as engine:
        assert engine.add(tmp_path / "files").added == len(NAMED)
        for question in package.questions:
            one = Package(package.name, package.documents, [question])
            assert ask(engine, one, mode="keyword") == 1.0, question
        wrong = [("list directory contents", "question", 1), ("palette shades", "question", 12)]
        assert ask(engine, Package("", {}, wrong), mode="keyword") == 0.0
        second = [("retry", "question", 1), ("list directory contents", "question", 1)]
        assert ask(engine, Package("", {}, second), mode="keyword") == 0.5


def test_packages_with_enough_questions_that_people_type_are_read(pairs_folder: Path) -> None:
    (code,) = read_packages(pairs_folder, 5, 10, 24, code=True)
    (prose,) = read_packages(pairs_folder, 5, 100, 24, code=False)
    assert (code.name, len(code.documents), len(code.questions)) == ("pypi/code", 24, 10)
    assert (prose.name, len(prose.documents), len(prose.questions)) == ("debian/guide", 24, 24)
    assert {kind for _, kind, _ in code.questions} == {"question"}
    assert all(right in prose.documents for _, _, right in prose.questions)
    assert code == read_packages(pairs_folder, 5, 10, 24, code=True)[0]


def test_a_package_that_is_too_small_or_too_large_is_not_asked(
    pairs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_packages(pairs_folder, 5, 10, 23, code=True) == []
    monkeypatch.setattr(tuning, "FEWEST", 13)  # of the documents, twice as many: 26
    assert read_packages(pairs_folder, 5, 10, 24, code=True) == []


class Mistaken(StaticEmbedder):
    """The packaged model, which takes one verb for another."""

    def embed_query(self, text: str) -> Vector:
        other = {"open": "count", "close": "open", "copy": "close", "count": "copy"}
        return super().embed_query(" ".join(other.get(word, word) for word in text.split()))


def test_the_trust_that_is_set_is_the_trust_that_ranks(pairs_folder: Path) -> None:
    packages = read_packages(pairs_folder, 1, 4, 24, code=False)
    embedder = Trusted(Mistaken())
    own = embedder.trust
    table = {name: values[0] for name, values in tune(packages, embedder, None).items()}
    assert list(table) == [
        "keyword",
        "semantic",
        *(f"path {value}" for value in PATHS),
        *(f"trust {value}" for value in TRUSTS),
    ]
    assert table["trust 0.0"] == table["keyword"] == 1.0
    assert table["semantic"] < table["trust 2.5"] < 1.0
    assert embedder.trust == own
    assert embedder.queries.keys() == {text for text, _, _ in packages[0].questions}


def test_a_reranker_is_asked_once_a_pair_and_its_blend_ranks(pairs_folder: Path) -> None:
    packages = read_packages(pairs_folder, 1, 4, 24, code=True)
    longest = Longest()
    table = tune(packages, Trusted(StaticEmbedder()), Remembering(longest))
    assert list(table)[-len(BLENDS) :] == [f"blend {value}" for value in BLENDS]
    assert table["blend 0.0"] > table["blend 0.85"]
    assert longest.asked <= 4 * 24


def test_a_remembered_score_is_not_asked_for_again() -> None:
    longest = Longest()
    remembering = Remembering(longest)
    assert remembering.score("q", ["aa", "b", "aa"], 1.0) == [2.0, 1.0, 2.0]
    assert remembering.score("q", ["b", "cccc"], 1.0) == [1.0, 4.0]
    assert longest.asked == 3
    assert remembering.score("other", ["b"], 1.0) == [1.0]
    assert longest.asked == 4


def test_both_tables_are_printed(
    pairs_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["--pairs", str(pairs_folder), "--model", "static", "--questions", "4"]
    monkeypatch.setattr(sys, "argv", ["tune", *typed])
    main()
    code, prose = capsys.readouterr().out.removeprefix("--- ").split("--- ")
    for text, kind, name in ((code, "code", "pypi/code"), (prose, "prose", "debian/guide")):
        head, done, *rows = text.splitlines()
        assert head == f"{kind}: 1 packages, 4 questions"
        assert done == f"{name}: 4 questions, 24 documents"
        table = {row[:14].strip(): float(row[14:]) for row in rows}
        assert list(table) == [
            "keyword",
            "semantic",
            *(f"path {value}" for value in PATHS),
            *(f"trust {value}" for value in TRUSTS),
        ]
        assert all(0.6 < value <= 1 for value in table.values())
