"""Collecting from registries: small real archives behind a real server on this machine."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import lzma
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from training.collect import registries
from training.collect.__main__ import main, read_list
from training.collect.unpack import TextFile, choose, is_useful, read_text_file, sane_path

SOURCE = "def area(width, height):\n    return width * height\n"


def _tar(files: dict[str, str], kind: str = "gz") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return raw.getvalue()


def _ar(members: dict[str, bytes]) -> bytes:
    parts = [b"!<arch>\n"]
    for name, body in members.items():
        parts.append(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(body):<10}`\n".encode())
        parts.append(body + b"\n" * (len(body) % 2))
    return b"".join(parts)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Registry:
    """Serves what it was given by path, and remembers what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                body = registry.pages.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add_pypi(self, name: str, files: dict[str, str], **info: object) -> None:
        body = _tar({f"{name}-1.0/{path}": text for path, text in files.items()})
        self.pages[f"/files/{name}.tar.gz"] = body
        file = {
            "packagetype": "sdist",
            "filename": f"{name}-1.0.tar.gz",
            "url": f"{self.address}/files/{name}.tar.gz",
        }
        file |= {"digests": {"sha256": _sha256(body)}, "size": len(body)}  # type: ignore[dict-item]
        answer = {"info": {"version": "1.0", "classifiers": [], **info}, "urls": [file]}
        self.pages[f"/pypi/{name}/json"] = json.dumps(answer).encode()

    def add_npm(self, name: str, files: dict[str, str], *, break_hash: bool = False, **fields: object) -> None:
        body = _tar({f"package/{path}": text for path, text in files.items()})
        self.pages[f"/files/{name}.tgz"] = body
        digest = base64.b64encode(hashlib.sha512(body + b"!" * break_hash).digest()).decode()
        dist = {"tarball": f"{self.address}/files/{name}.tgz", "integrity": f"sha512-{digest}"}
        answer = {"dist-tags": {"latest": "2.0"}, "versions": {"2.0": {"dist": dist, **fields}}}
        self.pages["/npm/" + name.replace("/", "%2F")] = json.dumps(answer).encode()

    def add_debian(self, sources: str = "", binaries: str = "") -> None:
        for suite in registries.DEBIAN_SUITES:
            is_first = suite == registries.DEBIAN_SUITES[0]
            for index, text in (("source/Sources.xz", sources), ("binary-amd64/Packages.xz", binaries)):
                self.pages[f"/debian/dists/{suite}/main/{index}"] = lzma.compress(
                    (text if is_first else "").encode()
                )


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    server = Registry()
    monkeypatch.setattr(registries, "PYPI", f"{server.address}/pypi")
    monkeypatch.setattr(registries, "NPM", f"{server.address}/npm")
    monkeypatch.setattr(registries, "DEBIAN", f"{server.address}/debian")
    yield server
    server.close()


def _run(tmp_path: Path, lists: dict[str, str], *more: str) -> dict[str, dict[str, object]]:
    folder = tmp_path / "lists"
    folder.mkdir(exist_ok=True)
    for name, text in lists.items():
        (folder / f"{name}.txt").write_text(text, "utf-8")
    only = ",".join(lists)
    main(["--into", str(tmp_path / "raw"), "--lists", str(folder), "--only", only, "--workers", "2", *more])
    lines = (tmp_path / "raw" / "manifest.jsonl").read_text("utf-8").splitlines()
    return {line["name"]: line for line in map(json.loads, lines)}


def _kept(tmp_path: Path, package: str) -> set[str]:
    root = tmp_path / "raw" / "src" / package
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_permissive_package_is_unpacked_and_noted(registry: Registry, tmp_path: Path) -> None:
    gpl = "# under the GNU General Public License\n" + SOURCE
    files = {
        "src/shape.py": SOURCE,
        "README.md": "# Shapes\n",
        "src/old.py": gpl,
        "logo.png": "\0\0",
        "LICENSE": "x",
    }
    registry.add_pypi("shapes", files, license_expression="MIT")
    line = _run(tmp_path, {"pypi": "shapes\n"})["shapes"]
    assert _kept(tmp_path, "pypi/shapes") == {"src/shape.py", "README.md"}
    assert (line["kept"], line["files"], line["licence"], line["version"]) == (True, 2, "MIT", "1.0")
    assert line["bytes"] == len(SOURCE) + len("# Shapes\n")


def test_what_is_not_permissive_is_noted_and_not_downloaded(registry: Registry, tmp_path: Path) -> None:
    registry.add_pypi("closed", {"a.py": SOURCE}, license="GPLv3")
    line = _run(tmp_path, {"pypi": "closed\n"})["closed"]
    assert (line["kept"], line["why"]) == (False, "licence not permissive")
    assert "/files/closed.tar.gz" not in registry.asked


def test_the_text_of_the_licence_counts_where_the_registry_names_none(
    registry: Registry, tmp_path: Path
) -> None:
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy"
    registry.add_npm("quiet", {"index.js": SOURCE, "LICENSE": licence})
    registry.add_npm("silent", {"index.js": SOURCE + "//", "LICENSE": "ours"})
    lines = _run(tmp_path, {"npm": "quiet\nsilent\n"})
    assert lines["quiet"]["kept"]
    assert lines["quiet"]["licence"] == "MIT"
    assert not lines["silent"]["kept"]


