"""What every walk leaves out, and why: plain tables, so that a surprise can be looked up.

Files that hold credentials are recognised by name where that is certain, else by content. A key in the middle of a text
is masked; a file that is nothing but keys is left out altogether.
"""

from __future__ import annotations

import codecs
import re
from fnmatch import translate
from functools import cache
from typing import Final

BOOKKEEPING: Final = frozenset(
    (
        *(".git", ".hg", ".svn", ".bzr", ".jj", "CVS"),  # version control
        *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints"),
        *(".cache", ".parcel-cache", ".turbo"),
        *(".DS_Store", "._.DS_Store", ".Spotlight-V100", ".Trashes", ".fseventsd"),  # macOS
        *("Thumbs.db", "desktop.ini", "$RECYCLE.BIN"),  # Windows
        *(".obsidian", ".trash"),  # the settings and the bin of a vault
        "sessions-index.json",  # Claude Code's list of the sessions beside it
    )
)
"""Entries skipped silently: nobody looks for them, and every folder may have one."""

INSTALLED = {
    "node_modules": "installed JavaScript packages",
    "bower_components": "installed JavaScript packages",
    ".venv": "a Python environment",
    "venv": "a Python environment",
    ".tox": "Python test environments",
    ".nox": "Python test environments",
    ".eggs": "installed Python packages",
    "site-packages": "installed Python packages",
    ".gradle": "build cache of Gradle",
    ".terraform": "installed Terraform providers",
    "tool-results": "output of a coding agent's tools",  # Claude Code keeps it beside its sessions
}
"""Folders of files that somebody else's program put there, each reported in one line."""

MARKERS = {"pyvenv.cfg": "a Python environment", "CACHEDIR.TAG": "a cache, as its CACHEDIR.TAG says"}
"""A folder that contains one of these is treated like those above, whatever its name."""

SKIPPED_NAMES = BOOKKEEPING | frozenset(INSTALLED)
"""All folder names that are never entered."""

# Not listed: formats with a parser (PDF, Office, EPUB), and suffixes that are text often enough to check the content
# (.svg, .dat, .bak, .idx; .mts is video but also TypeScript).
_BINARY_KINDS = {
    "an image": "png jpg jpeg jpe jfif gif bmp tif tiff webp heic heif avif jxl jp2 ico icns psd psb xcf ai "
    "cr2 cr3 nef arw dng orf rw2 exr tga dds ktx ktx2 sketch blend",
    "audio": "mp3 wav flac aac ogg oga opus m4a m4b wma aif aiff mid midi amr ape caf",
    "video": "mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp ogv m2ts vob",
    "an archive": "zip tar gz tgz bz2 tbz tbz2 xz txz zst tzst lz lz4 lzma br 7z rar cab arj ace cpio ar "
    "jar war ear whl egg gem crate nupkg deb rpm apk aab ipa dmg iso img vhd vhdx vmdk qcow2 pkg msi msix "
    "snap appimage crx xpi asar",
    "compiled code": "o obj lib so dylib dll exe ko elf bin class pyc pyo pyd wasm bc beam rlib rmeta "
    "pdb ilk idb nib node dex gch pch",
    "a font": "ttf otf woff woff2 eot ttc pfb pfm",
    "a database": "db db3 sqlite sqlite3 sqlite-wal sqlite-shm db-wal db-shm mdb accdb ibd myd myi dbf ldb "
    "sst rdb realm",
    "data in a binary format": "npy npz pkl pickle joblib h5 hdf5 hdf nc mat rds rda rdata parquet feather "
    "arrow orc avro pb tfrecord onnx pt pth ckpt safetensors gguf ggml mlmodel tflite keras lance faiss mmdb "
    "pcap pcapng pack swf fla dwg dxb stl glb fbx 3ds unitypackage uasset umap dmp keystore jks",
}
BINARY_SUFFIXES = {suffix: kind for kind, suffixes in _BINARY_KINDS.items() for suffix in suffixes.split()}
"""Suffix → what a file with it is."""

_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


PICTURES: Final = frozenset("png jpg jpeg tif tiff webp heic heif".split())
"""Suffixes of pictures that OCR reads, where it is installed."""


def binary_kind(name: str) -> str | None:
    """What a file is, when its suffix says that it holds no text."""
    _, dot, suffix = name.rpartition(".")
    return BINARY_SUFFIXES.get(suffix.lower()) if dot else None


def reason_of_kind(name: str, *, pictures: bool = False) -> str | None:
    """Why a file is left out whose suffix says what it is; `pictures` can be read."""
    kind = binary_kind(name)
    if kind is None:
        return None
    if name.rpartition(".")[2].lower() in PICTURES:
        return None if pictures else f"{kind}, no text to read without OCR (the extra ocr)"
    return f"{kind}, no text to read"


def looks_binary(head: bytes) -> bool:
    """Whether a file's first bytes are not text: they hold a NUL that no byte order mark explains."""
    return b"\0" in head and not head.startswith(_BOMS)


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
