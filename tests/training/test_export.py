"""Exported folders, opened by the parts of the engine that will read them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from training.export.__main__ import main
from training.export.channels import open_session
from training.export.restore import main as restore
from training.weights import load_arrays, save_arrays

from outcrop.embed.onnx import OnnxEmbedder
from outcrop.embed.static import StaticEmbedder

CARD = {
    "name": "tiny",
    "version": "7",
    "path_weight": 0.5,
    "trust": {"prose": 0.9, "code": 1.0},
    "blend": {"prose": 0.6, "code": 0.2},
    "figures": {"code": 0.82},
}
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"w{number}" for number in range(40))]
WIDTH = 64


def write_folder(folder: Path, layers: int = 2) -> Path:
    random = np.random.default_rng(3)

    def draw(*shape: int) -> Any:
        return random.normal(0, 0.2, shape).astype(np.float32)

    arrays = {"emb.word": draw(len(WORDS), WIDTH), "emb.pos": draw(32, WIDTH), "emb.type": draw(2, WIDTH)}
    for layer in range(layers):
        for part in ("q", "k", "v", "ao", "f1", "f2"):
            into, out = (WIDTH * (1 + (part == "f2")), WIDTH * (1 + (part == "f1")))
            arrays[f"{layer}.{part}.w"], arrays[f"{layer}.{part}.b"] = draw(out, into), draw(out)
    for norm in ("emb.ln", *(f"{layer}.{part}" for layer in range(layers) for part in ("aln", "fln"))):
        arrays[f"{norm}.w"], arrays[f"{norm}.b"] = 1 + draw(WIDTH), draw(WIDTH)
    arrays |= {"pool.w": draw(WIDTH, WIDTH), "pool.b": draw(WIDTH), "head.w": draw(1, WIDTH), "head.b": draw(1)}
    save_arrays(folder / "encoder.npz", arrays)
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.enable_truncation(5)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"model": "tiny", "licence": "MIT", "pooling": "cls", "first_position": 0, "heads": 4}
    (folder / "about.json").write_text(json.dumps(about), "utf-8")
    return folder


def write_card(folder: Path, **changes: Any) -> Path:
    path = folder / "given.json"
    path.write_text(json.dumps({**CARD, **changes}), "utf-8")
    return path


def run(kind: str, source: Path, into: Path, card: Path, *more: str) -> dict[str, Any]:
    main([kind, "--from", str(source), "--into", str(into), "--card", str(card), *more])
    written: dict[str, Any] = json.loads((into / "card.json").read_text("utf-8"))
    for name, found in written["sha256"].items():
        assert hashlib.sha256((into / name).read_bytes()).hexdigest() == found
    return written


@pytest.mark.parametrize("mode", ["int8", "weights", "float"])
def test_an_exported_encoder_opens_in_the_engine_and_its_card_is_complete(tmp_path: Path, mode: str) -> None:
    source = write_folder(tmp_path)
    card = run("encoder", source, tmp_path / "out", write_card(tmp_path, max_tokens=24), "--mode", mode)
    assert card.keys() == CARD.keys() | {
        "dimensions", "pooling", "max_tokens", "query_prefix", "document_prefix", "licence", "mode", "sha256",
    }  # fmt: skip
    assert (card["dimensions"], card["pooling"], card["licence"]) == (WIDTH, "cls", "MIT")
    assert card["sha256"].keys() == {"model.onnx", "tokenizer.json"}
    rows = OnnxEmbedder(tmp_path / "out", threads=1).embed_documents(["w1 w2", "w1 w2", "w30 w31"])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert float(rows[0] @ rows[2]) < 0.95


def test_quantised_modes_make_the_file_smaller_and_keep_the_vectors(tmp_path: Path) -> None:
    source, card = write_folder(tmp_path, layers=4), write_card(tmp_path)
    texts = ["w1 w2 w3", "w9", "w20 w21 w22 w23 w24 w25"]
    sizes, rows = {}, {}
    for mode in ("float", "weights", "int8"):
        run("encoder", source, tmp_path / mode, card, "--mode", mode)
        sizes[mode] = (tmp_path / mode / "model.onnx").stat().st_size
        rows[mode] = OnnxEmbedder(tmp_path / mode, threads=1).embed_documents(texts)
    assert sizes["int8"] < sizes["float"] * 0.45
    assert sizes["weights"] < sizes["float"] * 0.55
    # Weights drawn at random bear rounding worse than trained ones: there the worst of 300 is 0.9994 and 0.998.
    assert (rows["weights"] * rows["float"]).sum(axis=1).min() > 0.998
    assert (rows["int8"] * rows["float"]).sum(axis=1).min() > 0.998


def test_the_tokenizer_ships_without_padding_and_without_a_length(tmp_path: Path) -> None:
    run("encoder", write_folder(tmp_path), tmp_path / "out", write_card(tmp_path), "--mode", "float")
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert tokenizer.padding is None
    assert tokenizer.truncation is None
    assert tokenizer.encode("w0 w1 w2 w3 w4 w5").ids == [1, 4, 5, 6, 7, 8, 9, 2]


def test_an_exported_cross_encoder_scores_pairs_and_tells_its_blend(tmp_path: Path) -> None:
    source = write_folder(tmp_path)
    given = write_card(tmp_path, max_tokens=20)
    card = run("cross", source, tmp_path / "out", given)
    run("cross", source, tmp_path / "float", given, "--mode", "float")
    assert (card["blend"], card["max_tokens"], card["mode"]) == ({"prose": 0.6, "code": 0.2}, 20, "int8")
    feed = {
        "input_ids": np.array([[1, 5, 2, 30, 31, 2]]),
        "attention_mask": np.ones((1, 6), np.int64),
        "token_type_ids": np.array([[0, 0, 0, 1, 1, 1]]),
    }
    found, wanted = (
        open_session((tmp_path / name / "model.onnx").read_bytes()).run(["logits"], feed)[0]
        for name in ("out", "float")
    )
    np.testing.assert_allclose(found, wanted, atol=0.05)


def test_the_weights_of_an_exported_cross_encoder_can_be_read_back(tmp_path: Path) -> None:
    source = write_folder(tmp_path)
    card = run("cross", source, tmp_path / "out", write_card(tmp_path, max_tokens=20, worth={"prose": 0.5}))
    assert card["worth"] == {"prose": 0.5}
    restore(["--from", str(tmp_path / "out"), "--into", str(tmp_path / "again")])
    given, found = (load_arrays(folder / "encoder.npz") for folder in (source, tmp_path / "again"))
    assert found.keys() == given.keys()
    for name, values in given.items():
        whole = values[:20] if name == "emb.pos" else values
        np.testing.assert_allclose(found[name], whole, atol=np.abs(whole).max() / 120, err_msg=name)
    about = json.loads((tmp_path / "again" / "about.json").read_text("utf-8"))
    assert (about["model"], about["licence"]) == ("tiny 7", "MIT")
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (
        tmp_path / "out" / "tokenizer.json"
    ).read_bytes()


def test_a_card_that_lacks_what_the_engine_needs_stops_the_export(tmp_path: Path) -> None:
    source = write_folder(tmp_path)
    with pytest.raises(SystemExit, match="lacks version, trust"):
        run("encoder", source, tmp_path / "out", write_card(tmp_path, version=None, trust=None))
    with pytest.raises(SystemExit, match="33 tokens"):
        run("encoder", source, tmp_path / "out", write_card(tmp_path, max_tokens=33))
    assert not (tmp_path / "out").exists()


def test_an_encoder_without_a_head_is_no_cross_encoder(tmp_path: Path) -> None:
    source = write_folder(tmp_path)
    with np.load(source / "encoder.npz") as stored:
        np.savez(source / "other.npz", **{name: stored[name] for name in stored.files if name != "head.w"})
    (source / "other.npz").replace(source / "encoder.npz")
    with pytest.raises(SystemExit, match="no cross-encoder"):
        run("cross", source, tmp_path / "out", write_card(tmp_path))


def write_static(folder: Path, tokens: list[str]) -> tuple[Path, np.ndarray[Any, Any]]:
    table = np.random.default_rng(1).normal(size=(3, 16)).astype(np.float32)
    table[2] = 0
    np.savez(folder / "static.npz", table=table.astype(np.float16), query=np.array([1.0, 2.0, 0.5]),
             tf_exponent=0.5, head_weight=1.5, path_weight=2.5)  # fmt: skip
    (folder / "words.txt").write_text("\n".join(tokens) + "\n", "utf-8")
    return folder / "static.npz", table


def test_an_exported_static_model_opens_in_the_engine_with_the_vectors_of_its_table(tmp_path: Path) -> None:
    source, table = write_static(tmp_path, ["parse", "file", "nothing"])
    card = run("static", source, tmp_path / "out", write_card(tmp_path, licence="Apache-2.0"),
               "--vocab", str(tmp_path / "words.txt"))  # fmt: skip
    model = StaticEmbedder(tmp_path / "out")
    assert (card["tokens"], card["dimensions"], card["head_weight"]) == (3, 16, 1.5)
    assert (model.path_weight, model.trust.prose, model.damage()) == (2.5, 0.9, [])
    row = model.embed_documents(["file file parse"])[0]
    np.testing.assert_allclose(row, table[1] * 2**0.5 + table[0], atol=0.03)
    wanted = 2 * table[1] + table[0]
    assert float(model.embed_query("file parse") @ wanted) / np.linalg.norm(wanted) > 0.9995
    assert not model.embed_documents(["nothing"]).any()


def test_a_vocabulary_of_another_table_is_refused(tmp_path: Path) -> None:
    source, _ = write_static(tmp_path, ["parse", "file"])
    with pytest.raises(SystemExit, match="not of the same tokens"):
        run("static", source, tmp_path / "out", write_card(tmp_path, licence="MIT"),
            "--vocab", str(tmp_path / "words.txt"))  # fmt: skip
