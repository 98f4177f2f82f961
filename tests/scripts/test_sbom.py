"""The bill of materials has what CycloneDX asks for, names what an installation brings, and is always the same."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from scripts.dependencies import Package, read_packages, read_requirements
from scripts.sbom import make_sbom, render

OUTCROP = "pkg:pypi/outcrop@0.1.0"


@pytest.fixture(scope="module")
def packages() -> list[Package]:
    return read_packages()


@pytest.fixture(scope="module")
def bill(packages: list[Package]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(render(make_sbom(packages, read_requirements(), 1_700_000_000)))
    return made


def test_it_has_what_the_schema_requires(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert UUID(bill["serialNumber"].removeprefix("urn:uuid:")).urn == bill["serialNumber"]
    assert bill["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    assert bill["metadata"]["component"]["bom-ref"] == OUTCROP
    for component in bill["components"]:
        assert component["type"] == "library"
        assert component["scope"] in {"required", "optional"}
        assert (
            component["purl"] == component["bom-ref"] == f"pkg:pypi/{component['name']}@{component['version']}"
        )
        assert re.fullmatch(r"[a-z0-9-]+", component["name"])
        (licence,) = component["licenses"]
        assert licence["expression"]
        assert all(each["value"] for each in component.get("properties", ()))


def test_every_reference_leads_somewhere_and_everything_is_reached(bill: dict[str, Any]) -> None:
    refs = [OUTCROP, *(component["bom-ref"] for component in bill["components"])]
    assert len(refs) == len(set(refs))
    edges = {edge["ref"]: edge["dependsOn"] for edge in bill["dependencies"]}
    assert sorted(edges) == sorted(refs)
    reached, waiting = set(), [OUTCROP]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += edges[ref]
    assert reached == set(refs)


def test_it_names_what_an_installation_brings_and_no_tools(bill: dict[str, Any]) -> None:
    found = {component["name"]: component for component in bill["components"]}
    assert found["apsw"]["scope"] == "required"
    assert found["uvicorn"]["scope"] == "optional"
    assert {"name": "outcrop:extras", "value": "serve"} in found["uvicorn"]["properties"]
    assert found["outcrop-models"]["scope"] == "optional"
    assert {"pytest", "mypy", "playwright", "ruff"}.isdisjoint(found)
    numpy = [component for component in bill["components"] if component["name"] == "numpy"]
    markers = {each["value"] for component in numpy for each in component["properties"]}
    assert len(numpy) == len(markers)  # a version for each of several Pythons, each with when it counts


def test_it_is_the_same_every_time_and_another_for_another_lock(packages: list[Package]) -> None:
    asked = read_requirements()
    assert make_sbom(packages, asked, 1) == make_sbom(packages, asked, 1)
    fewer = make_sbom(packages[1:], asked, 1)
    assert fewer["serialNumber"] != make_sbom(packages, asked, 1)["serialNumber"]
