"""No child process runs code of the folder the user stands in, and there is one place that starts them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cost import PATIENCE_S
from tests.embed.onnx_models import write_embedder
from tests.serve.http.running import write_notes
from tests.write.test_readers import RECIPE, job

import outcrop
import outcrop_models
from outcrop.config import load_config
from outcrop.embed.inference.runner import Runner
from outcrop.embed.onnx import OnnxEmbedder
from outcrop.engine import Engine
from outcrop.parse.isolate import close_worker, parse_isolated
from outcrop.parse.limits import ParseLimits
from outcrop.serve.http.searchers import Searchers
from outcrop.serve.mcp.hooks import HOOK_FILES, make_hook
from outcrop.workers.process import DEVNULL, child_environment, start_child, start_program
from outcrop.write.readers import _Reader

PACKAGE = Path(outcrop.__file__).parent
MODULES = (
    "outcrop.embed.inference.worker",
    "outcrop.parse.worker",
    "outcrop.parse.scan.worker",
    "outcrop.serve.http.searchers",
    "outcrop.cluster.driver",
    "outcrop.write.reader",
)
ARGUMENTS = {
    "outcrop.parse.worker": (str(2**31),),
    "outcrop.parse.scan.worker": (str(2**31), str(outcrop_models.ocr), "1"),
}
BY_CLIENTS = "outcrop.serve.hook"
"""Started by agents' programs, with the command that `outcrop install --hooks` writes for them."""
STARTERS = {
    "os": ("system", "popen", "startfile", "fork", "forkpty", "exec", "spawn", "posix_spawn"),
    "asyncio": ("create_subprocess_",),
    "click": ("launch", "edit"),
}
FORBIDDEN = {
    "subprocess",
    "multiprocessing",
    "pty",
    "webbrowser",
    "_posixsubprocess",
    "concurrent.futures.process",
}
OPENS = ("serve/cli/commands/serve.py", "serve/cli/finder.py")
"""`outcrop serve --open` hands an address to the desktop, `outcrop ui` a document: no Python is started."""
SHADOWED = (
    *(
        "numpy",
        "apsw",
        "click",
        "lxml",
        "ray",
        "tree_sitter",
        "onnxruntime",
        "pypdfium2",
        "tokenizers",
        "Stemmer",
    ),
    *("argparse", "json", "logging", "pickle", "sitecustomize", "usercustomize"),
)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hostile current folder, and an environment that leads into it; whatever runs there leaves a file `RAN`."""
    folder = tmp_path / "hostile"
    (folder / "outcrop").mkdir(parents=True)
    ran = folder / "RAN"
    code = f"import os\nos.close(os.open({str(ran)!r}, os.O_CREAT | os.O_WRONLY))\n"
    for name in SHADOWED:
        (folder / f"{name}.py").write_text(code)
    for name in ("__init__", "__main__"):
        (folder / "outcrop" / f"{name}.py").write_text(code)
    monkeypatch.chdir(folder)
    for name, value in hostile_settings(folder).items():
        monkeypatch.setenv(name, value)
    close_worker()
    yield ran
    close_worker()


def hostile_settings(folder: Path) -> dict[str, str]:
    path = os.pathsep.join(("", ".", "./", str(folder), f"{folder}/.", "..//hostile"))
    return {
        "PYTHONPATH": path,
        "PYTHONSTARTUP": "numpy.py",
        "PYTHONINSPECT": "1",
        "PYTHONHOME": "elsewhere",
        "PYTHONUSERBASE": "base",
        "PYTHONPYCACHEPREFIX": "cache",
        "PYTHONWARNINGS": "ignore::numpy.Trap",
        "PYTHONBREAKPOINT": "numpy.trap",
    }


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def starts(tree: ast.AST) -> Iterator[str]:
    """Whatever in a module could start a process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FORBIDDEN)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named = {alias.name for alias in node.names}
            if node.module.split(".")[0] in FORBIDDEN or "ProcessPoolExecutor" in named:
                yield node.module
            prefixes = STARTERS.get(node.module, ())
            yield from (name for name in named if prefixes and name.startswith(prefixes))
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr.startswith(STARTERS.get(node.value.id, ()))
        ):
            yield f"{node.value.id}.{node.attr}"


def started_module(call: ast.Call) -> str | None:
    """The module that a call runs as a Child, by name or from a subclass's `super().__init__`."""
    is_child = isinstance(call.func, ast.Name) and call.func.id == "Child"
    is_subclass = isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
    if (is_child or is_subclass) and call.args and isinstance(call.args[0], ast.Constant):
        said = str(call.args[0].value)
        return said if said.startswith("outcrop.") else None
    return None


def test_one_module_starts_processes() -> None:
    sources = [*PACKAGE.rglob("*.py"), *PACKAGE.parents[1].glob("models/src/**/*.py")]
    found = {
        (path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else str(path), what)
        for path in sources
        for what in starts(ast.parse(path.read_text("utf-8")))
    }
    assert found == {("workers/process.py", "subprocess"), *((path, "click.launch") for path in OPENS)}


