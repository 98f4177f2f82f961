"""The mean of a model before and after it was fine-tuned: it keeps more of what it knew of the world.

    python -m training.average --before FOLDER --after FOLDER --share 0.5 --into FOLDER

`share` is how much the fine-tuned weights count. Which share to take, `training.choose` tells.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from training.weights import load_arrays, save_arrays


def average(before: Path, after: Path, share: float, into: Path) -> None:
    """Weights between those of two folders of `training.weights`, in a third."""
    old, new = load_arrays(before / "encoder.npz"), load_arrays(after / "encoder.npz")
    if missing := sorted(new.keys() - old.keys()):
        raise SystemExit(f"{before} is no earlier {after}: it has no {', '.join(missing)}")
    save_arrays(into / "encoder.npz", {name: (1 - share) * old[name] + share * new[name] for name in new})
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
