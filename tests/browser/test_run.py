"""The run on a page, as a person uses it."""

import re

import pytest
from playwright.sync_api import Page, expect

from lessons import contents

SPEED = "pace=150"


def step(page: Page) -> int:
    return int(page.locator("#moment").get_attribute("data-step") or 0)


def at_step(page: Page, number: int | str) -> None:
    expect(page.locator("#moment")).to_have_attribute("data-step", str(number))


def past_step(page: Page, number: int) -> None:
    """Wait for a playing run: on a slow machine a single step may come and go unseen."""
    for _ in range(600):
        if step(page) >= number:
            return
        page.wait_for_timeout(50)
    pytest.fail(f"still at step {step(page)}, not at {number}")


def test_steps_forward_and_back_without_javascript(open_page) -> None:
    page = open_page("/retries", js=False)
    page.get_by_role("link", name="Step", exact=True).click()
    page.get_by_role("link", name="Step", exact=True).click()

    at_step(page, 3)
    assert page.url.endswith("/retries?step=3")
    page.get_by_role("link", name="Back", exact=True).click()
    at_step(page, 2)
    page.get_by_role("link", name="Last", exact=True).click()
    at_step(page, page.locator("#moment").get_attribute("data-total"))


def test_form_and_slider_work_without_javascript(open_page) -> None:
    page = open_page("/retries", js=False)
    page.get_by_label("Max attempts").fill("2")
    page.get_by_role("button", name="Run with these").click()

    assert "max_attempts=2" in page.url
    expect(page.locator(".all-steps")).to_contain_text("It goes to the dead letters")
    page.get_by_role("button", name="Go", exact=True).click()
    at_step(page, 1)


def test_plays_to_the_end_and_stops(open_page) -> None:
    page = open_page(f"/redelivery?{SPEED}")
    page.get_by_role("link", name="Play", exact=True).click()

    total = page.locator("#moment").get_attribute("data-total")
    at_step(page, total)
    expect(page.locator("#t-play")).to_have_text("Replay")
    assert f"step={total}" in page.url
    assert "play" not in page.url


def test_every_step_of_a_play_is_shown_in_order(open_page) -> None:
    page = open_page(f"/redelivery?{SPEED}")
    page.evaluate("""() => {
        window.seen = [1];
        new MutationObserver(() => {
            const step = Number(document.querySelector("#moment").dataset.step);
            if (step !== seen.at(-1)) seen.push(step);
        }).observe(document.body, {subtree: true, childList: true, attributes: true});
    }""")
    page.get_by_role("link", name="Play", exact=True).click()
    total = int(page.locator("#moment").get_attribute("data-total") or 0)
    at_step(page, total)

    assert list(range(1, total + 1)) == page.evaluate("seen")


def test_pause_stays_and_play_goes_on_from_there(open_page) -> None:
    page = open_page("/retries?pace=400&play=1")
    past_step(page, 4)
    page.get_by_role("link", name="Pause", exact=True).click()
    expect(page.locator("#t-play")).to_have_text("Play")
    paused = step(page)
    page.wait_for_timeout(1_000)

    assert paused == step(page)
    assert paused < 28
    page.get_by_role("link", name="Play", exact=True).click()
    past_step(page, paused + 2)


def test_back_while_playing_pauses(open_page) -> None:
    page = open_page("/retries?pace=2000&play=1&step=5")
    past_step(page, 6)
    page.get_by_role("link", name="Back", exact=True).click()
    expect(page.locator(".tape")).to_have_count(0)
    stays = step(page)
    page.wait_for_timeout(2_500)

    assert stays == step(page)


def test_keys(open_page) -> None:
    page = open_page("/retries?view=present")
    for key, expected in (
        ("ArrowRight", 2),
        ("PageDown", 3),
        ("Space", 4),
        ("ArrowLeft", 3),
        ("PageUp", 2),
        ("End", 28),
        ("Home", 1),
    ):
        page.keyboard.press(key)
        at_step(page, expected)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    # Until the next frame the button of the closed list still has the focus.
    page.keyboard.press("?")
    page.evaluate("""() => {
      const button = document.activeElement;
      document.querySelector("#keys").close();
      button.dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true, cancelable: true }));
    }""")
    past_step(page, 2)
    page.keyboard.press("k")
    expect(page.locator("#t-play")).to_have_text("Play")
    page.keyboard.press("Escape")
    expect(page.locator(".lede")).to_be_visible()


