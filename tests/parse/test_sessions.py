"""Sessions of coding agents, with records as each of them writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from outcrop.parse.entry import parse
from outcrop.parse.limits import ParseLimits
from outcrop.records import Document

LIMITS = ParseLimits(timeout_s=30, memory_bytes=1024**3)


def read(data: str | bytes, path: str = "session.jsonl", limits: ParseLimits = LIMITS) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    return parse(raw, path=path, media_type=None, limits=limits)


def lines(*records: object) -> str:
    return "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records)


def claude(kind: str, content: object, at: str, **fields: Any) -> dict[str, Any]:
    """A record as Claude Code writes it."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ann/courier",
        "sessionId": "5f0c",
        "version": "2.0.14",
        "gitBranch": "retries",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u-{at}",
        "timestamp": f"2026-03-02T{at}.120Z",
        **fields,
    }


def tool(name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}


def result(content: object, *, is_error: bool = False) -> list[dict[str, object]]:
    return [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": is_error}]


CLAUDE = lines(
    {"type": "file-history-snapshot", "messageId": "m1", "snapshot": {}, "isSnapshotUpdate": False},
    claude("user", "Why do the first calls after a deploy fail?", "10:00:00"),
    claude("assistant", [{"type": "thinking", "thinking": "Let me see.", "signature": "x"}], "10:00:04"),
    claude("assistant", [{"type": "text", "text": "I will look at the retry policy."}], "10:00:05"),
    claude("assistant", [tool("Read", file_path="/home/ann/courier/src/retry.py")], "10:00:06"),
    claude("user", result("1\tclass RetryPolicy:\n2\t    attempts = 3\n" * 500), "10:00:07"),
    claude("assistant", [tool("Bash", command="pytest -q tests/test_retry.py")], "10:00:08"),
    claude("user", result("Error: no module named courier\n  at line 3", is_error=True), "10:00:09"),
    claude(
        "assistant",
        [{"type": "text", "text": "The gateway drops them: three attempts do not last."}],
        "10:01:00",
    ),
    claude(
        "user",
        [{"type": "text", "text": "<system-reminder>Todos are empty.</system-reminder>Then make it five."}],
        "10:02:00",
    ),
    claude("user", "<local-command-stdout>ok</local-command-stdout>", "10:02:01"),
    claude("user", "An agent is told this.", "10:02:02", isSidechain=True),
    claude("assistant", [{"type": "text", "text": "Five attempts now."}], "10:03:00"),
)


def test_a_claude_session_is_turns_with_speaker_time_commands_and_files() -> None:
    document = read(CLAUDE)
    assert document.kind == "session"
    assert document.title == "Why do the first calls after a deploy fail?"
    assert document.text == (
        "User, 2026-03-02 10:00\nWhy do the first calls after a deploy fail?\n\n"
        "Claude, 2026-03-02 10:00\nI will look at the retry policy.\n\n"
        "Ran: pytest -q tests/test_retry.py\nFailed: Error: no module named courier\nFiles: src/retry.py\n\n"
        "Claude, 2026-03-02 10:01\nThe gateway drops them: three attempts do not last.\n\n"
        "User, 2026-03-02 10:02\nThen make it five.\n\n"
        "Claude, 2026-03-02 10:03\nFive attempts now."
    )
    assert all(document.text.startswith(heading.title, heading.start) for heading in document.headings)
    assert len(document.headings) == 5
    assert document.remark == ""
    assert document.meta == {
        "agent": "Claude",
        "session": "5f0c",
        "folder": "/home/ann/courier",
        "branch": "retries",
        "started": "2026-03-02T10:00:00.120000+00:00",
        "date": "2026-03-02T10:03:00.120000+00:00",
        "files": "src/retry.py",
    }


def test_a_summary_is_the_title_and_a_slash_command_is_what_was_typed() -> None:
    command = (
        "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
        "<command-args>main</command-args>"
    )
    document = read(
        lines(
            {"type": "summary", "summary": "Of another session", "leafUuid": "u-09:00:00"},
            {"type": "summary", "summary": "Retries after a deploy", "leafUuid": "u-10:00:00"},
            claude("user", command, "10:00:00"),
            {"type": "summary", "summary": "Of a later session", "leafUuid": "u-11:00:00"},
        )
    )
    assert document.title == "Retries after a deploy"
    assert document.text == "User, 2026-03-02 10:00\n/review main"


def test_the_title_a_person_gave_last_comes_before_those_of_the_program() -> None:
    given = (
        {"type": "summary", "summary": "Summed up", "leafUuid": "u-10:00:00"},
        {"type": "ai-title", "aiTitle": "Made up", "sessionId": "5f0c"},
        {"type": "ai-title", "aiTitle": "Made up again", "sessionId": "5f0c"},
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "5f0c"},
        {"type": "custom-title", "customTitle": "Mine, better", "sessionId": "5f0c"},
    )
    assert read(CLAUDE + lines(*given[:3])).title == "Made up again"
    assert read(CLAUDE + lines(*given)).title == "Mine, better"


