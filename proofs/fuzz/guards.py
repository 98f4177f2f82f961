"""What keeps a stranger out: URLs and addresses, fetched pages, paths, names of notes, ignore rules."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import outcrop
from outcrop.errors import OutcropError, OutsideRoots, SourceError
from outcrop.notes.files import NoteFiles
from outcrop.notes.names import note_path
from outcrop.records import SourceFile
from outcrop.serve.state import State, make_state, require_root
from outcrop.sources.address import parse_url
from outcrop.sources.folder import walk
from outcrop.sources.ignore import compile_rules
from outcrop.sources.url import Network, fetch
from proofs.fuzz.mutate import change, change_some
from proofs.fuzz.seeds import Seeds
from proofs.fuzz.target import CHOICES_BYTES, Draw, Target, made_folder, need

# ------------------------------------------------------------------ addresses

# The registries of special-purpose addresses (IANA), as numbers: a second opinion that does not ask `ipaddress`.
_INTERNAL_4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
).split()
_INTERNAL_6 = "::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()
"""All that is not given to somebody on the public internet, and what is for other things within that."""


def _number(address: str) -> tuple[int, int]:
    """An address as a number, and how many bits it has."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    return int.from_bytes(packed), 8 * len(packed)


def _is_in(address: str, network: str) -> bool:
    start, _, length = network.partition("/")
    (number, bits), (first, other_bits) = _number(address), _number(start)
    return bits == other_bits and number >> bits - int(length) == first >> bits - int(length)


def is_internal(address: str) -> bool:
    """Whether an address leads anywhere else than to the public internet, by the registries alone."""
    number, bits = _number(address)
    if bits == 32:
        return any(_is_in(address, network) for network in _INTERNAL_4)
    if number >> 32 == 0xFFFF or number >> 32 == 0x0064FF9B << 64:  # an IPv4 address inside
        return is_internal(socket.inet_ntoa((number & 0xFFFFFFFF).to_bytes(4)))
    if (number >> 32) & 0xFDFFFFFF == 0x00005EFE:  # ISATAP
        return True
    return any(_is_in(address, network) for network in _INTERNAL_6)


_HOSTS = (
    "example.com", "127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "localhost", "[::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::a00:1]", "[fe80::1%25eth0]", "①②⑦.⓪.⓪.①", "127。0。0。1", "10.0.0.1", "169.254.169.254",
    "[2002:7f00:1::]",
    "example.com.", "ex%61mple.com", "xn--bcher-kva.example", "bücher.example", "8.8.8.8", "[2606:4700::1111]",
    "a..b", "",
    "256.1.1.1", "1.1.1", "[::]", "0", "[::7f00:1]", "[2001:0:7f00:1::]", "[fec0::1]", "user@example.com", "a" * 70,
)  # fmt: skip
_PATHS = (
    "",
    "/",
    "/a b",
    "/%2e%2e/x",
    "?q=1#f",
    "/\u202e",
    "//x",
    "/a\\b",
    ":80/",
    ":0",
    ":99999",
    ":/",
    "/..",
    "#",
    "/%",
    "/é",
)
_ADDRESSES = (
    "8.8.8.8", "1.1.1.1", "127.0.0.1", "10.1.2.3", "100.64.0.1", "169.254.169.254", "172.31.255.255", "192.168.0.1",
    "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.8", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
    "2606:4700::1111",
    "2001:db8::1", "2002:7f00:1::1", "64:ff9b::7f00:1", "64:ff9b::808:808", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
    "2001::1",
    "2620:0:0:0:0:5efe:7f00:1", "fec0::1", "3fff::1", "5f00::1", "64:ff9b:1::1", "100::1", "2001:4860:4860::8888",
)  # fmt: skip