# Chromium can lose a key that is pressed while the page still scrolls, so a test waits for the end.
SCROLLED = """() => {
  window.scrolled = new Promise((ended) => {
    addEventListener("scrollend", () => ended(true), { once: true });
    setTimeout(ended, 15_000, false);
  });
}"""


def test_keys_that_scroll_a_page_step_only_from_the_buttons_of_the_run(open_page) -> None:
    page = open_page("/retries?step=5")
    page.keyboard.press("ArrowRight")
    at_step(page, 6)
    for key in ("PageDown", "PageUp", "Space", "End", "Home"):
        page.evaluate(SCROLLED)
        page.keyboard.press(key)
        assert page.evaluate("window.scrolled"), key
    at_step(page, 6)
    page.locator("#t-next").focus()
    for key, expected in (("PageDown", 7), ("PageUp", 6), ("Space", 7), ("End", 28), ("Home", 1)):
        page.keyboard.press(key)
        at_step(page, expected)


def test_fast_keys_lose_no_step(open_page) -> None:
    page = open_page("/retries")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    at_step(page, 13)
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    at_step(page, 8)


def test_after_an_answer_that_failed_no_step_is_left_out_and_the_address_is_what_is_shown(open_page) -> None:
    page = open_page("/retries?step=3", errors=("500",))
    page.route("**/retries?step=4", lambda route: route.fulfill(status=500, body="broken"), times=1)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("status")).to_contain_text("The server had a problem")

    at_step(page, 3)
    assert page.url.endswith("/retries?step=3")
    page.keyboard.press("ArrowRight")
    at_step(page, 4)
    assert page.url.endswith("/retries?step=4")


def test_keys_leave_a_field_that_is_typed_in_alone(open_page) -> None:
    page = open_page("/dead-letters")
    field = page.get_by_label("E-mail")
    field.fill("")
    field.press_sequentially("a p?k")

    at_step(page, 1)
    expect(field).to_have_value("a p?k")


def test_stepping_keeps_focus_and_scroll(open_page) -> None:
    page = open_page("/retries", viewport={"width": 900, "height": 500})
    page.evaluate("scrollTo(0, 150)")
    before = page.evaluate("scrollY")
    button = page.locator("#t-next")
    button.focus()
    page.keyboard.press("Enter")
    at_step(page, 2)
    page.keyboard.press("Enter")
    at_step(page, 3)

    expect(button).to_be_focused()
    assert abs(before - page.evaluate("scrollY")) <= 2  # browsers round


def test_scrubbing_shows_the_step_under_the_thumb(open_page) -> None:
    page = open_page("/retries")
    slider = page.locator("#step")
    slider.focus()
    slider.press("End")
    at_step(page, 28)
    slider.press("ArrowLeft")
    at_step(page, 27)
    expect(slider).to_be_focused()
    expect(slider).to_have_value("27")
    page.locator("#t-first").click()
    at_step(page, 1)
    expect(slider).to_have_value("1")


def test_address_is_the_moment(open_page) -> None:
    page = open_page("/retries?max_attempts=2&step=4")
    sentence = page.locator(".sentence").inner_text()
    page.get_by_role("link", name="Step", exact=True).click()
    at_step(page, 5)
    page.get_by_role("link", name="Back", exact=True).click()
    at_step(page, 4)
    again = open_page(page.url)

    assert sentence == again.locator(".sentence").inner_text()
    assert page.url.endswith("/retries?max_attempts=2&step=4")


