"""Do the models that ship say the same on other processors? Emulates them with qemu (Debian: `qemu-user`).

    python -m benchmarks.processors [PROCESSOR …]

Runs the reranker and `mini` here and on emulated processors (`scripts/emulate.py` says which), with the engine's own
session, and compares the numbers. Where AVX2 is without VNNI (`haswell`) int8 products saturate unless onnxruntime is
told otherwise: the reranker runs there once more without being told, which shows that the emulator would notice.
A row is printed as soon as it is measured. Exits with 1 when a number is off by more than BAR.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scripts.emulate import PROCESSORS, make_python

import outcrop_models
from benchmarks.report import ROOT, Report, say
from outcrop.embed.inference import session as running
from outcrop.embed.transformer import OnnxFolder

QUESTIONS, CANDIDATES = 6, 5
"""Pairs for the reranker; one takes 2 to 3 s when emulated."""
TEXTS = 2
"""For `mini`, each with 384 numbers to compare; one takes 20 to 25 s when emulated."""
BAR = 0.06
"""In standard deviations of the numbers here: three times the worst that was measured (.020, the reranker on arm64).
A float's last digits differ with the order of additions, and they decide how an activation between two int8 steps is
rounded. Saturation, which this is to find, was off by .021 on average and .096 at worst."""


def read_sections() -> list[tuple[str, str]]:
    """Headings of this project's documentation with what stands below them."""
    texts = [path.read_text("utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))]
    parts = [part.partition("\n") for text in texts for part in re.split(r"(?m)^#+ ", text)[1:]]
    return [(head.strip(), body.strip()[:900]) for head, _, body in parts if len(body) > 200]


def score(model: str, exact: bool = True) -> list[list[float]]:
    """What a model makes of some headings and sections, on whatever processor this runs."""
    if not exact:
        running.EXACT_INT8 = "session.unknown"  # onnxruntime ignores what it does not know
    sections = read_sections()
    sections = sections[:: max(1, len(sections) // (QUESTIONS * CANDIDATES))]
    items: list[tuple[str, ...]]
    if model == "rerank":
        spec = OnnxFolder.read(outcrop_models.rerank).spec("pairs", threads=1)
        items = [
            (sections[asked][0], sections[(asked + step) % len(sections)][1])
            for asked in range(QUESTIONS)
            for step in range(CANDIDATES)
        ]
    else:
        spec = OnnxFolder.read(outcrop_models.mini).spec("texts", threads=1)
        items = [(body,) for _, body in sections[:TEXTS]]
    session = running.Session(spec)
    rows = [session.run(item) for item in items]
    session.close()
    return [row.tolist() for row in rows]


def score_on(processor: str, model: str, exact: bool = True) -> NDArray[np.float64]:
    """The same on an emulated processor."""
    code = f"import json; from benchmarks.processors import score; print(json.dumps(score({model!r}, {exact})))"
    command = [str(make_python(processor)), "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{model} on {processor} failed:\n{done.stderr}")
    return np.array(json.loads(done.stdout))


def share_swapped(scores: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The share of pairs of a question's candidates that stand in another order."""
    ranked = [values.reshape(QUESTIONS, CANDIDATES) for values in (scores, others)]
    orders = [np.sign(values[:, :, None] - values[:, None, :]) for values in ranked]
    return float((orders[0] != orders[1]).sum()) / (QUESTIONS * CANDIDATES * (CANDIDATES - 1))


def compare(model: str, processor: str, here: NDArray[np.float64], exact: bool = True) -> dict[str, Any]:
    """One row: how far the numbers are off, in standard deviations of the numbers here."""
    started = time.perf_counter()
    there = score_on(processor, model, exact)
    off = np.abs(there - here) / here.std()
    row = {
        "model": model,
        "processor": processor if exact else f"{processor}, saturating",
        "mean_off": float(off.mean()),
        "worst_off": float(off.max()),
        "swapped": share_swapped(here, there) if model == "rerank" else None,
        "seconds": round(time.perf_counter() - started),
    }
    say("  ".join(f"{name} {value}" for name, value in row.items() if value is not None))
    return row


def main() -> None:
    """Compare, print, keep."""
    processors = sys.argv[1:] or list(PROCESSORS)
    if unknown := set(processors) - set(PROCESSORS):
        raise SystemExit(f"unknown: {', '.join(unknown)}; there are {', '.join(PROCESSORS)}")
    report = Report("processors", {"questions": QUESTIONS, "candidates": CANDIDATES, "texts": TEXTS})
    rows = []
    for model in ("rerank", "mini"):
        here = np.array(score(model))
        rows += [compare(model, processor, here) for processor in processors]
        worst = max(row["worst_off"] for row in rows if row["model"] == model)
        report.add(f"{model}: worst number", worst, "deviations", at_most=BAR)
        if model == "rerank" and "haswell" in processors:
            rows.append(compare(model, "haswell", here, exact=False))
    report.add_table("off, in standard deviations of the numbers here", rows)
    report.keep()
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
