"""A queue driven by hand, as a person does it: with and without JavaScript, by keyboard, on a phone."""

import pytest
from playwright.sync_api import Page, Route, expect

from lessons import contents

SLUG = next(section.slug for section in contents.sections() if section.controls)
EMPTY = f"/{SLUG}?ops=none"
STALE = f"/{SLUG}?ops=enqueue+claim.A+advance.30000+claim.B+ack.A+fail.B"
PHONE = {"viewport": {"width": 390, "height": 844}}
PRESSES = [
    ("enqueue-receipt", "The checkout enqueues job-1"),
    ("claim-a", "Worker A claims job-1"),
    ("lease", "lease on job-1 ended"),
    ("claim-b", "Worker B claims job-1"),
    ("ack-a", "although worker B holds it now"),
    ("fail-b", "the queue has no such job"),
]


def press(page: Page, id: str, sentence: str) -> None:
    page.locator(f"#d-{id}").click()
    expect(page.locator(".sentence")).to_contain_text(sentence)


@pytest.mark.parametrize("js", [True, False])
@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_job_is_lost_by_hand_and_undone(open_page, js, options) -> None:
    page = open_page(EMPTY, js=js, **options)
    for id, sentence in PRESSES:
        press(page, id, sentence)

    expect(page.locator("#d-goals > summary")).to_contain_text("2 of 7")
    assert page.url.endswith(STALE)
    press(page, "undo", "although worker B holds it now")
    expect(page.locator("#d-goals > summary")).to_contain_text("2 of 7" if js else "1 of 7")  # without, none is kept
    press(page, "again", "an empty queue")
    assert page.url.endswith(EMPTY)


@pytest.mark.parametrize("size", [(1280, 800), (768, 1024), (390, 844)])
def test_the_buttons_and_the_queue_that_they_change_are_seen_together(open_page, size) -> None:
    page = open_page(STALE, viewport={"width": size[0], "height": size[1]})
    page.evaluate("document.querySelector('.now').scrollIntoView()")
    page.locator("#d-enqueue-receipt").scroll_into_view_if_needed()

    assert page.locator(".sentence, .lane, #d-enqueue-receipt").evaluate_all(COVERED) == []


def test_a_press_keeps_focus_scroll_and_what_is_unfolded(open_page) -> None:
    page = open_page(EMPTY, viewport={"width": 900, "height": 500})
    page.locator("#d-goals > summary").click()
    button = page.locator("#d-enqueue-receipt")
    button.scroll_into_view_if_needed()
    before = button.bounding_box()["y"]
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sentence")).to_contain_text("job-1")
    page.keyboard.press("Enter")
    expect(page.locator(".sentence")).to_contain_text("job-2")

    expect(button).to_be_focused()
    expect(page.locator("#d-goals")).to_have_attribute("open", "")
    assert abs(before - button.bounding_box()["y"]) <= 2


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
@pytest.mark.parametrize("link", ["#d-other", "#d-solve-5"])
def test_a_link_below_the_run_stays_where_it_is_pressed(open_page, size, link) -> None:
    queue = "hardened" if "solve" in link else "lesson"
    page = open_page(f"{STALE}&queue={queue}", viewport={"width": size[0], "height": size[1]})
    page.evaluate("document.querySelectorAll('#drive-more details').forEach((one) => (one.open = true))")
    pressed = page.locator(link)
    pressed.evaluate("one => scrollBy(0, one.getBoundingClientRect().top - 200)")
    before = pressed.bounding_box()["y"]
    current = page.locator(".choices [aria-current]").get_attribute("id")
    pressed.click()
    expect(page.locator(".choices [aria-current]")).not_to_have_id(current)
    page.wait_for_timeout(200)

    assert abs(before - pressed.bounding_box()["y"]) < 5


@pytest.mark.parametrize("js", [True, False])
def test_the_panel_leads_to_the_goals_and_unfolds_them(open_page, js) -> None:
    page = open_page(STALE, js=js)
    page.get_by_role("link", name="Goals: 2 of 7").click()

    expect(page.locator("#goals")).to_be_in_viewport()