def test_link_to_this_step_is_copied(open_page, server) -> None:
    page = open_page("/retries?step=7", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#t-link").click()
    expect(page.get_by_role("status")).to_contain_text("copied")

    assert f"{server.url}/retries?step=7" == page.evaluate("navigator.clipboard.readText()")


def test_timeline_mark_leads_to_its_step(open_page) -> None:
    page = open_page("/retries")
    mark = page.locator(".mark.kind-retry").last
    number = mark.get_attribute("data-step")
    mark.locator("a").click()

    at_step(page, number or "")


def test_timeline_mark_on_the_start_page_leads_to_its_step(open_page) -> None:
    page = open_page("/")
    mark = page.locator(".showcase .mark.kind-retry").last
    number = mark.get_attribute("data-step") or ""
    mark.locator("a").click()

    at_step(page, number)


def test_new_run_comes_into_view_with_the_focus(open_page) -> None:
    for path, key, number in (("/retries", "ArrowRight", 2), ("/job-queue?step=1", "ArrowLeft", 15)):
        page = open_page(path, viewport={"width": 1000, "height": 700})
        page.get_by_label("Max attempts").fill("2")
        page.get_by_role("button", name="Run with these").click()
        expect(page.locator(".changed")).to_contain_text("Max attempts 2")

        expect(page.locator("#transport")).to_be_focused()
        expect(page.locator("#transport")).to_be_in_viewport(ratio=1)
        expect(page.locator(".changed")).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("status")).to_contain_text("The run has changed")
        page.keyboard.press(key)
        at_step(page, number)


def test_changed_run_replaces_the_old_one(open_page) -> None:
    page = open_page("/retries?step=9")
    page.get_by_label("Max attempts").fill("2")
    page.get_by_role("button", name="Run with these").click()
    expect(page.locator(".all-steps")).to_contain_text("It goes to the dead letters")

    at_step(page, 1)
    assert page.url.endswith("/retries?max_attempts=2")
    page.go_back()
    expect(page.locator(".all-steps")).not_to_contain_text("It goes to the dead letters")


def test_bad_value_is_said_beside_its_field(open_page) -> None:
    page = open_page("/retries", errors=("400",))
    page.get_by_label("Max attempts").fill("many")
    page.get_by_role("button", name="Run with these").click()

    expect(page.locator("#e-max_attempts")).to_contain_text("a whole number from 1 to 100")
    expect(page.get_by_label("Max attempts")).to_have_value("many")


def test_a_mistake_is_corrected_on_the_page_that_tells_it(open_page) -> None:
    page, asked = open_page("/retries", errors=("400",)), []
    page.on("request", lambda request: asked.append(request.url))
    field, run = page.get_by_label("Mail provider is back at"), page.get_by_role("button", name="Run with these")
    field.fill("5s")
    run.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This run cannot be made")
    expect(page).to_have_title("This run cannot be made · Queue Lab")
    bad = page.url
    assert 1 == asked.count(bad)
    field.fill("9000")
    run.click()
    expect(page.locator("h1")).to_have_text("Retries with backoff")

    expect(page.locator("#lab #moment")).to_be_visible()
    expect(page.locator(".problem, .problems")).to_have_count(0)
    assert page.url.endswith("9000")
    assert 1 == asked.count(bad)
    assert page.get_by_role("heading", name="Change the run").count() == 1
    page.go_back()
    expect(page.locator("h1")).to_have_text("This run cannot be made")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Retries with backoff")


def test_play_goes_on_after_the_server_was_killed_and_started_again(open_page, server) -> None:
    page = open_page("/retries?pace=800&play=1", errors=("ERR_", "htmx:sse:error"))
    page.evaluate("""() => {
        window.seen = [];
        new MutationObserver(() => {
            const step = Number(document.querySelector("#moment").dataset.step);
            if (step !== seen.at(-1)) seen.push(step);
        }).observe(document.body, {subtree: true, childList: true, attributes: true});
    }""")
    past_step(page, 4)
    server.kill()
    cut_at = step(page)
    server.start()
    past_step(page, cut_at + 3)

    seen = page.evaluate("seen")
    assert list(range(seen[0], seen[-1] + 1)) == seen  # nothing lost, nothing twice


