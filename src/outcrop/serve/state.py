"""What all interfaces of a running server share: one engine, the notes, the jobs, and what is allowed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from outcrop.errors import OutsideRoots
from outcrop.system.dataclass import dataclass

if TYPE_CHECKING:  # an agent that lists its tools does not wait for the engine
    from outcrop.config import Config
    from outcrop.engine import Engine
    from outcrop.notes import KnowledgeBase
    from outcrop.serve.jobs import Jobs


@dataclass(frozen=True, slots=True)
class State:
    """The parts of one server. HTTP, MCP and the page share it."""

    engine: Engine
    config: Config
    kb: KnowledgeBase
    jobs: Jobs
    read_only: bool = False


def allowed_roots(engine: Engine) -> tuple[Path, ...]:
    """The folders that may be indexed from outside: the configured ones, those added before, and the notes."""
    config = engine.config
    configured = (Path(root).expanduser() for root in config.roots)
    added = (Path(root) for root in engine.roots())
    return tuple(dict.fromkeys(path.resolve() for path in (*configured, *added, config.kb)))


def require_root(engine: Engine, path: str | Path, *, repository: bool = False) -> Path:
    """The real path of a folder or file that may be indexed from outside; OutsideRoots for any other. With `repository`
    all of the repository that the folder is in must lie where that is allowed.

    What lies outside is refused alike whether it is there or not, so that nobody can look around by asking.
    """
    refusal = OutsideRoots(
        "this path is in no folder that may be indexed from here; add it with `outcrop add` on the machine itself, "
        "or start the server with --root FOLDER"
    )
    try:
        asked = Path(path).expanduser()
        if not asked.is_absolute():
            raise OutsideRoots("give the full path of the file or folder, starting with /")
        real = asked.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have, a loop of links
        raise refusal from error
    allowed = allowed_roots(engine)
    if not any(real.is_relative_to(root) for root in allowed):
        raise refusal
    for place in engine.repository_places(real) if repository else ():
        if not any(place.is_relative_to(root) for root in allowed):
            raise OutsideRoots(
                "the repository of this folder has files in no folder that may be indexed from here; add its branches "
                "with `outcrop add` on the machine itself, or start the server with --root REPOSITORY"
            )
    return real


def make_state(engine: Engine, *, read_only: bool = False) -> State:
    """The state of a server over this engine, with the notes its configuration names."""
    from outcrop.notes import KnowledgeBase
    from outcrop.serve.jobs import Jobs

    config = engine.config
    return State(
        engine=engine,
        config=config,
        kb=KnowledgeBase(engine, config.kb),
        jobs=Jobs(engine, config.beside(".jobs.json"), partial(require_root, engine), read_only=read_only),
        read_only=read_only,
    )
