"""Archives over HTTP: opened on request, below the roots only, and still opened by a job that a later server runs."""

from __future__ import annotations

from pathlib import Path

from tests.serve.http.running import Running, serving
from tests.write.test_archives import SEVENZIP, zipped


def found(server: Running) -> set[str]:
    answer = server.client.post("/api/search", json={"query": "salt in barrels"})
    return {hit["document"]["path"] for hit in answer.json()["hits"]}


def test_archives_are_opened_on_request_below_the_roots(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.7z").write_bytes(SEVENZIP)
    (tmp_path / "b.zip").write_bytes(zipped({"salt.md": "Salt in barrels."}))
    (root / "b.zip").symlink_to(tmp_path / "b.zip")
    with serving(tmp_path, roots=[str(root)]) as server:
        for options, paths in ({}, set()), ({"archives": True}, {"a.7z/two.txt", "a.7z", "a.7z/notes/one.md"}):
            job = server.client.post("/api/ingest", json={"source": str(root), **options}).json()["job"]
            assert server.wait_for_job(job["id"])["state"] == "done"
            assert found(server) <= paths
            assert ("a.7z/two.txt" in found(server)) == bool(paths)
        for source, status in (
            (tmp_path / "b.zip", 403),
            (root / "b.zip", 403),
            ("https://example.com/a.zip", 422),
        ):
            body = {"source": str(source), "archives": True}
            answer = server.client.post("/api/ingest", json=body)
            assert answer.status_code == status, answer.text


def test_a_job_with_archives_survives_the_end_of_its_server(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.7z").write_bytes(SEVENZIP)
    with serving(tmp_path, roots=[str(root)]) as server:
        server.state.jobs.close()  # nothing is started any more
        job = server.client.post("/api/ingest", json={"source": str(root), "archives": True}).json()["job"]
    with serving(tmp_path, roots=[str(root)]) as server:
        assert server.wait_for_job(job["id"])["state"] == "done"
        assert "a.7z/two.txt" in found(server)
