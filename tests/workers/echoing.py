"""A child for the tests of `workers/process.py`: does what the header of each frame says."""

from __future__ import annotations

import os
import sys
import time

from outcrop.workers.frames import read_frame, take_pipes, write_frame


def main() -> None:
    requests, answers = take_pipes()
    while True:
        try:
            header, payload = read_frame(requests)
        except EOFError:
            if "--lingers" in sys.argv:
                time.sleep(3600)
            return
        print(header.get("say", ""), flush=True)
        time.sleep(header.get("sleep", 0))
        if "exit" in header:
            os._exit(header["exit"])
        write_frame(answers, {"echo": header, "pid": os.getpid()}, payload)


if __name__ == "__main__":
    main()
