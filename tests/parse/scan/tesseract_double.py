"""A small honest Tesseract for the tests: a program of that name which says on every page how dark it is.

`put_on_path` makes it; it notes each page that it was given, and answers in Tesseract's table of words.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """#!{python}
import sys
if sys.argv[1:] == ["--version"]:
    print("tesseract 5.0-double\\n leptonica-1")
elif sys.argv[1:] == ["--list-langs"]:
    print("List of available languages in x (2):\\neng\\nosd")
else:
    head, _, pixels = sys.stdin.buffer.read().partition(b" 255\\n")
    _, width, height = head.split()
    with open({log!r}, "a") as log:
        log.write(sys.argv[sys.argv.index("-l") + 1] + "\\n")
    dark = sum(1 for value in pixels[::300] if value < 100)
    if {slow}:
        import time
        time.sleep(60)
    row = lambda *fields: print("\\t".join(map(str, fields)))
    row(*"level page_num block_num par_num line_num word_num left top width height conf text".split())
    row(1, 1, 0, 0, 0, 0, 0, 0, int(width), int(height), -1, "")
    if dark > 10:
        words = ["Report", "darkness", "number", str(dark), *{words!r}]
        for at, word in enumerate(words):
            left = int(width) * at // (len(words) + 1)
            row(5, 1, 1, 1, 1 + at // 4, at, left, 100 * (1 + at // 4), 50, 40, 91.5, word)
        row(5, 1, 1, 1, 9, 1, 0, 0, 5, 5, 3.0, "stain")
"""


def put_on_path(folder: Path, *, words: tuple[str, ...] = (), slow: bool = False) -> Path:
    """Make the program in a folder; the file in which it notes its pages."""
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    log.touch()
    program = folder / "tesseract"
    program.write_text(PROGRAM.format(python=sys.executable, log=str(log), words=list(words), slow=slow))
    program.chmod(0o755)
    return log
