"""Means of weights: of seeds of one training, or of a model before and after it was fine-tuned.

Seeds that start from the same weights end near each other: their mean does as well as the best of them, or a little
better. A mean with the weights before keeps more of what the model knew of the world.

    python -m training.average --before FOLDER --after FOLDER --share 0.5 --into FOLDER

`share` is how much the fine-tuned weights count. Which share to take, `training.choose` tells.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.weights import load_arrays, save_arrays

Arrays = dict[str, NDArray[np.float32]]


def mean_of(models: Sequence[Arrays], shares: Sequence[float] | None = None) -> Arrays:
    """The weighted mean of models of one shape; all count the same if no shares are given."""
    weights = shares or [1 / len(models)] * len(models)
    return {
        name: np.sum([weight * one[name] for weight, one in zip(weights, models, strict=True)], axis=0).astype(
            np.float32
        )
        for name in models[0]
    }


def average(before: Path, after: Path, share: float, into: Path) -> None:
    """Weights between those of two folders of `training.weights`, in a third."""
    old, new = load_arrays(before / "encoder.npz"), load_arrays(after / "encoder.npz")
    if missing := sorted(new.keys() - old.keys()):
        raise SystemExit(f"{before} is no earlier {after}: it has no {', '.join(missing)}")
    save_arrays(into / "encoder.npz", mean_of([new, old], [share, 1 - share]))
    for name in ("tokenizer.json", "about.json"):
        shutil.copy(before / name, into / name)


def main() -> None:
    """Average once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    parser.add_argument("--share", type=float, required=True)
    parser.add_argument("--into", type=Path, required=True)
    options = parser.parse_args()
    average(options.before, options.after, options.share, options.into)


if __name__ == "__main__":
    main()