def test_a_wrong_hash_and_a_missing_package_are_lines_in_the_manifest(
    registry: Registry, tmp_path: Path
) -> None:
    registry.add_npm("broken", {"index.js": SOURCE}, license="MIT", break_hash=True)
    lines = _run(tmp_path, {"npm": "broken\nnowhere\n"})
    assert "sha512" in str(lines["broken"]["why"])
    assert lines["nowhere"]["why"] == "not found"
    assert not (tmp_path / "raw" / "src").exists()


def test_a_second_run_fetches_nothing_again(registry: Registry, tmp_path: Path) -> None:
    registry.add_npm("@some/thing", {"lib/index.js": SOURCE}, license="ISC")
    _run(tmp_path, {"npm": "@some/thing\n"})
    asked = len(registry.asked)
    _run(tmp_path, {"npm": "@some/thing\n"})
    assert len(registry.asked) == asked
    assert _kept(tmp_path, "npm/@some__thing") == {"lib/index.js"}


def test_content_that_another_package_brought_is_kept_once(registry: Registry, tmp_path: Path) -> None:
    registry.add_npm("first", {"index.js": SOURCE}, license="MIT")
    registry.add_npm("second", {"copy.js": SOURCE}, license="MIT")
    _run(tmp_path, {"npm": "first\n"})
    assert _run(tmp_path, {"npm": "first\nsecond\n"})["second"]["why"] == "no useful file"


def test_members_cannot_be_written_outside_of_their_package(registry: Registry, tmp_path: Path) -> None:
    registry.add_npm("evil", {"../../../escape.js": SOURCE, "/etc/motd.md": "# Hello\n"}, license="MIT")
    _run(tmp_path, {"npm": "evil\n"})
    assert not (tmp_path / "escape.js").exists()
    assert all(
        path.is_relative_to(tmp_path / "raw" / "src" / "npm" / "evil")
        for path in (tmp_path / "raw").rglob("*.js")
    )
    assert len(_kept(tmp_path, "npm/evil")) == 2


def test_an_excluded_project_is_known_by_the_repository_in_its_metadata(
    registry: Registry, tmp_path: Path
) -> None:
    listed = tmp_path / "listed.txt"
    listed.write_text("someone/measured\n", "utf-8")
    registry.add_pypi(
        "renamed",
        {"a.py": SOURCE},
        license="MIT",
        project_urls={"Source": "https://github.com/Someone/measured"},
    )
    line = _run(tmp_path, {"pypi": "renamed\n"}, "--exclude", str(listed))["renamed"]
    assert line["why"] == "excluded: is someone/measured"


COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Source: https://github.com/someone/{name}

Files: *
Copyright: 2020 Someone
License: {licence}

