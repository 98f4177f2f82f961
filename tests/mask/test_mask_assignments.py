"""Secrets that have no form of their own: a name, a header or a URL tells that they are some."""

from __future__ import annotations

import base64

import pytest
from tests.mask.fakes import ALNUM, HEX, LOWER, base64_of, draw, uuid

from outcrop.mask import mask_secrets

TOKENS = [draw(HEX, 32), draw(ALNUM, 40), base64_of(32), draw(LOWER, 36)]
PASSWORDS = ["Tr0ub4dor&3", "kX9#mP2$vL", "Winter2031!", draw(ALNUM, 20)]

TOKEN_PLACES = [
    "API_KEY={}\nNEXT=1",
    "api_key: {}\n",
    '"apiKey": "{}",',
    'client_secret = "{}"',
    'client_secret = """{}"""',
    "const token = '{}';",
    "'secret' => '{}',",
    "<apiKey>{}</apiKey>",
    'export AUTH_TOKEN="{}"',
    'access_token: str = "{}"',
    'os.getenv("SECRET_KEY", "{}")',
    "https://x.internal/?access_token={}&a=1",
    "Authorization: Bearer {}\n",
    '"Authorization": "Token {}"',
    r"{{\"api_key\": \"{}\"}}",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core",
    "**Token**: `{}`",
    "| token | {} |",
]
PASSWORD_PLACES = [
    "PASSWORD={}\nNEXT=1",
    "password: {}\n",
    '"password": "{}",',
    'db_password = "{}"',
    "'passwd' => '{}',",
    "<password>{}</password>",
    "Server=x;Uid=sa;Pwd={};",
    'MYSQL_PASS="{}"',
    "ALTER USER app WITH PASSWORD '{}'",
    "**Password:** {}\n",
    "| password | {} |",
    "postgresql://app:{}@db.internal:5432/x",
    "redis://:{}@cache.internal/0",
    "https://ci-bot:{}@git.internal/repo.git",
]


@pytest.mark.parametrize("place", TOKEN_PLACES)
def test_a_token_after_a_telling_name_is_masked(place: str) -> None:
    for token in TOKENS:
        assert mask_secrets(place.format(token)) == (place.format("*" * len(token)), 1)


@pytest.mark.parametrize("place", PASSWORD_PLACES)
def test_a_password_after_a_telling_name_is_masked(place: str) -> None:
    for password in PASSWORDS:
        word = password.replace("#", "%23") if "://" in place else password
        assert mask_secrets(place.format(word)) == (place.format("*" * len(word)), 1)


def test_a_user_and_a_password_in_a_header_are_masked() -> None:
    pair = base64.b64encode(b"deploy:9vXq72Lm").decode()
    assert mask_secrets(f"Authorization: Basic {pair}") == (f"Authorization: Basic {'*' * len(pair)}", 1)
    manual = base64.b64encode(b"user:password").decode()
    assert mask_secrets(f"Authorization: Basic {manual}")[1] == 0


def test_a_shared_access_signature_is_masked() -> None:
    signature = base64_of(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    text = "https://x.blob.core.windows.net/c?sv=2023-01-03&sig={}&se=2031-01-01"
    assert mask_secrets(text.format(signature)) == (text.format("*" * len(signature)), 1)


def test_a_uuid_is_a_secret_only_where_the_name_leaves_no_doubt() -> None:
    assert mask_secrets(f"HEROKU_API_KEY={uuid()}")[1] == 1
    assert mask_secrets(f'"ChangeToken": "{uuid()}"')[1] == 0


def test_a_known_key_under_a_name_keeps_its_prefix() -> None:
    secret = draw(ALNUM, 36)
    assert mask_secrets(f'token = "ghp_{secret}"') == (f'token = "ghp_{"*" * 36}"', 1)


def test_a_secret_is_also_masked_where_it_is_repeated_without_a_name() -> None:
    token = draw(HEX, 32)
    text = "API_KEY={0}\ncurl -H 'X: {0}' x{0}x\n"
    masked, count = mask_secrets(text.format(token))
    assert (masked, count) == (f"API_KEY={'*' * 32}\ncurl -H 'X: {'*' * 32}' x{token}x\n", 2)
    text = "https://bob:{}@proxy.internal/ has pinkponies in it"
    assert mask_secrets(text.format("pinkponies")) == (text.format("*" * 10), 1)


@pytest.mark.parametrize(
    "text",
    [
        'password = "changeme"',
        'password = "your-password-here-123!"',
        "password: ${DB_PASSWORD}",
        "password: {{ vault_password_2 }}",
        "password: <password1!>",
        'password = os.environ["DB_PASSWORD_1"]',
        'api_key = os.getenv("SERVICE_API_KEY_2")',
        "token = request.headers.get('X-Token-2')",
        "const apiKey = process.env.API_KEY_V2;",
        'api_key = "YOUR_API_KEY_1234567890"',
        'secret_key = "xxxxxxxxxxxxxxxxxxxxxxxx"',
        'token = "test-token-1234567890abcdef"',
        "password: str | None = None",
        "def login(user: str, password: str) -> Token2:",
        "password = hash_password_with_pbkdf2_sha256(raw)",
        "self.token_type = TokenType.ACCESS_TOKEN_V2",
        "token_url: https://login.internal/oauth2/v2.0/token",
        "secret_name: prod/database/credentials-v2",
        'password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"',
        "the password is at least 8 characters, 1 of them a digit",
        "Password must contain: A-Z, a-z, 0-9",
        "postgresql://user:password@localhost/db",
        "postgresql://scott:tiger@localhost/test",
        "postgresql://app:${PASSWORD}@db/x",
        "mongodb://oplog_reader:oplog_reader_password@server1/db",
        "https://user:s3cretw0rd@example.com/",
        "http://host:8080/path?mail=a@b.org",
        "https://medium.com:443/@somebody/2021",
        "primary_key = 'a8f5f167f44f4964e6c998dee827110c'",
        "cache_key: a8f5f167f44f4964e6c998dee827110c",
        "masterKey=0x0113B970FD34F2CE",
        "passing = 'a1b2c3d4e5f6g7h8!'",
        'this.username=this.password="",this.auth&&(~(p=this.auth.indexOf(":"))?1:2)',
        "Basic understanding of tokens, and Bearer tokens in 2024",
    ],
)
def test_values_that_are_not_secrets_stay(text: str) -> None:
    assert mask_secrets(text) == (text, 0)
