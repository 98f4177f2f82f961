"""Make the data of `outcrop.text.tokens`: `python -m scripts.vocabularies FOLDER`, the `dist/ranks` of js-tiktoken.

Any mirror of npm has that package; the SHA-256 of the files that tiktoken would download proves that its vocabularies
are OpenAI's own. The classes of characters are those of tiktoken itself (`pip install tiktoken`), asked for one by
one: the Unicode version of this Python may differ.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
import zlib
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "src" / "outcrop" / "text" / "tokens" / "data"
SOURCES = {
    "o200k": ("o200k_base.js", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k": ("cl100k_base.js", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}
CLASSES = {
    "letter": r"\p{L}",
    "number": r"\p{N}",
    "upper": r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
    "lower": r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    "space": r"\s",
}
COUNTS = Path(__file__).parents[1] / "tests" / "text" / "counts.json"
"""Texts and how many tokens they are for tiktoken, for the tests."""
ALPHABETS = {
    "ASCII": (0x20, 0x7F),
    "control": (0, 0x20),
    "Latin": (0xA0, 0x250),
    "Greek": (0x370, 0x400),
    "Cyrillic": (0x400, 0x530),
    "Hebrew and Arabic": (0x590, 0x700),
    "Devanagari": (0x900, 0x980),
    "Thai": (0xE00, 0xE60),
    "Georgian": (0x1C80, 0x1CC0),
    "punctuation": (0x2000, 0x2070),
    "kana": (0x3000, 0x3100),
    "CJK": (0x4E00, 0x9FFF),
    "Hangul": (0xAC00, 0xD7A4),
    "Latin, rare": (0xA720, 0xA800),
    "emoji": (0x1F300, 0x1FA00),
    "all beyond": (0x10000, 0x110000),
}
JOINTS = " |  |\n|\n\n| \n |\r\n|\t|'s|'LL|'\u017f|/|\n/|.\n/|\u2028|\x85|\x1c\n".split("|")
BYTES = 256
SEPARATOR = b"\xff"
"""In no UTF-8 text, and in no token of more than one byte."""


def read_tokens(path: Path, expected: str) -> list[bytes]:
    """The tokens by rank."""
    source = path.read_text("utf-8")
    ranks = json.loads(source[source.index("{") : source.rindex("}") + 1])["bpe_ranks"]
    _, first, *encoded = ranks.split()
    if first != "0":
        raise SystemExit(f"{path}: the ranks do not start at 0")
    original = "".join(f"{token} {rank}\n" for rank, token in enumerate(encoded))
    if hashlib.sha256(original.encode()).hexdigest() != expected:
        raise SystemExit(f"{path} is not the vocabulary that tiktoken would download")
    return [base64.b64decode(token) for token in encoded]


def write_tokens(name: str, tokens: list[bytes]) -> Path:
    """The single bytes in their order, then the other tokens, each behind a separator."""
    single, longer = tokens[:BYTES], tokens[BYTES:]
    if any(len(token) != 1 for token in single) or any(SEPARATOR in token for token in longer):
        raise SystemExit(f"{name}: the single bytes do not come first, or the separator is in a token")
    path = DATA / f"{name}.zlib"
    path.write_bytes(zlib.compress(b"".join(single) + SEPARATOR.join(longer), 9))
    return path


def find_ranges(pattern: str) -> str:
    """The characters that tiktoken's engine matches, as they are written within a class of `re`.

    Not one of them has a meaning there, and as themselves they are read twice as fast as behind a backslash.
    """
    from tiktoken import Encoding

    ranks = {bytes([byte]): byte for byte in range(BYTES)}
    encoding = Encoding("class", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    everything = "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    matched = bytes(encoding.encode_ordinary(everything)).decode()  # what a pattern does not match is dropped
    ranges: list[list[int]] = []
    for code in map(ord, matched):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(chr(first) + ("-" + chr(last) if last > first else "") for first, last in ranges)


def draw_texts() -> list[str]:
    """Words of every alphabet alone and mixed, joined by what the patterns treat in a way of its own."""
    dice = random.Random(11)  # noqa: S311 - texts for a test

    def draw(spans: list[tuple[int, int]], words: int) -> str:
        parts = []
        for _ in range(words):
            first, last = dice.choice(spans)
            parts += [chr(dice.randrange(first, last)) for _ in range(dice.randrange(1, 9))]
            parts.append(dice.choice(JOINTS))
        return "".join(parts)

    texts = [draw([span], words) for span in ALPHABETS.values() for words in (1, 5, 20, 60)]
    texts += [draw(list(ALPHABETS.values()), words) for words in range(1, 120)]
    texts += [
        "".join(dice.choices(" \n\r\t/.,'sAbZlL1\u017f\u4e2d\xe9\x85\x1c", k=size)) for size in range(1, 200)
    ]
    unbroken = "abcdef|XYZ|\u4e2d\u6587\u5b57|\u0e01\u0e32| ".split("|")
    texts += ["".join(dice.choices(letters, k=900)) for letters in unbroken]
    return [*texts, dice.randbytes(1500).decode("latin-1"), base64.b64encode(dice.randbytes(900)).decode()]


def write_counts(vocabularies: dict[str, list[bytes]]) -> None:
    """What tiktoken counts, with the patterns that it has built in."""
    import tiktoken_ext.openai_public as public
    from tiktoken import Encoding

    public.load_tiktoken_bpe = lambda *_, **__: {}  # no download: the ranks are here
    encodings = []
    for name, tokens in vocabularies.items():
        made: dict[str, Any] = getattr(public, f"{name}_base")()
        made["mergeable_ranks"] = {token: rank for rank, token in enumerate(tokens)}
        encodings.append(Encoding(**made))
    rows = [[text, *(len(encoding.encode_ordinary(text)) for encoding in encodings)] for text in draw_texts()]
    COUNTS.parent.mkdir(exist_ok=True)
    COUNTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")


def main() -> None:
    """Write all files and say how large they are."""
    folder = Path(sys.argv[1])
    DATA.mkdir(parents=True, exist_ok=True)
    vocabularies = {name: read_tokens(folder / file, sha) for name, (file, sha) in SOURCES.items()}
    paths = [write_tokens(name, tokens) for name, tokens in vocabularies.items()]
    classes = {name: find_ranges(pattern) for name, pattern in CLASSES.items()}
    paths.append(DATA / "classes.json")
    paths[-1].write_text(json.dumps(classes, indent=1) + "\n", "utf-8")
    write_counts(vocabularies)
    for path in [*paths, COUNTS]:
        print(f"{path.stat().st_size:>9,}  {path}")


if __name__ == "__main__":
    main()
