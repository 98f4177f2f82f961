"""related, map and context --code on a small repository: Python, Go and a README."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console
from tests.serve.cli.runner import Outcrop

from outcrop.engine import open_engine
from outcrop.serve.cli.render import print_answer
from outcrop.serve.cli.render_code import about_code, print_related
from outcrop.serve.cli.session import Screen
from outcrop.serve.excerpt import Marker, best_lines
from outcrop.serve.logs import write_logs

# Long enough that every declaration is a chunk of its own.
_FILLER = "".join(f"        self.note('step {i} of the work', {i} * 7, when='later')\n" for i in range(18))
FILES = {
    "README.md": "# Shop\n\nConnections come from `ConnectionPool.acquire` in `src/pool.py`.\n",
    "src/pool.py": '"""Connections that are used again."""\n\n\n'
    'class ConnectionPool:\n    """Hands out connections."""\n\n'
    '    def acquire(self, timeout: float) -> object:\n        """Take an idle connection, or open one."""\n'
    + _FILLER
    + "        return self.note('acquired', 0, when='now')\n\n"
    '    def note(self, text: str, number: int, when: str) -> object:\n        """Write it down."""\n'
    "        return (text, number, when)\n",
    "src/orders.py": "from pool import ConnectionPool\n\n\n"
    "def place_order(pool: ConnectionPool, item: str) -> object:\n"
    '    """Sell an item."""\n    connection = pool.acquire(timeout=3.0)\n    return connection, item\n',
    "tests/test_pool.py": "from pool import ConnectionPool\n\n\ndef test_acquire_opens_a_connection() -> None:\n"
    "    assert ConnectionPool().acquire(timeout=1.0)\n",
    "src/lonely.py": "def hermit() -> int:\n    return 41\n",
    "cmd/serve.go": "package main\n\n// Server answers requests.\ntype Server struct {\n\taddr string\n}\n\n"
    "// Listen opens the socket.\nfunc (s *Server) Listen(addr string) error {\n\ts.addr = addr\n\treturn nil\n}\n\n"
    'func main() {\n\ts := &Server{}\n\ts.Listen(":8080")\n}\n',
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcrop]:
    """An index of a repository with one commit; tests only read it."""
    root = tmp_path_factory.mktemp("code") / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(root))
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for command in (("add", "."), ("commit", "-q", "-m", "shop")):
        subprocess.run([*git, *command], check=True)
    outcrop = Outcrop(root.parent / "index.db", root)
    assert outcrop("add", root).exit_code == 0
    yield outcrop
    write_logs(None)


def section(out: str, name: str) -> list[str]:
    """The lines below a heading of `related`."""
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(name)) + 1
    return [line.strip() for line in takewhile(bool, lines[start:])]


# ------------------------------------------------------------------ related


@pytest.fixture(autouse=True)
def _in_the_folder(shop: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are shown from where one stands."""
    monkeypatch.chdir(shop.notes)


def test_related_shows_the_place_and_who_calls_tests_and_describes_it(shop: Outcrop) -> None:
    result = shop("related", "ConnectionPool.acquire")
    assert result.exit_code == 0
    assert result.stdout.startswith("src/pool.py:")
    assert (
        "ConnectionPool.acquire  def acquire(self, timeout: float) -> object" in result.stdout.splitlines()[0]
    )
    assert section(result.stdout, "callers  1")[0].startswith("src/orders.py:")
    assert "place_order" in section(result.stdout, "callers")[0]
    assert section(result.stdout, "tests  1")[0].startswith("tests/test_pool.py:")
    assert section(result.stdout, "docs  1")[0] == "README.md:1-3  Shop"
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize("target", ["src/orders.py:6", "src/orders.py", "place_order", "orders.py:4-6"])
def test_a_target_is_a_line_a_file_or_a_name(shop: Outcrop, target: str) -> None:
    found = shop.json("related", target)
    assert {chunk["document"]["path"] for chunk in found["target"]} == {"src/orders.py"}
    assert "src/pool.py" in {item["chunk"]["document"]["path"] for item in found["relatives"]}


