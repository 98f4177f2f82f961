"""What all vectors of multilingual-e5-small have in common: the mean that `outcrop.embed.e5` takes away from each.

    python -m benchmarks.languages.elsewhere --into SETS --news REPOSITORY --languages cs,el,fi,he,hi,hu,id,ko,pt,vi
    python -m benchmarks.languages.elsewhere --into SETS --manuals FOLDER --languages en,cs,fi,hu,id,ja,pl,pt,tr,vi
    python -m training.e5_mean SETS [--write]

The beginnings of texts, the same number from each set: half from the news, half from Debian's manual pages. No labels
are read, and no set that judges. `--write` puts the mean and its hash beside the card.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from outcrop.embed.e5 import E5_CARD, MEAN, E5Embedder
from outcrop.embed.transformer import unit_rows
from outcrop.records import Vector

TEXTS: Final = 20
"""Of each set."""
CHARACTERS: Final = 300


def take_texts(sets: Path) -> list[str]:
    """Beginnings of documents, evenly spread over each set of a folder."""
    found: list[str] = []
    for path in sorted(sets.glob("*/corpus.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]
        found += [text[:CHARACTERS] for text in texts[:: max(len(texts) // TEXTS, 1)][:TEXTS]]
    return found


def mean_of(texts: Sequence[str]) -> Vector:
    """The mean of their vectors as they come."""
    with_nothing_taken = E5Embedder(mean=np.zeros(384, np.float32))
    try:
        rows = unit_rows(with_nothing_taken.embed_documents(texts))
    finally:
        with_nothing_taken.close()
    return np.asarray(rows.mean(axis=0), np.float32)


def main() -> None:
    """Make the mean; say how much of each vector it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    texts = take_texts(options.sets)
    mean = mean_of(texts)
    print(f"{len(texts)} texts; the mean has a length of {np.linalg.norm(mean):.4f}")
    if options.write:
        np.save(E5_CARD / MEAN, mean)
        path = E5_CARD / "card.json"
        card = json.loads(path.read_text("utf-8"))
        card["sha256"][MEAN] = hashlib.sha256((E5_CARD / MEAN).read_bytes()).hexdigest()
        path.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
