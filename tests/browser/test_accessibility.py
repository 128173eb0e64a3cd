"""What a machine can see of accessibility: axe-core on every page, in both colour schemes and at phone width."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons import contents

SECTIONS = [section.slug for section in contents.sections()]
PAGES = [
    ("/", "light"),
    ("/", "dark"),
    *((f"/{slug}", "light") for slug in SECTIONS),
    *((f"/{slug}?step=last", "dark") for slug in SECTIONS),
    ("/retries?step=13&view=present", "dark"),
    ("/redelivery?step=8&visibility_ms=5000", "light"),
    ("/dead-letters?replay_at_ms=60000&step=last", "light"),
    ("/retries?max_attempts=0", "dark"),
    ("/retries?step=0", "light"),
    ("/no-such-section", "dark"),
]


@pytest.mark.parametrize(("path", "scheme"), PAGES)
def test_axe_finds_nothing(open_page, path, scheme) -> None:
    page = open_page(path, color_scheme=scheme, errors=("400", "404"))

    assert violations(page) == []


@pytest.mark.parametrize("path", ["/", "/retries?step=13", "/outbox?step=last"])
def test_axe_finds_nothing_at_phone_width(open_page, path) -> None:
    page = open_page(path, viewport={"width": 390, "height": 844})

    assert violations(page) == []


def test_axe_finds_nothing_while_the_keys_are_listed(open_page) -> None:
    page = open_page("/retries")
    page.keyboard.press("?")

    assert violations(page) == []


def violations(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]
