"""Manual pages: what a command is for, and what each of its options does."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from training.pairs.clean import cap, sentences, worth_asking
from training.pairs.prose import MAX_CHARS, cut_text
from training.pairs.questions import number, pick, questions, read_sentence
from training.pairs.records import Doc, Gathered

MAN_NAME: Final = re.compile(r"\.[1-8](?:[a-z]+)?(?:\.in)?$")
MAX_OPTIONS: Final = 60
"""Of one page: enough of the longest."""

_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[&/,^|%)c]|\\\*(?:\(..|\[[^\]]*\]|.)")
_SPECIAL: Final = {
    "\\-": "-", "\\(bu": "*", "\\(aq": "'", "\\e": "\\", "\\ ": " ", "\\~": " ", "\\(lq": '"', "\\(rq": '"',
    "\\(em": "-", "\\(en": "-", "\\(co": "(c)", "\\[aq]": "'", "\\(dq": '"', "\\(hy": "-",
}  # fmt: skip
_SPECIALS = re.compile("|".join(re.escape(key) for key in _SPECIAL))
_SECTION = re.compile(r"^\.\s*S[hHsS]\s+(.*)$")
_FONT_LINE = re.compile(
    r"^\.\s*(?:B|I|BR|BI|IR|IB|RB|RI|SM|SB|Nm|Ar|Cm|Pa|Em|Sy|Li|Va|Ev|Xr|Ql|Dq|Sq|Op|Ns|No|Ic|Fn|Fa|Dv|Er)\s*(.*)$"
)
_OPTION_TAG = re.compile(r"^\.\s*(?:TP|HP|IP|It)\b\s*(.*)$")
_MDOC_WORD = re.compile(r"\b(?:Fl|Ar|Cm|Ns|Op|Nm|Pa|Xo|Xc|Oo|Oc|Sy|Em|Li|Ic|Va|Ev|Dq|Sq|Ql|No|Pq|Aq|Brq)\b")
_NAME_LINE = re.compile(r"^\s*(?P<names>[\w.+, -]+?)\s+(?:-|--|\\-|–)\s+(?P<what>.{5,200})$", re.MULTILINE)


def is_man_page(path: str, text: str) -> bool:
    """Whether a file is a manual page in roff."""
    return bool(MAN_NAME.search(path)) and bool(re.search(r"^\.\s*(?:TH|Dt)\b", text[:6000], re.MULTILINE))


def read_man(text: str, path: str, out: Gathered) -> None:
    """Add the sections of a manual page, asked for by what the page, its sections and options are for."""
    page = PurePosixPath(path).name.removesuffix(".in").rpartition(".")[0]
    sections = _sections(text)
    about = ""
    for title, lines, at in sections:
        body = "\n".join(said for said, _ in lines)
        if title.upper() == "NAME":
            found = _NAME_LINE.search(body.replace("\n", " ") if "\n" in body.strip() else body)
            about = found["what"].strip() if found is not None else ""
            continue
        if title.upper() in (
            "AUTHOR",
            "AUTHORS",
            "COPYRIGHT",
            "SEE ALSO",
            "BUGS",
            "REPORTING BUGS",
            "HISTORY",
            "LICENSE",
        ):
            continue
        head = f"{page} > {title.title()}"
        if title.upper() in ("DESCRIPTION", "SYNOPSIS", "OVERVIEW") and about and worth_asking(about, 2):
            if len(body.split()) >= 8:
                doc = out.add(Doc(path, at, head, cut_text(body), "man", False, page))
                _ask_about(page, about, doc, title, out)
                about = "" if title.upper() == "DESCRIPTION" else about
        elif len(body.split()) >= 25:
            doc = out.add(Doc(path, at, head, cut_text(body), "man", False, page))
            out.ask(f"{page} {title.lower()}", doc, "man")
        _ask_options(page, head, lines, path, at, out)


def _ask_about(page: str, about: str, doc: int, title: str, out: Gathered) -> None:
    out.ask(about if title.upper() == "DESCRIPTION" else f"{page} syntax", doc, "man")
    asked = read_sentence(about)
    if asked is not None and asked.verb and title.upper() == "DESCRIPTION":
        moulds = (
            "command to {}",
            "how to {} from the command line",
            "linux {}",
            "how to {} in terminal",
            "shell command to {}",
        )
        out.ask(pick(page, moulds, "about").format(asked.phrase.lower()), doc, "man")


def _ask_options(
    page: str, head: str, lines: list[tuple[str, bool]], path: str, at: int, out: Gathered
) -> None:
    """Each option's description asks for it; the text is the option with those after it, as a chunk has them."""
    starts = [place for place, (said, is_tag) in enumerate(lines) if is_tag and said.strip().startswith("-")]
    for count, place in enumerate(starts[:MAX_OPTIONS]):
        end = starts[count + 1] if count + 1 < len(starts) else len(lines)
        described = " ".join(said for said, _ in lines[place + 1 : end]).strip()
        if not described:
            continue
        first = sentences(" ".join(described.split()))[0]
        tag = lines[place][0].strip()
        seed = f"{page}\0{tag}"
        if not worth_asking(first, 4) or number(seed, "option") % 2:
            continue
        from_ = starts[max(0, count - number(seed, "before") % 3)]
        text = "\n".join(said for said, _ in lines[from_:])[:MAX_CHARS]
        if tag not in text:
            text = "\n".join(said for said, _ in lines[place:])[:MAX_CHARS]
        doc = out.add(Doc(path, at + place, head, text.strip(), "man", False, page))
        asked = questions(first, language="", kind="", around="", seed=seed, count=1)
        moulds = ("{p} {s}", "{p} option to {s}", "how to {s} with {p}", "{p} flag to {s}", "{s} in {p}")
        sentence = read_sentence(first)
        if sentence is not None and sentence.verb:
            out.ask(pick(seed, moulds, "mould").format(p=page, s=sentence.phrase.lower()), doc, "man")
        elif asked:
            out.ask(f"{page} {cap(first, 25)}", doc, "man")


def _sections(text: str) -> list[tuple[str, list[tuple[str, bool]], int]]:
    """Title, lines (and whether each is the tag of an option) and place of each section."""
    found: list[tuple[str, list[tuple[str, bool]], int]] = []
    is_tag = False
    for number_, line in enumerate(text.split("\n")):
        section = _SECTION.match(line)
        if section is not None:
            found.append((_words(section[1]).strip('" '), [], number_ * 1000))
            continue
        if not found or line.startswith(('.\\"', "'\\\"", '\\"')):
            continue
        option = _OPTION_TAG.match(line)
        if option is not None:
            tag = _words(re.sub(r"\s+\d+n?$", "", option[1])).strip('" ')
            is_tag = not tag or not any(map(str.isalnum, tag)) or line.lstrip(". ").startswith("TP")
            if tag and not is_tag:
                found[-1][1].append((tag, True))
            continue
        font = _FONT_LINE.match(line)
        said = (
            _words(font[1].replace('"', ""))
            if font is not None
            else ""
            if line.startswith((".", "'"))
            else _words(line)
        )
        if line.startswith(".Nd"):
            said = "- " + _words(line[3:])
        elif line.startswith(".Nm") and found[-1][0].upper() == "NAME":
            said = _words(line[3:])
        if said.strip():
            found[-1][1].append((said, is_tag))
            is_tag = False
    return found


def _words(line: str) -> str:
    line = _FONT.sub("", _SPECIALS.sub(lambda found: _SPECIAL[found[0]], line))
    line = re.sub(r"\bFl\s+", "-", line)
    return " ".join(_MDOC_WORD.sub("", line).split())
