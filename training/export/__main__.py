"""Trained weights become the files that ship.

    python -m training.export encoder --from FOLDER --into FOLDER --card CARD.json [--mode int8|weights|float]
    python -m training.export cross   --from FOLDER --into FOLDER --card CARD.json [--mode …]
    python -m training.export static  --from ARRAYS.npz --vocab VOCAB.txt --into FOLDER --card CARD.json

A transformer's folder holds encoder.npz, tokenizer.json and about.json, as `training.weights` leaves them; of it
come model.onnx, tokenizer.json and card.json. The arrays of a static model are table, query, tf_exponent, head_weight
and path_weight; of them come the four files of `outcrop.embed.static`. The given card says what the weights cannot
(name, version, data, recipe, figures, limits, and the rest); the one written has all of that and the files' hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto
from tokenizers import Tokenizer

from outcrop.embed.static import StaticEmbedder
from training.export.channels import Feed, open_session, random_texts, wide_channels
from training.export.onnx_graph import Architecture, Arrays, Mode, cross_graph, encoder_graph
from training.weights import load_arrays

_LONGEST = 512
"""Tokens BERTs are trained with, when the card does not say how many to take."""
_COMPARED = 32
"""Texts of random words on which what was exported is compared with float, as a sign of life."""

Card = dict[str, Any]


def export_encoder(source: Path, into: Path, card: Card, mode: Mode) -> str:
    """Write the folder of a text encoder; a line on what came out."""
    _require(card, "name", "version", "path_weight", "trust")
    arrays, about, frame = _read_folder(source)
    architecture = Architecture(about["heads"], about["first_position"], about["pooling"])
    card = {
        "query_prefix": "",
        "document_prefix": "",
        **_of_transformer(card, about, arrays, architecture, mode),
        "dimensions": int(arrays["emb.word"].shape[1]),
        "pooling": architecture.pooling,
    }
    apart = wide_channels(arrays, architecture, frame) if mode == "int8" else {}
    graph = encoder_graph(arrays, architecture, mode, max_tokens=card["max_tokens"], apart=apart)
    _write(into, card, {"model.onnx": graph.SerializeToString(), "tokenizer.json": _clean(source)})
    feeds = random_texts(arrays, architecture, frame, _COMPARED, card["max_tokens"])
    made, wanted = _run_both(graph, encoder_graph(arrays, architecture, "float"), feeds)
    cosines = (made * wanted).sum(axis=1)
    return (
        f"{_size(into)}, cosine to float on random words: mean {cosines.mean():.5f}, worst {cosines.min():.5f}"
    )


def export_cross(source: Path, into: Path, card: Card, mode: Mode) -> str:
    """Write the folder of a cross-encoder; a line on what came out."""
    _require(card, "name", "version", "worth" if "worth" in card else "blend")
    arrays, about, frame = _read_folder(source)
    if "head.w" not in arrays or "pool.w" not in arrays:
        raise SystemExit(f"{source} is no cross-encoder: it has no pool or no head")
    architecture = Architecture(about["heads"], about["first_position"], "cls", typed=True)
    card = _of_transformer(card, about, arrays, architecture, mode)
    apart = wide_channels(arrays, architecture, frame) if mode == "int8" else {}
    graph = cross_graph(arrays, architecture, mode, max_tokens=card["max_tokens"], apart=apart)
    _write(into, card, {"model.onnx": graph.SerializeToString(), "tokenizer.json": _clean(source)})
    feeds = random_texts(arrays, architecture, frame, _COMPARED, card["max_tokens"])
    made, wanted = _run_both(graph, cross_graph(arrays, architecture, "float"), feeds)
    off = np.abs(made - wanted)
    return f"{_size(into)}, off float on random words: mean {off.mean():.4f}, worst {off.max():.4f}"


def export_static(source: Path, vocabulary: Path, into: Path, card: Card) -> str:
    """Write the folder of a static model, and open it as the engine does; a line on what came out."""
    _require(card, "name", "version", "trust", "licence")
    with np.load(source, allow_pickle=False) as stored:
        table = stored["table"].astype(np.float32)
        query = stored["query"].astype(np.float32)
        settings = {name: float(stored[name]) for name in ("tf_exponent", "head_weight", "path_weight")}
    if not (np.isfinite(table).all() and np.isfinite(query).all()):
        raise SystemExit(f"{source} holds numbers that are not finite")
    scales = np.abs(table).max(axis=1) / 127
    scales[scales == 0] = 1
    numbers = np.clip(np.round(table / scales[:, None]), -127, 127).astype(np.int8)
    rows, dimensions = table.shape
    # Split as the engine splits: at line feeds only.
    if vocabulary.read_text("utf-8").removesuffix("\n").count("\n") + 1 != rows or query.shape != (rows,):
        raise SystemExit(f"{vocabulary} and {source} are not of the same tokens")
    files = {
        "static.npy": _npy(numbers),
        "weights.npy": _npy(np.stack([scales, query]).astype(np.float32)),
        "vocab.txt": vocabulary.read_bytes(),
    }
    _write(into, {**card, **settings, "dimensions": dimensions, "tokens": rows}, files)
    damage = StaticEmbedder(into).damage()
    if damage:
        raise SystemExit("; ".join(damage))
    off = np.linalg.norm(numbers * scales[:, None] - table) / max(float(np.linalg.norm(table)), 1e-12)
    return f"{_size(into)}, off float by {off:.4f} of the length of a row"


def _of_transformer(
    card: Card, about: Mapping[str, Any], arrays: Arrays, architecture: Architecture, mode: Mode
) -> Card:
    positions = len(arrays["emb.pos"]) - architecture.first_position
    whole = {"licence": about.get("licence"), "max_tokens": min(_LONGEST, positions), **card, "mode": mode}
    if not 2 < whole["max_tokens"] <= positions:
        raise SystemExit(f"the card asks for {whole['max_tokens']} tokens, the model has {positions} positions")
    _require(whole, "licence")
    return whole


def _read_folder(folder: Path) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any], Sequence[int]]:
    """The weights, what is known of them, and the ids the tokenizer puts around a text."""
    about = json.loads((folder / "about.json").read_text("utf-8"))
    frame = Tokenizer.from_file(str(folder / "tokenizer.json")).encode("").ids
    if not frame:
        raise SystemExit(f"the tokenizer in {folder} puts nothing around a text: a BERT needs its first token")
    return load_arrays(folder / "encoder.npz"), about, frame


def _clean(folder: Path) -> bytes:
    """The tokenizer without the padding and the length it was trained with: who runs it sets those."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    tokenizer |= {"padding": None, "truncation": None}
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _run_both(
    graph: ModelProto, reference: ModelProto, feeds: Iterable[Feed]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    made, wanted = (open_session(one.SerializeToString()) for one in (graph, reference))
    rows = [(made.run(None, feed)[0][0], wanted.run(None, feed)[0][0]) for feed in feeds]
    return np.array([one for one, _ in rows]), np.array([other for _, other in rows])


def _npy(values: NDArray[Any]) -> bytes:
    file = BytesIO()
    np.save(file, np.ascontiguousarray(values), allow_pickle=False)
    return file.getvalue()


def _write(into: Path, card: Card, files: Mapping[str, bytes]) -> None:
    """The card comes last: where there is one, the files it names are complete."""
    into.mkdir(parents=True, exist_ok=True)
    (into / "card.json").unlink(missing_ok=True)
    for name, content in files.items():
        (into / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    text = json.dumps({**card, "sha256": hashes}, indent=2, ensure_ascii=False)
    (into / "card.json").write_text(text + "\n", "utf-8")


def _require(card: Card, *fields: str) -> None:
    missing = [name for name in fields if card.get(name) is None]
    if missing:
        raise SystemExit(f"the card lacks {', '.join(missing)}")


def _size(folder: Path) -> str:
    total = sum(path.stat().st_size for path in folder.iterdir())
    return f"{folder}: {total / 1e6:.1f} MB"


def main(arguments: Sequence[str] | None = None) -> None:
    """Export one model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("encoder", "cross", "static"):
        one = kinds.add_parser(kind)
        one.add_argument("--from", dest="source", type=Path, required=True)
        one.add_argument("--into", type=Path, required=True)
        one.add_argument("--card", type=Path, required=True)
        if kind == "static":
            one.add_argument("--vocab", type=Path, required=True)
        else:
            one.add_argument("--mode", choices=get_args(Mode), default="int8")
    given = parser.parse_args(arguments)
    card = json.loads(given.card.read_text("utf-8"))
    if given.kind == "static":
        line = export_static(given.source, given.vocab, given.into, card)
    else:
        export = export_encoder if given.kind == "encoder" else export_cross
        line = export(given.source, given.into, card, given.mode)
    print(line, flush=True)


if __name__ == "__main__":
    main()
