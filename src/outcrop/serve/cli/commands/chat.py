"""chat: questions to a model, answered from the index."""

from __future__ import annotations

import contextlib
import signal
import sys
from dataclasses import field
from typing import TYPE_CHECKING, Final

import click

from outcrop.serve.as_json import as_dict
from outcrop.serve.cli.app import EXIT_ERROR, EXIT_INTERRUPTED
from outcrop.serve.cli.options import budget_option, command, option, search_option
from outcrop.serve.cli.progress import stop_on_signal
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean, clean_line
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:
    from rich.status import Status

    from outcrop.chat import Chat, Event, Mode, ReopenedIndex, Source
    from outcrop.engine import Engine
    from outcrop.records import Message

_MODES: Final[tuple[Mode, ...]] = ("context", "tool", "off")
_HELP: Final = """\
/mode off|context|tool   search before each question, let the model search, or neither
/sources                 what the last answer could draw on, with its text
/clear                   begin a new conversation
/exit                    leave (Ctrl-D does so as well); Ctrl-C stops an answer"""
_EXCERPT_CHARS: Final = 400
"""Of a source's text, for /sources: enough to recognise it."""


@command("chat", "outcrop chat", "outcrop chat how often do we rotate the signing keys")
@click.argument("question", nargs=-1, metavar="[QUESTION]...")
@option(
    "--mode",
    type=click.Choice(_MODES),
    default="context",
    show_default=True,
    help="Put sources before the question, let the model search by itself, or neither.",
)
@search_option("collections")
@budget_option
@option("--model", metavar="NAME", help="The chat model, instead of the one that is configured.")
@option("--url", metavar="URL", help="Base URL of its OpenAI-compatible endpoint; Ollama's unless configured.")
def chat_command(
    session: Session,
    question: tuple[str, ...],
    mode: Mode,
    collections: tuple[str, ...],
    budget_tokens: int | None,
    model: str | None,
    url: str | None,
) -> int:
    """Ask a model about your documents, with sources.

    With a QUESTION (or one on standard input) there is one answer; without, a conversation: /help says what one can
    type. Any OpenAI-compatible endpoint will do: set OUTCROP_CHAT_MODEL, and OUTCROP_CHAT_URL unless it is Ollama on
    this machine. With --json events are printed as they happen, one JSON document a line.
    """
    from outcrop.chat import open_chat

    with contextlib.closing(_open_index(session, chat_model=model, chat_url=url)) as index:
        talk = _Talk(session, open_chat(index), mode, collections, budget_tokens)
        asked = " ".join(question).strip()
        if not asked and not sys.stdin.isatty():
            asked = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
        elif not asked and not session.as_json:
            talk.go_on()
            return 0
        if not asked:
            raise click.UsageError("Nothing to ask: give a QUESTION, or write one to standard input.")
        return talk.ask(asked)


def _open_index(session: Session, **settings: str | None) -> Engine | ReopenedIndex:
    """The index; one that cannot be opened now is tried again with each question, and the answer says why it has no
    sources. One that does not exist is more likely a mistyped --db."""
    from outcrop.chat import ReopenedIndex
    from outcrop.errors import StoreError

    try:
        return session.open_existing(**settings)
    except StoreError:
        return ReopenedIndex(session.config(**settings))


