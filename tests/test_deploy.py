"""What lies in deploy/ fits what is here: files can be read, commands, options, settings and paths exist, SQL runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import psycopg
import pytest
import tree_sitter
import tree_sitter_containerfile
import yaml
from tests.postgres.server import PostgresServer

import outcrop
from outcrop.config import Config
from outcrop.serve.cli.app import cli

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted(DEPLOY.rglob("*.yaml"))
SETTINGS = {f"OUTCROP_{field.name.upper()}" for field in fields(Config)}
OWN_VARIABLES = {"OUTCROP_DB_PASSWORD", "OUTCROP_DOCUMENTS"}
"""Variables of compose.yaml itself; no setting of the program."""


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text("utf-8")) if document is not None]


def containers(path: Path) -> Iterator[dict[str, Any]]:
    """Every container of the manifests and every service of the compose file that runs Outcrop."""
    for document in documents(path):
        yield from (one for one in document.get("services", {}).values() if "outcrop" in one["image"])
        yield from found_under(document, "containers")


def found_under(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name:
                yield from inner
            else:
                yield from found_under(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from found_under(inner, name)


def check_command(words: list[str]) -> None:
    """Let click read a command line as it would, and stop before anything is done."""
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None, f"there is no command {words[0]}"
    command.make_context(words[0], words[1:], resilient_parsing=False)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_can_be_read(path: Path) -> None:
    found = documents(path)
    assert found
    if path.parent.name == "kubernetes":
        assert all({"apiVersion", "kind", "metadata"} <= one.keys() for one in found)


def test_every_command_in_the_manifests_is_one(tmp_path: Path) -> None:
    commands = [
        one.get("args") or one["command"]
        for path in MANIFESTS
        for one in containers(path)
        if "outcrop" in one["image"]
    ]
    assert len(commands) == 5
    for words in commands:
        check_command([str(tmp_path) if word == "/documents" else str(word) for word in words])


def test_every_command_in_the_readme_is_one() -> None:
    text = (DEPLOY / "README.md").read_text("utf-8")
    lines = re.findall(r"^\$ (?:[A-Z_]+=\S+ )*outcrop (.+?)(?:\s+#.*)?$", text, re.MULTILINE)
    assert lines
    for line in lines:
        check_command(shlex.split(line))


def test_every_variable_is_a_setting() -> None:
    files = [
        *MANIFESTS,
        DEPLOY / "Dockerfile",
        DEPLOY / "env.example",
        DEPLOY / "README.md",
        DEPLOY / "first-start.sh",
    ]
    named = {name for path in files for name in re.findall(r"\bOUTCROP_[A-Z_]+", path.read_text("utf-8"))}
    assert named <= SETTINGS | OWN_VARIABLES
    assert {"OUTCROP_DB", "OUTCROP_TOKEN", "OUTCROP_ALLOWED_HOSTS"} <= named


def test_what_compose_asks_for_is_in_the_example() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", (DEPLOY / "compose.yaml").read_text("utf-8")))
    example = (DEPLOY / "env.example").read_text("utf-8")
    assert asked == set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))


def test_probes_ask_for_what_the_server_has_without_a_token() -> None:
    from outcrop.serve.http.security import _PAGE

    routes = (ROOT / "src/outcrop/serve/http/routes/status.py").read_text("utf-8")
    for path in MANIFESTS:
        for asked in re.findall(r"(?:path: |7411)(/[a-z]\w*)", path.read_text("utf-8")):
            if asked != "/documents":
                assert f'"{asked}"' in routes
                assert asked in _PAGE


def test_the_port_is_the_same_everywhere() -> None:
    port = str(Config.__dataclass_fields__["port"].default)
    for path in (DEPLOY / "Dockerfile", DEPLOY / "front.conf", DEPLOY / "compose.yaml"):
        assert port in path.read_text("utf-8")


def test_the_dockerfile_can_be_parsed_and_copies_what_there_is() -> None:
    source = (DEPLOY / "Dockerfile").read_bytes()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_containerfile.language()))
    assert not parser.parse(source).root_node.has_error
    kept = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8"), re.MULTILINE)
    assert kept
    assert all((ROOT / name).exists() for name in kept)


def test_the_first_start_makes_role_database_and_extension(postgres_server: PostgresServer) -> None:
    script = (DEPLOY / "first-start.sh").read_text("utf-8")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    made = re.search(r"<<'SQL'\n(.+?)\nSQL", script, re.DOTALL)
    assert made is not None
    statements = made.group(1).replace("outcrop", "first_start")
    try:
        psql(postgres_server, statements, postgres_server.admin_url("postgres"), password="it's")
        there = "SELECT 1 FROM pg_extension WHERE extname = 'vector'"
        assert postgres_server.execute(there, database="first_start") == [(1,)]
    finally:
        postgres_server.execute("DROP DATABASE IF EXISTS first_start", database="postgres")
        postgres_server.execute("DROP ROLE IF EXISTS first_start", database="postgres")


def test_roles_write_read_and_see_what_they_should(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    schema = postgres_url.rpartition("=")[2]
    with outcrop.open(postgres_url, data_dir=tmp_path) as engine:
        engine.add(text="the handbook tells where the keys are", id="keys", collection="handbook")
        engine.add(text="the diary tells where nobody looks", id="diary", collection="private")
    names = {name: f"{name}_{schema}" for name in ("writer", "reader", "guest")}
    script = (DEPLOY / "roles.sql").read_text("utf-8")
    try:
        for _ in range(2):
            psql(postgres_server, script, postgres_server.admin_url(), owner="outcrop", **names)
        for words in ([names["reader"]], [names["guest"], "handbook"]):
            run_outcrop("grant", *words, url=postgres_url, folder=tmp_path)
        for role in names.values():
            postgres_server.execute(f"ALTER ROLE {role} PASSWORD 'secret'")
        login = {name: log_in(postgres_url, role) for name, role in names.items()}
        with outcrop.open(login["writer"], data_dir=tmp_path) as writer:
            writer.add(text="a writer adds a page", id="page", collection="handbook")
            assert {one.name for one in writer.collections()} == {"handbook", "private"}
        with outcrop.open(login["reader"], data_dir=tmp_path) as reader:
            assert reader.count() == 3
            assert reader.text("diary", collection="private") == "the diary tells where nobody looks"
            assert reader.search("where nobody looks").hits[0].document.uri == "diary"
            with pytest.raises(outcrop.OutcropError, match=r"this user may not|may not write"):
                reader.add(text="a reader adds nothing")
        with outcrop.open(login["guest"], data_dir=tmp_path) as guest:
            assert guest.count() == 2
            assert {one.collection for one in guest.documents()} == {"handbook"}
            assert guest.search("where are the keys").hits[0].document.uri == "keys"
            hits = guest.search("where nobody looks in the diary").hits
            assert not any(hit.document.collection == "private" for hit in hits)
        stored = vectors_read(postgres_server.url(), schema)
        handbook = vectors_used(postgres_server.url(), schema, "handbook")
        assert handbook < stored
        assert vectors_read(login["reader"], schema) == stored
        assert vectors_read(login["guest"], schema) == handbook
        run_outcrop("grant", names["guest"], "--revoke", url=postgres_url, folder=tmp_path)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            vectors_read(login["guest"], schema)
        # Rights on the tables, given by hand, without a grant of any collection: there is nothing to see.
        postgres_server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {names['guest']}")
        assert vectors_read(login["guest"], schema) == set()
    finally:
        for role in names.values():
            postgres_server.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.fixture
def guest(postgres_server: PostgresServer, postgres_url: str) -> Iterator[str]:
    """A role that has been granted nothing yet."""
    role = f"guest_{postgres_url.rpartition('=')[2]}"
    postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    yield role
    postgres_server.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_dump_restores_to_an_index_that_answers(
    postgres_server: PostgresServer, postgres_url: str, guest: str, tmp_path: Path
) -> None:
    schema = postgres_url.rpartition("=")[2]
    with outcrop.open(postgres_url, data_dir=tmp_path) as engine:
        engine.add(text="the handbook tells where the keys are", id="keys", collection="handbook")
        engine.add(text="the diary tells where nobody looks", id="diary", collection="private")
    run_outcrop("grant", guest, "handbook", url=postgres_url, folder=tmp_path)
    before = unsampled(postgres_server, schema)
    assert ("chunks", "text") in before
    programs, url = postgres_server.home.programs, postgres_server.admin_url()
    dump = programs.home / f"{schema}.dump"  # a folder in which the programs' user may write
    programs.run("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", url)
    postgres_server.drop(schema)
    programs.run("pg_restore", "--exit-on-error", f"--dbname={url}", str(dump))
    with outcrop.open(postgres_url, data_dir=tmp_path / "elsewhere") as engine:
        assert engine.search("where are the keys").hits[0].document.uri == "keys"
        assert all(check.ok for check in engine.doctor())
        engine.add(text="and it can be written to", id="more", collection="handbook")
        assert engine.count() == 3
    assert unsampled(postgres_server, schema) == before
    sees_only(guest, "handbook", ["keys", "more"], url=postgres_url, folder=tmp_path)


def test_an_index_in_parts_is_read_written_and_searched_as_before(
    postgres_server: PostgresServer, postgres_url: str, guest: str, tmp_path: Path
) -> None:
    schema = postgres_url.rpartition("=")[2]
    script = (DEPLOY / "partitions.sql").read_text("utf-8")
    owner = postgres_server.url()
    with outcrop.open(postgres_url, data_dir=tmp_path) as engine:
        for number in range(6):
            text = f"shelf {number} holds the minutes of year {1990 + number}"
            engine.add(text=text, id=f"m{number}", collection=f"year{number}")
        before = [hit.document.uri for hit in engine.search("minutes of year 1993").hits]
    run_outcrop("grant", guest, "year3", url=postgres_url, folder=tmp_path)
    postgres_server.execute(f"GRANT SELECT ON {schema}.chunks TO PUBLIC")  # no policy is loosened by it
    sampled_before = unsampled(postgres_server, schema)
    for _ in range(2):  # the second time there is nothing to do
        psql(postgres_server, script, owner, schema=schema, parts="4")
    parts = postgres_server.execute(
        f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'p' ORDER BY 1"
    )
    assert {"chunks", "documents", "points_1", "postings"} <= {name for (name,) in parts}
    with outcrop.open(postgres_url, data_dir=tmp_path / "elsewhere") as engine:
        assert [hit.document.uri for hit in engine.search("minutes of year 1993").hits] == before
        engine.add(text="shelf 7 holds the minutes of year 1997", id="m7", collection="year7")
        engine.delete("m0", collection="year0")
        assert engine.search("minutes of year 1997").hits[0].document.uri == "m7"
        assert engine.count() == 6
        assert [check for check in engine.doctor() if not check.ok] == []
        engine.add(text="shelf 3 holds an appendix too", id="m3b", collection="year3")
    sees_only(guest, "year3", ["m3", "m3b"], url=postgres_url, folder=tmp_path)
    assert sampled_before <= unsampled(postgres_server, schema)
    sampled = postgres_server.execute(
        f"SELECT tablename FROM pg_stats WHERE schemaname = '{schema}' AND attname IN ('text', 'title', 'words')"
    )
    assert sampled == []
    postgres_server.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {guest}")
    with psycopg.connect(log_in(postgres_url, guest).partition("?")[0]) as connection:
        for part in range(4):  # by its own name a part shows nothing
            assert connection.execute(f"SELECT * FROM {schema}.chunks_part_{part}".encode()).fetchall() == []


def log_in(url: str, role: str) -> str:
    """The index as another role opens it."""
    return re.sub("//[^@]*@", f"//{role}:secret@", url)


def sees_only(role: str, collection: str, uris: Sequence[str], *, url: str, folder: Path) -> None:
    """Check that a role reads one collection through the engine and, in every table, by SQL."""
    schema = url.rpartition("=")[2]
    with outcrop.open(log_in(url, role), data_dir=folder) as engine:
        assert sorted(one.uri for one in engine.documents()) == uris
        assert {one.name for one in engine.collections()} == {collection}
        hits = engine.search("the minutes of a year, the handbook, the diary and where the keys are").hits
        assert set() < {hit.document.uri for hit in hits} <= set(uris)
    seen = "SELECT DISTINCT c.name FROM {schema}.{table} t LEFT JOIN {schema}.collections c ON c.id = t.collection_id"
    with psycopg.connect(log_in(url, role).partition("?")[0]) as connection:
        for table in ("documents", "chunks", "rows", "postings", "fresh_1"):
            rows = connection.execute(seen.format(schema=schema, table=table).encode()).fetchall()
            assert rows == [(collection,)], table
    assert vectors_read(log_in(url, role), schema) == vectors_used(url, schema, collection) != set()


def vectors_read(url: str, schema: str) -> set[bytes]:
    """The keys of the vectors that whoever logs in so can read."""
    with psycopg.connect(url.partition("?")[0]) as connection:
        return {key for (key,) in connection.execute(f"SELECT key FROM {schema}.vectors".encode())}


def vectors_used(url: str, schema: str, collection: str) -> set[bytes]:
    """The keys of the vectors that a collection's chunks and paths have, as the owner reads them."""
    with psycopg.connect(url.partition("?")[0]) as connection:
        keys = connection.execute(
            f"SELECT c.text_key FROM {schema}.chunks c JOIN {schema}.documents d ON d.id = c.document_id"
            f" WHERE d.collection = %(name)s UNION SELECT path_key FROM {schema}.documents"
            " WHERE collection = %(name)s".encode(),
            {"name": collection},
        ).fetchall()
        return {key for (key,) in keys} & vectors_read(url, schema)


def unsampled(server: PostgresServer, schema: str) -> set[tuple[str, str]]:
    """The columns of which the planner keeps no samples."""
    return set(
        server.execute(
            "SELECT c.relname, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid"
            f" WHERE relnamespace = '{schema}'::regnamespace AND attstattarget = 0 AND relkind IN ('r', 'p')"
        )
    )


def run_outcrop(*words: str, url: str, folder: Path) -> None:
    """Run a command on an index, as a person would."""
    settings = {"OUTCROP_DB": url, "OUTCROP_DATA_DIR": str(folder), "PATH": os.defpath}
    subprocess.run([sys.executable, "-m", "outcrop", *words], env=settings, check=True, capture_output=True)


def psql(server: PostgresServer, statements: str, url: str, **variables: str) -> str:
    """Run a script as `psql -f` does."""
    chosen = [word for name, value in variables.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(
        server.home.programs.command("psql", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", *chosen, url),
        input=statements,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
