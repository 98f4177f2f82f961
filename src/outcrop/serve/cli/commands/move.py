"""move: one index becomes another."""

from __future__ import annotations

import click

from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.progress import show_progress
from outcrop.serve.cli.session import Session, open_index, pass_session
from outcrop.serve.cli.signals import stop_on_signal


@click.command("move")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@common_options
@pass_session
def move_command(session: Session, source: str, target: str) -> None:
    """Copy an index to another store, and prove that it is the same.

    SRC and DST are files, or Postgres databases as postgresql://user@host/database?schema=team. DST is empty, or what
    an earlier run left: killed or interrupted, the same command goes on where it stopped. SRC may be in use meanwhile,
    and is left as it is. Exits with 1 when the copy is not the same, ranks differently, or lacks changes of SRC.
    """
    from outcrop.engine import Engine

    # The model is that of the index itself, whatever is configured for others.
    read, written = session.config(db=source, model=""), session.config(db=target, model="")
    with (
        session.say(open_index(read)) as here,
        session.say(Engine(written)) as there,
        stop_on_signal() as stop,
        show_progress(session) as progress,
    ):
        report = here.move_to(there, progress=progress, stopped=stop.is_set)
    if session.as_json:
        from outcrop.serve.as_json import plain

        data = plain(report)
        assert isinstance(data, dict)  # noqa: S101 - a record is a dictionary
        session.print_json({"ok": report.ok, "source": read.db, "target": written.db} | data)
    else:
        from outcrop.serve.cli.render_move import print_move

        print_move(session.out, report, str(read.db), str(written.db))
    if not report.ok:
        click.get_current_context().exit(1)
