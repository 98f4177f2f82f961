"""Commits become documents, once each, on both stores; a rebase, a kill and a broken repository are survived."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sources.repositories import commit, git, make

import outcrop
from outcrop.errors import Cancelled, NotFound, SourceError

RETRY = "MAX_ATTEMPTS = {}\n\n\ndef call(send):\n    for _ in range(MAX_ATTEMPTS):\n        send()\n"


def fill(top: Path) -> Path:
    """A small project of four commits."""
    make(top)
    commit(top, "retry: calls are repeated", {"src/retry.py": RETRY.format(3)}, "2024-01-10T00:00:00Z")
    commit(
        top, "docs: how to deploy", {"docs/deploy.md": "# Deploy\n\nRun the script.\n"}, "2024-02-10T00:00:00Z"
    )
    why = "retry: five attempts, not three\n\nThe new gateway drops the first calls after a deploy."
    commit(top, why, {"src/retry.py": RETRY.format(5)}, "2024-03-10T00:00:00Z")
    commit(
        top,
        "src: retry moves",
        {"src/retry.py": None, "src/net/retry.py": RETRY.format(5)},
        "2024-04-10T00:00:00Z",
    )
    return top


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return fill(tmp_path / "project")


@pytest.fixture(params=["sqlite", "postgres"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[outcrop.Engine]:
    place = (
        request.getfixturevalue("postgres_url") if request.param == "postgres" else str(tmp_path / "index.db")
    )
    with outcrop.open(place, data_dir=tmp_path) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[outcrop.Engine]:
    """An index in a file, for what does not depend on the store."""
    with outcrop.open(str(tmp_path / "index.db")) as opened:
        yield opened


def names(index: outcrop.Engine) -> set[str]:
    (collection,) = index.histories().values()
    return {
        info.uri.removeprefix("git:") for info in index.documents(outcrop.Filter(collections=(collection,)))
    }


def test_a_question_finds_the_commit_that_answers_it(index: outcrop.Engine, repo: Path) -> None:
    index.add(repo)
    report = index.add_history(repo)
    assert (report.added, report.failed) == (4, ())
    assert index.histories() == {str(repo): "project history"}
    best = index.history("why was the number of attempts raised?").hits[0]
    assert best.document.title == "retry: five attempts, not three"
    assert best.document.uri == f"git:{git(repo, 'rev-parse', 'HEAD~1')}"
    assert (best.document.kind, best.document.meta["author"]) == ("commit", "Ann")
    text = index.text(best.document.id)
    assert "The new gateway drops the first calls" in text
    assert "-MAX_ATTEMPTS = 3\n+MAX_ATTEMPTS = 5" in text


def test_a_search_finds_commits_only_where_it_names_them(index: outcrop.Engine, repo: Path) -> None:
    index.add(repo)
    before = [hit.document.path for hit in index.search("retry attempts").hits]
    index.add_history(repo)
    assert [hit.document.path for hit in index.search("retry attempts").hits] == before
    assert "gateway" not in index.context("why five attempts after a deploy?").text
    assert index.search("gateway", collections=["project history"]).hits
    assert index.search("gateway", kinds=["commit"]).hits


def test_time_and_path_narrow_it(index: outcrop.Engine, repo: Path) -> None:
    index.add_history(repo)

    def found(**options: object) -> set[str]:
        return {hit.document.title for hit in index.history("retry attempts deploy", **options).hits}  # type: ignore[arg-type]

    assert "docs: how to deploy" in found()
    assert found(paths=["docs/**"]) == {"docs: how to deploy"}
    assert found(paths=["retry.py"]) == {
        "retry: calls are repeated",
        "retry: five attempts, not three",
        "src: retry moves",
    }
    assert found(paths=["retry.py"], until="2024-02-01") == {"retry: calls are repeated"}
    assert "retry: calls are repeated" not in found(since="2024-03-01")
    assert found(paths=["nowhere.py"]) == set()


def test_only_new_commits_are_read_and_sync_reads_them_too(index: outcrop.Engine, repo: Path) -> None:
    index.add_history(repo)
    before = {info.uri: info.updated_at for info in index.documents()}
    assert index.add_history(repo).added == 0
    commit(repo, "net: a timeout", {"src/net/timeout.py": "TIMEOUT_S = 5\n"})
    report = index.add_history(repo)
    assert (report.added, report.removed, report.unchanged) == (1, 0, 4)
    commit(repo, "net: a longer timeout", {"src/net/timeout.py": "TIMEOUT_S = 9\n"})
    assert index.sync().added == 1
    assert {info.uri: info.updated_at for info in index.documents() if info.uri in before} == before
    assert len(names(index)) == 6


def test_a_rebase_replaces_what_it_replaced(small: outcrop.Engine, repo: Path) -> None:
    small.add_history(repo)
    git(repo, "reset", "-q", "--hard", "HEAD~2")
    commit(repo, "retry: seven attempts", {"src/retry.py": RETRY.format(7)})
    report = small.add_history(repo)
    assert (report.added, report.removed) == (1, 2)
    assert names(small) == set(git(repo, "rev-list", "HEAD").split())


def test_a_branch_and_back_is_the_same(small: outcrop.Engine, repo: Path) -> None:
    small.add_history(repo)
    before = names(small)
    git(repo, "checkout", "-q", "-b", "topic", "HEAD~1")
    commit(repo, "topic: one", {"t.txt": "t\n"})
    small.add_history(repo)
    assert names(small) == set(git(repo, "rev-list", "HEAD").split())
    git(repo, "checkout", "-q", "main")
    small.add_history(repo)
    assert names(small) == before


def test_since_bounds_it_and_can_be_widened(small: outcrop.Engine, repo: Path) -> None:
    assert small.add_history(repo, since="2024-03-01").added == 2
    assert small.add_history(repo).added == 0
    report = small.add_history(repo, since="2024-02-01")
    assert (report.added, report.unchanged) == (1, 2)
    assert len(names(small)) == 3


def test_a_run_that_is_stopped_goes_on_where_it_was(
    small: outcrop.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = fill(tmp_path / "long")
    monkeypatch.setattr("outcrop.write.commit.BATCH_CHUNKS", 1)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 6

    with pytest.raises(Cancelled):
        small.add_history(top, stopped=stop)
    kept = {info.uri.removeprefix("git:") for info in small.documents()}
    order = git(top, "rev-list", "--reverse", "HEAD").split()
    assert 0 < len(kept) < 4
    assert kept == set(order[: len(kept)])  # parents before children
    assert small.add_history(top).added == 4 - len(kept)
    assert names(small) == set(order)


def test_a_shallow_clone_grows_when_it_is_deepened(small: outcrop.Engine, repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repo}", "shallow")
    report = small.add_history(tmp_path / "shallow")
    assert (report.added, report.failed) == (2, ())
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    assert small.add_history(tmp_path / "shallow").added == 2
    assert names(small) == set(git(repo, "rev-list", "HEAD").split())


def test_a_partial_clone_has_messages_and_files(small: outcrop.Engine, repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", "partial")
    report = small.add_history(tmp_path / "partial")
    assert (report.added, report.failed) == (4, ())
    best = small.history("gateway drops calls").hits[0].document
    assert best.meta["files"] == "src/retry.py"
    assert "not in this clone" in small.text(best.id)


def test_damage_is_a_line_in_the_report(small: outcrop.Engine, repo: Path) -> None:
    tree = git(repo, "rev-parse", "HEAD~1:src")
    (repo / ".git/objects" / tree[:2] / tree[2:]).chmod(0o600)
    (repo / ".git/objects" / tree[:2] / tree[2:]).write_bytes(b"damaged")
    report = small.add_history(repo)
    assert report.added == 4
    assert report.failed
    assert all("damaged" in failure.reason for failure in report.failed)
    assert small.history("gateway drops calls").hits


def test_secrets_and_credentials_stay_out(small: outcrop.Engine, repo: Path) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    commit(repo, "settings", {".env": f"KEY={key}\n", "settings.py": f'aws_access_key_id = "{key}"\n'})
    report = small.add_history(repo)
    assert report.masked
    texts = [small.text(info.id) for info in small.documents()]
    assert not any(key in text for text in texts)
    assert any(".env" in text for text in texts)


def test_generated_and_large_files_are_named_only(small: outcrop.Engine, repo: Path) -> None:
    big = "".join(f"row {number}\n" for number in range(200_000))
    commit(repo, "data", {"big.txt": big, "package-lock.json": '{"lockfileVersion": 3}\n', "x.bin": "\0\1\2"})
    small.add_history(repo)
    info = small.get(f"git:{git(repo, 'rev-parse', 'HEAD')}")
    assert str(info.meta["files"]).split("\n") == ["big.txt", "package-lock.json", "x.bin"]
    assert len(small.text(info.id)) < 500


def test_gc_between_two_runs_changes_nothing(small: outcrop.Engine, repo: Path) -> None:
    small.add_history(repo)
    git(repo, "gc", "-q", "--prune=now")
    assert small.add_history(repo).added == 0
    commit(repo, "after gc", {"later.txt": "later\n"})
    assert small.add_history(repo).added == 1


def test_a_repository_may_be_repacked_while_it_is_read(small: outcrop.Engine, tmp_path: Path) -> None:
    top = make(tmp_path / "busy")
    for number in range(25):
        commit(top, f"commit {number}", {"a.txt": f"{number}\n" * 50, f"b/{number}.txt": f"{number}\n"})
    done = threading.Event()

    def repack() -> None:
        while not done.is_set():
            git(top, "repack", "-adq")
            git(top, "prune-packed", "-q")
            git(top, "gc", "-q", "--prune=now")

    worker = threading.Thread(target=repack)
    worker.start()
    try:
        for _ in range(3):
            report = small.add_history(top)
            assert report.failed == ()
            assert names(small) == set(git(top, "rev-list", "HEAD").split())
            small.delete(where=outcrop.Filter(collections=("busy history",)))
    finally:
        done.set()
        worker.join()


def test_two_writers_of_one_history_leave_each_commit_once(repo: Path, tmp_path: Path) -> None:
    with outcrop.open(str(tmp_path / "two.db")) as one, outcrop.open(str(tmp_path / "two.db")) as other:
        workers = [threading.Thread(target=engine.add_history, args=(repo,)) for engine in (one, other)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(one.documents()) == 4
        assert names(one) == set(git(repo, "rev-list", "HEAD").split())


def test_a_history_that_was_removed_is_read_again_only_when_asked_for(
    small: outcrop.Engine, repo: Path
) -> None:
    small.add(repo)
    small.add_history(repo)
    small.delete(where=outcrop.Filter(collections=("project history",)))
    assert small.histories() == {}
    assert small.sync().added == 0
    assert small.add_history(repo).added == 4


def test_a_repository_that_is_gone_keeps_its_commits(small: outcrop.Engine, repo: Path) -> None:
    small.add_history(repo)
    (repo / ".git").rename(repo.parent / "elsewhere")
    report = small.sync()
    assert "kept" in report.failed[0].reason
    assert len(names(small)) == 4


def test_what_has_no_history_says_so(small: outcrop.Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="git repository"):
        small.add_history(tmp_path)
    with pytest.raises(NotFound, match="no commit"):
        small.add_history(make(tmp_path / "empty"))
    with pytest.raises(NotFound, match="history"):
        small.history("anything")