def _make_url(chance: random.Random, seeds: Seeds) -> bytes:
    scheme = chance.choice(
        ("http://", "https://", "HTTP://", "http:", "ftp://", "//", "file:///", "http:\\\\", "")
    )
    url = (scheme + chance.choice(_HOSTS) + chance.choice(_PATHS)).encode()
    if chance.random() < 0.4:
        url = change(url, chance, [url, *seeds.of("md")], 300)
    return chance.randbytes(CHOICES_BYTES) + url


def check_url(data: bytes) -> None:
    """A URL has one spelling, or is refused; a fetch connects to public addresses and to no others."""
    draw = Draw(data)
    text = draw.text()
    try:
        target = parse_url(text)
    except SourceError as error:
        need(str(error), "a refusal says why")
        return
    need(target.url.isascii() and target.url.isprintable(), "a URL is printable ASCII")
    need(" " not in target.url, "a URL has no space")
    need(parse_url(target.url) == target, "the URL of a URL is the same")
    need(target.scheme in {"http", "https"} and 0 < target.port < 65_536, "http, and a port")
    connected: list[str] = []
    drawn = [_address(draw) for _ in range(draw.whole(1, 3))]

    def resolve(host: str, port: int) -> Sequence[str]:
        try:  # as the system does: 0x7f.1 and 2130706433 are addresses to it
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except OSError:
            return drawn
        return [str(entry[4][0]) for entry in found]

    def connect(address: str, _port: int, _timeout_s: float) -> socket.socket:
        connected.append(address)
        raise OSError("closed")

    with suppress(SourceError):
        fetch(text, timeout_s=5, max_bytes=1000, network=Network(resolve, connect))
    need(not any(map(is_internal, connected)), f"connected to {connected}")
    if not connected:
        need(any(map(is_internal, resolve(target.host, target.port))), "what is public is reached")


def _address(draw: Draw) -> str:
    kind = draw.byte() % 4
    if kind == 0:
        return socket.inet_ntoa(bytes(draw.byte() for _ in range(4)))
    if kind == 1:
        start = socket.inet_pton(socket.AF_INET6, draw.pick([each for each in _ADDRESSES if ":" in each]))
        return socket.inet_ntop(socket.AF_INET6, start[: draw.whole(0, 16)].ljust(16, bytes([draw.byte()])))
    return draw.pick(_ADDRESSES)


# ------------------------------------------------------------------ answers of servers

_ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n"
    b"Last-Modified: Mon, 16 Nov 2026 05:00:00 GMT\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://example.org/next\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: ../../x?y=1#z\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: //[::1]:80/\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcbH\xcd\xc9\xc9\x07\x00\x86\xa6\x106\x05\x00\x00\x00",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nx\x9c\xcbH\xcd\xc9\xc9\x07\x00\x06,\x02\x15",
    b"HTTP/1.0 404 Not Found\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
)


def _make_answer(chance: random.Random, _seeds: Seeds) -> bytes:
    return change(chance.choice(_ANSWERS), chance, _ANSWERS, 4_000)


def check_answer(data: bytes) -> None:
    """Whatever a server sends is a page within its limit or a SourceError; no redirect leads to an internal address."""
    pairs: list[socket.socket] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except OSError:
            return ["8.8.8.8"]
        return [str(entry[4][0]) for entry in found]

    def connect(address: str, _port: int, _timeout_s: float) -> socket.socket:
        need(not is_internal(address), f"connected to {address}")
        ours, theirs = socket.socketpair()
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        pairs.append(theirs)
        return ours

    try:
        file, body = fetch(
            "http://example.com/a", timeout_s=5, max_bytes=600, network=Network(resolve, connect)
        )
        need(len(body) <= 600, "a page is within its limit")
        need(file.uri == "http://example.com/a" and file.size == len(body), "a page is what was asked for")
    except SourceError as error:
        need("took longer" not in str(error), "an answer that ends is read at once")
    finally:
        for pair in pairs:
            pair.close()


# ------------------------------------------------------------------ paths and names

