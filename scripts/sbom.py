"""The bill of materials of a release, as CycloneDX 1.6: `python -m scripts.sbom > outcrop.cdx.json`.

It lists what an installation of Outcrop can bring along, in the versions of the lock, with licences and who needs
what: `required` for everybody, `optional` with an extra. Tools for development are not in it. The same commit gives
the same bytes.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.build import PROJECTS, commit_time
from scripts.dependencies import BASE, DEV, OWN, Package, read_packages, read_requirements

SPEC: Final = "1.6"


def make_sbom(
    packages: Sequence[Package], asked: Mapping[str, Sequence[Requirement]], time_s: int
) -> dict[str, Any]:
    """The bill as JSON: of `packages` those that are shipped, under the project that asks for them."""
    shipped = [package for package in packages if package.is_shipped]
    refs: dict[str, list[str]] = {}
    for package in shipped:
        refs.setdefault(package.name, []).append(_ref(package.name, package.version))
    own = {name: _own(name) for name in PROJECTS}
    for name in OWN:
        refs[name] = [own[name]["bom-ref"]]
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(time_s, UTC).isoformat(),
            "lifecycles": [{"phase": "build"}],
            "component": own["outcrop"],
        },
        "components": [
            *({**own[name], "scope": "optional"} for name in sorted(OWN)),
            *(_component(package) for package in shipped),
        ],
        "dependencies": list(_dependencies(shipped, asked, refs, own)),
    }
    digest = uuid5(NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "serialNumber": digest.urn,
        **bill,
    }


def render(bill: Mapping[str, Any]) -> str:
    """The bill as a file."""
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


def _ref(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _own(name: str) -> dict[str, Any]:
    project = tomllib.loads((PROJECTS[name] / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "type": "library",
        "bom-ref": _ref(name, project["version"]),
        "name": name,
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"expression": project["license"]}],
        "purl": _ref(name, project["version"]),
    }


def _component(package: Package) -> dict[str, Any]:
    groups = ", ".join(sorted(package.groups - {BASE, DEV}))
    told = {"marker": package.marker, "extras": "" if package.in_base else groups}
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(package.name, package.version),
        "name": package.name,
        "version": package.version,
        "scope": "required" if package.in_base else "optional",
        "purl": _ref(package.name, package.version),
    }
    if package.licence:
        component["licenses"] = [{"expression": package.licence}]
    if any(told.values()):
        component["properties"] = [
            {"name": f"outcrop:{name}", "value": value} for name, value in told.items() if value
        ]
    return component


def _dependencies(
    shipped: Sequence[Package],
    asked: Mapping[str, Sequence[Requirement]],
    refs: Mapping[str, Sequence[str]],
    own: Mapping[str, Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    direct = {canonicalize_name(each.name) for group, lines in asked.items() if group != DEV for each in lines}
    yield _edge(own["outcrop"]["bom-ref"], sorted(direct), refs)
    for name in sorted(OWN):
        yield _edge(own[name]["bom-ref"], (), refs)
    for package in shipped:
        yield _edge(_ref(package.name, package.version), package.needs, refs)


def _edge(ref: str, needs: Sequence[str], refs: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Who needs whom; what is not in the lock, such as sentence-transformers, is not in the bill either."""
    return {"ref": ref, "dependsOn": [found for name in needs for found in refs.get(name, ())]}


def main() -> None:
    """Print the bill."""
    sys.stdout.write(render(make_sbom(read_packages(), read_requirements(), commit_time())))


if __name__ == "__main__":
    main()
