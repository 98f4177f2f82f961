"""Messages as documents: own words, who and when, and what is cut."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from outcrop.errors import ParseError
from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.parse.mail.quotes import cut_quotes
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)

PLAIN = """Received: from mail.example.org
From: =?utf-8?q?J=C3=B6rg_M=C3=BCller?= <joerg@example.org>
To: Ann Lee <ann@example.org>, dev@lists.example.org
Cc: "Ray, Bob" <bob@example.org>
Date: Fri, 3 May 2024 14:12:01 +0200
Subject: Re: retries
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
References: <0@example.org>
 <1@example.org>
List-Id: Developers <dev.lists.example.org>
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Five attempts are enough for the gateway=2E

On Thu, 2 May 2024 at 09:00, Ann Lee
<ann@example.org> wrote:
> Is it three attempts?
>> Yes, three.

It drains in four seconds.

--=20
J=C3=B6rg
Example Ltd
_______________________________________________
dev mailing list
https://lists.example.org/listinfo/dev
"""


def read(data: str | bytes, path: str = "mail/a.eml") -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return parse(raw, path=path, media_type=None, limits=LIMITS)


def test_a_message_is_its_own_words_with_who_and_when() -> None:
    document = read(PLAIN)
    assert document.kind == "mail"
    assert document.title == "Re: retries"
    assert document.text == (
        "Jörg Müller, 2024-05-03 12:12\nTo: Ann Lee, dev@lists.example.org\n\n"
        "Five attempts are enough for the gateway.\n\n[…]\nIt drains in four seconds."
    )
    assert [heading.title for heading in document.headings] == ["Jörg Müller, 2024-05-03 12:12"]
    assert document.meta == {
        "from": "Jörg Müller <joerg@example.org>",
        "to": ("Ann Lee <ann@example.org>", "dev@lists.example.org"),
        "cc": ("Ray, Bob <bob@example.org>",),
        "subject": "Re: retries",
        "date": datetime(2024, 5, 3, 12, 12, 1, tzinfo=UTC),
        "message_id": "2@example.org",
        "in_reply_to": "1@example.org",
        "thread": "0@example.org",
        "list": "Developers <dev.lists.example.org>",
        "signature": "Jörg\nExample Ltd",
    }


def test_html_is_read_where_no_plain_text_stands_beside_it_and_its_quotes_are_cut() -> None:
    document = read(
        "From: ann@example.org\nDate: Fri, 3 May 2024 14:12:01 +0000\nContent-Type: text/html\n\n"
        "<html><head><style>p{}</style></head><body><p>Ship it on <b>Monday</b>.</p>"
        '<div class="gmail_quote">On Thu wrote:<blockquote>When?</blockquote></div></body></html>'
    )
    assert document.text == "ann@example.org, 2024-05-03 14:12\n\nShip it on Monday."
    assert document.title == "(no subject)"


def test_of_alternatives_the_plain_one_counts_and_attachments_are_named() -> None:
    document = read(
        "From: a@example.org\nSubject: both\nContent-Type: multipart/mixed; boundary=m\n\n--m\n"
        "Content-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/plain\n\nplain words\n"
        "--a\nContent-Type: text/html\n\n<p>rich words</p>\n--a--\n--m\n"
        'Content-Type: text/plain; name="todo.txt"\nContent-Disposition: attachment\n\ndo it\n--m--\n'
    )
    assert document.text == "a@example.org\n\nplain words\n\nAttachments: todo.txt"
    assert document.meta["attachments"] == ("todo.txt",)


def test_a_file_of_a_maildir_is_a_message_and_source_code_there_is_not() -> None:
    assert read(PLAIN, "Mail/.dev/cur/1714.M1P2.host:2,RS").kind == "mail"
    assert read("package main\n", "src/new/main.go").kind == "code"


def test_what_says_nothing_at_all_is_an_error() -> None:
    with pytest.raises(ParseError, match="nothing in it can be found"):
        read("X-Nothing: y\n\n\n")


OWN = "Monday is fine with me, I will bring the slides."
QUOTE = "> When shall we meet?\n> I can on Monday."
UNDER = "When shall we meet?\nI can on Monday.\n"
ATTRIBUTIONS = (
    "On Thu, May 2, 2024 at 9:00 AM Ann Lee <ann@example.org> wrote:",
    "On 2 May 2024, at 09:00, Ann Lee <ann@example.org> wrote:",
    "Ann Lee <ann@example.org> writes:",
    "Am 02.05.2024 um 09:00 schrieb Ann Lee:",
    "Am Do., 2. Mai 2024 um 09:00 Uhr schrieb Ann Lee <ann@example.org>:",
    "Le jeu. 2 mai 2024 à 09:00, Ann Lee <ann@example.org> a écrit :",
    "El jue, 2 may 2024 a las 9:00, Ann Lee (<ann@example.org>) escribió:",
    "Il giorno gio 2 mag 2024 alle ore 09:00 Ann Lee <ann@example.org> ha scritto:",
    "Em qui., 2 de mai. de 2024 às 09:00, Ann Lee <ann@example.org> escreveu:",
    "Op do 2 mei 2024 om 09:00 schreef Ann Lee <ann@example.org>:",
    "Den tors 2 maj 2024 kl 09:00 skrev Ann Lee <ann@example.org>:",
    "to 2. toukok. 2024 klo 9.00 Ann Lee (ann@example.org) kirjoitti:",
    "czw., 2 maj 2024 o 09:00 Ann Lee <ann@example.org> napisał(a):",
    "чт, 2 мая 2024 г. в 09:00, Ann Lee <ann@example.org>:",
    "Ann Lee <ann@example.org>, 2 May 2024 Per, 09:00 tarihinde şunu yazdı:",
    "2024年5月2日(木) 9:00 Ann Lee <ann@example.org>:",
    "Ann Lee <ann@example.org> 于2024年5月2日周四 09:00写道：",
)


@pytest.mark.parametrize("line", ATTRIBUTIONS)
@pytest.mark.parametrize("first", [True, False])
def test_a_quote_goes_with_the_line_that_says_whose_it_is(line: str, first: bool) -> None:
    text = f"{line}\n\n{QUOTE}\n\n{OWN}" if first else f"{OWN}\n\n{line}\n{QUOTE}\n"
    assert cut_quotes(text).text == OWN


@pytest.mark.parametrize(
    "above",
    [
        "-----Original Message-----\nFrom: Ann Lee\nSent: Thursday\nTo: Bob\nSubject: meeting\n",
        "-----Ursprüngliche Nachricht-----\nVon: Ann Lee\nGesendet: Donnerstag\nAn: Bob\nBetreff: Treffen\n",
        "________________________________\nFrom: Ann Lee <ann@example.org>\nSent: Thursday\nTo: Bob\n",
        "De : Ann Lee\nEnvoyé : jeudi 2 mai\nÀ : Bob\nObjet : réunion\n",
        "*Von:* Ann Lee\n*Gesendet:* Donnerstag\n*An:* Bob\n*Betreff:* Treffen\n",
        "On Thu, May 2, 2024 at 9:00 AM, Ann Lee <ann@example.org> wrote:\n",
    ],
)
def test_an_answer_above_the_whole_message_ends_there(above: str) -> None:
    assert cut_quotes(f"{OWN}\n\n{above}\n{UNDER}", "Re: meeting").text == OWN


def test_what_is_forwarded_stays() -> None:
    text = f"For you.\n\n---------- Forwarded message ----------\nFrom: Ann Lee\nDate: Thu\nTo: Bob\n\n{UNDER}"
    assert "When shall we meet?" in cut_quotes(text, "a word").text
    outlook = f"For you.\n\n-----Original Message-----\nFrom: Ann\nSent: Thu\nTo: Bob\n\n{UNDER}"
    assert "When shall we meet?" in cut_quotes(outlook, "WG: meeting").text


def test_what_only_looks_like_a_quote_stays() -> None:
    for text in (
        "From: the gateway's point of view\nthere is nothing to do.",
        "Here is what he wrote:\n\nfour words of it",
        "Read on:\n\n1. one\n2. two",
        ">From here on it is ours",
        "a -- b\n--\nc -- d" + "\nmore" * 40,
    ):
        assert cut_quotes(text).text == text.replace(">From", "From")


def test_a_message_that_is_a_quote_only_is_left_as_it_is() -> None:
    assert cut_quotes(QUOTE).text == QUOTE


def test_answers_between_the_lines_keep_their_order() -> None:
    text = "> one?\nyes\n\n> two?\n> really?\nno"
    assert cut_quotes(text).text == "yes\n\n[…]\nno"


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        (f"{OWN}\n\n-- \nAnn Lee\n+49 30 1234", "Ann Lee\n+49 30 1234"),
        (f"{OWN}\n--\nAnn", "Ann"),
        (f"{OWN}\n\nSent from my iPhone", ""),
        (f"{OWN}\n\nVon meinem iPhone gesendet", ""),
        (f"{OWN}\n\n-- \nAnn\n\nOn Thu, May 2, 2024, Ann <a@example.org> wrote:\n{QUOTE}", "Ann"),
    ],
)
def test_signatures_are_recognised(text: str, signature: str) -> None:
    written = cut_quotes(text)
    assert (written.text, written.signature) == (OWN, signature)


@pytest.mark.parametrize(
    "text",
    [
        ">" * 2_000_000,
        "> a\nb\n" * 300_000,
        "On 1 2024 12:12\n" * 300_000,
        "From: x\n" * 300_000,
        "wrote:\n" * 300_000,
        "-- \n" * 500_000,
        "a" * 3_000_000 + " wrote:\n> b",
    ],
    ids=["marks", "turns", "attributions", "headers", "verbs", "signatures", "line"],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    before = time.process_time()
    cut_quotes(text)
    assert time.process_time() - before < 6
