"""A second opinion on the best candidates: asked for, blended, never longer than allowed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Reranker
from outcrop.errors import ConfigError, EmbedError, QueryError, StoreError
from outcrop.read.rerank import RERANKED
from outcrop.records import Text, Trust

NOTES = 40
FETCHING_S = 0.01


class Clock:
    """Stands in for the module `time` where the time of a reranker is counted: time passes only as said here."""

    def __init__(self) -> None:
        self.now = 0.0
        self._looks = 0

    def perf_counter(self) -> float:
        """The first look begins a reranking, the second comes after chunks were fetched and shortened."""
        self._looks += 1
        if self._looks % 2 == 0:
            self.now += FETCHING_S
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("outcrop.read.rerank.time", clock)
    return clock


class WordCounter:
    """Scores by how often a text says a word; takes its time over each, and keeps to the time it is given."""

    def __init__(self, word: str = "late", seconds_each: float = 0.0, clock: Clock | None = None) -> None:
        self.word = word
        self.seconds_each = seconds_each
        self.clock = clock or Clock()
        self.failing = ""
        self.calls: list[tuple[str, list[str], float]] = []

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        started = self.clock.now
        self.calls.append((query, list(texts), seconds))
        if self.failing:
            raise EmbedError(self.failing)
        scores: list[float] = []
        for text in texts:
            if self.clock.now - started + self.seconds_each > seconds:
                break
            self.clock.now += self.seconds_each
            scores.append(float(text.count(self.word)))
        return scores


def note(i: int) -> Text:
    """The later the note, the less it says of comets and the more it says `late`."""
    return Text(f"{'comet ' * (NOTES - i)} in note {i} {'late ' * i}", id=f"n{i:02}")


def open_with(db: Path, reranker: Reranker | None) -> outcrop.Engine:
    return outcrop.Engine(load_config({"db": db}, environ={}), reranker=reranker)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reranking") / "i.db"
    with outcrop.open(path) as kb:
        kb.add_texts(note(i) for i in range(NOTES))
        kb.add_texts(Text(f"nothing of the sky in {i}", id=f"other{i}") for i in range(200))
    return path


@pytest.fixture
def counter() -> WordCounter:
    return WordCounter()


@pytest.fixture
def kb(db: Path, counter: WordCounter) -> Iterator[outcrop.Engine]:
    with open_with(db, counter) as engine:
        yield engine


def found(answer: outcrop.Answer) -> list[str]:
    return [hit.document.uri for hit in answer.hits]


def search(kb: outcrop.Engine, **options: object) -> outcrop.Answer:
    return kb.search("comet", mode="keyword", limit=NOTES, merge=False, **options)  # type: ignore[arg-type]


def test_it_is_asked_only_when_a_search_says_so(kb: outcrop.Engine, counter: WordCounter) -> None:
    plain = search(kb)
    assert not counter.calls
    assert plain.reranked == 0
    assert "rerank" not in plain.timings_ms
    again = search(kb, rerank=True, rerank_seconds=30)
    assert again.reranked == RERANKED
    assert again.reason is None
    assert "rerank" in again.timings_ms
    assert found(again) != found(plain)
    ((query, texts, seconds),) = counter.calls
    assert query == "comet"
    assert len(texts) == RERANKED
    assert texts[0].startswith("n00\n")
    assert seconds < 30, "what fetching and shortening took is taken off"


def test_scores_are_blended_and_the_others_keep_theirs(kb: outcrop.Engine) -> None:
    plain, again = search(kb), search(kb, rerank=True, rerank_seconds=30)
    assert found(again)[RERANKED:] == found(plain)[RERANKED:]
    assert set(found(again)[:RERANKED]) == set(found(plain)[:RERANKED])
    scores = [hit.score for hit in again.hits]
    assert scores == sorted(scores, reverse=True)
    before = {hit.document.uri: hit.score for hit in plain.hits}
    moved = {hit.document.uri: hit for hit in again.hits if any(b.name == "rerank" for b in hit.why.boosts)}
    assert moved
    place = {uri: at for at, uri in enumerate(found(plain))}
    for at, hit in enumerate(again.hits):
        up = place[hit.document.uri] - at
        assert (hit.score - before[hit.document.uri]) * up >= 0, "who rises scores no less, who falls no more"
    assert all(hit.score == before[hit.document.uri] for hit in again.hits[RERANKED:])


def test_a_rerankers_own_weight_counts(db: Path, counter: WordCounter) -> None:
    counter.blend = Trust(0.0, 0.0)  # type: ignore[attr-defined]
    with open_with(db, counter) as kb:
        assert found(search(kb, rerank=True, rerank_seconds=30)) == found(search(kb))
    counter.blend = Trust(1.0, 1.0)  # type: ignore[attr-defined]
    with open_with(db, counter) as kb:
        assert found(search(kb, rerank=True, rerank_seconds=30))[0] == f"n{RERANKED - 1:02}"


def test_scores_that_are_log_odds_are_added_and_the_chance_of_an_answer_is_the_first_orders(
    db: Path, counter: WordCounter
) -> None:
    counter.worth = Trust(0.0, 0.0)  # type: ignore[attr-defined]
    with open_with(db, counter) as kb:
        assert found(search(kb, rerank=True, rerank_seconds=30)) == found(search(kb))
    counter.worth = Trust(prose=9.0, code=0.0)  # type: ignore[attr-defined]
    with open_with(db, counter) as kb:
        plain, again = search(kb), search(kb, rerank=True, rerank_seconds=30)
        assert found(again)[0] == f"n{RERANKED - 1:02}"
        assert found(again)[RERANKED:] == found(plain)[RERANKED:], "none falls behind what was not read"
        first, second = (kb.search("comet", rerank=rerank) for rerank in (False, True))
        assert found(first) != found(second)
        assert first.answerable == second.answerable


@pytest.mark.parametrize(("seconds", "fit"), [(0.065, 1), (0.215, 6), (0.425, 13)])
def test_the_time_given_is_never_exceeded_and_as_many_as_fit_are_read(
    db: Path, clock: Clock, seconds: float, fit: int
) -> None:
    with open_with(db, WordCounter(seconds_each=0.03, clock=clock)) as kb:
        answer = search(kb, rerank=True, rerank_seconds=seconds)
    assert answer.reranked == fit
    assert clock.now == pytest.approx(FETCHING_S + fit * 0.03)
    assert answer.reason is None


def test_without_time_for_a_single_one_the_first_order_stands_and_says_so(db: Path) -> None:
    with open_with(db, WordCounter(seconds_each=5)) as kb:
        answer = search(kb, rerank=True, rerank_seconds=0.1)
        assert found(answer) == found(search(kb))
        assert (answer.reranked, answer.reason) == (0, None)
        assert "no time" in answer.detail
        assert search(kb, rerank=True, rerank_seconds=1e-9).reranked == 0


class FirstFew:
    """Answers for so many texts, whatever the time."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.calls = 0

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        self.calls += 1
        return [float(text.count("late")) for text in texts[: self.count]]


