"""A notebook as Markdown: its words, its code, and what the code printed."""

from __future__ import annotations

import json
from typing import Any


def read_notebook(text: str) -> str:
    """The cells of a notebook, in order."""
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return "\n\n".join(_cell(cell) for cell in cells)


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    printed = "".join(printed_by(cell))
    shown = f"\n\n```text\n{printed.rstrip()}\n```" if printed.strip() else ""
    return f"```python\n{source}\n```{shown}"


def printed_by(cell: dict[str, Any]) -> list[str]:
    """What a code cell is recorded to have printed."""
    return ["".join(output.get("text", ())) for output in cell.get("outputs", ())]
