"""How much of a token budget a context fills, and whether it is ever over: `python -m benchmarks.budget`.

The chunks of each text are packed into 1 200 tokens, counted by o200k (the default), by cl100k and by the estimate. A
column is the share of the budget that came out, counted by o200k, or by cl100k where that packed. A `tokenizer.json` as
the argument adds a column of its own. No share may be above 1. Then what counting costs: the first time, and a context.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import outcrop
from benchmarks.report import ROOT
from outcrop.config import load_config
from outcrop.contracts import Tokenizer
from outcrop.engine import Engine
from outcrop.read.pack import FileTokenizer, pack
from outcrop.records import Answer, Explanation, Hit
from outcrop.text.tokens import Vocabulary, vocabulary
from outcrop.text.tokens.estimate import SafeEstimate

BUDGET = 1200
CHARACTERS = 40_000


def texts() -> dict[str, str]:
    """Prose and code of this repository, and scripts it does not have."""
    dice = random.Random(7)
    prose = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "explanation").glob("*.md")))
    code = "\n".join(
        path.read_text("utf-8") for path in sorted((ROOT / "src" / "outcrop" / "rank").glob("*.py"))
    )

    def drawn(letters: str, longest: int) -> str:
        words = ("".join(dice.choices(letters, k=dice.randint(1, longest))) for _ in range(CHARACTERS // 4))
        return "".join(word + dice.choice((" ", " ", ". ", "\n")) for word in words)

    cyrillic = "".join(map(chr, range(0x430, 0x450)))
    cjk = "".join(map(chr, range(0x4E00, 0x5200)))
    emoji = "".join(map(chr, range(0x1F600, 0x1F650)))
    thai = "".join(map(chr, range(0xE01, 0xE3A)))
    arabic = "".join(map(chr, range(0x621, 0x64B)))
    devanagari = "".join(map(chr, range(0x904, 0x940)))
    return {
        "prose": prose,
        "code": code,
        "CJK": drawn(cjk, 12),
        "Cyrillic": drawn(cyrillic, 9),
        "Thai": drawn(thai, 30),
        "Arabic": drawn(arabic, 9),
        "Devanagari": drawn(devanagari, 9),
        "emoji": drawn(emoji, 4),
        "random bytes": dice.randbytes(CHARACTERS).decode("latin-1").replace("\x00", " "),
    }


def hits_of(kind: str, text: str) -> tuple[Hit, ...]:
    """All chunks of a text as hits, in the order of the text."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"db": Path(folder) / "index.db", "index_secrets": True}
        with Engine(load_config(given, environ={})) as engine:
            engine.add(text=text[:CHARACTERS], id="source.py" if kind == "code" else "source.txt")
            why = Explanation(1, 1.0, None, None, 1.0)
            [document] = engine.documents()
            return tuple(Hit.of(chunk, 1.0, why) for chunk in engine.chunks(document.id))


def share(answer: Answer, packing: Tokenizer, real: Tokenizer) -> float:
    """What a context takes of its budget, packed by one tokenizer and counted by another."""
    return real.count(pack(answer, BUDGET, packing).text) / BUDGET


def print_costs(answer: Answer) -> None:
    """CPU of a first count, of a context whose text was never counted, and of one that was."""
    counter = Vocabulary("o200k")

    def spent(work: Callable[[], object]) -> str:
        before = time.process_time()
        work()
        return f"{(time.process_time() - before) * 1000:.1f} ms"

    print(f"\nCPU: loading {spent(lambda: counter.count('a…'))}")
    for budget in (BUDGET, 8000):
        times = [spent(lambda size=budget: pack(answer, size, counter)) for _ in range(2)]  # type: ignore[misc]
        print(f"packing {budget} tokens: {times[0]}, again {times[1]}")


def main() -> None:
    """Print a table; exit with 1 where a context is over its budget."""
    o200k, cl100k = vocabulary("o200k"), vocabulary("cl100k")
    columns: dict[str, tuple[Tokenizer, Tokenizer]] = {
        "o200k": (o200k, o200k),
        "cl100k": (cl100k, cl100k),
        "estimate, in o200k": (SafeEstimate(), o200k),
    }
    for path in sys.argv[1:2]:
        columns[path] = (FileTokenizer(Path(path)),) * 2
    print(f"outcrop {outcrop.__version__}, budget {BUDGET} tokens\n")
    print(f"| text | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    over = False
    answers = {kind: Answer("", "mixed", hits_of(kind, text)) for kind, text in texts().items()}
    for kind, answer in answers.items():
        shares = [share(answer, packing, real) for packing, real in columns.values()]
        over |= max(shares) > 1
        print(f"| {kind} | {' | '.join(f'{part:.3f}' for part in shares)} |")
    print_costs(answers["prose"])
    sys.exit(over)


if __name__ == "__main__":
    main()
