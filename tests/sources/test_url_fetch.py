"""Fetching from real local servers; a public name leads to them by way of the `Network` seam."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.cost import PATIENCE_S

from outcrop.errors import BlockedAddress, SourceError
from outcrop.records import SourceFile
from outcrop.sources.url import Network, connect_to, fetch

PUBLIC = "93.184.216.34"
Answer = Callable[[socket.socket], None]


class Server:
    """A server that answers each path with exactly the bytes, or the behaviour, a test gives it."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, bytes | Answer] = {}
        self.requests: list[str] = []
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            request = b""
            while b"\r\n\r\n" not in request:
                data = sock.recv(4096)
                if not data:
                    return
                request += data
            self.requests.append(request.decode("latin-1"))
            answer = self.answers[request.split()[1].decode()]
            if isinstance(answer, bytes):
                sock.sendall(answer)
            else:
                answer(sock)
        except OSError:
            pass  # the client went away, which is what some tests want
        finally:
            sock.close()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in (self._accepting, *self._threads):
            thread.join(timeout=60)
            assert not thread.is_alive()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def page(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    count = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {count}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return page(b"", f"Location: {location}", status=status)


def get(url: str, *, max_bytes: int = 100_000, timeout_s: float = 5.0) -> tuple[SourceFile, bytes]:
    return fetch(url, timeout_s=timeout_s, max_bytes=max_bytes, allow_private=True)


def public(server: Server, names: dict[str, Sequence[str]] | None = None) -> Network:
    """Names lead to public addresses, and connecting to one of those leads to the local server."""

    def resolve(host: str, port: int) -> Sequence[str]:
        return (names or {}).get(host, [host if host[0].isdigit() else PUBLIC])

    def connect(address: str, port: int, timeout_s: float) -> socket.socket:
        assert address == PUBLIC, "only the address that was checked may be connected to"
        return connect_to("127.0.0.1", server.port, timeout_s)

    return Network(resolve, connect)


def test_a_page_comes_with_its_name_type_and_date(server: Server) -> None:
    server.answers["/docs/a.html?v=1"] = page(
        b"<p>hi</p>",
        "Content-Type: text/html; charset=latin-1",
        "Last-Modified: Thu, 01 Jan 1970 00:01:00 GMT",
        "Set-Cookie: a=b",
    )
    file, body = get(server.url("/docs/a.html?v=1#part"))
    assert body == b"<p>hi</p>"
    assert file == SourceFile(
        uri=server.url("/docs/a.html?v=1"),
        path=f"127.0.0.1:{server.port}/docs/a.html",
        origin="url",
        mtime_ns=60_000_000_000,
        size=9,
        media_type="text/html; charset=latin-1",
    )
    assert f"\r\nHost: 127.0.0.1:{server.port}\r\n" in server.requests[0]
    assert "Cookie" not in server.requests[0]


def test_private_addresses_are_refused_before_anything_is_sent(server: Server) -> None:
    server.answers["/"] = page(b"internal")
    spellings = [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ]
    for host in spellings:
        with pytest.raises(BlockedAddress, match="not public"):
            fetch(f"http://{host}:{server.port}/", timeout_s=5, max_bytes=100)
    assert server.requests == []


def test_one_private_address_among_public_ones_blocks_a_name(server: Server) -> None:
    network = public(server, {"mixed.example": [PUBLIC, "10.0.0.1"]})
    with pytest.raises(BlockedAddress, match=r"10\.0\.0\.1"):
        fetch("http://mixed.example/", timeout_s=5, max_bytes=100, network=network)
    assert server.requests == []


def test_the_name_is_resolved_once_and_the_connection_goes_to_the_address_that_was_checked(
    server: Server,
) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])  # a rebinding server: public first, private when asked again
    base = public(server)
    network = Network(lambda host, port: next(answers), base.connect)
    server.answers["/"] = page(b"ok")
    file, body = fetch("http://rebind.example/", timeout_s=5, max_bytes=100, network=network)
    assert (file.path, body) == ("rebind.example/", b"ok")
    assert "\r\nHost: rebind.example\r\n" in server.requests[0]


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1/secret", "http://169.254.169.254/latest", "//10.0.0.1/", "http://inside.example/x"),
        "http://[::1]/",
    ],
)
def test_a_redirect_to_a_private_address_is_refused(server: Server, location: str) -> None:
    server.answers["/"] = redirect(location)
    network = public(server, {"inside.example": ["192.168.0.1"], "::1": ["::1"]})
    with pytest.raises(BlockedAddress):
        fetch("http://public.example/", timeout_s=5, max_bytes=100, network=network)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://u:p@public.example/", "ftp://x/", "http://a b/"]
)
def test_a_redirect_is_checked_like_a_url_that_was_typed(server: Server, location: str) -> None:
    server.answers["/"] = redirect(location)
    with pytest.raises(SourceError, match="redirects to a place that cannot be fetched"):
        fetch("http://public.example/", timeout_s=5, max_bytes=100, network=public(server))