def test_the_sheet_on_a_phone_keeps_its_status_in_view_and_stays_folded(open_page) -> None:
    page = open_page(STALE, **PHONE)
    page.locator("#d-claim-b").scroll_into_view_if_needed()
    assert page.locator("#drive").evaluate("one => one.scrollTop") > 0
    assert page.locator(".drive-status").evaluate_all(COVERED) == []
    page.get_by_label("Fold the buttons").check()
    expect(page.locator("#d-claim-b")).to_be_hidden()
    assert page.locator("#drive").bounding_box()["height"] < 100
    page.locator("#t-back").click()
    expect(page.locator("#moment")).to_have_attribute("data-step", "8")
    expect(page.locator("#d-claim-b")).to_be_hidden()
    page.get_by_label("Fold the buttons").uncheck()
    press(page, "claim-b", "the queue is empty")


def test_a_note_on_a_phone_lies_over_no_button_and_takes_no_tap(open_page) -> None:
    page = open_page(EMPTY, has_touch=True, **PHONE)
    for id, sentence in PRESSES[:4]:
        page.locator(f"#d-{id}").tap()
        expect(page.locator(".sentence")).to_contain_text(sentence)
    note = page.locator("#status")
    expect(note).to_contain_text("Goal reached")
    (place,) = note.evaluate_all(
        "those => those.map(one => [getComputedStyle(one).pointerEvents, one.getBoundingClientRect()])"
    )
    assert place[0] == "none"
    assert place[1]["bottom"] < page.locator("#drive").bounding_box()["y"]
    assert place[1]["width"] > 300
    page.locator("#d-ack-b").tap()

    expect(page.locator(".sentence")).to_contain_text("Worker B acks")


def test_the_first_press_on_a_phone_brings_the_queue_out_from_under_the_buttons(open_page) -> None:
    page = open_page(EMPTY, **PHONE)
    button = page.locator("#d-enqueue-receipt")
    before = button.bounding_box()["y"]
    press(page, "enqueue-receipt", "The checkout enqueues job-1")
    expect(page.locator(".sentence")).to_be_in_viewport(ratio=1)

    page.wait_for_function(f"({COVERED})([...document.querySelectorAll('.sentence, .lane')]).length === 0")
    assert abs(before - button.bounding_box()["y"]) <= 2


def test_without_javascript_it_says_how_the_goals_are_kept(open_page) -> None:
    page = open_page(STALE, js=False)
    words = "“Mark as read” at the end of the page keeps the goals"
    expect(page.locator(".drive-folded .more")).to_contain_text(words)
    page.get_by_role("button", name="Mark as read").click()
    page.goto(STALE)
    expect(page.locator(".drive-folded .more")).to_have_count(0)

    page = open_page(STALE)
    expect(page.get_by_text(words)).to_be_hidden()


def test_on_a_phone_on_its_side_the_sheet_does_not_cover_the_queue(open_page) -> None:
    page = open_page(STALE, viewport={"width": 844, "height": 390})

    assert "static" == page.locator("#drive").evaluate("one => getComputedStyle(one).position")


def test_a_button_that_can_no_longer_be_used_keeps_the_focus(open_page) -> None:
    page = open_page(f"/{SLUG}?ops=enqueue")
    button = page.locator("#d-claim-a")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_be_focused()
    address = page.url
    page.keyboard.press("Enter")
    button.click(force=True)

    assert address == page.url


def test_quick_presses_all_count(open_page) -> None:
    page = open_page(EMPTY)
    for _ in range(5):
        page.locator("#d-enqueue-receipt").click(no_wait_after=True)

    expect(page.locator(".sentence")).to_contain_text("job-5")
    assert page.url.endswith("ops=enqueue+enqueue+enqueue+enqueue+enqueue")


