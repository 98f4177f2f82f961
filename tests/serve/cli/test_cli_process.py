"""The real command in a real process: start-up, pipes, logs, completion."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import outcrop as package
from outcrop.engine import open_engine

OUTCROP = [sys.executable, "-m", "outcrop"]


def run(*args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OUTCROP, *map(str, args)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_starts_fast_and_imports_nothing_heavy() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0
    assert "search" in result.stdout
    # 0.05 to 0.11 s where this was written; loose, since machines differ.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
    code = (
        "import sys, outcrop.serve.cli.app; from outcrop.serve.cli.commands import health, code, install, "
        "documents, evaluate, find, ingest; "
        "print([m for m in ('numpy', 'apsw', 'rich', 'asyncio', 'outcrop.config', "
        "'outcrop.engine', 'outcrop.records.found') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


NOT_FOR_A_SEARCH = [
    # what draws, what waits, what talks
    "rich", "asyncio", "ssl", "socket", "subprocess", "concurrent", "multiprocessing", "tempfile",
    "csv", "gzip", "lzma", "email", "http", "numpy.random", "numpy.ma", "numpy.typing", "numpy.testing",
    # the write path, other stores, and what questions of another kind need
    "outcrop.write", "outcrop.chunk", "outcrop.mask", "outcrop.cluster", "outcrop.code", "outcrop.store.postgres",
    "outcrop.embed.inference", "outcrop.embed.openai", "outcrop.workers", "outcrop.parse.code", "outcrop.parse.formats",
    "outcrop.index.columns", "outcrop.index.merging", "outcrop.index.trigrams", "outcrop.records.where",
    "outcrop.records.reports", "outcrop.records.scanned", "outcrop.store.conditions", "outcrop.read.rerank",
    "outcrop.read.pack", "outcrop.read.question", "outcrop.text.detect", "outcrop.text.languages", "outcrop.text.mime",
    "outcrop.text.unspaced", "outcrop.notes", "outcrop.chat", "outcrop.evals",
]  # fmt: skip
"""Loaded by no search of an English index into a pipe."""
MOST_OF_OURS = 111
"""Modules of ours that such a search loads, packages with them; `benchmarks.house` counts 103."""


def test_a_search_loads_what_it_needs_and_no_more(tmp_path: Path) -> None:
    long = " ".join(["Nothing else is said about this, and it goes on for a while."] * 12)
    sections = [
        f"# Part {number}\n\nA failed request is retried {number} times. {long}\n" for number in range(150)
    ]
    (tmp_path / "note.md").write_text("\n".join(sections))  # enough for its arrays to be saved
    data = str(tmp_path / "data")
    assert run("add", tmp_path / "note.md", OUTCROP_DATA_DIR=data).returncode == 0
    code = (
        "import atexit, json, sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules))));"
        "sys.argv = ['outcrop', 'search', 'how often is a failed request retried'];"
        "from outcrop.serve.cli.app import main; main()"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OUTCROP_DATA_DIR": data},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "A failed request is retried" in found.stdout
    loaded = json.loads(found.stdout.splitlines()[-1])
    assert [name for name in NOT_FOR_A_SEARCH if name in loaded] == []
    assert sum(name.partition(".")[0] == "outcrop" for name in loaded) <= MOST_OF_OURS


def test_the_public_names_are_these() -> None:
    assert package.__all__ == [
        "Answer",
        "Chunk",
        "CodeMap",
        "Config",
        "Context",
        "Directive",
        "DocumentInfo",
        "Embedder",
        "Engine",
        "Filter",
        "Hit",
        "IngestReport",
        "Message",
        "OutcropError",
        "Progress",
        "Related",
        "Reranker",
        "SearchOptions",
        "Store",
        "Text",
        "Tokenizer",
        "chunk_text",
        "load_config",
        "open",
        "to_arrow",
        "to_rows",
    ]
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert package.open is open_engine
    assert set(package.__all__) <= set(dir(package))
    assert not hasattr(package, "nothing")


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version").stdout == f"outcrop {package.__version__}\n"


def test_misspelt_commands_and_options_get_a_suggestion() -> None:
    command = run("serch", "x")
    assert command.returncode == 2
    assert "Did you mean 'search'?" in command.stderr
    option = run("search", "x", "--collecton", "y")
    assert option.returncode == 2
    assert "--collection" in option.stderr


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    with open_engine(db) as kb:
        kb.add(text="\n".join(f"line {i} of a long text" for i in range(40_000)), id="long")
    for command in (
        "show long",
        "show long --json",
        "search 'long text' --full -n 500",
        "context 'long text' -b 90000",
    ):
        script = (
            f"{sys.executable} -m outcrop {command} --db {db} | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"
        )
        result = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True, timeout=60)
        assert result.stdout.strip() == "0", command
        assert "Traceback" not in result.stderr
        assert "BrokenPipe" not in result.stderr


def test_logs_are_json_lines_with_their_fields(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    assert run("add", "--text", "wombats dig", "--db", db).stderr == ""
    result = run("search", "wombats", "--json", "--db", db, OUTCROP_LOG_LEVEL="info")
    json.loads(result.stdout)
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    search = next(line for line in lines if line["message"] == "search")
    assert search["level"] == "info"
    assert search["hits"] == 1
    assert search["total"] > 0
    assert run("search", "wombats", "--db", db, "--log-level", "debug").stderr.startswith('{"time"')


def test_the_shell_completes_commands_options_and_collections(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    run("add", "--text", "wombats dig", "-c", "animals", "--db", db)

    def complete(words: str) -> str:
        count = str(len(words.split(" ")) - 1)
        env = {
            "_OUTCROP_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": count,
            "OUTCROP_DB": str(db),
        }
        return subprocess.run(
            [str(Path(sys.executable).with_name("outcrop"))],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    assert "plain,search" in complete("outcrop sea")
    assert "--collection" in complete("outcrop search --coll")
    assert "plain,animals" in complete("outcrop search -c an")


def test_a_bad_setting_is_one_clean_line() -> None:
    result = run("status", OUTCROP_LIMT="3")
    assert result.returncode == 2
    assert "did you mean limit?" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_colours_can_be_forced_and_refused(tmp_path: Path) -> None:
    db = tmp_path / "i.db"
    run("add", "--text", "wombats dig", "--db", db)
    search = ("search", "wombats", "--db", db)
    assert "\x1b[1;31mwombats" in run(*search, FORCE_COLOR="1", NO_COLOR="").stdout
    assert "\x1b" not in run(*search, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in run(*search, "--no-color", FORCE_COLOR="1", NO_COLOR="").stdout
    assert "\x1b" not in run(*search, NO_COLOR="").stdout
