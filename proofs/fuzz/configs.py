"""Small files of other programs: git's index and configuration, the settings of agents' clients, database URLs."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from outcrop.errors import ConfigError
from outcrop.records.database_url import DatabaseUrl
from outcrop.serve.mcp.clients import CLIENTS, make_entry, with_entry, without_entry
from outcrop.serve.mcp.edits import read_jsonc
from outcrop.sources.checkout import core_setting, object_format, repository_at
from outcrop.sources.exclusions import holds_credentials, looks_secret
from outcrop.sources.gitindex import IndexTooLarge, read_index
from proofs.fuzz.mutate import change, change_json, change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import CHOICES_BYTES, Draw, Target, made_folder, need


@cache
def _folder() -> Path:
    folder = made_folder()
    (folder / ".git" / "refs" / "heads").mkdir(parents=True)
    return folder


def _make_index(chance: random.Random, seeds: Seeds) -> bytes:
    files = seeds.of("index")
    return change(chance.choice(files), chance, files, 4_000)


def check_index(data: bytes) -> None:
    """An index is read whole or not at all."""
    file = _folder() / "index"
    file.write_bytes(data)
    try:
        tracked = read_index(file, "sha1")
    except IndexTooLarge:
        return
    if tracked is None:
        return
    for path in tracked:
        entry = tracked.get(path)
        need(path in tracked and entry is not None, "every path has its entry")
        tracked.proves_unchanged(path, 1, 1)
        tracked.holds_below(path.rpartition("/")[0])


_GIT_FILES = (
    b'[core]\n\tignorecase = true\n\texcludesFile = "~/x" ; mine\n'
    b'[extensions]\n\tobjectformat = sha256\n[a "b"]\n\tc\n',
    b"ref: refs/heads/main\n",
    b"gitdir: ../x/.git/worktrees/y\n",
    b"# pack-refs with: peeled fully-peeled sorted\n" + b"a" * 40 + b" refs/heads/main\n^" + b"b" * 40 + b"\n",
)


def _make_git(chance: random.Random, seeds: Seeds) -> bytes:
    return chance.randbytes(CHOICES_BYTES) + change_some(chance, [*_GIT_FILES, *seeds.of("toml")[:3]], 3_000)


def check_git(data: bytes) -> None:
    """Files of a repository that somebody else made are read as far as they make sense."""
    draw = Draw(data)
    top = _folder()
    for name, content in zip(("config", "HEAD", "packed-refs", "commondir"), _GIT_FILES, strict=True):
        (top / ".git" / name).write_bytes(content if name != "commondir" else b".")
    (top / ".git" / draw.pick(("config", "HEAD", "packed-refs", "commondir", "refs/heads/main"))).write_bytes(
        draw.body
    )
    repository = repository_at(top)
    if repository is not None:
        core_setting(repository, "ignorecase")
        object_format(repository)
        need(repository.revision is None or len(repository.revision) in {40, 64}, "a revision is one")


_SETTINGS = (
    b'{\n  // mine\n  "mcpServers": {\n    "other": {"command": "x"},\n'
    b'    "outcrop": {"command": "y", "env": {"A": "1"}},\n  },\n}\n',
    b'{"a": [1, 2, {"b": null}], "mcpServers": {}}',
    b"{}",
    b"",
    b'\xef\xbb\xbf{"servers": {"outcrop": {"type": "stdio"}} /* end */ }',
)
_TABLES = (
    b'model = "x"\n\n# mine\n[mcp_servers.other]\ncommand = "a"\n\n'
    b'[mcp_servers.outcrop]\ncommand = "y"\nargs = ["a"]\n[[t]]\nb = 1\n',
    b"[mcp_servers]\noutcrop = { command = 'z' }\n",
    b"a.b.c = 1\n[x]\ny = '''\n[mcp_servers.outcrop]\n'''\n",
)


def _make_settings(chance: random.Random, seeds: Seeds) -> bytes:
    if chance.random() < 0.5:
        return chance.randbytes(CHOICES_BYTES) + change_some(chance, [*_TABLES, *seeds.of("toml")[:5]], 2_000)
    files = [*_SETTINGS, *seeds.of("json")[:5]]
    return chance.randbytes(CHOICES_BYTES) + change_json(chance.choice(files), chance, files)[:4_000]


def check_settings(data: bytes) -> None:
    """A client's settings keep all they say when our entry comes and goes, or are left alone with a ConfigError."""
    draw = Draw(data)
    client = CLIENTS[draw.pick(sorted(CLIENTS))]
    text = draw.body.decode("utf-8", "replace")
    path = Path("settings.toml" if draw.byte() % 2 else "settings.json")
    entry = make_entry(client, ["outcrop", "mcp", 'a "quoted" \\ one'])
    changes: tuple[Callable[[], str], ...] = (
        lambda: with_entry(client, path, text, entry),
        lambda: without_entry(client, path, text),
    )
    for change_text in changes:
        try:
            changed = change_text()
        except ConfigError as error:
            need(str(error), "a refusal says why")
            continue
        if path.suffix == ".toml":
            tomllib.loads(changed)
        elif changed.strip("\ufeff \t\r\n"):
            read_jsonc(changed)


