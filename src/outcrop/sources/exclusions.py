"""What every walk leaves out, and why: plain tables, so that a surprise can be looked up."""

from __future__ import annotations

import codecs

BOOKKEEPING = {
    ".git": "version control",
    ".hg": "version control",
    ".svn": "version control",
    ".bzr": "version control",
    ".jj": "version control",
    "CVS": "version control",
    "__pycache__": "compiled Python",
    ".mypy_cache": "tool cache",
    ".ruff_cache": "tool cache",
    ".pytest_cache": "tool cache",
    ".hypothesis": "tool cache",
    ".ipynb_checkpoints": "copies of notebooks",
    ".cache": "cache",
    ".parcel-cache": "cache",
    ".turbo": "cache",
    ".DS_Store": "Finder settings",
    "._.DS_Store": "Finder settings",
    ".Spotlight-V100": "search index of macOS",
    ".Trashes": "deleted files",
    ".fseventsd": "event log of macOS",
    "Thumbs.db": "Explorer thumbnails",
    "desktop.ini": "Explorer settings",
    "$RECYCLE.BIN": "deleted files",
}
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
}
"""Folders of other people's files, each reported in one line."""

MARKERS = {
    "pyvenv.cfg": "a Python environment",
    "CACHEDIR.TAG": "a cache, as its CACHEDIR.TAG says",
}
"""A folder that contains one of these is treated like those above, whatever its name."""

SKIPPED_NAMES = frozenset(BOOKKEEPING) | frozenset(INSTALLED)
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


def binary_kind(name: str) -> str | None:
    """What a file is, when its suffix says that it holds no text."""
    _, dot, suffix = name.rpartition(".")
    return BINARY_SUFFIXES.get(suffix.lower()) if dot else None


def looks_binary(head: bytes) -> bool:
    """Whether a file's first bytes are not text: they hold a NUL that no byte order mark explains."""
    return b"\0" in head and not head.startswith(_BOMS)
