"""In a process that has this on its path, opening certain files takes long, or is the end of it as a crash would be."""

import os
import sys
import time

DEADLY = "kills-its-reader.md"
SLOW = ".slow.md"
SLOW_S = 0.05


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        path = str(arguments[0])
        if path.endswith(DEADLY):
            os._exit(1)
        if path.endswith(SLOW):
            time.sleep(SLOW_S)


sys.addaudithook(watch)
