"""What holds for every text: nothing moves, masking again changes nothing, hostile text takes no longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.mask.fakes import FAKES, private_key

from outcrop.mask import mask_secrets

ROOT = Path(__file__).parents[2]

_KEYS = [kept + secret for kept, secret in FAKES.values()]
_PARTS = st.sampled_from(
    [
        *_KEYS,
        *(key[: len(key) // 2] for key in _KEYS),
        *(key[4:] for key in _KEYS),
        *(
            "password",
            "API_KEY",
            "token",
            "secret",
            "Authorization: Bearer ",
            "kind: Secret\ndata:\n  a: ",
            "user,password\n",
            "is now ",
            'key="token" value="',
            "</td><td>",
            "sig=",
            "https://user:",
            "@host.io/",
        ),
        *(
            " = ",
            "=",
            ": ",
            ":",
            '"',
            "'",
            "`",
            "\\n",
            "\\",
            "%3D",
            "*",
            "****",
            "{",
            "}",
            "<",
            ">",
            ",",
            "&",
            "|",
        ),
        *(
            "Tr0ub4dor&3",
            "x",
            "word",
            "é",
            "密",
            "\ud800",
            "\U0001f600",
            "\n",
            "\r\n",
            "\t",
            " ",
            "\x00",
            "-",
            "_",
            ".",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            private_key("", 2),
            "MIIEvQIBADANBgkqhkiG9w0BAQEF",
        ),
    ]
)
TEXTS = st.one_of(st.lists(_PARTS, max_size=14).map("".join), st.text(max_size=200))


@given(TEXTS)
@example("")
@example(private_key())
@settings(max_examples=400)
def test_nothing_moves_and_masking_again_changes_nothing(text: str) -> None:
    masked, count = mask_secrets(text)
    assert len(masked) == len(text)
    assert all(new in (old, "*") for old, new in zip(text, masked, strict=True))
    assert [at for at, one in enumerate(masked) if one.isspace()] == [
        at for at, one in enumerate(text) if one.isspace()
    ]
    assert (count > 0) == (masked != text)
    assert mask_secrets(masked) == (masked, 0)


SIZE = 300_000
HOSTILE = {
    "one word": "a" * SIZE,
    "names": "token=" * (SIZE // 6),
    "names and signs": 'password: "' * (SIZE // 11),
    "beginnings of keys": "sk-ant-" * (SIZE // 7),
    "beginnings apart": "eyJ-" * (SIZE // 4),
    "tokens without an end": "eyJhbGciOiJIUzI1NiJ9." * (SIZE // 21),
    "key ids": "AKIAIOSFODNN7ABCDEFG " * (SIZE // 21),
    "private keys without an end": "-----BEGIN PRIVATE KEY-----\n" * (SIZE // 28),
    "URLs": "://a:" * (SIZE // 5),
    "URLs without a host": f"://{'a' * 80}:{'b' * 160}" * (SIZE // 245),
    "words of fillers": 'password="' + "passwordpass" * (SIZE // 12),
    "fillers": ('password="' + "password" * 40 + '!",') * (SIZE // 330),
    "blanks": "token" + " " * SIZE,
    "quotes": 'secret="""' * (SIZE // 10),
    "keys": "".join(f"password{at}='kX9#mP2$vL' token='{'a1B2c3D4' * 3}'\n" for at in range(SIZE // 60)),
    "base64": "iVBORw0KGgo/" * (SIZE // 12),
    "names in words": "password for the " * (SIZE // 17),
    "headers": "user,password,token\n" * (SIZE // 20),
    "a table": "user,token\n" + "anna,x\n" * (SIZE // 7),
    "bars": "token|" * (SIZE // 6),
    "tags": "token<a>" * (SIZE // 8),
    "manifests": "kind: Secret\ndata:\n  a: b\n" * (SIZE // 25),
    "manifests apart": "kind: Secret\n---\n" * (SIZE // 17),
    "braces": "kind: Secret\n" + "data: {" * (SIZE // 7),
    "indented": "kind: Secret\n" + " data:\n" * (SIZE // 7),
    "blank lines": "token" + "\n" * SIZE,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_linear_time(name: str) -> None:
    """Without a clock: what takes time by the square of so many characters does not end within the limit of a test."""
    masked, _ = mask_secrets(HOSTILE[name])
    assert len(masked) == len(HOSTILE[name])


@pytest.mark.parametrize("folder", ["src", "deploy"])
def test_nothing_in_this_repository_is_taken_for_a_secret(folder: str) -> None:
    found = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in {".py", ".md", ".js", ".yaml", ".yml", ".toml", ".scm"}:
            text = path.read_text("utf-8")
            if mask_secrets(text)[1]:
                found.append(str(path))
    assert not found
