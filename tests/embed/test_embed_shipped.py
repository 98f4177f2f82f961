"""The models that ship as files: whole, working, and doing what they are for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import outcrop
import outcrop_models
from outcrop.config import load_config
from outcrop.embed.models import open_embedder, open_reranker
from outcrop.embed.onnx import CrossEncoder, OnnxEmbedder
from outcrop.embed.static import PACKAGED_MODEL, StaticEmbedder
from outcrop.records import Text, Trust

NOTES = {
    "retry": "def send_again(request, times=3):\n    while times and not post(request).ok:\n        times -= 1",
    "parse": "def parse_date(text):\n    return datetime.strptime(text, '%Y-%m-%d')",
    "pool": "The pool keeps idle connections for a minute and then closes them.",
    "keys": "Signing keys are rotated every month; the old one stays valid for a day.",
}
ASKED = {
    "retry a failed http call": "retry",
    "python convert string to datetime": "parse",
    "how long do unused connections live": "pool",
    "how often are the signing keys changed": "keys",
}


@pytest.fixture(scope="module")
def mini() -> Iterator[OnnxEmbedder]:
    opened = open_embedder("mini", url="", key="", query_prefix="")
    assert isinstance(opened, OnnxEmbedder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def reranker() -> Iterator[CrossEncoder]:
    opened = open_reranker("mini")
    assert isinstance(opened, CrossEncoder)
    yield opened
    opened.close()


def test_the_shipped_models_are_intact_and_small(mini: OnnxEmbedder, reranker: CrossEncoder) -> None:
    assert mini.damage() == [] == reranker.damage()
    sizes = {
        folder.name: sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        for folder in (outcrop_models.mini, outcrop_models.rerank)
    }
    assert sizes["mini"] <= 45
    assert sizes["rerank"] <= 24


@pytest.mark.parametrize("folder", [PACKAGED_MODEL, outcrop_models.mini, outcrop_models.rerank], ids=str)
def test_the_cards_of_the_shipped_models_say_what_they_are(folder: Path) -> None:
    card = json.loads((folder / "card.json").read_text("utf-8"))
    for field in ("name", "version", "licence", "what", "data", "recipe", "chosen_by", "limits", "sha256"):
        assert card[field], field


def test_mini_finds_what_is_meant(mini: OnnxEmbedder) -> None:
    rows = mini.embed_documents(list(NOTES.values()))
    for question, right in ASKED.items():
        best = int(np.argmax(rows @ mini.embed_query(question)))
        assert list(NOTES)[best] == right, question


def test_mini_gives_a_text_the_same_vector_in_any_batch(mini: OnnxEmbedder) -> None:
    together = mini.embed_documents(list(NOTES.values()))
    alone = np.stack([mini.embed_documents([text])[0] for text in reversed(NOTES.values())])[::-1]
    assert np.array_equal(together, alone)


def test_the_reranker_puts_the_right_text_first(reranker: CrossEncoder) -> None:
    for question, right in ASKED.items():
        scores = reranker.score(question, list(NOTES.values()), 60.0)
        assert list(NOTES)[int(np.argmax(scores))] == right, question
    assert (reranker.worth, reranker.blend) == (Trust(prose=0.42, code=0.22), None)


def test_an_index_can_switch_to_mini_and_be_reranked(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    with outcrop.open(db) as kb:
        kb.add_texts(Text(text, id=name) for name, text in NOTES.items())
    with outcrop.Engine(load_config({"db": db, "model": "mini"}, environ={})) as kb:
        kb.reembed()
    with outcrop.open(db) as kb:  # nothing said: the index knows its model
        assert kb.status().model.name == "outcrop-mini"
        answer = kb.search(
            "when do we change the certificates we sign with", rerank=True, rerank_seconds=60.0, floor=0.0
        )
        assert answer.reason is None
        assert answer.hits[0].document.path.endswith("keys")
        assert answer.reranked == len(NOTES)


def test_words_that_tell_weigh_more_than_those_that_frame_a_question() -> None:
    framing = ["otherwise", "keep", "many", "often", "whether", "look"]
    telling = ["calendar", "alarm", "temperature", "lyrics", "passport", "equalizer"]
    weights = StaticEmbedder().weigh([*framing, *telling])
    assert max(weights[: len(framing)]) < min(weights[len(framing) :])
    assert StaticEmbedder().weigh([]) == []
