"""What runs on the GPU, a stage at a time; every stage leaves its models in the work folder for the next.

    python -m training.gpu STAGE --data PAIRS --base WEIGHTS --work FOLDER [--out FOLDER] [--seeds 1,2,3] [--seconds S]

    teachers   fine-tune each base model, one a seed, and judge it, their mean, and all together; granite's is mini
    static     train the static model from the teachers, one a seed
    rerank     train the reranker, one a seed, and their mean
    embed      vectors of a benchmark's texts (--texts) by models of the work folder (--names)

Models are chosen by the verdict on held-out packages (`judge.py`) and by nothing else.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.average import mean_of
from training.gpu import bi, cross, elsewhere, static
from training.gpu.data import Pairs, load_pairs, spread
from training.vocabulary import choose_tokens, count_words
from training.weights import load_arrays, save_arrays

BEGAN = time.time()
TOKENS = 50_000


def log(*parts: object) -> None:
    """A line with the seconds since the start."""
    print(f"{time.time() - BEGAN:7.1f}", *parts, flush=True)


class Stage:
    """What the stages share: the pairs, read once a machine, and where things lie."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.work: Path = options.work
        self.work.mkdir(parents=True, exist_ok=True)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = True
        if options.stage == "embed":
            return
        self.pairs = self._pairs()
        log(
            "pairs",
            len(self.pairs.queries),
            "documents",
            len(self.pairs.texts),
            "held out",
            int(self.pairs.validation.sum()),
        )

    def _pairs(self) -> Pairs:
        kept = self.work / "pairs.pickle"
        if kept.exists():
            with kept.open("rb") as file:
                found: Pairs = pickle.load(file)
            return found
        found = load_pairs(self.options.data)
        with kept.open("wb") as file:
            pickle.dump(found, file, protocol=5)
        return found

    @property
    def seeds(self) -> list[int]:
        """The seeds asked for."""
        return list(map(int, self.options.seeds.split(",")))

    def base(self, name: str) -> Path:
        """The folder of a base model."""
        folder: Path = self.options.base / name
        return folder

    def note(self, name: str, **facts: Any) -> None:
        """Keep what was found, for the cards."""
        log(name, facts)
        with (self.options.out / "notes.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, **facts}) + "\n")

    def keep(self, name: str, arrays: dict[str, Any], base: Path, **about: Any) -> None:
        """A trained transformer, in the work folder as float16."""
        folder = self.work / name
        folder.mkdir(parents=True, exist_ok=True)
        save_arrays(folder / "encoder.npz", arrays)
        (folder / "tokenizer.json").write_bytes((base / "tokenizer.json").read_bytes())
        told = json.loads((base / "about.json").read_text("utf-8"))
        (folder / "about.json").write_text(json.dumps({**told, **about}, indent=2), "utf-8")

    def bring(self, name: str) -> None:
        """Put a trained transformer among what is carried home."""
        folder = self.options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "encoder.npz").write_bytes((self.work / name / "encoder.npz").read_bytes())
        (folder / "about.json").write_bytes((self.work / name / "about.json").read_bytes())


def teachers(stage: Stage) -> None:
    """Fine-tune each base, once a seed, and judge it; what teaches, and ships, is the mean of the seeds."""
    together = bi.Teachers(stage.device)
    for name in stage.options.names.split(","):
        folder = stage.base(name)
        tokens = bi.Tokens(folder, stage.pairs, stage.device)
        log(name, "tokenised")
        plain = bi.Bi(folder).to(stage.device)
        stage.note(f"{name} as it comes", verdict=str(bi.examine(plain, tokens, stage.pairs, stage.device)))
        recipe = replace(
            bi.Recipe(), seconds=stage.options.seconds, rate=stage.options.rate, batch=stage.options.batch
        )
        made = []
        for seed in stage.seeds:
            model = bi.fine_tune(folder, stage.pairs, tokens, recipe, seed, stage.device, log)
            verdict = str(bi.examine(model, tokens, stage.pairs, stage.device))
            stage.note(f"{name} seed {seed}", verdict=verdict, path=model.path.item())
            stage.keep(f"{name}-{seed}", model.encoder.to_arrays(), folder)
            made.append(model)
        mean = bi.mean_of_seeds(made)
        stage.note(f"{name}, mean of seeds", verdict=str(bi.examine(mean, tokens, stage.pairs, stage.device)))
        arrays = mean.encoder.to_arrays()
        stage.keep(f"teacher-{name}", arrays, folder, path=mean.path.item(), sharp=float(mean.sharp.exp()))
        for share in filter(None, map(float, stage.options.shares.split(","))):
            with_base = mean_of([arrays, plain.encoder.to_arrays()], [share, 1 - share])
            mean.encoder.load_arrays(with_base)
            verdict = str(bi.examine(mean, tokens, stage.pairs, stage.device))
            stage.note(f"{name}, mean of seeds, {share} of it", verdict=verdict)
        mean.encoder.load_arrays(arrays)
        together.add(mean, tokens, stage.pairs)
        torch.save(together.found[-1], stage.work / f"taught-{name}.pt")
        log(name, "every pair embedded")
        del tokens, made, mean, plain
    if len(together.found) > 1:
        stage.note("together", verdict=str(together.judge(stage.pairs)))


