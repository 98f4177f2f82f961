"""Which URLs and addresses may be fetched."""

from __future__ import annotations

import ipaddress

import pytest

from outcrop.errors import SourceError
from outcrop.sources.address import is_public, parse_url


@pytest.mark.parametrize(
    ("url", "normal", "path"),
    [
        ("HTTPS://Example.COM", "https://example.com/", "example.com/"),
        ("https://example.com:443/a?b=c#part", "https://example.com/a?b=c", "example.com/a"),
        ("http://example.com:8080/a", "http://example.com:8080/a", "example.com:8080/a"),
        ("https://example.com./a", "https://example.com/a", "example.com/a"),
        ("https://bücher.example/ä/%20?q=ü", "https://xn--bcher-kva.example/%C3%A4/%20?q=%C3%BC", None),
        ("http://[2606:4700:0:0::1111]/x", "http://[2606:4700::1111]/x", "[2606:4700::1111]/x"),
        ("http://example.com/@user:x", "http://example.com/@user:x", "example.com/@user:x"),
    ],
)
def test_a_url_has_one_normal_form(url: str, normal: str, path: str | None) -> None:
    target = parse_url(url)
    assert target.url == normal
    assert path is None or target.path == path


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://example.com/",
            "example.com",
            "//example.com/x",
            "",
        ),
        *(
            "http:///x",
            "http://",
            "http://user:secret@example.com/",
            "http://user@example.com",
            "http://@example.com",
        ),
        *(
            "http://example.com/a b",
            "http://example.com\\@evil.com/",
            "http://example.com/\r\nX: y",
            "http://a\tb/",
        ),
        *(
            "http://example.com/\x00",
            "http://exa\u200bmple.com/",
            "http://example.com:0/",
            "http://example.com:x/",
        ),
        *(
            "http://example.com:99999/",
            "http://[fe80::1%25eth0]/",
            "http://[::1",
            "http://a..b/",
            "http://%31/",
        ),
        *("http://" + "a" * 64 + ".com/", "http://example.com/" + "a" * 5000, "http://-a.com/", "http://./"),
        *("http://127.0.0.1\u2024com@x/", "http://exa_mple!.com/"),
    ],
)
def test_a_url_that_is_malformed_or_tricky_is_refused(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_url(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
        *(
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
        ),
        *("198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
        "255.255.255.255",
        *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
        *(
            "fe80::1",
            "fe80::1%eth0",
            "fec0::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "100::1",
            "2001:db8::1",
            "3fff::1",
        ),
        *("2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "2001::1", "2001:10::1", "5f00::1"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
        *("2a00::5efe:127.0.0.1", "2a00::200:5efe:a00:1", "4000::1"),
    ],
)
def test_addresses_outside_the_public_internet_are_recognised(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::101:101", "::ffff:1.1.1.1"],
)
def test_public_addresses_are_let_through(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))
