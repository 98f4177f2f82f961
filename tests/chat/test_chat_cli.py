"""`outcrop chat`: one answer, events as JSON, and a conversation at a real terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.chat.model_server import ModelServer, calling, failing, saying, speak_and_hang
from tests.cost import PATIENCE_S

from outcrop.chat import Notice, ReopenedIndex, Sources, open_chat
from outcrop.engine import Engine
from outcrop.records import Message
from outcrop.serve.cli.app import cli
from outcrop.serve.logs import write_logs


@pytest.fixture
def settings(engine: Engine) -> Iterator[dict[str, str]]:
    config = engine.config
    yield {
        "OUTCROP_DB": str(config.db),
        "OUTCROP_CHAT_MODEL": "tiny",
        "OUTCROP_CHAT_URL": config.chat_url,
        "OPENAI_API_KEY": "",
        "NO_COLOR": "1",
    }
    write_logs(None)


def run(settings: dict[str, str], *args: str, input: str | None = None) -> Result:
    result = CliRunner(env=settings).invoke(cli, ["chat", *args], input=input, prog_name="outcrop")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_question_is_answered_with_its_sources_below(settings: dict[str, str], model: ModelServer) -> None:
    model.script = [saying("Three ", "times [1].")]
    result = run(settings, "How", "often", "is a request retried?")
    assert result.exit_code == 0
    answer, *sources = result.stdout.splitlines()
    assert answer == "Three times [1]."
    assert len(sources) == 1
    assert sources[0].startswith("[1] retries.md:1-")
    assert "How often is a request retried?" in model.sent()[-1]["content"]


# ------------------------------------------------------------------ an index that cannot be searched


def garble(db: Path, start: int) -> None:
    """Overwrite all of a database from some byte on."""
    with db.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(start)
        file.write(b"\xa5" * (size - start))


@pytest.mark.parametrize("start", [0, 24, 4096])
@pytest.mark.parametrize("mode", ["context", "tool"])
def test_a_damaged_index_costs_the_sources_and_not_the_answer(
    settings: dict[str, str], engine: Engine, model: ModelServer, start: int, mode: str
) -> None:
    engine.close()
    garble(Path(settings["OUTCROP_DB"]), start)
    calls = [calling({"query": "retries"})] if mode == "tool" else []
    model.script = [*calls, saying("I have no sources.")]
    result = run(settings, "--mode", mode, "How often is a request retried?")
    assert (result.exit_code, result.stdout) == (0, "I have no sources.\n")
    assert "could not be searched" in result.stderr
    assert "so the answer has no sources" in result.stderr


def test_a_database_that_is_away_costs_the_sources_and_not_the_answer(
    settings: dict[str, str], model: ModelServer
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    settings["OUTCROP_DB"] = f"postgresql://nobody@127.0.0.1:{port}/nowhere"
    model.script = [saying("I have no sources.")]
    result = run(settings, "How often is a request retried?")
    assert (result.exit_code, result.stdout) == (0, "I have no sources.\n")
    assert "cannot be reached" in result.stderr
    events = [json.loads(line) for line in run(settings, "--json", "Still?").stdout.splitlines()]
    assert [event["reason"] for event in events if event["event"] == "notice"] == ["error"]
    assert events[-1]["event"] == "done"


def test_an_index_that_comes_back_is_searched_again(engine: Engine, model: ModelServer) -> None:
    db = Path(str(engine.config.db))
    engine.close()
    away = db.rename(db.with_name("away.db"))
    db.write_bytes(b"no database" * 1000)
    index = ReopenedIndex(engine.config)
    chat = open_chat(index)
    question = [Message("user", "How often is a failed request retried?")]
    model.script = [saying("No idea."), saying("Three times [1].")]
    assert [event.reason for event in chat.ask(question) if isinstance(event, Notice)] == ["error"]
    away.rename(db)
    assert any(isinstance(event, Sources) for event in chat.ask(question))
    index.close()


def test_an_index_that_does_not_exist_is_an_error(settings: dict[str, str], tmp_path: Path) -> None:
    result = run({**settings, "OUTCROP_DB": str(tmp_path / "typo.db")}, "Anything?")
    assert result.exit_code == 3
    assert "there is no index" in result.stderr


# ------------------------------------------------------------------ questions


def test_a_question_may_come_from_standard_input(settings: dict[str, str], model: ModelServer) -> None:
    assert run(settings, "--mode", "off", input="What is up?\n").stdout == "All right.\n"
    assert model.sent() == [{"role": "user", "content": "What is up?"}]
    assert run(settings, input="  \n").exit_code == 2


def test_events_come_as_json_lines(settings: dict[str, str], model: ModelServer) -> None:
    model.script = [calling({"query": "retries"}), saying("Three [1], four [9].")]
    lines = [
        json.loads(line) for line in run(settings, "--mode", "tool", "--json", "retries?").stdout.splitlines()
    ]
    assert [line.pop("event") for line in lines] == ["tool", "sources", "delta", "done"]
    assert lines[0] == {"name": "search", "query": "retries"}
    assert lines[1]["sources"][0]["path"] == "retries.md"
    assert lines[3] == {"citations": [1], "unknown": [9], "stopped": False, "unsupported": []}


def test_what_a_model_says_cannot_steer_the_terminal(settings: dict[str, str], model: ModelServer) -> None:
    model.script = [saying("a\x1b", "[31mred\r", "\nline\x9b2J\u202e [1]", "\r")]
    out = run(settings, "retried requests?").stdout
    assert not set(out) & {"\x1b", "\x9b", "\u202e", "\r"}
    assert "a␛[31mred\nline" in out


def test_an_invented_citation_is_pointed_out(settings: dict[str, str], model: ModelServer) -> None:
    model.script = [saying("Yes [42].")]
    result = run(settings, "retried requests?")
    assert "no source [42]" in result.stderr
    assert "[42]" not in result.stdout.replace("Yes [42].", "")


def test_where_nothing_is_found_the_answer_still_comes_and_says_so(
    settings: dict[str, str], model: ModelServer
) -> None:
    result = run(settings, "zzyzx qwfpgj")
    assert result.stdout == "All right.\n"
    assert "matches" in result.stderr
    assert result.exit_code == 0


def test_a_failing_endpoint_is_an_error_that_says_what_to_do(
    settings: dict[str, str], model: ModelServer
) -> None:
    model.script = [failing(404, "model 'tiny' not found")]
    result = run(settings, "--mode", "off", "hello")
    assert result.exit_code == 4
    assert "ollama pull" in result.stderr
    model.script = [failing(401)]
    assert json.loads(run(settings, "--json", "--mode", "off", "hello").stdout)["event"] == "error"


def test_without_a_model_the_error_tells_how_to_set_one(settings: dict[str, str]) -> None:
    result = run({**settings, "OUTCROP_CHAT_MODEL": ""}, "hello")
    assert result.exit_code == 2
    assert "OUTCROP_CHAT_MODEL" in result.stderr
    assert "ollama pull" in result.stderr


def test_model_url_collection_and_budget_may_be_named(settings: dict[str, str], model: ModelServer) -> None:
    hidden = {**settings, "OUTCROP_CHAT_MODEL": "", "OUTCROP_CHAT_URL": "http://127.0.0.1:9/v1"}
    result = run(
        hidden, "--model", "other", "--url", model.url, "-c", "notes", "-b", "300", "retried requests?"
    )
    assert result.exit_code == 0
    assert model.requests[0]["model"] == "other"
    assert "did you mean" in run(settings, "-c", "note", "retried requests?").stderr


# ------------------------------------------------------------------ a conversation


START = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
runpy.run_module("outcrop", run_name="__main__", alter_sys=True)
"""


