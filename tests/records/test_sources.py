"""Sources that are fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from outcrop.records.parsed import is_url


@pytest.mark.parametrize("source", ["http://localhost", "https://example.com/a", "HTTPS://Example.com"])
def test_http_and_https_are_urls_in_any_case(source: str) -> None:
    assert is_url(source)


@pytest.mark.parametrize(
    "source", ["", "http", "httpsx://a", "ftp://a", "docs/http://a", Path("http://a"), None, "file:///etc"]
)
def test_anything_else_is_not_a_url(source: object) -> None:
    assert not is_url(source)