def test_redirects_are_followed_and_the_page_keeps_the_name_that_was_asked_for(server: Server) -> None:
    server.answers["/old"] = redirect("next?x=ü", "301 Moved Permanently")
    server.answers["/next?x=%C3%BC"] = redirect("http://other.example/final", "308 Permanent Redirect")
    server.answers["/final"] = page(b"there")
    file, body = fetch("http://public.example/old", timeout_s=5, max_bytes=100, network=public(server))
    assert (file.uri, file.path, body) == ("http://public.example/old", "public.example/old", b"there")
    assert "Host: other.example\r\n" in server.requests[2]


def test_a_redirect_loop_ends(server: Server) -> None:
    server.answers["/"] = redirect("/")
    with pytest.raises(SourceError, match="more than 5 times"):
        get(server.url())
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip", lambda body: gzip.compress(body[:10]) + gzip.compress(body[10:])),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
    ],
)
def test_compressed_pages_are_unpacked(server: Server, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    body = b"some words " * 2000
    server.answers["/"] = page(pack(body), f"Content-Encoding: {encoding}")
    assert get(server.url())[1] == body


def test_a_bomb_is_not_unpacked_beyond_the_limit(server: Server) -> None:
    server.answers["/"] = page(gzip.compress(bytes(50_000_000)), "Content-Encoding: gzip")
    tracemalloc.start()
    try:
        with pytest.raises(SourceError, match="larger than 100000 bytes"):
            get(server.url())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


def test_padding_without_end_after_compressed_data_counts_against_the_limit(server: Server) -> None:
    def pad(sock: socket.socket) -> None:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"x"))
        while True:
            sock.sendall(bytes(10_000))

    server.answers["/"] = pad
    with pytest.raises(SourceError, match="larger than 100000 bytes"):
        get(server.url(), timeout_s=2)


@pytest.mark.parametrize("cut", [40, 200])
def test_compressed_data_that_is_cut_or_damaged_is_an_error(server: Server, cut: int) -> None:
    packed = gzip.compress(bytes(range(256)) * 4)
    server.answers["/cut"] = page(packed[:cut], "Content-Encoding: gzip")
    server.answers["/bad"] = page(b"\x1f\x8b\x08" + b"\xff" * cut, "Content-Encoding: gzip")
    with pytest.raises(SourceError, match="ended before"):
        get(server.url("/cut"))
    with pytest.raises(SourceError, match=r"damaged|ended before"):
        get(server.url("/bad"))


def test_an_encoding_that_was_not_asked_for_is_an_error(server: Server) -> None:
    server.answers["/"] = page(b"x", "Content-Encoding: br")
    with pytest.raises(SourceError, match="'br'"):
        get(server.url())


def send_without_end(sock: socket.socket) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        sock.sendall(b"x" * 10_000)


def send_headers_without_end(sock: socket.socket) -> None:
    sock.sendall(b"HTTP/1.1 200 OK\r\n")
    for number in range(10_000):
        sock.sendall(f"X-{number}: {'y' * 1000}\r\n".encode())


def test_a_body_or_a_head_without_end_is_cut_off(server: Server) -> None:
    server.answers["/body"] = send_without_end
    server.answers["/head"] = send_headers_without_end
    with pytest.raises(SourceError, match="larger than 100000 bytes"):
        get(server.url("/body"))
    with pytest.raises(SourceError, match=r"cannot be fetched|larger"):
        get(server.url("/head"))


def test_a_length_over_the_limit_is_refused_before_the_body_is_read(server: Server) -> None:
    server.answers["/"] = page(b"x", length=100_001)
    with pytest.raises(SourceError, match="larger than"):
        get(server.url())


