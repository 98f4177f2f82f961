"""Keys of every known form are masked wherever they stand, and nothing else of the text is."""

from __future__ import annotations

import pytest
from tests.mask.fakes import ALNUM, FAKES, HEX, base64_of, draw, private_key, uuid

from outcrop.mask import mask_secrets
from outcrop.mask.formats import FORMATS, SHORTEST

SURROUNDINGS = {
    "line": "before\n{}\nafter",
    "sentence": "Use {}, please.",
    "quotes": "connect('{}')",
    "json": '{{"value":"{}"}}',
    "escaped": r'"a\n{}\n"',
    "ticks": "the key is `{}`",
    "query": "https://host.internal/path?x=1&y={}&z=2",
    "sign": "X={}",
    "umlaut": "Schlüssel für häßliche Fälle: {} – 密钥",
}


def test_every_format_has_a_fake() -> None:
    assert set(FAKES) == {row.name for row in FORMATS if row.secret}


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("name", FAKES)
def test_a_key_is_masked_and_only_the_key(name: str, surrounding: str) -> None:
    kept, secret = FAKES[name]
    text = SURROUNDINGS[surrounding].format(kept + secret)
    assert mask_secrets(text) == (SURROUNDINGS[surrounding].format(kept + "*" * len(secret)), 1)


@pytest.mark.parametrize("kind", [row for row in FORMATS if row.begins], ids=lambda row: row.name)
def test_all_beginnings_of_a_format_are_known(kind: object) -> None:
    assert isinstance(kind, type(FORMATS[0]))
    for beginning in kind.begins:
        if kind.name in ("Discord", "Twilio account"):
            continue  # the beginning decides what may follow; it is masked or has a secret beside it
        kept, secret = FAKES[kind.name]
        first = next(word for word in kind.begins if kept.startswith(word))
        text = f"= {beginning}{kept.removeprefix(first)}{secret}"
        masked, count = mask_secrets(text)
        assert count == 1, text
        assert masked.startswith(f"= {beginning}")
        assert secret not in masked


def test_every_key_begins_with_a_word_that_is_long_enough_to_be_found() -> None:
    assert SHORTEST >= 4 * 4 + 3
    for kept, secret in FAKES.values():
        word = (kept if kept[-1] not in "./:~" else "") + secret
        plain = next((at for at, one in enumerate(word) if not (one.isalnum() or one in "_-")), len(word))
        assert plain >= SHORTEST


def test_only_a_number_in_base64_begins_a_discord_token() -> None:
    _, secret = FAKES["Discord"]
    assert mask_secrets(f"MT{secret}")[1] == 1
    assert mask_secrets(f"MTx{secret[1:]}")[1] == 0


def test_a_key_is_found_at_every_offset() -> None:
    kept, secret = FAKES["AWS access key"]
    for shift in range(9):
        text = "a " * shift + " " * (shift % 2) + kept + secret + " " * (shift % 5)
        assert mask_secrets(text)[1] == 1


def test_the_secret_beside_an_aws_key_is_masked_and_a_commit_is_not() -> None:
    kept, secret = FAKES["AWS access key"]
    aws, commit = draw(ALNUM + "/+", 40), draw(HEX, 40)
    text = f"[profile]\nid = {kept}{secret}\nthe other: {aws}\ncommit {commit}\n"
    masked, count = mask_secrets(text)
    assert count == 2
    assert aws not in masked
    assert commit in masked


def test_the_token_beside_a_twilio_account_is_masked_and_the_account_is_not() -> None:
    account, token = "AC" + draw(HEX, 32), draw(HEX, 32)
    assert mask_secrets(f"curl -u {account}:{token}") == (f"curl -u {account}:{'*' * 32}", 1)


