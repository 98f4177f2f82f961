"""Does the wheel work where nothing else is? `python -m scripts.try_wheel [PYTHON …]`

Builds the wheel, installs it as people install a program (`pipx install`, `uv tool install`) for each interpreter, and
lets the program that stands there add a folder, find something in it and examine itself. Before that every extra is
installed from a clone and from the wheels, the one with our models for good. Interpreters are those that
were named, else each of 3.11 to 3.14 on the path or of pyenv; one that is not there is said and not tried. Packages
come from the index that this machine has. Exits with 1 when anything fails, or one that was named is not there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scripts.build import ROOT, build

PYTHONS: Final = ("python3.11", "python3.12", "python3.13", "python3.14")
QUERY: Final = "how is a large declaration cut into chunks?"
EXPECTED: Final = "declarations.py"
"""What is asked of the small folder, and the file that says it."""


EXTRAS: Final = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["outcrop"]["extras"])


class Failed(Exception):
    """A command of the installed program, or its installation, did not do what it should."""


def lay_out(folder: Path) -> None:
    """A small folder of documents and code: this project's own."""
    folder.mkdir(parents=True)
    for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src/outcrop/chunk", folder / "chunk", ignore=shutil.ignore_patterns("__pycache__"))


def prove(program: Path, work: Path) -> dict[str, float]:
    """Add a folder, find something, examine all: seconds of each. Raises Failed, with what was said."""
    folder = work / "folder"
    lay_out(folder)
    seconds, answers = {}, {}
    for words in (("add", str(folder)), ("search", QUERY), ("doctor",)):
        started = time.perf_counter()
        answers[words[0]] = _run([str(program), *words, "--json"], work, {"OUTCROP_DB": str(work / "index.db")})
        seconds[words[0]] = time.perf_counter() - started
    paths = [hit["document"]["path"] for hit in json.loads(answers["search"])["hits"]]
    if not any(path.endswith(EXPECTED) for path in paths[:3]):
        raise Failed(f"searching found {paths}, and not {EXPECTED} among the first")
    checks = json.loads(answers["doctor"])["checks"]
    if bad := [check for check in checks if not check["ok"]]:
        raise Failed(f"the doctor found {bad}")
    return seconds


def install_with_pipx(python: str, wheel: Path, work: Path) -> Path:
    """`pipx install`; the program it put in place."""
    places = {"PIPX_HOME": str(work / "home"), "PIPX_BIN_DIR": str(work / "bin")}
    uv = Path(sys.executable).with_name("uv")
    _run([str(uv), "tool", "run", "pipx", "install", "--quiet", "--python", python, str(wheel)], work, places)
    return work / "bin" / "outcrop"


def install_with_uv(python: str, wheel: Path, work: Path) -> Path:
    """`uv tool install`; the program it put in place."""
    places = {"UV_TOOL_DIR": str(work / "home"), "UV_TOOL_BIN_DIR": str(work / "bin")}
    uv = Path(sys.executable).with_name("uv")
    _run([str(uv), "tool", "install", "--quiet", "--python", python, str(wheel)], work, places)
    return work / "bin" / "outcrop"


INSTALLERS: Final = {"pipx": install_with_pipx, "uv": install_with_uv}


def _run(command: list[str], work: Path, settings: Mapping[str, str]) -> str:
    """What a command prints, with nothing of this checkout or its settings in sight."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OUTCROP_", "PYTHON"))}
    work.mkdir(parents=True, exist_ok=True)
    surroundings = {**kept, "HOME": str(work), **settings}
    done = subprocess.run(command, cwd=work, env=surroundings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find_python(name: str) -> tuple[str, str] | None:
    """(path, version) of an interpreter on the path or of pyenv; None where it is missing.

    One on the path may be pyenv's stand-in, which starts nothing unless that version was chosen.
    """
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for place in filter(None, [shutil.which(name), *sorted(home.glob(f"versions/*/bin/{name}"))]):
        asked = [str(place), "-c", "import platform; print(platform.python_version())"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return str(place), done.stdout.strip()
    return None


def try_extras(python: str, wheels: Path, work: Path) -> Iterator[str]:
    """Every extra can be installed from a clone and from the wheels, and `mini` works; what went wrong.

    The third way is what the program itself advises when an extra is missing.
    """
    clone = copy_clone(work / "clone")
    ways = {"clone": [f"{clone}[EXTRA]"], "wheels": ["--find-links", str(wheels), "outcrop[EXTRA]"]}
    homes = {}
    for way, words in ways.items():
        homes[way] = work / way
        _run([python, "-m", "venv", str(homes[way])], work, {})
        pip = [str(homes[way] / "bin" / "pip"), "install", "--quiet"]
        # uv reads what a package needs without fetching all of it: torch alone is a gigabyte.
        uv = str(Path(sys.executable).with_name("uv"))
        resolve = [uv, "pip", "install", "--quiet", "--dry-run", "--python", str(homes[way])]
        for extra in EXTRAS:
            try:
                _run([*resolve, *(word.replace("EXTRA", extra) for word in words)], work, {})
            except Failed as error:
                yield f"extra {extra} from {way}: FAILED\n{error}"
        try:
            # First without, then with: by the command that the program names.
            _run([*pip, *(word.replace("[EXTRA]", "") for word in words)], work, {})
            _run([*pip, *words[:-1], "outcrop[mini]"], work, {})
            prove_models(homes[way] / "bin" / "outcrop", work / f"{way}-used")
        except Failed as error:
            yield f"mini from {way}: FAILED\n{error}"
        else:
            print(f"{way}: {len(EXTRAS)} extras can be installed, mini works", flush=True)


def copy_clone(folder: Path) -> Path:
    """The files of this checkout that git knows, as a clone has them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def prove_models(program: Path, work: Path) -> None:
    """Search with the transformer and the reranker that `mini` brings."""
    prove(program, work)
    settings = {"OUTCROP_DB": str(work / "index.db")}
    _run([str(program), "reembed", "--model", "mini"], work, settings)
    asked = [str(program), "search", QUERY, "--rerank", "--rerank-seconds", "60", "--json"]
    if not json.loads(_run(asked, work, settings))["reranked"]:
        raise Failed("nothing was reranked")


def try_one(python: str, version: str, installer: str, wheel: Path, work: Path) -> str | None:
    """Install and use the program, and print how long that took; what went wrong, if anything did."""
    started = time.perf_counter()
    try:
        program = INSTALLERS[installer](python, wheel, work)
        installed = time.perf_counter() - started
        seconds = prove(program, work)
    except Failed as error:
        return f"{version} {installer}: FAILED\n{error}"
    parts = ", ".join(f"{step} {taken:.1f} s" for step, taken in seconds.items())
    print(f"{version} {installer}: installed in {installed:.1f} s, {parts}, all checks passed", flush=True)
    return None


def main() -> None:
    """Try every installer with every interpreter."""
    named = sys.argv[1:]
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (wheel,) = build(ROOT, work / "wheel", ["wheel"])
        build(ROOT / "models", work / "wheel", ["wheel"])
        problems += try_extras(sys.executable, work / "wheel", work / "extras")
        for python in named or PYTHONS:
            found = find_python(python)
            if found is None:
                print(f"{python}: not on this machine, not tried")
                problems += [f"{python} is not there"] if named else []
                continue
            for installer in INSTALLERS:
                problem = try_one(*found, installer, wheel, work / f"{found[1]}-{installer}")
                problems += [problem] if problem else []
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
