"""What masking costs, how much of random secrets it finds, and how much it masks in trees that should hold none.

    python -m benchmarks.masking --tree FOLDER [--tree FOLDER …] [--ingest FOLDER] [--show] [--dry]

A tree is other people's: installed packages, manuals. Its texts are looked through; `--show` prints every line on which
something would be masked, as the index would hold it, to be judged by eye. `--ingest` adds a folder to a new index and
says which share of the CPU time masking is. The rest draws tokens and passwords and puts them where names tell of them:
for each way of joining a name and a value, which share is found, and for each format of a key, over all ways.
"""

from __future__ import annotations

import argparse
import base64
import random
import string
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.mask.fakes import FAKES

from benchmarks.masking.places import NAMED, WAYS, manifest
from benchmarks.report import Report, cpu_s, say  # first: it holds numpy to one core

import outcrop  # isort: skip
from outcrop.mask.document import cover, find_secrets  # isort: skip

BAR_SHARE = 0.03
"""Of the CPU time of an ingest."""
BAR_FOUND = 0.9
"""Of tokens by chance."""
MAX_PER_MB = 2.0
"""Masked values; nearly all are keys and passwords of tests and manuals, which look as real ones do."""
DRAWN = 400
TRIES = 20
"""Values of each format for each way of joining."""

_HEX, _ALNUM = "0123456789abcdef", string.ascii_letters + string.digits
_TOKEN_PLACES = (
    "API_KEY={}\n",
    '"client_secret": "{}",',
    "token = '{}'",
    "https://x.internal/?access_token={}&a=1",
)
_PASSWORD_PLACES = (
    "password: {}\n",
    'db_password = "{}"',
    "Uid=sa;Pwd={};",
    "postgresql://app:{}@db.internal/x",
)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tree", type=Path, action="append", default=[], help="a folder that should hold no secrets"
    )
    parser.add_argument("--ingest", type=Path, help="a folder to index")
    parser.add_argument("--show", action="store_true", help="print the lines on which something is masked")
    parser.add_argument("--dry", action="store_true", help="keep no results")
    options = parser.parse_args()
    report = Report("masking", {"trees": [tree.name for tree in options.tree]})
    for tree in options.tree:
        measure_tree(report, tree, options.show)
    if options.ingest is not None:
        measure_ingest(report, options.ingest)
    measure_found(report)
    measure_joined(report)
    if not options.dry:
        report.keep()
    if report.failed:
        raise SystemExit(1)


def measure_tree(report: Report, tree: Path, show: bool) -> None:
    """How fast a tree is looked through, and how much of it would be masked."""
    seconds, characters, files, hits = 0.0, 0, 0, 0
    for path, text in texts_of(tree):
        cpu = time.process_time()
        secrets = find_secrets(text)
        seconds += time.process_time() - cpu
        characters, files, hits = characters + len(text), files + bool(secrets), hits + len(secrets)
        if show and secrets:
            lines = cover(text, secrets).split("\n")
            for number in sorted({text.count("\n", 0, secret[0][0]) for secret in secrets}):
                say(f"{path.relative_to(tree)}:{number + 1}: {lines[number].strip()[:160]}")
    report.add(f"{tree.name}: text", characters / 1e6, "MB")
    report.add(f"{tree.name}: looked through", characters / 1e6 / seconds, "MB/CPU s")
    report.add(f"{tree.name}: files with masked values", files, "")
    report.add(f"{tree.name}: masked values", hits / (characters / 1e6), "per MB", at_most=MAX_PER_MB)


def texts_of(tree: Path) -> Iterator[tuple[Path, str]]:
    """The files of a tree that are text."""
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if b"\0" not in data[:8192]:
                yield path, data.decode("utf-8", "replace")


