"""What the past tells about files that change together, and how that is judged."""

from __future__ import annotations

from benchmarks.cochange import Asked, Commit, Past, choose, interval, split


def commit(name: str, *files: str, text: str = "pool: wait no longer than the caller has said") -> Commit:
    return Commit(name, f"{name}^", text, frozenset(files))


def test_the_latest_commits_are_asked_and_the_past_ends_before_them() -> None:
    log = [commit("d", "a", "b"), commit("c", "a"), commit("b", "a", "c", text="typo"), commit("a", "a", "b")]
    asked, before = split(log, 1)
    assert [one.id for one in asked] == ["d"]
    assert [one.id for one in before] == ["c", "b", "a"]
    assert split(log, 3) == ([log[0], log[3]], [])  # one file, or a few words, ask for nothing


def test_what_changed_with_the_first_hits_is_added_and_large_commits_tell_nothing() -> None:
    many = commit("m", *(f"f{number}" for number in range(30)), "pool", "far")
    past = Past.count([many, commit("b", "pool", "wait"), commit("a", "pool", "wait")])
    assert past.together({"pool": 0.8}) == {"wait": 0.8 * 2 / 4}
    lately = past.lately({"pool": 0.8, "wait": 0.5, "new": 0.5})
    assert lately["pool"] > lately["wait"]
    assert "new" not in lately


def test_the_weight_that_finds_most_is_chosen_and_none_where_none_helps() -> None:
    scores = {f"f{number}": 1.0 - number / 100 for number in range(12)}
    helped = Asked(scores, {"together": {"x": 1.0}}, frozenset({"x", "f0"}))
    assert helped.recall("together", 0.0) == 0.5
    assert helped.recall("together", choose([helped], "together")) == 0.5  # .8 stays below ten better ones
    lifted = Asked({"f0": 0.5}, {"together": {"x": 1.0}}, frozenset({"x"}))
    assert lifted.recall("together", choose([lifted], "together")) == 1.0
    assert choose([helped], "together") == 0.0


def test_an_interval_holds_the_mean_and_is_a_point_where_all_are_alike() -> None:
    low, high = interval([0.0, 1.0] * 50)
    assert low < 0.5 < high
    assert interval([0.25] * 8) == (0.25, 0.25)