def test_the_limit_holds_for_each_kind_and_more_is_said(shop: Outcrop) -> None:
    everything = shop.json("related", "src/pool.py", "-n", "50")["relatives"]
    callers = [item for item in everything if item["relation"] == "caller"]
    assert len(callers) > 1
    one = shop.json("related", "src/pool.py", "-n", "1")["relatives"]
    assert len([item for item in one if item["relation"] == "caller"]) == 1
    assert "callers  1, and more: raise --limit" in shop("related", "src/pool.py", "-n", "1").stdout


def test_what_nothing_uses_exits_with_1_and_says_so(shop: Outcrop) -> None:
    result = shop("related", "hermit")
    assert result.exit_code == 1
    assert result.stdout.startswith("src/lonely.py:")
    assert "Nothing in the index uses it" in result.stdout


def test_a_name_that_is_not_there_is_not_found(shop: Outcrop) -> None:
    result = shop("related", "no_such_thing")
    assert result.exit_code == 3
    assert "no_such_thing" in result.stderr
    assert json.loads(shop("related", "no_such_thing", "--json").stdout)["error"]["type"] == "NotFound"


def test_a_file_that_is_not_indexed_is_to_be_added(shop: Outcrop, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("def fresh(): ...\n")
    result = shop("related", f"{tmp_path / 'new.py'}:1")
    assert result.exit_code == 3
    assert f"`outcrop add {tmp_path / 'new.py'}`" in result.stderr


@pytest.mark.parametrize("width", [60, 100, 200])
def test_lines_of_related_fit_the_screen(shop: Outcrop, width: int) -> None:
    with open_engine(shop.db) as engine:
        related = engine.related("ConnectionPool.acquire")
    console = Console(force_terminal=True, width=width, file=io.StringIO(), color_system=None)
    print_related(Screen(lambda: console), related, "ConnectionPool.acquire", 10)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    listed = [line for line in lines if line.startswith("  ")]
    assert len(listed) >= 3
    assert all(len(line) <= width for line in listed)
    whole = "def place_order(pool: ConnectionPool, item: str) -> object"
    assert (width == 200) == any(line.endswith(whole) for line in listed)


def test_a_files_name_and_code_cannot_control_the_terminal(outcrop: Outcrop) -> None:
    (outcrop.notes / "evil\x1b[31m.py").write_text("def wombat(text='\x1b[2J'):\n    return '\x9b31m'\n")
    (outcrop.notes / "caller\x1b[5m.py").write_text("def quokka():\n    return wombat()\n")
    assert outcrop("add", outcrop.notes).exit_code == 0
    for command in (("related", "wombat"), ("map",), ("context", "--code", "wombat"), ("search", "wombat")):
        result = outcrop(*command)
        assert "wombat" in result.stdout, command
        assert not {"\x1b", "\x9b"} & set(result.stdout + result.stderr), command


# ------------------------------------------------------------------ map


def test_a_map_is_plain_text_and_its_summary_goes_to_stderr(shop: Outcrop) -> None:
    result = shop("map", "-b", "400")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "src/pool.py" in lines
    assert any("class ConnectionPool" in line for line in lines)
    assert "of 400 tokens" in result.stderr
    drawn = shop.json("map", "-b", "400")
    assert drawn["text"] == result.stdout.rstrip("\n")
    assert drawn["tokens"] <= 400


def test_a_map_can_be_filtered_and_focused(shop: Outcrop) -> None:
    assert {entry["path"] for entry in shop.json("map", "--kind", "go")["entries"]} == {"cmd/serve.go"}
    near = shop.json("map", "--focus", "hermit")["entries"]
    far = shop.json("map")["entries"]
    ranks = [next(entry["rank"] for entry in entries if entry["symbol"] == "hermit") for entries in (near, far)]
    assert ranks[0] > ranks[1]
    assert shop("map", "--focus", "no_such_thing").exit_code == 3


def test_an_empty_map_says_why(shop: Outcrop, kb: Outcrop) -> None:
    small, filtered, prose = shop("map", "-b", "1"), shop("map", "--kind", "rust"), kb("map")
    assert [small.exit_code, filtered.exit_code, prose.exit_code] == [1, 1, 1]
    assert "raise --budget" in small.stderr
    assert "no source code passes these filters" in filtered.stderr
    assert "the index holds no source code" in prose.stderr
    assert small.stdout == filtered.stdout == prose.stdout == ""


# ------------------------------------------------------------------ context


def files_of(text: str) -> set[str]:
    root = Xml.fromstring(text)
    return {item.attrib["file"] for item in root.iter() if item.tag.endswith("metadata")}


def test_context_of_code_is_xml_within_the_budget(shop: Outcrop) -> None:
    result = shop("context", "--code", "take an idle connection", "-b", "500")
    assert result.exit_code == 0
    assert "src/pool.py" in files_of(result.stdout)
    assert "of 500 tokens" in result.stderr
    assert "ConnectionPool.acquire · method" in result.stderr
    assert shop.json("context", "--code", "idle connection", "-b", "500")["tokens"] <= 500
    assert shop("context", "take an idle connection").stdout.startswith("[1] ")


def test_what_must_be_in_a_context_is_and_what_cannot_be_is_warned_of(shop: Outcrop) -> None:
    result = shop("context", "idle connection", "--must", "Server.Listen", "--must", "gone.py", "--follow", "0")
    assert result.exit_code == 0
    assert "cmd/serve.go" in files_of(result.stdout)
    assert "warning: must 'gone.py' is not in the index" in result.stderr
    assert "gone.py" not in result.stdout
    assert "gone.py" in shop.json("context", "idle connection", "--must", "gone.py")["detail"]


def test_what_is_preferred_comes_before_what_was_found(shop: Outcrop) -> None:
    def order(*options: str) -> list[str]:
        sources = shop.json("context", "sell an item", "--code", *options)["sources"]
        return [source["hit"]["document"]["path"] for source in sources]

    assert order()[0] == "src/orders.py"
    assert "src/lonely.py" in order("--prefer", "hermit")[:2]


def test_a_context_that_cannot_hold_anything_exits_with_1(shop: Outcrop) -> None:
    result = shop("context", "--code", "idle connection", "-b", "1")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_a_conversation_comes_from_a_file_or_from_standard_input(shop: Outcrop, tmp_path: Path) -> None:
    turns = [
        {"role": "system", "content": "You help."},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "who opens the socket?"}, {"type": "image"}]},
    ]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps({"model": "any", "messages": turns}))
    assert "cmd/serve.go" in files_of(shop("context", "--messages", file).stdout)
    piped = shop("context", "--messages", "-", input=json.dumps(turns))
    assert piped.exit_code == 0
    assert "cmd/serve.go" in files_of(piped.stdout)


