"""A process that prepares files for the one that started it: `python -m outcrop.write.reader`.

    ← {}, pickled Recipe
    ← {}, pickled list of Jobs     and so on
    → {}, pickled list of Outcomes, in the same order
    → {"raised": true}, pickled    an error that is no file's fault; it ends the run, as it would without readers

The end of stdin ends it: its parent is done, or gone. Pickled, since both ends are this package on one machine: the
contents of files are only data in it, and whoever could forge an answer already controls a process of this user.
"""

from __future__ import annotations

import pickle
import traceback

from outcrop.workers.frames import read_frame, take_pipes, write_frame
from outcrop.write.prepare import Job, Recipe, prepare_file, rare_collections


def main() -> None:
    """Prepare what comes, until stdin ends."""
    orders, answers = take_pipes()
    try:
        recipe: Recipe = pickle.loads(read_frame(orders)[1])  # noqa: S301  see above
        with rare_collections():
            while True:
                jobs: list[Job] = pickle.loads(read_frame(orders)[1])  # noqa: S301
                try:
                    outcomes = [prepare_file(job, recipe) for job in jobs]
                except Exception as error:  # noqa: BLE001  the outermost handler of this process
                    error.add_note(f"in a process that reads files: {traceback.format_exc()}")
                    write_frame(answers, {"raised": True}, pickle.dumps(error, protocol=5))
                    continue
                write_frame(answers, {}, pickle.dumps(outcomes, protocol=5))
    except (EOFError, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
