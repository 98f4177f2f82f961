"""The structure of messages, as mailers write them and as nobody should."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.text.mime import (
    MAX_PARTS,
    decode_base64,
    decode_words,
    find_references,
    looks_like_message,
    read_addresses,
    read_date,
    read_message,
)
from outcrop.text.threads import find_threads

NESTED = b"""Subject: all
Content-Type: multipart/mixed; boundary="a b"

preamble
--a b
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1

caf\xe9
--inner
Content-Type: text/html

<p>caf&eacute;</p>
--inner--
--a b
Content-Type: application/pdf
Content-Transfer-Encoding: BASE64
Content-Disposition: attachment; filename*=utf-8''Pl%C3%A4ne%2F2024.pdf

JVBERi0x
--a b--
epilogue
"""


def test_parts_lie_where_they_are_said_to() -> None:
    message = read_message(NESTED)
    plain, html, pdf = message.parts
    assert NESTED[plain.start : plain.end] == b"caf\xe9"
    assert (plain.kind, plain.charset, html.kind) == ("text/plain", "iso-8859-1", "text/html")
    assert plain.group == html.group != 0
    assert (pdf.kind, pdf.encoding, pdf.name, pdf.attached) == ("application/pdf", "base64", "2024.pdf", True)
    assert decode_base64(NESTED[pdf.start : pdf.end]) == b"%PDF-1"


def test_an_empty_part_ends_where_it_begins() -> None:
    data = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n--x\n\n--x--\n\nafter"
    assert all(part.start <= part.end <= len(data) for part in read_message(data).parts)
    assert read_message(b"\n\nafter", 1, 1).parts[0].end == 1
    assert read_message(b"\n\nafter", 1, 1).parts[0].start == 1


def test_line_ends_of_the_network_change_nothing() -> None:
    crlf = NESTED.replace(b"\n", b"\r\n")
    here, there = read_message(NESTED).parts, read_message(crlf).parts
    assert [NESTED[part.start : part.end] for part in here] == [
        crlf[part.start : part.end].replace(b"\r\n", b"\n") for part in there
    ]


def test_a_message_that_was_cut_off_keeps_what_is_there() -> None:
    cut = read_message(NESTED[: NESTED.index(b"--inner--") - 6])
    assert [part.kind for part in cut.parts] == ["text/plain", "text/html"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("=?utf-8?q?caf=C3=A9_noir?=", "café noir"),
        ("=?utf-8?b?w6Q=?= =?utf-8?b?w7Y=?=", "äö"),
        ("=?utf-8?b?w6?= =?utf-8?b?pA==?=", "ä"),  # one character in two words
        ("Re: =?ISO-8859-1?Q?Gr=FC=DFe?= an alle", "Re: Grüße an alle"),
        ("=?x-unknown?q?caf=E9?=", "café"),
        ("=?utf-7?q?+2AA-?=", "+2AA-"),
        ("=?unicode-escape?q?=5Cud800?=", "\\ud800"),
        ("folded\r\n line", "folded line"),
        ("=?utf-8?q?half", "=?utf-8?q?half"),
    ],
)
def test_encoded_words_are_words(value: str, said: str) -> None:
    assert decode_words(value) == said


@pytest.mark.parametrize(
    ("value", "people"),
    [
        ("Ann Lee <ann@example.org>", [("Ann Lee", "ann@example.org")]),
        (
            '"Lee, Ann" <ann@example.org>, bob@example.org',
            [("Lee, Ann", "ann@example.org"), ("", "bob@example.org")],
        ),
        ("ann at example.org (Ann Lee)", [("Ann Lee", "ann@example.org")]),
        ("=?utf-8?q?J=C3=B6rg?= <j@example.org>", [("Jörg", "j@example.org")]),
        ("undisclosed-recipients:;", [("undisclosed-recipients:", "")]),
        ("", []),
    ],
)
def test_people_have_a_name_and_an_address(value: str, people: list[tuple[str, str]]) -> None:
    assert read_addresses(value) == people


def test_dates_are_in_utc_and_nonsense_is_none() -> None:
    assert read_date("Fri, 3 May 2024 14:12:01 +0200 (CEST)") == datetime(2024, 5, 3, 12, 12, 1, tzinfo=UTC)
    assert [
        read_date(value) for value in ("", "yesterday", "Fri, 99 May 2024 14:12:01", "1 Jan 99999 1:1:1")
    ] == [None] * 4


def test_a_message_is_told_by_its_first_header() -> None:
    assert looks_like_message(b"Received: from a\n")
    assert not looks_like_message(b"fn main() {\n")


def test_threads_follow_references_in_any_order() -> None:
    messages = [
        ("d", ("c",)),  # answers what comes later
        ("a", ()),
        ("c", ("a", "b")),  # b was never kept
        ("x", ()),
        ("y", ("lost",)),
        ("z", ("lost", "y")),
    ]
    assert find_threads(messages) == {"d": "a", "a": "a", "c": "a", "x": "x", "y": "lost", "z": "lost"}


def test_a_circle_is_one_thread_and_long_chains_take_no_recursion() -> None:
    assert len(set(find_threads([("a", ("b",)), ("b", ("c",)), ("c", ("a",))]).values())) == 1
    chain = [(str(number), (str(number - 1),)) for number in range(100_000, 0, -1)]
    assert set(find_threads(chain).values()) == {"0"}


@given(
    st.binary(max_size=400),
    st.sampled_from([NESTED, b"", b"Content-Type: multipart/digest; boundary=x\n\n--x\n"]),
)
def test_any_bytes_have_a_structure_within_them(noise: bytes, before: bytes) -> None:
    data = before[: len(before) // 2] + noise + before[len(before) // 2 :]
    message = read_message(data)
    assert all(0 <= part.start <= part.end <= len(data) for part in message.parts)
    find_references(message.headers)
    for value in message.headers.values():
        decode_words(value)
        read_addresses(value)
        read_date(value)


def hostile() -> dict[str, bytes]:
    nested = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000))
    return {
        "nested": nested,
        "parts": b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\nhi\n" * 200_000,
        "headers": b"".join(b"X-%d: y\n" % n for n in range(100_000)),
        "folds": b"Subject: a" + b"\n " * 1_000_000,
        "words": b"Subject: " + b"=?a?q?" * 300_000,
        "addresses": b"From: " + b'<"(' * 300_000,
        "parameters": b"Content-Type: text/plain" + b'; a="' * 300_000,
        "boundary": b"Content-Type: multipart/mixed; boundary=" + b"-" * 200 + b"\n\n" + b"-" * 2_000_000,
        "dashes": b"Content-Type: multipart/mixed; boundary=x\n\n" + b"\n--x " * 500_000,
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_messages_take_linear_time_and_bounded_parts(name: str) -> None:
    data = hostile()[name]
    before = time.process_time()
    message = read_message(data)
    for value in message.headers.values():
        decode_words(value)
        read_addresses(value)
    assert time.process_time() - before < 4
    assert len(message.parts) <= MAX_PARTS
