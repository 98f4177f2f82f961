"""Where the settings come from when the machine is bare."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from outcrop.config import (
    Config,
    default_data_dir,
    find_editor,
    is_colour_forced,
    load_config,
    user_folders,
)
from outcrop.errors import ConfigError
from outcrop.parse.limits import ParseLimits
from outcrop.records.database_url import DatabaseUrl


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
    assert str(load_config({}, environ={"OUTCROP_DB": ""}).db).endswith("/index.db")


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


# ------------------------------------------------------------------ an index in a database


def on_postgres(**settings: str) -> Config:
    url = "postgresql://ann:hush@db.example/papers?schema=team"
    return load_config({"db": url, **settings}, environ={"XDG_DATA_HOME": "/data", "HOME": "/home/ann"})


def test_the_index_of_vectors_is_one_of_two_and_its_effort_above_zero(tmp_path: Path) -> None:
    common = {"HOME": str(tmp_path)}
    set_up = load_config(environ=common | {"OUTCROP_VECTOR_INDEX": "ivfflat", "OUTCROP_VECTOR_EFFORT": "2.5"})
    assert (set_up.vector_index, set_up.vector_effort) == ("ivfflat", 2.5)
    with pytest.raises(ConfigError, match="choose one of hnsw, ivfflat"):
        load_config(environ=common | {"OUTCROP_VECTOR_INDEX": "flat"})
    for effort in ("0", "-1", "nan", "inf", "101"):
        with pytest.raises(ConfigError, match="vector_effort"):
            load_config(environ=common | {"OUTCROP_VECTOR_EFFORT": effort})


def test_a_database_is_named_by_its_url_in_arguments_and_in_the_environment() -> None:
    by_argument = on_postgres().db
    by_variable = load_config(
        {}, environ={"OUTCROP_DB": "postgres://ann:hush@db.example/papers?schema=team"}
    ).db
    assert (
        by_argument == by_variable == DatabaseUrl.parse("postgresql://ann:hush@db.example/papers?schema=team")
    )
    assert load_config({"db": by_argument}, environ={}).db == by_argument


def test_a_url_that_is_wrong_says_what_one_looks_like_and_does_not_repeat_itself() -> None:
    for wrong in (
        "postgresql:/ann:hush@db/papers",
        "mysql://ann:hush@db/papers",
        Path("postgresql://ann:hush@db/p"),
    ):
        with pytest.raises(ConfigError, match=re.escape("postgresql://user@host:5432/database")) as caught:
            load_config({"db": wrong}, environ={})
        assert "hush" not in str(caught.value)


def test_a_configuration_does_not_show_the_password() -> None:
    assert "hush" not in repr(on_postgres())
    assert "***" in repr(on_postgres())


@pytest.mark.skipif(sys.platform == "darwin", reason="the data folder lies elsewhere")
def test_what_lies_beside_a_database_has_a_folder_of_this_machine() -> None:
    config = on_postgres()
    assert isinstance(config.db, DatabaseUrl)
    folder = Path("/data/outcrop/postgres") / config.db.folder_name()
    assert (config.folder, config.kb) == (folder, folder / "kb")
    assert config.beside(".token") == folder / "index.token"
    assert on_postgres(data_dir="/srv").folder == Path("/srv/postgres") / config.db.folder_name()


def test_what_lies_beside_a_file_bears_its_name(tmp_path: Path) -> None:
    config = load_config({"db": tmp_path / "i.db"}, environ={})
    assert (config.folder, config.kb) == (tmp_path, tmp_path / "kb")
    assert config.beside(".token") == tmp_path / "i.db.token"
    assert config.beside("") == config.db


@pytest.mark.usefixtures("homeless")
def test_without_a_home_folder_a_database_needs_the_name_of_a_folder() -> None:
    url = "postgresql://db.example/papers"
    with pytest.raises(ConfigError, match="OUTCROP_DATA_DIR"):
        load_config({"db": url}, environ={})
    assert load_config({"db": url}, environ={"OUTCROP_DATA_DIR": "/srv"}).data_dir == Path("/srv")


def test_another_process_gets_the_same_index_from_what_is_written_down_of_it(tmp_path: Path) -> None:
    for config in (on_postgres(), load_config({"db": tmp_path / "i.db"}, environ={})):
        assert load_config({"db": config.db_text(), "data_dir": config.data_dir}, environ={}) == config


def test_windows_has_its_own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    env = {"LOCALAPPDATA": str(tmp_path / "local"), "APPDATA": str(tmp_path / "roaming")}
    assert default_data_dir(env) != tmp_path / "local" / "outcrop"
    assert user_folders(env)[1] != tmp_path / "roaming"
    monkeypatch.setattr("outcrop.config.WINDOWS", True)
    assert default_data_dir(env) == tmp_path / "local" / "outcrop"
    assert user_folders(env)[1] == tmp_path / "roaming"
    assert find_editor({}) == "notepad"


def test_output_that_is_no_terminals_looks_like_one_by_the_variables_that_rich_goes_by() -> None:
    assert is_colour_forced({"FORCE_COLOR": "1"})
    assert is_colour_forced({"TTY_COMPATIBLE": "1"})
    assert not is_colour_forced({"FORCE_COLOR": "", "TTY_COMPATIBLE": "0"})
    assert not is_colour_forced({})