def measure_ingest(report: Report, folder: Path) -> None:
    """Which share of an ingest masking is: its time on the same texts, against that of the whole."""
    with tempfile.TemporaryDirectory() as home, outcrop.open(Path(home) / "i.db") as engine:
        engine.warm()
        cpu = cpu_s()
        added = engine.add(folder)
        whole = cpu_s() - cpu
        texts = [engine.text(document.id) for document in engine.documents()]
    cpu = time.process_time()
    for text in texts:
        find_secrets(text)
    masking = time.process_time() - cpu
    report.add(f"{folder.name}: ingest, CPU", whole, "s")
    report.add(f"{folder.name}: secrets masked", added.masked, "")
    report.add(f"{folder.name}: masking, share of the CPU", masking / whole, "", at_most=BAR_SHARE)


def measure_found(report: Report) -> None:
    """How many secrets by chance are masked where a name or a URL tells of them."""
    chance = random.Random(1)

    def draw(alphabet: str, count: int) -> Callable[[], str]:
        return lambda: "".join(chance.choice(alphabet) for _ in range(count))

    tokens = {
        "hexadecimal, 32": draw(_HEX, 32),
        "letters and digits, 24": draw(_ALNUM, 24),
        "letters and digits, 40": draw(_ALNUM, 40),
        "lower case and digits, 24": draw(string.ascii_lowercase + string.digits, 24),
        "base32, 32": draw(string.ascii_uppercase + "234567", 32),
        "base64, 44": lambda: base64.b64encode(chance.randbytes(32)).decode(),
    }
    passwords = {
        "letters and digits, 12": draw(_ALNUM, 12),
        "letters and digits, 20": draw(_ALNUM, 20),
        "with symbols, 16": draw(_ALNUM + "!@^*?-_", 16),
    }
    for name, make in tokens.items():
        report.add(f"token, {name}: found", share_found(make, _TOKEN_PLACES), "", at_least=BAR_FOUND)
    for name, make in passwords.items():
        report.add(f"password, {name}: found", share_found(make, _PASSWORD_PLACES), "")


def measure_joined(report: Report) -> None:
    """How many keys are masked, by the way in which name and value are joined and by the format of the key."""
    chance = random.Random(2)
    ways = dict.fromkeys((*WAYS, "Kubernetes Secret"), 0)
    formats = dict.fromkeys((*NAMED, *FAKES), 0)
    for name in formats:
        for way in ways:
            for _ in range(TRIES):
                hidden = _is_hidden(way, name, chance)
                ways[way] += (
                    hidden and name in NAMED
                )  # others are told by their form, whatever stands before them
                formats[name] += hidden
    for way, found in ways.items():
        report.add(f"{way}: found", found / TRIES / len(NAMED), "", at_least=BAR_FOUND)
    for name, found in formats.items():
        report.add(f"{name}: found", found / TRIES / len(ways), "")
    least = min(formats, key=formats.__getitem__)
    say(f"{len(formats)} formats of keys; least is found of {least}")


def _is_hidden(way: str, name: str, chance: random.Random) -> bool:
    """Whether a key of this format is masked where it is joined to its name in this way."""
    if name in NAMED:
        variable, value = name, NAMED[name](chance)
        told = value.removeprefix("base64:")
    else:
        kept, told = FAKES[name]
        variable, value = name.upper().replace(" ", "_").replace(",", "") + "_TOKEN", kept + told
    if way == "Kubernetes Secret":
        text, told = manifest(variable, value), base64.b64encode(value.encode()).decode()
    else:
        words = variable.replace("_", " ").lower()
        text = WAYS[way].format(name=variable, words=words, value=value)
    return told not in cover(text, find_secrets(text))


def share_found(make: Callable[[], str], places: tuple[str, ...]) -> float:
    """The share of drawn secrets that is masked."""
    found = 0
    for place in places:
        for _ in range(DRAWN // len(places)):
            secret = make()
            if "://" in place:
                secret = secret.replace("/", "%2F").replace("?", "%3F")
            text = place.format(secret)
            found += secret not in cover(text, find_secrets(text))
    return found / DRAWN


if __name__ == "__main__":
    main()
