"""Record the terminal of README: `python -m scripts.record` runs the commands and draws docs/images/terminal.svg.

The commands run in a real terminal (a pty) with a home folder of its own, on the samples, without a network. The SVG
shows them one after the other, or all at once where motion is not wanted. It is left as it is where only times and
scores differ.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Final

from scripts.build import ROOT

IMAGE: Final = ROOT / "docs/images/terminal.svg"
COMMANDS: Final = (
    "outcrop add notes project",
    'outcrop search -n 1 "how do we rotate the signing keys?"',
    "outcrop related ConnectionPool.acquire",
)
COLUMNS: Final = 100
CELL: Final = (8.4, 19.0)
"""Pixels a character takes; `textLength` holds every font to it."""
MARGIN: Final = (18.0, 48.0)
BACKGROUND: Final = "#16181d"
COLOURS: Final = (
    *("#6b7280", "#f47067", "#7ee2a8", "#f5c97a", "#7cb7ff", "#d2a8ff", "#76d9e6", "#e6e8ec"),
    *("#8b93a1", "#ff938a", "#a6f0c6", "#ffe0a3", "#a5d0ff", "#e2c5ff", "#a2ebf5", "#ffffff"),
)
PLAIN: Final = "#d5d9e0"
MARKS: Final = {
    1: ' font-weight="700"',
    2: ' opacity=".62"',
    3: ' font-style="italic"',
    4: ' text-decoration="underline"',
}
"""Codes of a terminal as attributes: bold, dim, italic, underlined."""
SHOWN_SECONDS: Final = (0.9, 1.4)
"""How long a command is typed, and how long its output is looked at before the next (not measured)."""
_TOKEN: Final = re.compile(
    r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)|([\r\n])|([^\x1b\r\n])"
)
_VARIES: Final = re.compile(r"\d+(?:\.\d+)? m?s\b|\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Look:
    """How a character is drawn."""

    colour: str = PLAIN
    marks: frozenset[str] = frozenset()


BOLD: Final = frozenset({MARKS[1]})
Cells = list[tuple[str, Look]]


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and the lines that were on the screen when it had ended."""

    typed: str
    lines: tuple[Cells, ...]


