"""What a page asks to be run: its blocks in order, and what comments that no reader sees say of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from docs.site.contents import ROOT
from docs.site.made import leave_out_made
from markdown_it import MarkdownIt

COMMENT = re.compile(r"<!--\s*([a-z ]+?)(?::\s*(.*?))?\s*-->", re.DOTALL)
RUN = ("console", "python")


@dataclass(frozen=True)
class Command:
    """A line of a terminal: what was typed, and the lines that followed; None where a page shows none."""

    typed: str
    shown: tuple[str, ...] | None


@dataclass(frozen=True)
class Block:
    """A fenced block. `not_run` is the reason why it cannot be run here; `exits` how its last command ends; `prints`
    marks a text that the block before it is to print."""

    language: str
    text: str
    line: int
    not_run: str = ""
    exits: int = 0
    prints: bool = False
    hidden: bool = False

    def commands(self) -> list[Command]:
        """The commands of a console block."""
        found: list[Command] = []
        typed, shown = "", list[str]()
        for line in [*self.text.splitlines(), "$ "]:
            if line.startswith("$ ") and not typed.endswith("\\"):
                if typed:
                    found.append(Command(typed, tuple(shown) if any(map(str.strip, shown)) else None))
                typed, shown = line[2:], []
            elif typed.endswith("\\"):
                typed += "\n" + line
            else:
                shown.append(line)
        return found


@dataclass(frozen=True)
class Page:
    """A page: what its sandbox holds, and its blocks."""

    source: str
    sandbox: frozenset[str]
    blocks: tuple[Block, ...]


def read_page(source: str) -> Page:
    """The page at this path of the repository."""
    text = leave_out_made((ROOT / source).read_text("utf-8"))
    sandbox: frozenset[str] = frozenset()
    blocks: list[Block] = []
    said: dict[str, str] = {}
    for token in MarkdownIt("commonmark").parse(text):
        line = (token.map or [0])[0] + 1
        if token.type == "html_block":
            for name, value in COMMENT.findall(token.content):
                if name == "sandbox":
                    sandbox = frozenset(re.split(r",\s*", value))
                elif name == "setup":
                    typed = "\n".join(
                        f"$ {command.strip()}" for command in value.splitlines() if command.strip()
                    )
                    blocks.append(Block("console", typed, line, hidden=True))
                else:
                    said[name] = value
        elif token.type == "fence":
            blocks.append(
                Block(
                    token.info.strip(),
                    token.content,
                    line,
                    said.get("not run", ""),
                    int(said.get("exits with", "0")),
                    "prints" in said,
                )
            )
            said = {}
    return Page(source, sandbox, tuple(blocks))


def pages() -> list[str]:
    """The front page and every page of docs/, by path."""
    found = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    return ["README.md", *sorted(name for name in found if not name.startswith("docs/samples/"))]


def notebook_cells(path: Path) -> list[tuple[str, str]]:
    """The code of a notebook, cell by cell, with what each is recorded to have printed."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [
        ("".join(cell["source"]), "".join("".join(output.get("text", ())) for output in cell["outputs"]))
        for cell in cells
        if cell["cell_type"] == "code"
    ]
