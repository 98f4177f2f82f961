"""Dependencies point one way: serve, evals → engine → ingest, retrieve → stages → records and contracts."""

from __future__ import annotations

import ast
from pathlib import Path

import outcrop

PACKAGE = Path(outcrop.__file__).parent
GROUND = {
    "children",
    "cache",
    "wanted",
    "records",
    "contracts",
    "errors",
    "distinct",
    "frames",
    "remote",
    "derived",
    "phrases",
    "database_url",
    "machine",
    "private",
    "deadline",
    "tokens",
}
STAGES = {
    "sources",
    "parse",
    "mask",
    "chunk",
    "embed",
    "store",
    "search",
    "rank",
    "pack",
    "conversation",
    "elide",
}
ALLOWED = {
    "cache": set(),
    "records": set(),
    "children": set(),
    "wanted": set(),
    "highlight": GROUND | {"parse"},
    "distinct": set(),
    "frames": set(),
    "machine": set(),
    "private": set(),
    "deadline": {"errors"},
    "tokens": set(),
    "phrases": set(),
    "derived": {"records"},
    "errors": set(),
    "database_url": {"errors"},
    "remote": {"errors"},
    "contracts": GROUND,
    "config": {"errors", "database_url"},
    **dict.fromkeys(STAGES, GROUND),
    "traces": set(),
    "conversation": GROUND | {"traces"},
    "pack_code": GROUND | {"pack", "elide"},
    "preparing": GROUND | STAGES,
    "chunking": {"records", "chunk", "parse", "sources"},
    "committing": GROUND | STAGES | {"preparing"},
    "ingest": GROUND | STAGES | {"config", "revisions", "preparing", "committing"},
    "reranking": GROUND | STAGES,
    "headings": GROUND | STAGES,
    "explaining": GROUND | STAGES | {"headings", "quoting"},
    "quoting": GROUND | {"phrases"},
    "retrieve": GROUND | STAGES | {"config", "explaining", "headings", "quoting", "reranking"},
    "parts": GROUND | STAGES | {"config", "retrieve"},
    "permissions": GROUND | {"config"},
    "care": GROUND | STAGES | {"config"},
    "lookup": GROUND | STAGES | {"config"},
    "sameness": GROUND | STAGES,
    "moving": GROUND | STAGES | {"sameness"},
    "parity": GROUND,
    "folders": GROUND | STAGES | {"config", "ingest"},
    "codemap": GROUND | STAGES,
    "codegraph": GROUND | STAGES | {"codemap"},
    "revisions": GROUND | STAGES,
    "codebase": GROUND | STAGES | {"lookup", "revisions"},
    "code_context": GROUND | STAGES | {"lookup", "codebase", "pack_code"},
    "spread": GROUND | {"embed", "preparing", "config"},
    "adding": GROUND
    | STAGES
    | {"config", "parts", "care", "folders", "ingest", "preparing", "retrieve", "spread"},
    "asking": GROUND | STAGES | {"config", "parts", "retrieve"},
    "engine": GROUND
    | STAGES
    | {"config", "parts", "adding", "asking", "retrieve", "care", "lookup", "folders", "revisions"}
    | {"codebase", "code_context", "codegraph", "codemap", "headings", "moving", "parity", "permissions"},
    "evals": GROUND | {"engine"},
    "adapters": {"records", "errors", "engine", "machine"},
    "kb": GROUND | {"engine", "config"},
    "chat": GROUND | {"engine", "config"},
    "serve": GROUND | {"engine", "config", "evals", "chat", "kb", "highlight"},
    "__init__": GROUND | {"chunking", "config", "engine"},
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
        if path.name not in ("config.py", "children.py")
        and any(word in path.read_text("utf-8") for word in ("os.environ", "os.getenv"))
    ]
    assert not readers
