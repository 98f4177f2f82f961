"""Vectors that come after their documents, and the switch to another model, inside a write transaction.

The deriver is asked for only where it is needed: to make it opens a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from outcrop.errors import StoreError
from outcrop.records import Model, Vector
from outcrop.records.derived import Deriver
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.connections import Connection, State
from outcrop.store.postgres.nearness import Tuning, chosen, vector_indexes
from outcrop.store.postgres.upkeep import replace_points
from outcrop.store.postgres.writing import complete_documents, set_active


def fill(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Keep vectors of the active model that documents wait for; how many documents have all of theirs now."""
    active = stored_vectors.active_model(connection)
    if active is None or active[1] != model:
        raise StoreError(f"the index is searched with {active and active[1]}, not with {model}: reembed it")
    return keep_vectors(connection, state, deriver, active[0], model, vectors)


def keep_vectors(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model_id: int,
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Keep those vectors that something uses; how many documents are complete by them, if the model is active."""
    used = stored_vectors.referenced(connection, vectors.keys())
    came = stored_vectors.missing(connection, model_id, used)
    stored_vectors.add(connection, model_id, model, {key: vectors[key] for key in came})
    if state.active_model != model_id:
        return 0
    return complete_documents(connection, state, deriver(), came)


def switch_model(
    connection: Connection, state: State, deriver: Callable[[], Deriver], model: Model, tuning: Tuning
) -> None:
    """Make this the model that is searched with, what it is searched by with it, and drop the vectors of others."""
    model_id = stored_vectors.ensure_model(connection, model)
    lacking = connection.execute(
        "SELECT (SELECT count(*) FROM chunks c WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors WHERE key = c.text_key AND model_id = %(model)s)),"
        " (SELECT count(*) FROM notes n WHERE length(summary_key) > 0 AND NOT EXISTS"
        " (SELECT 1 FROM vectors WHERE key = n.summary_key AND model_id = %(model)s)),"
        " (SELECT count(*) FROM documents d WHERE length(path_key) > 0 AND NOT EXISTS"
        " (SELECT 1 FROM vectors WHERE key = d.path_key AND model_id = %(model)s))",
        {"model": model_id},
    ).fetchone()
    chunks, summaries, paths = lacking or (0, 0, 0)
    if chunks or summaries or paths:
        raise StoreError(
            f"{chunks} chunks, {summaries} summaries and {paths} paths have no vector of {model} yet;"
            " embed them first"
        )
    if state.active_model != model_id:
        there = vector_indexes(connection, stored_vectors.points(state.active_model or 0))
        set_active(connection, state, model_id, model)
        kind = chosen(tuning, there)
        replace_points(connection, deriver(), model_id, model.dimensions, kind)
    stored_vectors.drop_other_models(connection, model_id)
    connection.execute("DELETE FROM pending")  # all have their vectors, of this model
