"""Mutants against the tests that reach them, each in a fork of a process that has loaded the libraries already.

Nothing is written: the fork imports the changed source in place of the file. Tests that reach a function are found by
one run in which the functions say so.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Literal

import pytest
from benchmarks.report import ROOT

from proofs.mutants.make import Mutant

Verdict = Literal["killed", "timeout", "survived", "uncovered"]

LONGEST_CPU_S = 15
"""CPU time of the tests of one mutant: a mutant that loops for ever is one that was noticed."""
LONGEST_TESTS = 150
"""Tests that are tried for one mutant, the quickest first: who passes so many passes the rest (not measured)."""
SLOWEST_TEST_S = 2.5
"""CPU time of a test that is tried; few are slower, and others reach the same (not measured)."""
_LIBRARIES = (
    "numpy",
    "hypothesis",
    "hypothesis.strategies",
    "lxml.etree",
    "Stemmer",
    "apsw",
    "tree_sitter",
)


@dataclass(frozen=True, slots=True)
class Reach:
    """Which tests reach which functions, and how long each takes."""

    tests: Mapping[tuple[str, str], frozenset[str]]
    seconds: Mapping[str, float]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests to run for a mutant, quickest first; for what runs at import, all of its class or file."""
        reached = self._reaching(mutant.module, mutant.function) or self._reaching(mutant.module, "")
        quick = (test for test in reached if self.seconds[test] <= SLOWEST_TEST_S)
        return sorted(quick, key=lambda test: self.seconds[test])[:LONGEST_TESTS]

    def _reaching(self, module: str, function: str) -> frozenset[str]:
        """The tests that reach a function, a method of a class, or anything in a module."""
        inside = f"{function}." if function else ""
        return frozenset[str]().union(
            *(
                found
                for (where, name), found in self.tests.items()
                if where == module and f"{name}.".startswith(inside)
            )
        )


REACHED: set[tuple[str, str]] = set()
"""(module, function) of what has run since it was last emptied; instrumented functions put themselves in."""


class _Follower:
    """A plugin of pytest that notes the functions that each test runs."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, str], set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails."""
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        REACHED.clear()
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            for place in REACHED:
                self.tests.setdefault(place, set()).add(item.nodeid)


def _instrumented(module: str, source: str) -> str:
    """The source with functions that say that they were reached; a class says so when one is made."""
    tree = ast.parse(source)
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        parent, function = todo.pop()
        for node in ast.iter_child_nodes(parent):
            inside = function
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside = f"{function}.{node.name}" if function else node.name
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("lru_cache"):
                        # What is remembered would run, and say so, in the first test only.
                        decorator.keywords = [ast.keyword("maxsize", ast.Constant(0))]
                told = ast.parse(f"__reached__.add(({module!r}, {inside!r}))").body[0]
                at = 1 if ast.get_docstring(node) is not None else 0
                node.body.insert(at, told)
            todo.append((node, inside))
    return ast.unparse(ast.fix_missing_locations(tree))


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules in texts of ours instead of in their files."""

    def __init__(self, sources: Mapping[str, tuple[str, Path]]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, _path: object, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._sources:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self._sources[fullname][1]))
        spec.has_location = True
        return spec

    def exec_module(self, module: Any) -> None:
        source, file = self._sources[module.__name__]
        module.__dict__["__reached__"] = REACHED
        code: CodeType = compile(source, str(file), "exec", dont_inherit=True)
        exec(code, module.__dict__)


def _in_fork(work: Any, seconds: float) -> int:
    """The exit status of some work in a fork; minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            status = int(work())
        os._exit(status)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # what its tests left behind
    return os.waitstatus_to_exitcode(status)


def load_libraries() -> None:
    """Import what every fork would import, and nothing of ours."""
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _pytest(tests: Sequence[str], plugins: Sequence[object] = (), *options: str) -> int:
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    os.environ["HYPOTHESIS_PROFILE"] = "same"  # nothing but the mutant shall make a test fail
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = (
        "1"  # those of other libraries take seconds, and no test needs them
    )
    # Those that pack thousands of texts take minutes, and would make the run take a day.
    always = ["-q", "-p", "no:cacheprovider", "-p", "pytest_timeout", "-o", "timeout=0", "-k", "not thousand"]
    return int(pytest.main([*always, *options, *tests], plugins=list(plugins)))


def file_of(module: str) -> Path:
    """The file of a module."""
    return ROOT / "src" / f"{module.replace('.', '/')}.py"


def find_reach(modules: Sequence[str], tests: Sequence[str]) -> Reach:
    """Run the tests once; which functions of these modules each reaches.

    What fails without a change, as on a machine that is too busy for it, says nothing of mutants and is left out.
    """
    sources = {name: (_instrumented(name, file_of(name).read_text("utf-8")), file_of(name)) for name in modules}
    sys.meta_path.insert(0, _Sources(sources))
    follower = _Follower()
    _pytest(tests, [follower])
    passed = follower.seconds.keys() - follower.failed
    return Reach(
        {place: frozenset(found & passed) for place, found in follower.tests.items()}, follower.seconds
    )


def try_mutant(job: tuple[Mutant, Sequence[str]]) -> Verdict:
    """Whether one of the tests notices the mutant."""
    mutant, tests = job
    if not tests:
        return "uncovered"

    def work() -> int:
        sys.meta_path.insert(0, _Sources({mutant.module: (mutant.source, file_of(mutant.module))}))
        return _pytest(tests, (), "-x")

    status = _in_fork(work, LONGEST_CPU_S)
    if status in {-signal.SIGXCPU, -signal.SIGKILL}:
        return "timeout"
    # 2 and 4: it cannot even be imported, and so the tests cannot be found.
    verdicts: dict[int, Verdict] = {0: "survived", 1: "killed", 2: "killed", 4: "killed"}
    if status not in verdicts:
        raise RuntimeError(f"{mutant.name}: pytest ended with {status}; tests: {' '.join(tests)[:300]}")
    return verdicts[status]
