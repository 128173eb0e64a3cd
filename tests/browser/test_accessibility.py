"""What a machine can see of accessibility: axe-core on every page, the keyboard alone, print, contrast, zoom."""

import pytest
from playwright.sync_api import Page, expect

from lessons import contents, quiz

BANK = {family.id: family for family in quiz.families()}
SECTIONS = [section.slug for section in contents.sections()]
PAGES = {
    "light": [
        "/",
        *(f"/{slug}" for slug in SECTIONS),
        "/redelivery?step=8&visibility_ms=5000",
        "/dead-letters?replay_at_ms=60000&step=last",
        "/retries?step=0",
    ],
    "dark": [
        "/",
        *(f"/{slug}?step=last" for slug in SECTIONS),
        "/retries?step=13&view=present",
        "/retries?max_attempts=0",
        "/no-such-section",
    ],
}


@pytest.mark.parametrize("scheme", PAGES)
def test_axe_finds_nothing(open_page, violations, scheme) -> None:
    page = open_page("/healthz", color_scheme=scheme, errors=("400", "404"))
    for path in PAGES[scheme]:  # in one page: each new one costs as much as the look at it
        page.goto(path)

        assert violations(page) == [], path


@pytest.mark.parametrize("path", ["/", "/retries?step=13", "/outbox?step=last"])
def test_axe_finds_nothing_at_phone_width(open_page, violations, path) -> None:
    page = open_page(path, viewport={"width": 390, "height": 844})

    assert violations(page) == []


def test_axe_finds_nothing_while_the_keys_are_listed(open_page, violations) -> None:
    page = open_page("/retries")
    page.keyboard.press("?")

    assert violations(page) == []


def test_a_queue_is_driven_by_keyboard_alone(open_page) -> None:
    page = open_page("/job-queue?ops=none")
    page.evaluate("document.querySelector('#narration').same = true")

    def press(name: str, sentence: str, key: str = "Enter", tab: str = "Tab", then: str = "") -> None:
        tab_to(page, name, tab)
        page.keyboard.press(key)
        expect(page.locator("#narration[aria-live=polite] .sentence")).to_contain_text(sentence)
        assert page.evaluate("document.querySelector('#narration').same"), "a new live region is not read out"
        assert focused(page).startswith(then or name)

    tab_to(page, "With a given id")
    page.keyboard.press("ArrowDown")
    press("Enqueue", "The checkout enqueues order-1 (render-invoice)")
    press("Claim as worker A", "Worker A claims order-1")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("at work on order-1")
    press("Fail as worker A", "due again at t=1s", key="Space")
    press("To the next due time", "order-1 is due again")
    press("Claim as worker A", "attempt 2", tab="Shift+Tab")
    press("Ack as worker A", "acks")
    press("Undo", "Worker A claims order-1")
    press("Fail permanently as worker A", "It goes to the dead letters", tab="Shift+Tab")
    press("Replay order-1", "out of the dead letters", then="Replay")
    press("Start again", "an empty queue")

    assert page.url.endswith("/job-queue?ops=none")


def test_a_run_is_played_scrubbed_and_changed_by_keyboard_alone(open_page) -> None:
    page = open_page("/retries?pace=2000")
    moment = page.locator("#moment")
    tab_to(page, "Play")
    page.keyboard.press("Enter")
    expect(page.locator("#t-play")).to_have_text("Pause")
    assert focused(page) == "Pause"
    page.keyboard.press("Enter")
    expect(page.locator("#t-play")).to_have_text("Play")
    assert focused(page) == "Play"
    at = int(moment.get_attribute("data-step"))
    tab_to(page, "Step")
    page.keyboard.press("Enter")
    expect(moment).to_have_attribute("data-step", str(at + 1))
    assert focused(page) == "Step"
    tab_to(page, f"Step {at + 1} of 28")
    page.keyboard.press("ArrowRight")
    expect(moment).to_have_attribute("data-step", str(at + 2))
    page.keyboard.press("End")
    expect(moment).to_have_attribute("data-step", "28")
    assert focused(page) == "Step 28 of 28"
    tab_to(page, "Max attempts")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    tab_to(page, "Run with these")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The run has changed. It has 16 steps.")
    expect(page.locator("#transport")).to_be_focused()
    tab_to(page, "All 16 steps")
    page.keyboard.press("Enter")
    tab_to(page, "t=")
    tab_to(page, "t=")
    page.keyboard.press("Enter")
    expect(moment).to_have_attribute("data-step", "2")
    assert focused(page) == "t=0s"
    page.keyboard.press("?")
    assert focused(page) == "Close"
    page.keyboard.press("Enter")

    assert focused(page) == "t=0s"


