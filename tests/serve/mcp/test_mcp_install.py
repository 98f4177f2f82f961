"""`outcrop install`: the clients' own files, changed as little as possible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.errors import ConfigError
from outcrop.serve.mcp.clients import CLIENTS, make_entry, settings_folder, with_entry, without_entry
from outcrop.serve.mcp.edits import put_entry, read_jsonc, remove_entry

ENTRY = {"command": "/bin/outcrop", "args": ["mcp", "--db", "/x/index.db"]}


def install(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The real command in a home of its own, with nobody to ask."""
    program = Path(sys.executable).with_name("outcrop")
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [str(program), "install", *map(str, arguments)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


FILES = {
    "claude": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": ".config/zed/settings.json",
    "gemini": ".gemini/settings.json",
}


def load(path: Path) -> dict[str, Any]:
    text = path.read_text()
    found: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else read_jsonc(text).value
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")
@pytest.mark.parametrize("client", CLIENTS)
def test_the_entry_goes_into_the_clients_own_file_and_out_again(client: str, tmp_path: Path) -> None:
    db = tmp_path / "my index.db"
    done = install(tmp_path, client, "--yes", "--db", db)
    assert done.returncode == 0, done.stderr
    path = tmp_path / FILES[client]
    entry = load(path)[CLIENTS[client].section]["outcrop"]
    assert entry["command"] == str(Path(sys.executable).with_name("outcrop"))
    assert entry["args"] == ["mcp", "--db", str(db)]
    assert "+" in done.stderr  # the difference was shown
    before = path.read_bytes()
    assert "already" in install(tmp_path, client, "--yes", "--db", db).stdout
    assert path.read_bytes() == before
    other = install(tmp_path, client, "--yes", "--db", tmp_path / "other.db", "--read-only")
    assert other.returncode == 0, other.stderr
    assert install(tmp_path, client, "--yes", "--remove").returncode == 0
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == []  # as before


@pytest.mark.skipif(sys.platform != "linux", reason="the folders are those of Linux")
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("section", [None, "empty", "other"])
def test_removing_leaves_a_persons_file_as_it_was(client: str, section: str | None, tmp_path: Path) -> None:
    path = tmp_path / FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    inside = {"other": {"command": "x"}} if section == "other" else {}
    if path.suffix == ".toml":
        text = 'model = "o"\n' + (f"\n\n[{CLIENTS[client].section}.other]\ncommand='x'" if inside else "")
    else:
        text = json.dumps({"a": 1} | ({} if section is None else {CLIENTS[client].section: inside}))
    path.write_text(text)
    for arguments in (("--yes",), ("--yes", "--read-only"), ("--yes", "--remove")):
        assert install(tmp_path, client, *arguments).returncode == 0
    assert path.read_text() == text
    assert [left for left in tmp_path.rglob("*") if left.is_file()] == [path]


def test_what_changed_since_stays_and_so_does_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    assert install(tmp_path, "cursor", "--yes").returncode == 0
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    assert install(tmp_path, "cursor", "--yes", "--remove").returncode == 0
    assert load(path) == {"a": 2}
    assert path.with_name("mcp.json.before-outcrop").read_text() == '{"a": 1}'


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_a_password_never_gets_into_a_clients_file(client: str, tmp_path: Path) -> None:
    url = "postgresql://ann:hush@db.example/papers?sslmode=require&schema=team"
    for arguments in (("--print",), ("--print", "--json"), ("--yes",)):
        done = install(tmp_path, client, *arguments, "--db", url)
        assert done.returncode == 0, done.stderr
        assert "PGPASSWORD" in done.stderr
        assert "hush" not in done.stdout + done.stderr
    path = tmp_path / FILES[client]
    entry = load(path)[CLIENTS[client].section]["outcrop"]
    assert entry["args"] == ["mcp", "--db", "postgresql://ann@db.example/papers?sslmode=require&schema=team"]
    bare = install(tmp_path, client, "--yes", "--db", url.replace(":hush", ""))
    assert "PGPASSWORD" not in bare.stderr


def test_without_a_terminal_nothing_is_written_unless_told_to(tmp_path: Path) -> None:
    done = install(tmp_path, "cursor")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (tmp_path / ".cursor").exists()
    printed = install(tmp_path, "cursor", "--print", "--read-only")
    assert json.loads(printed.stdout)["mcpServers"]["outcrop"]["args"][-1] == "--read-only"
    assert not (tmp_path / ".cursor").exists()


def test_comments_order_and_permissions_stay_and_the_old_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / ".config/zed/settings.json"
    path.parent.mkdir(parents=True)
    text = '// mine\n{\n\t"theme": "One", // nice\n\t/* more */ "vim": true,\n}\n'
    path.write_text(text)
    path.chmod(0o600)
    assert install(tmp_path, "zed", "--yes").returncode == 0
    after = path.read_text()
    assert after.startswith(text[: text.rindex("}")].rstrip())
    assert '\n\t"context_servers": {\n\t\t"outcrop": {' in after
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.with_name("settings.json.before-outcrop").read_text() == text


def test_a_file_that_is_broken_is_left_alone_and_what_to_add_is_said(tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    for text in ('{"mcpServers": ', "[]", '{"mcpServers": 5}', '{"a": 1} trailing'):
        path.write_text(text)
        done = install(tmp_path, "claude", "--yes")
        assert done.returncode != 0
        assert path.read_text() == text
        assert '"outcrop"' in done.stderr
        assert "Traceback" not in done.stderr


def test_a_project_has_a_file_of_its_own_where_the_client_knows_one(tmp_path: Path) -> None:
    assert install(tmp_path, "claude", "--yes", "--project", tmp_path).returncode == 0
    assert "outcrop" in load(tmp_path / ".mcp.json")["mcpServers"]
    refused = install(tmp_path, "windsurf", "--yes", "--project", tmp_path)
    assert refused.returncode == 2
    assert "per project" in refused.stderr


def test_a_link_to_the_real_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".cursor").mkdir()
    real = tmp_path / "dotfiles" / "mcp.json"
    real.write_text("{}")
    (tmp_path / ".cursor" / "mcp.json").symlink_to(real)
    assert install(tmp_path, "cursor", "--yes").returncode == 0
    assert (tmp_path / ".cursor" / "mcp.json").is_symlink()
    assert "outcrop" in load(real)["mcpServers"]


TOML = (
    '# top\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "o"\n\n[mcp_servers.outcrop] # ours\ncommand = "old"\n'
    'args = ["a"]\n\n[mcp_servers.outcrop.env]\nA = "1"\n\n# about tail\n[tail]\nx = """\n[mcp_servers.fake]\n"""\n'
)


def test_only_our_own_table_of_a_toml_file_changes() -> None:
    codex, path = CLIENTS["codex"], Path("config.toml")
    after = with_entry(codex, path, TOML, ENTRY)
    head, tail = TOML.split("[mcp_servers.outcrop] # ours", maxsplit=1)[0], TOML[TOML.index("\n# about tail") :]
    assert after.startswith(head)
    assert after.endswith(tail)
    found = tomllib.loads(after)
    assert found["mcp_servers"]["outcrop"] == {**ENTRY, "env": {"A": "1"}}
    gone = without_entry(codex, path, after)
    assert tomllib.loads(gone)["mcp_servers"] == {"other": {"command": "o"}}
    assert gone.startswith(head.rstrip())
    assert gone.endswith(tail)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { outcrop = { command = "a" } }\n',
        "[mcp_servers]\noutcrop.command = 'a'\n",
        'x = """\n[mcp_servers.outcrop]\n"""\n[mcp_servers.outcrop]\ncommand = "a"\n',
    ],
)
def test_a_table_written_in_another_way_is_refused_rather_than_guessed(text: str) -> None:
    with pytest.raises(ConfigError):
        with_entry(CLIENTS["codex"], Path("config.toml"), text, ENTRY)


