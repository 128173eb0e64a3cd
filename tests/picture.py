"""The README's picture, taken of the running application: `python tests/picture.py`. It is no test.

It needs Chromium, as the browser tests do: the one in $QUEUE_LAB_CHROMIUM, or one on the PATH.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "screenshot.png"  # beside the README, its only reader: what is in static/ would be served
PAGE = "/retries?step=18&view=present"  # the third attempt fails: the whole run on one screen
SIZE = {"width": 1280, "height": 800}
MAX_KB = 300


def main() -> int:
    """Take the picture; 1 when there is no Chromium or the picture is too large a file."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = os.environ.get("QUEUE_LAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not chromium:
        print("no Chromium: install one, or name it in QUEUE_LAB_CHROMIUM", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "webapp.cli", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+(?=/)", server.stdout.readline())
        assert found, "the server did not start"
        take(chromium, found[0] + PAGE)
    finally:
        server.kill()
        server.communicate()
    size_kb = PICTURE.stat().st_size / 1_000
    print(f"{PICTURE.name}: {size_kb:.0f} KB")
    return int(size_kb > MAX_KB)


def take(chromium: str, address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(address, wait_until="networkidle")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
