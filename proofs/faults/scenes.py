"""What is done while faults are injected, and what an index holds before and after it (see proofs.faults)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.maintain.reembed_child import Letters
from tests.store.example_steps import STEPS, Step, registered

from outcrop.config import load_config
from outcrop.engine import Engine
from outcrop.errors import NotFound, OutcropError
from outcrop.notes import KnowledgeBase
from outcrop.store.sqlite import schema
from proofs.faults.points import Faults, Kind, inject

State = dict[str, str]
"""What is there: documents by collection and uri, notes by path, the model."""

ADVICE: Final = re.compile(
    r"try again|tries again|free some space|check (that|the)|move it away|run `|open it|choose|do (that|it) again"
)
"""What a message says that tells what to do next."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Something that is written: `lay` makes the index and the files as they are before, `do` writes. `steps` bring the
    schema further once it is laid."""

    name: str
    lay: Callable[[Path], None]
    do: Callable[[Engine], object]
    model: str = "first"
    steps: Sequence[Step] = ()


def open_index(home: Path, model: str = "first") -> Engine:
    """The index of a scene."""
    config = load_config({"db": home / "index.db", "data_dir": home}, environ={})
    return Engine(config, embedder=Letters(model, {"first": 26, "second": 13}[model]))


def home_of(engine: Engine) -> Path:
    """The folder of a scene."""
    return Path(str(engine.config.db)).parent


# ------------------------------------------------------------------ the scenes


def _text(word: str) -> str:
    return f"# About {word}\n\n" + " ".join(
        f"The {word} stands in sentence {n} of this file." for n in range(40)
    )


def _lay_folder(home: Path) -> None:
    folder = home / "files"
    folder.mkdir(parents=True)
    for word in ("anchor", "barrel", "canvas"):
        (folder / f"{word}.md").write_text(_text(word), "utf-8")
    with open_index(home) as engine:
        engine.add(folder, collection="files")
    (folder / "anchor.md").write_text(_text("easel"), "utf-8")
    (folder / "barrel.md").unlink()
    (folder / "dynamo.md").write_text(_text("dynamo"), "utf-8")
    (folder / "pool.py").write_text("def furnace(hinge):\n    return hinge\n", "utf-8")


def _add(engine: Engine) -> None:
    engine.add(home_of(engine) / "files", collection="files")


def _lay_indexed(home: Path) -> None:
    _lay_folder(home)
    with open_index(home) as engine:
        _add(engine)


def _delete(engine: Engine) -> None:
    try:
        engine.delete(str(home_of(engine) / "files" / "anchor.md"), collection="files")
    except NotFound:  # the first try removed it
        return


def _lay_notes(home: Path) -> None:
    with open_index(home) as engine:
        notes = KnowledgeBase(engine, home / "kb")
        notes.write("one", _text("ledger"))
        notes.write("gone", _text("lantern"))


def _write_notes(engine: Engine) -> None:
    notes = KnowledgeBase(engine, home_of(engine) / "kb")
    notes.write("one", _text("mirror"))
    notes.write("new/two", _text("orchard"))


def _delete_note(engine: Engine) -> None:
    notes = KnowledgeBase(engine, home_of(engine) / "kb")
    try:
        notes.delete("gone")
    except NotFound:  # the first try removed the file; what is left of it in the index goes with a refresh
        notes.refresh()


def _fill(engine: Engine) -> None:
    engine.embed_pending()


def _reembed(engine: Engine) -> None:
    engine.reembed()


def _nothing(engine: Engine) -> None:
    if engine.status().stats.schema_version != len(schema.MIGRATIONS):
        raise AssertionError("an open index is of the newest schema")


SCENES: Final = (
    Scene("ingest", _lay_folder, _add),
    Scene("delete", _lay_indexed, _delete),
    Scene("notes", _lay_notes, _write_notes),
    Scene("delete a note", _lay_notes, _delete_note),
    Scene("fill in vectors", _lay_notes, _fill),
    Scene("re-embed", _lay_indexed, _reembed, "second"),
    Scene("migrate", _lay_indexed, _nothing, steps=STEPS),
)


# ------------------------------------------------------------------ one fault


def read_state(home: Path) -> tuple[State, list[str]]:
    """What is there, and what the store says is wrong with it."""
    with open_index(home) as engine:
        state = {f"{info.collection} {info.uri}": engine.text(info.id) for info in engine.documents()}
        state["model"] = str(engine.status().index_model)
        problems = [*engine._store.check()]
    for path in sorted((home / "kb").rglob("*.md")):
        state[f"note {path.relative_to(home)}"] = path.read_text("utf-8")
    return state, problems


@dataclass(slots=True)
class Trial:
    """A scene with what it leads from and to, and the points on the way."""

    scene: Scene
    laid: Path
    before: State
    after: State
    points: list[str]


def lay(scene: Scene, folder: Path) -> Trial:
    """Lay a scene out, and let it run once without a fault."""
    laid = folder / "laid"
    scene.lay(folder / "home")
    (folder / "home").rename(laid)
    with registered(scene.steps):
        before, wrong = read_state(copy_of(laid, folder))
        home = copy_of(laid, folder)
        with inject(Faults(), home) as faults, open_index(home, scene.model) as engine:
            scene.do(engine)
        after, more = read_state(home)
    if wrong or more:
        raise AssertionError(f"{scene.name}: {wrong} {more}")
    return Trial(scene, laid, before, after, faults.points)


def copy_of(laid: Path, folder: Path) -> Path:
    """The files of a scene as they are before it, always under the same name: it is part of what is stored."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(laid, home)
    return home


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a fault: what was said, or nothing where it did no harm, at which point, and what is wrong."""

    said: str
    failed: str
    wrong: list[str]


def try_fault(trial: Trial, folder: Path, at: int, kind: Kind, *, lasting: bool) -> Outcome:
    """Have the n-th point of a scene fail, and see what is left, and that the next try succeeds."""
    home = copy_of(trial.laid, folder)
    with registered(trial.scene.steps):
        with inject(Faults(at, kind, lasting), home) as faults:
            engine, said, wrong = attempt(trial.scene, home)
        wrong += compare(trial, home, finished=not said)
        wrong += try_again(trial, home, engine)
    return Outcome(said, faults.failed[0] if faults.failed else "", wrong)


def attempt(scene: Scene, home: Path) -> tuple[Engine | None, str, list[str]]:
    """Do it: the engine, if it could be opened, what an error of ours said, and what is wrong with that."""
    engine: Engine | None = None
    try:
        engine = open_index(home, scene.model)
        scene.do(engine)
    except OutcropError as error:
        said = f"{type(error).__name__}: {error}".replace(str(home), "HOME")
        return engine, said, [] if ADVICE.search(str(error)) else [f"does not say what to do: {said}"]
    except Exception as error:  # noqa: BLE001 - that is what must not happen, whatever it is
        return engine, "", [f"raises {type(error).__name__}: {error}"]
    return engine, "", []


def try_again(trial: Trial, home: Path, engine: Engine | None) -> list[str]:
    """Do it once more without a fault, with the same engine if there is one: what is wrong with that."""
    wrong = []
    try:
        engine = engine or open_index(home, trial.scene.model)
        trial.scene.do(engine)
        answer = engine.search("what stands in a sentence of this file", mode="semantic")
        if answer.reason not in (None, "no_hits", "model_mismatch"):
            wrong.append(f"after the fault a search says {answer.reason}: {answer.detail}")
    except Exception as error:  # noqa: BLE001 - the next try must succeed
        wrong.append(f"the next try raises {type(error).__name__}: {error}")
    finally:
        if engine is not None:
            engine.close()
    wrong += [f"after the next try: {problem}" for problem in compare(trial, home, finished=True)]
    with open_index(home, trial.scene.model) as again:
        wrong += [f"doctor: {c.name}: {c.detail}" for c in again.doctor() if not c.ok and c.name != "model"]
    return wrong


def compare(trial: Trial, home: Path, *, finished: bool) -> list[str]:
    """What is neither as before nor as after; of what was finished, what is not as after."""
    try:
        state, wrong = read_state(home)
    except Exception as error:  # noqa: BLE001 - it must be possible to open what is left
        return [f"cannot be read afterwards: {type(error).__name__}: {error}"]
    for key in sorted({*state, *trial.before, *trial.after}):
        allowed = [trial.after.get(key)] if finished else [trial.before.get(key), trial.after.get(key)]
        if state.get(key) not in allowed:
            wrong.append(
                f"{key}: is {str(state.get(key))[:60]!r}, {'not as after' if finished else 'in between'}"
            )
    return wrong
