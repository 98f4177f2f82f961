"""grant: who may read an index on Postgres, and which of its collections."""

from __future__ import annotations

import click

from outcrop.serve.cli.options import common_options
from outcrop.serve.cli.session import Session, pass_session


@click.command("grant")
@click.argument("role", required=False)
@click.argument("collections", nargs=-1, metavar="[COLLECTION]...")
@click.option("--revoke", is_flag=True, help="Take all of it back: the role sees nothing any more.")
@common_options
@pass_session
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
        session.out.print("nobody but the owner may read this index")
    for name, collection in grants:
        session.out.print(f"{name}  {collection or 'all collections'}", markup=False, highlight=False)