Files: contrib/*
Copyright: 2020 Someone
License: GPL-3+
"""


def _add_source(registry: Registry, name: str, licence: str) -> str:
    packaging = _tar({"debian/copyright": COPYRIGHT.format(name=name, licence=licence)}, "xz")
    upstream = _tar(
        {f"{name}-1/src/{name}.lua": SOURCE + name, f"{name}-1/contrib/extra.lua": SOURCE + "extra"}
    )
    rows = [f"Package: {name}", "Version: 1-1", f"Directory: pool/{name}", "Checksums-Sha256:"]
    for file, body in ((f"{name}_1.orig.tar.gz", upstream), (f"{name}_1-1.debian.tar.xz", packaging)):
        registry.pages[f"/debian/pool/{name}/{file}"] = body
        rows.append(f" {_sha256(body)} {len(body)} {file}")
    return "\n".join(rows) + "\n\n"


def test_a_debian_source_is_kept_stanza_by_stanza(registry: Registry, tmp_path: Path) -> None:
    registry.add_debian(_add_source(registry, "free", "Expat") + _add_source(registry, "copyleft", "GPL-2+"))
    lines = _run(tmp_path, {"debian": "free 8MB  # lua\ncopyleft\n"})
    assert _kept(tmp_path, "debian/free") == {"src/free.lua"}
    assert lines["free"]["licence_found"] == "Expat"
    assert not lines["copyleft"]["kept"]
    assert "/debian/pool/copyleft/copyleft_1.orig.tar.gz" not in registry.asked


def test_a_binary_package_stands_in_for_a_source_that_the_mirror_lacks(
    registry: Registry, tmp_path: Path
) -> None:
    sources = _add_source(registry, "rust-shape", "Expat")
    registry.pages = {path: body for path, body in registry.pages.items() if "/pool/" not in path}
    root = "./usr/share/cargo/registry/shape-1"
    data = _tar(
        {
            "./usr/share/doc/librust-shape-dev/copyright": COPYRIGHT.format(name="shape", licence="Expat"),
            f"{root}/src/lib.rs": "pub fn area(w: u32, h: u32) -> u32 { w * h }\n",
            f"{root}/contrib/extra.rs": "pub fn more() {}\n",
        },
        "xz",
    )
    deb = _ar({"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data})
    registry.pages["/debian/pool/shape.deb"] = deb
    registry.add_debian(
        sources,
        "Package: librust-shape-dev\nSource: rust-shape\nVersion: 1-1\nFilename: pool/shape.deb\n"
        f"Size: {len(deb)}\nSHA256: {_sha256(deb)}\n",
    )
    assert _run(tmp_path, {"debian": "rust-shape\n"})["rust-shape"]["kept"]
    assert _kept(tmp_path, "debian/rust-shape") == {"src/lib.rs"}


def test_wheels_are_read_where_there_is_no_source_distribution(registry: Registry, tmp_path: Path) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("pure/area.py", SOURCE)
        archive.writestr("pure-1.dist-info/METADATA", "Name: pure")
    body = raw.getvalue()
    registry.pages["/files/pure-1-py3-none-any.whl"] = body
    file = {"packagetype": "bdist_wheel", "filename": "pure-1-py3-none-any.whl", "size": len(body)}
    file |= {"url": f"{registry.address}/files/pure-1-py3-none-any.whl", "digests": {"sha256": _sha256(body)}}
    answer = {"info": {"version": "1", "license": "MIT", "classifiers": []}, "urls": [file]}
    registry.pages["/pypi/pure/json"] = json.dumps(answer).encode()
    _run(tmp_path, {"pypi": "pure\n"})
    assert _kept(tmp_path, "pypi/pure") == {"pure/area.py"}


def test_a_list_may_give_a_cap_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# heading\nplain\nlarge 40MB  # csharp\n", "utf-8")
    assert [(each.name, each.max_bytes) for each in read_list(path)] == [
        ("plain", 4_000_000),
        ("large", 40_000_000),
    ]


def test_the_committed_lists_are_sorted_and_name_each_package_once() -> None:
    for path in sorted((Path(main.__code__.co_filename).parent / "packages").glob("*.txt")):
        names = [each.name for each in read_list(path)]
        assert names == sorted(set(names)), path.name
        assert len(names) > 500


@pytest.mark.parametrize(
    "path",
    [
        "src/a.swift",
        "docs/guide.rst",
        "man/tool.1",
        "README",
        "Makefile",
        "bin/start",
        "lib/x.zig",
        "src/a.kt",
        "faq.txt",
    ],
)
def test_source_and_documentation_are_useful(path: str) -> None:
    assert is_useful(path)


@pytest.mark.parametrize(
    "path",
    [
        "a.png",
        "node_modules/x/a.js",
        "vendor/lib/a.go",
        "LICENSE",
        "lib/a.min.js",
        "locale/de.txt",
        "debian/rules",
        "a.so",
    ],
)
def test_copies_data_and_licences_are_not(path: str) -> None:
    assert not is_useful(path)


def test_minified_binary_and_foreign_files_are_not_read() -> None:
    assert read_text_file("a.py", SOURCE.encode()) is not None
    assert read_text_file("a.py", b"a\0b") is None
    assert read_text_file("a.js", ("var a=function(){return 1};" * 200).encode()) is None
    assert read_text_file("bin/data", b"just words") is None
    assert read_text_file("bin/run", b"#!/bin/sh\necho hello\n") is not None
    assert read_text_file("a.pb.go", gzip.compress(b"x") + b"\0") is None


def test_the_choice_is_spread_over_folders_and_keeps_few_tests() -> None:
    files = [
        TextFile(f"src/{folder}/{number}.py", SOURCE * number) for folder in "abc" for number in range(1, 40)
    ]
    files += [TextFile(f"tests/test_{number}.py", SOURCE, "test") for number in range(40)]
    chosen = choose(files, max_files=40)
    folders = [each.path.rpartition("/")[0] for each in chosen]
    assert [folders.count(f"src/{folder}") for folder in "abc"] == [14, 13, 13]
    few = choose(files[:9] + files[-40:], max_files=40)
    assert sum(each.role == "test" for each in few) == 6


def test_built_scripts_are_kept_only_where_there_is_no_other_source() -> None:
    built = [TextFile("dist/index.js", SOURCE), TextFile("esm/index.js", SOURCE)]
    source = [TextFile(f"src/{name}.ts", SOURCE) for name in "abc"]
    assert [each.path for each in choose([*built, *source])] == ["src/a.ts", "src/b.ts", "src/c.ts"]
    assert [each.path for each in choose(built)] == ["dist/index.js"]


def test_a_package_is_cut_to_its_size() -> None:
    chosen = choose([TextFile(f"src/{number}.py", "x" * 1000) for number in range(50)], max_bytes=10_500)
    assert len(chosen) == 10


@pytest.mark.parametrize(
    "path", ["../a.py", "/etc/passwd", "a/../../b", ".hidden/x", "a b/c:d.py", "x/" * 200 + "a.py"]
)
def test_a_path_is_made_safe(path: str) -> None:
    safe = sane_path(path)
    assert ".." not in safe.split("/")
    assert not safe.startswith(("/", "."))
    assert len(safe) <= 180
