"""Is what we lean on in order?

    python -m scripts.audit                  licences, the lock against pyproject.toml, packages that nothing needs
    python -m scripts.audit --vulnerabilities    also: known vulnerabilities, asked of PyPI package by package

The first needs no network and is part of the tests. The second fails when the service does not answer, or does not
know a vulnerability that is known: no answer is not good news. Exits with 1 when something is found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from scripts.dependencies import Package, out_of_step, read_lock, read_packages, read_requirements

ALLOWED: Final = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 CNRI-Python ISC MIT MIT-0 MIT-CMU PSF-2.0 Zlib any-OSI".split()
)
"""Licences that ask for no more than to be named."""
TOLERATED: Final = frozenset({"MPL-2.0"})
"""Those that bind changes to their own files, of which we make none."""
EXCEPTIONS: Final = {
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
    "psycopg-pool": "LGPL-3.0-only",
}
"""The only driver that libpq's own people keep. Optional, unchanged, and replaceable by whoever installs it, which is
what this licence asks for."""

SERVICE: Final = "https://pypi.org/pypi"
KNOWN_VULNERABLE: Final = ("jinja2", "2.10")
"""A version with published vulnerabilities (PYSEC-2019-217 among them): a service that has none for it is none."""
TIMEOUT_S: Final = 20.0


class NoService(Exception):
    """The service for vulnerabilities cannot be asked."""


def check_licences(packages: Iterable[Package]) -> Iterator[str]:
    """Packages whose licence is not known, or not one that we take."""
    for package in packages:
        if package.licence is None:
            yield f"{package.name} {package.version} does not say its licence; read it, then note it in dependencies.py"
        elif EXCEPTIONS.get(package.name) != package.licence and not is_allowed(package.licence):
            yield f"{package.name} {package.version} is under {package.licence}, which is not on the list"


def is_allowed(expression: str) -> bool:
    """Whether one of the alternatives of an SPDX expression asks for nothing that we do not give.

    Brackets are not read: such an expression is never allowed.
    """
    return any(
        all(term.strip() in ALLOWED | TOLERATED for term in choice.split(" AND "))
        for choice in expression.split(" OR ")
    )


def check_need(packages: Iterable[Package]) -> Iterator[str]:
    """Packages that nothing in pyproject.toml leads to."""
    for package in packages:
        if not package.groups:
            yield f"{package.name} {package.version} is in the lock and nothing needs it; run `make lock`"


def check_vulnerabilities(packages: Iterable[Package], service: str = SERVICE) -> Iterator[str]:
    """Known vulnerabilities that were not withdrawn; raises NoService unless every package could be asked for."""
    if not vulnerabilities(*KNOWN_VULNERABLE, service):
        raise NoService(
            f"{service} knows of no vulnerability in {' '.join(KNOWN_VULNERABLE)}, which has several"
        )
    for package in packages:
        for each in vulnerabilities(package.name, package.version, service):
            names = ", ".join([each["id"], *each.get("aliases", ())])
            fixed = ", ".join(each.get("fixed_in") or ()) or "no version"
            yield f"{package.name} {package.version}: {names}; fixed in {fixed}; {each.get('link', '')}"


def vulnerabilities(name: str, version: str, service: str = SERVICE) -> list[dict[str, Any]]:
    """What the service knows of one version; NoService when it does not answer."""
    request = Request(f"{service}/{name}/{version}/json", headers={"Accept": "application/json"})  # noqa: S310 - ours
    try:
        with urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - the same
            known: list[dict[str, Any]] = json.load(response)["vulnerabilities"]
    except HTTPError as error:
        raise NoService(f"{request.full_url} answered {error.code}") from error
    except (URLError, OSError, ValueError, KeyError) as error:
        raise NoService(f"{request.full_url} did not answer: {error}") from error
    return [each for each in known if not each.get("withdrawn")]


def main() -> None:
    """Print what is found, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vulnerabilities", action="store_true", help="ask PyPI too")
    asked = parser.parse_args()
    packages = read_packages()
    found = [
        *out_of_step(read_lock(), read_requirements()),
        *check_need(packages),
        *check_licences(packages),
    ]
    if asked.vulnerabilities:
        try:
            found += check_vulnerabilities(packages)
        except NoService as error:
            print("\n".join(found))
            sys.exit(
                f"The vulnerabilities could not be looked up: {error}. Try again where PyPI can be reached."
            )
    print("\n".join(found or [f"{len(packages)} packages are in order"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
