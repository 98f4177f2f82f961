"""What a pattern requires: never more than a line that matches holds."""

from __future__ import annotations

import pytest

from outcrop.text.literals import required_texts


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("retry", [["retry"]]),
        ("def retry", [["def retry"]]),
        (r"retry\(", [["retry("]]),
        ("foo|bar", [["foo"], ["bar"]]),
        ("foo.bar", [["foo", "bar"]]),
        ("fooo*", [["foo"]]),
        ("fo+bar", [["fo", "bar"]]),
        ("fo+?bar", [["fo", "bar"]]),
        ("foo?bar", [["fo", "bar"]]),
        ("fo{0,2}bar", [["f", "bar"]]),
        ("(foo)*bar", [["bar"]]),
        ("(foo|b(a[)]r))x", [["x"]]),
        (r"(?:\)foo)bar", [["bar"]]),
        ("(?P<name>foo)bar", [["bar"]]),
        ("(?i:foo)bar", [["bar"]]),
        ("[^]x]foo", [["foo"]]),
        ("[]x]foo", [["foo"]]),
        ("[a[b]c]foo", [["foo"]]),
        (r"[[:alpha:]\]]foo", [["foo"]]),
        (r"[\w&&[^o]]+foo", [["foo"]]),
        (r"\bfoo\b{end-half}bar", [["foo", "bar"]]),
        (r"\p{Greek}foo\pLbar", [["foo", "bar"]]),
        (r"\x41foo\x{1F600}bar\u0041baz", [["foo", "bar", "baz"]]),
        ("^foo$", [["foo"]]),
        ("naïve", [["naïve"]]),
    ],
)
def test_the_texts_that_must_occur(pattern: str, required: list[list[str]]) -> None:
    found = required_texts(pattern, literal=False, ignore_case=False)
    assert [[text for text in texts if text] for texts in found] == required


@pytest.mark.parametrize(
    "pattern", ["(?i)foo", "(?x)foo # bar", "(?x: a ) # )foo", "fo+*bar", "fo+{0}", "fo??*", r"\efoo"]
)
def test_what_is_not_understood_requires_nothing(pattern: str) -> None:
    assert required_texts(pattern, literal=False, ignore_case=False) == []


def test_letters_with_variants_elsewhere_are_not_required_when_case_is_ignored() -> None:
    assert required_texts("Task(naïve)", literal=True, ignore_case=True) == [["Ta", "", "(na", "ve)"]]
    assert required_texts("Task", literal=True, ignore_case=False) == [["Task"]]
