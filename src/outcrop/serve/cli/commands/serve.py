"""serve, mcp: the index over HTTP for programs, agents and the page, and over standard input for one agent."""

from __future__ import annotations

import secrets
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from outcrop.errors import ConfigError
from outcrop.serve.cli.options import command, kb_option, many, option
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import clean_line
from outcrop.system.machine import need_extra
from outcrop.system.private import make_folder, open_new

if TYPE_CHECKING:
    from outcrop.config import Config
    from outcrop.serve.state import State

EXTRA: Final = frozenset({"fastapi", "uvicorn", "mcp", "starlette", "pydantic"})


@command("serve", "outcrop serve --open", "outcrop serve --host 0.0.0.0 --token-file token --read-only")
@option("--host", help="Address to listen on; other machines can only connect with a token.")
@option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 0 for any free one.")
@option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the token clients must send; created if missing.",
)
@many("--root", "roots", metavar="DIR", help="A folder that clients may index, with everything below it.")
@option("--read-only", is_flag=True, help="Refuse every change.")
@kb_option("Folder of the notes agents write.")
@option(
    "--workers",
    type=click.IntRange(0, 64),
    help="Search processes, for many clients at once; each takes about 100 MB. By default they start when searches"
    " queue, one a core and four at most, and leave when it is quiet; 0 for none.",
)
@option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
def serve_command(
    session: Session,
    host: str | None,
    port: int | None,
    token_file: Path | None,
    roots: tuple[str, ...],
    read_only: bool,
    kb: Path | None,
    workers: int | None,
    open_page: bool,
) -> None:
    """Serve the index over HTTP: the page, the API and agents.

    Listens on this machine only unless --host says otherwise, until Ctrl-C or SIGTERM.
    """
    try:
        from outcrop.serve.http.security import require_token
        from outcrop.serve.http.server import bind, serve, url_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        raise need_extra(ConfigError, "outcrop serve", "serve") from error
    if find_spec("mcp") is None:  # which is loaded when the first agent comes
        raise need_extra(ConfigError, "outcrop serve", "serve")
    from outcrop.engine import Engine
    from outcrop.serve.logs import write_logs
    from outcrop.serve.state import make_state

    config = session.config(
        host=host, port=port, kb=kb, roots=[str(Path(root).absolute()) for root in roots] or None
    )
    write_logs(config.log_level)  # a server has no report at its end: what goes wrong is said as it happens
    config = _with_token(config, token_file)
    require_token(config)
    listening = bind(config.host, config.port)
    url = url_of(listening, config.host)
    page = f"{url}#token={config.token}" if config.token else url
    try:
        with Engine(config) as engine:
            _say_where(session, url, page)
            if open_page:
                click.launch(page)
            serve(make_state(engine, read_only=read_only), listening, workers=workers)
    finally:
        listening.close()


def _with_token(config: Config, file: Path | None) -> Config:
    """The configuration with the token of the file; one is made where a network could reach us and none is set."""
    from outcrop.serve.http.security import is_loopback

    if file is None:
        if config.token or is_loopback(config.host):
            return config
        file = config.beside(".token")
    if file.exists():
        return replace(config, token=read_token(file))
    token = make_token(file)
    click.echo(
        f"wrote a new token to {clean_line(str(file))}; clients show it as: Authorization: Bearer TOKEN",
        err=True,
    )
    return replace(config, token=token)


def read_token(file: Path) -> str:
    """The token in a file that nobody else can read."""
    try:
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"others can read {file}: chmod 600 it, or delete it and a new one is made")
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read") from error
    if not token or not token.isascii() or not token.isprintable():
        raise ConfigError(f"{file} holds no token: one line of letters and digits")
    return token


def make_token(file: Path) -> str:
    """A new token, kept in a new file that only its owner can read."""
    token = secrets.token_urlsafe(32)
    try:
        make_folder(file.parent)
        with open_new(file) as out:
            out.write(f"{token}\n".encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    return token


def _say_where(session: Session, url: str, page: str) -> None:
    """Where the server is. The token is shown to a person at a terminal only: elsewhere it would end up in a log."""
    if session.as_json:
        session.print_json({"url": url}, line=True)
    else:
        click.echo(f"Outcrop is at {page if sys.stdout.isatty() else url} (Ctrl-C ends it)")
    sys.stdout.flush()


@command("mcp")
@option("--read-only", is_flag=True, help="Offer only tools that read; nothing is written or refreshed.")
@kb_option("The folder of the agent's notes; by default `kb` beside the index.")
@many("--root", "roots", metavar="DIR", help="A folder the agent may index.")
@option(
    "--tools", metavar="NAMES", help="The tools to offer: lean (five of them), all, or a comma-separated list."
)
def mcp_command(
    session: Session, read_only: bool, kb: Path | None, roots: tuple[str, ...], tools: str | None
) -> None:
    """Serve an agent over standard input and output.

    Clients start this themselves once `outcrop install CLIENT` has told them how. The protocol is on standard output,
    logs are on standard error. It ends when the client closes standard input.
    """
    from outcrop.serve.mcp.greeting import greet_stdio

    if find_spec("mcp") is None:
        raise need_extra(ConfigError, "outcrop mcp", "serve")
    absolute = tuple(str(Path(root).expanduser().absolute()) for root in roots)
    config = session.config(kb=kb, roots=absolute or None, tools=tools)
    streams = greet_stdio(config.tools, read_only=read_only)
    if streams is None:
        return
    from outcrop.serve.mcp.desk import Desk
    from outcrop.serve.mcp.server import serve_stdio

    def open_state() -> State:
        from outcrop.engine import Engine
        from outcrop.serve.state import make_state

        return make_state(Engine(config, create=not read_only), read_only=read_only)

    desk = Desk(open_state, read_only=read_only, background=True, beside_client=True)
    serve_stdio(desk, config.tools, streams)
