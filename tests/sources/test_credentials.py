"""Which files are taken for credentials: by name where it is certain, else by what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from outcrop.records import Skipped, SourceFile
from outcrop.sources.exclusions import CREDENTIALS, holds_credentials, looks_secret
from outcrop.sources.folder import walk

KEY = b"-----BEGIN %s-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC5\n-----END %s-----\n"
PRIVATE = KEY.replace(b"%s", b"PRIVATE " + b"KEY")
PUBLIC = KEY.replace(b"%s", b"CERTIFICATE")


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "prod.env", ".env.local", ".ENV.production", ".envrc"),
        *("ID_RSA", "id_ed25519", ".ssh/id_ecdsa", "a.p12", "b.pfx", "c.jks", "d.keystore", "e.kdbx", "f.ppk"),
        *(".netrc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".aws/credentials", "kubeconfig"),
        *(
            "/home/me/.kube/config",
            "client_secret_12.json",
            "secrets.yml",
            "config/secrets.yaml",
            "main.tfstate",
        ),
        *(".bash_history", ".zsh_history", ".psql_history", ".mongosh_repl_history", "ann_accessKeys.csv"),
    ],
)
def test_files_are_recognised_as_credentials_by_name(path: str) -> None:
    assert looks_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", ".env.template", ".env.dist", ".env.local.example", "example.env"),
        *("env.md", "environment", "keys.md", "monkey", "secrets.md", "x.crt", "id_rsa.pub", "history.md"),
        *("x.pem", "x.key", ".npmrc", "credentials.json", "config.json", "git/config", "secrets.py"),
    ],
)
def test_other_names_are_not_taken_for_credentials(path: str) -> None:
    assert not looks_secret(path)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("server.pem", PUBLIC + PRIVATE),
        ("server.key", PRIVATE),
        ("deploy_key", PRIVATE.replace(b"PRIVATE", b"OPENSSH PRIVATE")),
        ("backup.asc", PRIVATE.replace(b"KEY", b"KEY BLOCK").replace(b"PRIVATE", b"PGP PRIVATE")),
        ("vpn.ovpn", b"client\n<key>\n" + PRIVATE),
        ("config/master.key", b"0f1e2d3c4b5a69788796a5b4c3d2e1f0\n"),
        ("putty", b"PuTTY-User-Key-File-3: ssh-ed25519\n"),
        (".npmrc", b"//registry.npmjs.org/:_authToken=abc\n"),
        (".pypirc", b"[pypi]\nusername = __token__\npassword = pypi-AgEIcHlwaS5\n"),
        (".terraformrc", b'credentials "app.terraform.io" {\n  token = "abcdefgh.atlasv1.x"\n}\n'),
        (".docker/config.json", b'{"auths": {"https://index.docker.io/v1/": {"auth": "bWU6cHc="}}}'),
        ("credentials.json", b'{"installed": {"client_secret": "abcdefghij"}}'),
        ("my-project-12ab.json", b'{"type": "service_account", "private_key": "-----BEGIN PRIVATE ...'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_content_decides_where_the_name_leaves_it_open(path: str, data: bytes) -> None:
    assert not looks_secret(path)
    assert holds_credentials(path, data)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("chain.pem", PUBLIC),
        ("shortcuts.key", b"ctrl-a select all\nctrl-c copy\n"),
        (".npmrc", b"save-exact=true\n"),
        (".pypirc", b"[distutils]\nindex-servers = pypi\n"),
        ("config.json", b'{"auths": {}, "credsStore": "desktop"}'),
        ("config.json", b'{"auth": {"method": "oauth"}}'),
        ("credentials.yml", b"token: ${TOKEN}\npassword: <from the vault>\n"),
        ("credentials.md", b"password: tell nobody, token = whatever\n"),
        ("schema.json", b'{"private_key": {"type": "string"}}'),
        ("keys.md", PRIVATE),
        ("reading.py", b'HEAD = "' + PRIVATE + b'"'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_without_credentials_is_not_left_out(path: str, data: bytes) -> None:
    assert not holds_credentials(path, data)


def test_a_walk_leaves_credentials_out_with_a_reason_unless_told_not_to(tmp_path: Path) -> None:
    for name in (".env", ".env.example", "note.md"):
        (tmp_path / name).write_text("A=1")
    kube = tmp_path / ".kube"
    kube.mkdir()
    (kube / "config").write_text("apiVersion: v1")
    items = list(walk(tmp_path, max_file_bytes=1000))
    assert {item.path for item in items if isinstance(item, SourceFile)} == {".env.example", "note.md"}
    assert {item for item in items if isinstance(item, Skipped)} == {
        Skipped(".env", CREDENTIALS),
        Skipped(".kube/config", CREDENTIALS),
    }
    assert list(walk(kube / "config", max_file_bytes=1000)) == [Skipped("config", CREDENTIALS)]
    everything = list(walk(tmp_path, max_file_bytes=1000, include_secrets=True))
    assert len([item for item in everything if isinstance(item, SourceFile)]) == 4
