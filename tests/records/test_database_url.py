"""The address of a database: what libpq gets, and what nobody sees."""

from __future__ import annotations

import copy
import pickle

import pytest

from outcrop.errors import ConfigError
from outcrop.records.database_url import DatabaseUrl, has_scheme
from outcrop.serve.as_json import dump


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://",
        "postgresql:///papers",
        "postgresql://db.example",
        "postgresql://ann@db.example:5433/papers",
        "postgresql://ann:hush@one:5432,two:5433,three/papers?target_session_attrs=read-write&sslmode=require",
        "postgresql://ann@%2Fvar%2Frun%2Fpostgresql/papers",
        "postgresql://ann@[2001:db8::1]:5432,[::1]/papers",
        "postgresql:///papers?host=/tmp&port=5433",
        "postgresql://a%40b:h%2Fush%3F@db/papers?application_name=x%20y",
        "postgresql://db?password=p/q@r",
    ],
)
def test_libpq_gets_what_was_written(text: str) -> None:
    url = DatabaseUrl.parse(text)
    start, mark, parameters = url.uri().partition("?")
    assert start.rstrip("/") + mark + parameters == text.partition("?")[0].rstrip("/") + mark + parameters
    assert url.schema == "outcrop"
    assert DatabaseUrl.parse(url.whole()) == url


def test_the_schema_is_ours_and_not_for_libpq() -> None:
    url = DatabaseUrl.parse("postgres://ann@db/papers?sslmode=require&schema=team_2&connect_timeout=3")
    assert url.schema == "team_2"
    assert url.uri() == "postgresql://ann@db/papers?sslmode=require&connect_timeout=3"
    assert url.whole() == "postgresql://ann@db/papers?sslmode=require&connect_timeout=3&schema=team_2"
    assert DatabaseUrl.parse("postgresql://db/papers?schema=team_2").uri() == "postgresql://db/papers"


SECRET = "postgresql://ann:hush@db/papers?sslmode=require&password=hush&sslpassword=hush&schema=team"


def test_no_password_is_ever_shown() -> None:
    url = DatabaseUrl.parse(SECRET)
    for shown in (str(url), repr(url), f"{url}", dump({"db": url})):
        assert "hush" not in shown
        assert "***" in shown
    assert str(url) == "postgresql://ann:***@db/papers?sslmode=require&password=***&sslpassword=***&schema=team"
    assert "***" not in str(DatabaseUrl.parse("postgresql://ann@db/papers"))


def test_it_can_be_had_without_a_password() -> None:
    url = DatabaseUrl.parse(SECRET)
    assert url.has_password()
    assert url.without_password().whole() == "postgresql://ann@db/papers?sslmode=require&schema=team"
    assert not url.without_password().has_password()


@pytest.mark.parametrize(
    "wrong",
    [
        "papers.db",
        "postgresql:/ann:hush@db/papers",
        "mysql://ann:hush@db/papers",
        "postgresql://ann:hu@hush@db/papers",
        "postgresql://ann:hush/more@db/papers",
        "postgresql://ann:12/hush@db/papers",
        "postgresql://ann:hush?@db/papers",
        "postgresql://db?password=hush@db",
        "postgresql://ann:hush@db:port/papers",
        "postgresql://ann:hush@db/papers/more",
        "postgresql://ann:hush%zz@db/papers",
        "postgresql://ann:hush%00@db/papers",
        "postgresql://ann:hush@db/my papers",
        "postgresql://ann:hush@db/papers\n",
        "postgresql://ann:hush@db/papers?sslmode",
        "postgresql://ann:hush@db/papers?=x",
        "postgresql://ann:hush@db/papers?a=b=c",
        "postgresql://ann:hush@db/papers?schema=",
        "postgresql://ann:hush@db/papers?schema=Team",
        "postgresql://ann:hush@db/papers?schema=2team",
        "postgresql://ann:hush@db/papers?schema=pg_team",
        'postgresql://ann:hush@db/papers?schema=a";drop',
        "postgresql://ann:hush@db/papers?schema=" + "a" * 64,
        "postgresql://ann:hush@db/papers?schema=a&schema=b",
        "postgresql://ann:hush@[db/papers",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(wrong: str) -> None:
    with pytest.raises(ConfigError, match="One looks like postgresql://user@host") as caught:
        DatabaseUrl.parse(wrong)
    assert "hush" not in str(caught.value)


def test_a_file_is_not_taken_for_a_url() -> None:
    assert not any(
        map(has_scheme, ("index.db", "/data/a:b/index.db", "C:/data/index.db", "./postgresql", "~/x.db"))
    )
    assert all(map(has_scheme, ("postgresql:/db", "POSTGRES://db", "mysql://db", "sqlite:///x.db")))


def test_one_index_has_one_folder_whoever_connects() -> None:
    def name(text: str) -> str:
        return DatabaseUrl.parse(text).folder_name()

    same = name("postgresql://ann:hush@db:5432/papers?schema=team")
    assert same.startswith("db-5432-papers-team-")
    assert same == name("postgres://bob@db:5432/papers?sslmode=require&schema=team")
    assert name("postgresql://ann@db/papers") == name("postgresql:///?host=db&dbname=papers&user=bob")
    others = {
        name("postgresql://db:5432/papers"),
        name("postgresql://db:5433/papers?schema=team"),
        name("postgresql://db:5432/notes?schema=team"),
        name("postgresql://other:5432/papers?schema=team"),
        name("postgresql://db-5432/papers?schema=team"),
        name("postgresql://db:5432/papers?schema=team&port=5433"),
    }
    assert len(others) == 6
    assert same not in others
    assert name("postgresql://ann@db/") != name("postgresql://bob@db/")  # each has a database of that name
    hostile = name("postgresql://%2F..%2F..%2Fetc/..%2F..?schema=a")
    assert "/" not in hostile
    assert ".." not in hostile
    assert len(name("postgresql://" + "h" * 300 + "/papers")) < 100


def test_it_is_a_value_that_can_be_copied_and_sent() -> None:
    url = DatabaseUrl.parse(SECRET)
    assert pickle.loads(pickle.dumps(url)) == copy.copy(url) == url
    assert len({url, DatabaseUrl.parse(SECRET)}) == 1
