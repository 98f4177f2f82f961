"""What can read a page here: our models with the extra ocr, or the system's Tesseract."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from outcrop.errors import ConfigError
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import install_command
from outcrop.workers.process import ChildLost, run_program

EngineName = Literal["auto", "models", "tesseract", "off"]
MODELS_VERSION: Final = "PP-OCRv6 small, 1"
"""Pages are read again when this changes: with the models, and with what decides what is read and in which order."""
MAX_LANGUAGES: Final = 4
"""Tesseract reads a page once for each language it is given."""
ASK_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class ScanEngine:
    """Something that reads pages. `version` names it together with all that its results depend on; `reads_pictures`
    says whether it reads files of pictures too, for which Pillow is needed."""

    name: Literal["models", "tesseract"]
    version: str
    folder: str = ""
    languages: str = ""
    reads_pictures: bool = True

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)


def find_engine(choice: EngineName, languages: str = "") -> ScanEngine | None:
    """The engine to read pages with: of `auto` the models if they are installed, else Tesseract. None where there is
    none; ConfigError where the one that was asked for is missing."""
    if choice == "off":
        return None
    found = None
    if choice in ("auto", "models"):
        found = _find_models()
    if found is None and choice in ("auto", "tesseract"):
        found = _find_tesseract(languages)
    if found is None and choice != "auto":
        wanted = install_command("ocr") if choice == "models" else "install Tesseract, or set ocr = auto"
        raise ConfigError(f"ocr is {choice}, which is not installed: {wanted}")
    return found


def say_missing(pages: int) -> str:
    """What to do about pages that nothing here can read."""
    what = "a scanned page" if pages == 1 else f"{pages:,} scanned pages"
    return f"{what} without text; to read it, install OCR: {install_command('ocr')} (or Tesseract)"


def _find_models() -> ScanEngine | None:
    if any(find_spec(module) is None for module in ("onnxruntime", "PIL", "outcrop_models")):
        return None
    import outcrop_models

    folder: Path | None = getattr(outcrop_models, "ocr", None)
    if folder is None or not (folder / "read.onnx").is_file():
        return None
    return ScanEngine("models", MODELS_VERSION, str(folder))


def _find_tesseract(languages: str) -> ScanEngine | None:
    if shutil.which("tesseract") is None:
        return None
    said = _ask("--version").split()
    listed = _ask("--list-langs").splitlines()[1:]
    installed = [language for line in listed if (language := line.strip()) not in ("", "osd", "equ")]
    chosen = _choose_languages(languages, installed)
    if len(said) < 2 or not chosen:
        return None
    pictures = find_spec("PIL") is not None
    return ScanEngine("tesseract", f"tesseract {said[1]} {chosen}", "", chosen, pictures)


def _choose_languages(wanted: str, installed: list[str]) -> str:
    """Those of a setting; else all that are installed, or English where they are many."""
    if wanted:
        missing = [name for name in wanted.split("+") if name not in installed]
        if missing:
            raise ConfigError(
                f"Tesseract has no language pack {missing[0]}; it has {', '.join(installed) or 'none'}"
            )
        return wanted
    if len(installed) > MAX_LANGUAGES:
        return "eng" if "eng" in installed else installed[0]
    return "+".join(installed)


def _ask(option: str) -> str:
    """What Tesseract says to an option; nothing where it cannot be started."""
    try:
        return run_program(("tesseract", option), within_s=ASK_S).decode("utf-8", "replace")
    except (OSError, ChildLost):
        return ""