def test_a_part_is_reranked_within_itself_and_always_the_same_way(db: Path) -> None:
    orders = []
    for _ in range(2):
        with open_with(db, FirstFew(7)) as kb:
            plain, part = search(kb), search(kb, rerank=True)
            assert part.reranked == 7
            assert set(found(part)[:7]) == set(found(plain)[:7])
            assert found(part)[7:] == found(plain)[7:]
            assert found(part) != found(plain)
            orders.append([(hit.document.uri, hit.score) for hit in part.hits])
    assert orders[0] == orders[1]


def test_only_whole_answers_are_kept(db: Path) -> None:
    few = FirstFew(7)
    with open_with(db, few) as kb:
        for _ in range(2):
            assert search(kb, rerank=True).reranked == 7
        assert few.calls == 2
        few.count = RERANKED
        for _ in range(2):
            assert search(kb, rerank=True).reranked == RERANKED
        assert few.calls == 3


def test_a_reranker_that_fails_leaves_the_first_order_and_may_recover(
    kb: outcrop.Engine, counter: WordCounter
) -> None:
    counter.failing = "the worker is gone"
    answer = search(kb, rerank=True, rerank_seconds=30)
    assert found(answer) == found(search(kb))
    assert answer.reason == "error"
    assert answer.detail == "not reranked: the worker is gone"
    counter.failing = ""
    assert search(kb, rerank=True, rerank_seconds=30).reranked == RERANKED


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.0])
def test_scores_that_tell_nothing_change_nothing(db: Path, value: float) -> None:
    class Odd:
        def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
            return [value] * (len(texts) + 5)

    with open_with(db, Odd()) as kb:
        assert found(search(kb, rerank=True)) == found(search(kb))


def test_a_text_that_stands_in_several_files_is_read_once_and_they_share_its_score(
    tmp_path: Path, counter: WordCounter
) -> None:
    with open_with(tmp_path / "i.db", counter) as kb:
        kb.add_texts(Text("comet comet copied words", id=f"copy{i}") for i in range(5))
        kb.add_texts(Text(f"comet seen late by {name}", id=name) for name in ("ann", "bob"))
        answer = search(kb, rerank=True, rerank_seconds=30)
        assert len(counter.calls[0][1]) == 3
        assert answer.reranked == 7
        counter.blend = Trust(1.0, 1.0)  # type: ignore[attr-defined]
        assert set(found(search(kb, rerank=True, rerank_seconds=31))[:2]) == {"ann", "bob"}


def test_a_single_candidate_needs_no_second_opinion(kb: outcrop.Engine, counter: WordCounter) -> None:
    assert kb.search("comet", documents=[kb.get("n03").id], rerank=True).reranked == 0
    assert not counter.calls
    assert kb.search("", rerank=True).reason == "empty_query"


