"""Files that hold credentials: by their name where that is certain, else by what they hold.

A key in the middle of a text is masked; a file that is nothing but keys is left out altogether.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Final

CREDENTIALS: Final = "looks like credentials, which are not indexed (unless index_secrets is set)"
"""Why such a file is left out."""

# Public halves (*.pub, *.crt, known_hosts) and the templates that people commit are not secret.
_NAMES: Final = (
    *(".env", ".env.*", "*.env", ".envrc"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "*.ppk"),
    *("*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdb", "*.kdbx"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".htdigest", ".git-credentials"),
    *(".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".vault-token", "kubeconfig", ".kubeconfig"),
    *("credentials", "credentials.toml", "client_secret*.json", "application_default_credentials.json"),
    *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "*.tfstate", "*.tfstate.backup"),
    # what was typed into a shell or a database's prompt, keys among it
    *(".bash_history", ".zsh_history", "fish_history", ".python_history", ".node_repl_history", ".irb_history"),
    *(
        ".psql_history",
        ".mysql_history",
        ".sqlite_history",
        ".rediscli_history",
        ".mongorc_history",
        ".dbshell",
    ),
)
_TEMPLATES: Final = re.compile(
    r".*\.env\.(?:.*\.)?(?:example|sample|template|tmpl|dist|defaults?|schema)|(?:example|sample|template)\.env"
)
_CERTAIN: Final = re.compile("|".join(map(translate, _NAMES)))
_IN_FOLDERS: Final = (".kube/config",)

_PRIVATE_KEY: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONE_KEY: Final = re.compile(rb"\s*[\w+/=.-]{16,512}\s*")
_ASSIGNED: Final = re.compile(
    rb"(?:private_?key|secret|token|password|passwd|api_?key)\w{0,20}[\"']?[ \t]*[:=][ \t]*[\"']?[^\s\"'$<{]{8}",
    re.IGNORECASE,
)
_SERVICE_ACCOUNT: Final = re.compile(rb'"private_key"\s{0,8}:\s{0,8}"-----BEGIN')

# Names that leave it open, and what settles it.
_OPEN: Final = tuple(
    (re.compile("|".join(map(translate, names))), content)
    for names, content in (
        (("*.pem", "*.key", "*.p8", "*.pk8", "*.asc", "*.ovpn", "*.crt", "*.cer"), _PRIVATE_KEY),
        ((".npmrc", ".yarnrc", ".yarnrc.yml"), re.compile(rb"_authToken|_auth\b|_password|npmAuth")),
        ((".pypirc", ".terraformrc", "terraform.rc", "rclone.conf", ".rclone.conf"), _ASSIGNED),
        (("credentials.*", "service-account*.json", "service_account*.json"), _ASSIGNED),
        (("config.json",), re.compile(rb'"auths?"\s{0,8}:\s{0,8}\{[^}]{0,400}"auth"')),
        (("*.json",), _SERVICE_ACCOUNT),
    )
)
_PROSE: Final = frozenset((".md", ".markdown", ".rst", ".adoc", ".html"))

HEAD_BYTES: Final = 64 * 1024
"""Bytes of a file that are looked at: a chain of certificates before a key has some ten thousand. Judgement."""


def looks_secret(path: str) -> bool:
    """Whether a file of this path holds credentials, as far as its name can tell."""
    lowered = path.lower()
    name = lowered.rpartition("/")[2]
    if lowered.endswith(_IN_FOLDERS):
        return True
    return _CERTAIN.fullmatch(name) is not None and _TEMPLATES.fullmatch(name) is None


def holds_credentials(path: str, data: bytes) -> bool:
    """Whether a file whose name leaves it open holds credentials: a private key, a token of a tool."""
    name = path.lower().rpartition("/")[2]
    suffix = name[name.rfind(".") :] if "." in name else ""
    head = data[:HEAD_BYTES]
    if head.startswith((b"-----BEGIN", b"PuTTY-User-Key-File")) and suffix not in _PROSE:
        return head.startswith(b"PuTTY") or _PRIVATE_KEY.search(head) is not None
    if suffix == ".key" and _LONE_KEY.fullmatch(head):
        return True
    return any(names.fullmatch(name) and content.search(head) for names, content in _OPEN)
