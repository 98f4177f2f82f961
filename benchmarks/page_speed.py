"""How soon results stand on the screen while one types: the page in a real browser, over a real server.

    python -m benchmarks.page_speed --chunks 20000

Each query is typed letter by letter. The time of a letter runs from the moment the browser got the key to the frame
that shows results for the text with that letter, or with later ones: nothing is left out, neither the page's pace nor
the painting. Then every view is opened afresh, as often as queries are typed: how soon something is painted, how far
things move while it loads (layout shift, as browsers count it), and in both themes how many texts have too little
contrast (axe). Needs Chromium. Exits with 1 when a figure misses its bar.

Beside the time stands the CPU time that a letter costs the server and all processes of the browser: on a machine that
has other work to do, only that says how soon results would be there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import serve_load
from benchmarks.report import WORK, Report, percentile, run_child, say

BAR_MS = 100.0
"""Under a tenth of a second an answer feels like one's own doing."""
PACES_MS = {"steady": 130, "burst": 40}
"""Between letters: a fast typist, and one who hammers on the keys or lets one repeat."""
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

WARM = "warm the server up"
SHIFT_BAR = 0.1
"""What browsers call good."""
PAINT_BAR_MS = 1800.0
"""What browsers call good, of the first paint of a page that was never opened before."""
VIEWS = {
    "home": ("#/search", "#home-changed"),
    "search": ("#/search?q=what+is+it", ".hit"),
    "library": ("#/library", "tbody tr"),
    "map": ("#/map", ".map-picture > *"),
    "chat": ("#/chat", ".turns > *"),
    "eval": ("#/eval", ".eval .quiet"),
}
"""Where each is, and what is there when it has loaded."""
SHIFTS = """
(() => {
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
})();
"""

PROBE = """
(() => {
  const typed = [], painted = [];
  window.probe = { typed, painted };
  addEventListener("input", (event) => {
    if (event.target.id === "query") typed.push({ text: event.target.value, at: event.timeStamp });
  }, true);
  new MutationObserver(() => {
    const list = document.querySelector(".hits");
    if (!list || list.dataset.query === undefined || painted.at(-1)?.text === list.dataset.query) return;
    const entry = { text: list.dataset.query, drawn: performance.now(), hits: list.querySelectorAll(".hit").length };
    painted.push(entry);
    requestAnimationFrame(() => {
      const after = new MessageChannel();  // its message comes after the frame was painted
      after.port1.onmessage = () => { entry.at = performance.now(); };
      after.port2.postMessage(0);
    });
  }).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-query"] });
})();
"""
COLLECT = """
() => ({ ...window.probe, requests: performance.getEntriesByType("resource")
  .filter((entry) => entry.name.endsWith("/api/search"))
  .map(({ startTime, responseEnd, encodedBodySize }) => ({ startTime, responseEnd, encodedBodySize })) })
"""


@contextmanager
def serving(db: Path) -> Iterator[str]:
    """`outcrop serve` over an index; its address."""
    with serve_load.serving(db) as server:
        yield address_of(server)


def address_of(server: serve_load.Server) -> str:
    """Where a browser finds it."""
    return f"http://127.0.0.1:{server.port}/"


def make_index(options: argparse.Namespace) -> tuple[Path, list[str]]:
    """An index of about that many chunks, made as `benchmarks.speed` makes it, and queries drawn from it."""
    from benchmarks.corpus import draw_queries, lay_out, read_sources

    work = options.work / (options.corpus.name if options.corpus else "default")
    work.mkdir(parents=True, exist_ok=True)
    pieces = read_sources(options.corpus)
    queries = draw_queries(pieces, options.count)
    layout = lay_out(pieces, options.chunks, work / f"prose-{options.chunks}")
    db = work / f"page-{options.chunks}" / "index.db"
    if not db.exists():
        db.parent.mkdir(exist_ok=True)
        say(f"indexing {layout.files:,} files …")
        run_child(["benchmarks.speed", "--part", "ingest", "--folder", str(layout.folder), "--db", str(db)])
    return db, [query[: options.letters] for query in queries]


def measure(server: serve_load.Server, queries: list[str], pace_ms: int) -> list[dict[str, Any]]:
    """Type every query at a pace; a row a letter with its time, the parts of it, and what its query cost a letter."""
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, Any]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        console = browser.new_browser_cdp_session()

        def spent_s() -> tuple[float, float]:
            processes = console.send("SystemInfo.getProcessInfo")["processInfo"]
            return server.cpu_s(), sum(process["cpuTime"] for process in processes)

        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(PROBE)
        for query in [WARM, *queries]:
            page.goto("about:blank")
            page.goto(f"{address_of(server)}#/search")
            page.locator("#home-changed").wait_for()
            page.wait_for_load_state("networkidle")
            before = spent_s()
            page.locator("#query").press_sequentially(query, delay=pace_ms)
            page.wait_for_function(
                "text => window.probe.painted.some(one => one.text === text && one.at)", arg=query
            )
            in_server, in_browser = (1000 * (now - then) for now, then in zip(spent_s(), before, strict=True))
            if query != WARM:
                letters = letters_of(page.evaluate(COLLECT))
                cost = {"server CPU": in_server / len(letters), "browser CPU": in_browser / len(letters)}
                rows += [letter | cost for letter in letters]
        browser.close()
    return rows