def test_a_query_beside_a_conversation_is_its_latest_message(shop: Outcrop) -> None:
    turns = json.dumps([{"role": "user", "content": "who opens the socket in the server?"}])
    result = shop("context", "sell an item", "--messages", "-", "-b", "150", input=turns)
    assert files_of(result.stdout) == {"src/orders.py"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON, line 1"),
        (b"\xff\xfe", "is not UTF-8"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "holds no list of messages"),
        ('{"turns": []}', "holds no list of messages"),
        ("[7]", "message 1 of standard input"),
        ('[{"role": "user", "content": "x"}, {"content": "y"}]', "message 2 of standard input"),
        ('[{"role": "user", "content": 7}]', "message 1 of standard input"),
    ],
)
def test_a_conversation_of_the_wrong_shape_says_what_to_send(
    shop: Outcrop, text: str | bytes, said: str
) -> None:
    result = shop("context", "--messages", "-", input=text)
    assert result.exit_code == 2
    assert said in result.stderr
    assert '[{"role": "user", "content": "the question"}, …]' in result.stderr


def test_a_conversation_without_a_question_is_a_usage_error(shop: Outcrop, tmp_path: Path) -> None:
    assert shop("context", "--messages", "-", input='[{"role": "assistant", "content": "x"}]').exit_code == 2
    assert "cannot be read" in shop("context", "--messages", tmp_path / "none.json").stderr
    nothing = shop("context")
    assert nothing.exit_code == 2
    assert "--messages" in nothing.stderr


# ------------------------------------------------------------------ search


def test_a_hit_in_code_shows_its_symbol_and_kind(shop: Outcrop) -> None:
    first = shop("search", "acquire an idle connection", "-n", "1").stdout.splitlines()[0]
    assert first.startswith("1. src/pool.py:")
    assert "  ConnectionPool.acquire · method  0." in first or "ConnectionPool.acquire · method  1." in first
    assert "›" not in first


