"""One frozen Config, and the only code that reads the environment and the configuration file.

Precedence: arguments, then `OUTCROP_*` variables, then the user's `config.toml`, then the defaults below.
A configuration file is read only from the user's own configuration folder or from where `OUTCROP_CONFIG`
points: one that lies in a folder being indexed is somebody else's word and is ignored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from outcrop.errors import ConfigError
from outcrop.records.database_url import DatabaseUrl, has_scheme
from outcrop.system.dataclass import dataclass

WINDOWS: Final = os.name == "nt"
ENV_PREFIX = "OUTCROP_"
DEFAULT_TOKENIZER: Final = "o200k"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Every setting there is, with its default. Sizes carry their unit in the name."""

    db: Path | DatabaseUrl
    """The index: a file, or a Postgres database by its URL, `postgresql://user@host/database?schema=team`."""
    data_dir: Path = Path()
    """Where this machine keeps what belongs to an index on Postgres but not in the database, such as the server's jobs
    and the notes of agents; by default where the index would lie if it were a file."""
    model: str = ""
    """Empty: the model the index was made with, `static` for a new one. Else `static` (ships with Outcrop),
    `mini` (a small transformer, with `pip install 'outcrop[mini]'`), `e5-small` (a multilingual one, with
    `pip install 'outcrop[multilingual]'`), `openai:NAME` (an OpenAI-compatible endpoint), `onnx:FOLDER` or
    `sentence-transformers:FOLDER` (on disk)."""
    reranker: str = "mini"
    """What gives a second opinion where a search asks for one: `mini` (with `pip install 'outcrop[mini]'`), or
    `onnx:FOLDER`, a cross-encoder on disk. Opened at the first such search."""
    embed_url: str = "https://api.openai.com/v1"
    """Base URL of the endpoint for `openai:` models."""
    embed_key: str = field(default="", repr=False)
    """Key for that endpoint; OUTCROP_EMBED_KEY, else OPENAI_API_KEY. Never logged or stored."""
    embed_query_prefix: str = ""
    """Put before a query for models that want an instruction."""
    comment_model: str = ""
    """A chat model that says in words what each chunk of code does; empty: a summary is made without a model.
    Code is sent to its endpoint."""
    comment_url: str = "https://api.openai.com/v1"
    """Base URL of the OpenAI-compatible endpoint of that model."""
    comment_key: str = field(default="", repr=False)
    """Key for that endpoint; OUTCROP_COMMENT_KEY, else OPENAI_API_KEY. Never logged or stored."""

    # ingest
    chunker: Literal["auto", "prose", "headings", "recursive"] = "auto"
    """How documents are cut: `auto` by their structure, some 200 tokens a chunk (code 300); `prose` larger, 768;
    `headings` one chunk a section, up to 500; `recursive` 1 000 characters with 200 of overlap, as others do."""
    chunk_tokens: int = 0
    """Target size of a chunk in tokens; 0 means the chunker's own default."""
    chunk_overlap: float | None = None
    """Share of a chunk that repeats the end of the one before, 0 to 0.5; not set: the chunker's own (0 for `auto` and
    `headings`, 0.1 for `prose`, 0.2 for `recursive`)."""
    chunk_min_chars: int | None = None
    """A smaller chunk joins a neighbour where it can; not set: the chunker's own, 100."""
    max_file_bytes: int = 32 * 1024 * 1024
    """A larger file is left out, with a line in the report."""
    parse_timeout_s: float = 60.0
    """The longest that a file may take to be read, masked and cut into chunks; over it, it is a line in the report."""
    parse_memory_bytes: int = 1024 * 1024 * 1024
    """The most memory that reading a PDF, an Office file or a page may take."""
    readers: int = 2
    """Processes that read and parse files beside this one while a large folder is added, at most one for each further
    core; 0: this one does it all. Two keep the writing of an index busy, more do not."""
    ocr: Literal["auto", "models", "tesseract", "off"] = "auto"
    """What reads scans and pictures: `models` (with `pip install 'outcrop[ocr]'`; Latin and Greek letters, Chinese and
    Japanese), `tesseract` (the system's), `auto` the first of them that is installed, `off` nothing."""
    ocr_languages: str = ""
    """Languages that Tesseract reads, such as `deu+eng`; empty: those of its packs that are installed, if they are
    four at most, else English."""
    index_secrets: bool = False
    """Take in files that look like credentials, and leave keys and passwords in texts as they are. Off, such files are
    skipped, and what looks like a key is masked before it reaches the index."""
    allow_private_urls: bool = False
    """Let URLs lead to private addresses. For an intranet one trusts; never for agents."""
    url_timeout_s: float = 30.0
    """The longest that fetching a URL may take."""
    url_max_bytes: int = 32 * 1024 * 1024
    """A larger answer of a URL is refused."""

    # search
    limit: int = 10
    """Hits of a search, unless it says otherwise."""
    floor: float = 0.25
    """The least similarity (cosine) of a hit that shares no word with the query, 0 to 1."""
    budget_tokens: int = 1200
    """Size of a context or a map in tokens, unless the call says otherwise."""
    tokenizer: str = DEFAULT_TOKENIZER
    """What counts the tokens of a context: `o200k` (exactly as OpenAI's current models do), `cl100k` (GPT-4, GPT-3.5),
    `estimate` (errs on the safe side for these, Llama 2 and Claude alike) or the path of a tokenizer.json."""

    vector_index: Literal["", "hnsw", "ivfflat"] = ""
    """The index of the vectors on Postgres; empty: the one that is there, hnsw at first. Another replaces it after the
    next write. hnsw finds more; ivfflat is built sooner and is smaller."""
    vector_effort: float = 1.0
    """How far a query searches that index: 2 looks twice as far, which finds more of the nearest and takes longer."""

    # knowledge base, server and chat
    kb: Path = Path()
    """The folder of the notes that agents write; by default `kb` beside the index."""
    host: str = "127.0.0.1"
    """Where `outcrop serve` listens. Anything but this machine itself needs a token."""
    port: int = 7411
    """The port on which it listens; 0 takes any that is free."""
    token: str = field(default="", repr=False)
    """What clients of the server must show, if set. Never logged."""
    roots: tuple[str, ...] = ()
    """Folders that may be indexed over HTTP or by an agent, with all below them. None: only what was added here."""
    tools: str = "lean"
    """The tools that agents are given: `lean` for the five that most need, `all`, or names with commas between them."""
    allowed_hosts: tuple[str, ...] = ()
    """Other names by which the server may be addressed, such as that of a proxy in front of it."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of other origins that may call the server."""
    requests_per_minute: int = 0
    """The most that one client may ask in a minute; 0: no limit."""
    chat_model: str = ""
    """The model that `outcrop chat` and the page talk to; empty: no chat."""
    chat_url: str = "http://127.0.0.1:11434/v1"
    """Base URL of its OpenAI-compatible endpoint. The default is Ollama's."""
    chat_key: str = field(default="", repr=False)
    """Key for that endpoint; OUTCROP_CHAT_KEY, else OPENAI_API_KEY. Never logged or stored."""
    chat_window_tokens: int = 8000
    """The most that is sent to that model at once, estimated. Older turns and sources beyond it are left out; a search
    before a question takes a sixteenth of it at most. The default suits small models on one's own machine."""

    shared: bool = False
    """Leave the permissions of the index and of what lies beside it as they are, for an index that other users of this
    machine read. Off, only its owner can read it: what is open to others is closed when the index is opened."""

    # terminal
    links: Literal["file", "vscode", "cursor", "windsurf", "zed", "none"] = "file"
    """What opens a place that is clicked on in a terminal: the program of the file (`file://…#L12`), or an editor."""

    # logs
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The lowest level of log lines (JSON, on standard error) that are written."""

    def db_text(self) -> str:
        """The index as a setting names it, the password included. Never for showing: `str(config.db)` is."""
        return self.db.whole() if isinstance(self.db, DatabaseUrl) else str(self.db)

    @property
    def folder(self) -> Path:
        """The folder of all that lies beside the index. It need not be there."""
        if isinstance(self.db, DatabaseUrl):
            return self.data_dir / "postgres" / self.db.folder_name()
        return self.db.parent

    def beside(self, ending: str) -> Path:
        """A file or folder that lies beside the index: `index.db.token` for `.token`."""
        return self.folder / (("index" if isinstance(self.db, DatabaseUrl) else self.db.name) + ending)


def load_config(overrides: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Arguments, environment, file and defaults become one Config; anything unknown is an error."""
    env = os.environ if environ is None else environ
    # What is said of Outcrop's own settings, by file or variable, counts more than a key meant for all programs.
    values: dict[str, Any] = dict.fromkeys(
        ("embed_key", "comment_key", "chat_key"), env.get("OPENAI_API_KEY", "")
    )
    config_file = _config_file(env)
    if config_file is not None and config_file.is_file():
        values |= _read_file(config_file)
    elif "OUTCROP_CONFIG" in env:
        raise ConfigError(f"OUTCROP_CONFIG names {config_file}, which is not a file")
    values |= _read_environment(env)
    values |= {name: value for name, value in (overrides or {}).items() if value is not None}
    if not values.get("db"):
        values["db"] = default_data_dir(env) / "index.db"
    for name in values:
        _check_known(name)
    typed = {name: _coerce(name, value) for name, value in values.items()}
    if isinstance(typed["db"], DatabaseUrl) and not values.get("data_dir"):
        typed["data_dir"] = default_data_dir(env)
    return _validate(Config(**typed))