def run_in_terminal(command: str, folder: Path, home: Path) -> str:
    """What a command writes to a terminal, with all its escapes. A command that fails ends the recording."""
    mine, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = kept | {"HOME": str(home), "PATH": path, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=settings, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = bytearray()
    try:
        while chunk := os.read(mine, 65536):
            written += chunk
    except OSError:
        pass  # how Linux says that the other side is closed
    finally:
        os.close(mine)
    if process.wait():
        raise SystemExit(f"{command} ended with {process.returncode}:\n{written.decode('utf-8', 'replace')}")
    return written.decode("utf-8")


def read_screen(written: str) -> tuple[Cells, ...]:
    """The lines that a terminal shows in the end: a progress bar is overwritten and erased, as it is there."""
    lines: list[Cells] = [[]]
    row = column = 0
    look = Look()
    for codes, verb, moved, character in _TOKEN.findall(written):
        if character and column == COLUMNS:
            row, column = row + 1, 0
            lines.insert(row, [])
        if character:
            line = lines[row]
            line += [(" ", Look())] * (column + 1 - len(line))
            line[column] = (character, look)
            column += 1
        elif moved == "\r":
            column = 0
        elif moved == "\n":
            row += 1
            lines += [[] for _ in range(row + 1 - len(lines))]
        elif verb == "A":
            row = max(0, row - int(codes or 1))
        elif verb == "K":
            del lines[row][0 if codes == "2" else column :]
        elif verb == "m":
            look = _change(look, [int(code or 0) for code in codes.split(";")])
    while lines and not "".join(character for character, _ in lines[-1]).strip():
        lines.pop()
    return tuple(lines)


def _change(look: Look, codes: list[int]) -> Look:
    """A look after the codes of one escape."""
    while codes:
        code, *codes = codes
        if code == 0:
            look = Look()
        elif code in MARKS:
            look = replace(look, marks=look.marks | {MARKS[code]})
        elif code in (22, 23, 24):
            ended = {MARKS[code - 20], MARKS[1 if code == 22 else code - 20]}
            look = replace(look, marks=look.marks - ended)
        elif code == 39:
            look = replace(look, colour=PLAIN)
        elif code == 38 and codes[:1] == [2]:
            look, codes = replace(look, colour="#{:02x}{:02x}{:02x}".format(*codes[1:4])), codes[4:]
        elif code == 38:
            look, codes = replace(look, colour=_from_palette(codes[1])), codes[2:]
        elif code % 60 in range(30, 38):
            look = replace(look, colour=COLOURS[code % 60 - 30 + (8 if code >= 90 else 0)])
    return look


def _from_palette(number: int) -> str:
    """A colour of the 256 that terminals know."""
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return f"#{8 + 10 * (number - 232):02x}" + f"{8 + 10 * (number - 232):02x}" * 2
    steps = (0, 95, 135, 175, 215, 255)
    red, green, blue = (steps[(number - 16) // size % 6] for size in (36, 6, 1))
    return f"#{red:02x}{green:02x}{blue:02x}"


def record() -> list[Step]:
    """Run the commands, one after the other, in a home folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name in ("notes", "project"):
            shutil.copytree(ROOT / "docs/samples" / name, home / "samples" / name)
        return [Step(typed, read_screen(run_in_terminal(typed, home / "samples", home))) for typed in COMMANDS]


def draw(steps: Sequence[Step]) -> str:
    """The steps as an SVG; a line of the screen is an element, in the order of the screen."""
    drawn: list[str] = []
    at, row = 0.3, 0
    for step in steps:
        prompt: Cells = [("$", Look(COLOURS[2], BOLD)), (" ", Look())]
        typed: Cells = [*prompt, *((character, Look(marks=BOLD)) for character in step.typed)]
        drawn.append(_line(typed, row, at, SHOWN_SECONDS[0]))
        at, row = at + SHOWN_SECONDS[0] + 0.2, row + 1
        for cells in step.lines:
            drawn.append(_line(cells, row, at))
            row += 1
        at, row = at + SHOWN_SECONDS[1], row + 1
    width = 2 * MARGIN[0] + COLUMNS * CELL[0]
    height = MARGIN[1] + row * CELL[1]
    dots = "".join(
        f'<circle cx="{24 + 20 * number}" cy="20" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">
<title>Outcrop in a terminal</title>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }}
text {{ animation: appear 1ms backwards }}
.typed {{ animation-name: type; animation-timing-function: steps(40) }}
@keyframes appear {{ from {{ opacity: 0 }} }}
@keyframes type {{ from {{ clip-path: inset(0 100% 0 0) }} to {{ clip-path: inset(0) }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}
</style>
<rect width="100%" height="100%" rx="10" fill="{BACKGROUND}"/>
{dots}
{chr(10).join(drawn)}
</svg>
"""


def _line(cells: Cells, row: int, at: float, typed_s: float = 0) -> str:
    """A line that appears at a time, or is typed from then on."""
    y = MARGIN[1] + row * CELL[1]
    parts, column = [], 0
    for run, look in _runs(cells):
        place = f'x="{MARGIN[0] + column * CELL[0]:g}" textLength="{len(run) * CELL[0]:g}"'
        colour = f'fill="{look.colour}"{"".join(sorted(look.marks))}'
        parts.append(f"<tspan {place} {colour}>{escape(run)}</tspan>")
        column += len(run)
    when = f'class="typed" style="animation-duration:{typed_s:g}s;' if typed_s else 'style="'
    return f'<text y="{y:g}" {when}animation-delay:{at:g}s" xml:space="preserve">{"".join(parts)}</text>'


def _runs(cells: Cells) -> Iterator[tuple[str, Look]]:
    """Neighbours of one look, together."""
    run, before = "", Look()
    for character, look in cells:
        if run and look != before:
            yield run, before
            run = ""
        run, before = run + character, look
    if run:
        yield run, before


def read_text(drawing: str) -> list[str]:
    """The lines that a drawing shows."""
    found = re.findall(r"<text .*?>(.*?)</text>", drawing)
    return [unescape(re.sub(r"<.*?>", "", line)) for line in found]


def is_current(drawing: str, steps: Sequence[Step]) -> bool:
    """Whether a drawing shows what the commands print, but for times and scores."""
    old, new = ([_VARIES.sub("~", line) for line in read_text(each)] for each in (drawing, draw(steps)))
    return old == new


def main() -> None:
    """Record, and draw where the drawing is out of date."""
    steps = record()
    if IMAGE.is_file() and is_current(IMAGE.read_text("utf-8"), steps):
        return
    IMAGE.parent.mkdir(parents=True, exist_ok=True)
    IMAGE.write_text(draw(steps), "utf-8")
    print(f"wrote {IMAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
