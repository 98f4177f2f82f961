"""Every message that the page quotes is one that the program can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from docs.site.contents import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text("utf-8")
GAP = "…"


def messages() -> list[str]:
    """The messages of the page: headings that are code, in two backticks where a message has some itself."""
    return [found for _, found in re.findall(r"^### (`+) ?(.+?) ?\1$", PAGE, re.MULTILINE)]


def strings() -> Iterator[str]:
    """Every string of the program, with a gap for each value in it."""
    for path in (ROOT / "src/outcrop").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else GAP for part in node.values)
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.sub(r"\{\w*\}", GAP, node.value)


def is_said(message: str, said: list[str]) -> bool:
    pattern = re.compile(".*".join(re.escape(part) for part in message.split(GAP)), re.DOTALL)
    return any(pattern.search(one) for one in said)


def test_every_message_of_the_page_is_one_of_the_program() -> None:
    said = list(strings())
    assert len(messages()) > 25
    assert not [message for message in messages() if not is_said(message, said)]
    assert not is_said("the moon is in the way", said)


def test_every_message_says_what_to_do() -> None:
    sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    assert all(len(section.partition("\n")[2].split()) > 6 for section in sections)