def default_data_dir(env: Mapping[str, str]) -> Path:
    """Where the index lives unless told otherwise."""
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "outcrop"
    if WINDOWS and env.get("LOCALAPPDATA"):
        return Path(env["LOCALAPPDATA"]) / "outcrop"
    return Path(env.get("XDG_DATA_HOME") or _home() / ".local" / "share") / "outcrop"


def find_own_folders(config: Config, environ: Mapping[str, str] | None = None) -> list[Path]:
    """The folders on the way to an index that are Outcrop's own: the default data folder and those below it. Empty for
    an index that lies elsewhere, in a folder that somebody chose."""
    try:
        home = default_data_dir(os.environ if environ is None else environ).absolute()
    except ConfigError:
        return []
    return [folder for folder in (config.folder, *config.folder.parents) if folder.is_relative_to(home)][::-1]


def user_folders(environ: Mapping[str, str] | None = None) -> tuple[Path, Path]:
    """The user's home folder, and the one in which most programs keep their settings."""
    env = os.environ if environ is None else environ
    home = _home()
    return home, Path(env.get("APPDATA" if WINDOWS else "XDG_CONFIG_HOME") or home / ".config")


def is_colour_forced(environ: Mapping[str, str] | None = None) -> bool:
    """Whether output that is no terminal's is to look like one, by the variables that rich goes by."""
    env = os.environ if environ is None else environ
    return bool(env.get("FORCE_COLOR")) or env.get("TTY_COMPATIBLE") == "1"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:  # a user without an entry, as in many containers, and no HOME
        raise ConfigError(
            "you have no home folder: set HOME, or name the index with --db or OUTCROP_DB"
            " (and with a database OUTCROP_DATA_DIR)"
        ) from error


