"""Files that are damaged: search arrays are made again from the truth, a database says what to do.

Arrays: every file with flipped bytes, parts zeroed, cut, emptied, gone, or from another index. All answers are what
they were, before any repair and after it. Database: every page with flipped bytes or zeros, the file cut, emptied, or
something else. Either an error of ours says what to do, or the doctor finds it, or nothing is
lost: never a wrong text after a doctor that found nothing.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from outcrop.engine import Engine
from outcrop.errors import CorruptDatabase, OutcropError
from proofs.faults.scenes import ADVICE, SCENES, open_index, read_state

PAGE: Final = 4096
QUERIES: Final = (
    ("anchor easel", "keyword"),
    ("what stands in this file", "semantic"),
    ('"sentence 7 of this file"', "hybrid"),
    ("furnace", "hybrid"),
)


def try_damages(folder: Path, every: int = 1) -> tuple[list[dict[str, Any]], list[str]]:
    """Every kind of damage: the lines of the table, and what is wrong."""
    folder.mkdir(parents=True)
    scene = next(scene for scene in SCENES if scene.name == "delete")  # whose index is full
    scene.lay(folder / "home")
    with open_index(folder / "home") as engine:
        engine.parts.index.renew()
    (folder / "home").rename(folder / "laid")
    lines, wrong = [], []
    for name, damages, judge in (
        ("search arrays", _array_damages(folder, every), _judge_arrays),
        ("database", _database_damages(folder, every), _judge_database),
    ):
        counted = {"noticed": 0, "mended or harmless": 0}
        for what, damage in damages:
            home = folder / "home"
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(folder / "laid", home)
            damage(home)
            noticed, problems = judge(folder, home)
            counted["noticed" if noticed else "mended or harmless"] += 1
            wrong += [f"{name}, {what}: {problem}" for problem in problems]
        lines.append({"damaged": name, **counted})
    return lines, wrong


Damage = Callable[[Path], None]
Change = Callable[[bytes], bytes]


def _ways(size: int, seed: str) -> Iterator[tuple[str, Change]]:
    """Ways to damage the content of a file."""
    chosen = random.Random(seed)
    for _ in range(3):
        at = chosen.randrange(max(1, size))
        yield f"flipped at {at}", partial(_flip, at)
    for sixth in range(6):
        yield (
            f"zeroed from {sixth}/6 to {sixth + 1}/6",
            partial(_zero, size * sixth // 6, size * (sixth + 1) // 6),
        )
    yield "cut", lambda data: data[: len(data) // 2]
    yield "emptied", lambda _: b""


def _flip(at: int, data: bytes) -> bytes:
    return data[:at] + bytes(byte ^ 0x55 for byte in data[at : at + 3]) + data[at + 3 :]


def _zero(start: int, end: int, data: bytes) -> bytes:
    return data[:start] + bytes(end - start) + data[end:]


def _cut(at: int, data: bytes) -> bytes:
    return data[:at]


def _change(path: Path, change: Change) -> None:
    """Put changed content in a new file: the old one may be mapped."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(change(data))


def _array_damages(folder: Path, every: int) -> Iterator[tuple[str, Damage]]:
    laid = folder / "laid"
    files = sorted(
        str(path.relative_to(laid)) for path in (laid / "index.db.arrays").rglob("*") if path.is_file()
    )
    files = [name for name in files if not name.endswith("lock")]
    for name in files[::every]:
        for way, change in _ways((laid / name).stat().st_size, name):
            yield f"{Path(name).name} {way}", partial(_damage, name, change)
        yield f"{Path(name).name} gone", partial(_remove, name)
    yield "from another index", lambda home: _take_others(folder, home)


def _damage(name: str, change: Change, home: Path) -> None:
    _change(home / name, change)


def _remove(name: str, home: Path) -> None:
    (home / name).unlink()