def read_teachers(stage: Stage, names: str) -> bi.Teachers:
    """The vectors of teachers of an earlier stage."""
    together = bi.Teachers(stage.device)
    for name in filter(None, names.split(",")):
        together.found.append(torch.load(stage.work / f"taught-{name}.pt", map_location=stage.device))
    return together


def train_statics(stage: Stage) -> None:
    """A static model a seed."""
    together = read_teachers(stage, stage.options.names)
    if len(together.found) > 1:
        stage.note("teachers together", verdict=str(together.judge(stage.pairs)))
    first = stage.options.names.split(",")[0]
    folder = stage.work / f"teacher-{first}"
    vocabulary = stage.work / "vocab.txt"
    if not vocabulary.exists():
        every = [*stage.pairs.texts, *stage.pairs.queries, *stage.pairs.heads, *stage.pairs.paths]
        found: Counter[str] = Counter()
        for part in spread(count_words, every, 50_000):
            found.update(part)
        known = json.loads((stage.base("minilm") / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        vocabulary.write_text("\n".join(choose_tokens(found, list(known), TOKENS)) + "\n", "utf-8")
    tokens = vocabulary.read_text("utf-8").removesuffix("\n").split("\n")
    words = static.Words(tokens, stage.pairs, stage.device)
    log("words", len(tokens))
    about = json.loads((folder / "about.json").read_text("utf-8"))
    model = bi.Bi(folder).to(stage.device)
    for number, changes in enumerate(json.loads(stage.options.variants)):
        recipe = replace(static.Recipe(), **changes)
        start = static.start_table(model, folder / "tokenizer.json", words, recipe.dimensions, stage.device)
        for seed in stage.seeds:
            made = static.train_static(start, words, stage.pairs, together, recipe, seed, stage.device, log)
            verdict = made.examine(words, stage.pairs, stage.device)
            stage.note(
                f"static {number} seed {seed}", changes=changes, teacher=about["model"], verdict=str(verdict),
                small=f"{made.examine(words, stage.pairs, stage.device, recipe.small).mean:.4f}",
                head=float(made.head.exp()), path=float(made.path.exp()),
            )  # fmt: skip
            made.save(stage.work / f"static-{number}-{seed}.npz")
            if stage.options.bring:
                np.savez(
                    stage.options.out / f"static-{number}-{seed}.npz",
                    **np.load(stage.work / f"static-{number}-{seed}.npz"),
                )
    (stage.options.out / "vocab.txt").write_bytes(vocabulary.read_bytes())


def train_rerankers(stage: Stage) -> None:
    """The reranker, a seed each."""
    folder = stage.base("marco")
    rng = np.random.default_rng(0)
    held = np.sort(
        rng.choice(
            np.flatnonzero(stage.pairs.validation),
            min(20_000, int(stage.pairs.validation.sum())),
            replace=False,
        )
    )
    tokenizer = folder / "tokenizer.json"
    judged = cross.make_groups(stage.pairs, cross.ask(stage.pairs, held, rng), tokenizer, stage.device)
    whole = cross.Cross(load_arrays(folder / "encoder.npz")).to(stage.device)
    stage.note("marco as it comes", verdict=cross.examine(whole, judged, stage.pairs, stage.device))
    for number, changes in enumerate(json.loads(stage.options.variants)):
        recipe = replace(cross.Recipe(), **{"seconds": stage.options.seconds, **changes})
        asked = cross.pick_asked(stage.pairs, recipe, rng)
        groups = cross.make_groups(stage.pairs, asked, tokenizer, stage.device)
        log("groups", len(asked))
        taught = cross.logits(whole, groups, stage.device, groups.prose)
        log("taught")
        made = []
        for seed in stage.seeds:
            model = cross.train_cross(folder, groups, taught, recipe, seed, stage.device, log)
            verdict = cross.examine(model, judged, stage.pairs, stage.device)
            stage.note(f"rerank {number} seed {seed}", changes=changes, verdict=verdict)
            made.append(model.to_arrays())
            stage.keep(f"rerank-{number}-{seed}", made[-1], folder)
        mean = cross.Cross(mean_of(made)).to(stage.device)
        verdict = cross.examine(mean, judged, stage.pairs, stage.device)
        stage.note(f"rerank {number}, mean of seeds", changes=changes, verdict=verdict)
        stage.keep(f"rerank-{number}", mean.to_arrays(), folder)
        if stage.options.bring:
            stage.bring(f"rerank-{number}")


def embed_elsewhere(stage: Stage) -> None:
    """Vectors of the texts of a benchmark, by models of earlier stages."""
    for name in stage.options.names.split(","):
        folder = stage.work / name
        about = json.loads((folder / "about.json").read_text("utf-8"))
        model = bi.Bi(folder).to(stage.device).eval()
        into = stage.options.out / name
        elsewhere.embed(model, folder, stage.options.texts, into, stage.device)
        (into / "about.json").write_text(json.dumps(about), "utf-8")
        log(name, "embedded")


STAGES = {
    "embed": embed_elsewhere,
    "teachers": teachers,
    "static": train_statics,
    "rerank": train_rerankers,
}


def main() -> None:
    """Run one stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--names", default="", help="teachers, by comma")
    parser.add_argument("--shares", default="", help="also judge means with the weights before, of such shares")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--variants", default="[{}]", help="changes to the recipe, JSON")
    parser.add_argument("--bring", action="store_true", help="put the models among what is brought back")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    STAGES[options.stage](Stage(options))
    log("done", " ".join(sys.argv[1:]))


if __name__ == "__main__":
    main()