_NAMES = (
    "a", "b.md", "notes", "in", "out", "loop", "..", ".", "", "~", "~root", "x", "etc", "passwd", "SECRET", "a b",
    "é", "e\u0301",
    "con.md", "\u2024\u2024", "．．", "a\0b", "%2e%2e", "\\..", "b.md:stream", "B.MD", "n" * 300, " ", "deep",
    "\u202e", "/", "a.txt",
)  # fmt: skip


@cache
def _home() -> Path:
    """A folder that may be reached, one that may not, and links between them."""
    home = made_folder()
    for folder in ("root/a/deep", "root/notes", "rootx", "outside/a", "kb"):
        (home / folder).mkdir(parents=True)
    for file in ("root/b.md", "root/a/b.md", "rootx/b.md", "kb/b.md", "root/a.txt"):
        (home / file).write_text("fine")
    for file in ("outside/SECRET", "outside/b.md", "outside/a/b.md"):
        (home / file).write_text("SECRET")
    for top in ("root", "kb", "root/a"):
        for name, to in (("out", home / "outside"), ("in", home / "root" / "a"), ("loop", home / top / "loop")):
            (home / top / name).symlink_to(to)
        (home / top / "x").symlink_to(home / "outside" / "SECRET")
    (home / "kb" / "x.md").symlink_to(home / "outside" / "SECRET")
    return home


@cache
def _state() -> State:
    home = _home()
    return make_state(outcrop.open(home / "index.db", roots=[str(home / "root")], kb=home / "kb"))


def _make_path(chance: random.Random, _seeds: Seeds) -> bytes:
    joined = "/".join(chance.choice(_NAMES) for _ in range(chance.randrange(1, 7)))
    start = chance.choice(
        ("{root}/", "{root}/", "{root}x/", "/", "", "~/", "{root}/../", "//{root}/", "{kb}/", "{root}")
    )
    path = (start + joined).encode("utf-8", "surrogateescape")
    if chance.random() < 0.3:
        path = change(path, chance, [path], 1_500)
    return chance.randbytes(CHOICES_BYTES) + path


def check_path(data: bytes) -> None:
    """Only what really lies below a root may be indexed from outside."""
    home = _home()
    text = Draw(data).text().replace("{root}", str(home / "root")).replace("{kb}", str(home / "kb"))
    allowed = [str(home / "root"), str(home / "kb")]
    try:
        asked = os.path.expanduser(text)  # noqa: PTH111  pathlib is what is checked
        real = os.path.realpath(asked)
        inside = asked.startswith("/") and any(real == top or real.startswith(top + "/") for top in allowed)
    except (ValueError, OSError):
        real, inside = "", False
    try:
        found = require_root(_state().engine, text)
    except OutsideRoots:
        need(not inside or _is_odd(text), f"{real!r} lies inside and is refused")
        return
    if "loop" in text:  # realpath says "/" of a circle of links; what counts is where our answer leads
        real, inside = str(found), found.is_relative_to(home / "root") or found.is_relative_to(home / "kb")
    need(inside and str(found) == real, f"{found} is let through, and is {real!r}")


def _is_odd(text: str) -> bool:
    """A loop of links, or a name that no file can have: refused, wherever it would be."""
    return "loop" in text or any(len(os.fsencode(name)) > 255 for name in text.split("/")) or len(text) > 3_000


def check_note(data: bytes) -> None:
    """The name of a note means a file below the root, and reading it never follows a link out."""
    draw = Draw(data)
    text = draw.text().replace("{root}", "").replace("{kb}", "")
    try:
        path = note_path(text)
    except OutcropError as error:
        need(str(error), "a refusal says why")
        return
    root = str(_home() / "kb")
    whole = os.path.normpath(f"{root}/{path}")
    need(whole.startswith(root + "/") and not path.startswith("/"), f"{path!r} leads out")
    need(note_path(path) == path, "the path of a path is the same")
    path.encode("utf-8")
    try:
        content, _ = NoteFiles(Path(root)).read(path)
    except OutcropError:
        return
    need(content != b"SECRET", f"{path!r} leads to a file outside")


