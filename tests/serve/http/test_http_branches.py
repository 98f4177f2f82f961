"""Branches over HTTP: added as a job, asked by their name, and never out of the roots."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.serve.http.running import Running, serving
from tests.sources.repositories import commit, git, make


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = make(tmp_path / "root" / "project")
    commit(top, "start", {"README.md": "# Parcels\n\nThe tariff is flat.\n", "docs/a.md": "# A\n\nA page.\n"})
    git(top, "checkout", "-qb", "feature/x")
    commit(top, "drones", {"drone.md": "# Drones\n\nA drone delivers parcels.\n"})
    git(top, "checkout", "-q", "main")
    return top


def add(server: Running, source: Path, *branches: str) -> tuple[str, str]:
    """The state of the job in the end, and its error."""
    body = {"source": str(source), "branches": branches}
    answer = server.client.post("/api/ingest", json=body)
    assert answer.status_code == 202, answer.text
    job = server.wait_for_job(answer.json()["job"]["id"])
    return job["state"], job["error"] or ""


def paths(server: Running, **options: object) -> set[str]:
    answer = server.client.post("/api/search", json={"query": "drone tariff parcels", **options})
    assert answer.status_code == 200, answer.text
    return {hit["document"]["path"] for hit in answer.json()["hits"]}


def test_branches_are_added_and_searched_by_name(tmp_path: Path, project: Path) -> None:
    with serving(tmp_path, roots=[str(tmp_path / "root")]) as server:
        assert add(server, project, "main", "feature/*") == ("done", "")
        assert "drone.md" in paths(server, ref="feature/x")
        assert "drone.md" not in paths(server, ref="main")
        found = server.client.post("/api/grep", json={"pattern": "delivers", "ref": "feature/x"}).json()
        assert [(file["document"]["path"], file["ref"]) for file in found["files"]] == [
            ("drone.md", "feature/x")
        ]
        assert not server.client.post("/api/grep", json={"pattern": "delivers", "ref": "main"}).json()["files"]
        counted = server.client.post("/api/overview", json={"ref": "feature/x"}).json()
        assert counted["documents"] == 3
        state, error = add(server, project, "nope")
        assert state == "failed"
        assert "no branch 'nope'" in error
        wrong = server.client.post("/api/ingest", json={"source": "https://example.com", "branches": ["main"]})
        assert wrong.status_code == 422
        assert "folder of a repository" in wrong.text


@pytest.mark.parametrize("way", ["a folder inside", "a linked worktree", "borrowed objects"])
def test_a_repository_that_reaches_out_of_the_roots_is_refused(tmp_path: Path, project: Path, way: str) -> None:
    allowed = tmp_path / "allowed"
    if way == "a folder inside":
        allowed = project / "docs"
    elif way == "a linked worktree":
        git(project, "worktree", "add", "-q", str(allowed), "feature/x")
    else:
        make(allowed)
        (allowed / ".git/objects/info").mkdir(exist_ok=True)
        (allowed / ".git/objects/info/alternates").write_text(f"{project}/.git/objects\n")
        (allowed / ".git/refs/heads/main").write_text(git(project, "rev-parse", "main") + "\n")
    with serving(tmp_path, roots=[str(allowed)]) as server:
        body = {"source": str(allowed), "branches": ["main"]}
        answer = server.client.post("/api/ingest", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "outside_roots")
        assert not server.state.engine.manifests()
    with serving(tmp_path, roots=[str(allowed), str(project)]) as server:
        assert add(server, allowed, "main") == ("done", "")


def test_a_job_with_branches_survives_the_end_of_its_server(tmp_path: Path, project: Path) -> None:
    with serving(tmp_path, roots=[str(project)]) as server:
        server.state.jobs.close()  # nothing is started any more
        body = {"source": str(project), "branches": ["feature/*"]}
        job = server.client.post("/api/ingest", json=body).json()["job"]
    with serving(tmp_path, roots=[str(project)]) as server:
        assert server.wait_for_job(job["id"])["state"] == "done"
        assert "drone.md" in paths(server, ref="feature/x")