def test_the_commit_of_a_hit_is_shown_when_asked_for(shop: Outcrop) -> None:
    head = subprocess.run(
        ["git", "-C", str(shop.notes), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    search = ("search", "acquire an idle connection", "-n", "1")
    assert head[:7] not in shop(*search).stdout
    assert f"  {head[:7]}\n" in shop(*search, "-v").stdout
    assert head[:7] in shop(*search, "--explain").stdout
    hit = shop.json(*search)["hits"][0]
    assert hit["revision"] == head
    assert hit["dirty"] is False
    assert hit["code"]["symbol"] == "ConnectionPool.acquire"


def test_a_language_is_a_kind(shop: Outcrop) -> None:
    hits = shop.json("search", "connection server", "--kind", "go")["hits"]
    assert {hit["document"]["path"] for hit in hits} == {"cmd/serve.go"}
    assert "language" in shop("search", "--help").stdout
    assert "  go  " in shop("ls", "--kind", "go").stdout


def test_the_middle_of_a_declaration_is_shown_below_its_signature(shop: Outcrop) -> None:
    out = shop("search", "step 16 of the work", "-n", "1").stdout.splitlines()
    assert out[1] == "   def acquire(self, timeout: float) -> object"
    assert out[2] == "   ⋮"
    assert any("step 16 of" in line for line in out[3:])


def test_code_is_cut_at_the_edge_of_the_screen_and_blank_lines_stay(shop: Outcrop) -> None:
    with open_engine(shop.db) as engine:
        answer = engine.search("acquire an idle connection", limit=1)
    console = Console(force_terminal=True, width=50, file=io.StringIO(), color_system=None)
    print_answer(Screen(lambda: console), answer)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    passage = lines[1 : lines.index("   ⋮", 3)]
    assert any(line.endswith("…") for line in passage)
    assert all(len(line) <= 50 for line in passage)
    with open_engine(shop.db) as engine:
        go = engine.search("Server.Listen", limit=1)
    print_answer(Screen(lambda: console), go)
    assert "6  }\n   7\n   8  // Listen opens" in console.file.getvalue()  # type: ignore[attr-defined]


def test_equal_matches_prefer_the_lines_of_the_declaration() -> None:
    text = "\n".join(["x"] * 9 + ["def wombat():"] + ["y"] * 9 + ["wombat() or wombat()"] + ["z"] * 9)
    assert (9, "def wombat():") in best_lines(text, Marker(["wombat"]), 4, anchor=9).lines
    assert best_lines(text, Marker(["wombat"]), 4).lines[:2] == ((8, "x"), (9, "def wombat():"))
    short = best_lines("a\nwombat\n\n\nb", Marker(["wombat"]), 4)
    assert short.lines == ((0, "a"), (1, "wombat"))
    assert (short.before, short.after) == (False, True)


def test_a_chunk_of_several_declarations_is_told_by_their_names(shop: Outcrop) -> None:
    with open_engine(shop.db) as engine:
        notes = [chunk.code for chunk in engine.chunks("cmd/serve.go") if chunk.code]
    said = [about_code(item) for item in notes]
    assert any("Server" in text for text in said)
    assert all(said)


def test_code_has_line_numbers_and_colours_for_people_only(shop: Outcrop) -> None:
    with open_engine(shop.db) as engine:
        answer = engine.search("acquire an idle connection", limit=1)
    hit = answer.hits[0]
    source = Path(hit.document.uri).read_text().splitlines()
    plain = Console(width=100, file=io.StringIO())
    print_answer(Screen(lambda: plain), answer)
    written = plain.file.getvalue()  # type: ignore[attr-defined]
    numbered = re.findall(r"^ {3}\s*(\d+)(.*)$", written, re.MULTILINE)
    assert len(numbered) > 3
    for number, line in numbered:
        assert source[int(number) - 1].strip() == line.strip()
    assert "\x1b" not in written
    console = Console(force_terminal=True, width=100, file=io.StringIO(), color_system="standard")
    print_answer(Screen(lambda: console), answer)
    coloured = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[35mdef\x1b[0m" in coloured
    assert f"{Path(hit.document.uri).as_uri()}#L{numbered[0][0]}\x1b" in coloured
    bare = re.sub(r"\x1b\]8;.*?\x1b\\|\x1b\[[\d;]*m", "", coloured)
    assert bare == written, "colours change no character"
