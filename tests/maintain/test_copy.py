"""One index becomes another, in whatever store: all of it, once, and proven."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.maintain.copy_child import open_place
from tests.store.builders import (
    MODEL,
    OTHER,
    key,
    make_code,
    make_write,
    put,
    repack,
    vectors_for,
)

from outcrop.contracts import Store
from outcrop.errors import Cancelled, Conflict, StoreError
from outcrop.maintain import copy
from outcrop.maintain.compare import compare_stores
from outcrop.maintain.copy import move
from outcrop.records import DocumentWrite, Filter, Progress

ROOT = Path(__file__).parents[2]
ODD = "NUL \0, tab\t, e\u0301, \U0001f600, \u202e and \u2028.\n\n\r\nlast\x1f \x1a ' \" $1 %s \\"
NOTED = "moved from"
"""The one setting that is a target's own."""
PAIRS = (("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite"))


@dataclass
class Places:
    """Where a test moves from and to. Each call opens another handle, as another process would."""

    source_place: str
    target_place: str
    opened: list[Store] = field(default_factory=list)

    def source(self) -> Store:
        return self._open(self.source_place)

    def target(self) -> Store:
        return self._open(self.target_place)

    def _open(self, place: str) -> Store:
        self.opened.append(open_place(place))
        return self.opened[-1]


