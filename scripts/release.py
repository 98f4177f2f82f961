"""Make a release: `python -m scripts.release [--to FOLDER --key KEY]`

Without arguments a rehearsal: everything is built, built again, compared and checked, and nothing is kept. With a
folder and an SSH key the archives, the bill of materials, the files of other package managers, SHA256SUMS and its
signature are left there; that takes a clean checkout and a changelog that has the day. Nothing is uploaded:
RELEASING.md says what comes next.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scripts.archives import check_sdist, check_versions, check_wheel, read_project
from scripts.audit import check_licences, check_need
from scripts.build import PROJECTS, ROOT, build, commit_time
from scripts.dependencies import out_of_step, read_lock, read_packages, read_requirements
from scripts.packages import write_packages
from scripts.sbom import make_sbom, render

NAMESPACE: Final = "outcrop-release"
"""What the signatures are for: one of this key for something else is none of a release."""
SIGNER: Final = "releases@outcrop"
"""Under which name the key stands in a list of allowed signers."""
SUMS: Final = "SHA256SUMS"


def make_archives(folder: Path) -> list[Path]:
    """Both distributions, each as a wheel and as a source archive."""
    return [path for project in PROJECTS.values() for path in build(project, folder)]


def check_archives(archives: Sequence[Path], again: Path) -> Iterator[str]:
    """What is wrong with the archives, or with their building: a second time must give the same bytes."""
    expected = {
        f"{name.replace('-', '_')}-{read_project(folder)['version']}" for name, folder in PROJECTS.items()
    }
    found = {path.name.removesuffix(".tar.gz").removesuffix("-py3-none-any.whl") for path in archives}
    if found != expected or len(archives) != 2 * len(PROJECTS):
        yield f"built {', '.join(path.name for path in archives)}"
    for path in archives:
        name = path.name.partition("-")[0].replace("_", "-")
        check = check_wheel if path.suffix == ".whl" else check_sdist
        yield from (f"{path.name}: {problem}" for problem in check(path, name))
    for path in make_archives(again):
        if not filecmp.cmp(path, archives[0].parent / path.name, shallow=False):
            yield f"{path.name}: building it again gives other bytes"


def check_checkout(root: Path = ROOT) -> Iterator[str]:
    """Files that differ from the commit, or are in none."""
    asked = ["git", "status", "--porcelain"]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True)
    yield from (f"not committed: {line[3:]}" for line in done.stdout.splitlines())


def write_sbom(folder: Path) -> Path:
    """The bill of materials beside the archives."""
    path = folder / f"outcrop-{read_project(ROOT)['version']}.cdx.json"
    path.write_text(render(make_sbom(read_packages(), read_requirements(), commit_time())), "utf-8")
    return path


def write_sums(files: Sequence[Path]) -> Path:
    """SHA256SUMS of some files of one folder, as `sha256sum -c` reads it."""
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(files))
    sums = files[0].parent / SUMS
    sums.write_text("".join(lines), "utf-8")
    return sums


def sign(path: Path, key: Path) -> Path:
    """Sign a file with an SSH key (ssh-keygen asks for its passphrase, or an agent holds it); the signature."""
    signature = path.with_name(f"{path.name}.sig")
    signature.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)], check=True)
    return signature


def verify(path: Path, signature: Path, public_key: str) -> bool:
    """Whether a signature of a file is by this key and for this purpose."""
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder) / "allowed_signers"
        allowed.write_text(f'{SIGNER} namespaces="{NAMESPACE}" {public_key.strip()}\n', "utf-8")
        command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", SIGNER, "-n", NAMESPACE]
        done = subprocess.run(
            [*command, "-s", str(signature)], input=path.read_bytes(), capture_output=True, check=False
        )
    return done.returncode == 0


def public_key_of(key: Path) -> str:
    """The public half of an SSH key, which lies beside it; a public key itself, for a key in an agent."""
    path = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    if not path.is_file():
        raise SystemExit(f"{path} is missing; `ssh-keygen -y -f {key} > {path}` makes it")
    return path.read_text("utf-8")


def main() -> None:
    """Build, check, and where a folder is given keep and sign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="keep the release here; the folder must not exist"
    )
    parser.add_argument("--key", type=Path, help="the SSH key to sign with, private or (in an agent) public")
    asked = parser.parse_args()
    if (asked.to is None) != (asked.key is None):
        parser.error("--to and --key come together: what is kept is signed")
    if asked.to is not None and asked.to.exists():
        parser.error(f"{asked.to} is there already")
    releasing = asked.to is not None
    public_key = public_key_of(asked.key) if releasing else ""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "release"
        archives = make_archives(folder)
        packages = read_packages()
        problems = [
            *check_versions(releasing=releasing),
            *out_of_step(read_lock(), read_requirements()),
            *check_need(packages),
            *check_licences(packages),
            *check_archives(archives, Path(scratch) / "again"),
        ]
        source = folder / f"outcrop-{read_project(ROOT)['version']}.tar.gz"
        files = [*archives, write_sbom(folder), *write_packages(source)]
        sums = write_sums(files)
        print(sums.read_text("utf-8"), end="")
        unclean = list(check_checkout())
        problems += unclean if releasing else ()
        if problems:
            sys.exit("\n".join(["Not fit for a release:", *problems]))
        if not releasing:
            note = f", but for {len(unclean)} files that are not committed" if unclean else ""
            print(f"A rehearsal: all checks passed{note}. Nothing was kept or signed.")
            return
        if not verify(sums, sign(sums, asked.key), public_key):
            sys.exit("The signature cannot be verified with the public half of the key; nothing was kept.")
        shutil.copytree(folder, asked.to)
    print(f"Kept in {asked.to}: {len(files)} files, {SUMS} and its signature, verified.")


if __name__ == "__main__":
    main()