def test_what_a_person_added_to_our_entry_stays() -> None:
    text = '{"mcpServers": {"outcrop": {"command": "old", "env": {"A": "1"}}, "b": {}}}'
    after = json.loads(with_entry(CLIENTS["cursor"], Path("mcp.json"), text, ENTRY))
    assert after["mcpServers"] == {"outcrop": {**ENTRY, "env": {"A": "1"}}, "b": {}}


BLANK = st.sampled_from(["", " ", "\n", "\n  ", '// a comment, with { and "\n', "/* , } */", "\r\n\t"])
SCALAR = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """A value as JSON with comments and trailing commas wherever they may stand."""
    if not isinstance(value, dict):
        return draw(BLANK) + json.dumps(value) + draw(BLANK)
    members = [
        f"{draw(BLANK)}{json.dumps(key)}{draw(BLANK)}:{draw(written(item))}" for key, item in value.items()
    ]
    comma = draw(st.sampled_from(["", ","])) if members else ""
    return f"{draw(BLANK)}{{{','.join(members)}{comma}{draw(BLANK)}}}{draw(BLANK)}"


KEYS = st.sampled_from(["a", "outcrop", "b,}"])
SECTION = st.dictionaries(KEYS, SCALAR | st.dictionaries(KEYS, SCALAR, max_size=2), max_size=3)
FILE = st.fixed_dictionaries({}, optional={"a": SCALAR, "servers": SECTION | st.integers(), "z": SECTION})


@st.composite
def jsonc(draw: st.DrawFn) -> str:
    """A client's file."""
    return draw(written(draw(FILE)))


@given(jsonc())
def test_adding_and_removing_an_entry_changes_nothing_else(text: str) -> None:
    before = read_jsonc(text).value
    section = before.get("servers", {})
    if not isinstance(section, dict):
        with pytest.raises(ConfigError):
            put_entry(text, "servers", "outcrop", ENTRY)
        return
    after = put_entry(text, "servers", "outcrop", ENTRY)
    assert read_jsonc(after).value == {**before, "servers": {**section, "outcrop": ENTRY}}
    left = remove_entry(after, "servers", "outcrop")
    rest = {key: value for key, value in section.items() if key != "outcrop"}
    expected = {**before, "servers": rest}
    gone = read_jsonc(left).value if left else {}
    assert gone in (expected, {key: value for key, value in expected.items() if key != "servers" or rest})
    for comment in ("// a comment, with { and", "/* , } */"):
        if "outcrop" not in section:
            assert after.count(comment) == text.count(comment)


def test_each_system_has_its_own_folder_for_settings() -> None:
    home = Path("/home/me")
    assert settings_folder(home, home / ".config", "darwin") == home / "Library/Application Support"
    assert settings_folder(home, Path("/cfg"), "linux") == Path("/cfg")
    assert settings_folder(home, Path("/cfg"), "win32") == home / "AppData/Roaming"
    assert make_entry(CLIENTS["vscode"], ["a", "b"]) == {"type": "stdio", "command": "a", "args": ["b"]}


@pytest.mark.parametrize("section", ["true", "3.5", "null", "[]", '"outcrop"'])
def test_uninstalling_ignores_a_section_that_is_not_an_object(section: str) -> None:
    text = f'{{"mcpServers": {section}}}'
    assert without_entry(CLIENTS["cursor"], Path("mcp.json"), text) == text
    with pytest.raises(ConfigError):
        with_entry(CLIENTS["cursor"], Path("mcp.json"), text, {"command": "x"})
