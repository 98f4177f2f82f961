"""Which of several models: the sample, the ranks, and what is printed, on a handful of documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.choose import FEWEST, Sample, as_embedded, draw, gain, main, open_spec, rank

from outcrop.embed.static import PACKAGED_MODEL, StaticEmbedder


def sample_of(packages: list[int], questions: list[tuple[str, int]], lang: str = "c") -> Sample:
    """Documents of packages, and FEWEST times each question."""
    documents: list[dict[str, Any]] = [{"lang": lang} for _ in packages]
    return Sample(documents, np.array(packages), [("", kind, right) for kind, right in questions] * FEWEST)


def ranked(sample: Sample, scores: list[list[float]]) -> dict[str, float]:
    """The sample when a query's scores are these: documents are the unit vectors."""
    count = len(sample.documents)
    return rank(sample, np.eye(count, dtype=np.float32), np.array(scores * FEWEST, np.float32))


def test_a_sample_holds_the_right_document_of_every_question(pairs_folder: Path) -> None:
    sample = draw(pairs_folder, 40, 60)
    assert {document["package"] for document in sample.documents} == {"debian/guide", "pypi/code"}
    assert len(sample.documents) == len({document["id"] for document in sample.documents}) == 48
    assert len(sample.questions) == 96
    for text, kind, right in sample.questions:
        verb, topic = text.split("_") if kind == "name" else (text.split()[3], text.split()[-1].rstrip("?"))
        assert f"{verb} a {topic}" in sample.documents[right]["text"].casefold().replace("_", " a ")


def test_a_sample_is_the_same_each_time_and_no_larger_than_asked(pairs_folder: Path) -> None:
    sample = draw(pairs_folder, 1, 5, ["name"])
    assert sample.questions == draw(pairs_folder, 1, 5, ["name"]).questions
    assert [kind for _, kind, _ in sample.questions] == ["name"] * 5
    assert len({document["package"] for document in sample.documents}) == 1
    assert len(sample.documents) == 24
    assert set(sample.package.tolist()) == {0}


def test_a_question_is_asked_among_the_documents_of_its_package() -> None:
    sample = sample_of([0, 0, 1, 1], [("faq", 1), ("man", 3)])
    found = ranked(sample, [[0.5, 0.4, 0.9, 0.9], [0.9, 0.9, 0.1, 0.2]])
    assert found == {"mean": (gain(2) + 1) / 2, "faq": gain(2), "man": 1.0}


def test_wide_asks_about_python_among_all_packages() -> None:
    sample = sample_of([0, 0, 1, 1], [("question", 0)], "python")
    found = ranked(sample, [[0.5, 0.4, 0.9, 0.9]])
    assert found == {"mean": (1 + gain(3)) / 2, "question": 1.0, "wide": gain(3)}


def test_scores_that_tell_nothing_are_no_answers() -> None:
    sample = sample_of([0, 0, 0], [("faq", 0)])
    assert ranked(sample, [[0.5, 0.4, 0.3]])["mean"] == 1.0
    assert ranked(sample, [[0.0, 0.0, 0.0]])["mean"] == 0.0
    assert ranked(sample, [[float("nan")] * 3])["mean"] == 0.0


def test_a_long_vector_is_no_better_than_a_short_one() -> None:
    sample = sample_of([0, 0], [("faq", 0)])
    rows = np.array([[0.1, 0.0], [30.0, 40.0]], np.float32)
    assert rank(sample, rows, np.array([[1.0, 0.0]] * FEWEST, np.float32))["faq"] == 1.0


def test_kinds_asked_too_seldom_are_left_out_and_none_at_all_is_an_error() -> None:
    sample = sample_of([0, 0], [("faq", 0)])
    seldom = Sample(sample.documents, sample.package, [*sample.questions, ("", "man", 1)])
    queries = np.array([[1.0, 0.0]] * (FEWEST + 1), np.float32)
    assert rank(seldom, np.eye(2, dtype=np.float32), queries).keys() == {"mean", "faq"}
    few = Sample(sample.documents, sample.package, sample.questions[1:])
    with pytest.raises(SystemExit, match="take more"):
        rank(few, np.eye(2, dtype=np.float32), queries[2:])


def test_the_gain_ends_after_ten() -> None:
    assert [gain(place) for place in (1, 3, 10, 11)] == [1.0, 0.5, pytest.approx(0.2891, abs=1e-4), 0.0]


def test_a_document_is_embedded_below_its_title_and_headings() -> None:
    document = {"head": "a.py > A > run", "text": "pass"}
    assert as_embedded(document) == "Document: a.py\nSection: A > run\n\npass"
    assert as_embedded({"head": "", "text": "pass"}) == "pass"


def test_a_static_model_is_opened_from_its_folder() -> None:
    given, packaged = open_spec(f"static:{PACKAGED_MODEL}"), open_spec("static")
    assert isinstance(given, StaticEmbedder)
    assert given.model == packaged.model


def test_a_line_is_printed_for_each_model_and_weight_of_the_path(
    pairs_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--pairs", str(pairs_folder), "--model", "ours=static", "--paths", "0,0.3"]
    monkeypatch.setattr(sys, "argv", ["choose", *arguments])
    main()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "48 documents, 96 questions"
    assert [line.split(" mean ")[0] for line in lines] == ["ours: path 0.00", "path 0.30"]
    for line in lines:
        said = line.split("path ")[1].split()[1:]
        scores = dict(zip(said[::2], map(float, said[1::2]), strict=True))
        assert scores.keys() == {"mean", "name", "question", "section", "wide"}
        # The words of a question are those of one document of 24: chance would be .19.
        assert min(scores.values()) > 0.6
