"""The passage of a hit: the lines that answer, of code with numbers and colours, each a link to its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from outcrop.serve.cli.render_code import declared_at
from outcrop.serve.excerpt import Excerpt, Marker, all_lines, best_lines, cut_line, shared_indent
from outcrop.serve.terminal import clean, clean_line, crop

if TYPE_CHECKING:
    from rich.text import Text

    from outcrop import records
    from outcrop.serve.cli.session import Screen

_INDENT: Final = "   "
_GAP: Final = f"{_INDENT}⋮"
STYLES: Final = {
    # the kinds of `highlight_source`; what is not here, such as punctuation, has the terminal's own colour
    "k": "magenta",
    "kc": "cyan",
    "kt": "cyan",
    "cp": "magenta",
    "s": "green",
    "sd": "green",
    "c": "bright_black",
    "m": "cyan",
    "nf": "blue",
    "nc": "yellow",
    "nd": "yellow",
    "na": "blue",
    "nt": "magenta",
}
MATCH: Final = "bold red"


def link_to(hit: records.Hit, line: int, links: str) -> str:
    """The address of a line of a hit's file, percent-encoded; empty where there is none. `links` is the setting."""
    from outcrop.records.found import EXTRACTED_KINDS

    if hit.document.origin != "file" or links == "none":
        return ""
    file = Path(hit.document.uri).as_uri()
    if hit.page is not None:
        return f"{file}#page={hit.page}"
    if hit.document.kind in EXTRACTED_KINDS:
        return file
    return f"{file}#L{line}" if links == "file" else f"{links}://file{file.removeprefix('file://')}:{line}"


class Passage:
    """What is shown of a hit, worked out once: the head of a hit links to the line that matches best."""

    def __init__(self, out: Screen, hit: records.Hit, *, full: bool) -> None:
        self._out, self._hit = out, hit
        self._marker = Marker(hit.why.matched_terms, hit.why.matched_phrases, hit.why.language)
        self._is_code = bool(hit.document.language)
        self._declared = declared_at(hit.code, hit.line_start)
        raw = clean(hit.text).expandtabs(4)
        self._text = raw.strip("\n")
        self.first_line = hit.line_start + len(raw) - len(raw.lstrip("\n"))
        headings = None if self._is_code else (hit.document.title, *hit.heading_path)
        self._excerpt: Excerpt = (
            all_lines(self._text)
            if full
            else best_lines(self._text, self._marker, anchor=self._declared, headings=headings)
        )
        self._may_cut = out.is_terminal and self._is_code and not full

    @property
    def line(self) -> int:
        """The number of the line in which the most words match, the first of such and of those shown."""
        words = {number: len(self._marker.words(line)) for number, line in self._excerpt.lines}
        return self.first_line + max(words, key=lambda number: words[number], default=0)

    @property
    def link(self) -> str:
        """The address of that line."""
        return link_to(self._hit, self.line, self._out.links)

    def _link(self, number: int) -> str:
        return link_to(self._hit, self.first_line + number, self._out.links)

    def print(self) -> None:
        """The lines, with a mark wherever some are left out."""
        out, lines = self._out, self._excerpt.lines
        indent = shared_indent([line for _, line in lines])
        styled = self._colour()
        if self._print_signature() or self._excerpt.before:
            out.line(_GAP, style="dim")
        width = len(str(self.first_line + lines[-1][0])) if lines else 0
        last = lines[0][0] - 1 if lines else 0
        for number, line in lines:
            if number > last + 1:
                out.line(_GAP, style="dim")
            last = number
            place = f"{self.first_line + number:>{width}}" if self._is_code else ""
            if out.plain is not None:
                out.line(f"{_INDENT}{place}{'  ' if place else ''}{line[indent:]}".rstrip())
            else:
                self._draw(number, place, line, styled[number] if styled else None, indent)
        if self._excerpt.after:
            out.line(_GAP, style="dim")

    def _draw(self, number: int, place: str, line: str, styled: Text | None, indent: int) -> None:
        """One line on a terminal: its number a link, its words marked."""
        from rich.padding import Padding
        from rich.text import Text

        console, head = self._out.console, Text(_INDENT)
        if place:
            head.append(place, style=self._number_style(number)).append("  ")
        shown = self._cut(line, styled, indent, head.cell_len)
        for start, end in self._marker.spans(shown.plain):
            shown.stylize(MATCH, start, end)
        if not self._is_code and console.is_terminal and shown:
            console.print(Padding(shown, (0, 0, 0, 3), expand=False))  # what wraps stays indented
        else:
            whole = head + shown
            whole.rstrip()
            console.print(whole, soft_wrap=True)

    def _print_signature(self) -> bool:
        """The signature of the declaration whose middle is shown."""
        code = self._hit.code
        signature = clean_line(code.signature) if code else ""
        if not signature or self._declared in [number for number, _ in self._excerpt.lines]:
            return False
        out = self._out
        room = max(out.console.width - len(_INDENT), 20) if out.is_terminal else len(signature)
        self._out.line(_INDENT + crop(signature, room), style="dim")
        return True

    def _number_style(self, number: int) -> str:
        link = self._link(number)
        return f"dim link {link}" if link else "dim"

    def styled_lines(self) -> list[list[tuple[str, str]]]:
        """The lines of the whole text, each in pieces with their kind, a key of STYLES."""
        from outcrop.serve.page.highlight import highlight_source

        found = highlight_source(self._text, self._hit.document.language) if self._is_code else None
        lines: list[list[tuple[str, str]]] = [[]]
        for text, kind in found or [(self._text, "")]:
            first, *rest = text.split("\n")
            lines[-1].append((first, kind))
            lines += [[(part, kind)] for part in rest]
        return lines

    def _colour(self) -> list[Text] | None:
        """The lines with the colours of their language; None where there are none."""
        if not self._is_code or self._out.plain is not None or self._out.console.color_system is None:
            return None
        from rich.text import Text

        return [
            Text.assemble(*((text, STYLES.get(kind, "")) for text, kind in line))
            for line in self.styled_lines()
        ]

    def _cut(self, line: str, styled: Text | None, indent: int, taken: int) -> Text:
        """The line without the indent that all share; code that would wrap is cut, for it would not look like code."""
        from rich.text import Text

        plain = line[indent:].rstrip()
        if self._may_cut:
            plain = cut_line(plain, self._marker, max(self._out.console.width - taken - 2, 20))
        if styled is None or plain.startswith("…") or line.startswith("…"):
            return Text(plain)
        kept = plain.removesuffix("…")
        return styled[indent : indent + len(kept)].append(plain[len(kept) :])
