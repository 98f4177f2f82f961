"""A process that uses an index as a server would: `child URL FOLDER write NAME`, or `search QUERY`.

It prints a line for each document that was acknowledged, or for each search what it found first, until its standard
input is closed. Where the database was lost under it, it says so and tries again, as a client would; any
other error ends it with a traceback.
"""

from __future__ import annotations

import sys
import threading

import outcrop
from outcrop.errors import DatabaseLost


def text_of(name: str) -> str:
    """What a document of this name says; every one has a word of its own."""
    return f"Report {name}. The granite of quarry {name.replace('-', '')} was measured twice."


def write(engine: outcrop.Engine, name: str, enough: threading.Event) -> None:
    """Add one document after the other."""
    number = 0
    while not enough.is_set():
        try:
            engine.add(text=text_of(f"{name}-{number}"), id=f"{name}-{number}", collection="reports")
        except DatabaseLost as error:
            print(f"error: {error}", flush=True)
            continue
        print(f"{name}-{number}", flush=True)
        number += 1


def search(engine: outcrop.Engine, query: str, enough: threading.Event) -> None:
    """Ask the same question again and again."""
    number = 0
    while not enough.wait(0.02):
        answer = engine.search(f"{query} {number}")
        if answer.reason == "error":
            print(f"error: {answer.detail}", flush=True)
        else:
            print(answer.hits[0].document.uri if answer.hits else "nothing", flush=True)
        number += 1


def main() -> None:
    """Work until standard input ends."""
    url, folder, work, what = sys.argv[1:]
    enough = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        enough.set()

    threading.Thread(target=wait, daemon=True).start()
    with outcrop.open(url, data_dir=folder) as engine:
        {"write": write, "search": search}[work](engine, what, enough)


if __name__ == "__main__":
    main()