def _config_file(env: Mapping[str, str]) -> Path | None:
    """Where the configuration file would be; None without a home folder, which only the default index needs."""
    if named := env.get("OUTCROP_CONFIG"):
        return Path(named)
    try:
        return user_folders(env)[1] / "outcrop" / "config.toml"
    except ConfigError:
        return None


def find_editor(environ: Mapping[str, str] | None = None) -> str:
    """The user's editor, as a shell would start it."""
    env = os.environ if environ is None else environ
    return env.get("VISUAL") or env.get("EDITOR") or ("notepad" if WINDOWS else "vi")


def find_exposed_keys(environ: Mapping[str, str] | None = None) -> Path | None:
    """The configuration file, if it holds a key or a token and other users can read it. It is the user's own file, so
    it is reported and never changed."""
    path = _config_file(os.environ if environ is None else environ)
    if path is None or not path.is_file() or os.name != "posix" or not path.stat().st_mode & 0o077:
        return None
    secret = {f.name for f in fields(Config) if not f.repr}
    return path if secret & _read_file(path).keys() else None


def _read_file(path: Path) -> dict[str, Any]:
    import tomllib  # where there is a file

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _read_environment(env: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removeprefix(ENV_PREFIX).lower(): value
        for name, value in env.items()
        if name.startswith(ENV_PREFIX) and name != "OUTCROP_CONFIG"
    }