def test_form_and_steps_in_words_follow_a_press(open_page) -> None:
    page = open_page(EMPTY)
    press(page, "enqueue-invoice", "render-invoice")

    expect(page.get_by_label("Operations", exact=True)).to_have_value("enqueue.invoice")
    expect(page.locator(".all-steps")).to_contain_text("The checkout enqueues job-1 (render-invoice).")


def test_the_back_button_takes_a_press_back(open_page) -> None:
    page = open_page(EMPTY)
    press(page, "enqueue-receipt", "job-1")
    press(page, "claim-b", "Worker B claims")
    page.go_back()
    expect(page.locator(".sentence")).to_contain_text("The checkout enqueues job-1")
    page.reload()

    expect(page.locator(".sentence")).to_contain_text("The checkout enqueues job-1")


@pytest.mark.parametrize("js", [True, False])
def test_an_id_is_chosen_from_a_list(open_page, js) -> None:
    page = open_page(f"/{SLUG}?ops=enqueue&queue=hardened", js=js)
    page.get_by_label("With a given id").select_option("job-1, render-invoice, again")
    page.get_by_role("button", name="Enqueue", exact=True).click()

    expect(page.locator(".sentence")).to_contain_text("refused")
    expect(page.locator(".sentence")).to_contain_text("job-1")
    assert "queue=hardened" in page.url


def test_stepping_back_leaves_the_session_as_it_is(open_page) -> None:
    page = open_page(STALE)
    page.locator("#t-back").click()
    expect(page.locator(".drive-behind")).to_contain_text("You look at step 8 of 9")
    expect(page.locator(".drive-moves [aria-current]")).to_have_text("ack.A")
    press(page, "claim-a", "the queue is empty")

    assert page.url.endswith("ack.A+fail.B+claim.A")


@pytest.mark.parametrize("js", [True, False])
def test_the_panel_says_that_the_board_is_behind_it_and_leads_to_the_end(open_page, violations, js) -> None:
    page = open_page(f"{STALE}&step=5", js=js)
    expect(page.locator(".drive-behind")).to_contain_text("You look at step 5 of 9")
    assert not js or violations(page) == []
    page.get_by_role("link", name="Go to the last step").click()

    expect(page.locator("#moment")).to_have_attribute("data-step", "9")
    expect(page.locator(".drive-behind")).to_be_hidden()


def test_the_panel_follows_a_play(open_page) -> None:
    page = open_page(f"{STALE}&pace=100&step=2")
    page.locator("#t-play").click()
    expect(page.locator("#t-play")).to_have_text("Replay")

    expect(page.locator(".drive-behind")).to_be_hidden()
    page.locator("#t-back").click()
    expect(page.locator(".drive-behind")).to_contain_text("You look at step 8 of 9")


def test_the_workers_buttons_stay_where_they_are_whatever_is_said_of_them(open_page) -> None:
    page = open_page(EMPTY, viewport={"width": 1440, "height": 900})
    places = set()
    for id, sentence in PRESSES:
        press(page, id, sentence)
        places.add(str(page.locator("#d-claim-a, #d-claim-b, #d-second").evaluate_all(TOPS)))

    assert len(places) == 1, places


@pytest.mark.parametrize("number", [1, 4])
def test_a_folded_solution_reaches_its_goal(open_page, number) -> None:
    page = open_page(EMPTY)
    page.locator("#d-goals > summary").click()
    page.locator(f"#d-solution-{number} > summary").click()
    page.locator(f"#d-solve-{number}").click()

    expect(page.locator(".goal").nth(number - 1).locator(".verdict")).to_have_text("reached")


def test_goals_that_were_reached_in_other_sessions_count(open_page, violations) -> None:
    page = open_page(EMPTY)
    for id, sentence in [
        *PRESSES[:2],
        ("fail-permanent-a", "dead letters"),
        ("again", "an empty queue"),
        *PRESSES[:4],
    ]:
        press(page, id, sentence)
    expect(page.locator("#status")).to_have_text("Goal reached: Deliver a job twice, and nobody crashes.")
    expect(page.locator(".drive-reached")).to_have_text("Goals: 2 of 7")
    page.reload()

    expect(page.locator(".drive-reached")).to_have_text("Goals: 2 of 7")
    page.locator("#d-goals > summary").click()
    expect(page.locator(".goal .verdict").nth(0)).to_have_text("reached")
    expect(page.locator(".goal .verdict").nth(1)).to_have_text("reached before")
    expect(page.locator(".goal time")).to_have_count(1)
    assert violations(page) == []


