"""The engine through its front door: what a person and an agent do with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cost import PATIENCE_S

import outcrop
from outcrop.config import load_config
from outcrop.contracts import Embedder
from outcrop.embed.static import StaticEmbedder
from outcrop.errors import Cancelled, ConfigError, EmbedError, NotFound, QueryError, SourceError, StoreError
from outcrop.index.arrays import SearchArrays
from outcrop.index.packed import map_watched
from outcrop.records import Filter, IngestReport, Matrix, Model, Text, Trust, Vector

NOTES = {
    "garden/roses.md": "# Roses\n\nPrune roses in late winter, just above an outward-facing bud.\n\n"
    "## Pests\n\nAphids are washed off with a strong jet of water.\n",
    "garden/soil.md": "# Soil\n\nClay soil holds water; add compost and sharp sand to open it up.\n",
    "work/retries.md": "---\ntitle: Retry policy\ntags: [ops, http]\ndate: 2026-03-01\n---\n\n"
    "# Retries\n\nThe client retries ECONNREFUSED and TS-999 three times with exponential backoff.\n",
    "work/config.toml": '[server]\nport = 8080\n\n[client]\nmax_retries = 3\nretryDelay = "2s"\n',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    for name, text in NOTES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[outcrop.Engine]:
    with outcrop.open(tmp_path / "index.db") as engine:
        yield engine


class CountingEmbedder:
    """An honest little embedder: letters counted, so that equal texts have equal vectors."""

    path_weight = 0.5
    trust = Trust()

    def __init__(self, name: str = "letters", dimensions: int = 26) -> None:
        self.model = Model(name, "1", dimensions)
        self.embedded: list[str] = []
        self.fail = False

    def _count(self, text: str) -> Vector:
        counts = np.zeros(self.model.dimensions, np.float32)
        for letter in text.lower():
            if "a" <= letter <= "z":
                counts[(ord(letter) - 97) % self.model.dimensions] += 1
        return counts / max(float(np.linalg.norm(counts)), 1e-9)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.embedded.extend(texts)
        return np.array([self._count(text) for text in texts], np.float32).reshape(-1, self.model.dimensions)

    def embed_paths(self, paths: Sequence[str]) -> Matrix:
        return np.array([self._count(path) for path in paths], np.float32).reshape(-1, self.model.dimensions)

    def embed_query(self, text: str) -> Vector:
        if self.fail:
            raise EmbedError("the model is away")
        return self._count(text)


def open_with(path: Path, embedder: Embedder) -> outcrop.Engine:
    return outcrop.Engine(load_config({"db": path}, environ={}), embedder=embedder)


def test_a_folder_is_added_and_a_question_finds_the_passage_with_its_source(
    kb: outcrop.Engine, folder: Path
) -> None:
    report = kb.add(folder)
    assert (report.added, report.failed) == (4, ())
    hit = kb.search("when should I prune roses?").hits[0]
    assert hit.document.path == "garden/roses.md"
    assert hit.document.collection == "notes"
    assert hit.heading_path == ("Roses",)
    assert "late winter" in hit.text
    assert hit.line_start == 1
    assert kb.text(hit.document.id)[hit.start : hit.end] == hit.text
    assert 0 <= hit.score <= 1
    assert hit.match_type == "both"
    assert hit.stale is False
    assert {"roses", "prune"} <= set(hit.why.matched_terms)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_hit_tells_the_phrase_that_it_holds(kb: outcrop.Engine, folder: Path, mode: Any) -> None:
    kb.add(folder)
    (hit,) = kb.search('"late\t WINTER" roses', mode=mode).hits
    assert hit.why.matched_phrases == ("late WINTER",)
    assert ("roses" in hit.why.matched_terms) == (mode != "semantic")


@pytest.mark.parametrize(
    "query", ["TS-999", "ECONNREFUSED", "max_retries", "retryDelay", "retry delay", "max retries"]
)
def test_identifiers_and_codes_are_found_whole_and_by_their_parts(
    kb: outcrop.Engine, folder: Path, query: str
) -> None:
    kb.add(folder)
    assert kb.search(query, mode="keyword").hits[0].document.path.startswith("work/")


def test_a_quoted_phrase_returns_only_chunks_that_hold_it(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    answer = kb.search('"strong jet of water"')
    assert answer.query_type == "exact"
    assert [hit.document.path for hit in answer.hits] == ["garden/roses.md"]
    assert kb.search('"jet strong of"').unmatched_phrases == ("jet strong of",)


def test_front_matter_gives_title_tags_and_date(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    document = kb.get("work/retries.md")
    assert (document.title, set(document.tags)) == ("Retry policy", {"ops", "http"})
    assert [d.path for d in kb.documents(Filter(tags=("ops",)))] == ["work/retries.md"]
    hits = kb.search("water", since="2026-02-28", until="2026-03-02", floor=0.0).hits
    assert {hit.document.path for hit in hits} <= {"work/retries.md"}


def test_filters_return_full_results_of_a_small_slice(kb: outcrop.Engine) -> None:
    kb.add_texts(
        Text(
            f"river note {i} about stones and water number {i}",
            id=f"d{i}",
            tags=("rare",) if i % 100 == 0 else (),
        )
        for i in range(1500)
    )
    hits = kb.search("water stones", tags=["rare"], limit=10).hits
    assert len(hits) == 10
    assert all("rare" in hit.document.tags for hit in hits)
    assert len(kb.search("water stones", documents=[hits[0].document.id]).hits) == 1


def test_an_unchanged_document_keeps_everything_even_its_update_time(kb: outcrop.Engine) -> None:
    first = kb.add(text="the same words", id="a")
    before = kb.get("a")
    again = kb.add(text="the same words", id="a")
    assert (again.unchanged, again.added, again.changed) == (1, 0, 0)
    assert again.document_ids == first.document_ids
    assert kb.get("a") == before
    kb.add(text="other words now", id="a")
    after = kb.get("a")
    assert (after.id, after.created_at) == (before.id, before.created_at)
    assert after.updated_at > before.updated_at
    assert kb.search("same", mode="keyword").hits == ()


def test_what_is_deleted_is_gone(kb: outcrop.Engine, folder: Path, tmp_path: Path) -> None:
    kb.add(folder)
    kb.add(text="the zanzibar secret", id="secret")
    assert kb.search("zanzibar", mode="keyword").hits
    assert kb.delete("secret") == 1
    assert kb.search("zanzibar").hits == ()
    kb.close()
    assert not any(b"zanzibar" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_deleting_by_filter_needs_a_filter(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    with pytest.raises(QueryError):
        kb.delete(where=Filter())
    assert kb.delete(where=Filter(paths=("garden/**",))) == 2


def test_answers_say_why_they_are_empty(kb: outcrop.Engine, folder: Path) -> None:
    assert kb.search("anything at all").reason == "empty_index"
    kb.add(folder)
    assert kb.search("").reason == "empty_query"
    assert kb.search("x").reason == "empty_query"
    assert kb.search("zzzyx qqqw", mode="keyword").reason == "no_hits"
    assert kb.search("roses", kinds=["pdf"]).reason == "filtered_out"


def test_an_unknown_collection_is_an_error_that_suggests_the_near_one(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    with pytest.raises(NotFound, match="did you mean 'notes'"):
        kb.search("roses", collections=["note"])


@pytest.mark.parametrize(
    "options", [{"limit": 0}, {"floor": 2.0}, {"cutoff": -1.0}, {"max_distance": 3.0}, {"since": "someday"}]
)
def test_senseless_options_are_refused(kb: outcrop.Engine, folder: Path, options: dict[str, object]) -> None:
    with pytest.raises(QueryError):
        kb.search("roses", **options)  # type: ignore[arg-type]


def test_another_model_answers_by_keyword_says_so_and_reembed_mends_it(tmp_path: Path, folder: Path) -> None:
    with open_with(tmp_path / "i.db", CountingEmbedder("first")) as kb:
        kb.add(folder)
    second = CountingEmbedder("second", dimensions=13)
    with open_with(tmp_path / "i.db", second) as kb:
        answer = kb.search("prune roses")
        assert answer.reason == "model_mismatch"
        assert "reembed" in answer.detail
        assert answer.hits[0].match_type == "keyword"
        assert kb.search("prune roses", mode="semantic").hits == ()
        with pytest.raises(StoreError, match="reembed"):
            kb.add(text="more", id="m")
        assert kb.reembed() == kb.status().stats.chunks
        assert kb.reembed() == 0
        answer = kb.search("prune roses")
        assert answer.reason is None
        assert answer.hits[0].why.similarity is not None
        assert all(check.ok for check in kb.doctor())


def test_a_stopped_reembed_keeps_serving_and_goes_on_later(tmp_path: Path) -> None:
    with open_with(tmp_path / "i.db", CountingEmbedder("first")) as kb:
        kb.add_texts(Text(f"note {i} about {i * 7}", id=str(i)) for i in range(1200))
    embedder = CountingEmbedder("second")
    with open_with(tmp_path / "i.db", embedder) as kb:
        with pytest.raises(Cancelled):
            kb.reembed(stopped=lambda: True)
        done = len(embedder.embedded)
        assert 0 < done < 1200
        assert kb.status().index_model == Model("first", "1", 26)
        assert kb.reembed() == 1200 - done
        assert kb.status().index_model == embedder.model


def test_a_model_that_fails_leaves_the_keyword_leg(tmp_path: Path, folder: Path) -> None:
    embedder = CountingEmbedder()
    with open_with(tmp_path / "i.db", embedder) as kb:
        kb.add(folder)
        embedder.fail = True
        answer = kb.search("prune roses")
        assert answer.reason == "error"
        assert "the model is away" in answer.detail
        assert answer.hits[0].document.path == "garden/roses.md"


def test_a_cancelled_search_stops(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    with pytest.raises(Cancelled):
        kb.search("roses", stopped=lambda: True)


def test_a_hit_whose_file_changed_is_marked_and_stale_lists_it(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    roses, soil = folder / "garden/roses.md", folder / "garden/soil.md"
    roses.write_text("# Roses\n\nThey were replaced by tulips.\n", "utf-8")
    soil.unlink()
    (folder / "work/config.toml").touch()
    assert kb.search("prune roses").hits[0].stale is True
    assert {(s.document.path, s.change) for s in kb.stale()} == {
        ("garden/roses.md", "changed"),
        ("garden/soil.md", "missing"),
    }
    report = kb.sync()
    assert (report.changed, report.removed) == (1, 1)
    assert kb.stale() == []
    assert kb.search("tulips").hits[0].stale is False


def test_context_stays_within_its_budget_and_numbers_its_sources(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    context = kb.context("retries and water", budget_tokens=120)
    assert 0 < context.tokens <= 120
    assert context.text.startswith("[1] ")
    assert [source.number for source in context.sources] == list(range(1, len(context.sources) + 1))
    with pytest.raises(QueryError):
        kb.context("roses", budget_tokens=0)


def test_a_write_invalidates_cached_answers(kb: outcrop.Engine) -> None:
    kb.add(text="alpha beta gamma", id="1")
    assert len(kb.search("alpha").hits) == 1
    kb.add(text="alpha delta epsilon", id="2")
    assert len(kb.search("alpha").hits) == 2


def test_writes_of_another_process_are_seen_at_once(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as one, outcrop.open(tmp_path / "i.db") as two:
        one.add(text="first comet", id="1")
        assert two.search("comet").hits
        two.add(text="second comet", id="2")
        assert len(one.search("comet").hits) == 2
        two.delete("1")
        assert [hit.document.uri for hit in one.search("comet").hits] == ["2"]


def test_many_threads_search_while_one_writes(kb: outcrop.Engine) -> None:
    kb.add_texts(Text(f"base note {i} on comets", id=f"b{i}") for i in range(50))
    stop = threading.Event()
    problems: list[BaseException] = []

    def search() -> None:
        try:
            while not stop.is_set():
                assert kb.search("comets", limit=5).hits
        except BaseException as error:  # noqa: BLE001 - a thread's error must reach the test
            problems.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(30):
        kb.add(text=f"fresh note {i} on comets", id=f"f{i}")
    stop.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(kb.search("fresh comets", limit=100, merge=False).hits) >= 30


def test_adjacent_chunks_merge_into_one_hit_that_is_the_text_of_the_document(tmp_path: Path) -> None:
    paragraphs = [f"The granite quarry number {i} gave stone for bridge {i}. " * 8 for i in range(6)]
    with outcrop.open(tmp_path / "i.db", chunk_tokens=120) as kb:
        kb.add(text="\n\n".join(paragraphs), id="quarry")
        hits = kb.search("granite quarry stone bridge").hits
        assert len(hits) == 1
        assert len(hits[0].chunk_ids) > 1
        assert kb.text("quarry")[hits[0].start : hits[0].end] == hits[0].text
        apart = kb.search("granite quarry stone bridge", merge=False).hits
        assert all(len(hit.chunk_ids) == 1 for hit in apart)
        assert len(apart) > 1


def test_rrf_and_single_legs_are_options(kb: outcrop.Engine, folder: Path) -> None:
    kb.add(folder)
    assert kb.search("prune roses", fusion="rrf").hits[0].document.path == "garden/roses.md"
    assert kb.search("prune roses", mode="keyword").hits[0].match_type == "keyword"
    semantic = kb.search("prune roses", mode="semantic").hits[0]
    assert semantic.match_type == "semantic"
    assert semantic.distance is not None
    assert 0 <= semantic.distance <= 2


def test_documents_are_found_by_id_uri_and_path_and_a_doubtful_name_says_so(
    kb: outcrop.Engine, folder: Path
) -> None:
    kb.add(folder)
    document = kb.get("garden/roses.md")
    assert kb.get(document.id) == kb.get(str(folder / "garden/roses.md")) == document
    (folder / "work/roses.md").write_text("# Other roses\n", "utf-8")
    kb.sync(folder)
    with pytest.raises(NotFound, match="not unique"):
        kb.get("roses.md")
    with pytest.raises(NotFound):
        kb.get("tulips.md")


def test_hashes_of_a_collection_let_a_sync_diff(kb: outcrop.Engine) -> None:
    kb.add(text="one", id="1", collection="c")
    kb.add(text="two", id="2", collection="c")
    hashes = kb.hashes("c")
    assert set(hashes) == {"1", "2"}
    assert all(len(digest) == 64 for digest in hashes.values())


@pytest.mark.parametrize("source", [None, "/no/such/place"])
def test_a_source_that_is_not_there_is_an_error(kb: outcrop.Engine, source: str | None) -> None:
    with pytest.raises(SourceError):
        kb.add(source)


def test_a_changed_file_is_searchable_soon_after_its_save(kb: outcrop.Engine, folder: Path) -> None:
    stop = threading.Event()
    reports = kb.watch([folder], stop=stop)
    first = next(reports)
    assert first.added == 4
    pumped: list[IngestReport] = []
    pump = threading.Thread(target=lambda: pumped.extend(reports))
    pump.start()
    try:
        for name, word in (("garden/soil.md", "vermiculite"), ("garden/new.md", "hellebore")):
            (folder / name).write_text(f"# Note\n\nNow with {word}.\n", "utf-8")
            end = time.monotonic() + PATIENCE_S  # the promise is one second, which the speed benchmark measures
            while not kb.search(word, mode="keyword").hits:
                assert time.monotonic() < end, f"{word} did not appear"
                time.sleep(0.02)
        (folder / "garden/new.md").unlink()
        end = time.monotonic() + PATIENCE_S
        while kb.search("hellebore", mode="keyword").hits:
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        stop.set()
        pump.join()


def test_the_arrays_are_rebuilt_when_their_files_are_damaged(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add_texts(Text(f"note {i} on gneiss", id=str(i)) for i in range(600))
        assert kb.status().array_bytes > 0
    for path in (tmp_path / "i.db.arrays").glob("segment-*"):
        path.write_bytes(path.read_bytes()[:100])
    with outcrop.open(tmp_path / "i.db") as kb:
        assert not all(check.ok for check in kb.doctor())
        assert len(kb.search("gneiss", limit=5, merge=False).hits) == 5
        assert all(check.ok for check in kb.doctor(repair=True))
        assert all(check.ok for check in kb.doctor())


def test_pages_of_results_follow_each_other(kb: outcrop.Engine) -> None:
    kb.add_texts(Text(f"comet number {i} seen by observatory {i * 3}", id=str(i)) for i in range(60))
    whole = [hit.document.uri for hit in kb.search("comet observatory", limit=30).hits]
    pages = [
        hit.document.uri
        for offset in (0, 10, 20)
        for hit in kb.search("comet observatory", limit=10, offset=offset).hits
    ]
    assert len(whole) == 30
    assert pages == whole


def test_a_tokenizer_file_counts_the_tokens_of_a_context(tmp_path: Path, folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    library = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.save(str(tmp_path / "tokenizer.json"))
    with outcrop.open(tmp_path / "i.db", tokenizer=str(tmp_path / "tokenizer.json")) as kb:
        kb.add(folder)
        context = kb.context("prune roses water", budget_tokens=60)
        assert 0 < context.tokens <= 60
        assert context.tokens == len(library.encode(context.text).ids)
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(ConfigError):
        outcrop.open(tmp_path / "i.db", tokenizer=str(tmp_path / "broken.json"))


def test_damaged_array_data_is_noticed_in_a_search_and_made_again(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add_texts(Text(f"note {i} on gneiss", id=str(i)) for i in range(600))
    for path in (tmp_path / "i.db.arrays").glob("segment-*"):
        data, rows = bytearray(path.read_bytes()), map_watched(path)[0]["rows"].tobytes()
        end = data.index(rows) + len(rows)
        data[end - 400 : end] = b"\xff" * 400
        path.unlink()
        path.write_bytes(data)
    with outcrop.open(tmp_path / "i.db") as kb:
        assert len(kb.search("gneiss note", limit=5, merge=False).hits) == 5


def test_a_restored_copy_of_the_database_does_not_take_over_the_arrays_of_another_history(
    tmp_path: Path,
) -> None:
    def notes(word: str) -> list[Text]:
        return [Text(f"{word} note {i} {word}{i}", id=f"{word}{i}") for i in range(700)]

    db = tmp_path / "i.db"
    with outcrop.open(db) as kb:
        kb.add_texts(notes("gneiss"))
    copy = db.read_bytes()
    with outcrop.open(db) as kb:
        kb.add_texts(notes("marble"))
    db.write_bytes(copy)
    for leftover in ("i.db-wal", "i.db-shm"):
        (tmp_path / leftover).unlink(missing_ok=True)
    with open_with(db, StaticEmbedder()) as kb:
        # As many writes as before, so that the versions agree and only their history differs.
        kb._adder.ingestor().add_many(notes("slate"), "default")
    with outcrop.open(db) as kb:
        assert len(kb.search("slate", mode="keyword", limit=5, merge=False).hits) == 5
        assert not kb.search("marble", mode="keyword").hits


def test_scores_tell_a_unique_name_from_words_that_say_nothing(kb: outcrop.Engine) -> None:
    kb.add_texts(
        Text(f"The {i} notes of the day and the night are about the weather of the {i} th of May.", id=str(i))
        for i in range(300)
    )
    kb.add(text="The needle is kept in the Zanzibar drawer.", id="needle")
    assert kb.search("the of and").hits[0].score < 0.2
    for query in ("zanzibar", "Zanzibar drawer"):
        found = kb.search(query).hits[0]
        assert found.document.uri == "needle"
        assert found.score > 0.4


def test_a_place_says_lines_of_the_file_or_of_the_text_made_from_it(kb: outcrop.Engine, folder: Path) -> None:
    (folder / "page.html").write_text("<h1>Ferns</h1>\n\n\n\n<p>Bracken unrolls in May.</p>", "utf-8")
    kb.add(folder)
    assert kb.search("bracken unrolls").hits[0].place == "page.html text 1-3"
    assert kb.search("prune roses").hits[0].place.startswith("garden/roses.md:1")
    assert kb.context("bracken unrolls").text.startswith("[1] page.html text 1-3 (Ferns)")


def test_an_empty_source_is_not_the_current_folder(kb: outcrop.Engine) -> None:
    with pytest.raises(SourceError):
        kb.add("")


def test_a_search_keeps_what_it_took_long_to_catch_up_and_never_waits_to_do_so(tmp_path: Path) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb._adder.ingestor().add_many((Text(f"note {i} on gneiss", id=str(i)) for i in range(600)), "default")
        assert kb.status().array_bytes == 0
        assert isinstance(kb.parts.index, SearchArrays)
        held = kb.parts.index._lock
        kb.parts.index.refresh()
        answers: list[outcrop.Answer] = []
        with held:  # as another thread would hold it while it saves
            searching = threading.Thread(target=lambda: answers.append(kb.search("gneiss")))
            searching.start()
            searching.join(timeout=60)
            assert answers
        assert kb.status().array_bytes == 0
        kb.search("gneiss note")
        assert kb.status().array_bytes > 0


def test_a_phrase_of_words_that_stand_everywhere_is_found_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most texts hold the words and not the phrase, and rank higher: they are read and ruled out, batch by batch."""
    monkeypatch.setattr("outcrop.index.candidates.READ_PHRASES", 3)
    monkeypatch.setattr("outcrop.read.search.PHRASE_POOL", 4)
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add_texts(
            Text(f"slate over chalk, chalk over slate over chalk {i}", id=f"no {i}", title="slate and chalk")
            for i in range(60)
        )
        kb.add_texts(
            Text(f"Of {'many other words, ' * 20} slate and chalk number {i}", id=f"yes {i}") for i in range(3)
        )
        read: list[int] = []
        match = kb._store.match_phrase

        def noting(phrase: str, among: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
            read.extend(among.tolist() if among is not None else [])
            return match(phrase, among)

        monkeypatch.setattr(kb._store, "match_phrase", noting)
        hits = kb.search('"slate and chalk"', limit=5).hits
        assert {hit.document.uri for hit in hits} == {"yes 0", "yes 1", "yes 2"}
        assert len(read) == len(set(read)), "nothing is read twice"
        read.clear()
        assert len(kb.search('"over"', limit=2, merge=False).hits) == 2
        assert len(read) < 60, "what could not be returned is not read"
        assert kb.search('"chalk and slate"').unmatched_phrases == ("chalk and slate",)


def test_the_doctor_finds_a_text_that_is_not_what_was_written(tmp_path: Path) -> None:
    """As a disk leaves it that changes a letter: the passage no longer has the address that was made of it."""
    with outcrop.open(tmp_path / "index.db") as kb:
        kb.add(text="The harbour closes at dusk.", id="a")
        assert all(check.ok for check in kb.doctor())
        ((_, write),) = kb._store.export(0, 9)
        (chunk,) = write.chunks
        worn = replace(chunk, text=chunk.text.replace("closes", "clozes"))
        document = replace(write.document, text=write.document.text.replace("closes", "clozes"))
        kb._store.write([replace(write, document=document, chunks=(worn,))], {}, kb.status().model)
        details = [check.detail for check in kb.doctor() if not check.ok]
        assert any("documents that are not what was written: 1 (a)" in detail for detail in details)


@pytest.mark.parametrize("digits", [19, 30, 5000])
def test_a_number_that_no_document_could_have_is_not_found(tmp_path: Path, digits: int) -> None:
    with outcrop.open(tmp_path / "i.db") as kb:
        kb.add(text="A note about comets.", id="comets")
        for ask in (kb.get, kb.text, kb.chunks):
            with pytest.raises(NotFound, match="outcrop ls"):
                ask("9" * digits)
        with pytest.raises(NotFound):
            kb.graph("#" + "9" * digits)
