"""The extras of the distribution, as hatchling asks for them while it builds."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

MODELS = "outcrop-models"


def find_extras(root: Path, *, release: bool) -> dict[str, list[str]]:
    """Extras and what they need. `mini` needs our models: of a clone its own folder, so that it can be installed from
    there though no index has them; of a release, which knows no folder, the same version."""
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    extras: dict[str, list[str]] = settings["tool"]["outcrop"]["extras"]
    folder = root / "models"
    if release or not (folder / "pyproject.toml").is_file():
        return extras
    local = f"{MODELS} @ {folder.resolve().as_uri()}"
    return {
        name: [local if line.startswith(f"{MODELS}==") else line for line in lines]
        for name, lines in extras.items()
    }


class Extras(MetadataHookInterface):
    """`scripts.build` sets OUTCROP_RELEASE; an unpacked source archive has no models beside it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the extras."""
        release = bool(os.environ.get("OUTCROP_RELEASE"))
        metadata["optional-dependencies"] = find_extras(Path(self.root), release=release)