@dataclass
class _Talk:
    """A conversation at a terminal."""

    session: Session
    chat: Chat
    mode: Mode
    collections: tuple[str, ...]
    budget: int | None
    history: list[Message] = field(default_factory=list)
    sources: tuple[Source, ...] = ()

    def go_on(self) -> None:
        """Ask and answer until the user leaves."""
        with contextlib.suppress(ImportError):  # not on every platform: plain lines do as well
            import readline  # noqa: F401 - gives input() a history and line editing
        click.echo(f"{clean_line(self.chat.model)}, mode {self.mode}. /help says what one can type.", err=True)
        while True:
            try:
                typed = input("> ").strip()
            except EOFError:
                click.echo()
                return
            except KeyboardInterrupt:
                click.echo("\n/exit or Ctrl-D leaves.", err=True)
                continue
            if typed == "/exit":
                return
            if typed.startswith("/"):
                self._command(*typed.split())
            elif typed:
                self.ask(typed)

    def _command(self, name: str, *words: str) -> None:
        mode = next((mode for mode in _MODES if (mode,) == words), None)
        if name == "/mode" and mode is not None:
            self.mode = mode
        elif name == "/sources":
            self._print_sources(self.sources, whole=True)
        elif name == "/clear":
            self.history.clear()
            self.sources = ()
        else:
            click.echo(_HELP, err=True)

    def ask(self, question: str) -> int:
        """One question, its answer, and the exit code. Ctrl-C ends the answer, a second one the program."""
        from outcrop.chat import Delta, Done, Failed, Sources
        from outcrop.records import Message

        self.history.append(Message("user", question))
        self.sources = ()
        said: list[str] = []
        end: Done | Failed | None = None
        with stop_on_signal(signal.SIGINT) as stop, _Screen(self.session) as screen:
            events = self.chat.ask(self.history, self.mode, self.collections, self.budget, stop.is_set)
            for event in events:
                screen.show(event)
                if isinstance(event, Delta):
                    said.append(event.text)
                elif isinstance(event, Sources):
                    self.sources = event.sources
                elif isinstance(event, Done | Failed):
                    end = event
        if said:
            self.history.append(Message("assistant", "".join(said)))
        else:
            self.history.pop()  # a question without an answer would be asked again with the next
        if not isinstance(end, Done):
            return EXIT_ERROR
        if not self.session.as_json:
            cited = [source for number in end.citations for source in self.sources if source.number == number]
            self._print_sources(cited)
            if end.unknown:
                numbers = ", ".join(f"[{number}]" for number in end.unknown)
                click.echo(f"There is no source {numbers}: the model made it up.", err=True)
        return EXIT_INTERRUPTED if end.stopped else 0

    def _print_sources(self, sources: tuple[Source, ...] | list[Source], *, whole: bool = False) -> None:
        out = self.session.out
        for source in sources:
            stale = "  changed since it was indexed" if source.stale else ""
            score = (f"  {source.score:.2f}", "dim")
            out.line((f"[{source.number}] ", "bold"), clean_line(source.place), score, (stale, "red"))
            if whole:
                more = " …" if len(source.text) > _EXCERPT_CHARS else ""
                out.line(clean(source.text[:_EXCERPT_CHARS]) + more, style="dim")
        if whole and not sources:
            click.echo("The last answer had no sources.", err=True)


class _Screen:
    """Events as people read them, or as JSON lines: the answer as it comes, remarks on standard error."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held = ""
        self._last = "\n"
        self._waiting: Status | None = None

    def __enter__(self) -> _Screen:
        if self._session.err.is_terminal and not self._session.as_json:
            self._waiting = self._session.err.console.status("thinking")
            self._waiting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_waiting()
        if self._held or self._last != "\n":
            click.echo(clean(self._held))

    def show(self, event: Event) -> None:
        """Print one event."""
        from outcrop.chat import Delta, Done, Failed, Notice, ToolCall, event_name

        if self._session.as_json:
            self._session.print_json({"event": event_name(event), **as_dict(event)}, line=True)
        elif isinstance(event, Delta):
            self._write(event.text)
        elif isinstance(event, Notice):
            self._remark(event.message)
        elif isinstance(event, ToolCall):
            self._remark(f"searching: {event.query}")
        elif isinstance(event, Failed):
            self._remark(f"Error: {event.message}")
        elif isinstance(event, Done) and event.stopped:
            self._remark("Stopped.")

    def _write(self, text: str) -> None:
        """The next piece. A carriage return may be half of a line's end, so the last one waits for what follows."""
        self._end_waiting()
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = clean(text.removesuffix("\r"))
        if text:
            self._last = text[-1]
            click.echo(text, nl=False)
            sys.stdout.flush()

    def _remark(self, message: str) -> None:
        self._end_waiting()
        if self._last != "\n":
            click.echo()
            self._last = "\n"
        click.echo(clean_line(message), err=True)

    def _end_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
