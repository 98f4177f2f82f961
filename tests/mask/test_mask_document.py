"""Secrets leave a document altogether: its text, its title and headings, its properties, and what is known of code."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest
from tests.mask.fakes import ALNUM, FAKES, draw, private_key

from outcrop.chunk.strategies import ChunkOptions, chunk_document
from outcrop.mask import mask_document
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=2**30)
KEPT, SECRET = FAKES["GitHub"]
PASSWORD = "kX9#mP2$vLq"


def read(text: str, path: str) -> Document:
    return parse(text.encode(), path=path, limits=LIMITS)


def strings(value: object) -> list[str]:
    """Every string in a record."""
    if isinstance(value, str):
        return [value]
    if is_dataclass(value) and not isinstance(value, type):
        return [found for field in fields(value) for found in strings(getattr(value, field.name))]
    if isinstance(value, dict):
        return [found for pair in value.items() for found in strings(pair)]
    if isinstance(value, list | tuple):
        return [found for item in value for found in strings(item)]
    return []


DOCUMENTS = {
    "front.md": f"---\ntitle: The key {KEPT}{SECRET}\napi_key: {SECRET}\ntags: [a, {KEPT}{SECRET}]\n---\n# Words\n",
    "headings.md": f"# Key {KEPT}{SECRET}\n\nText.\n\n## Again {KEPT}{SECRET}\n\nSee `{KEPT}{SECRET}` there.\n",
    "code.py": (
        f'"""Uses {KEPT}{SECRET}."""\n\n\ndef connect(password: str = "{PASSWORD}") -> None:\n'
        f'    """Log in with {KEPT}{SECRET}."""\n    use({KEPT}{SECRET})\n    login("{PASSWORD}")\n'
    ),
    "settings.yaml": f'db:\n  password: "{PASSWORD}"\n  token: {KEPT}{SECRET}\n',
    "data.json": f'{{"{KEPT}{SECRET}": {{"password": "{PASSWORD}"}}}}',
    "script.js": f'const keys = {{ "{KEPT}{SECRET}": function inner(a) {{ return a.b.c; }} }};\nexport default keys;\n',
    "page.html": f"<title>{KEPT}{SECRET}</title><h1>{KEPT}{SECRET}</h1><p>password: {PASSWORD}</p>",
}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_no_part_of_a_document_holds_the_secret(path: str) -> None:
    before = read(DOCUMENTS[path], path)
    after, count = mask_document(before)
    assert count >= 1
    chunks = chunk_document(after, ChunkOptions())
    assert not [text for text in strings((after, chunks)) if SECRET[:10] in text or PASSWORD in text]
    assert len(after.text) == len(before.text)
    assert [(item.level, item.start) for item in after.headings] == [
        (item.level, item.start) for item in before.headings
    ]
    assert (after.pages, after.keys, after.kind) == (before.pages, before.keys, before.kind)


def test_a_truncated_secret_is_masked_too() -> None:
    text = f"# {'word ' * 36}{KEPT}{SECRET}\n\nText.\n"
    document = Document(text, "markdown", text[2 : text.index(SECRET) + 20])
    after, count = mask_document(document)
    assert count == 1
    assert after.title.endswith(KEPT + "*" * 20)


def test_signatures_and_names_of_code_are_masked_and_the_rest_stays() -> None:
    text = f'def connect(password: str = "{PASSWORD}", retries: int = 3) -> None:\n    wait(retries)\n'
    after, _ = mask_document(read(text, "code.py"))
    assert after.outline is not None
    (declaration,) = after.outline.declarations
    assert declaration.signature == text.split(":\n", maxsplit=1)[0].replace(PASSWORD, "*" * len(PASSWORD))
    assert "wait" in {reference.name for reference in after.outline.references}


def test_properties_from_outside_the_text_are_masked_by_name() -> None:
    token = draw(ALNUM, 32)
    document = Document("Text.", "pdf", "Title", meta={"api_key": token, "author": "Ann"})
    after, count = mask_document(document)
    assert (count, after.meta) == (1, {"api_key": "*" * 32, "author": "Ann"})
    assert after.text == "Text."


def test_a_document_without_secrets_is_the_same_document() -> None:
    document = read("# Words\n\nThe token bucket has a key idea.\n", "a.md")
    assert mask_document(document) == (document, 0)
    assert mask_document(document)[0] is document


def test_pages_and_lines_stay_where_they_are() -> None:
    text = f"one\n{private_key()}\ntwo\n"
    document = Document(text, "pdf", "Keys", pages=(0, text.index("two")))
    after, count = mask_document(document)
    assert count == 1
    assert after.text.count("\n") == text.count("\n")
    assert after.text[after.pages[1] :] == "two\n"


def test_a_text_full_of_keys_and_headings_is_masked_in_linear_time() -> None:
    """Without a clock, as in the tests of texts: by the square it would not end."""
    text = "".join(f"# Part {at} {KEPT}{SECRET}\n\npassword: {PASSWORD}{at}\n\n" for at in range(4000))
    after, count = mask_document(read(text, "many.md"))
    assert count == 8000
    assert len(after.headings) == 4000
    assert SECRET not in "".join(strings(after))
