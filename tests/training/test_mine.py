"""Documents that look like answers and are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.mine import DENSE, LEXICAL, Words, main, mine, stretches

TOPICS = ("socket", "file", "thread", "timer", "color", "window", "packet", "matrix")
VERBS = ("open", "close", "copy", "count", "merge")


def data() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    docs: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for package in ("npm/a", "pypi/b"):
        for topic in TOPICS:
            for verb in VERBS:
                id_ = len(docs)
                text = f"def {verb}_{topic}(self):\n    return self.{topic}.{verb}()"
                docs.append(
                    {
                        "id": id_,
                        "package": package,
                        "path": f"src/{topic}.py",
                        "head": f"{topic}.py > {verb}",
                        "text": text,
                    }
                )
                pairs.append({"q": f"{verb} the {topic}", "doc": id_, "kind": "doc"})
    return docs, pairs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs, pairs = data()
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return tmp_path


def test_negatives_are_of_the_same_package_and_never_the_answer(folder: Path) -> None:
    assert main(["--from", str(folder), "--workers", "1"]) == 0
    negatives = np.load(folder / "neg.npy")
    docs, pairs = data()
    assert negatives.shape == (len(pairs), LEXICAL + DENSE)
    assert negatives.dtype == np.int32
    for pair, row in zip(pairs, negatives, strict=True):
        found = [docs[id_] for id_ in row if id_ >= 0]
        assert len({doc["id"] for doc in found}) == len(found) == LEXICAL + DENSE
        assert pair["doc"] not in row
        assert {doc["package"] for doc in found} == {docs[pair["doc"]]["package"]}


def test_what_shares_words_with_the_query_comes_first() -> None:
    docs, pairs = data()
    negatives, _ = mine(docs[:40], pairs[:40])
    for pair, row in zip(pairs[:40], negatives, strict=True):
        words = pair["q"].split(" the ")
        assert all(any(word in docs[id_]["text"] for word in words) for id_ in row[:LEXICAL])


def test_twins_of_the_answer_and_answers_of_the_same_query_are_left_out() -> None:
    docs, pairs = data()
    docs, pairs = docs[:40], pairs[:40]
    docs.append(docs[0] | {"id": 40})
    pairs.append({"q": "Open the  SOCKET", "doc": 7, "kind": "name"})
    negatives, _ = mine(docs, pairs)
    assert 40 not in negatives[0]
    assert 7 not in negatives[0]
    assert 0 not in negatives[40]


def test_a_function_is_no_wrong_answer_for_one_of_its_blocks() -> None:
    docs, pairs = data()
    docs, pairs = docs[:40], pairs[:40]
    docs.append(docs[0] | {"id": 40, "text": "while socket.waits():\n    open_next(socket)"})
    pairs.append({"q": "wait until the socket is open", "doc": 40, "kind": "comment"})
    negatives, _ = mine(docs, pairs)
    assert 0 not in negatives[40]
    assert 40 not in negatives[0]


def test_a_package_of_one_document_has_no_negatives() -> None:
    docs, pairs = data()
    negatives, too_good = mine(docs[:1], pairs[:1])
    assert (negatives == -1).all()
    assert too_good == 0


def test_stretches_cover_every_pair_once(folder: Path) -> None:
    found = list(stretches(folder))
    assert [stretch.first_pair for stretch in found] == [0, 40]
    assert found[-1].docs[1] == (folder / "docs.jsonl").stat().st_size
    assert found[-1].pairs[1] == (folder / "pairs.jsonl").stat().st_size
    assert found[0].pairs[1] == found[1].pairs[0]


def test_rare_words_weigh_more_than_common_ones() -> None:
    words = Words(["the common word", "the common word", "the rare word", "the common thing"])
    scores = words.scores("common rare")
    assert scores.argmax() == 2
    assert words.scores("nothing").sum() == 0
