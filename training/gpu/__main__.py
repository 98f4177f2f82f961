"""What runs on the GPU, a stage at a time; every stage leaves its models in the work folder for the next.

    python -m training.gpu STAGE --data PAIRS --base WEIGHTS --work FOLDER [--out FOLDER] [--seeds 1,2,3] [--seconds S]

    teachers   fine-tune each base model and judge it, alone and all together
    static     train the static model from the teachers, one a seed
    mini       fine-tune the transformer that ships, one a seed
    rerank     train the reranker, one a seed
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

    def bring(self, name: str, group: int | None = None) -> None:
        """Put a trained transformer among what is carried home, matrices as int8 if a group is given."""
        folder = self.options.out / name
        save_arrays(folder / "encoder.npz", load_arrays(self.work / name / "encoder.npz"), group=group)
        (folder / "about.json").write_bytes((self.work / name / "about.json").read_bytes())


def teachers(stage: Stage) -> None:
    """Fine-tune each base and judge it."""
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
        model = bi.fine_tune(folder, stage.pairs, tokens, recipe, 1, stage.device, log)
        stage.note(
            f"{name} fine-tuned",
            verdict=str(bi.examine(model, tokens, stage.pairs, stage.device)),
            path=model.path.item(),
        )
        stage.keep(
            f"teacher-{name}",
            model.encoder.to_arrays(),
            folder,
            path=model.path.item(),
            sharp=float(model.sharp.exp()),
        )
        together.add(model, tokens, stage.pairs)
        torch.save(together.found[-1], stage.work / f"taught-{name}.pt")
        log(name, "every pair embedded")
        del tokens, model, plain
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
        for seed in map(int, stage.options.seeds.split(",")):
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


def train_minis(stage: Stage) -> None:
    """The transformer that ships, a seed each, taught by the others where that is asked for."""
    name = stage.options.base_name
    folder = stage.base(name)
    tokens = bi.Tokens(folder, stage.pairs, stage.device)
    together = read_teachers(stage, stage.options.names) if stage.options.names else None
    for number, changes in enumerate(json.loads(stage.options.variants)):
        recipe = replace(
            bi.Recipe(),
            **{
                "seconds": stage.options.seconds,
                "rate": stage.options.rate,
                "batch": stage.options.batch,
                **changes,
            },
        )
        for seed in map(int, stage.options.seeds.split(",")):
            model = bi.fine_tune(folder, stage.pairs, tokens, recipe, seed, stage.device, log, together)
            verdict = bi.examine(model, tokens, stage.pairs, stage.device)
            stage.note(
                f"mini {name} {number} seed {seed}",
                changes=changes,
                verdict=str(verdict),
                path=model.path.item(),
                sharp=float(model.sharp.exp()),
            )
            stage.keep(
                f"mini-{number}-{seed}",
                model.encoder.to_arrays(),
                folder,
                path=model.path.item(),
                sharp=float(model.sharp.exp()),
            )
            if stage.options.bring:
                stage.bring(f"mini-{number}-{seed}", 64 if stage.options.bring == "int8" else None)


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
    judged = cross.make_groups(stage.pairs, held, tokenizer, rng, stage.device)
    whole = cross.Cross(folder, None).to(stage.device)
    stage.note("marco as it comes", verdict=cross.examine(whole, judged, stage.pairs, stage.device))
    for number, changes in enumerate(json.loads(stage.options.variants)):
        recipe = replace(cross.Recipe(), **{"seconds": stage.options.seconds, **changes})
        training = stage.pairs.training()
        picked = np.sort(rng.choice(training, min(recipe.pairs, len(training)), replace=False))
        groups = cross.make_groups(stage.pairs, picked, tokenizer, rng, stage.device)
        log("groups", len(picked))
        prose = cross.prose_groups(groups, stage.pairs, stage.device)
        taught = cross.logits(whole, groups, stage.device, prose) if recipe.distil and prose.any() else None
        log("taught")
        for seed in map(int, stage.options.seeds.split(",")):
            model = cross.train_cross(folder, groups, taught, stage.pairs, recipe, seed, stage.device, log)
            stage.note(
                f"rerank {number} seed {seed}",
                changes=changes,
                verdict=cross.examine(model, judged, stage.pairs, stage.device),
            )
            stage.keep(f"rerank-{number}-{seed}", model.to_arrays(), folder)
            if stage.options.bring:
                stage.bring(f"rerank-{number}-{seed}", 64 if stage.options.bring == "int8" else None)


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
    "mini": train_minis,
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
    parser.add_argument("--base-name", default="granite")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--variants", default="[{}]", help="changes to the recipe, JSON")
    parser.add_argument(
        "--bring", default="", choices=("", "half", "int8"), help="bring the models back, as what"
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    STAGES[options.stage](Stage(options))
    log("done", " ".join(sys.argv[1:]))


if __name__ == "__main__":
    main()
