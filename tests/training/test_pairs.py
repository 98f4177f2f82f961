"""A package on disk becomes documents and the queries that ask for them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from training.pairs.__main__ import main
from training.pairs.clean import asked_part, plain, worth_asking
from training.pairs.package import read_package
from training.pairs.records import Doc, Gathered
from training.pairs.split import bare_name, choose_validation

POOL = '''"""Connections that are opened once and used by many requests."""

import socket


class ConnectionPool:
    """A pool of open sockets that threads share."""

    def acquire_socket(self, timeout: float) -> socket.socket:
        """Return an idle socket, or open a new one.

        :param timeout: seconds to wait
        """
        # wait until another thread gives one of its sockets back
        while not self._idle:
            self._changed.wait(timeout)
            self._drop_broken()
        return self._idle.pop()


def parse_address(text: str) -> tuple[str, int]:
    """Parse a host and port."""
    host, _, port = text.partition(":")
    return host, int(port)
'''
TESTS = """from pool import parse_address


def test_parse_address_without_port_uses_default():
    assert parse_address("example.org") == ("example.org", 80)
"""
README = """# Pooling

Sockets are kept open between requests so that a second request need not shake hands again.

## How do I close idle connections?

Call `close_idle` with the number of seconds after which a socket that nobody has used counts as idle. It may be called
from any thread at any time, and sockets that are in use are never touched.

## Addresses

Use `parse_address` to parse a host and its port:

```python
host, port = parse_address("localhost:80")
```

The port may be left out when the scheme of the address tells which one is meant, as it does for the web and for mail.
"""
CHANGES = """# Changes

