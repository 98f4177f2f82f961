"""Which roles a query asks for."""

from __future__ import annotations

import pytest

from outcrop.index.query import ASKING_WORDS, asks_for, asks_for_guide
from outcrop.records import Role

ASKING: list[tuple[str, Role]] = [
    ("tests for the connection pool", "test"),
    ("how is retry tested", "test"),
    ("test_pool_timeout", "test"),
    ("PoolTest", "test"),
    ("tests/pool.py", "test"),
    ("pool_spec.rb", "test"),
    ("Fixtures for a database", "test"),
    ("benchmark of the parser", "benchmark"),
    ("an example of middleware", "example"),
    ("sample code for upload", "example"),
    ("demo app", "example"),
    ("legacy cookie handling", "compat"),
    ("deprecated parameters", "compat"),
    ("backwards compatible decoding", "compat"),
    ("sphinx configuration", "docs"),
    ("docs/conf.py", "docs"),
    ("auto-generated client", "generated"),
    ("the generated files of protoc", "generated"),
    ("vendored urllib3", "vendored"),
    ("third-party code", "vendored"),
    ("jquery.min.js", "minified"),
    ("lock file", "lock"),
    ("poetry.lock", "lock"),
    ("package-lock.json", "lock"),
    ("changelog of the store", "changelog"),
    ("release notes", "changelog"),
    ("what's new?", "changelog"),
    ("what changed in 0.2", "changelog"),
    ("latest release", "changelog"),
    ("when was the --ray option added?", "changelog"),
]


@pytest.mark.parametrize(("query", "role"), ASKING)
def test_a_query_that_names_a_role_asks_for_it(query: str, role: Role) -> None:
    assert role in asks_for(query)


@pytest.mark.parametrize(
    "query",
    [
        "how does the connection pool acquire",
        "latest value",
        "how does a search see what another process has just written?",
        "what changes an index in place",
        "contest results",
        "where is the session token generated",
        "acquire lock with timeout",
        "mutex.lock unlock",
        "sample rate conversion",
        "a pool, for example of sockets",
        "HTTP spec header parsing",
        "attestation of a key",
        "docstring parser",
        "demographic data",
        "",
    ],
)
def test_a_query_about_the_work_itself_asks_for_no_role(query: str) -> None:
    assert asks_for(query) == frozenset()


def test_a_query_may_ask_for_several_roles() -> None:
    assert asks_for("tests of the deprecated API") == {"test", "compat"}


def test_every_asking_word_is_one_that_a_query_is_split_into() -> None:
    assert [word for word, role in ASKING_WORDS.items() if role not in asks_for(word)] == []


@pytest.mark.parametrize(
    "query",
    [
        "how do I install it",
        "How to serve static files",
        "getting started",
        "what is starlette",
        "migrating to 3.x",
        "FAQ",
    ],
)
def test_a_question_of_a_user_asks_for_the_guide(query: str) -> None:
    assert asks_for_guide(query)


@pytest.mark.parametrize(
    "query",
    ["ConnectionPool.acquire", "how nvm installs node", "where are retries configured", "route matching"],
)
def test_a_question_about_the_code_does_not(query: str) -> None:
    assert not asks_for_guide(query)
