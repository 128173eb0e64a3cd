"""The README's picture, taken of the running application: `python tests/picture.py`. It is no test.

It needs Chromium, as the browser tests do: the one in $QUEUE_LAB_CHROMIUM, or one on the PATH.
"""

import sys
from pathlib import Path

from browser.conftest import NO_CHROMIUM, QUIET, Server, chromium
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "screenshot.png"  # beside the README, its only reader: what is in static/ would be served
PAGE = "/retries?step=18&view=present"  # the third attempt fails: the whole run on one screen
SIZE = {"width": 1280, "height": 800}
MAX_KB = 300


def main() -> int:
    """Take the picture; 1 when there is no Chromium or the picture is too large a file."""
    executable = chromium()
    if not executable:
        print(NO_CHROMIUM, file=sys.stderr)
        return 1
    server = Server()
    try:
        take(executable, server.url + PAGE)
    finally:
        server.kill()
        server.data.cleanup()
    size_kb = PICTURE.stat().st_size / 1_000
    print(f"{PICTURE.name}: {size_kb:.0f} KB")
    return int(size_kb > MAX_KB)


def take(executable: str, address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(address, wait_until="networkidle")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
