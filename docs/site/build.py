"""All pages to one folder of plain files; what is wrong with them, as a list."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Final
from urllib.parse import unquote

from docs.site.contents import CONTENTS, ROOT, address_of, sources
from docs.site.made import MADE, UnknownPart, asked_for, fill
from docs.site.notebook import read_notebook
from docs.site.render import Rendered, attributes, relative, render, styles

ASSETS: Final = Path(__file__).parent / "assets"
_ELSEWHERE: Final = re.compile(r"https?://|mailto:")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
NOT_PAGES: Final = ("docs/samples/",)
"""Markdown below docs/ that is there to be searched, and is no page."""


@dataclass(frozen=True, slots=True)
class Site:
    """Every page by its path in the repository, and what is wrong."""

    pages: dict[str, Rendered]
    problems: tuple[str, ...]


def read_site() -> Site:
    """Render every page and check that every link leads to something."""
    pages: dict[str, Rendered] = {}
    problems = [*_missing_pages()]
    asked: set[str] = set()
    for source in sources():
        path = ROOT / source
        if not path.is_file():
            problems.append(f"contents.py names {source}, which is not there")
            continue
        text = path.read_text("utf-8")
        markdown = read_notebook(text) if path.suffix == ".ipynb" else text
        asked |= set(asked_for(markdown))
        try:
            filled = fill(markdown)
        except UnknownPart as error:
            problems.append(f"{source}: {error}")
            continue
        if filled != markdown:
            problems.append(f"{source} is not what the code says now: run `make pages`")
        pages[source] = render(filled, lambda link, source=source: lead(source, link))  # type: ignore[misc]
    problems += [f"{source}: it has no title" for source, page in pages.items() if not page.title]
    problems += [f"no page asks for {name!r}, which made.py makes" for name in MADE if name not in asked]
    problems += [
        f"{source}: {problem}"
        for source, page in pages.items()
        for problem in (*broken_links(source, page, pages), *broken_images(source, page))
    ]
    return Site(pages, tuple(problems))


def write_made() -> list[str]:
    """Write what is made into the pages that ask for it; those that changed."""
    changed = []
    for source in sources():
        path = ROOT / source
        text = path.read_text("utf-8")
        if (filled := fill(text)) != text:
            path.write_text(filled, "utf-8")
            changed.append(source)
    return changed


def _missing_pages() -> Iterator[str]:
    """Pages that were written and would not be seen."""
    known = set(sources())
    for path in sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]):
        source = path.relative_to(ROOT).as_posix()
        if source not in known and not source.startswith(NOT_PAGES):
            yield f"{source} is in no part of contents.py"


def _target(source: str, link: str) -> tuple[str, str]:
    """The page and the anchor that a link of a page leads to."""
    path, _, anchor = link.partition("#")
    page = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(path))) if path else source
    return page, unquote(anchor)


def lead(source: str, link: str) -> str:
    """A link as it stands in the site."""
    if _ELSEWHERE.match(link):
        return link
    page, anchor = _target(source, link)
    return relative(address_of(page), address_of(source)) + (f"#{anchor}" if anchor else "")


def broken_links(source: str, page: Rendered, pages: dict[str, Rendered]) -> Iterator[str]:
    """What is wrong with the links of a page, each in words."""
    for link in page.links:
        if _ELSEWHERE.match(link):
            continue
        if _SCHEME.match(link) or link.startswith("/"):
            yield f"the link {link} leads out of the site"
            continue
        target, anchor = _target(source, link)
        if target not in pages:
            yield f"the link {link} leads to no page"
        elif anchor and anchor not in {heading.anchor for heading in pages[target].headings}:
            yield f"the link {link} leads to no heading of {target}"


def broken_images(source: str, page: Rendered) -> Iterator[str]:
    """Images of a page that are not there, or that the site would not hold beside it."""
    folder = (ROOT / source).parent.resolve()
    for image in page.images:
        path = (folder / unquote(image)).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            yield f"the image {image} is no file below the folder of the page"


def write_site(site: Site, out: Path) -> None:
    """Write the site, in place of what was in the folder."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ASSETS, out, ignore=shutil.ignore_patterns("page.html"))
    with (out / "site.css").open("a", encoding="utf-8") as file:
        file.write(styles())
    (out / "sections.js").write_text(_sections(site), "utf-8")
    template = Template((ASSETS / "page.html").read_text("utf-8"))
    for source in site.pages:
        target = out / address_of(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_page(template, site, source), "utf-8")
        for image in site.pages[source].images:
            place = target.parent / unquote(image)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile((ROOT / source).parent / unquote(image), place)


def _sections(site: Site) -> str:
    """What the search box searches: a script, because a page on disk may load no other kind of file."""
    rows = [
        [
            address_of(source) + ("" if section.heading.level == 1 else f"#{section.heading.anchor}"),
            page.title,
            "" if section.heading.level == 1 else section.heading.text,
            section.text,
        ]
        for source, page in site.pages.items()
        for section in page.sections
    ]
    return f"var SECTIONS = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"


def _page(template: Template, site: Site, source: str) -> str:
    here, page = address_of(source), site.pages[source]
    order = list(site.pages)
    at = order.index(source)
    around = {"prev": order[at - 1] if at else None, "next": order[at + 1] if at + 1 < len(order) else None}
    return template.substitute(
        title=escape(page.title),
        root=relative(".", here),
        nav=_navigation(site, source),
        toc=_toc(page),
        body=page.html,
        foot="".join(_step(site, here, name, other) for name, other in around.items() if other),
    )


def _navigation(site: Site, source: str) -> str:
    made = []
    for part in CONTENTS:
        items = "".join(
            f"<li><a{attributes(href=relative(address_of(page), address_of(source)))}"
            f"{attributes(**{'aria-current': 'page' if page == source else None})}>"
            f"{escape(site.pages[page].title)}</a></li>"
            for page in part.pages
            if page in site.pages
        )
        opened = " open" if source in part.pages else ""
        title = f"<summary>{escape(part.title)}</summary>"
        made.append(f"<details{opened}>{title}<ul>{items}</ul></details>")
    return "\n".join(made)


def _toc(page: Rendered) -> str:
    items = [heading for heading in page.headings if heading.level == 2]
    if len(items) < 2:
        return ""
    rows = "".join(f'<li><a href="#{escape(item.anchor)}">{escape(item.text)}</a></li>' for item in items)
    return f'<nav class="toc" aria-label="On this page"><p>On this page</p><ul>{rows}</ul></nav>'


def _step(site: Site, here: str, name: str, other: str) -> str:
    label = {"prev": "Before", "next": "Next"}[name]
    return (
        f"<a{attributes(rel=name, href=relative(address_of(other), here))}>"
        f"<span>{label}</span>{escape(site.pages[other].title)}</a>"
    )
