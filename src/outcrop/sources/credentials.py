"""Files that hold credentials, recognised by name where that is certain, else by content.

A key in the middle of a text is masked; a file that is nothing but keys is left out altogether.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache
from typing import Final

CREDENTIALS: Final = "looks like credentials, which are not indexed (unless index_secrets is set)"
"""Why such a file is left out."""

# Public halves (*.pub, *.crt, known_hosts) and committed templates are not secret.
_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "*.ppk"),
    *("*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdb", "*.kdbx"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".htdigest", ".git-credentials"),
    *(".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".vault-token", "kubeconfig", ".kubeconfig"),
    *("credentials", "credentials.toml", "client_secret*.json", "application_default_credentials.json"),
    *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "*.tfstate", "*.tfstate.backup"),
    *("credentials.csv", "*_accesskeys.csv", "rootkey.csv"),
    # what was typed at the prompt of a shell or database, including keys
    *(".*_history", "fish_history", ".dbshell"),
)
_TEMPLATES: Final = (
    r".*\.env\.(?:.*\.)?(?:example|sample|template|tmpl|dist|defaults?|schema)|(?:example|sample|template)\.env"
)
_IN_FOLDERS: Final = (".kube/config",)

_PRIVATE_KEY: Final = rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_LONE_KEY: Final = rb"\s*[\w+/=.-]{16,512}\s*"
_ASSIGNED: Final = (
    rb"(?i)(?:private_?key|secret|token|password|passwd|api_?key)\w{0,20}[\"']?"
    rb"[ \t]*[:=][ \t]*[\"']?[^\s\"'$<{]{8}"
)
# Names that leave it open, and the content that decides.
_OPEN_NAMES: Final = (
    (("*.pem", "*.key", "*.p8", "*.pk8", "*.asc", "*.ovpn", "*.crt", "*.cer"), _PRIVATE_KEY),
    ((".npmrc", ".yarnrc", ".yarnrc.yml"), rb"_authToken|_auth\b|_password|npmAuth"),
    ((".pypirc", ".terraformrc", "terraform.rc", "rclone.conf", ".rclone.conf"), _ASSIGNED),
    (
        ("credentials.json", "credentials.y*ml", "credentials.ini", "credentials.cfg", "credentials.txt"),
        _ASSIGNED,
    ),
    (
        ("credentials.conf", "credentials.properties", "service-account*.json", "service_account*.json"),
        _ASSIGNED,
    ),
    (("config.json",), rb'"auths?"\s{0,8}:\s{0,8}\{[^}]{0,400}"auth"'),
    (("*.json",), rb'"private_key"\s{0,8}:\s{0,8}"-----BEGIN'),
)
_PROSE: Final = frozenset((".md", ".markdown", ".rst", ".adoc", ".html"))

HEAD_BYTES: Final = 64 * 1024
"""Bytes of a file that are examined: a chain of certificates before a key has some ten thousand (not measured)."""


# Patterns are compiled for the first file: a search need not wait for them.


@cache
def _certain() -> re.Pattern[str]:
    return re.compile(f"(?!(?:{_TEMPLATES})\\Z)(?:{'|'.join(map(translate, _NAMES))})")


@cache
def _open() -> tuple[tuple[re.Pattern[str], re.Pattern[bytes]], ...]:
    return tuple(
        (re.compile("|".join(map(translate, names))), re.compile(content)) for names, content in _OPEN_NAMES
    )


def looks_secret(path: str) -> bool:
    """Whether a file holds credentials, judging by its path."""
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    return lowered.endswith(_IN_FOLDERS) or _certain().match(name) is not None


def holds_credentials(path: str, data: bytes) -> bool:
    """Whether a file whose name leaves it open holds credentials: a private key, a tool's token."""
    name = path.lower().rpartition("/")[2]
    suffix = name[name.rfind(".") :] if "." in name else ""
    head = data[:HEAD_BYTES]
    if head.startswith((b"-----BEGIN", b"PuTTY-User-Key-File")) and suffix not in _PROSE:
        return head.startswith(b"PuTTY") or re.search(_PRIVATE_KEY, head) is not None
    if suffix == ".key" and re.fullmatch(_LONE_KEY, head):
        return True
    return any(names.match(name) and content.search(head) for names, content in _open())