@pytest.mark.parametrize(
    "head",
    ["https://hooks.slack.com/services/", "https://discord.com/api/webhooks/123456789012345678/"],
)
def test_webhooks_are_masked(head: str) -> None:
    secret = "T02" + draw(ALNUM, 6) + "/B03" + draw(ALNUM, 6) + "/" + draw(ALNUM, 24)
    secret = draw(ALNUM, 68) if "discord" in head else secret
    assert mask_secrets(f"post to {head}{secret} then") == (f"post to {head}{'*' * len(secret)} then", 1)


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
def test_the_body_of_a_private_key_is_masked_line_by_line(kind: str) -> None:
    key = private_key(kind)
    masked, count = mask_secrets(f"see\n{key}\nend")
    assert count == 1
    assert [len(line) for line in masked.split("\n")] == [len(line) for line in f"see\n{key}\nend".split("\n")]
    assert masked.split("\n")[1].startswith("-----BEGIN")
    assert set("".join(masked.split("\n")[2:-4])) == {"*"}


def test_a_private_key_in_code_or_json_is_masked() -> None:
    key = private_key("", lines=3)
    as_json = '{"private_key": "' + key.replace("\n", "\\n") + '", "client_id": "x"}'
    as_code = "\n".join(f'    "{line}\\n" +' for line in key.splitlines())
    for text in (as_json, as_code, key.rpartition("-----END")[0]):
        masked, count = mask_secrets(text)
        assert count == 1
        assert all(line not in masked for line in key.splitlines()[1:4])
    assert mask_secrets(as_json)[0].endswith('", "client_id": "x"}')


def test_code_that_mentions_private_keys_stays() -> None:
    text = (
        'BEGIN = "-----BEGIN PRIVATE KEY-----"\nEND = "-----END PRIVATE KEY-----"\n'
        'if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):\n    read(thirdPartyLibraries/cryptographyHelpers)\n'
        "-----BEGIN PUBLIC KEY-----\n" + base64_of(48) + "\n-----END PUBLIC KEY-----\n"
    )
    assert mask_secrets(text) == (text, 0)


def test_an_unclosed_mention_of_a_key_does_not_hide_the_next_key() -> None:
    text = 'looks for "-----BEGIN PRIVATE KEY-----" in\n' + private_key()
    assert mask_secrets(text)[1] == 1


FILLERS = {
    "AWS access key": "AKIAIOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + "x" * 36,
    "OpenAI": "sk-proj-your-key-goes-here-and-nowhere-else",
    "Slack": "xoxb-1234567890-abcdefghijklmnop",
    "Stripe": "sk_live_" + "0" * 24,
    "Anthropic": "sk-ant-api03-" + "a" * 40,
}


@pytest.mark.parametrize("name", FILLERS)
def test_placeholders_of_manuals_stay(name: str) -> None:
    assert mask_secrets(f"key: {FILLERS[name]}") == (f"key: {FILLERS[name]}", 0)


@pytest.mark.parametrize(
    "text",
    [
        f"commit {draw(HEX, 40)}\nAuthor: somebody",
        f"id: {uuid()}\nrequest {uuid()}",
        f"![](data:image/png;base64,{base64_of(6000)})",
        f'integrity "sha512-{base64_of(64)}"\nresolved "https://registry.npmjs.org/x/-/x-1.0.0.tgz#{draw(HEX, 40)}"',
        f'{{file = "tokenizers-0.13.3-cp310-cp310-linux_x86_64.whl", hash = "sha256:{draw(HEX, 64)}"}}',
        f"flask-httpauth==4.8.0 --hash=sha256:{draw(HEX, 64)}",
        f"ssh-ed25519 {base64_of(51)} me@host",
        f"key = {draw(HEX, 32)}\niv = {draw(HEX, 32)}\nexpected = {draw(HEX, 64)}",
        "!function(e,t){var n=e.token,r=e.secret;t.key=n||r;for(var i=0;i<16;i++)t.password=i}(window,document)",
        "test_a_very_long_name_of_a_test_with_sk_and_token_and_key_in_it_2",
        "https://example.com/a/very/long/path/of/a/page/with-many-words-in-it/and_some_more/index.html",
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
        f"publicKeyToken={draw(HEX, 16)}",
        f"next_page_token: {draw(ALNUM, 40)}",
        "processorArchitecture=AMD64 Version=1.6.0.3 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    ],
    ids=range(15),
)
def test_values_that_only_look_random_stay(text: str) -> None:
    assert mask_secrets(text) == (text, 0)
