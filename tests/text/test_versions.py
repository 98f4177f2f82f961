"""Versions, dates and periods in other words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import outcrop
from outcrop.text.versions import other_forms


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("What changed in 0.19.2?", {"v0.19.2"}),
        ("since v0.19.2", {"0.19.2"}),
        ("in 2.1", {"v2.1", "2.1.0", "v2.1.0"}),
        ("in 2.0.0", {"v2.0.0", "2.0", "v2.0"}),
        ("on 2014-07-21", {"july"}),
        ("on 21 July 2014", {"2014-07-21"}),
        ("on the 1st of May 2014", {"2014-05-01"}),
        ("on Sept. 3, 2014", set()),
        ("on Sep 3, 2014", {"2014-09-03"}),
        ("in Q3 2019", {"third", "quarter"}),
        ("in the third quarter of 2019", {"q3"}),
        ("in FY19", {"2019", "fiscal"}),
        ("in FY2019", {"2019", "fiscal"}),
        ("in fiscal year 2019", {"fy2019", "fy19"}),
        ("2014-13-21, 1.5b, 3.11-rc1, a1.2, 12.345.678.901.234", set()),
        ("no numbers at all", set()),
    ],
)
def test_what_is_named_by_number_has_other_forms(text: str, forms: set[str]) -> None:
    assert {form for _, form, _ in other_forms(text)} == forms


@given(
    st.text()
    | st.lists(st.sampled_from(["1", ".", "v", " ", "-", "Q3", "FY", "may", "2014", "07"])).map("".join)
)
def test_any_text_is_read(text: str) -> None:
    for given_, form, share in other_forms(text):
        assert given_ in text
        assert form == form.strip()
        assert 0 < share <= 1


def test_a_version_is_found_in_the_form_of_a_heading(tmp_path: Path) -> None:
    sections = "".join(
        f"## v0.{minor}.0 (2014-{minor:02}-11)\n\nPlayback was mended, and the mixer.\n\n"
        for minor in range(1, 13)
    )
    (tmp_path / "changelog.md").write_text(f"# Changes\n\n{sections}")
    with outcrop.open(tmp_path / "data" / "index.db") as engine:
        engine.add(tmp_path)
        for asked in ("What changed in version 0.9.0?", "What was released on 11 September 2014?"):
            assert engine.search(asked).hits[0].heading_path[-1] == "v0.9.0 (2014-09-11)"
