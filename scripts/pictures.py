"""Make the pictures of the page that README shows: this repository, searched in the page, light and dark.

    python -m scripts.pictures [--out docs/images]

Needs Chromium. Each picture keeps a mark of the style sheets it was made with, so that a test can tell a stale one.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.page_speed import FLAGS, serving
from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, sync_playwright

import outcrop

ROOT: Final = Path(__file__).resolve().parents[1]
IMAGES: Final = ROOT / "docs" / "images"
STATIC: Final = ROOT / "src" / "outcrop" / "serve" / "page" / "static"
QUERY: Final = "how does reciprocal rank fusion join both legs"
VIEWPORT: Final = (1360, 850)
SCALE: Final = 2
COLOURS: Final = 64
MARK: Final = "look"
"""The name under which a picture keeps the mark."""


def mark_look() -> str:
    """What the style sheets are now."""
    sheets = sorted(STATIC.glob("*.css"))
    return hashlib.sha256(b"".join(sheet.read_bytes() for sheet in sheets)).hexdigest()[:16]


def take(browser: Browser, url: str, theme: str) -> bytes:
    """A search with its best hit opened."""
    width, height = VIEWPORT
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=SCALE,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{url}#/search?q={QUERY.replace(' ', '+')}")
    page.locator(".facet").first.wait_for()
    page.locator(".hit-link").first.click()
    page.locator(".document .chunk-line").first.wait_for()
    page.locator("#query").focus()
    page.wait_for_timeout(300)
    picture = page.screenshot()
    context.close()
    return picture


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=IMAGES)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    info = PngImagePlugin.PngInfo()
    info.add_text(MARK, mark_look())
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        db = Path(folder) / "index.db"
        with outcrop.open(db) as engine:
            engine.add(ROOT / "src" / "outcrop", collection="code")
            engine.add(ROOT / "docs", collection="docs")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        with serving(db) as url:
            for theme in ("light", "dark"):
                with Image.open(io.BytesIO(take(browser, url, theme))) as whole:
                    small = whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                small.save(out / f"page-{theme}.png", optimize=True, pnginfo=info)
                print(f"{out / f'page-{theme}.png'}: {(out / f'page-{theme}.png').stat().st_size // 1000} kB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