- `parse_address` accepts names without a port (#12)
- Other things were improved
"""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "raw" / "src" / "pypi" / "pooling"
    (folder / "tests").mkdir(parents=True)
    (folder / "pool.py.gz").write_bytes(gzip.compress(POOL.encode()))
    (folder / "tests" / "test_pool.py").write_text(TESTS)
    (folder / "README.md").write_text(README)
    (folder / "CHANGES.md").write_text(CHANGES)
    (tmp_path / "raw" / "manifest.jsonl").write_text(
        json.dumps({"registry": "pypi", "name": "pooling", "kept": True})
        + "\n"
        + json.dumps({"registry": "pypi", "name": "other", "kept": False})
        + "\n"
    )
    return tmp_path / "raw"


@pytest.fixture
def gathered(collection: Path) -> Gathered:
    return read_package(collection / "src" / "pypi" / "pooling", "pypi/pooling")


def asked(gathered: Gathered, kind: str) -> dict[str, Doc]:
    return {pair.q: gathered.docs[pair.doc] for pair in gathered.pairs if pair.kind == kind}


def test_documentation_asks_for_code_that_does_not_repeat_it(gathered: Gathered) -> None:
    doc = asked(gathered, "doc")["Return an idle socket, or open a new one."]
    assert doc.name == "ConnectionPool.acquire_socket"
    assert doc.head == "pool.py > ConnectionPool > acquire_socket"
    assert doc.text.startswith("def acquire_socket(self")
    assert "Return an idle socket" not in doc.text
    assert doc.lang == "python"
    assert doc.code


def test_every_documented_function_of_python_is_asked_for_twice_in_other_words(gathered: Gathered) -> None:
    found = [query for query, doc in asked(gathered, "question").items() if doc.name == "parse_address"]
    assert len(found) == 2
    assert all("host" in query for query in found)


def test_a_comment_asks_for_the_block_below_it(gathered: Gathered) -> None:
    doc = asked(gathered, "comment")["wait until another thread gives one of its sockets back"]
    assert doc.text.split("\n")[1:3] == ["while not self._idle:", "    self._changed.wait(timeout)"]


def test_the_words_at_the_top_of_a_file_ask_for_what_it_declares(gathered: Gathered) -> None:
    doc = asked(gathered, "path")["Connections that are opened once and used by many requests."]
    assert "class ConnectionPool" in doc.text
    assert "def parse_address" in doc.text


def test_tests_changes_and_examples_ask_for_the_function_they_name(gathered: Gathered) -> None:
    assert asked(gathered, "test")["parse address without port uses default"].name == "parse_address"
    assert asked(gathered, "changelog")["parse_address accepts names without a port"].name == "parse_address"
    assert asked(gathered, "usage")["Use parse_address to parse a host and its port"].name == "parse_address"


def test_a_heading_that_is_a_question_asks_for_its_section(gathered: Gathered) -> None:
    doc = asked(gathered, "faq")["How do I close idle connections?"]
    assert doc.text.startswith("Call `close_idle`")
    assert doc.head == "Pooling > How do I close idle connections?"


def test_the_command_writes_the_same_bytes_again_and_reads_only_what_is_new(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / "pairs"
    call = ["--from", str(collection), "--into", str(into), "--workers", "1"]
    assert main(call) == 0
    assert "1 of 1 packages" in capsys.readouterr().out
    first = {name: (into / name).read_bytes() for name in ("docs.jsonl", "pairs.jsonl", "split.json")}
    assert main(call) == 0
    assert "1 of 1 packages" not in capsys.readouterr().out
    assert first == {name: (into / name).read_bytes() for name in first}
    docs = [json.loads(line) for line in first["docs.jsonl"].splitlines()]
    pairs = [json.loads(line) for line in first["pairs.jsonl"].splitlines()]
    assert [doc["id"] for doc in docs] == list(range(len(docs)))
    assert {doc["package"] for doc in docs} == {"pypi/pooling"}
    assert {pair["doc"] for pair in pairs} == set(range(len(docs)))
    assert json.loads((into / "stats.json").read_text())["pairs"] == len(pairs)


def test_files_that_the_collection_dropped_are_in_no_data_set(collection: Path, tmp_path: Path) -> None:
    (collection / "src" / "pypi" / "pooling").rename(collection / "src" / "pypi" / "@scope__pooling")
    line = json.dumps({"registry": "pypi", "name": "@scope/pooling", "kept": True})
    (collection / "manifest.jsonl").write_text(f"{line}\n")
    (collection / "dropped.txt").write_text("src/pypi/@scope__pooling/pool.py.gz\n")
    into = tmp_path / "pairs"
    assert main(["--from", str(collection), "--into", str(into), "--workers", "1"]) == 0
    docs = [json.loads(line) for line in (into / "docs.jsonl").read_text().splitlines()]
    assert {doc["path"] for doc in docs} == {"README.md"}


def test_an_empty_collection_is_an_error_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src").mkdir()
    assert main(["--from", str(tmp_path), "--into", str(tmp_path / "pairs")]) == 1
    assert "training.collect" in capsys.readouterr().err


def test_namesakes_of_other_registries_fall_on_the_same_side() -> None:
    assert (
        bare_name("pypi/python-foobar")
        == bare_name("debian/node-foobar")
        == bare_name("npm/@scope/foobar")
        == "foobar"
    )
    languages = {f"pypi/package-{number:x}": "python" for number in range(400)}
    languages |= {f"npm/package-{number:x}": "javascript" for number in range(400)}
    chosen = choose_validation(languages)
    assert {name.partition("/")[2] for name in chosen if name.startswith("pypi/")} == {
        name.partition("/")[2] for name in chosen if name.startswith("npm/")
    }
    assert 10 <= len(chosen) <= 160


def test_a_package_that_carries_a_language_is_never_held_out() -> None:
    languages = {f"pypi/thing{number}x": "python" for number in range(3000)}
    chosen = choose_validation(languages)
    assert chosen[0] not in choose_validation(languages, {chosen[0]})
    assert set(choose_validation(languages, {chosen[0]})) == set(chosen[1:])


def test_new_packages_move_none_to_the_other_side() -> None:
    few = {f"pypi/thing{number}x": "python" for number in range(3000)}
    many = few | {f"pypi/more{number}x": "python" for number in range(3000)}
    assert set(choose_validation(few)) == set(choose_validation(many)) & set(few)


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("/**\n * Opens the {@link File file}.\n * @param path where\n */", "Opens the File file."),
        ("/// Reads a [`Chunk`] of `n` bytes.\n///\n/// # Errors\n/// none", "Reads a Chunk of n bytes."),
        ('/// <summary>\n/// Gets the <see cref="T:Name"/> of it.\n/// </summary>', "Gets the Name of it."),
        ("Send :class:`~a.B` now.\n\n:param x: y", "Send a.B now."),
        ("# Takes +value+ and keeps it", "Takes value and keeps it"),
    ],
)
def test_comments_lose_their_marks(comment: str, said: str) -> None:
    assert asked_part(comment)[0] == said


def test_links_and_marks_of_prose_are_taken_off() -> None:
    assert plain("See [the **guide**](http://x.y/z) and `code`.") == "See the guide and code."


@pytest.mark.parametrize(
    "text",
    [
        "Constructor.",
        "See the other one for details",
        "TODO: write this down one day",
        "Copyright 2020 by somebody, all rights reserved",
        "x = y[z] if {a: b} else c->d(e)",
        "Initializes a new instance of the Foo class",
        "Gibt die Anzahl der Dateien und Ordner zurück die das Programm kennt",
    ],
)
def test_boilerplate_code_and_other_languages_ask_nothing(text: str) -> None:
    assert not worth_asking(text)