def test_a_goal_that_an_opened_address_reaches_is_kept_before_the_first_press(open_page) -> None:
    page = open_page("/healthz")
    held: list[Route] = []
    page.route("**/progress/place/*", lambda route: held.append(route), times=1)
    page.goto(STALE)
    page.locator("#d-again").click()
    held[0].continue_()

    expect(page.locator(".sentence")).to_contain_text("an empty queue")
    expect(page.locator(".drive-reached")).to_have_text("Goals: 2 of 7")


def test_a_goal_that_could_not_be_told_is_told_when_it_is_reached_again(open_page) -> None:
    page = open_page(EMPTY, errors=("ERR_FAILED",))
    page.route("**/progress/place/*", lambda route: route.abort())
    for id, sentence in PRESSES[:4]:
        press(page, id, sentence)
    press(page, "undo", PRESSES[2][1])
    expect(page.locator(".drive-reached")).to_have_text("Goals: 0 of 7")
    page.unroute("**/progress/place/*")
    press(page, *PRESSES[3])
    press(page, "again", "an empty queue")

    expect(page.locator(".drive-reached")).to_have_text("Goals: 1 of 7")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1440])
def test_axe_finds_nothing_and_nothing_overflows(open_page, violations, scheme, width) -> None:
    page = open_page(STALE, color_scheme=scheme, viewport={"width": width, "height": 844})
    page.evaluate("document.querySelectorAll('#drive-more details').forEach((one) => (one.open = true))")

    assert violations(page) == []
    assert width == page.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize(
    ("width", "height", "scheme", "js"),
    [(1280, 720, "light", False), (1920, 1080, "dark", True), (390, 844, "light", True)],
)
def test_the_presenter_drives_the_queue_beside_its_board_and_the_life_of_a_job(
    open_page, violations, width, height, scheme, js
) -> None:
    page = open_page(f"{EMPTY}&view=present", js=js, color_scheme=scheme, viewport={"width": width, "height": height})
    for id, sentence in [
        ("choice-2", "an empty queue"),
        *PRESSES[:3],
        ("claim-b", "Worker B claims job-1"),
        ("fail-permanent-b", "dead letters"),
        ("replay-job-1", "out of the dead letters"),
        ("undo", "dead letters"),
        ("again", "an empty queue"),
        ("enqueue-invoice", "render-invoice"),
    ]:
        press(page, id, sentence)
        assert "view=present" in page.url
    page.get_by_role("button", name="Enqueue", exact=True).click()
    expect(page.locator(".sentence")).to_contain_text("refused")
    assert "view=present" in page.url

    assert width == page.evaluate("document.documentElement.scrollWidth")
    lanes = page.locator(".lane")
    assert (lanes if width >= 960 else lanes.first).evaluate_all(COVERED) == []
    expect(page.locator(".lifecycle .place.here")).to_contain_text("waiting")
    if width >= 960:
        assert page.locator("#drive .button").evaluate_all(COVERED) == []
        assert page.locator(".lifecycle .place").evaluate_all(COVERED) == []
        letters = "one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a"
        assert page.locator(".lifecycle text").first.evaluate(letters) > height / 50
    if js:
        assert violations(page) == []
    page.locator("#t-view").click()
    expect(page.locator(".lede")).to_be_visible()


TOPS = "all => all.map(one => Math.round(one.getBoundingClientRect().top))"
COVERED = """all => all.filter(one => {
  const { left, top, width, height } = one.getBoundingClientRect();
  return !one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}).map(one => one.textContent)"""
