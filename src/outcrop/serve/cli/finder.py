"""The screen of `outcrop ui`: a line to type in, hits as one types, and the passage of the one that is selected."""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.output import ColorDepth

from outcrop.config import WINDOWS
from outcrop.errors import OutcropError
from outcrop.records.found import EXTRACTED_KINDS
from outcrop.serve.cli.passage import MATCH, STYLES, Passage
from outcrop.serve.cli.render import about_hit
from outcrop.serve.cli.render_code import path_from_here, place_from_here
from outcrop.serve.excerpt import Marker
from outcrop.serve.terminal import clean, clean_line, crop, say_count
from outcrop.workers.process import start_program

if TYPE_CHECKING:
    from outcrop.records import Answer, Hit
    from outcrop.serve.cli.session import Screen

PAUSE_S: Final = 0.05
"""A search begins when no key came for so long: whoever types quickly is not searched for every letter."""
LISTED: Final = 10
LEAD: Final = 3
"""Lines of a passage that are shown above the first that matches."""
KEYS: Final = "↑↓ · Enter open · ^Y copy · ^T copy place · PgDn scroll · ^C quit"

Fragments = StyleAndTextTuples


class Finder:
    """What was typed, found and selected. Searches run beside the screen; only the answer to the latest is shown."""

    def __init__(self, search: Callable[[str], Answer], out: Screen, editor: str) -> None:
        self._search, self._out, self._editor = search, out, editor
        self._query = Buffer(multiline=False, on_text_changed=lambda _: self._typed())
        self._answer: Answer | None = None
        self._at = self._scrolled = self._below = 0
        self._said = ""
        self.app: Application[None] = Application(
            layout=Layout(self._arrange()),
            key_bindings=self._bind(),
            full_screen=True,
            color_depth=None if out.console.color_system else ColorDepth.DEPTH_1_BIT,
        )

    def run(self, query: str) -> None:
        """Show it until it is left."""
        self.app.run(pre_run=lambda: self._query.insert_text(query))

    # ------------------------------------------------------------------ asking

    def _typed(self) -> None:
        self.app.create_background_task(self._ask(self._query.text))

    async def _ask(self, query: str) -> None:
        await asyncio.sleep(PAUSE_S)
        if query != self._query.text:
            return
        answer, said = None, ""
        if query.strip():
            try:
                answer = await asyncio.to_thread(self._search, query)
                said = clean_line(answer.detail or "") or say_count(len(answer.hits), "hit")
            except OutcropError as error:
                said = clean_line(str(error))
        if query == self._query.text:
            self._answer, self._said, self._at, self._scrolled = answer, said, 0, 0
            self.app.invalidate()

    @property
    def _hits(self) -> tuple[Hit, ...]:
        return self._answer.hits if self._answer else ()

    @property
    def _hit(self) -> Hit | None:
        return self._hits[self._at] if self._hits else None

    # ------------------------------------------------------------------ drawing

    def _arrange(self) -> HSplit:
        prompt = Window(FormattedTextControl([("bold ansicyan", "› ")]), width=2, height=1)
        listed = Window(FormattedTextControl(self._list), height=lambda: min(LISTED, len(self._hits)))
        rule = Window(height=1, char="─", style="ansibrightblack")
        passage = Window(FormattedTextControl(self._preview), wrap_lines=True)
        state = Window(FormattedTextControl(self._state), height=1)
        return HSplit(
            [VSplit([prompt, Window(BufferControl(self._query), height=1)]), listed, rule, passage, state]
        )

    def _list(self) -> Fragments:
        first = max(0, self._at - LISTED + 1)
        drawn: Fragments = []
        for number, hit in enumerate(self._hits[first : first + LISTED], first):
            chosen = " reverse" if number == self._at else ""
            place = clean_line(place_from_here(hit))
            about = crop(about_hit(hit), max(self._out.console.width - len(place) - 10, 8))
            drawn += [(f"bold ansicyan{chosen}", place), (f"ansigreen{chosen}", f"  {about}")]
            drawn += [(f"ansiyellow{chosen}", f"  {hit.score:.2f}"), ("", "\n")]
        return drawn[:-1]

    def _preview(self) -> Fragments:
        """The passage from a little above its first match on, code with numbers and colours."""
        hit = self._hit
        if hit is None:
            return []
        passage = Passage(self._out, hit, full=False)
        marker = Marker(hit.why.matched_terms, hit.why.matched_phrases, hit.why.language)
        drawn: Fragments = []
        lines = passage.styled_lines()
        begin = max(passage.line - passage.first_line - LEAD, 0)
        self._below = len(lines) - 1 - begin
        begin += self._scrolled
        for number, pieces in enumerate(lines[begin:], passage.first_line + begin):
            if hit.document.language:
                drawn.append(("ansibrightblack", f"{number:>5}  "))
            text = "".join(text for text, _ in pieces)
            styles = [_ansi(STYLES.get(kind, "")) for piece, kind in pieces for _ in piece]
            for start, end in marker.spans(text):
                styles[start:end] = [_ansi(MATCH)] * (end - start)
            for style, run in groupby(zip(styles, text, strict=True), key=lambda pair: pair[0]):
                drawn.append((style, "".join(character for _, character in run)))
            drawn.append(("", "\n"))
        return drawn

    def _state(self) -> Fragments:
        return [("bold", f"{self._said}  " if self._said else ""), ("ansibrightblack", KEYS)]

    # ------------------------------------------------------------------ keys

    def _bind(self) -> KeyBindings:
        keys = KeyBindings()
        steps = {"down": 1, "c-n": 1, "up": -1, "c-p": -1}
        for key, by in steps.items():
            keys.add(key)(lambda _, by=by: self._select(by))
        for key, by in {"pagedown": 5, "pageup": -5}.items():
            keys.add(key)(lambda _, by=by: self._scroll(by))
        keys.add("enter")(lambda _: self._open())
        keys.add("c-y")(lambda event: self._copy(event, "passage"))
        keys.add("c-t")(lambda event: self._copy(event, "place"))
        for key in ("c-c", "c-d", "c-q"):
            keys.add(key)(lambda event: event.app.exit())
        return keys

    def _select(self, by: int) -> None:
        self._at = min(max(self._at + by, 0), max(len(self._hits) - 1, 0))
        self._scrolled = 0

    def _scroll(self, by: int) -> None:
        self._scrolled = max(min(self._scrolled + by, self._below), 0)

    def _copy(self, event: KeyPressEvent, what: str) -> None:
        """Ask the terminal to put it on the clipboard (OSC 52), which also works over SSH."""
        if hit := self._hit:
            line = Passage(self._out, hit, full=False).line
            text = hit.text if what == "passage" else f"{path_from_here(hit.document)}:{line}"
            packed = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
            event.app.output.write_raw(f"\x1b]52;c;{packed}\x07")
            event.app.output.flush()
            self._said = f"copied the {what}"

    def _open(self) -> None:
        hit = self._hit
        if hit is None:
            return
        if hit.document.origin != "file":
            self._said = "no file to open; Ctrl-Y copies the passage"
        elif hit.document.kind in EXTRACTED_KINDS:
            click.launch(hit.document.uri)
        else:
            line = Passage(self._out, hit, full=False).line
            command = edit_command(self._editor, hit.document.uri, line)
            self.app.create_background_task(self._edit(command))

    async def _edit(self, command: list[str]) -> None:
        try:
            await run_in_terminal(lambda: start_program(command, stdin=None, stdout=None).wait())
        except OSError as error:
            self._said = clean(f"{command[0]} cannot be started: {error.strerror}; set EDITOR")


_GO_TO: Final = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
_COLON: Final = frozenset({"hx", "helix", "zed", "subl"})


def edit_command(editor: str, path: str, line: int) -> list[str]:
    """How this editor opens a file at a line; most take +LINE, as vi does."""
    words = shlex.split(editor, posix=not WINDOWS)  # whose paths have backslashes
    name = Path(words[0]).stem
    if name in _GO_TO:
        return [*words, "--goto", f"{path}:{line}"]
    if name in _COLON:
        return [*words, f"{path}:{line}"]
    return [*words, path] if name == "notepad" else [*words, f"+{line}", path]


def _ansi(style: str) -> str:
    """A style of rich in the words of prompt_toolkit."""
    return " ".join(word if word == "bold" else f"ansi{word.replace('_', '')}" for word in style.split())
