"""search and context: what people see and what programs read."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.serve.cli.runner import Outcrop

from outcrop.engine import open_engine
from outcrop.errors import EmbedError
from outcrop.serve.cli.passage import link_to
from outcrop.serve.cli.render import print_answer
from outcrop.serve.cli.session import Screen
from outcrop.serve.excerpt import Marker, best_lines, cut_line
from outcrop.serve.terminal import clean


def test_a_search_shows_where_the_passage_is_and_why(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kb.notes)
    result = kb("search", "how", "long", "between", "attempts", "-n", "1")
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert first.startswith("1. retries.md:")
    assert "Backoff" in first
    assert "doubles each time" in result.stdout
    assert "1 hit in" in result.stdout


def test_an_answer_that_is_probably_not_here_says_so(kb: Outcrop) -> None:
    assert "probably not here" in kb("search", "who directed the long film about three brothers").stdout
    assert "probably not here" not in kb("search", "how long between attempts").stdout


def test_damaged_search_arrays_are_rebuilt_and_the_person_is_told_so(kb: Outcrop) -> None:
    expected = kb.json("search", "rollback release")["hits"]
    with open_engine(kb.db) as engine:
        engine.parts.index.renew()  # so small an index saves no arrays by itself
    for segment in kb.db.with_name("index.db.arrays").glob("segment-*"):
        content = bytearray(segment.read_bytes())
        content[len(content) // 3 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 3)
        segment.unlink()
        segment.write_bytes(content)
    result = kb("search", "rollback release", "--json")
    assert "search arrays were damaged; rebuilt" in result.stderr
    assert json.loads(result.stdout)["hits"] == expected
    assert "damaged" not in kb("search", "rollback release").stderr


def test_json_of_a_search_is_one_document_with_every_field(kb: Outcrop) -> None:
    answer = kb.json("search", "rollback release")
    hit = answer["hits"][0]
    assert hit["document"]["path"] == "deploy/rollback.md"
    assert hit["why"]["matched_terms"]
    assert answer["timings_ms"]["total"] > 0


class Backwards:
    """Prefers what the first stage put last."""

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        assert seconds <= 60
        return [float(i) for i in range(len(texts))]


def test_a_search_and_a_context_may_be_reranked(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outcrop.read.parts.open_reranker", lambda name: Backwards())
    words = ("search", "release", "budget", "delay", "--floor", "0")
    plain = kb.json(*words)
    assert plain["reranked"] == 0
    for options in (("--rerank",), ("--rerank-seconds", "3"), ("--rerank", "--rerank-seconds", "0.25")):
        again = kb.json(*words, *options)
        assert again["reranked"] > 1
        assert [hit["chunk_ids"] for hit in again["hits"]] != [hit["chunk_ids"] for hit in plain["hits"]]
    assert "candidates reranked; ms:" in kb(*words, "--rerank", "--explain").stdout
    assert kb("context", "release", "budget", "--rerank").exit_code == 0
    assert kb("context", "release", "budget", "--code", "--rerank-seconds", "2").exit_code == 0
    assert kb(*words, "--rerank-seconds", "0").exit_code == 2


def test_a_reranker_that_is_not_installed_is_one_clear_line(
    kb: Outcrop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise EmbedError("reranking needs pip install 'outcrop[mini]'")

    monkeypatch.setattr("outcrop.read.parts.open_reranker", missing)
    result = kb("search", "release", "--rerank")
    assert result.exit_code == 4
    assert result.stderr == "Error: reranking needs pip install 'outcrop[mini]'\n"


def test_filters_restrict_the_search(kb: Outcrop) -> None:
    paths = {
        hit["document"]["path"]
        for hit in kb.json("search", "the", "delay", "release", "budget", "--path", "deploy/**")["hits"]
    }
    assert paths == {"deploy/rollback.md"}
    document = kb.json("ls", "--path", "budget.txt")[0]["id"]
    hits = kb.json("search", "release budget", "--doc", str(document))["hits"]
    assert {hit["document"]["path"] for hit in hits} == {"budget.txt"}
    assert kb.json("search", "budget", "--until", "2001-01-01")["reason"] == "filtered_out"


def test_no_hits_exit_with_1_and_say_why(kb: Outcrop) -> None:
    result = kb("search", "zzyzx", "--mode", "keyword")
    assert result.exit_code == 1
    assert "nothing came close enough" in result.stdout
    assert "0 hits" in result.stdout
    by_both = kb("search", "zzqqxx")
    assert by_both.exit_code == 1
    assert "none of these words is known" in by_both.stdout


def test_a_phrase_without_matches_is_dropped_and_the_command_says_so(kb: Outcrop) -> None:
    result = kb("search", '"budget the release"')
    assert result.exit_code == 0
    assert 'no passage holds "budget the release" word for word' in result.stdout
    assert kb.json("search", '"budget the release"')["unmatched_phrases"] == ["budget the release"]
    packed = kb.json("context", '"budget the release"')
    assert packed["sources"]
    assert packed["unmatched_phrases"] == ["budget the release"]


def test_an_unknown_collection_is_not_found_and_the_near_one_is_named(kb: Outcrop) -> None:
    result = kb("search", "budget", "-c", "note")
    assert result.exit_code == 3
    assert "did you mean 'notes'?" in result.stderr
    assert result.stdout == ""


def test_an_error_in_json_mode_is_a_json_document(kb: Outcrop) -> None:
    result = kb("search", "budget", "-c", "note", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["type"] == "NotFound"
    assert result.stderr == ""
    usage = kb("search", "--json")
    assert usage.exit_code == 2
    assert json.loads(usage.stdout)["error"]["type"] == "UsageError"


def test_a_malformed_date_is_a_usage_error(kb: Outcrop) -> None:
    result = kb("search", "budget", "--since", "someday")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: 'someday' is not a date")


def test_explain_names_both_rankings(kb: Outcrop) -> None:
    out = kb("search", "rollback", "--explain").stdout
    assert "words: rank 1" in out
    assert "fused" in out
    assert "query read as" in out


def test_explain_shows_how_much_meaning_weighs(kb: Outcrop) -> None:
    by_type = {
        kind: kb.json("search", "release budget", "--type", kind)["meaning_share"]
        for kind in ("exact", "semantic")
    }
    assert by_type["exact"]["prose"] < by_type["semantic"]["prose"] < by_type["semantic"]["code"] < 1
    share = f"{100 * by_type['semantic']['prose']:.0f} % in prose"
    assert share in kb("search", "release budget", "--type", "semantic", "--explain").stdout
    assert "meaning weighs 70 %" in kb("search", "release budget", "--balance", "0.7", "--explain").stdout
    assert "meaning weighs 0 %" in kb("search", "release budget", "--mode", "keyword", "--explain").stdout


def test_explain_shows_what_was_asked_of_a_pasted_text(kb: Outcrop) -> None:
    report = "The release cannot be rolled back\n- OS: Ubuntu 22.04\nIt says there is no previous tag, though there is."
    shown = kb("search", report, "--explain").stdout
    assert "asked: title × 1  The release cannot be rolled back\n" in shown
    assert "Ubuntu" not in shown
    assert [clause["name"] for clause in kb.json("search", report)["question"]] == ["problem", "title"]
    assert "asked:" not in kb("search", "roll back a release", "--explain").stdout


def test_explain_shows_what_was_left_out(kb: Outcrop) -> None:
    shown = kb("search", "rollback release", "--explain", "-n", "1").stdout
    assert "left out: " in shown
    assert "total " in shown
    answer = kb.json("search", "rollback release", "--explain", "-n", "1")
    assert answer["left_out"][0]["reason"]
    assert kb.json("search", "rollback release", "-n", "1")["left_out"] == []


def test_the_balance_decides_between_words_and_meaning(kb: Outcrop) -> None:
    words = kb.json("search", "roll back a release", "--balance", "0")
    assert [hit["score"] for hit in words["hits"]] == [
        hit["score"] for hit in kb.json("search", "roll back a release", "--mode", "keyword")["hits"]
    ]
    assert kb("search", "rollback", "--balance", "2").exit_code == 2
    assert kb("search", "rollback", "--follow", "0").exit_code == 0
    assert kb("context", "rollback", "--balance", "0.9").exit_code == 0


def test_a_changed_file_is_marked_stale(kb: Outcrop) -> None:
    file = kb.notes / "budget.txt"
    file.write_text("The budget is gone.")
    os.utime(file, (1, 1))
    assert "changed since it was indexed" in kb("search", "marketing budget").stdout


def test_a_context_goes_to_stdout_and_its_sources_to_stderr(kb: Outcrop) -> None:
    result = kb("context", "roll back a release", "-b", "120")
    assert result.exit_code == 0
    assert result.stdout.startswith("[1] deploy/rollback.md:")
    assert "previous tag" in result.stdout
    assert "tokens" in result.stderr
    packed = kb.json("context", "roll back a release", "-b", "120")
    assert packed["tokens"] <= 120
    assert packed["sources"][0]["number"] == 1


def test_a_document_cannot_control_the_terminal(kb: Outcrop) -> None:
    evil = "wombat \x1b]0;owned\x07 \x1b[2J \x9b31m \u202egnp.exe\n"
    kb("add", "--text", evil, "--id", "evil", "--title", "Wombat\x1b[31m", "--tag", "t\x1b[0m")
    (kb.notes / "wombat\x1b[31m.md").write_text("# Wombat \x1b[5m heading\n\nwombat again\n")
    added = kb("add", kb.notes, "-v")
    assert "\x1b" not in added.stdout + added.stderr
    commands = (
        *(("search", "wombat", "--explain"), ("search", "wombat", "--full"), ("context", "wombat"), ("ls",)),
        *(("show", "evil"), ("show", "evil", "--chunks"), ("show", "evil", "--info")),
    )
    for command in commands:
        result = kb(*command)
        assert "ombat" in result.stdout, command
        for bad in "\x1b\x07\x9b\u202e":
            assert bad not in result.stdout + result.stderr, command
    assert clean(evil) == "wombat ␛]0;owned␇ ␛[2J \ufffd31m \ufffdgnp.exe\n"
    assert clean("a\r\nb\tc") == "a\nb\tc"
    assert clean("\udc80x") == "?x"


def test_colours_are_there_for_people_and_mark_the_matching_words(kb: Outcrop) -> None:
    with open_engine(kb.db) as engine:
        answer = engine.search("retrying requests")
    console = Console(force_terminal=True, width=100, record=True, file=io.StringIO())
    print_answer(Screen(lambda: console), answer, full=False, explain=False)
    styled = console.export_text(styles=True)
    assert "\x1b[1;31mrequest\x1b[0m" in styled
    assert "\x1b[1;31mretried\x1b[0m" in styled


def test_words_are_marked_in_any_form_and_inside_identifiers() -> None:
    marker = Marker(["retries", "user"])
    text = "retry getUserName retrieval RETRIED load_user"
    assert [text[a:b] for a, b in marker.spans(text)] == ["retry", "User", "RETRIED", "user"]
    chinese = Marker(["重试"])
    assert chinese.spans("请求会重试三次") == [(3, 5)]


def test_match_positions_are_right_when_lower_casing_changes_the_length() -> None:
    text = "İİ 设置重试次数 重试"
    spans = Marker(["重试", "Äpfel"]).spans(text)
    assert [text[start:end] for start, end in spans] == ["重试", "重试"]
    assert Marker(["äpfel"]).spans("ÄPFEL") == [(0, 5)]


def test_the_shown_lines_are_those_that_match_most() -> None:
    text = "\n".join([f"line {i}" for i in range(50)] + ["here is the wombat", "and the quokka"] + ["end"] * 20)
    found = best_lines(text, Marker(["wombat", "quokka"]), 4)
    assert {(50, "here is the wombat"), (51, "and the quokka")} <= set(found.lines)
    assert len(found.lines) == 4
    assert found.before
    assert found.after
    assert len(cut_line("x" * 1000 + " wombat " + "y" * 1000, Marker(["wombat"]))) <= 322
    assert "wombat" in cut_line("x " * 1000 + " wombat " + "y" * 1000, Marker(["wombat"]))


def test_a_phrase_is_marked_as_a_whole_and_shown_before_its_words() -> None:
    marker = Marker(["valid"], ["is not a valid"])
    line = "valid: it Is not\ta valid one, is not a name, this_is_not_a_valid_name"
    marked = [line[start:end] for start, end in marker.spans(line)]
    assert marked == ["valid", "Is not\ta valid", "is_not_a_valid"]
    text = "\n".join(["valid, validity, validate"] * 9 + ["x"] * 9 + ["it is not", "a valid date"] + ["y"] * 9)
    for count in (2, 5):
        lines = best_lines(text, marker, count).lines
        assert {"it is not", "a valid date"} <= {line for _, line in lines}, "it reaches over a line's end"
        assert lines[0][0] >= 14
    long = "valid " * 500 + "is not a valid " + "valid " * 500
    assert "is not a valid" in cut_line(long, marker)


def test_the_row_that_answers_is_shown_and_not_the_title_that_repeats_the_question(
    outcrop: Outcrop, tmp_path: Path
) -> None:
    import docx

    document = docx.Document()
    document.add_heading("Travel and expense policy", 0)
    document.add_paragraph("What the company pays for on travel, and who approves an expense.")
    document.add_heading("Limits for travel expenses", 1)
    document.add_paragraph("The limits of each expense are listed below.")
    table = document.add_table(rows=0, cols=2)
    for cells in (
        ("Expense", "Limit"),
        *((f"Item {i}", f"{i} euros") for i in range(12)),
        ("Hotel", "220 euros"),
    ):
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    document.save(str(tmp_path / "policy.docx"))
    assert outcrop("add", tmp_path / "policy.docx").exit_code == 0
    lines = outcrop("search", "travel expense limit for a hotel", "-n", "1").stdout.splitlines()
    assert "   Hotel | 220 euros" in lines
    assert lines[lines.index("   Expense | Limit") :][1] == "   ⋮", "a row comes with the head of its table"
    assert "   # Travel and expense policy" not in lines


def test_what_stands_below_a_heading_that_matches_is_shown_and_no_front_matter() -> None:
    fields = ["---", "title: Keys and rotation", "tags: [keys, rotation]", "---", ""]
    text = [*fields, "# Keys", "", *["x"] * 9, "## Rotation of keys", "", "Every ninety days.", "", *["y"] * 9]
    shown = [line for _, line in best_lines("\n".join(text), Marker(["keys", "rotation"])).lines]
    assert "Every ninety days." in shown
    assert "title: Keys and rotation" not in shown
    shown = [
        line
        for _, line in best_lines("\n".join([*fields, "# Keys", "", "Two of them."]), Marker(["keys"])).lines
    ]
    assert shown == ["# Keys", "", "Two of them."], "no end of front matter either"
    shown = [line for _, line in best_lines("\n".join(fields), Marker(["rotation"])).lines]
    assert "title: Keys and rotation" in shown, "unless there is nothing else"
    shown = [
        line for _, line in best_lines("\n".join([*fields, "# Keys"]), Marker([], ["keys and rotation"])).lines
    ]
    assert "title: Keys and rotation" in shown, "or a quoted phrase is there"
    shown = [line for _, line in best_lines("---\n\nNew keys.\n\n---\n\nOld ones.", Marker(["keys"])).lines]
    assert "New keys." in shown, "two rules enclose text, not fields"
    rare = ["the budget of travel"] * 8 + ["travel to Bern"] + ["z"] * 8
    shown = [line for _, line in best_lines("\n".join(rare), Marker(["budget", "travel", "bern"]), 3).lines]
    assert "travel to Bern" in shown, "a word that few lines hold tells more than one that many hold"


def test_links_lead_to_the_line_in_the_program_that_was_chosen(kb: Outcrop) -> None:
    with open_engine(kb.db) as engine:
        hit = engine.search("doubles each time").hits[0]
        text = engine.search("rollback", limit=1).hits[0]
    file = (kb.notes / "retries.md").as_uri()
    assert link_to(hit, 7, "file") == f"{file}#L7"
    assert link_to(hit, 7, "vscode") == f"vscode://file{file.removeprefix('file://')}:7"
    assert link_to(hit, 7, "none") == ""
    paged = replace(hit, page=3)
    assert link_to(paged, 7, "vscode") == f"{file}#page=3"
    assert link_to(replace(hit, document=replace(hit.document, kind="docx")), 7, "vscode") == file
    assert link_to(replace(text, document=replace(text.document, origin="text")), 1, "file") == ""


def test_the_head_of_a_hit_links_to_the_line_that_matches(kb: Outcrop, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_engine(kb.db) as engine:
        answer = engine.search("doubles", limit=1)
    console = Console(force_terminal=True, width=100, file=io.StringIO())
    print_answer(Screen(lambda: console), answer)
    assert "/notes/retries.md#L7\x1b" in console.file.getvalue()  # type: ignore[attr-defined]
    monkeypatch.setenv("OUTCROP_LINKS", "emacs")
    result = kb("search", "doubles")
    assert result.exit_code == 2
    assert "links" in result.stderr