def test_a_context_may_be_reranked_and_a_wish_costs_no_second_round(
    tmp_path: Path, counter: WordCounter
) -> None:
    root = tmp_path / "src"
    root.mkdir()
    for name in ("pool", "client", "server"):
        body = "".join(f"    comet_{i} = late({i})\n" for i in range(10))
        (root / f"{name}.py").write_text(f"def {name}_comet():\n{body}", "utf-8")
    with open_with(tmp_path / "i.db", counter) as kb:
        kb.add(root)
        assert kb.context("comet", rerank=True, rerank_seconds=30).sources
        assert len(counter.calls) == 1
        assert kb.code_context("comet", must=["pool.py"], prefer=["client.py"], rerank=True).sources
        assert len(counter.calls) == 2
        assert counter.calls[1][1][0].startswith(
            ("pool.py pool_comet\n", "client.py client_", "server.py server_")
        )
        counter.failing = "the worker is gone"
        for context in (kb.context("comet orbit", rerank=True), kb.code_context("comet orbit", rerank=True)):
            assert context.sources
            assert context.detail == "not reranked: the worker is gone"


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_that_is_none_is_refused(kb: outcrop.Engine, seconds: float) -> None:
    with pytest.raises(QueryError, match="rerank_seconds"):
        search(kb, rerank=True, rerank_seconds=seconds)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Reranker]], list[str]]:
    """Say how a reranker is opened; returns the names that were asked for."""

    def install(open_one: Callable[[str], Reranker]) -> list[str]:
        names: list[str] = []

        def open_reranker(name: str) -> Reranker:
            names.append(name)
            return open_one(name)

        monkeypatch.setattr("outcrop.read.parts.open_reranker", open_reranker)
        return names

    return install


Opened = Callable[[Callable[[str], Reranker]], list[str]]


def test_the_configured_reranker_is_opened_at_the_first_search_that_wants_one_and_only_once(
    db: Path, opened: Opened
) -> None:
    counter = WordCounter()
    names = opened(lambda name: counter)
    config = load_config({"db": db, "reranker": "onnx:cross"}, environ={})
    with outcrop.Engine(config) as kb:
        kb.warm()
        search(kb)
        assert names == []
        threads = [threading.Thread(target=search, args=(kb,), kwargs={"rerank": True}) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert names == ["onnx:cross"]
        assert search(kb, rerank=True).reranked == RERANKED
        assert counter.calls[0][1] == ["warm"], "it has loaded before its time starts to count"


def test_loading_does_not_eat_the_time_of_the_first_search(db: Path, clock: Clock, opened: Opened) -> None:
    class SlowStart(WordCounter):
        def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
            if not self.calls:
                time.sleep(0.3)
                clock.now += 0.3
            return super().score(query, texts, seconds)

    opened(lambda name: SlowStart())
    with open_with(db, None) as kb:
        answer = search(kb, rerank=True, rerank_seconds=0.2)
        assert answer.reranked == RERANKED
        assert answer.timings_ms["load"] > 250


def test_a_reranker_that_is_not_installed_is_a_clear_error(db: Path, opened: Opened) -> None:
    def missing(name: str) -> Reranker:
        raise EmbedError("reranking needs pip install 'outcrop[mini]'")

    opened(missing)
    with open_with(db, None) as kb:
        with pytest.raises(EmbedError, match="pip install 'outcrop"):
            search(kb, rerank=True)
        assert search(kb).hits


def test_a_closed_engine_closes_its_reranker(db: Path, opened: Opened) -> None:
    closed: list[bool] = []

    class Closing(WordCounter):
        def close(self) -> None:
            closed.append(True)

    opened(lambda name: Closing())
    with open_with(db, None) as kb:
        search(kb, rerank=True)
    assert closed == [True]


def test_a_reranker_that_is_still_loading_is_closed_with_its_engine(db: Path, opened: Opened) -> None:
    loading, closed = threading.Event(), threading.Event()

    class Loading(WordCounter):
        def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
            loading.set()
            closed.wait(60)
            raise EmbedError("was closed")

        def close(self) -> None:
            closed.set()

    def ask(engine: outcrop.Engine) -> None:
        with contextlib.suppress(StoreError):
            search(engine, rerank=True)

    opened(lambda name: Loading())
    engine = open_with(db, None)
    thread = threading.Thread(target=ask, args=(engine,))
    thread.start()
    assert loading.wait(60)
    engine.close()
    assert closed.is_set()
    thread.join()


def test_an_unknown_reranker_is_an_error_of_the_configuration(db: Path) -> None:
    config = load_config({"db": db, "reranker": "nonsense"}, environ={})
    with outcrop.Engine(config) as kb, pytest.raises(ConfigError):
        search(kb, rerank=True)