def measure_views(url: str, rounds: int) -> list[dict[str, Any]]:
    """Open every view, in a browser that never saw the page, in both themes by turns; a row an opening."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, Any]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for at in range(max(2, rounds)):
            for view, (place, ready) in VIEWS.items():
                context = browser.new_context(
                    viewport={"width": 1280, "height": 900}, color_scheme="dark" if at % 2 else "light"
                )
                page = context.new_page()
                page.add_init_script(SHIFTS)
                page.goto(f"{url}{place}")
                page.locator(ready).first.wait_for(timeout=60_000)
                page.wait_for_timeout(300)  # what moves late counts too
                painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                row = {"view": view, "paint": page.evaluate(painted), "shift": page.evaluate("window.shift")}
                if at < 2:
                    only = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}
                    found = Axe().run(page, options=only).response["violations"]
                    row["contrast"] = sum(len(one["nodes"]) for one in found)
                rows.append(row)
                context.close()
        browser.close()
    return rows


def report_views(report: Report, rows: list[dict[str, Any]]) -> None:
    """The figures of opened views."""
    paints = [row["paint"] for row in rows]
    report.add(f"opened afresh: first paint, p50 of {len(rows)}", percentile(paints, 0.5), "ms")
    report.add("opened afresh: first paint, p95", percentile(paints, 0.95), "ms", at_most=PAINT_BAR_MS)
    report.add("opened afresh: layout shift, worst", max(row["shift"] for row in rows), "", at_most=SHIFT_BAR)
    faint = sum(row.get("contrast", 0) for row in rows)
    report.add("texts with too little contrast, both themes", faint, "", at_most=0)
    table = []
    for view in VIEWS:
        own = [row for row in rows if row["view"] == view]
        shift = max(row["shift"] for row in own)
        table.append({"view": view, "paint ms": percentile([row["paint"] for row in own], 0.5), "shift": shift})
    report.add_table("views, opened afresh", table)


def letters_of(seen: dict[str, Any]) -> list[dict[str, Any]]:
    """Each letter with the first painting that shows it or later ones."""
    rows = []
    for typed in seen["typed"]:
        shown = next(
            (one for one in seen["painted"] if len(one["text"]) >= len(typed["text"]) and "at" in one), None
        )
        if shown is None:
            raise SystemExit(f"no results were painted for {typed['text']!r}")
        ended = [one for one in seen["requests"] if one["responseEnd"] and one["responseEnd"] <= shown["drawn"]]
        request = max(ended, key=lambda one: float(one["startTime"]))
        rows.append(
            {
                "all": shown["at"] - typed["at"],
                "until asked": max(0.0, request["startTime"] - typed["at"]),
                "server and network": request["responseEnd"] - request["startTime"],
                "drawing": shown["drawn"] - request["responseEnd"],
                "painting": shown["at"] - shown["drawn"],
                "own": shown["text"] == typed["text"],
                "hits": shown["hits"],
                "bytes": request["encodedBodySize"],
            }
        )
    return rows


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--corpus", type=Path, help="a folder of text and HTML, or a .jsonl with a text a line")
    parser.add_argument("--count", type=int, default=20, help="queries that are typed")
    parser.add_argument("--letters", type=int, default=40, help="the longest part of a query that is typed")
    parser.add_argument("--work", type=Path, default=WORK, help="where prose and indexes are kept between runs")
    options = parser.parse_args()
    report = Report(
        f"page-speed-{options.chunks}", {"chunks": options.chunks, "queries": options.count, "paces": PACES_MS}
    )
    db, queries = make_index(options)
    with serve_load.serving(db) as server:
        for name, pace_ms in PACES_MS.items():
            rows = measure(server, queries, pace_ms)
            times = [row["all"] for row in rows]
            report.add(f"{name}: key to painted results, p50 of {len(rows)}", percentile(times, 0.5), "ms")
            report.add(f"{name}: key to painted results, p95", percentile(times, 0.95), "ms", at_most=BAR_MS)
            report.add(f"{name}: key to painted results, worst", max(times), "ms")
            report.add(
                f"{name}: letters with results of their own",
                sum(row["own"] for row in rows) / len(rows),
                "share",
            )
            for where in ("server", "browser"):
                costs = [row[f"{where} CPU"] for row in rows]
                report.add(
                    f"{name}: CPU of the {where} a letter, mean of a query, p50", percentile(costs, 0.5), "ms"
                )
                report.add(
                    f"{name}: CPU of the {where} a letter, mean of a query, p95", percentile(costs, 0.95), "ms"
                )
            parts = ("until asked", "server and network", "drawing", "painting")
            table = [
                {
                    "part": part,
                    "p50 ms": percentile([row[part] for row in rows], 0.5),
                    "p95 ms": percentile([row[part] for row in rows], 0.95),
                }
                for part in parts
            ]
            report.add_table(f"{name}: one letter every {pace_ms} ms", table)
            say("")
        report_views(report, measure_views(address_of(server), options.count))
    report.keep()
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
