"""Who may do what: an owner, a reader, a tenant who sees some collections only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import pytest
from tests.postgres.server import PostgresServer
from tests.store.builders import make_write, put
from tests.store.places import open_at_url

from outcrop.errors import NotFound, StoreError
from outcrop.records import Filter
from outcrop.store.postgres import PostgresStore

As = Callable[[str], PostgresStore]


@pytest.fixture
def owner(postgres_url: str) -> Iterator[PostgresStore]:
    store = open_at_url(postgres_url)
    yield store
    store.close()


@pytest.fixture
def log_in(postgres_server: PostgresServer, postgres_url: str, owner: PostgresStore) -> Iterator[As]:
    """Opens the index as another role, which is made on the spot."""
    opened: list[PostgresStore] = []
    roles: list[str] = []

    def log_in(role: str) -> PostgresStore:
        postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
        roles.append(role)
        parts = urlsplit(postgres_url)
        place = parts.netloc.rpartition("@")[2]
        owner.grant(role)
        opened.append(open_at_url(urlunsplit(parts._replace(netloc=f"{role}:secret@{place}"))))
        return opened[-1]

    yield log_in
    for store in opened:
        store.close()
    for role in roles:
        postgres_server.execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_reader_searches_and_cannot_write(owner: PostgresStore, log_in: As) -> None:
    put(owner, make_write("a.md", "apples and pears"))
    reader = log_in("reader_all")
    assert reader.read_only
    assert [c.text for c in reader.chunks(reader.match_phrase("apples and").tolist())] == ["apples and pears"]
    assert reader.totals() == owner.totals()
    assert reader.active_model() == owner.active_model()
    vector = np.ones(8, np.float32) / np.sqrt(np.float32(8))
    assert reader.nearest(vector, 3)[0].tolist() == owner.nearest(vector, 3)[0].tolist()
    with pytest.raises(StoreError, match="may not write"):
        put(reader, make_write("b.md"))
    assert owner.stats().documents == 1


def test_a_tenant_sees_its_collections_and_nothing_of_others(owner: PostgresStore, log_in: As) -> None:
    put(
        owner,
        make_write("a.md", "apples for all", collection="shared"),
        make_write("b.md", "apples for few", collection="private"),
    )
    tenant = log_in("tenant_one")
    owner.revoke("tenant_one")
    owner.grant("tenant_one", ["shared"])
    assert owner.grants() == [("tenant_one", "shared")]
    with pytest.raises(NotFound, match=r"no collection 'elsewhere' to grant; there are: shared"):
        owner.grant("tenant_one", ["shared", "elsewhere"])
    assert [info.collection for info in tenant.documents()] == ["shared"]
    assert [info.name for info in tenant.collections()] == ["shared"]
    found = tenant.chunks(tenant.match_phrase("apples for").tolist())
    assert [chunk.text for chunk in found] == ["apples for all"]
    assert tenant.totals().chunks == 1
    vector = np.ones(8, np.float32) / np.sqrt(np.float32(8))
    assert tenant.nearest(vector, 5)[0].tolist() == [found[0].id]
    assert tenant.select(Filter(collections=("private",))).size == 0
    hidden = owner.chunks_of(owner.documents(Filter(collections=("private",)))[0].id)[0]
    assert tenant.chunks([hidden.id]) == []
    assert len(tenant.chunk_rows(np.array([hidden.id])).chunk_ids) == 0


def test_a_tenant_keeps_its_view_when_the_model_changes(owner: PostgresStore, log_in: As) -> None:
    from tests.store.builders import OTHER, vector

    write = make_write("a.md", "apples", collection="shared")
    put(owner, write, make_write("b.md", "pears", collection="private"))
    tenant = log_in("tenant_two")
    owner.revoke("tenant_two")
    owner.grant("tenant_two", ["shared"])
    keys = {key for key, _ in (*owner.unembedded("text", OTHER, 10), *owner.unembedded("path", OTHER, 10))}
    owner.add_vectors(OTHER, {key: vector(key, OTHER) for key in keys})
    owner.activate(OTHER)
    probe = np.full(4, 0.5, np.float32)
    assert len(tenant.nearest(probe, 5)[0]) == 1


def test_a_role_without_grants_gets_an_error_that_says_so(
    postgres_server: PostgresServer, postgres_url: str, owner: PostgresStore
) -> None:
    postgres_server.execute("CREATE ROLE stranger LOGIN PASSWORD 'secret'")
    try:
        parts = urlsplit(postgres_url)
        place = parts.netloc.rpartition("@")[2]
        with pytest.raises(StoreError, match=r"may not|ask the owner"):
            open_at_url(urlunsplit(parts._replace(netloc=f"stranger:secret@{place}"))).version()
        with pytest.raises(StoreError, match="PGPASSWORD"):
            open_at_url(urlunsplit(parts._replace(netloc=f"stranger:wrong@{place}")))
    finally:
        postgres_server.execute("DROP ROLE stranger")


def test_a_role_that_reads_everything_does_not_pay_for_the_policies(owner: PostgresStore, log_in: As) -> None:
    put(owner, *(make_write(f"{number}.md", f"pears {number}") for number in range(5)))
    reader = log_in("reader_of_vectors")
    plan = reader._connections.read(
        lambda connection: connection.execute("EXPLAIN ANALYZE SELECT count(*) FROM vectors").fetchall()
    )
    looked_up = [line for (line,) in plan if " on chunks" in line or " on documents" in line]
    assert looked_up
    assert all("never executed" in line for line in looked_up), looked_up