def _take_others(folder: Path, home: Path) -> None:
    other = folder / "other"
    with open_index(other) as engine:
        engine.add(text="Words of another index: anchor, easel, furnace.", id="foreign")
        engine.parts.index.renew()
    shutil.rmtree(home / "index.db.arrays")
    shutil.move(other / "index.db.arrays", home / "index.db.arrays")
    shutil.rmtree(other)


def _answers(engine: Engine) -> list[list[tuple[str, float]]]:
    return [
        [(hit.text, round(hit.score, 4)) for hit in engine.search(query, mode=mode).hits]  # type: ignore[arg-type]
        for query, mode in QUERIES
    ]


def _judge_arrays(folder: Path, home: Path) -> tuple[bool, list[str]]:
    """Whether it was noticed, and what is wrong."""
    with open_index(home) as engine:  # an index without arrays makes them from the truth
        shutil.copytree(home, folder / "whole", ignore=shutil.ignore_patterns("*.arrays"))
    with open_index(folder / "whole") as whole:
        expected = _answers(whole)
    shutil.rmtree(folder / "whole")
    wrong = []
    with open_index(home) as engine:
        try:
            texts = {info.id: engine.text(info.id) for info in engine.documents()}
            for query, mode in QUERIES:
                answer = engine.search(query, mode=mode)  # type: ignore[arg-type]
                for hit in answer.hits:
                    if texts.get(hit.document.id, "")[hit.start : hit.end] != hit.text:
                        wrong.append(f"{query} finds what is not there: {hit.text[:40]!r}")
            before = _answers(engine)
            noticed = any(not check.ok for check in engine.doctor())
            if before != expected:
                wrong.append("answers differ from those of new arrays before any repair")
            engine.doctor(repair=True)
            if _answers(engine) != expected:
                wrong.append("after a repair answers differ from those of new arrays")
            if any(not check.ok for check in engine.doctor()):
                wrong.append("after a repair the doctor is not content")
        except OutcropError as error:
            return True, [f"raises {type(error).__name__}: {error}"]
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not come out
            return True, [f"raises {type(error).__name__}: {error}"]
    return noticed, wrong


def _database_damages(folder: Path, every: int) -> Iterator[tuple[str, Damage]]:
    size = (folder / "laid" / "index.db").stat().st_size
    chosen = random.Random("pages")
    for page in range(0, size, PAGE * every):
        at = page + chosen.randrange(PAGE)
        yield f"page {page // PAGE} begins with noise", _overwrite(page, chosen.randbytes(8))
        yield f"page {page // PAGE} flipped at {at - page}", _overwrite(at, chosen.randbytes(2))
        yield f"page {page // PAGE} is zeros", _overwrite(page, bytes(PAGE))
    for eighth in range(8):
        cut = size * eighth // 8
        yield f"cut at {cut}", partial(_damage, "index.db", partial(_cut, cut))
    yield "a letter", partial(_damage, "index.db", lambda _: b"Dear reader, this is no database. " * 300)


def _overwrite(at: int, noise: bytes) -> Damage:
    return lambda home: _change(home / "index.db", lambda data: data[:at] + noise + data[at + len(noise) :])


def _judge_database(folder: Path, home: Path) -> tuple[bool, list[str]]:
    """Whether it was noticed, and what is wrong."""
    truth, _ = read_state(folder / "laid")
    is_empty = not (home / "index.db").stat().st_size
    try:
        with open_index(home) as engine:
            noticed = any(not check.ok for check in engine.doctor())
            answer = engine.search("what stands in a sentence of this file")
            noticed = noticed or answer.reason == "error"
        state, _ = read_state(home)
    except CorruptDatabase as error:
        return True, [] if "move it away" in str(error) else [f"says {error}"]
    except OutcropError as error:
        return True, [] if ADVICE.search(str(error)) else [
            f"{type(error).__name__} does not say what to do: {error}"
        ]
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not come out
        return True, [f"raises {type(error).__name__}: {error}"]
    if is_empty:
        return True, []  # an empty file is a new index, and says that nothing is indexed yet
    return noticed, [] if noticed or state == truth else ["texts differ, and the doctor finds nothing"]
