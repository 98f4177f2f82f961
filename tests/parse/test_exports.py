"""Conversations, issues, notes, calendars and address books, as services write them and as nobody should."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outcrop.parse.entry import parse
from outcrop.parse.exports import chat, issue, note
from outcrop.parse.limits import ParseLimits, RawFile
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)

SLACK = [
    {
        "type": "message",
        "user": "U1",
        "ts": "1772442000.000100",
        "text": "Is <@U2> here? See <https://example.org/x|the page> &amp; <#C1|general>",
        "user_profile": {"real_name": "Ann Lee"},
        "thread_ts": "1772442000.000100",
    },
    {"type": "message", "subtype": "channel_join", "user": "U3", "ts": "1772442001.0", "text": "joined"},
    {
        "type": "message",
        "user": "U2",
        "ts": "1772442060.0",
        "text": "Five attempts.",
        "user_profile": {"real_name": "Bob Ray"},
        "thread_ts": "1772442000.000100",
        "files": [{"name": "plan.pdf"}],
    },
]
GOOGLE = {
    "messages": [
        {
            "creator": {"name": "Ann Lee", "email": "ann@example.org"},
            "created_date": "Tuesday, March 3, 2026 at 2:12:03\u202fPM UTC",
            "text": "Ship it on Monday.",
        }
    ]
}
POST = {
    "type": "post",
    "post": {
        "team": "core",
        "channel": "gateway",
        "user": "ann",
        "message": "Who restarts it?",
        "create_at": 1772442000000,
        "replies": [{"user": "bob", "message": "I do.", "create_at": 1772442060000}],
    },
}
GITHUB = {
    "number": 12,
    "title": "First requests fail",
    "body": "After a deploy.",
    "state": "OPEN",
    "user": {"login": "ann"},
    "created_at": "2026-03-02T09:00:00Z",
    "updated_at": "2026-03-03T09:00:00Z",
    "labels": [{"name": "bug"}, "gateway"],
    "assignees": [{"login": "bob"}],
    "html_url": "https://example.org/12",
    "comments": [{"author": {"login": "bob"}, "createdAt": "2026-03-02T10:00:00Z", "body": "Make it five."}],
}
JIRA = {
    "key": "OPS-7",
    "fields": {
        "summary": "Rotate the keys",
        "description": {
            "type": "doc",
            "content": [
                {
                    "type": "paragraph",
                    "content": [{"type": "text", "text": "Each "}, {"type": "text", "text": "month."}],
                },
                {"type": "paragraph", "content": [{"type": "text", "text": "By hand."}]},
            ],
        },
        "reporter": {"displayName": "Ann Lee"},
        "created": "2026-03-02T09:00:00.000+0100",
        "status": {"name": "Done"},
        "labels": ["security"],
        "comment": {
            "comments": [{"author": {"displayName": "Bob"}, "created": "2026-03-02T10:00:00Z", "body": "Done."}]
        },
    },
}
KEEP = {
    "color": "DEFAULT",
    "isTrashed": False,
    "isPinned": True,
    "isArchived": True,
    "title": "Shopping",
    "textContent": "For Sunday",
    "listContent": [{"text": "flour", "isChecked": True}, {"text": "milk", "isChecked": False}],
    "labels": [{"name": "home"}],
    "userEditedTimestampUsec": 1772442000000000,
}
ICS = """BEGIN:VCALENDAR\r
X-WR-CALNAME:Team\r
BEGIN:VEVENT\r
DTSTART;TZID=Europe/Berlin:20260302T090000\r
DTEND:20260302T100000Z\r
SUMMARY:Planning\\, part one\r
LOCATION:Room 4\r
ATTENDEE;CN="Ann: Lee":mailto:ann@example.org\r
DESCRIPTION:Bring the\r
  numbers.\\nAll of them.\r
