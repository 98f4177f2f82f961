"""Formats and languages, from the tables that decide how a file is read."""

from __future__ import annotations

from docs.site.table import codes, table

from outcrop.parse.code.languages import LANGUAGES
from outcrop.parse.formats import FORMATS, SOURCE_CODE, TextFormat


def formats() -> str:
    """Every format but source code: its kind, its extensions, and what its lines are lines of."""
    own, made = "the file's own text", "text made from the file, in a process of its own"
    rows = [
        (
            f"`{form.kind}`",
            codes(form.extensions) or "told by its content",
            own if isinstance(form, TextFormat) else made,
        )
        for form in FORMATS
        if form is not SOURCE_CODE
    ]
    return table(("kind", "extensions", "what is indexed"), rows)


def languages() -> str:
    """Every language that has a grammar."""
    rows = [
        (f"`{language.name}`", codes(language.extensions), codes(language.names), codes(language.interpreters))
        for language in LANGUAGES
    ]
    return table(("kind", "extensions", "file names", "first line names"), rows)


def other_sources() -> str:
    """Extensions of source code for which there is no grammar."""
    known = {extension for language in LANGUAGES for extension in language.extensions}
    return codes(extension for extension in SOURCE_CODE.extensions if extension not in known)
