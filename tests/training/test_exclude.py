"""What is measured must not be trained on: by name, and line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from training.collect.exclude import Exclusions, main, read_exclusions
from training.collect.overlap import drop_overlapping, is_distinctive

LISTED = """\
# projects that are measured
pallets/flask
vuejs/core
fmtlib/fmt
spf13/cobra
serde-rs/serde
apache/commons-lang
apache/logging-log4cxx
google/gson
nlohmann/json
haskell/aeson
libuv/libuv
kotlin/kotlinx.coroutines
rack/rack
"""


@pytest.fixture
def exclusions(tmp_path: Path) -> Exclusions:
    listed = tmp_path / "listed.txt"
    listed.write_text(LISTED, "utf-8")
    return read_exclusions(listed)


@pytest.mark.parametrize(
    ("name", "urls"),
    [
        ("flask", ()),
        ("Flask", ("https://palletsprojects.com/p/flask",)),
        ("python3-flask", ()),
        ("whatever", ("git+https://github.com/Pallets/Flask.git",)),
        ("whatever", ("git@github.com:pallets/flask.git",)),
        ("whatever", ("https://github.com/someone/flask",)),  # a fork
        ("@vue/shared", ("https://github.com/vuejs/core",)),
        ("@vue/shared", ()),
        ("node-vue", ()),
        ("vuejs", ()),
        ("fmtlib", ()),
        ("golang-github-spf13-cobra", ()),
        ("golang-github-spf13-cobra-dev", ()),
        ("librust-serde-dev", ()),
        ("rust-serde-1", ()),
        ("serde_derive", ()),
        ("serde_json", ("https://github.com/serde-rs/json",)),
        ("libcommons-lang3-java", ()),
        ("log4cxx", ()),
        ("libgoogle-gson-java", ()),
        ("nlohmann-json3", ()),
        ("haskell-aeson", ()),
        ("libuv1", ()),
        ("kotlinx-coroutines", ()),
        ("ruby-rack", ()),
        ("ruby-rack-test", ("https://github.com/rack/rack-test",)),
        ("ruby-rack-cache", ()),  # nobody says whose it is
    ],
)
def test_a_listed_project_is_left_out_under_every_name(
    exclusions: Exclusions, name: str, urls: tuple[str, ...]
) -> None:
    assert exclusions.reason(name, urls)


@pytest.mark.parametrize(
    ("name", "urls"),
    [
        ("flask-login", ("https://github.com/maxcountryman/flask-login",)),
        ("attrs", ()),
        ("@angular/core", ("git+https://github.com/angular/angular.git",)),
        ("kotlin", ("https://kotlinlang.org",)),
        ("golang-github-spf13-pflag", ("https://github.com/spf13/pflag",)),
        ("serde_yaml", ("https://github.com/dtolnay/serde-yaml",)),
        ("formatting", ()),
        ("libuvc", ()),
    ],
)
def test_other_projects_stay(exclusions: Exclusions, name: str, urls: tuple[str, ...]) -> None:
    assert exclusions.reason(name, urls) == ""


def _code(word: str, count: int) -> str:
    return "\n".join(f"    {word}_{number} = compute_{word}(first_{number}, second)" for number in range(count))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


MEASURED_FUNCTION = (
    'def shout(words):\n    """Returns the words in capital letters."""\n    return words.upper() + "!"'
)


@pytest.fixture
def collected(tmp_path: Path) -> tuple[Path, list[Path]]:
    measured = tmp_path / "repos"
    _write(measured / "alpha" / "core.py", _code("alpha", 40))
    _write(measured / "alpha" / ".git" / "config", _code("clean", 40))
    header = "# Permission is hereby granted to everybody, free of charge"
    _write(measured / "alpha" / "licence.py", header)
    documents = tmp_path / "bench"
    _write(documents / "set" / "corpus.jsonl", json.dumps({"id": "0", "text": MEASURED_FUNCTION}) + "\n")
    src = tmp_path / "raw" / "src"
    for number in range(60):
        _write(src / "pypi" / "large" / f"part{number}.py", f"{header}\n{_code(f'clean{number}', 30)}")
        _write(src / "pypi" / "quoting" / f"part{number}.py", f"{header}\n{_code(f'other{number}', 30)}")
    _write(src / "pypi" / "quoting" / "copied.py", _code("alpha", 10) + "\n" + _code("own", 10))
    _write(
        src / "pypi" / "large" / "words.py", _code("more", 30) + "\n" + MEASURED_FUNCTION.replace("    ", "\t")
    )
    _write(src / "npm" / "@some__fork" / "a.js", "  " + _code("alpha", 40))
    _write(src / "npm" / "@some__fork" / "b.js", _code("fresh", 40))
    for name in ("one", "two", "three"):
        _write(src / "npm" / name / "index.js", header)
    return tmp_path / "raw", [measured, documents]


def test_overlapping_files_and_packages_are_dropped_and_reported(
    collected: tuple[Path, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    into, against = collected
    main(["--into", str(into), *(word for folder in against for word in ("--against", str(folder)))])
    assert (into / "dropped.txt").read_text("utf-8").splitlines() == [
        "src/npm/@some/fork/a.js",
        "src/npm/@some/fork/b.js",
        "src/pypi/large/words.py",
        "src/pypi/quoting/copied.py",
    ]
    lines = (into / "overlap.jsonl").read_text("utf-8").splitlines()
    report = {line["package"]: line for line in map(json.loads, lines)}
    assert report["npm/@some/fork"]["is_dropped"]
    assert report["pypi/quoting"]["known_lines"] == 10
    assert not report["pypi/quoting"]["is_dropped"]
    assert report["pypi/large"]["copies"] == ["src/pypi/large/words.py"]
    assert "packages dropped whole                           1" in capsys.readouterr().out


def test_a_line_that_many_packages_share_does_not_count(collected: tuple[Path, list[Path]]) -> None:
    into, against = collected
    drop_overlapping(into, against)
    dropped = (into / "dropped.txt").read_text("utf-8")
    assert "npm/one" not in dropped
    assert "part1.py" not in dropped


def test_short_lines_and_lines_of_few_words_are_not_distinctive() -> None:
    assert not is_distinctive("return self.value")
    assert not is_distinctive("-" * 80)
    assert not is_distinctive("x = 1234567890123456789012345678")
    assert is_distinctive("return self.registry.resolve(name)")


def test_a_copy_of_a_listed_project_inside_another_is_dropped(
    collected: tuple[Path, list[Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into, _ = collected
    _write(into / "src" / "npm" / "one" / "deps" / "libuv" / "src" / "loop.c", "int run_the_loop_once(void);")
    _write(into / "src" / "npm" / "one" / "core" / "own.c", "int core(void);")
    listed = tmp_path / "listed.txt"
    listed.write_text(LISTED, "utf-8")
    main(["--into", str(into), "--exclude", str(listed)])
    assert (into / "dropped.txt").read_text("utf-8") == "src/npm/one/deps/libuv/src/loop.c\n"
    assert "of a copied project         1" in capsys.readouterr().out