BEGIN:VALARM\r
DESCRIPTION:Reminder\r
END:VALARM\r
END:VEVENT\r
BEGIN:VTODO\r
SUMMARY:Pay\r
DUE;VALUE=DATE:20260401\r
END:VTODO\r
END:VCALENDAR\r
"""
VCF = """BEGIN:VCARD
VERSION:3.0
N:Lee;Ann;;;
FN:Ann Lee
ORG:Example Ltd;Gateway
item1.EMAIL;TYPE=INTERNET:ann@example.org
TEL;TYPE=CELL:+49 30 1234
ADR;TYPE=HOME:;;Sample Street 1;Berlin;;10115;Germany
NOTE;ENCODING=QUOTED-PRINTABLE:met in M=C3=BCn=
chen
END:VCARD
"""


def read(value: object, path: str, media_type: str | None = None) -> Document:
    data = value if isinstance(value, str) else json.dumps(value)
    return parse(data.encode(), path=path, media_type=media_type, limits=LIMITS)


def test_a_day_of_a_slack_channel_is_its_messages() -> None:
    document = read(SLACK, "export/gateway/2026-03-02.json")
    assert document.kind == "chat"
    assert document.title == "#gateway 2026-03-02"
    assert document.text == (
        "Ann Lee, 2026-03-02 09:00\nIs @Bob Ray here? See the page (https://example.org/x) & #general\n\n"
        "Bob Ray, 2026-03-02 09:01, in reply\nFive attempts.\n\nFiles: plan.pdf"
    )
    assert document.meta == {
        "service": "Slack",
        "channel": "#gateway",
        "from": "Ann Lee",
        "people": ("Ann Lee", "Bob Ray"),
        "started": datetime(2026, 3, 2, 9, 0, 0, 100, tzinfo=UTC),
        "date": datetime(2026, 3, 2, 9, 1, tzinfo=UTC),
        "messages": 2,
    }


def test_a_space_of_google_chat_and_a_post_of_mattermost() -> None:
    document = read(GOOGLE, "Google Chat/Groups/Space 1/messages.json")
    assert (document.kind, document.text) == ("chat", "Ann Lee, 2026-03-03 14:12\nShip it on Monday.")
    assert document.meta["channel"] == "Space 1"
    post = read(POST, "a.jsonl/gateway/x", "application/x-chat+json")
    assert post.text == "ann, 2026-03-02 09:00\nWho restarts it?\n\nbob, 2026-03-02 09:01, in reply\nI do."
    assert (post.title, post.meta["channel"]) == ("Who restarts it?", "gateway")


def test_issues_have_comments_labels_and_state() -> None:
    document = read(GITHUB, "issues.json/#12", "application/x-issue+json")
    assert document.title == "#12 First requests fail"
    assert document.text == (
        "#12 First requests fail\n\nann, 2026-03-02 09:00\nAfter a deploy.\n\nbob, 2026-03-02 10:00\nMake it five."
    )
    assert document.tags == ("bug", "gateway")
    assert (document.meta["state"], document.meta["number"], document.meta["assignee"]) == (
        "open",
        12,
        ("bob",),
    )
    jira = read(JIRA, "jira.json/OPS-7", "application/x-issue+json")
    assert jira.text == (
        "OPS-7 Rotate the keys\n\nAnn Lee, 2026-03-02 08:00\nEach month.\nBy hand.\n\nBob, 2026-03-02 10:00\nDone."
    )
    assert (jira.meta["state"], jira.tags) == ("done", ("security",))


def test_a_note_of_keep_is_its_words_and_its_list() -> None:
    document = read(KEEP, "Keep/Shopping.json")
    assert (document.kind, document.title, document.tags) == ("note", "Shopping", ("home",))
    assert document.text == "# Shopping\n\nFor Sunday\n\n- [x] flour\n- [ ] milk"
    assert document.meta["archived"] is True
    assert "trashed" not in document.meta


def test_a_calendar_is_its_events_and_tasks() -> None:
    document = read(ICS, "team.ics")
    assert (document.kind, document.title) == ("calendar", "Team")
    assert document.text == (
        "## Planning, part one, 2026-03-02 09:00\n\nWhen: 2026-03-02 09:00 to 2026-03-02 10:00\nWhere: Room 4\n"
        "With: Ann: Lee <ann@example.org>\n\nBring the numbers.\nAll of them.\n\n"
        "## Pay, 2026-04-01\n\nWhen: 2026-04-01\n"
        "Due: 2026-04-01"
    )
    assert document.meta == {"first": date(2026, 3, 2), "last": date(2026, 4, 1)}


def test_an_address_book_is_its_people() -> None:
    document = read(VCF, "ann.vcf")
    assert (document.kind, document.title) == ("contacts", "Ann Lee")
    assert document.text == (
        "## Ann Lee\n\nOrganisation: Example Ltd, Gateway\nEmail: ann@example.org\nTelephone: +49 30 1234\n"
        "Address: Sample Street 1, Berlin, 10115, Germany\n\nmet in München"
    )


def test_data_that_only_looks_like_an_export_is_data() -> None:
    fields = [{"type": "message", "no": 1}, {"ts": 2, "text": 3, "type": "x", "message": 1}]
    assert read(fields, "a.json").kind == "json"


values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type message ts text user files messages creator created_date post replies number title body "
                "fields summary comments labels isTrashed listContent create_at key description".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(values, st.sampled_from([*SLACK, GOOGLE, POST, GITHUB, JIRA, KEEP]), st.data())
@pytest.mark.parametrize("reader", [chat, issue, note], ids=["chat", "issue", "note"])
def test_whatever_stands_in_a_field_it_can_be_read(
    reader: object, value: object, whole: object, data: st.DataObject
) -> None:
    assert isinstance(whole, dict)
    changed = {**whole, data.draw(st.sampled_from(sorted(whole))): value}
    for content in (changed, [changed], value):
        raw = RawFile(json.dumps(content).encode(), "a/b.json", None, 1_000_000)
        document = reader.read(raw)  # type: ignore[attr-defined]
        assert document.title or not document.text


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=WEEKLY;BYDAY=FR", "every week on Friday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;WKST=MO", "every 2 weeks on Monday, Wednesday"),
        ("FREQ=MONTHLY;BYDAY=-1FR;COUNT=6", "every month on the last Friday, 6 times"),
        ("FREQ=MONTHLY;BYDAY=2TU", "every month on the 2. Tuesday"),
        ("FREQ=YEARLY;UNTIL=20301231T000000Z", "every year, until 2030-12-31 00:00"),
        ("FREQ=MONTHLY;BYMONTHDAY=15", "FREQ=MONTHLY;BYMONTHDAY=15"),
        ("RUBBISH", "RUBBISH"),
    ],
)
def test_when_an_event_repeats_is_said_in_words(rule: str, said: str) -> None:
    event = f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Review\nRRULE:{rule}\nEND:VEVENT\nEND:VCALENDAR\n"
    found = parse(event.encode(), path="a.ics", media_type=None, limits=LIMITS)
    assert f"Repeats: {said}" in found.text