@pytest.fixture(params=PAIRS, ids="-to-".join)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    """Every store as source and as target."""
    kinds = request.param
    names = [
        request.getfixturevalue("postgres_url") if kind == "postgres" else str(tmp_path / f"{side}.db")
        for side, kind in zip(("source", "target"), kinds, strict=True)
    ]
    made = Places(names[0], names[1])
    yield made
    for store in made.opened:
        store.close()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Places]:
    """Two SQLite files."""
    made = Places(str(tmp_path / "source.db"), str(tmp_path / "target.db"))
    yield made
    for store in made.opened:
        store.close()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction a document: as many places to break off as there can be."""
    monkeypatch.setattr(copy, "BATCH_DOCUMENTS", 1)


def library() -> list[DocumentWrite]:
    """Documents of every sort, in two collections."""
    return [
        make_write("a.md", tags=("red", "blue"), meta={"date": "2026-01-31", "b": "2", "a": "1"}),
        make_write("a.md", collection="other", title="The same file in another collection"),
        make_code(role="test"),
        make_write("odd.md", ODD, title=ODD, tags=(ODD,), meta={ODD: ODD}, uri=ODD),
        make_write("empty.md", "", spans=[]),
        make_write("blank.md", " \n ", spans=[], collection="other"),
        make_write("note", "A text that was handed over.", origin="text", root=None, mtime_ns=None),
        replace(make_write("flat.md", "Nothing is known of its path."), path_key=b""),
    ]


WAITING = make_write("waiting.md", "First words.\n\nNobody embedded this yet.")
"""Its first chunk has a vector: another document says the same."""


def stock(store: Store) -> list[int]:
    """Fill a source; the ids of what is in it."""
    ids = put(store, *library())
    ids += store.write([WAITING], {}, MODEL, defer_embedding=True)
    store.delete(put(store, make_write("gone.md", "Deleted again.")))
    store.put_setting("model", "static")
    store.put_folder("main", "/home/me", tags=["r\u00e9d"], survey='{"odd": "\u00e9"}')
    return ids


def contents(store: Store) -> dict[tuple[str, str], tuple[DocumentWrite, dict[bytes, bytes], bool]]:
    """All that a store holds, by name: what makes each document, its vectors, and whether it waits."""
    found, after, waiting = {}, 0, set(store.pending())
    while batch := store.export(after, 3):
        for after, write in batch:
            keys = {*write.text_keys, *write.summary_keys, write.path_key}
            vectors = {k: v.tobytes() for k, v in store.kept_vectors(MODEL, keys).items()}
            found[write.collection, write.file.uri] = (write, vectors, after in waiting)
    return found


def assert_same(source: Store, target: Store) -> None:
    assert contents(target) == contents(source)
    assert target.active_model() == source.active_model()
    assert {**target.settings(), NOTED: ""} == {**source.settings(), NOTED: ""}
    assert target.folders() == source.folders()
    assert list(target.check()) == []


# ------------------------------------------------------------------ all of it


def test_everything_is_there_and_the_source_was_only_read(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    before = source.version()
    report = move(source, target)
    assert report.ok
    assert (report.copied, report.removed, report.pending) == (9, 0, 1)
    assert (report.passes, report.resumed, report.changed_meanwhile) == (1, False, False)
    assert_same(source, target)
    assert source.version() == before
    rows = {row.name: row for row in report.collections}
    assert set(rows) == {"main", "other"}
    assert all(row.source == row.target for row in rows.values())
    assert (rows["main"].source.documents, rows["other"].source.documents) == (7, 2)
    assert rows["other"].source.chunks == 2
    assert rows["other"].source.vectors == 4  # of two chunks and two paths


def test_what_waited_still_waits_and_is_completed_by_what_comes(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    move(source, target)
    (waits,) = target.pending()
    info = target.document(waits)
    assert info is not None
    assert info.path == "waiting.md"
    assert target.fill(MODEL, vectors_for(WAITING)) == 1
    assert target.pending() == []


def test_an_empty_index_is_moved_too(places: Places) -> None:
    source, target = places.source(), places.target()
    source.put_setting("model", "mini")
    report = move(source, target)
    assert report.ok
    assert report.collections == ()
    assert target.setting("model") == "mini"
    assert target.active_model() is None


def test_a_target_that_once_had_another_model_takes_that_of_the_source(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    old = make_write("old.md")
    target.delete(target.write([old], vectors_for(old, model=OTHER), OTHER))
    assert move(source, target).ok
    assert_same(source, target)


def test_a_transaction_is_bounded_however_many_documents_there_are(places: Places) -> None:
    source, target = places.source(), places.target()
    spans = [(i, i + 1) for i in range(700)]
    put(source, *(make_write(f"{n}.md", "x" * 700, spans=spans) for n in range(4)))
    put(source, *(make_write(f"small{n}.md") for n in range(300)))
    watched = Watched(target)
    assert move(source, cast("Store", watched)).ok
    sizes = [sum(len(write.chunks) for write in writes) for writes in watched.written]
    assert sum(sizes) == 4 * 700 + 300 * 2
    assert max(sizes) <= 1024
    assert max(map(len, watched.written)) <= copy.BATCH_DOCUMENTS


class Watched:
    """A store that notes what is written to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.written: list[list[DocumentWrite]] = []

    def write(self, writes: list[DocumentWrite], *args: Any, **options: Any) -> list[int]:
        self.written.append(list(writes))
        return self._store.write(writes, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


# ------------------------------------------------------------------ where it may go


def test_a_target_that_holds_documents_is_left_alone(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    put(target, make_write("mine.md"))
    before = target.version()
    with pytest.raises(Conflict, match="the target holds documents"):
        move(source, target)
    assert target.version() == before


def test_a_copy_that_is_finished_is_not_moved_into_again(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    assert move(source, target).ok
    put(target, make_write("new.md"))
    with pytest.raises(Conflict, match="the finished copy of this index"):
        move(source, target)
    assert target.find("main", "/home/me/new.md") is not None


def test_an_index_is_not_moved_into_itself(places: Places) -> None:
    source = places.source()
    stock(source)
    with pytest.raises(Conflict, match="the same index"):
        move(source, places.source())


def test_half_of_one_index_is_not_made_half_of_another(files: Places, tmp_path: Path) -> None:
    source, target = files.source(), files.target()
    stock(source)
    stop_after(source, target, 1)
    other = open_place(str(tmp_path / "other.db"))
    put(other, make_write("other.md"))
    with pytest.raises(Conflict, match="copy of another index"):
        move(other, target)
    with pytest.raises(Conflict, match="finish that move first"):
        move(target, other)
    other.close()
    assert move(source, target).resumed


def test_a_source_that_was_reembedded_after_the_copy_was_begun_is_refused(files: Places) -> None:
    source, target = files.source(), files.target()
    ids = stock(source)
    source.delete(ids[-1:])  # the one that waits
    stop_after(source, target, 1)
    source.add_vectors(OTHER, vectors_for(*library(), model=OTHER))
    source.activate(OTHER)
    with pytest.raises(Conflict, match="another model"):
        move(source, target)


# ------------------------------------------------------------------ broken off


def stop_after(source: Store, target: Store, steps: int) -> None:
    """Move, one document at a time, and stop after so many."""
    told: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy, "BATCH_DOCUMENTS", 1)
        with pytest.raises(Cancelled, match="run it again"):
            move(source, target, progress=told.append, stopped=lambda: len(told) >= steps)


def test_what_was_stopped_goes_on_where_it_was(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    stop_after(source, target, 3)
    assert len(contents(target)) == 3
    report = move(places.source(), places.target())
    assert report.ok
    assert report.resumed
    assert report.copied == 6
    assert_same(source, target)


class Failing:
    """A store that fails at the nth change, before it is made or after: as if the answer had been lost."""

    CHANGES = ("write", "delete", "put_setting", "put_folder", "activate", "fill")

    def __init__(self, store: Store, fails_at: int, *, after: bool) -> None:
        self._store = store
        self._left = fails_at
        self._after = after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._change(found) if name in self.CHANGES else found

    def _change(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self._after:
                raise StoreError("failed on purpose")
            result = change(*args, **options)
            if self._left < 0:
                raise StoreError("failed on purpose")
            return result

        return made


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_wherever_it_fails_nothing_is_lost_and_nothing_is_there_twice(
    tmp_path: Path, files: Places, after: bool
) -> None:
    """The source changes between two runs, so that there is something to delete and to replace, too."""
    source = files.source()
    ids = stock(source)
    finished = 0
    for number in range(100):
        target = open_place(str(tmp_path / f"copy{number}.db"))
        stop_after(source, target, 5)
        put(source, make_write("a.md", f"It is changed for the time {number}."))
        source.touch({ids[2]: (number, number)})
        try:
            report = move(source, cast("Store", Failing(target, number, after=after)))
        except StoreError:
            try:
                report = move(source, target)
            except Conflict:
                finished += 1  # only the answer was lost
            else:
                assert report.resumed
                assert report.ok, report.problems
            assert_same(source, target)
            target.close()
        else:
            assert report.ok
            target.close()
            assert number > 8  # two deletions, six writes, what it notes at the beginning and at the end
            assert finished == after
            return
    raise AssertionError("it never got through")


def test_killed_at_any_moment_it_goes_on(places: Places) -> None:
    source = places.source()
    stock(source)
    put(source, *(make_write(f"more/{n}.md", f"Document number {n}.\n\nIts end.") for n in range(12)))
    command = [sys.executable, "-m", "tests.maintain.copy_child", places.source_place, places.target_place]
    pipe = subprocess.PIPE
    for steps in (1, 4, 6):
        with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            for _ in range(steps):
                assert child.stdout.readline().startswith("move ")
                child.stdin.write("go on\n")
            child.kill()  # somewhere in the next step
        assert child.returncode == -9
    target = places.target()
    there = len(contents(target))
    assert 11 <= there < 21
    report = move(source, target)
    assert report.ok
    assert report.resumed
    assert report.copied == 21 - there
    assert_same(source, target)


# ------------------------------------------------------------------ the source is in use


def change(store: Store, ids: list[int]) -> None:
    """Everything that can happen to a document."""
    put(store, make_write("a.md", "Other words now.", tags=("green",)))
    put(store, make_write("new.md", "A new document."))
    store.delete([ids[4]])
    renamed = make_write("b.md", collection="other")
    store.move(ids[1], renamed, vectors_for(renamed), MODEL)
    store.touch({ids[2]: (5, 6)})
    store.fill(MODEL, vectors_for(WAITING))
    store.put_setting("model", "mini")
    store.put_folder("main", "/home/me", survey="later")
    store.put_folder("other", "/home/me", tags=["new"])


def test_what_changes_meanwhile_is_caught_up_with(places: Places) -> None:
    source, target, other = places.source(), places.target(), places.source()
    ids = stock(source)

    def meanwhile(progress: Progress) -> None:
        if progress.phase == "move" and not told:
            change(other, ids)
        told.append(progress)

    told: list[Progress] = []
    report = move(source, target, progress=meanwhile)
    assert report.ok, report.problems
    assert report.passes == 2
    assert report.removed == 4  # changed, deleted, renamed, touched
    assert report.pending == 0
    assert_same(source, target)


@pytest.mark.usefixtures("one_by_one")
def test_a_source_that_is_written_to_all_the_time_is_reported_and_caught_up_with_later(places: Places) -> None:
    source, target, other = places.source(), places.target(), places.source()
    stock(source)

    def meanwhile(progress: Progress) -> None:
        put(other, make_write("restless.md", f"Written in {progress.phase} at {progress.done}."))

    report = move(source, target, progress=meanwhile)
    assert report.changed_meanwhile
    assert not report.ok
    assert report.problems == ()  # the copy is right, of a moment that has passed
    assert report.passes == copy.PASSES + 1
    again = move(source, target)
    assert again.ok
    assert again.resumed
    assert_same(source, target)


def test_progress_comes_to_its_end_and_never_goes_back(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    told: list[Progress] = []
    move(source, target, progress=told.append)
    for phase, total in (("move", 9), ("check", 18)):
        done = [progress.done for progress in told if progress.phase == phase]
        assert done == sorted(done)
        assert done[-1] == total
        assert {progress.total for progress in told if progress.phase == phase} == {total}


# ------------------------------------------------------------------ proven


class Lossy(Watched):
    """A store that loses a document of each batch and says nothing."""

    def write(self, writes: list[DocumentWrite], *args: Any, **options: Any) -> list[int]:
        return self._store.write(writes[1:], *args, **options)


def test_a_target_that_loses_documents_is_noticed(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    report = move(source, cast("Store", Lossy(target)))
    assert not report.ok
    assert report.problems == ("/home/me/a.md (in main) is missing in the copy",)
    assert [row.source == row.target for row in report.collections] == [False, True]
    assert move(source, target).ok  # it was not taken for finished


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE text_blocks SET packed = repack(packed, 'Second', 'second')",
        "UPDATE documents SET tail = tail || 'x'",
        "UPDATE chunks SET line_end = line_end + 1",
        "UPDATE text_blocks SET packed = repack(packed, 'Part 1', 'Part 2')",
        "UPDATE chunks SET tokens = tokens + 1 WHERE id = 1",
        "UPDATE documents SET meta = '{}'",
        "UPDATE documents SET title = title || '.' WHERE id = 1",
        "UPDATE documents SET updated_at = updated_at + 0.001 WHERE id = 2",
        "UPDATE documents SET role = ''",
        "UPDATE documents SET language = 'ruby' WHERE language = 'python'",
        "DELETE FROM tags WHERE tag = 'red'",
        "UPDATE text_blocks SET packed = repack(packed, 'about class', 'all about')",
        "UPDATE text_blocks SET packed = repack(packed, 'acquire', 'release')",
        "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE id = (SELECT min(id) + 3 FROM vectors)",
        "DELETE FROM vectors WHERE id = (SELECT min(id) + 2 FROM vectors)",
        "DELETE FROM pending",
        "DELETE FROM documents WHERE id = 4",
        "UPDATE documents SET uri = uri || '2' WHERE id = 3",
    ],
)
def test_a_copy_that_differs_in_anything_is_noticed(files: Places, damage: str) -> None:
    import apsw

    source, target = files.source(), files.target()
    stock(source)
    assert move(source, target).ok
    assert compare_stores(source, target)[1] == []
    database = apsw.Connection(files.target_place)
    database.create_scalar_function("repack", repack, 3)  # type: ignore[arg-type]  # a BLOB and two texts
    database.execute(damage)
    assert database.changes() > 0
    database.close()
    rows, problems = compare_stores(source, target)
    assert problems
    assert any(row.source != row.target for row in rows)


class Forgetful(Watched):
    """A store that keeps no folder and no setting but the note of the copy itself."""

    def put_folder(self, collection: str, root: str, **_: Any) -> None:
        """Nothing is kept."""

    def put_setting(self, name: str, value: str) -> None:
        if name == NOTED:
            self._store.put_setting(name, value)


def test_a_target_that_forgets_folders_and_settings_is_noticed(places: Places) -> None:
    source, target = places.source(), places.target()
    stock(source)
    report = move(source, cast("Store", Forgetful(target)))
    assert report.problems == (
        "the setting 'model' is not the same in the copy",
        "what is remembered of /home/me (in main) is not the same in the copy",
    )
    assert move(source, target).ok


def test_many_differences_are_counted(files: Places) -> None:
    source, target = files.source(), files.target()
    put(source, *(make_write(f"{n}.md", f"Number {n}.") for n in range(30)))
    put(target, *(make_write(f"{n}.md", f"Number {n}.") for n in range(10, 50)))
    _, problems = compare_stores(source, target)
    assert problems[-1] == "10 more are in the copy alone"
    assert sum("is missing" in line for line in problems) == 10
    assert sum("is not the same" in line for line in problems) == 10  # their times differ
    assert "10 more are not the same in the copy" in problems


def test_a_shared_vector_is_there_once(places: Places) -> None:
    source, target = places.source(), places.target()
    put(source, make_write("one.md", "The same words."), make_write("two.md", "The same words."))
    assert move(source, target).ok
    assert target.stats().vectors == 3  # of the words, and of two paths
    assert set(target.kept_vectors(MODEL, [key("The same words.")])) == {key("The same words.")}
    assert len(target.select(Filter())) == 2
