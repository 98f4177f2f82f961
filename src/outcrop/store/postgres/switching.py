"""Inside a write transaction: vectors that come after their documents, and the switch to another model.

The deriver is made only where it is needed, since making it opens a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from outcrop.records import Model, Vector
from outcrop.records.derived import Deriver
from outcrop.store.postgres import vectors as stored_vectors
from outcrop.store.postgres.connections import Connection, State
from outcrop.store.postgres.nearness import Tuning, chosen, vector_indexes
from outcrop.store.postgres.upkeep import replace_points
from outcrop.store.postgres.writing import complete_documents, set_active
from outcrop.store.shaping import require_active, require_complete


def fill(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Store vectors of pending documents; how many documents are complete now."""
    model_id = require_active(stored_vectors.active_model(connection), model)
    return keep_vectors(connection, state, deriver, model_id, model, vectors)


def keep_vectors(
    connection: Connection,
    state: State,
    deriver: Callable[[], Deriver],
    model_id: int,
    model: Model,
    vectors: Mapping[bytes, Vector],
) -> int:
    """Store those vectors that something uses; how many pending documents they complete, if the model is active."""
    used = stored_vectors.referenced(connection, vectors.keys())
    came = stored_vectors.missing(connection, model_id, used)
    stored_vectors.add(connection, model_id, model, {key: vectors[key] for key in came})
    if state.active_model != model_id:
        return 0
    return complete_documents(connection, state, deriver(), came)


def switch_model(
    connection: Connection, state: State, deriver: Callable[[], Deriver], model: Model, tuning: Tuning
) -> None:
    """Make this the active model, build what search looks up with it, and drop the vectors of all others."""
    model_id = stored_vectors.ensure_model(connection, model)
    require_complete(model, stored_vectors.count_missing(connection, model_id))
    if state.active_model != model_id:
        there = vector_indexes(connection, stored_vectors.points(state.active_model or 0))
        set_active(connection, state, model_id, model)
        kind = chosen(tuning, there)
        replace_points(connection, deriver(), model_id, model.dimensions, kind)
    stored_vectors.drop_other_models(connection, model_id)
    connection.execute("DELETE FROM pending")  # all have their vectors, of this model