def check_jsonc(data: bytes) -> None:
    """Plain JSON says the same with comments allowed; the rest is a ConfigError."""
    text = Draw(data).body.decode("utf-8", "replace")
    try:
        said: object = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    try:
        node = read_jsonc(text)
    except ConfigError:
        need(said is None, "JSON is read")
        return
    need(said is None or repr(node.value) == repr(said), "JSON says the same")


_NAMES = (
    ".env",
    "id_rsa",
    "a.pem",
    "config.json",
    "credentials.json",
    ".npmrc",
    "x/.kube/config",
    "a.md",
    "service-account.json",
)


def check_credentials(data: bytes) -> None:
    """Whether a file holds credentials is told for any bytes under any name."""
    draw = Draw(data)
    name = draw.pick(_NAMES) if draw.byte() % 2 else draw.text()[:60]
    need(
        isinstance(looks_secret(name), bool) and isinstance(holds_credentials(name, draw.body), bool),
        "yes or no",
    )


_URLS = (
    b"postgresql://me:secret@host:5432/db?sslmode=require&schema=x",
    b"postgres://host1:1,host2:2/db?password=secret",
    b"postgresql:///db?host=/var/run",
    b"postgresql://u%40x:p%3A@[::1]/d",
)


def _make_database_url(chance: random.Random, _seeds: Seeds) -> bytes:
    return change(chance.choice(_URLS), chance, _URLS, 400)


def check_database_url(data: bytes) -> None:
    """A URL reads as it is written, and never shows its password; the rest is a ConfigError that does not either."""
    text = data.decode("utf-8", "replace")
    try:
        url = DatabaseUrl.parse(text)
    except ConfigError as error:
        need("secret" not in str(error), "a refusal shows no password")
        return
    need(DatabaseUrl.parse(url.whole()) == url, "the URL of a URL is the same")
    rest = f"postgresql {url.user} {url.hosts} {url.database} {url.parameters} {url.schema}"
    if len(url.password) > 3 and url.password not in rest:
        need(url.password not in f"{url} {url!r}", "a URL shows no password")
    need(url.folder_name() == DatabaseUrl.parse(url.whole()).folder_name(), "one index has one name")


CONFIGS = (
    Target("git.index", 20_000, _make_index, check_index, "read whole, or not at all"),
    Target("git.files", 8_000, _make_git, check_git, "read as far as they make sense"),
    Target(
        "settings", 50_000, _make_settings, check_settings, "keep all they say, or are left alone", guided=True
    ),
    Target("jsonc", 60_000, _make_settings, check_jsonc, "as json.loads has it, or a ConfigError", guided=True),
    Target("credentials", 20_000, _make_settings, check_credentials, "yes or no, in time"),
    Target(
        "database_url",
        80_000,
        _make_database_url,
        check_database_url,
        "one spelling, no password shown",
        guided=True,
    ),
)
