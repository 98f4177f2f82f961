"""What the machine offers to this process, and how its installation is added to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, TypeVar

from outcrop.errors import OutcropError

E = TypeVar("E", bound=OutcropError)
_OWN_MODELS: Final = "outcrop-models"
_WITH_MODELS: Final = ("mini", "ocr")


def usable_cores() -> int:
    """Cores this process may use: a container may have fewer than its machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def compute_on_one_core() -> None:
    """To be called before numpy is imported. It starts a thread a core for products of large matrices, which takes
    18 of the 300 ms of a cold search on two cores; ours are small. What the user has set stays."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def run_openmp_on_one_core() -> None:
    """To be called before a library that uses OpenMP is loaded, in a process that runs several of its calls at once."""
    os.environ["OMP_NUM_THREADS"] = "1"


def return_memory() -> None:
    """Give memory that was freed back to the system, where glibc keeps it: it lies between what is still in use, and
    after hundreds of large arrays came and went it is 70 MB (an ingest of 200 000 chunks)."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def install_command(extra: str) -> str:
    """The command that adds an extra to the installation this process runs from. It names the distribution and not a
    file: pip and uv find what is installed already and add what the extra needs."""
    wanted = f"'outcrop[{extra}]'"
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        command = f"pipx runpip outcrop install {wanted}"
    elif (prefix / "uv-receipt.toml").is_file():
        import shlex

        command = f"uv pip install --python {shlex.quote(str(prefix))} {wanted}"
    else:
        command = f"pip install {wanted}"
    return (
        command
        if extra not in _WITH_MODELS or _knows_its_models()
        else f"{command} --find-links FOLDER{_FOLDER}"
    )


def need_extra(kind: type[E], what: str, extra: str) -> E:
    """The error that `what` needs an extra that is not installed, in one sentence with the command that adds it."""
    error = kind(f"{what} needs the extra {extra}, which is not installed: {install_command(extra)}")
    error.missing_extra = extra
    return error


_FOLDER: Final = ", where FOLDER holds the wheel of outcrop-models, which comes with each release"


def _knows_its_models() -> bool:
    """Whether the extras with our models name a folder that is there: so they do when made from a clone."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, and only for advice
    from urllib.parse import unquote, urlsplit

    try:
        lines = requires("outcrop") or []
    except PackageNotFoundError:
        return False
    for line in lines:
        name, _, address = line.partition(";")[0].partition("@")
        if name.strip() == _OWN_MODELS and address:
            return Path(unquote(urlsplit(address.strip()).path)).is_dir()
    return False