@dataclass
class Terminal:
    """A command at a real pseudo-terminal."""

    process: subprocess.Popen[bytes]
    screen: int
    seen: str = ""

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def until(self, text: str) -> str:
        """What the screen shows up to this text, which must come soon; the next look begins behind it."""
        end = time.monotonic() + 60  # a loaded machine takes its time to start Python
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            if select.select([self.screen], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.screen, 4096).decode("utf-8", "replace")
                except OSError:  # the other side is closed
                    assert text in self.seen, self.seen
        shown, _, self.seen = self.seen.partition(text)
        return shown


@pytest.fixture
def terminal(settings: dict[str, str], tmp_path: Path) -> Iterator[Terminal]:
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", START, "chat"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **settings, "TERM": "dumb", "COLUMNS": "200", "HOME": str(tmp_path)},
    )
    os.close(theirs)
    yield Terminal(process, ours)
    process.kill()
    process.wait()
    os.close(ours)


def press(terminal: Terminal, enough: threading.Event) -> None:
    while not enough.is_set():
        terminal.process.send_signal(signal.SIGINT)
        enough.wait(1)


def test_a_conversation_has_a_history_and_ctrl_c_stops_the_answer_only(
    terminal: Terminal, model: ModelServer
) -> None:
    terminal.until("/help says")
    terminal.until("> ")
    model.script = [saying("Three times [1]."), speak_and_hang, saying("Fine.")]
    terminal.type("How often is a failed request retried?\n")
    terminal.until("Three times [1].")
    terminal.until("[1] retries.md:")
    terminal.until("> ")

    terminal.type("/sources\n")
    terminal.until("A failed request is retried three times.")
    terminal.until("> ")
    terminal.type("/nonsense\n")
    terminal.until("/mode off|context|tool")
    terminal.until("> ")

    terminal.type("/mode off\n")
    terminal.until("> ")
    terminal.type("And then?\n")
    terminal.until("Well")
    terminal.process.send_signal(signal.SIGINT)
    terminal.until("Stopped.")
    assert model.hung_up.wait(PATIENCE_S)
    terminal.until("> ")

    # Python's input() may miss a signal in the instant between its prompt and its wait: press again, as one would.
    again = threading.Event()
    presses = threading.Thread(target=press, args=(terminal, again))
    presses.start()
    terminal.until("/exit or Ctrl-D")
    again.set()
    presses.join()
    terminal.until("> ")
    terminal.type("Still there?\n")
    terminal.until("Fine.")
    assert [(message["role"], message["content"]) for message in model.sent()] == [
        ("user", "How often is a failed request retried?"),
        ("assistant", "Three times [1]."),
        ("user", "And then?"),
        ("assistant", "Well"),
        ("user", "Still there?"),
    ]
    terminal.until("> ")
    terminal.type("/exit\n")
    assert terminal.process.wait(60) == 0


def test_a_question_that_failed_is_not_asked_again_with_the_next(
    terminal: Terminal, model: ModelServer
) -> None:
    terminal.until("> ")
    model.script = [failing(401)]
    terminal.type("First?\n")
    terminal.until("refused the key")
    terminal.until("> ")
    terminal.type("/mode off\n")
    terminal.until("> ")
    terminal.type("Second?\n")
    terminal.until("All right.")
    assert [message["content"] for message in model.sent()] == ["Second?"]
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.process.wait(60) == 0
