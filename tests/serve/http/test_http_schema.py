"""The OpenAPI is true: whatever it allows is answered as it says, and whatever it does not is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proofs.fuzz_http import fuzz
from tests.serve.http.running import Running, serving

from outcrop.records import Answer
from outcrop.serve.http.answers import model_of
from outcrop.text.tokens import vocabulary


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    nobody: dict[str, Any] = {
        "chat_model": "none",
        "chat_url": "http://127.0.0.1:9/v1",
    }  # so that a chat begins, and says it failed
    with serving(tmp_path_factory.mktemp("fuzzed"), **nobody) as running:
        yield running


def test_the_whole_api_is_as_its_openapi_says(fuzzed: Running, tmp_path: Path) -> None:
    done = fuzz(fuzzed.url, examples=1, phases="fuzzing", folder=tmp_path)
    assert done.failures == "", done.failures
    assert done.cases >= 40


_LENGTHS = st.integers(1, 4000)
_WORDS = st.text(max_size=60) | st.sampled_from(
    ["Pool.acquire", "how are retries done", "def take(self)", "use(pool)"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=_LENGTHS, words=_WORDS, must=st.booleans(), follow=st.floats(0, 10))
def test_code_for_a_conversation_is_never_longer_than_asked(
    server: Running, length: int, words: str, must: bool, follow: float
) -> None:
    body = {
        "messages": [{"role": "user", "content": words}],
        "approxLength": length,
        "referenceFollow": follow,
        "boosts": [{"target": "pool.py", "strength": "must"}] if must else [],
    }
    answer = server.client.post("/coderag/query", json=body)
    assert answer.status_code == 200, answer.text
    assert vocabulary("o200k").count(answer.json()["ragText"]) <= length


def test_the_model_of_an_answer_takes_every_answer(server: Running) -> None:
    for query in ("Pool.acquire", "how are retries done"):
        body = {"query": query, "explain": True}
        answer = server.client.post("/api/search", json=body)
        model_of(Answer).model_validate(json.loads(answer.text))


def test_the_openapi_names_every_error_in_the_one_shape(server: Running) -> None:
    described = httpx.get(f"{server.url}/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    schema = answer["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Problem"}, (path, method, status)
            assert "503" in operation["responses"], (path, method)


def test_the_server_is_not_imported_by_other_commands() -> None:
    code = "import sys, outcrop.serve.cli.app; print([m for m in ('fastapi', 'uvicorn', 'mcp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
