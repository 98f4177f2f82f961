"""The files of other package managers, from a release: `python -m scripts.packages FOLDER`.

FOLDER holds the source archive of a release. Beside it are written a Homebrew formula (`outcrop.rb`) and, for Arch's
user repository, `PKGBUILD` and `SRCINFO` (there called `.SRCINFO`). Templates are in deploy/; version, summary and
licence come from the archive's own metadata, the checksum from its bytes.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata

from scripts.build import ROOT

TEMPLATES: Final = ("homebrew/outcrop.rb.in", "aur/PKGBUILD.in", "aur/SRCINFO.in")
HOMEPAGE: Final = "https://pypi.org/project/outcrop/"
ARCHIVES: Final = "https://files.pythonhosted.org/packages/source/o/outcrop"
"""Where a source archive is found once it is published; PyPI leads from there to where it is kept."""


def read_release(sdist: Path) -> dict[str, str]:
    """What the templates ask for."""
    with tarfile.open(sdist) as archive:
        name = f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO"
        content = archive.extractfile(name)
        if content is None:
            raise SystemExit(f"{sdist} holds no {name}")
        metadata = Metadata.from_email(content.read(), validate=True)
    return {
        "VERSION": str(metadata.version),
        "SUMMARY": (metadata.summary or "").rstrip("."),
        "LICENCE": str(metadata.license_expression),
        "HOMEPAGE": HOMEPAGE,
        "URL": f"{ARCHIVES}/{sdist.name}",
        "SHA256": hashlib.sha256(sdist.read_bytes()).hexdigest(),
    }


def write_packages(sdist: Path) -> list[Path]:
    """Write every file beside the archive."""
    facts = read_release(sdist)
    made = []
    for name in TEMPLATES:
        template = (ROOT / "deploy" / name).read_text("utf-8")
        path = sdist.parent / Path(name).stem
        path.write_text(re.sub(r"@([A-Z0-9]+)@", lambda match: facts[match.group(1)], template), "utf-8")
        made.append(path)
    return made


def main() -> None:
    """Write the files of the release in the folder that was named."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    found = sorted(Path(sys.argv[1]).glob("outcrop-*.tar.gz"))
    if len(found) != 1:
        raise SystemExit(f"there is not one source archive in {sys.argv[1]}: {[path.name for path in found]}")
    for path in write_packages(found[0]):
        print(path)


if __name__ == "__main__":
    main()
