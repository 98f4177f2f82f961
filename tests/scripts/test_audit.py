"""What we lean on is in order, and what is not would be noticed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scripts.audit import NoService, check_licences, check_need, check_vulnerabilities, is_allowed
from scripts.dependencies import LOCK, Package, out_of_step, read_lock, read_packages, read_requirements

from scripts import audit


def package(name: str, licence: str | None = "MIT", groups: frozenset[str] = frozenset({"base"})) -> Package:
    return Package(name, "1.0", "", groups, (), licence)


# ------------------------------------------------------------------ the lock as it is


@pytest.fixture(scope="module")
def packages() -> list[Package]:
    return read_packages()


def test_the_lock_is_in_step_with_the_project() -> None:
    assert list(out_of_step(read_lock(), read_requirements())) == []


def test_every_package_of_the_lock_is_needed(packages: list[Package]) -> None:
    assert list(check_need(packages)) == []


def test_every_licence_is_on_the_list(packages: list[Package]) -> None:
    assert list(check_licences(packages)) == []


def test_who_needs_a_package_is_known(packages: list[Package]) -> None:
    by_name = {each.name: each for each in packages}
    assert by_name["mdurl"].in_base  # rich → markdown-it-py → mdurl
    assert by_name["starlette"].groups == {"serve", "dev"}
    assert by_name["psycopg-binary"].groups == {"postgres", "dev"}  # by an extra of psycopg
    assert by_name["tree-sitter-swift"].groups == {"languages", "dev"}
    assert not by_name["pytest"].is_shipped
    assert "mini" in by_name["colorama"].groups  # by way of tqdm, on Windows, where this does not run
    assert "watchfiles" not in by_name["rich"].needs


def test_nothing_of_the_base_needs_pillow(packages: list[Package]) -> None:
    """python-pptx did, and brought 22 MB."""
    assert {"pillow", "xlsxwriter", "python-docx"}.isdisjoint(each.name for each in packages if each.in_base)


# ------------------------------------------------------------------ what would be noticed


def test_a_package_that_nothing_needs_or_that_is_missing_is_noticed(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("click==")]
    lock.write_text("\n".join([*lines, "left-pad==1.3.0"]))
    assert [line.split()[0] for line in check_need(read_packages(lock))] == ["left-pad"]
    assert list(out_of_step(read_lock(lock), read_requirements())) == ["click>=8.2 (base) is not in the lock"]
    lock.write_text("\n".join([*lines, "click==7.0"]))
    (problem,) = out_of_step(read_lock(lock), read_requirements())
    assert problem == "click>=8.2 (base) is not what the lock has: 7.0"


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MIT AND MPL-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT AND AGPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND GPL-2.0-only", False),
        ("LGPL-3.0-only", False),
        ("", False),
    ],
)
def test_alternatives_and_conjunctions_of_licences_are_read(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


def test_other_licences_and_unknown_ones_are_noticed() -> None:
    found = list(check_licences([package("one", "AGPL-3.0-only"), package("two", None), package("three")]))
    assert [line.split()[0] for line in found] == ["one", "two"]
    assert list(check_licences([package("psycopg", "LGPL-3.0-only")])) == []
    assert list(check_licences([package("psycopg", "GPL-3.0-only"), package("other", "LGPL-3.0-only")]))


# ------------------------------------------------------------------ vulnerabilities


class Service(BaseHTTPRequestHandler):
    """Answers as PyPI does, from a table."""

    known: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        found = self.known.get(self.path)
        self.send_response(200 if found is not None else 404)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: object) -> None:
        pass


def answer(*ids: str, withdrawn: str | None = None) -> dict[str, Any]:
    found = [
        {
            "id": each,
            "aliases": [f"CVE-{each}"],
            "fixed_in": ["2.0"],
            "link": "https://x",
            "withdrawn": withdrawn,
        }
        for each in ids
    ]
    return {"vulnerabilities": found}


@pytest.fixture
def service() -> Iterator[str]:
    name, version = audit.KNOWN_VULNERABLE
    Service.known = {f"/pypi/{name}/{version}/json": answer("PYSEC-1")}
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/pypi"
        server.shutdown()
        thread.join()


def test_known_vulnerabilities_are_told_and_withdrawn_ones_are_not(service: str) -> None:
    Service.known["/pypi/good/1.0/json"] = answer()
    Service.known["/pypi/bad/1.0/json"] = answer("PYSEC-7")
    Service.known["/pypi/cleared/1.0/json"] = answer("PYSEC-8", withdrawn="2024-01-01")
    found = list(check_vulnerabilities([package("good"), package("bad"), package("cleared")], service))
    assert found == ["bad 1.0: PYSEC-7, CVE-PYSEC-7; fixed in 2.0; https://x"]


def test_a_package_that_the_service_does_not_know_is_no_good_news(service: str) -> None:
    with pytest.raises(NoService, match=r"/unknown/1\.0/json answered 404"):
        list(check_vulnerabilities([package("unknown")], service))


def test_a_service_without_any_vulnerability_is_none(service: str) -> None:
    Service.known = dict.fromkeys(Service.known, answer())
    with pytest.raises(NoService, match="knows of no vulnerability in jinja2"):
        list(check_vulnerabilities([], service))


def test_a_service_that_cannot_be_reached_says_so() -> None:
    with pytest.raises(NoService, match="did not answer"):
        list(check_vulnerabilities([], "http://127.0.0.1:1/pypi"))