def test_a_file_of_a_subagent_is_a_session_that_begins_with_a_task() -> None:
    aside = {"isSidechain": True, "agentId": "a881341"}
    document = read(
        lines(
            claude("user", "How do hooks add context?", "10:00:00", **aside),
            claude("assistant", [{"type": "text", "text": "By additionalContext."}], "10:00:30", **aside),
        )
    )
    assert document.text == (
        "Task, 2026-03-02 10:00\nHow do hooks add context?\n\nClaude, 2026-03-02 10:00\nBy additionalContext."
    )
    assert document.meta["session"] == "5f0c"  # that of the session which gave the task


def test_what_was_said_before_is_not_read_again_from_the_copy_a_program_makes_of_it() -> None:
    copies = (
        claude("user", "This session continues an earlier one.", "10:04:00", isCompactSummary=True),
        claude("user", "Caveat: The messages below were generated by the user", "10:04:01", isMeta=True),
    )
    assert read(CLAUDE + lines(*copies)).text == read(CLAUDE).text
    made = claude("user", "Summarise.", "10:04:02", isSidechain=True, agentId="acompact-e1f845")
    assert read(lines(made)).text == ""


def codex(kind: str, at: str, **payload: object) -> dict[str, object]:
    return {"timestamp": f"2026-03-02T{at}Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, object]:
    kind = "input_text" if role == "user" else "output_text"
    return {"role": role, "content": [{"type": kind, "text": text}]}


CODEX = lines(
    codex(
        "session_meta", "10:00:00", id="c1", cwd="/srv/app", originator="codex_cli_rs", git={"branch": "main"}
    ),
    codex(
        "response_item",
        "10:00:00",
        type="message",
        **said("user", "<environment_context>\n<cwd>/srv/app</cwd>"),
    ),
    codex("response_item", "10:00:01", type="message", **said("user", "Why is the cache cold?")),
    codex("event_msg", "10:00:01", type="user_message", message="Why is the cache cold?"),
    codex("response_item", "10:00:02", type="reasoning", summary=[], encrypted_content="gAAA"),
    codex(
        "response_item",
        "10:00:03",
        type="function_call",
        name="shell",
        arguments=json.dumps({"command": ["bash", "-lc", "rg -n cache src"], "workdir": "/srv/app"}),
        call_id="k",
    ),
    codex("response_item", "10:00:04", type="function_call_output", call_id="k", output="src/cache.py:1:…"),
    codex(
        "response_item",
        "10:00:05",
        type="custom_tool_call",
        name="apply_patch",
        input="*** Begin Patch\n*** Update File: src/cache.py\n@@\n-a\n+b\n*** End Patch",
    ),
    codex("response_item", "10:00:06", type="message", **said("assistant", "It was emptied at each start.")),
    codex("turn_context", "10:00:07", model="gpt"),
)


def test_a_codex_session_says_each_thing_once() -> None:
    document = read(CODEX, "rollout.jsonl")
    assert document.text == (
        "User, 2026-03-02 10:00\nWhy is the cache cold?\n\n"
        "Codex, 2026-03-02 10:00\nIt was emptied at each start.\n\nRan: rg -n cache src\nFiles: src/cache.py"
    )
    assert (document.meta["branch"], document.meta["folder"]) == ("main", "/srv/app")
    assert document.remark == ""


def gemini(id_: str, kind: str, content: object, **fields: object) -> dict[str, object]:
    return {"id": id_, "timestamp": "2026-03-02T10:00:00Z", "type": kind, "content": content, **fields}


GEMINI_HEAD = {"sessionId": "g1", "projectHash": "ab", "startTime": "2026-03-02T10:00:00Z", "lastUpdated": "x"}
CALL = {
    "name": "replace",
    "args": {"file_path": "/srv/app/a.py"},
    "status": "error",
    "resultDisplay": "0 occurrences",
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_gemini_session_is_one_json_text(indent: int | None) -> None:
    messages = [
        gemini("1", "user", "Rename it."),
        gemini("2", "gemini", "Done.", toolCalls=[CALL], thoughts=[]),
    ]
    document = read(json.dumps({**GEMINI_HEAD, "messages": messages}, indent=indent), "session-1.json")
    assert document.text == (
        "User, 2026-03-02 10:00\nRename it.\n\n"
        "Gemini, 2026-03-02 10:00\nDone.\n\nFailed: 0 occurrences\nFiles: /srv/app/a.py"
    )


def test_of_a_gemini_message_what_was_typed_counts_and_not_the_files_that_were_put_into_it() -> None:
    put = gemini(
        "1", "user", [{"text": "Read @a.py"}, {"text": "--- Content of a.py ---"}], displayContent="Read @a.py"
    )
    named = {"$set": {"summary": "Reads a file"}}
    document = read(lines({**GEMINI_HEAD, "kind": "subagent"}, put, named))
    assert document.text == "Task, 2026-03-02 10:00\nRead @a.py"
    assert document.title == "Reads a file"


def test_a_gemini_session_of_lines_is_read_as_it_stands_at_its_end() -> None:
    document = read(
        lines(
            GEMINI_HEAD,
            gemini("1", "user", "Rename it."),
            gemini("2", "gemini", "Ren"),
            gemini("2", "gemini", "Renamed."),
            gemini("3", "user", "No, the other one."),
            gemini("4", "gemini", "Sorry."),
            {"$rewindTo": "3"},
            gemini("5", "user", "Thank you."),
            {"$set": {"lastUpdated": "2026-03-02T11:00:00Z"}},
        )
    )
    said = [line for line in document.text.splitlines() if line and ", 2026" not in line]
    assert said == ["Rename it.", "Renamed.", "Thank you."]
    assert document.meta["session"] == "g1"


# ------------------------------------------------------------------ what is damaged, unknown or hostile


@pytest.mark.parametrize(
    "whole", [CLAUDE, CODEX, json.dumps({**GEMINI_HEAD, "messages": [gemini("1", "user", "Rename it.")] * 30})]
)
def test_a_session_cut_off_anywhere_is_read_as_far_as_it_goes(whole: str) -> None:
    """A file is read while its agent writes it, or after a crash."""
    data = whole.encode()
    complete = read(data).text
    for end in range(0, len(data), max(len(data) // 40, 1)):
        document = read(data[:end])
        if document.kind == "session":
            said = document.text.rpartition("\n\n")[0]  # of the last turn a part may be missing
            assert complete.startswith(said), end
            assert document.remark in ("", "1 line damaged left out")


def test_bad_lines_are_counted_and_the_rest_is_read() -> None:
    nested = '{"type":"user","message":' + "[" * 100_000
    bad = ("{broken", nested, "[1, 2]", {"type": "from-the-future", "sessionId": "5f0c"}, "1" * 5000)
    document = read(CLAUDE + lines(*bad) + CLAUDE[:40])
    assert document.text == read(CLAUDE).text
    assert document.remark == "4 lines damaged and 2 lines of unknown kind left out"


@pytest.mark.parametrize(
    "content",
    [
        None,
        7,
        {"type": "text"},
        [None, 3, [[[[[["deep"]]]]]]],
        [{"type": "tool_use", "name": ["x"], "input": {"command": {"a": 1}, "path": 3}}],
        [{"type": "tool_use", "input": "{"}],
        [{"type": "tool_result", "is_error": True, "content": [{"type": "image"}]}],
    ],
)
def test_a_message_of_any_shape_is_read(content: object) -> None:
    odd = [claude(kind, content, "11:00:00", timestamp=["x"], cwd=3) for kind in ("user", "assistant")]
    assert "Five attempts now." in read(CLAUDE + lines(*odd)).text


def test_gemini_records_of_any_shape_are_read() -> None:
    odd = [{"$set": 3}, {"$set": {"messages": [3, {"id": []}]}}, {"$rewindTo": []}, {"$rewindTo": "no"}, [], 4]
    calls = gemini("9", "gemini", "Yes.", toolCalls=[3, {"args": [], "error": {}}])
    assert "Yes." in read(lines(GEMINI_HEAD, *odd, calls)).text


def test_a_giant_line_is_cut_by_the_limit_of_text() -> None:
    giant = lines(claude("user", "word " * 400_000, "10:00:00"))
    small = ParseLimits(timeout_s=30, memory_bytes=1024**3, max_text_chars=1_000_000)
    with pytest.raises(Exception, match="more than 1,000,000 characters"):
        read(giant, limits=small)
    output = lines(claude("user", result("x" * 8_000_000), "10:00:00"))
    assert read(CLAUDE + output, limits=small).text == read(CLAUDE).text


def test_what_only_has_such_fields_is_read_as_the_data_it_is() -> None:
    text = '{"parentUuid": 1, "sessionId": 2, "message": "no session"}\n'
    document = read(text, "events.jsonl")
    assert (document.kind, document.text) == ("json", text)
    whole = '{\n  "fields": ["parentUuid", "sessionId", "message"]\n}\n'
    assert read(whole, "schema.json").text == whole
    assert read('{"a": 1}\n', "plain.jsonl").kind == "json"
