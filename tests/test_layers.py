"""Dependencies point one way: interfaces → engine → the two paths → stages → records, contracts, errors, text."""

from __future__ import annotations

import ast
from pathlib import Path

import outcrop

PACKAGE = Path(outcrop.__file__).parent
ROOT_MODULES = {"__init__", "__main__", "config", "contracts", "errors"}
GROUND = {"records", "contracts", "errors", "text", "system", "workers"}
STAGES = {"sources", "parse", "mask", "chunk", "embed", "store", "index", "rank"}
PATHS = {"write", "read", "code", "maintain", "cluster"}
ALLOWED = {
    # The ground: what every stage may use.
    "errors": set(),
    "system": {"errors"},
    "workers": {"errors", "system"},
    "text": {"errors", "system"},
    "records": {"errors", "system", "text"},
    "contracts": {"records", "errors", "system"},
    "config": {"errors", "records", "system"},
    # Stages never import each other, but for one: Postgres is searched in place by the columns of the index.
    **dict.fromkeys(STAGES, GROUND),
    "store": GROUND | {"index"},
    # The two paths. A write keeps the index it is searched by in step, so it opens the same parts as a search;
    # a search never imports the write path.
    "read": GROUND | STAGES | {"config"},
    "code": GROUND | STAGES | {"config", "read"},
    "maintain": GROUND | STAGES | {"config"},
    "write": GROUND | STAGES | {"config", "read", "maintain"},
    "cluster": GROUND | STAGES | {"config", "read", "write"},
    "engine": GROUND | STAGES | PATHS | {"config"},
    # What people and programs meet.
    "notes": GROUND | {"engine", "config"},
    "chat": GROUND | {"engine", "config"},
    "evals": GROUND | {"engine"},
    "adapters": {"records", "errors", "engine", "system"},
    "serve": GROUND | {"engine", "config", "evals", "chat", "notes", "parse"},
    "__init__": GROUND | {"config", "engine", "write"},
    "__main__": {"serve"},
}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; name the module in full"
            names = [
                f"{node.module}.{alias.name}" if node.module == "outcrop" else str(node.module)
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("outcrop.")}
    return rooms


def test_the_root_holds_the_front_door_and_the_ground_and_nothing_else() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == ROOT_MODULES


def test_every_module_imports_only_what_its_layer_may() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        here = room(path)
        for other in imported_rooms(path) - {here}:
            if other not in ALLOWED[here]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports outcrop.{other}")
    assert not wrong, "\n".join(wrong)


def test_only_config_reads_the_environment_and_only_children_hand_it_on() -> None:
    readers = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.name
        not in ("config.py", "process.py", "machine.py")  # which tells numpy how many threads to start
        and any(word in path.read_text("utf-8") for word in ("os.environ", "os.getenv"))
    ]
    assert not readers