# ------------------------------------------------------------------ ignore rules

_TREE = (
    "a", "b", "ab", "abc.txt", "b.log", "a b", "x]", "-", "!n", "#n", "n ", "t\t", "back\\slash", "A", "1", "d/a",
    "d/b.log", "d/e/a",
    "d/e/abc.txt", "d/e/f/a", "d/e/f/b.log", "e/a", "e/f/abc.txt", "abcd/e/a", "abd/a", "x[y]/a", "d*/a", "d/ab/b/a",
)  # fmt: skip
_RULES = (
    "a b c d e f A D abc ABC .log .txt * ** ? / / \\ [ ] [ab] [!a] [^b-d] [A-C] [!D] [[:upper:]] [[:lower:]] "
    "[^[:upper:]] [a- []x] [\\]] [[:alpha:]] [[:nope:]] [: - ! # { +"
).split()
_COMPARED = 40
"""One input in so many is held against git itself, which takes ten milliseconds."""


def _make_rules(chance: random.Random, seeds: Seeds) -> bytes:
    lines = (
        "".join(chance.choice(_RULES) for _ in range(chance.randrange(1, 8)))
        for _ in range(chance.randrange(1, 6))
    )
    rules = "\n".join(lines).encode()
    if chance.random() < 0.3:
        rules = change_some(chance, [rules, *seeds.of("txt")], 2_000)
    return chance.randbytes(CHOICES_BYTES) + rules


@cache
def _repository() -> Path:
    top = made_folder()
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    for name in _TREE:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("text")
    return top


def check_rules(data: bytes) -> None:
    """Any bytes are rules; whether an entry is ignored is told at once, and as git does."""
    draw = Draw(data)
    compared, ignore_case = draw.whole(0, _COMPARED - 1) == 0, draw.byte() % 2 == 1
    rules = compile_rules.__wrapped__(draw.body, ignore_case)
    if rules is not None:
        for name in (*_TREE, "a" * 200, "a/" * 40 + "b", "é\udcff"):
            prefix, _, last = name.rpartition("/")
            for is_dir in (False, True):
                rule = rules.last_match(f"{prefix}/" if prefix else "", last, is_dir)
                need(rule is None or 0 < rule.line <= draw.body.count(b"\n") + 1, "a rule has a line")
    if compared and shutil.which("git") and b"\0" not in draw.body:
        _compare_with_git(draw.body, ignore_case)


def _compare_with_git(rules: bytes, ignore_case: bool) -> None:
    top = _repository()
    (top / ".git/config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tignorecase = {str(ignore_case).lower()}\n"
    )
    (top / ".gitignore").write_bytes(rules)
    command = ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=top, capture_output=True, check=True).stdout
    by_git = {os.fsdecode(path) for path in listed.split(b"\0") if path} - {".gitignore"}
    found = walk(top, max_file_bytes=100_000, include_secrets=True)
    ours = {file.path for file in found if isinstance(file, SourceFile)} - {".gitignore"}
    need(ours == by_git, f"git keeps {sorted(by_git - ours)[:4]}, the walk {sorted(ours - by_git)[:4]}")


GUARDS = (
    Target(
        "url", 100_000, _make_url, check_url, "one spelling or a SourceError; no internal address is reached"
    ),
    Target("fetch", 20_000, _make_answer, check_answer, "a page within its limit or a SourceError"),
    Target("path", 60_000, _make_path, check_path, "no path leads out of the roots, by realpath"),
    Target("note", 120_000, _make_path, check_note, "no name leads out of the knowledge base"),
    Target("ignore", 20_000, _make_rules, check_rules, "any bytes are rules, in time, as git has it"),
)
