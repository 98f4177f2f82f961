"""The site is built without a complaint, loads nothing from elsewhere, and its reference leaves nothing out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest
from docs.site import build, figures
from docs.site.build import Site, broken_links, lead, read_site, write_made, write_site
from docs.site.contents import ROOT, address_of, sources
from docs.site.made import MADE, UnknownPart, fill
from docs.site.reference.http import openapi
from docs.site.render import Rendered, render
from lxml import html

import outcrop
from benchmarks import readme
from outcrop import errors
from outcrop.config import Config
from outcrop.engine import Engine
from outcrop.errors import OutcropError
from outcrop.index.candidates import POOL
from outcrop.parse.code.languages import LANGUAGES
from outcrop.parse.formats import FORMATS
from outcrop.rank.signals import SIGNALS
from outcrop.read.rerank import RERANKED
from outcrop.records.asked import CONTEXT_DEFAULTS
from outcrop.serve.cli.app import COMMANDS, cli
from outcrop.serve.mcp.clients import CLIENTS
from outcrop.serve.mcp.tools import TOOLS


@pytest.fixture(scope="module")
def site() -> Site:
    return read_site()


@pytest.fixture(scope="module")
def folder(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    write_site(site, out)
    return out


def text_of(site: Site, source: str) -> str:
    """All words of a page, headings included."""
    page = site.pages[source]
    return " ".join(f"{section.heading.text} {section.text}" for section in page.sections)


def test_it_is_built_without_a_complaint(site: Site) -> None:
    assert not site.problems
    assert len(site.pages) == len(sources()) > 30


def test_nothing_is_loaded_from_elsewhere(folder: Path) -> None:
    pages = list(folder.rglob("*.html"))
    assert pages
    for path in pages:
        tree = html.fromstring(path.read_text("utf-8"))
        loaded = [*tree.xpath("//@src"), *tree.xpath("//link/@href")]
        assert loaded
        for address in loaded:
            assert (path.parent / address).is_file(), f"{path}: {address}"
        assert not tree.xpath("//style | //@style | //script[not(@src)]")
    looks = (folder / "site.css").read_text("utf-8")
    assert not re.search(r"url\(|@import", looks)
    assert "http" not in (folder / "site.js").read_text("utf-8")


def test_every_link_of_a_page_leads_to_a_file(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        for address in html.fromstring(path.read_text("utf-8")).xpath("//a/@href"):
            if not address.startswith(("http", "#")):
                assert (path.parent / address.partition("#")[0]).is_file(), f"{path}: {address}"


def test_what_is_meant_for_tests_is_not_shown(folder: Path) -> None:
    for path in folder.rglob("*.html"):
        assert not re.search(r"&lt;!-- (sandbox|setup|not run|exits|prints|/?made)", path.read_text("utf-8")), (
            path
        )


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("tutorial.md", ""),
        ("tutorial.md#1-install", ""),
        ("https://example.org/x", ""),
        ("nowhere.md", "leads to no page"),
        ("tutorial.md#nowhere", "leads to no heading"),
        ("/etc/passwd", "leads out of the site"),
        ("ftp://example.org/x", "leads out of the site"),
    ],
)
def test_a_broken_link_is_found(link: str, wrong: str) -> None:
    pages = {"docs/README.md": _page(f"# A\n\n[x]({link})"), "docs/tutorial.md": _page("# B\n\n## 1. Install")}
    found = list(broken_links("docs/README.md", pages["docs/README.md"], pages))
    assert len(found) == (1 if wrong else 0)
    assert wrong in "".join(found)


def _page(markdown: str) -> Rendered:
    return render(markdown, lambda link: link)


def test_links_lead_to_the_built_pages() -> None:
    assert lead("docs/how-to/agents.md", "../reference/mcp.md#tools") == "../reference/mcp.html#tools"
    assert lead("docs/how-to/team.md", "../../deploy/README.md") == "../project/deploy/index.html"
    assert lead("docs/README.md", "https://example.org") == "https://example.org"
    assert address_of("docs/README.md") == "index.html"


def test_html_in_a_page_is_shown_and_not_obeyed() -> None:
    page = _page("# A\n\n<script>alert(1)</script>\n\n<!-- a remark -->\n\n```text\n<!-- kept -->\n```")
    assert "<script>" not in page.html
    assert "a remark" not in page.html
    assert "&lt;!-- kept --&gt;" in page.html


def test_equal_headings_have_names_of_their_own() -> None:
    names = [heading.anchor for heading in _page("# A\n\n## `a.b` – c!\n\n## `a.b` – c!").headings]
    assert names == ["a", "ab--c", "ab--c-1"]


def test_every_command_and_option_is_in_the_reference(site: Site) -> None:
    text = text_of(site, "docs/reference/commands.md")
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert f"outcrop {name} " in text
        for param in command.params:
            if isinstance(param, click.Option):
                assert all(option in text for option in param.opts), f"{name} {param.opts}"


def test_every_setting_is_in_the_reference_with_its_meaning(site: Site) -> None:
    sections = {
        section.heading.text: section.text for section in site.pages["docs/reference/settings.md"].sections
    }
    for field in fields(Config):
        assert f"OUTCROP_{field.name.upper()}" in sections[field.name]
        assert len(sections[field.name].split()) > 12, field.name


def test_every_public_name_and_method_is_in_the_reference(site: Site) -> None:
    names = {heading.text for heading in site.pages["docs/reference/library.md"].headings}
    assert {f"outcrop.{name}" for name in outcrop.__all__} <= names
    assert {f"Engine.{name}" for name in vars(Engine) if not name.startswith("_")} <= names
    assert {"outcrop.adapters.langchain.OutcropRetriever", "outcrop.records.Explanation"} <= names


def test_every_route_is_in_the_reference(site: Site) -> None:
    names = {heading.text for heading in site.pages["docs/reference/http.md"].headings}
    routes = {f"{verb.upper()} {path}" for path, verbs in openapi()["paths"].items() for verb in verbs}
    assert len(routes) > 30
    assert routes | set(openapi()["components"]["schemas"]) <= names


def test_every_tool_and_parameter_is_in_the_reference(site: Site) -> None:
    sections = {section.heading.text: section.text for section in site.pages["docs/reference/mcp.md"].sections}
    for tool in TOOLS.values():
        assert all(name in sections[tool.name] for name in tool.takes.model_fields), tool.name


def test_every_error_format_language_client_and_signal_is_told(site: Site) -> None:
    told = text_of(site, "docs/reference/errors.md")
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OutcropError)
    ]
    assert all(kind.__name__ in told for kind in kinds)
    read = text_of(site, "docs/reference/formats.md")
    assert all(extension in read for form in FORMATS for extension in form.extensions)
    assert all(extension in read for language in LANGUAGES for extension in language.extensions)
    assert all(client.title in text_of(site, "docs/how-to/agents.md") for client in CLIENTS.values())
    assert all(name in text_of(site, "docs/explanation/ranking.md") for name in SIGNALS)


def test_a_page_that_asks_for_what_nothing_makes_is_refused() -> None:
    with pytest.raises(UnknownPart, match="nothing makes 'no such thing'"):
        fill("<!-- made: no such thing -->\n<!-- /made -->")


def test_a_page_that_is_out_of_date_is_refused_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "docs/page.md"
    page.parent.mkdir()
    page.write_text("# Page\n\n<!-- made: exit codes -->\nold\n<!-- /made -->\n\nEnd.\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "sources", lambda: ("docs/page.md",))
    assert "docs/page.md is not what the code says now: run `make pages`" in read_site().problems
    assert write_made() == ["docs/page.md"]
    assert "old" not in page.read_text()
    assert MADE["exit codes"]() in page.read_text()
    assert page.read_text().endswith("<!-- /made -->\n\nEnd.\n")
    assert not any("docs/page.md" in problem for problem in read_site().problems)
    assert write_made() == []


def test_figures_are_those_of_the_newest_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"score": "0.0–0.1", "hits": 7, "right (mean of sets)": 0.25}]
    for commit, date, right in (("aaaaaaa", "2026-01-01", 0.25), ("bbbbbbb", "2026-03-01", 0.75)):
        tables = {"what a score means": [{**rows[0], "right (mean of sets)": right}]}
        result = {"name": "quality", "date": date, "commit": commit, "tables": tables}
        (tmp_path / f"quality-{commit}.json").write_text(json.dumps(result))
    other = {"name": "quality", "date": "2026-06-01", "commit": "ccccccc", "tables": {}}
    (tmp_path / "quality-ccccccc.json").write_text(json.dumps(other))
    monkeypatch.setattr(readme, "RESULTS", tmp_path)
    assert "| 0.0–0.1 | 7 | 0.75 |" in figures.scores()
    assert "`bbbbbbb`" in figures.scores()
    with pytest.raises(figures.NoResult, match="there is no result of code"):
        figures.signals()


def test_everything_that_is_made_is_of_some_use() -> None:
    assert all(len(make()) > 100 for make in MADE.values())


def test_numbers_that_pages_name_in_words_are_those_of_the_code(site: Site) -> None:
    ranking, limits = (text_of(site, f"docs/explanation/{name}.md") for name in ("ranking", "limits"))
    plain = Config(db=Path("index.db"))
    assert (POOL, RERANKED, plain.floor) == (200, 20, 0.25)
    assert "its best two hundred chunks" in ranking
    assert "each of the best twenty candidates" in ranking
    assert "a cosine of 0.25 by default" in ranking
    assert CONTEXT_DEFAULTS["cutoff"] == 0.5
    assert "at least half of the best" in ranking
    assert f"{len(LANGUAGES)} languages have a grammar" in limits
    assert f"Files above {plain.max_file_bytes // 2**20} MiB are left out" in limits


def test_an_option_is_not_taken_for_the_folder_to_write_to(tmp_path: Path) -> None:
    def start(option: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "docs.site", option]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )

    assert start("--help").stdout.startswith("usage: python -m docs.site [-h] [--pages] [folder]")
    assert start("--out").returncode == 2
    assert list(tmp_path.iterdir()) == []