def test_first_connection_that_fails_is_tried_again(open_page) -> None:
    page = open_page(f"/redelivery?{SPEED}", errors=("ERR_", "Failed to fetch"))
    refused = []

    def refuse_once(route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(route.request.url)
            route.abort()

    page.route(re.compile("/stream"), refuse_once)
    page.get_by_role("link", name="Play", exact=True).click()

    past_step(page, 4)
    assert len(refused) == 1


@pytest.mark.parametrize("slug", [section.slug for section in contents.sections()])
def test_presenter_view_shows_every_panel_on_a_projector(open_page, slug) -> None:
    page = open_page(f"/{slug}?step=last&view=present", viewport={"width": 1920, "height": 1080})
    below = page.locator(".panel").evaluate_all(
        "panels => panels.filter(panel => panel.getBoundingClientRect().bottom > innerHeight + 1)"
        ".map(panel => panel.className)"
    )

    assert below == []
    for drawn in page.locator(".panel.board, .panel.timeline").all():
        assert drawn.evaluate("panel => panel.scrollHeight <= panel.clientHeight + 1")
    last = page.locator("#log li").last.evaluate("li => li.getBoundingClientRect().bottom")
    assert last <= page.locator(".panel.log").evaluate("log => log.getBoundingClientRect().bottom")


def test_presenter_view_is_big_and_steps_by_clicker(open_page) -> None:
    page = open_page("/retries?step=13&view=present", viewport={"width": 1920, "height": 1080})
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('.sentence')).fontSize)") >= 36
    page.keyboard.press("PageDown")
    at_step(page, 14)
    assert "view=present" in page.url
    page.keyboard.press("p")
    expect(page.locator("body")).not_to_have_class(re.compile("present"))
    at_step(page, 14)


SIZES = """() => Object.fromEntries(
  [".sentence", ".lane h3", ".job", ".source", "#log li", ".panel td", ".panel h2", ".legend", ".drawing text", ".what"]
    .map((one) => [one, parseFloat(getComputedStyle(document.querySelector("#moment " + one)).fontSize)])
)"""


@pytest.mark.parametrize("height", [720, 800])
def test_presenter_view_is_nowhere_smaller_than_the_page(open_page, height) -> None:
    address = "/outbox?step=30"
    page = open_page(address, viewport={"width": 1280, "height": height})
    before = page.evaluate(SIZES)
    page.goto(f"{address}&view=present")
    after = page.evaluate(SIZES)

    assert {} == {name: size for name, size in after.items() if size < before[name]}
    assert after[".sentence"] > 1.3 * before[".sentence"]
    assert after[".job"] > 1.2 * before[".job"]


CUT = """async () => {
  const cut = [], last = Number(moment.dataset.total);
  for (let step = 1; step <= last; step++) {
    const text = await (await fetch(`${location.pathname}?view=present&step=${step}`)).text();
    moment.replaceWith(new DOMParser().parseFromString(text, "text/html").querySelector("#moment"));
    for (const until of moment.querySelectorAll(".job .until")) {
      const [inner, card] = [until, until.closest(".job")].map(one => one.getBoundingClientRect());
      const whole = until.scrollWidth <= until.clientWidth && inner.right <= card.right && inner.bottom <= card.bottom;
      if (!whole) cut.push([step, until.textContent]);
    }
  }
  return cut;
}"""


@pytest.mark.parametrize("slug", ["redelivery", "retries", "fan-out", "outbox"])
def test_presenter_view_never_cuts_who_holds_a_lease_and_until_when(open_page, slug) -> None:
    page = open_page(f"/{slug}?view=present", viewport={"width": 1280, "height": 720})

    assert page.evaluate(CUT) == []


def test_presenter_view_shows_the_changed_row_and_the_newest_line(open_page) -> None:
    for js in (True, False):
        page = open_page("/outbox?step=24&view=present", js=js, viewport={"width": 1920, "height": 1080})
        for one in (page.locator("tr.touched").last, page.locator("#log li").last):
            assert one.evaluate(
                """one => { const { left, top, bottom } = one.getBoundingClientRect();
                return [top + 3, bottom - 3].every(y => one.contains(document.elementFromPoint(left + 20, y))); }"""
            )