def test_a_quiz_is_taken_by_keyboard_alone(open_page) -> None:
    page = open_page("/quiz")
    tab_to(page, "Start the quiz")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Question 1 of 5")
    written = False  # one piece of code is enough, the next is given up: each starts a Python
    for number, one in enumerate(page.request.get("/progress/export.json").json()["quiz"][-1]["questions"], start=1):
        question = BANK[one["family"]].make(one["seed"])
        expect(page.locator("h1")).to_have_text(f"Question {number} of 5")
        expect(page.locator("#ask")).to_be_focused()
        if question.kind == "choose":
            tab_to(page, " ".join(question.options[0].text.split()))
            page.keyboard.press("Space")
            for option in question.options:
                if option.right:
                    break
                page.keyboard.press("ArrowDown")
            tab_to(page, "Answer")
        elif question.kind == "predict":
            tab_to(page, "What it prints")
            page.keyboard.type(question.expected)
            tab_to(page, "Answer")
        else:
            expect(page.locator(".code-editor")).to_be_visible()
            tab_to(page, "Python code")
            if not written:
                page.keyboard.press("ControlOrMeta+a")
                page.keyboard.press("Delete")
                page.keyboard.insert_text(question.solution)
            page.keyboard.press("Escape")
            if written:
                tab_to(page, "Give up…")
                page.keyboard.press("Enter")
            tab_to(page, "Give up and show" if written else "Run and check")
        page.keyboard.press("Enter")
        expect(page.locator("#verdict")).to_be_focused(timeout=60_000)
        expect(page.locator("#verdict")).to_be_in_viewport()
        verdict = "Not solved" if question.kind == "write" and written else "Right"
        expect(page.locator("#verdict h2")).to_have_text(verdict)
        written = written or question.kind == "write"
        tab_to(page, "Next: question" if number < 5 else "See the result")
        page.keyboard.press("Enter")
    expect(page.locator(".score")).to_be_focused()
    tab_to(page, "Try again")
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_have_text("Question 1 of 5")
    expect(page.locator("#ask")).to_be_focused()


def test_nothing_is_too_wide_on_paper_in_forced_colours_or_zoomed_and_nothing_moves_if_not_wanted(open_page) -> None:
    page = open_page("/quiz")
    page.get_by_role("button", name="Start the quiz").click()
    driven = "/job-queue?ops=enqueue+claim.A+advance.30000+claim.B+ack.A+fail.B&step=last"
    for path in ["/retries?step=13", driven, f"{driven}&view=present", page.url, "/practice/limit-deliveries"]:
        page.emulate_media(media="screen", forced_colors="none", reduced_motion="reduce")
        page.goto(path)
        assert page.locator("*").evaluate_all(MOVING) == [], path
        for width, media, colours in [(1280, "screen", "active"), (794, "print", "none"), (720, "screen", "none")]:
            page.set_viewport_size({"width": width, "height": 450})  # 720: a window of 1440, at 200 %
            page.emulate_media(media=media, forced_colors=colours)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, media, colours)


MOVING = """all => all.filter(one => {
  const { animationName, transitionDuration } = getComputedStyle(one);
  return animationName !== "none" || transitionDuration !== "0s";
}).map(one => one.outerHTML.slice(0, 80))"""


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until something whose name begins so has the focus. All on the way must show that they have it."""
    passed: list[str] = []
    while len(passed) < 80:
        page.keyboard.press(key)
        passed.append(focused(page))
        if passed[-1].startswith(name):
            return
    pytest.fail(f"{name!r} is not among {passed}")


def focused(page: Page) -> str:
    """The name of what has the focus, "" for the page itself; an AssertionError if nobody can see where it is."""
    name, seen = page.evaluate(FOCUSED)
    assert seen, f"{name!r} has the focus and does not show it"
    return name


FOCUSED = r"""async () => {
  let one = document.activeElement;
  if (one === document.body) return ["", true];
  while (one.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
  const name = one.ariaLabel ?? one.labels?.[0]?.textContent ?? one.textContent;
  const ringed = (element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  };
  const seen = () => {
    const { top, bottom, left, right } = one.getClientRects()[0];
    const inView = Math.min(bottom, innerHeight) - Math.max(top, 0) > 9 && left < innerWidth && right > 0;
    return inView && [one, one.parentElement, one.parentElement?.parentElement].filter(Boolean).some(ringed);
  };
  // The editor shows its ring a moment later.
  for (let frame = 0; frame < 30 && !seen(); frame++) await new Promise(requestAnimationFrame);
  return [name.replace(/\s+/g, " ").trim(), seen()];
}"""
