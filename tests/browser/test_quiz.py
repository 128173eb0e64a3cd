"""The quiz and the progress, as a person uses them."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lessons import contents, quiz

PHONE = {"viewport": {"width": 390, "height": 844}}
BANK = {family.id: family for family in quiz.families()}
SECTION = contents.sections()[0].slug


def drawn(page: Page) -> list[quiz.Question]:
    """The questions of the newest attempt."""
    kept = page.request.get("/progress/export.json").json()["quiz"][-1]["questions"]
    return [BANK[one["family"]].make(one["seed"]) for one in kept]


@pytest.fixture
def sensible(violations) -> Callable[[Page], None]:
    """sensible(page): axe finds nothing, and nothing is wider than the window."""

    def sensible(page: Page) -> None:
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url

    return sensible


def answer(page: Page, question: quiz.Question, right: bool) -> None:
    if question.kind == "choose":
        page.locator(f"input[value={next(o.key for o in question.options if o.right == right)}]").check()
    elif question.kind == "predict":
        page.get_by_label("What it prints").fill(question.expected if right else "nothing of the kind")
    elif not right or page.locator("[data-run]").is_hidden():
        button = page.get_by_role("button", name="Give up and show the solution")
        expect(button).to_be_hidden()
        page.get_by_text("Give up…").click()
        button.click()
        return
    else:
        write(page, question.solution or "")
        page.get_by_role("button", name="Run and check").click()
        return
    page.get_by_role("button", name="Answer", exact=True).click()


def write(page: Page, source: str) -> None:
    """Put the source where the editor's text was, without its help with indents."""
    # Typing over a selection of several lines would let Chromium write a style attribute, which the policy refuses.
    code = page.locator(".code-editor .cm-content")  # not the field that it takes the place of
    code.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(source)


def until(page: Page, kind: str) -> quiz.Question:
    """Start, and go to the first question of that kind."""
    page.get_by_role("button", name="Start the quiz").click()
    number, question = next((n, q) for n, q in enumerate(drawn(page), start=1) if q.kind == kind)
    page.goto(f"/quiz/1/{number}")
    return question


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_a_quiz_is_failed_and_tried_again_with_other_questions(open_page, sensible, options) -> None:
    page = open_page("/quiz", color_scheme="dark" if options else "light", **options)
    sensible(page)
    page.get_by_role("button", name="Start the quiz").click()
    first = drawn(page)
    for question in first:
        sensible(page)
        answer(page, question, right=question.kind == "choose")
        expect(page.locator("#verdict h2")).to_have_text(
            {"choose": "Right", "predict": "Wrong", "write": "Not solved"}[question.kind]
        )
        sensible(page)
        page.locator(".quiz-on a").click()
    expect(page.locator("h1")).to_have_text("Not passed yet")
    sensible(page)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("h1")).to_have_text("Question 1 of 5")

    assert {question.family for question in first}.isdisjoint(question.family for question in drawn(page))


def test_a_quiz_is_taken_without_javascript(open_page) -> None:
    page = open_page("/quiz", js=False)
    page.get_by_role("button", name="Start the quiz").click()
    questions = drawn(page)
    for question in questions:
        answer(page, question, right=True)
        page.locator(".quiz-on a").click()

    right = sum(question.kind != "write" for question in questions)
    expect(page.locator(".score")).to_contain_text(f"{right} of 5 right")


def test_code_is_checked_until_it_is_right(open_page, sensible) -> None:
    page = open_page("/quiz")
    question = until(page, "write")
    page.get_by_role("textbox", name="Python code").wait_for()
    page.get_by_role("button", name="Run and check").click()
    expect(page.locator(".bench")).to_have_attribute("data-verdict", "wrong", timeout=60_000)
    write(page, "raise ValueError('mine')")
    page.get_by_role("button", name="Run and check").click()
    expect(page.locator("#output")).to_contain_text("ValueError: mine", timeout=60_000)
    sensible(page)
    write(page, question.solution or "")
    page.keyboard.press("ControlOrMeta+Enter")

    expect(page.locator("#verdict h2")).to_have_text("Right", timeout=60_000)


def test_a_loop_without_an_end_can_be_stopped(open_page) -> None:
    page = open_page("/quiz")
    until(page, "write")
    write(page, "while True:\n    pass")
    page.get_by_role("button", name="Run and check").click()
    expect(page.locator("[data-status]")).to_have_text("Running.", timeout=60_000)
    page.get_by_role("button", name="Stop").click()

    expect(page.locator("[data-status]")).to_have_text("Stopped.")
    assert [None] * 5 == [
        one["right"] for one in page.request.get("/progress/export.json").json()["quiz"][0]["questions"]
    ]


def test_going_back_shows_the_answer_and_a_second_tab_changes_nothing(open_page) -> None:
    page = open_page("/quiz")
    question = until(page, "choose")
    second = page.context.new_page()
    second.goto(page.url)
    answer(page, question, right=False)
    expect(page.locator("#verdict h2")).to_have_text("Wrong")
    answer(second, question, right=True)
    expect(second.locator("#verdict h2")).to_have_text("Wrong")
    page.go_back()
    page.reload()

    expect(page.locator("#verdict h2")).to_have_text("Wrong")


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_progress_is_there_after_the_server_was_started_again(open_page, sensible, server, options) -> None:
    with_step = f"/{SECTION}?step=3"
    page = open_page("/quiz", **options)
    until(page, "choose")
    with page.expect_response("**/progress/place/*"):
        page.goto(with_step)
    server.kill()
    server.start()
    page.goto("/progress")
    sensible(page)

    expect(page.get_by_role("region", name="Quiz")).to_contain_text("open at question")
    assert with_step == page.get_by_role("link", name="Go on where you left off").get_attribute("href")
    page.goto("/")
    page.get_by_role("link", name="Go on where you left off").click()
    expect(page.locator("#moment")).to_have_attribute("data-step", "3")


def test_the_place_follows_the_steps(open_page) -> None:
    page = open_page(f"/{SECTION}")
    page.get_by_role("link", name="Step", exact=True).click()
    page.wait_for_url(f"**/{SECTION}?step=2")
    link = page.get_by_role("link", name="Go on where you left off")
    page.goto("/progress")
    for _ in range(20):  # the last word is sent while the page goes away, so it may be there a moment later
        if link.get_attribute("href") == f"/{SECTION}?step=2":
            break
        page.reload()

    expect(link).to_have_attribute("href", f"/{SECTION}?step=2")


def test_progress_is_taken_along_and_deleted(open_page, sensible, tmp_path) -> None:
    page = open_page("/progress", **PHONE)
    sensible(page)
    with page.expect_response("**/progress/place/*"):
        page.goto(f"/{SECTION}")
    with page.expect_response("**/progress/seen/*"):
        page.locator("#onward").scroll_into_view_if_needed()
    page.goto("/progress")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    file = tmp_path / "progress.json"
    download.value.save_as(file)
    page.get_by_role("link", name="Delete all").click()
    sensible(page)
    page.get_by_role("button", name="Delete everything").click()
    expect(page.locator(".notice")).to_contain_text("deleted")
    page.get_by_label("Import a file").set_input_files(file)
    page.get_by_role("button", name="Import", exact=True).click()

    expect(page.locator(".notice")).to_contain_text("added")
    expect(page.locator(".checks .is-done")).to_have_count(1)
