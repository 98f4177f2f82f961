"""What is related: no edge by a method's name that any object may have, no pages of other projects."""

from __future__ import annotations

from pathlib import Path

import pytest

import outcrop

REGISTRY = '''class Registry:
    """Keeps handlers."""

    def get(self, name):
        return self.handlers[name]

    def acquire_handler(self, name):
        return self.get(name)
'''
CALLER = '''from store import Registry


def handle(request):
    """Answer a request."""
    options = dict(request)
    return options.get("x")
'''
SAME_FILE = (
    REGISTRY
    + '''

def padding():
    """{}"""


def look_up(settings):
    """Read a setting."""
    return settings.get("y")
'''.format("Words that make a chunk of its own. " * 60)
)
NAMED = '''from store import Registry


def find(registry):
    """Find a handler."""
    return Registry.get(registry, "x")
'''


def relatives(kb: outcrop.Engine, name: str) -> set[tuple[str, str]]:
    return {(item.relation, item.chunk.document.path) for item in kb.related(name).relatives}


def test_a_call_on_something_unknown_leads_to_no_method_of_a_common_name(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in {
        "store.py": REGISTRY,
        "app.py": CALLER,
        "whole.py": SAME_FILE,
        "named.py": NAMED,
    }.items():
        (tree / name).write_text(text)
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(tree)
        callers = relatives(kb, "Registry.get")
        assert ("caller", "named.py") in callers
        assert ("caller", "app.py") not in callers
        for caller in ("handle", "look_up"):
            targets = {
                item.chunk.code.symbol
                for item in kb.related(caller).relatives
                if item.relation == "callee" and item.chunk.code is not None
            }
            assert not any("get" in symbol for symbol in targets)


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    adapter = (
        'class HTTPAdapter:\n    """Sends."""\n\n    def deliver(self, request):\n        return request\n'
    )
    files = {
        "one/adapters.py": adapter,
        "one/README.md": "# Adapters\n\n`HTTPAdapter` is the transport.\n",
        "two/guide.md": "# Mounting\n\nUse `HTTPAdapter` of another library; see `HTTPAdapter.deliver`.\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_pages_of_another_project_are_not_related(projects: Path) -> None:
    with outcrop.open(projects / "index.db") as kb:
        kb.add(projects / "one")
        kb.add(projects / "two")
        assert relatives(kb, "HTTPAdapter") == {("doc", "README.md")}
        assert relatives(kb, "guide.md") == set(), "nor the other way round"


def test_pages_of_the_same_commit_are_related_in_any_collection(projects: Path) -> None:
    git = projects / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
    (git / "objects").mkdir()
    with outcrop.open(projects / "index.db") as kb:
        kb.add(projects / "one")
        kb.add(projects / "two")
        assert relatives(kb, "HTTPAdapter") == {("doc", "README.md"), ("doc", "guide.md")}
