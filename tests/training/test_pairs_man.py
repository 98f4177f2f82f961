"""Manual pages become sections and what their options are for."""

from __future__ import annotations

from training.pairs.man import is_man_page, read_man
from training.pairs.records import Gathered

PAGE = r""".\" a comment
.TH SIFT 1
.SH NAME
sift \- search files for lines that match a pattern
.SH SYNOPSIS
.B sift
[\fIoptions\fR] pattern [\fIfile\fR ...]
.SH DESCRIPTION
.B sift
reads the named files line by line and prints those lines that match the pattern that was given.
.SH OPTIONS
.TP
.B \-i
Ignore the case of letters in the pattern and in the files.
.TP
.BR \-c ", " \-\-count
Print only a count of the lines that match in each file.
.TP
.B \-l
Print only the names of files that have a line that matches.
.TP
.B \-v
Select the lines that do not match the pattern at all.
"""


def test_the_page_is_asked_for_by_what_it_does() -> None:
    out = Gathered()
    assert is_man_page("man/sift.1", PAGE)
    read_man(PAGE, "man/sift.1", out)
    asked = {pair.q: out.docs[pair.doc] for pair in out.pairs}
    doc = asked["search files for lines that match a pattern"]
    assert doc.head == "sift > Description"
    assert doc.text.startswith("sift\nreads the named files")


def test_an_option_is_asked_for_by_its_description_and_the_text_has_it() -> None:
    out = Gathered()
    read_man(PAGE, "man/sift.1", out)
    options = [
        (pair.q, out.docs[pair.doc].text) for pair in out.pairs if out.docs[pair.doc].head == "sift > Options"
    ]
    assert len(options) > 1
    said = {
        "ignore the case": "-i",
        "print only a count": "--count",
        "only the names": "-l",
        "do not match": "-v",
    }
    for query, text in options:
        for words, tag in said.items():
            assert words not in query or tag in text


def test_a_text_that_only_ends_in_a_digit_is_no_manual_page() -> None:
    assert not is_man_page("notes.1", "Plain words about the first release.")
