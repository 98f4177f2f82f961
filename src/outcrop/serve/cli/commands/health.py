"""status, doctor, reembed: the index itself."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.progress import show_progress
from outcrop.serve.cli.session import Session, pass_session
from outcrop.serve.cli.signals import stop_on_signal

if TYPE_CHECKING:
    from outcrop.config import Config
    from outcrop.records import Check


@click.command("status")
@click.option(
    "--stale", "with_stale", is_flag=True, help="Also list documents whose files changed or vanished."
)
@common_options
@pass_session
def status_command(session: Session, with_stale: bool) -> None:
    """Say what the index holds."""
    with session.open_existing() as index:
        status = index.status()
        stale = index.stale() if with_stale else []
    if session.as_json:
        from outcrop.serve.as_json import plain

        data = plain(status)
        assert isinstance(data, dict)  # noqa: S101 - a record is a dictionary
        session.print_json(data | ({"stale": stale} if with_stale else {}))
        return
    from outcrop.serve.cli.render import print_stale, print_status

    print_status(session.out, status)
    if with_stale:
        session.out.print()
        print_stale(session.out, stale)


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Make again what is damaged and can be derived.")
@common_options
@pass_session
def doctor_command(session: Session, repair: bool) -> None:
    """Check that the index and this machine are in order.

    Exits with 1 when a check fails.
    """
    from outcrop.engine import examine_machine
    from outcrop.errors import NotFound, OutcropError
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
    if session.as_json:
        session.print_json({"ok": all(check.ok for check in checks), "checks": checks})
    else:
        from outcrop.serve.cli.render import print_checks

        print_checks(session.out, checks)
    if not all(check.ok for check in checks):
        click.get_current_context().exit(1)


def _environment(config: Config) -> list[Check]:
    import apsw

    import outcrop
    from outcrop.config import find_exposed_keys
    from outcrop.records import Check

    file = config.db if isinstance(config.db, Path) else config.folder
    folder = next(parent for parent in file.parents if parent.exists())
    writable = os.access(file if file.exists() else folder, os.W_OK) and os.access(folder, os.W_OK)
    exposed = find_exposed_keys()
    return [
        Check("outcrop", True, outcrop.__version__),
        Check("python", True, f"{platform.python_version()} at {sys.executable}"),
        Check("sqlite", True, apsw.sqlite_lib_version()),
        Check("write access", writable, f"{file}" if writable else f"{file} cannot be written"),
        *(
            [Check("keys", False, f"other users can read {exposed}, which holds keys: chmod 600 it")]
            if exposed
            else []
        ),
    ]


@click.command("reembed")
@click.option("--model", metavar="NAME", help="Change to this model: static, mini, openai:NAME, onnx:FOLDER …")
@common_options
@pass_session
def reembed_command(session: Session, model: str | None) -> None:
    """Give every chunk a vector of the model in use.

    Searches are served by the old vectors until all new ones are there. Interrupted, it goes on where it stopped. The
    index remembers the model: later commands and processes that are at work use it by themselves.
    """
    with (
        session.open_existing(model=model) as index,
        stop_on_signal() as stop,
        show_progress(session) as progress,
    ):
        made = index.reembed(progress=progress, stopped=stop.is_set)
        status = index.status()
    if session.as_json:
        session.print_json({"embedded": made, "model": status.model})
    else:
        click.echo(f"{made:,} chunks embedded; the index uses {status.model}")
