"""How much of a token budget a context fills, and whether it is ever over: `python -m benchmarks.budget`.

The chunks of each text are packed into 1 200 tokens, once counted by the estimate and once by a real
tokenizer (a `tokenizer.json`; without an argument that of the `mini` model, the byte-level BPE of GPT-2). What came out
is then counted by the real tokenizer: `real` is its share of the budget, which must never be above 1.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import outcrop
from benchmarks.report import ROOT
from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.pack import FileTokenizer, pack
from outcrop.rank.merge import Scored, as_hit
from outcrop.records import Answer, Explanation, Hit

BUDGET = 1200
CHARACTERS = 40_000


def texts() -> dict[str, str]:
    """Prose and code of this repository, and scripts it does not have."""
    dice = random.Random(7)
    prose = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "explanation").glob("*.md")))
    code = "\n".join(
        path.read_text("utf-8") for path in sorted((ROOT / "src" / "outcrop" / "search").glob("*.py"))
    )

    def drawn(letters: str, longest: int) -> str:
        words = ("".join(dice.choices(letters, k=dice.randint(1, longest))) for _ in range(CHARACTERS // 4))
        return "".join(word + dice.choice((" ", " ", ". ", "\n")) for word in words)

    cyrillic = "".join(map(chr, range(0x430, 0x450)))
    cjk = "".join(map(chr, range(0x4E00, 0x5200)))
    emoji = "".join(map(chr, range(0x1F600, 0x1F650)))
    return {
        "prose": prose,
        "code": code,
        "CJK": drawn(cjk, 12),
        "Cyrillic": drawn(cyrillic, 9),
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
            [document] = engine.list()
            return tuple(as_hit(Scored(chunk, 1.0, why)) for chunk in engine.chunks(document.id))


def main() -> None:
    """Print a table; exit with 1 where a context is over its budget."""
    default = ROOT / "models" / "src" / "outcrop_models" / "mini" / "tokenizer.json"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    real = FileTokenizer(path)
    print(f"outcrop {outcrop.__version__}, budget {BUDGET} tokens, counted by {path}\n")
    print("| text | estimate: counted | estimate: real | tokenizer: real |\n|---|---|---|---|")
    over = False
    for kind, text in texts().items():
        answer = Answer("", "mixed", hits_of(kind, text))
        guessed, exactly = pack(answer, BUDGET), pack(answer, BUDGET, real)
        counted = guessed.tokens / BUDGET
        estimated, exact = (real.count(context.text) / BUDGET for context in (guessed, exactly))
        over |= estimated > 1 or exact > 1
        print(f"| {kind} | {counted:.3f} | {estimated:.3f} | {exact:.3f} |")
    sys.exit(over)


if __name__ == "__main__":
    main()
