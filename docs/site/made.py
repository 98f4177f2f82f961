"""What is made from the code and the results, by the name a page asks for it: a visible table.

Every function returns Markdown. To add one: write it, add a line here, write `<!-- made: NAME -->` in a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from docs.site import figures
from docs.site.reference import commands, errors, formats, http, library, settings, tools

MADE: Final[dict[str, Callable[[], str]]] = {
    "commands": commands.commands,
    "common options": commands.common_options,
    "settings": settings.settings,
    "library": library.front_door,
    "library records": library.records,
    "library parts": library.parts,
    "adapters": library.adapters,
    "routes": http.routes,
    "statuses": http.statuses,
    "bodies": http.bodies,
    "tools": tools.tools,
    "prompts": tools.prompts,
    "resources": tools.resources,
    "clients": tools.clients,
    "exit codes": errors.exit_codes,
    "errors": errors.errors,
    "reasons": errors.reasons,
    "formats": formats.formats,
    "languages": formats.languages,
    "other sources": formats.other_sources,
    "query types": figures.query_types,
    "legs": figures.legs,
    "signals": figures.signals,
    "learnt weights": figures.learnt_weights,
    "neighbours": figures.neighbours,
    "parts of code search": figures.parts_of_code_search,
    "scores": figures.scores,
    "rerank": figures.rerank,
    "models": figures.models,
    "speed": figures.speed,
    "scale": figures.scale,
    "budgets": figures.budgets,
    "crashes": figures.crashes,
    "readme figures": figures.readme_figures,
}

_ASKED: Final = re.compile(r"^<!-- made: (.+?) -->$", re.MULTILINE)


class UnknownPart(Exception):
    """A page asks for something that nothing makes."""


def fill(markdown: str) -> str:
    """A page with everything in it that is made."""

    def make(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in MADE:
            raise UnknownPart(f"nothing makes {name!r}; there are: {', '.join(MADE)}")
        return MADE[name]()

    return _ASKED.sub(make, markdown)


def asked_for(markdown: str) -> tuple[str, ...]:
    """The names of what a page asks for."""
    return tuple(_ASKED.findall(markdown))