def test_a_body_shorter_than_its_length_is_an_error_and_a_longer_one_is_cut(server: Server) -> None:
    server.answers["/short"] = page(b"half", length=8)
    server.answers["/long"] = page(b"whole and more", length=5)
    server.answers["/chunk"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf"
    for path in ("/short", "/chunk"):
        with pytest.raises(SourceError, match=r"ended before|cannot be fetched"):
            get(server.url(path))
    assert get(server.url("/long"))[1] == b"whole"


def test_chunks_are_joined(server: Server) -> None:
    server.answers["/"] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    assert get(server.url())[1] == b"abcde"


def trickle(head: bytes) -> Answer:
    def answer(sock: socket.socket) -> None:
        sock.sendall(head)
        for _ in range(2400):
            sock.sendall(b"x")
            time.sleep(0.05)

    return answer


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTT"])
def test_a_server_that_trickles_is_cut_off_at_the_deadline(server: Server, head: bytes) -> None:
    server.answers["/"] = trickle(head)
    started = time.monotonic()
    with pytest.raises(SourceError, match=r"took longer than 0\.4 s"):
        get(server.url(), timeout_s=0.4)
    assert time.monotonic() - started < PATIENCE_S  # the whole of it takes twice that


def test_the_deadline_covers_the_lookup_and_all_redirects_together(server: Server) -> None:
    released = threading.Event()

    def hang(host: str, port: int) -> Sequence[str]:
        released.wait(60)
        return [PUBLIC]

    with pytest.raises(SourceError, match="took longer"):
        fetch("http://slow.example/", timeout_s=0.3, max_bytes=100, network=Network(resolve=hang))
    released.set()

    def later(sock: socket.socket) -> None:
        time.sleep(0.2)
        sock.sendall(redirect("/"))

    server.answers["/"] = later
    with pytest.raises(SourceError, match="took longer"):
        get(server.url(), timeout_s=0.5)


def test_time_spent_connecting_counts_against_the_deadline(server: Server) -> None:
    server.answers["/"] = page(b"late")

    def slow(address: str, port: int, timeout_s: float) -> socket.socket:
        connection = connect_to(address, port, timeout_s)
        time.sleep(0.3)
        return connection

    with pytest.raises(SourceError, match=r"took longer than 0\.2 s"):
        fetch(server.url(), timeout_s=0.2, max_bytes=100, allow_private=True, network=Network(connect=slow))
    assert server.requests == []


def test_a_name_without_an_address_is_an_error() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def empty(host: str, port: int) -> Sequence[str]:
        return []

    for resolve in (unknown, empty):
        with pytest.raises(SourceError, match=r"nowhere\.example has no address.*check the spelling"):
            fetch("http://nowhere.example/", timeout_s=5, max_bytes=100, network=Network(resolve))


def test_the_next_address_is_tried_when_one_does_not_answer(server: Server) -> None:
    server.answers["/"] = page(b"second")
    tried: list[str] = []

    def connect(address: str, port: int, timeout_s: float) -> socket.socket:
        tried.append(address)
        if address != PUBLIC:
            raise ConnectionRefusedError("nobody there")
        return connect_to("127.0.0.1", server.port, timeout_s)

    network = Network(lambda host, port: ["93.184.216.33", PUBLIC], connect)
    assert fetch("http://two.example/", timeout_s=5, max_bytes=100, network=network)[1] == b"second"
    assert tried == ["93.184.216.33", PUBLIC]


@pytest.mark.parametrize("date", ["yesterday", "Thu, 99 Jan 1970 00:01:00 GMT"])
def test_an_invalid_date_is_ignored(server: Server, date: str) -> None:
    server.answers["/"] = page(b"x", f"Last-Modified: {date}")
    assert get(server.url())[0].mtime_ns is None


@pytest.mark.parametrize(("status", "advice"), [("404 Not Found", "check"), ("403 Forbidden", "save the page")])
def test_a_refusal_says_what_to_do(server: Server, status: str, advice: str) -> None:
    server.answers["/"] = page(b"no", status=status)
    with pytest.raises(SourceError, match=advice):
        get(server.url())


def test_an_answer_that_is_not_http_and_a_missing_server_are_errors(server: Server) -> None:
    server.answers["/"] = b"SSH-2.0-OpenSSH_9.6\r\n"
    with pytest.raises(SourceError, match="cannot be fetched"):
        get(server.url())
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(SourceError, match="cannot be fetched"):
        get(f"http://127.0.0.1:{port}/")


def test_proxies_of_the_environment_are_not_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.answers["/"] = page(b"direct")
    assert get(server.url())[1] == b"direct"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=DNS:secure.example -keyout key.pem -out cert.pem".split(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    running = Server(context)
    yield running
    running.close()


def trusting(server: Server, certificate: Path) -> Network:
    base = public(server)
    return Network(
        base.resolve, base.connect, lambda: ssl.create_default_context(cafile=certificate / "cert.pem")
    )


def test_over_tls_the_certificate_is_checked_against_the_name(secure: Server, certificate: Path) -> None:
    secure.answers["/"] = page(b"safe")
    network = trusting(secure, certificate)
    assert fetch("https://secure.example/", timeout_s=5, max_bytes=100, network=network)[1] == b"safe"
    with pytest.raises(SourceError, match="no valid certificate"):
        fetch("https://other.example/", timeout_s=5, max_bytes=100, network=network)
    with pytest.raises(SourceError, match="no valid certificate"):
        fetch("https://secure.example/", timeout_s=5, max_bytes=100, network=public(secure))


def test_a_redirect_from_https_to_http_is_refused(secure: Server, certificate: Path) -> None:
    secure.answers["/"] = redirect("http://secure.example/")
    with pytest.raises(SourceError, match="from https to http"):
        fetch("https://secure.example/", timeout_s=5, max_bytes=100, network=trusting(secure, certificate))
    assert len(secure.requests) == 1


def test_a_tls_handshake_that_never_ends_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(SourceError, match="took longer"):
        get(f"https://127.0.0.1:{silent.getsockname()[1]}/", timeout_s=0.3)
