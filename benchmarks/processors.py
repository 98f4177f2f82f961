"""Do the models that ship say the same on older processors? Emulates them with qemu (Debian: `qemu-user`).

    python -m benchmarks.processors

Runs the reranker and `mini` here and on emulated x86-64 processors, with the engine's own session, and compares the
numbers. `haswell` has AVX2 and no VNNI, where int8 products saturate unless onnxruntime is told otherwise;
`nehalem` is x86-64-v2, the least that numpy runs on. Emulation takes minutes, more
than ten on a busy machine. Exits with 1 when a score is off by more than BAR of the spread of the scores here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

import outcrop_models
from benchmarks.report import ROOT, Report
from outcrop.embed.onnx import OnnxFolder
from outcrop.embed.running.session import Session

PROCESSORS = {"haswell": "Haswell-v4", "nehalem": "Nehalem"}
MODELS = {"rerank": (outcrop_models.rerank, "pairs"), "mini": (outcrop_models.mini, "texts")}
QUESTIONS, CANDIDATES = 6, 5
BAR = 0.06
"""Of the spread of the scores. Provisional: no run of this benchmark has been kept yet."""


def read_sections() -> list[tuple[str, str]]:
    """Headings of this project's documentation with what stands below them."""
    texts = [path.read_text("utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))]
    parts = [part.partition("\n") for text in texts for part in re.split(r"(?m)^#+ ", text)[1:]]
    return [(head.strip(), body.strip()[:900]) for head, _, body in parts if len(body) > 200]


def score(model: str) -> list[list[float]]:
    """What a model makes of some headings and sections, on whatever processor this runs."""
    folder, reads = MODELS[model]
    session = Session(OnnxFolder.read(folder).graph(reads, threads=1))  # type: ignore[arg-type]
    sections = read_sections()[:: max(1, len(read_sections()) // (QUESTIONS * CANDIDATES))]
    items = [
        (sections[asked][0], sections[(asked + step) % len(sections)][1])
        for asked in range(QUESTIONS)
        for step in range(CANDIDATES)
    ]
    rows = [session.run(item if reads == "pairs" else item[1:]) for item in items]
    session.close()
    return [row.tolist() for row in rows]


def score_on(processor: str, model: str) -> NDArray[np.float64]:
    """The same on an emulated processor."""
    command = ["qemu-x86_64", "-cpu", PROCESSORS[processor], os.path.realpath(sys.executable)]
    paths = os.pathsep.join(filter(None, sys.path))
    code = f"import json; from benchmarks.processors import score; print(json.dumps(score({model!r})))"
    settings = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_CORETYPE": "Nehalem"}
    done = subprocess.run(
        [*command, "-c", code], cwd=ROOT, env=settings, check=True, stdout=subprocess.PIPE, text=True
    )
    return np.array(json.loads(done.stdout))


def main() -> None:
    """Compare, print, keep."""
    if shutil.which("qemu-x86_64") is None:
        raise SystemExit("qemu-x86_64 is not on the path: install qemu-user")
    report = Report("processors", {"questions": QUESTIONS, "candidates": CANDIDATES})
    worst = 0.0
    rows = []
    for model in MODELS:
        here = np.array(score(model))
        for processor in PROCESSORS:
            off = np.abs(score_on(processor, model) - here) / here.std()
            worst = max(worst, float(off.max()))
            rows.append(
                {"model": model, "processor": processor, "mean_off": off.mean(), "worst_off": off.max()}
            )
    report.add_table("off, in standard deviations of the numbers here", rows)
    report.keep()
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
