"""The benchmark of models: names and seeds, what is kept, means and bars, on scores small enough to do by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.code.set import Question, Repository, Target
from benchmarks.models.memory import Kept, RememberingEmbedder, RememberingReranker, ScoreFiles
from benchmarks.models.named import (
    Entry,
    FloatTable,
    Marked,
    mark_of,
    read_entries,
    read_floats,
    weights_mark_of,
    without_seed,
)
from benchmarks.models.score import CODE, DENSE, HYBRID, KEYWORD, Chosen, rerank_run, without_signals
from benchmarks.models.speed import family_cpu_s, first_seeds, read_pieces, spend
from benchmarks.models.tables import (
    Difference,
    Results,
    against_baseline,
    against_float,
    against_keyword,
    against_no_rerank,
    category_rows,
    float_bars,
    keyword_bars,
    level_rows,
    mean_bars,
    rerank_bars,
    spread_rows,
    verdict,
)
from tests.rank.seen import candidates

from outcrop.embed.static import PACKAGED_MODEL, StaticEmbedder
from outcrop.errors import EmbedError
from outcrop.rank.signals import apply_signals
from outcrop.records import Matrix, Model, Trust, Vector


class CountingEmbedder:
    """Two numbers a text, and how many texts it was asked for."""

    def __init__(self, turn: float = 0.0) -> None:
        self.asked = 0
        self.model = Model("counting", "1", 2)
        self.path_weight = 0.5
        self.trust = Trust()
        self._turn = turn

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.asked += len(texts)
        return np.array([[len(text), self._turn] for text in texts], np.float32)

    embed_paths = embed_documents

    def embed_query(self, text: str) -> Vector:
        return np.array([1.0, len(text)], np.float32)


class LengthReranker:
    """Long texts are good; has time for `most`."""

    blend = Trust(0.7, 0.7)

    def __init__(self, most: int = 100) -> None:
        self.asked: list[str] = []
        self._most = most

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        self.asked.extend(texts[: self._most])
        return [float(len(text)) for text in texts[: self._most]]


# ------------------------------------------------------------------ names


def test_a_seed_is_cut_from_a_label_and_nothing_else() -> None:
    assert [without_seed(label) for label in ("mini", "mini#2", "mini#12 float", "hybrid + rr#1")] == [
        "mini",
        "mini",
        "mini float",
        "hybrid + rr",
    ]


def test_models_are_read_as_typed() -> None:
    entries = read_entries(["v0=static", "mini#1=onnx:/a=b"])
    assert entries == [Entry("v0", "static"), Entry("mini#1", "onnx:/a=b")]
    assert [entry.is_slow for entry in entries] == [False, True]
    assert [str(entry.folder) for entry in entries] == [str(PACKAGED_MODEL), "/a=b"]
    assert first_seeds([*entries, Entry("mini#2", "mini")]) == entries


@pytest.mark.parametrize("given", [["static"], ["=static"], ["a="], ["a=static", "a=mini"]])
def test_a_model_without_name_or_spec_or_with_a_taken_name_is_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit):
        read_entries(given)


def test_a_float_belongs_to_a_model_of_the_run() -> None:
    shipped = [Entry("static#1", "static")]
    assert read_floats(["static#1=float:/f"], shipped) == [Entry("static#1 float", "float:/f")]
    with pytest.raises(SystemExit, match="no such model"):
        read_floats(["static=float:/f"], shipped)


def test_the_mark_of_a_model_changes_with_its_files_only(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_bytes(b"weights")
    first, copy = (Entry("x", f"onnx:{tmp_path / name}") for name in ("a", "b"))
    before = mark_of(first)
    assert mark_of(copy) == before
    (tmp_path / "b" / "model.onnx").write_bytes(b"Weights")
    assert mark_of(first) == before != mark_of(copy)
    weights = weights_mark_of(first)
    (tmp_path / "a" / "card.json").write_text("{}")
    assert mark_of(first) != before
    assert weights_mark_of(first) == weights != weights_mark_of(copy)


def test_the_float_of_a_table_embeds_as_the_table_does(tmp_path: Path) -> None:
    table = np.load(PACKAGED_MODEL / "static.npy")
    np.save(tmp_path / "static.npy", table.astype(np.float32))
    for name in ("card.json", "weights.npy", "vocab.txt"):
        (tmp_path / name).write_bytes((PACKAGED_MODEL / name).read_bytes())
    shipped, whole = StaticEmbedder(), FloatTable(tmp_path)
    texts = ["Document: Retries\n\nA failed request is sent again.", "def retry(): pass", ""]
    np.testing.assert_allclose(
        whole.embed_documents(texts), shipped.embed_documents(texts), rtol=1e-4, atol=1e-3
    )
    np.testing.assert_allclose(
        whole.embed_paths(["a/b.py"]), shipped.embed_paths(["a/b.py"]), rtol=1e-4, atol=1e-3
    )
    np.testing.assert_allclose(
        whole.embed_query("retry a request"), shipped.embed_query("retry a request"), atol=1e-5
    )
    with pytest.raises(SystemExit, match="not float32"):
        FloatTable(PACKAGED_MODEL)


def test_a_marked_model_does_not_search_by_words_when_it_fails() -> None:
    class Failing(CountingEmbedder):
        def embed_query(self, text: str) -> Vector:
            raise EmbedError("the worker is gone")

    marked = Marked(Failing(), "abc")
    assert marked.model == Model("benchmark", "abc", 2)
    with pytest.raises(RuntimeError, match="worker is gone"):
        marked.embed_query("anything")


# ------------------------------------------------------------------ what is kept


def test_a_text_is_embedded_once_over_all_runs(tmp_path: Path) -> None:
    first = CountingEmbedder()
    remembering = RememberingEmbedder(first, Kept(tmp_path / "v.db"))
    probes = first.asked
    made = remembering.embed_documents(["one", "three", "one"])
    assert made[:, 0].tolist() == [3, 5, 3]
    assert first.asked == probes + 2
    second = CountingEmbedder()
    again = RememberingEmbedder(second, Kept(tmp_path / "v.db"))
    np.testing.assert_array_equal(again.embed_documents(["three", "four"])[:, 0], [5, 4])
    assert second.asked == probes + 1
    again.embed_paths(["three"])  # a path is no text
    assert second.asked == probes + 2
    assert again.embed_query("abc").tolist() == [1.0, 3.0]


def test_vectors_of_a_model_that_embeds_otherwise_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Kept(tmp_path / "v.db")
    RememberingEmbedder(CountingEmbedder(), kept).embed_documents(["one"])
    turned = RememberingEmbedder(CountingEmbedder(turn=1.0), kept, "mini#1")
    assert turned.embed_documents(["one"]).tolist() == [[3.0, 1.0]]
    assert "mini#1: embeds otherwise" in capsys.readouterr().out


def test_a_pair_is_scored_once_and_a_late_one_ends_the_scores(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "p.db")
    slow = LengthReranker(most=1)
    reranker = RememberingReranker(slow, kept)
    assert (reranker.blend, reranker.worth) == (Trust(0.7, 0.7), None)
    slow.worth = Trust(0.3, 0.2)  # type: ignore[attr-defined]
    assert reranker.worth == Trust(0.3, 0.2)
    assert reranker.score("q", ["aa", "b", "cccc"], 1.0) == [2.0]
    assert reranker.score("q", ["aa", "b", "cccc"], 1.0) == [2.0, 1.0]
    assert reranker.score("q", ["b", "aa"], 1.0) == [1.0, 2.0]
    assert slow.asked == ["aa", "b"]
    assert reranker.score("other", ["aa"], 1.0) == [2.0]
    assert slow.asked == ["aa", "b", "aa"]


def test_a_reranker_that_leaves_candidates_out_ends_the_run() -> None:
    chosen = Chosen()
    with pytest.raises(RuntimeError, match="no reranker"):
        chosen.score("q", ["a"], 1.0)
    chosen.reranker = LengthReranker(most=1)
    assert (chosen.blend, chosen.worth) == (Trust(0.7, 0.7), None)
    assert chosen.score("q", ["a"], 1.0) == [1.0]
    with pytest.raises(RuntimeError, match="1 candidates were left out"):
        chosen.score("q", ["a", "b"], 1.0)


def test_scores_are_found_again_by_all_they_were_made_with(tmp_path: Path) -> None:
    files = ScoreFiles(tmp_path / "scores")
    files.put({"q": 0.5}, "engine", "set", "model", HYBRID)
    assert ScoreFiles(tmp_path / "scores").find("engine", "set", "model", HYBRID) == {"q": 0.5}
    assert files.find("engine", "set", "other model", HYBRID) is None


# ------------------------------------------------------------------ tables


def two_sets() -> Results:
    results = Results({CODE: ["r1", "r2"], "prose": ["prose"]})
    for label, lift in (("v0", 0.0), ("static#1", 0.2), ("static#2", 0.4)):
        for run in (HYBRID, DENSE):
            results.put(label, run, "r1", {"a": 0.5 + lift, "b": 0.3 + lift})
            results.put(label, run, "r2", {"c": 0.2 + lift})
            results.put(label, run, "prose", {"d": 0.5, "e": 0.1})
    results.put("v0", KEYWORD, "prose", {"d": 0.4, "e": 0.0})
    return results


def test_seeds_are_averaged_and_groups_count_alike() -> None:
    rows = {(row["model"], row["search"]): row for row in level_rows(two_sets())}
    assert rows["v0", DENSE][CODE] == pytest.approx((0.4 + 0.2) / 2)
    assert rows["static", DENSE][CODE] == pytest.approx((0.4 + 0.2) / 2 + 0.3)
    assert rows["", KEYWORD] == {"search": KEYWORD, "model": "", CODE: None, "prose": pytest.approx(0.2)}
    (spread, _) = spread_rows(two_sets())
    assert spread["seeds"] == 2
    assert spread[CODE] == pytest.approx(0.2)
    assert spread["prose"] == 0


def test_code_is_told_by_category() -> None:
    def asked(name: str, *kinds: tuple[str, str]) -> Repository:
        return Repository(name, "", "go", tuple(Question(i, "q", kind, (Target("a.go"),)) for i, kind in kinds))

    repositories = [asked("r1", ("a", "symbol"), ("b", "semantic")), asked("r2", ("c", "semantic"))]
    row = next(row for row in category_rows(two_sets(), repositories) if row["model"] == "v0")
    assert row["symbol"] == pytest.approx(0.5)
    assert row["semantic"] == pytest.approx(0.25)
    assert row["architecture"] is None


def test_each_model_is_compared_with_the_first_question_by_question() -> None:
    found = {(one.label, one.which): one for one in against_baseline(two_sets(), "v0")}
    better = found["dense: static − v0", CODE]
    assert better.difference == pytest.approx(0.3)
    assert better.low == pytest.approx(0.3)  # every question gains the same: no doubt at all
    assert better.row()["beyond noise"] == "better"
    assert found["hybrid: static − v0", "prose"].row()["beyond noise"] == "within noise"
    assert len(found) == 4


def test_an_interval_that_holds_zero_is_noise() -> None:
    assert [verdict(0.1, 0.2), verdict(-0.2, -0.1), verdict(-0.1, 0.1), verdict(0.0, 0.1)] == [
        "better",
        "worse",
        "within noise",
        "within noise",
    ]


def test_bars_are_for_the_models_of_that_name_and_the_sets_of_the_run() -> None:
    bars = {bar.name: bar for bar in mean_bars(two_sets())}
    assert bars.keys() == {"code, dense: static", "code, hybrid: static"}
    assert bars["code, dense: static"].value == pytest.approx(0.6)
    assert bars["code, dense: static"].at_least == 0.79


def test_hybrid_with_mini_is_held_against_keywords() -> None:
    results = Results({"squad_pool": ["squad_pool"]})
    results.put("v0", KEYWORD, "squad_pool", {"a": 0.5})
    for label in ("v0", "mini"):
        results.put(label, HYBRID, "squad_pool", {"a": 0.6})
    (bar,) = keyword_bars(against_keyword(results, "v0"))
    assert bar.value == pytest.approx(0.1)
    assert bar.at_least == 0.05


def test_a_reranker_is_counted_by_the_sets_it_helps_and_harms() -> None:
    sets = ("a", "b", "c", "d", "e", "spans")
    results = Results({name: [name] for name in sets}, frozenset({"spans"}))
    for name in sets:
        lift = -0.1 if name in ("e", "spans") else 0.1
        results.put("mini", HYBRID, name, {"1": 0.5, "2": 0.5})
        results.put("mini", rerank_run("rr"), name, {"1": 0.5 + lift, "2": 0.5 + lift})
    gained, lost = rerank_bars(results, against_no_rerank(results))
    assert (gained.value, gained.at_least) == (4, 4)
    assert (lost.value, lost.at_most) == (1, 0)


def test_what_ships_is_held_against_its_own_float_seed_by_seed() -> None:
    results = Results({"prose": ["prose"]})
    for label, value in (("static#1", 0.5), ("static#1 float", 0.502), ("static#2", 0.9)):
        results.put(label, DENSE, "prose", {"a": value})
    results.put("static#2", rerank_run("rr"), "prose", {"a": 0.7})
    results.put("static#2", rerank_run("rr float"), "prose", {"a": 0.695})
    found = against_float(results)
    assert [round(one.difference, 4) for one in found] == [-0.002, 0.005]
    (bar,) = float_bars(found)
    assert bar.value == pytest.approx(0.005)
    assert "hybrid + rr: static#2" in bar.name
    assert list(float_bars([])) == []


def test_a_difference_fits_a_row_of_a_table() -> None:
    row = Difference("prose", "x", 0.5, 0.6, -0.1, -0.2, -0.05).row()
    assert json.loads(json.dumps(row))["beyond noise"] == "worse"


# ------------------------------------------------------------------ speed


def test_pieces_are_distinct_and_take_turns_among_files(tmp_path: Path) -> None:
    tree = tmp_path / "repo"
    tree.mkdir()
    (tree / "a.txt").write_text("aaaabbbbcc")
    (tree / "b.txt").write_text("ddddbbbb")
    (tree / "c.bin").write_bytes(b"\xff\xfe\x00\x00")
    assert read_pieces(tmp_path, 10, 4) == ["aaaa", "dddd", "bbbb"]
    assert read_pieces(tmp_path, 2, 4) == ["aaaa", "dddd"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU of other processes is read from /proc")
def test_the_work_of_a_running_child_is_counted() -> None:
    code = "import sys\nwhile sys.stdin.readline():\n    sum(range(8_000_000))\n    print('done', flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asking, answering = child.stdin, child.stdout

        def work() -> None:
            asking.write("go\n")
            asking.flush()
            answering.readline()

        work()
        own = os.times()
        spent = spend(work)
        after = os.times()
        asking.close()
    assert spent.cpu_s >= 0.03
    assert spent.cpu_s > after.user + after.system - own.user - own.system
    assert family_cpu_s(2**22 + 1) == 0.0  # no such process


def test_without_signals_the_legs_alone_make_the_score() -> None:
    seen = candidates([0.5, 0.4, 0.3], code=[True, True, False], file=[0, 0, 1], defines=[0.0, 1.0, 0.0])
    with without_signals():
        bare = apply_signals(seen)
    assert bare.final.tolist() == seen.fused.tolist()
    assert apply_signals(seen).final.tolist() != seen.fused.tolist()
