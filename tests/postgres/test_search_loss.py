"""A search whose connection is lost in the middle is done again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.postgres.server import PostgresServer

import outcrop
from outcrop.store.postgres import PostgresStore


def test_a_search_goes_on_with_another_connection(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outcrop.open(postgres_url, data_dir=tmp_path) as engine:
        engine.add(text="Apples are picked in autumn.", id="apples")
        engine.add(text="Pears keep in a cool cellar.", id="pears")
        cuts: list[int] = []
        whole = PostgresStore.chunk_rows

        def cut_off(self: PostgresStore, *args: object, **options: object) -> object:
            if not cuts:
                cuts.append(1)
                postgres_server.cut_connections()
            return whole(self, *args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(PostgresStore, "chunk_rows", cut_off)
        hits = engine.search("when are apples picked").hits
        assert cuts == [1]
        assert hits[0].document.uri == "apples"
