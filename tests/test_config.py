"""Where the settings come from when the machine is bare."""

from __future__ import annotations

from pathlib import Path

import pytest

from outcrop.config import load_config
from outcrop.errors import ConfigError
from outcrop.parse import ParseLimits


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home folder, as in many containers."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)


@pytest.mark.usefixtures("homeless")
def test_without_a_home_folder_a_named_index_still_opens(tmp_path: Path) -> None:
    assert load_config({"db": tmp_path / "i.db"}, environ={}).db == tmp_path / "i.db"
    assert load_config({}, environ={"OUTCROP_DB": str(tmp_path / "i.db")}).db == tmp_path / "i.db"


@pytest.mark.usefixtures("homeless")
def test_without_a_home_folder_the_error_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="set HOME"):
        load_config({}, environ={})


def test_an_empty_variable_for_the_index_means_the_default() -> None:
    assert load_config({}, environ={"OUTCROP_DB": ""}).db.name == "index.db"


def test_the_home_of_a_user_there_is_not_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="db = "):
        load_config({"db": "~nobody-of-that-name/i.db"}, environ={})


def test_a_text_file_within_the_size_limit_is_within_the_limit_of_characters(tmp_path: Path) -> None:
    config = load_config({"db": tmp_path / "i.db"}, environ={})
    assert ParseLimits(timeout_s=1, memory_bytes=1).max_text_chars >= config.max_file_bytes


def test_a_key_for_all_programs_serves_only_where_outcrop_has_none_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('comment_key = "from-file"\n', "utf-8")
    environ = {"OPENAI_API_KEY": "for-all", "OUTCROP_CONFIG": str(file)}
    config = load_config({"db": tmp_path / "i.db"}, environ=environ)
    assert (config.embed_key, config.comment_key) == ("for-all", "from-file")
    config = load_config({"db": tmp_path / "i.db"}, environ={**environ, "OUTCROP_COMMENT_KEY": ""})
    assert config.comment_key == ""
    assert "for-all" not in repr(config)


def test_comments_are_off_and_an_address_without_a_model_is_a_mistake(tmp_path: Path) -> None:
    assert load_config({"db": tmp_path / "i.db"}, environ={}).comment_model == ""
    with pytest.raises(ConfigError, match="comment_model"):
        load_config({"db": tmp_path / "i.db", "comment_url": "http://localhost:1/v1"}, environ={})


def test_the_reranker_is_a_setting_like_the_others(tmp_path: Path) -> None:
    assert load_config({"db": tmp_path / "i.db"}, environ={}).reranker == "mini"
    environ = {"OUTCROP_RERANKER": "onnx:~/cross"}
    assert load_config({"db": tmp_path / "i.db"}, environ=environ).reranker == "onnx:~/cross"
