"""The sandbox leaves nothing behind, however a page ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.sandbox import PORT_SHOWN, open_sandbox


def test_a_page_that_fails_half_way_leaves_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import tempfile\nfolder = tempfile.TemporaryDirectory()\nraise ValueError(folder.name)"
    with (
        pytest.raises(ValueError, match="/") as failed,
        open_sandbox(tmp_path, frozenset(), monkeypatch, int(PORT_SHOWN), "") as sandbox,
    ):
        sandbox.run_python(code)
    assert not Path(str(failed.value)).exists()
