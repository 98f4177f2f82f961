"""The metric of the code benchmark, on answers small enough to score by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from benchmarks.code.set import (
    Question,
    Repository,
    Target,
    counted_files,
    lay_out,
    load_repositories,
    mean_of,
    ndcg,
    repository_means,
    score_repository,
)


def test_a_target_on_top_scores_one() -> None:
    assert ndcg([("a.py", 1, 9), ("b.py", 1, 9)], [Target("a.py")]) == 1.0


def test_a_target_counts_once_at_its_first_chunk() -> None:
    ranked = [("b.py", 1, 9), ("a.py", 1, 9), ("a.py", 10, 19)]
    assert ndcg(ranked, [Target("a.py")]) == pytest.approx(1 / math.log2(3))


def test_a_chunk_that_misses_the_lines_of_its_target_does_not_count() -> None:
    ranked = [("a.py", 1, 9), ("a.py", 15, 30), ("a.py", 10, 12)]
    assert ndcg(ranked, [Target("a.py", (12, 14))]) == pytest.approx(1 / math.log2(4))


def test_ideal_is_all_targets_on_top() -> None:
    ranked = [("a.py", 1, 9), ("c.py", 1, 9), ("b.py", 1, 9)]
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(ranked, [Target("a.py"), Target("b.py")]) == pytest.approx((1 + 1 / math.log2(4)) / ideal)


def test_only_the_first_ten_chunks_count() -> None:
    ranked = [(f"{number}.py", 1, 9) for number in range(11)]
    assert ndcg(ranked, [Target("9.py")]) == pytest.approx(1 / math.log2(11))
    assert ndcg(ranked, [Target("10.py")]) == 0.0


def test_repositories_count_alike_however_many_questions_they_have() -> None:
    def repository(name: str, *categories: str) -> Repository:
        asked = enumerate(categories)
        return Repository(
            name,
            "",
            "python",
            tuple(Question(f"{name}:{i}", "q", kind, (Target("a.py"),)) for i, kind in asked),
        )

    small, large = repository("small", "symbol"), repository("large", "semantic", "semantic", "semantic")
    right = [("a.py", 1, 2)]
    means = [
        repository_means(small, score_repository(small, {"small:0": right})),
        repository_means(large, score_repository(large, {"large:1": right})),
    ]
    assert mean_of(means).overall == pytest.approx((1 + 1 / 3) / 2)
    assert mean_of(means).by_category == pytest.approx({"semantic": 1 / 3, "symbol": 1.0})


def test_files_that_do_not_count_are_not_laid_out(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "node_modules").mkdir()
    (tree / "src" / "a.py").write_text("a = 1\n")
    (tree / "src" / "large.py").write_bytes(b"#" * 1_000_001)
    (tree / "node_modules" / "b.js").write_text("b\n")
    (tree / "link.py").symlink_to(tree / "src" / "a.py")
    assert [file.name for file in counted_files(tree)] == ["a.py"]
    assert lay_out(tree, tmp_path / "copy") == 1
    assert (tmp_path / "copy" / "src" / "a.py").read_text() == "a = 1\n"


def test_a_set_is_read_with_its_lines_and_paths_below_the_root(tmp_path: Path) -> None:
    target = {"path": "lib/a.rb", "start_line": 3, "end_line": 8, "tier": "primary"}
    query = {"id": "x:0", "text": "where", "category": "symbol", "targets": [target, {"path": "lib/b.rb"}]}
    content = {"root": "lib", "language": "ruby", "queries": [query]}
    (tmp_path / "x.json").write_text(json.dumps(content))
    (repository,) = load_repositories(tmp_path)
    assert repository.questions[0].targets == (Target("lib/a.rb", (3, 8)), Target("lib/b.rb"))
    assert repository.path_of("a.rb") == "lib/a.rb"
    assert repository.below_root("lib/a.rb") == "a.rb"
    assert repository.below_root("bin/a.rb") == "bin/a.rb"
    assert Repository("y", "", "go", ()).path_of("a.go") == "a.go"
    with pytest.raises(SystemExit, match="nothing"):
        load_repositories(tmp_path, ["nothing"])
