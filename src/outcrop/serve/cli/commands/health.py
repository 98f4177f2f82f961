"""status, doctor, reembed, move, grant: the index itself."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from outcrop.errors import NotFound, OutcropError
from outcrop.serve.as_json import as_dict
from outcrop.serve.cli.options import command, option
from outcrop.serve.cli.progress import long_work, say_left
from outcrop.serve.cli.render import print_checks, print_stale, print_status
from outcrop.serve.cli.render_reports import print_move
from outcrop.serve.cli.session import Session
from outcrop.serve.terminal import say_count

if TYPE_CHECKING:
    from outcrop.config import Config
    from outcrop.records import Check

WORTH_SAYING_S: Final = 10.0
"""Work that takes longer is announced before it begins (not measured)."""


@command("status")
@option("--stale", "with_stale", is_flag=True, help="Also list documents whose files changed or vanished.")
def status_command(session: Session, with_stale: bool) -> None:
    """Say what the index holds."""
    with session.open_existing() as index:
        status = index.status()
        stale = index.stale() if with_stale else []
    if session.as_json:
        session.print_json(as_dict(status, **({"stale": stale} if with_stale else {})))
        return
    print_status(session.out, status)
    if with_stale:
        session.out.line()
        print_stale(session.out, stale)


@command("doctor")
@option("--repair", is_flag=True, help="Make again what is damaged and can be derived.")
def doctor_command(session: Session, repair: bool) -> int:
    """Check that the index and this machine are in order.

    Exits with 1 when a check fails.
    """
    from outcrop.engine import examine_machine
    from outcrop.records import Check

    config = session.config()
    checks = _environment(config)
    try:
        with session.open_existing() as index:
            checks.extend(index.doctor(repair=repair))
    except NotFound as error:
        checks.append(Check("index", True, str(error)))  # nothing is wrong with a machine that has none yet
        checks.extend(examine_machine())
    except OutcropError as error:
        checks.append(Check("index", False, str(error)))
    ok = all(check.ok for check in checks)
    if session.as_json:
        session.print_json({"ok": ok, "checks": checks})
    else:
        print_checks(session.out, checks)
    return 0 if ok else 1


def _environment(config: Config) -> list[Check]:
    import apsw

    import outcrop
    from outcrop.config import find_exposed_keys
    from outcrop.records import Check

    file = config.db if isinstance(config.db, Path) else config.folder
    folder = next(parent for parent in file.parents if parent.exists())
    writable = os.access(file if file.exists() else folder, os.W_OK) and os.access(folder, os.W_OK)
    checks = [
        Check("outcrop", True, outcrop.__version__),
        Check("python", True, f"{platform.python_version()} at {sys.executable}"),
        Check("sqlite", True, apsw.sqlite_lib_version()),
        Check("write access", writable, f"{file}" if writable else f"{file} cannot be written"),
    ]
    if exposed := find_exposed_keys():
        checks.append(Check("keys", False, f"other users can read {exposed}, which holds keys: chmod 600 it"))
    return checks


@command("reembed", "outcrop reembed --model mini")
@option("--model", metavar="NAME", help="Change to this model: static, mini, openai:NAME, onnx:FOLDER …")
def reembed_command(session: Session, model: str | None) -> None:
    """Give every chunk a vector of the model in use.

    Searches are served by the old vectors until all new ones are there. Interrupted, it goes on where it stopped. The
    index remembers the model: later commands and processes that are at work use it by themselves.
    """
    with session.open_existing(model=model) as index:
        ahead = index.forecast_reembed()
        if ahead.seconds >= WORTH_SAYING_S:
            wait = say_left(ahead.seconds)
            session.err.line(
                f"{say_count(ahead.texts, 'text')} to embed, about {wait}; the old vectors serve until then"
            )
        with long_work(session) as told:
            made = index.reembed(**told)
        status = index.status()
    line = f"{say_count(made, 'chunk')} embedded; the index uses {status.model}"
    session.tell({"embedded": made, "model": status.model}, line)


@command("move", "outcrop move index.db postgresql://me@host/search")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
def move_command(session: Session, source: str, target: str) -> int:
    """Copy an index to another store, and prove that it is the same.

    SRC and DST are files, or Postgres databases as postgresql://user@host/database?schema=team. DST is empty, or what
    an earlier run left: killed or interrupted, the same command goes on where it stopped. SRC may be in use meanwhile,
    and is left as it is. Exits with 1 when the copy is not the same, ranks differently, or lacks changes of SRC.
    """
    # The model is that of the index itself, whatever is configured for others.
    with (
        session.open_existing(db=source, model="") as here,
        session.open(db=target, model="") as there,
        long_work(session) as told,
    ):
        report = here.move_to(there, **told)
    read, written = here.config.db, there.config.db
    if session.as_json:
        session.print_json({"ok": report.ok, "source": read, "target": written} | as_dict(report))
    else:
        print_move(session.out, report, str(read), str(written))
    return 0 if report.ok else 1


@command("grant", "outcrop grant readers notes", "outcrop grant readers --revoke")
@click.argument("role", required=False)
@click.argument("collections", nargs=-1, metavar="[COLLECTION]...")
@option("--revoke", is_flag=True, help="Take all of it back: the role sees nothing any more.")
def grant_command(session: Session, role: str | None, collections: tuple[str, ...], revoke: bool) -> None:
    """Let a role of the database read the index, or some collections of it.

    Only for an index on Postgres, by its owner; the role must exist there. Without COLLECTION it may read all there are
    and will be. Without ROLE the command lists who may read what.
    """
    if revoke and (role is None or collections):
        raise click.UsageError(
            "--revoke takes a role and no collections: what a role may read is taken back at once"
        )
    with session.open_existing() as index:
        if role is not None:
            index.revoke(role) if revoke else index.grant(role, collections)
        grants = index.grants()
    if session.as_json:
        session.print_json([{"role": name, "collection": collection} for name, collection in grants])
        return
    if not grants:
        session.out.line("nobody but the owner may read this index")
    for name, collection in grants:
        session.out.line(f"{name}  {collection or 'all collections'}")
