"""Some thousand operations beside the model on every run; two hundred thousand are for the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from proofs.model_check import __main__ as model_check
from proofs.model_check.__main__ import Episode, Grounds, draw, examine, keep, open_grounds, play, read, shrink
from proofs.model_check.state import Model, Op, Seen, content, mark_of, reconcile
from tests.postgres.server import PostgresServer

EPISODES, OPS, OPS_ON_POSTGRES = 4, 1100, 600


@pytest.fixture(scope="module")
def grounds(postgres_server: PostgresServer) -> Iterator[Grounds]:
    with open_grounds(postgres_server) as opened:
        yield opened


@pytest.mark.parametrize("number", range(EPISODES))
def test_an_index_in_a_file_says_what_the_model_says(grounds: Grounds, number: int) -> None:
    tally: Counter[str] = Counter()
    assert play(grounds, draw("sqlite", 7, number, OPS, light=True), tally) is None
    assert tally.total() == OPS


def test_so_does_one_on_postgres(grounds: Grounds) -> None:
    assert play(grounds, draw("postgres", 11, 0, OPS_ON_POSTGRES, light=True)) is None


def test_an_index_that_moves_from_one_store_to_the_other_goes_on_saying_it(grounds: Grounds) -> None:
    ops: list[Op] = [
        ["write", "alpha/a1.md", 5, 1],
        ["sync", "alpha"],
        ["note", "kb/one.md", 7, 2],
        ["move"],
        ["write", "alpha/a1.md", 8, 3],
        ["sync", "alpha"],
        ["crash", ["move"], 3000],
        ["refresh"],
        ["compare"],
    ]
    assert play(grounds, Episode("both", ops)) is None


@pytest.mark.parametrize(
    ("forgotten", "said"),
    [
        (["sync", "alpha"], "the index and the model differ"),
        (["write", "alpha/a1.md", 2, 9], "stale is"),
        (["touch", "alpha/a1.md", 9], "a hit says stale"),
    ],
)
def test_what_the_model_does_not_know_of_is_noticed(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forgotten: Op, said: str
) -> None:
    """The model forgets an operation: the check must say so, and the sequence becomes short."""
    whole = Model.apply
    monkeypatch.setattr(Model, "apply", lambda model, op: None if op == forgotten else whole(model, op))
    ops: list[Op] = [["text", f"text-{number}", number, False] for number in range(1, 5)]
    ops += [["write", "alpha/a1.md", 1, 1], ["sync all"], ["sync", "beta"], ["sync", "alpha"]]
    ops += [forgotten, ["text", "text-6", 1, False], ["search", {"collections": ["alpha"]}]]
    failure = play(grounds, Episode("sqlite", ops))
    assert failure is not None
    assert any(said in problem for problem in failure.problems)
    kept = examine(grounds, failure, tmp_path)
    assert len(read(kept).ops) < 5
    assert play(grounds, read(kept)) is not None


def test_the_same_seed_draws_the_same_operations() -> None:
    assert draw("sqlite", 3, 4) == draw("sqlite", 3, 4)
    assert draw("sqlite", 3, 4).ops != draw("sqlite", 3, 5).ops


def test_shrinking_leaves_what_is_needed(tmp_path: Path) -> None:
    ops: list[Op] = [["text", f"text-{number}"] for number in range(40)]
    needed = [ops[3], ops[17], ops[31]]
    assert shrink(lambda tried: all(op in tried for op in needed), ops) == needed
    path = keep(model_check.Failure(Episode("sqlite", needed, "x"), 0, ("a problem",)), tmp_path)
    assert read(path) == Episode("sqlite", needed, "x-3")


def test_after_a_kill_a_document_is_as_before_or_as_after_and_nothing_else() -> None:
    before = Model()
    before.apply(["text", "text-1", 1, False])
    after = before.after(["text", "text-1", 2, False])
    for state in (before, after):
        (held,) = state.held.values()
        found, wrong = reconcile(before, after, {("texts", "text-1"): Seen(held.sha256, None)}, {})
        assert (found.held, wrong) == (state.held, [])
    for index in ({}, {("texts", "text-1"): Seen("another", None)}):
        assert reconcile(before, after, index, {})[1]


def test_every_chunk_of_a_version_names_it() -> None:
    for ext in ("md", "py", "txt"):
        assert content(7, ext).count(mark_of(7)) > content(8, ext).count(mark_of(8)) > 1
    assert content(0, "md") == ""
