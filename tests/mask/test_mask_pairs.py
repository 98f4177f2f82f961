"""Names and values are joined by whatever a format joins them by; a value that leaves no doubt is masked."""

from __future__ import annotations

import base64
import io
import random

import docx
import pytest
from benchmarks.masking.places import NAMED, WAYS, manifest
from tests.mask.fakes import ALNUM, HEX, base64_of, draw, uuid

from outcrop.mask import mask_document, mask_secrets
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits

CHANCE = random.Random(7)
TOKEN, PASSWORD = draw(ALNUM, 40), "kX9#mP2$vLq"


@pytest.mark.parametrize("way", WAYS)
def test_nearly_every_format_is_masked_however_name_and_value_are_joined(way: str) -> None:
    left = []
    for name, make in NAMED.items():
        value = make(CHANCE)
        text = WAYS[way].format(name=name, words=name.replace("_", " ").lower(), value=value)
        masked, _ = mask_secrets(text)
        assert len(masked) == len(text)
        if value.removeprefix("base64:") in masked:
            left.append(name)
    assert len(left) <= len(NAMED) // 6, left  # UUIDs in chat, and what chance made to look like words


def test_every_value_of_a_kubernetes_secret_is_masked() -> None:
    for name, make in NAMED.items():
        value = make(CHANCE)
        assert base64.b64encode(value.encode()).decode() not in mask_secrets(manifest(name, value))[0]


@pytest.mark.parametrize(
    "text",
    [
        '{{"kind": "Secret", "data": {{"conf": "{}"}}}}',
        'metadata:\n  annotations:\n    last: \'{{\\"kind\\":\\"Secret\\",\\"data\\":{{\\"conf\\":\\"{}\\"}}}}\'\n',
        "data:\n  conf: {}\nkind: Secret\n",
        "kind: List\nitems:\n- kind: Secret\n  data:\n    conf: {}\n",
        "kind: Secret\ndata:\n  conf: |\n    {}\n",
    ],
)
def test_a_kubernetes_secret_is_recognised_in_all_its_forms(text: str) -> None:
    packed = base64.b64encode(b"server: db.internal, word: pinkponies").decode()
    masked, count = mask_secrets(text.format(packed))
    assert (masked, count) == (text.format("*" * len(packed)), 1)


@pytest.mark.parametrize(
    "text",
    [
        "kind: ConfigMap\ndata:\n  conf: cGlua3BvbmllcyBhcmUgcGluaw==\n",
        "kind: Secret\n---\nkind: ConfigMap\ndata:\n  conf: cGlua3BvbmllcyBhcmUgcGluaw==\n",
        "kind: Secret\ndata:\n  conf: cGFzc3dvcmQ=\n",
        "kind: Secret\ndata:\n  password: {{ .Values.password | b64enc }}\n",
    ],
)
def test_other_kubernetes_manifests_stay(text: str) -> None:
    assert mask_secrets(text) == (text, 0)


def test_keys_of_django_laravel_snyk_docker_and_npm_are_masked() -> None:
    django = "k)z8#w!q2^7_m@v4*x=e1(r9+t5-y&u3$i6%o0p(a8s^d2f#g7"
    for text in ("SECRET_KEY = '{}'", "SECRET_KEY = 'django-insecure-{}'", "SECRET_KEY={}\nDEBUG=1"):
        assert django not in mask_secrets(text.format(django))[0]
    packed = base64_of(32)
    assert mask_secrets(f"APP_KEY=base64:{packed}")[0] == "APP_KEY=base64:" + "*" * len(packed)
    assert mask_secrets(f"SNYK_TOKEN={uuid()}")[1] == 1
    assert mask_secrets(f"CLIENT_REQUEST_TOKEN={uuid()}")[1] == 0
    pair = base64.b64encode(b"deploy:9vXq72Lm").decode()
    for text in ('{{"auths": {{"r.io": {{"auth": "{}"}}}}}}', "//r.io/:_auth={}"):
        assert mask_secrets(text.format(pair)) == (text.format("*" * len(pair)), 1)


def test_every_row_under_a_telling_header_is_masked_and_no_other_column() -> None:
    rows = [(draw(ALNUM, 32), draw(HEX, 40), PASSWORD) for _ in range(50)]
    text = "checksum;commit;Password\n" + "".join(f"{a};{b};{c}\n" for a, b, c in rows) + "\nthe end\n"
    masked, count = mask_secrets(text)
    assert count == len(rows)
    assert masked == text.replace(PASSWORD, "*" * len(PASSWORD))
    quoted = f'id,"api_key","note, long"\n1,"{TOKEN}","a, b"\n'
    assert mask_secrets(quoted)[0] == quoted.replace(TOKEN, "*" * len(TOKEN))


def test_a_table_in_a_word_document_is_masked() -> None:
    source = docx.Document()
    table = source.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "API key", TOKEN
    for line in ("Root password", PASSWORD):
        source.add_paragraph(line)
    packed = io.BytesIO()
    source.save(packed)
    document = parse(packed.getvalue(), path="x.docx", limits=ParseLimits(60.0, 2**30))
    assert TOKEN in document.text
    masked, count = mask_document(document)
    assert count == 2
    assert TOKEN not in masked.text
    assert PASSWORD not in masked.text


@pytest.mark.parametrize(
    "text",
    [
        "pip/_vendor/pygments/token.py,sha256=seNsmcch9OEHXYirh8Ool7w8xDhfNTbLj5rHAC-gc_o,5949",
        '    "s16vector-ref",\n    "password",\n    "s16vector-set!",\n',
        "The password is case-sensitive and the token is opaque-to-clients.",
        "x25519.X25519PrivateKey,\nx448.X448PrivateKey,\n",
        "a password of the form Aa1 is too short; the secret is sha256-based",
        "token TOKEN_TYPE_2 UserTokenV2Factory",
        "| token | description |\n|---|---|\n| ACCESS_TOKEN_V2 | for the API v2 |",
        "user,password\nanna,pinkponies\notto,changeme123!\n",
        "x=K.toFlatObject(n,{metaTokens:!0,dots:!1,indexes:!1},!1,(function(e,t){return!K.isUndefined(t[e])}))",
        f"next_page_token {draw(ALNUM, 40)}",
        f"password_hash {draw(HEX, 40)}",
        f"the key {draw(HEX, 40)} is a primary key",
    ],
    ids=range(12),
)
def test_names_and_identifiers_stay(text: str) -> None:
    assert mask_secrets(text) == (text, 0)