_FIELDS = {f.name: f for f in fields(Config)}
_CHOICES = {
    name: get_args(hint) for name, hint in get_type_hints(Config).items() if get_origin(hint) is Literal
}


def _check_known(name: str) -> None:
    if name not in _FIELDS:
        import difflib  # only for a suggestion

        near = difflib.get_close_matches(name, _FIELDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(_FIELDS))}"
        raise ConfigError(f"there is no setting {name!r}{hint}")


_OPTIONAL: Final = " | None"


def _coerce(name: str, value: Any) -> Any:
    """Text from the environment becomes the field's type; a wrong type is an error that names the setting."""
    kind = str(_FIELDS[name].type)
    if kind.endswith(_OPTIONAL):
        if value is None or value == "":
            return None
        kind = kind.removesuffix(_OPTIONAL)
    if name == "db":
        return _read_db(value)
    try:
        if kind == "Path":
            return Path(value).expanduser()
        if kind == "tuple[str, ...]":
            parts = value.split(",") if isinstance(value, str) else list(value)
            if not all(isinstance(part, str) for part in parts):
                raise TypeError
            return tuple(part.strip() for part in parts if part.strip())
        if kind == "bool":
            if isinstance(value, bool):
                return value
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                str(value).lower()
            ]
        if kind == "int":
            return int(value)
        if kind == "float":
            return float(value)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:  # RuntimeError: ~ of a user there is not
        raise ConfigError(f"{name} = {value!r} is not a {kind}") from error
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(f"{name} = {value!r}; choose one of {', '.join(filter(None, _CHOICES[name]))}")
    return str(value)


def _read_db(value: Any) -> Path | DatabaseUrl:
    """A file or a database. A URL is never repeated in an error: it may hold a password."""
    if isinstance(value, DatabaseUrl):
        return value
    if has_scheme(str(value)):  # a Path has lost a slash by now, and is told so
        return DatabaseUrl.parse(str(value))
    try:
        return Path(value).expanduser()
    except (TypeError, RuntimeError) as error:  # RuntimeError: ~ of a user there is not
        raise ConfigError(f"db = {value!r} is neither a file nor the URL of a database") from error


def _validate(config: Config) -> Config:
    sizes = "max_file_bytes parse_timeout_s parse_memory_bytes limit budget_tokens chat_window_tokens"
    for name in sizes.split():
        if getattr(config, name) <= 0:
            raise ConfigError(f"{name} must be above zero")
    if not 0 <= config.floor <= 1:
        raise ConfigError("floor must lie between 0 and 1")
    if not 0 < config.vector_effort <= 100:
        raise ConfigError("vector_effort must lie above 0 and be 100 at most; 1 is the default")
    if config.readers < 0:
        raise ConfigError("readers must be zero (this process reads files itself) or more")
    if config.chunk_tokens < 0:
        raise ConfigError("chunk_tokens must be zero (the default) or more")
    if config.chunk_overlap is not None and not 0 <= config.chunk_overlap <= 0.5:
        raise ConfigError("chunk_overlap must lie between 0 and 0.5: it is a share of a chunk")
    if config.chunk_min_chars is not None and config.chunk_min_chars < 0:
        raise ConfigError("chunk_min_chars must be zero (no minimum) or more")
    if not 0 <= config.port <= 65_535:
        raise ConfigError("port must lie between 0 (any that is free) and 65535")
    if config.comment_url != _FIELDS["comment_url"].default and not config.comment_model:
        raise ConfigError("comment_url is set but comment_model is not: name the model that is to comment")
    if isinstance(config.db, Path):
        config = replace(config, db=config.db.absolute())
    else:
        config = replace(config, data_dir=config.data_dir.absolute())
    kb = config.kb if config.kb != Path() else config.folder / "kb"
    return replace(config, kb=kb.absolute())
