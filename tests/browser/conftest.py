"""A real server and a real browser. Every page of a test must stay free of console errors."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
NO_CHROMIUM = "no Chromium: install one, or name it in QUEUE_LAB_CHROMIUM"
PATIENCE_MS = 15_000  # for an answer on a machine that has much else to do
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("QUEUE_LAB_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Server:
    """`queue-lab` in a process of its own, on a port that stays the same when it is started again."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.data = tempfile.TemporaryDirectory()  # progress is kept here, and not in the home of whoever tests
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "webapp.cli", "--port", str(self.port), "--data", self.data.name]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert "http://" in self.process.stdout.readline(), "the server did not start"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()
    server.data.cleanup()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if not path:
        required = os.environ.get("CI") or os.environ.get("QUEUE_LAB_BROWSER") == "required"
        (pytest.fail if required else pytest.skip)(NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def pages(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    problems: list[str] = []
    contexts = []

    def open_page(path: str, js: bool = True, errors: tuple[str, ...] = (), **options: object) -> Page:
        context = browser.new_context(base_url=server.url, java_script_enabled=js, **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()

        def note(text: str) -> None:
            if not any(expected in text for expected in errors):
                problems.append(f"{page.url}: {text}")

        page.on("console", lambda message: message.type in ("error", "warning") and note(message.text))
        page.on("pageerror", lambda error: note(str(error)))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """open_page(path, js=True, errors=(), **context options) -> a page at that path; `errors` are texts to expect."""
    with pages(browser, server) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def open_shared_page(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """The same for a page that several tests use, one after the other."""
    with pages(browser, server) as open_page:
        yield open_page


@pytest.fixture(scope="session")
def violations() -> Callable[[Page], list[str]]:
    """violations(page) -> what axe-core finds wrong with the page as it is now, a line for each element."""

    def violations(page: Page) -> list[str]:
        # Without the passes, which it would describe one by one, it takes half the time.
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]

    return violations