def test_a_program_of_the_current_folder_is_not_started_whatever_the_path_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = tmp_path / "rg"
    hostile.write_text("#!/bin/sh\nexit 7\n")
    hostile.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", ""):
        monkeypatch.setenv("PATH", path)
        with pytest.raises(FileNotFoundError):
            start_program(["rg"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert start_program(["rg"], stdout=None).wait(PATIENCE_S) == 7, "named in full, it is"


def test_every_module_that_is_started_is_tried_below() -> None:
    asked = [
        (path.relative_to(PACKAGE).as_posix(), call)
        for path in PACKAGE.rglob("*.py")
        for call in calls(ast.parse(path.read_text("utf-8")))
    ]
    starting = [
        where for where, call in asked if isinstance(call.func, ast.Name) and call.func.id == "start_child"
    ]
    assert starting == ["workers/process.py"]
    started = {module for _, call in asked if (module := started_module(call)) is not None}
    assert started == set(MODULES)
    runnable = {
        "outcrop." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if 'if __name__ == "__main__"' in path.read_text("utf-8")
    }
    assert runnable == {*MODULES, BY_CLIENTS, "outcrop.__main__"}


@pytest.mark.parametrize("module", MODULES)
def test_a_child_imports_nothing_from_the_current_folder(module: str, trap: Path) -> None:
    arguments = ARGUMENTS.get(module, ())
    child = start_child(module, *arguments, stderr=DEVNULL)
    child.communicate(b"", timeout=120)
    assert not trap.exists()


@pytest.mark.parametrize("module", MODULES)
def test_the_trap_would_have_caught_it(module: str, trap: Path) -> None:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(
        [sys.executable, "-m", module],
        env=settings,
        stdin=DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert trap.exists()


def test_a_worker_that_reads_a_file_runs_nothing_there(trap: Path) -> None:
    page = b"<h1>Retries</h1><p>A request is retried.</p>"
    read = parse_isolated(
        "html", page, path="a.html", charset=None, limits=ParseLimits(timeout_s=60, memory_bytes=2**30)
    )
    assert "retried" in read.text
    assert not trap.exists()


def test_a_reader_that_prepares_files_runs_nothing_there(trap: Path, tmp_path: Path) -> None:
    notes = write_notes(tmp_path / "notes")
    with _Reader(RECIPE) as reader:
        header, _ = reader.prepare([job(notes / "pool.py"), job(notes / "retries.md")])
    assert "raised" not in header
    assert not trap.exists()


def test_a_process_that_searches_runs_nothing_there(trap: Path, tmp_path: Path) -> None:
    config = load_config({"db": str(tmp_path / "index.db")}, environ={})
    with Engine(config) as engine:
        engine.add(write_notes(tmp_path / "notes"))
    searchers = Searchers(config, 2)
    searchers.start()
    try:
        found = searchers.search("how is a request retried?", {})
    finally:
        searchers.stop()
    assert found is not None
    assert json.loads(found[1])["hits"]
    assert not trap.exists()


def test_the_process_that_runs_models_runs_nothing_there(trap: Path, tmp_path: Path) -> None:
    runner = Runner()
    embedder = OnnxEmbedder(write_embedder(tmp_path / "model", work=1), threads=1, runner=runner)
    try:
        vector = embedder.embed_query("red")
    finally:
        embedder.close()
        runner.close()
    assert vector.any()
    assert not trap.exists()


def test_what_install_writes_runs_nothing_of_the_project(tmp_path: Path, trap: Path) -> None:
    settings = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    asked = [sys.executable, "-m", "outcrop", "install", "cursor", "--print", "--json"]
    asked += ["--db", str(tmp_path / "index.db")]
    printed = subprocess.run(
        asked, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True
    ).stdout
    entry = json.loads(printed)["entry"]
    assert Path(entry["command"]).is_absolute()
    started = subprocess.run(
        [entry["command"], *entry["args"]],
        env=settings,
        stdin=DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert started.returncode == 0, started.stderr
    assert not trap.exists()


@pytest.mark.parametrize("client", HOOK_FILES)
def test_a_hook_runs_nothing_of_the_project(client: str, tmp_path: Path, trap: Path) -> None:
    db = tmp_path / "index.db"
    with Engine(load_config({"db": str(db)}, environ={})) as engine:
        engine.add(write_notes(tmp_path / "notes"))
    entry = make_hook(client, str(db))
    (command,) = [each["command"] for each in entry.get("hooks", [entry])]
    event = {"cwd": str(tmp_path / "notes"), "tool_input": {"pattern": "how is a request retried"}}
    assert BY_CLIENTS in command
    started = subprocess.run(
        command, shell=True, input=json.dumps(event), text=True, capture_output=True, timeout=120, check=False
    )
    assert json.loads(started.stdout) is not None
    assert not trap.exists()


def test_the_module_run_by_hand_takes_its_libraries_from_elsewhere(tmp_path: Path) -> None:
    trap = tmp_path / "hostile"
    trap.mkdir()
    (trap / "click.py").write_text("raise SystemExit(77)")
    (trap / "numpy.py").write_text("raise SystemExit(77)")
    settings = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    asked = [
        sys.executable,
        "-m",
        "outcrop",
        "add",
        "--text",
        "words",
        "--id",
        "a.md",
        "--db",
        str(tmp_path / "i.db"),
    ]
    done = subprocess.run(asked, cwd=trap, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_environment_keeps_what_leads_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = PACKAGE.parent
    given = {
        "PATH": "/bin",
        "OUTCROP_DB": "x.db",
        "PYTHONUTF8": "1",
        "PYTHONHOME": "/opt/python",
        "PYTHONSAFEPATH": "",
        "PYTHONPATH": os.pathsep.join(
            ("/opt/lib", "", "lib", str(tmp_path), os.path.relpath(own), "/opt/more")
        ),
    }
    kept = child_environment(given)
    assert kept.pop("PYTHONPATH").split(os.pathsep) == [
        "/opt/lib", str(tmp_path / os.path.relpath(own)), "/opt/more"
    ]  # fmt: skip
    assert kept == {"PATH": "/bin", "OUTCROP_DB": "x.db", "PYTHONUTF8": "1", "PYTHONHOME": "/opt/python"}
    assert "PYTHONPATH" not in child_environment({})
    assert "PYTHONPATH" not in child_environment({"PYTHONPATH": "."})
