"""Which pages there are, in the order in which one would read them: a visible table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Part:
    """Pages that serve one purpose; each is named by its path in the repository."""

    title: str
    pages: tuple[str, ...]


CONTENTS: Final = (
    Part(
        "Start",
        (
            "docs/README.md",
            "docs/tutorial.md",
            "docs/how-to/install.md",
            "docs/faq.md",
            "docs/troubleshooting.md",
        ),
    ),
    Part(
        "How to",
        (
            "docs/how-to/page.md",
            "docs/how-to/agents.md",
            "docs/how-to/coding-agents.md",
            "docs/how-to/code.md",
            "docs/how-to/languages.md",
            "docs/how-to/grep.md",
            "docs/how-to/history.md",
            "docs/how-to/sessions.md",
            "docs/how-to/mail.md",
            "docs/how-to/branches.md",
            "docs/how-to/notes.md",
            "docs/how-to/fresh.md",
            "docs/how-to/python.md",
            "docs/how-to/metadata.md",
            "docs/how-to/http.md",
            "docs/how-to/chat.md",
            "docs/how-to/evaluate.md",
            "docs/how-to/models.md",
            "docs/how-to/ranking.md",
            "docs/how-to/team.md",
            "docs/how-to/move.md",
            "docs/how-to/ray.md",
            "docs/how-to/back-up.md",
            "docs/how-to/security.md",
            "deploy/README.md",
        ),
    ),
    Part("Recipes", ("docs/recipes/langchain.md", "docs/recipes/llamaindex.md", "docs/recipes/notebook.ipynb")),
    Part(
        "Coming from", ("docs/coming-from/semble.md", "docs/coming-from/qmd.md", "docs/coming-from/chroma.md")
    ),
    Part(
        "Reference",
        (
            "docs/reference/commands.md",
            "docs/reference/settings.md",
            "docs/reference/library.md",
            "docs/reference/http.md",
            "docs/reference/mcp.md",
            "docs/reference/errors.md",
            "docs/reference/formats.md",
        ),
    ),
    Part(
        "Explanation",
        (
            "docs/explanation/features.md",
            "docs/explanation/ranking.md",
            "docs/explanation/freshness.md",
            "docs/explanation/limits.md",
            "docs/explanation/figures.md",
            "docs/explanation/compare.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "RELEASING.md",
            "training/README.md",
            "benchmarks/README.md",
            "proofs/README.md",
            "CHANGELOG.md",
        ),
    ),
)


def sources() -> tuple[str, ...]:
    """Every page, in order."""
    return tuple(page for part in CONTENTS for page in part.pages)


def address_of(source: str) -> str:
    """Where a page lies in the site: `how-to/agents.html`; a folder's README is its index."""
    path = PurePosixPath(source)
    inside = path.relative_to("docs") if path.parts[0] == "docs" else PurePosixPath("project", *path.parts)
    if inside.name == "README.md":
        return str(inside.with_name("index.html"))
    return str(inside.with_suffix(".html"))