PLACES = """async () => {
  const places = {}, texts = (window.texts ??= {}), search = new URLSearchParams(location.search);
  for (let step = 1; step <= Number(moment.dataset.total); step++) {
    search.set("step", step);
    const text = (texts[step] ??= await (await fetch(`${location.pathname}?${search}`)).text());
    moment.replaceWith(new DOMParser().parseFromString(text, "text/html").querySelector("#moment"));
    const all = moment.getBoundingClientRect();
    for (const part of moment.querySelectorAll(".panel, .narration, .source, #log, #transport .button")) {
      const { left, top } = part.getBoundingClientRect();
      const place = [left - all.left, top - all.top].map(Math.round).join();
      (places[part.id || part.getAttribute("aria-labelledby")] ??= new Set()).add(place);
    }
  }
  return Object.entries(places).filter(([_, them]) => them.size > 1).map(([name, them]) => [name, ...them]);
}"""


def test_no_panel_moves_while_one_steps(open_page) -> None:
    page = open_page("/")
    for slug in ("retries", "redelivery", "outbox"):
        page.goto(f"/{slug}")
        for width in (1280, 1440):
            page.set_viewport_size({"width": width, "height": 800})

            assert page.evaluate(PLACES) == [], (slug, width)


def test_no_panel_of_the_presenter_view_moves_while_one_steps(open_page) -> None:
    page = open_page("/")
    for section in contents.sections():
        page.goto(f"/{section.slug}?view=present")
        for width, height in ((1280, 720), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})

            assert page.evaluate(PLACES) == [], (section.slug, width)


def test_presenter_view_cuts_no_line_of_a_listing_and_no_statement(open_page) -> None:
    page = open_page("/outbox?step=11&view=present", viewport={"width": 1280, "height": 720})
    scrolled = []
    for number in range(12, 36):
        page.keyboard.press("ArrowRight")
        at_step(page, number)
        listing, detail = page.locator("#code-1"), page.locator(".kind-sql .detail")
        line, top, height = listing.evaluate(
            "one => [parseFloat(getComputedStyle(one).lineHeight), one.scrollTop, one.clientHeight]"
        )
        scrolled.append(top)
        assert (0, 0) == (top % line, height % line), number
        assert detail.evaluate_all("those => those.every(one => one.scrollHeight <= one.clientHeight + 1)"), number
    assert any(scrolled)


def test_space_steps_after_a_click_and_keys_work_after_scrubbing(open_page) -> None:
    page = open_page("/retries", viewport={"width": 1280, "height": 500})
    page.locator("#t-next").click()
    at_step(page, 2)
    page.keyboard.press("Space")
    at_step(page, 3)
    assert page.evaluate("scrollY") == 0
    page.locator("#step").press("End")
    at_step(page, 28)
    page.keyboard.press("k")
    past_step(page, 1)
    expect(page.locator("#t-play")).to_have_text("Pause")


def test_nothing_overflows_sideways(open_page) -> None:
    page = open_page("/")
    chapters = [f"/{chapter.slug}" for chapter in contents.chapters()]
    last_steps = [f"/{section.slug}?step=last" for section in contents.sections()]
    long = "x" * 70 + "@" + "y" * 20
    for path in ["/", *chapters, *last_steps, f"/dead-letters?email={long}&step=last"]:
        page.goto(path)
        for width in (320, 390, 768, 1440):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_phone_can_step_and_play(open_page) -> None:
    page = open_page(f"/redelivery?{SPEED}", viewport={"width": 390, "height": 844}, has_touch=True)
    page.locator("#t-next").tap()
    at_step(page, 2)
    page.locator("#t-play").tap()
    at_step(page, page.locator("#moment").get_attribute("data-total"))
    page.locator("#t-view").tap()
    expect(page.locator("body")).to_have_class(re.compile("present"))


def test_held_key_never_leaves_the_page(open_page) -> None:
    page = open_page("/retries")
    page.evaluate("window.same = true")
    for _ in range(6):
        for _ in range(8):
            page.keyboard.press("ArrowRight")
        for _ in range(8):
            page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(30)
    page.locator("#t-last").click()
    at_step(page, 28)

    assert page.evaluate("window.same")
