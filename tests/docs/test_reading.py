"""What is read out of a page: its blocks, and what comments say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs import reading
from tests.docs.reading import Block, Command, Page, read_page

PAGE = """# A page

<!-- sandbox: notes, project -->
<!-- setup:
outcrop add ~/notes
outcrop status
-->

```console
$ outcrop search \\
  keys
1. keys.md

2. more.md
$ outcrop ls
```

<!-- not run: needs a network -->
```console
$ pip install ./outcrop
```

<!-- exits with: 1 -->
```console
$ outcrop search nothing
```

```python
print("hello")
```

<!-- prints -->
```text
hello
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    (tmp_path / "page.md").write_text(PAGE)
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    return read_page("page.md")


def test_comments_say_what_a_page_needs(page: Page) -> None:
    assert page.sandbox == {"notes", "project"}
    setup, first, installed, failing, code, text = page.blocks
    assert [command.typed for command in setup.commands()] == ["outcrop add ~/notes", "outcrop status"]
    assert (setup.hidden, first.hidden) == (True, False)
    assert (first.not_run, installed.not_run, failing.not_run) == ("", "needs a network", "")
    assert (first.exits, failing.exits, code.exits) == (0, 1, 0)
    assert (code.language, code.prints, text.prints) == ("python", False, True)


def test_a_console_has_commands_and_what_they_print(page: Page) -> None:
    assert page.blocks[1].commands() == [
        Command("outcrop search \\\n  keys", ("1. keys.md", "", "2. more.md")),
        Command("outcrop ls", None),
    ]


def test_a_console_without_a_prompt_has_no_command() -> None:
    assert Block("console", "outcrop ls\n", 1).commands() == []
