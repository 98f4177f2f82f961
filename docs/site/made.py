"""What is made from the code and the results, by the name a page asks for it: a visible table.

Every function returns Markdown. To add one: write it, add a line here, write `<!-- made: NAME -->` and `<!-- /made -->`
into a page, then `make pages`. What stands between the two is committed, so that pages read whole on a code host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from docs.site import figures
from docs.site.figures import shown
from docs.site.reference import commands, errors, formats, http, library, settings, tools

from benchmarks import readme

MADE: Final[dict[str, Callable[[], str]]] = {
    "commands": commands.commands,
    "command overview": commands.overview,
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
    "labelled sets": shown(readme.quality_rows),
    "models": shown(readme.model_rows),
    "code": shown(readme.code_rows),
    "peers": shown(readme.peer_rows),
    "speed": shown(readme.speed_rows),
    "million": shown(readme.scale_rows),
    "scale": figures.scale,
    "budgets": figures.budgets,
    "crashes": shown(readme.crash_rows, readme.serve_rows),
    "killed": shown(readme.crash_rows),
    "others": figures.others,
    "larger models": figures.larger_models,
    "served": shown(readme.serve_rows),
    "installed": shown(readme.footprint_rows),
    "first ten minutes": shown(readme.first_rows),
    "agents": figures.agents,
}

_PART: Final = re.compile(r"^<!-- made: (.+?) -->\n(.*?)^<!-- /made -->$", re.MULTILINE | re.DOTALL)

_CODE: Final = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_ELEMENT: Final = re.compile(r"<(?=[a-zA-Z/])")


class UnknownPart(Exception):
    """A page asks for something that nothing makes."""


def fill(markdown: str) -> str:
    """A page with everything in it that is made, as it is now."""

    def make(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in MADE:
            raise UnknownPart(f"nothing makes {name!r}; there are: {', '.join(MADE)}")
        return f"<!-- made: {name} -->\n{_escape(MADE[name]())}\n<!-- /made -->"

    return _PART.sub(make, markdown)


def _escape(markdown: str) -> str:
    """Elements that are only named, as text: a code host would obey them. In code they are text already."""
    parts = _CODE.split(markdown)
    return "".join(part if at % 2 else _ELEMENT.sub(r"\\<", part) for at, part in enumerate(parts))


def leave_out_made(markdown: str) -> str:
    """A page without what is made, on the lines where it was."""
    return _PART.sub(lambda match: "\n" * match.group().count("\n"), markdown)


def asked_for(markdown: str) -> tuple[str, ...]:
    """The names of what a page asks for."""
    return tuple(match.group(1) for match in _PART.finditer(markdown))
