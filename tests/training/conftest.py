"""A handful of packages as the pairs command writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TOPICS = ("socket", "file", "thread", "timer", "color", "window")
VERBS = {"open": "acquire", "close": "release", "copy": "duplicate", "count": "tally"}


def _code(number: int, package: str, topic: str, verb: str) -> dict[str, Any]:
    text = f"def {verb}_{topic}(self):\n    self.log('{VERBS[verb]}')\n    return self.{topic}.{verb}()"
    head = f"{topic}.py > {verb}_{topic}"
    about = {"path": f"src/{topic}.py", "head": head, "text": text, "lang": "python", "code": True}
    return {"id": number, "package": package, **about}


def _prose(number: int, package: str, topic: str, verb: str) -> dict[str, Any]:
    text = f"To {verb} a {topic}, ask for its {VERBS[verb]} handle first. Each {topic} has one."
    head = f"Guide > {verb.title()} a {topic}"
    about = {"path": f"docs/{topic}.md", "head": head, "text": text, "lang": "markdown", "code": False}
    return {"id": number, "package": package, **about}


@pytest.fixture
def pairs_folder(tmp_path: Path) -> Path:
    """Two packages held out, 24 functions and 24 sections, each asked for once, and one that was learnt from."""
    docs: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    for package, make, kind in (
        ("pypi/learnt", _code, "question"),
        ("pypi/code", _code, "question"),
        ("debian/guide", _prose, "section"),
    ):
        for topic in TOPICS:
            for verb in VERBS:
                pairs.append({"q": f"how do I {verb} the {topic}?", "doc": len(docs), "kind": kind})
                pairs.append({"q": f"{verb}_{topic}", "doc": len(docs), "kind": "name"})
                docs.append(make(len(docs), package, topic, verb))
    folder = tmp_path / "pairs"
    folder.mkdir()
    (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in docs))
    (folder / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    (folder / "split.json").write_text(json.dumps({"validation": ["debian/guide", "pypi/code"]}))
    return folder
