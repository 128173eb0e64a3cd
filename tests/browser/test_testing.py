"""The page on tests in a real browser: tests that run line by line, a prediction, and a page for everyone."""

import pytest

ADDRESSES = [
    ("/testing?run=1", "light", 1280),
    ("/testing?mutant=lease-late&predicted=1", "dark", 390),
    ("/testing?survivor=ack-keeps&candidate=test_ack_leaves_an_empty_queue", "light", 320),
    ("/testing?mutant=x", "dark", 390),
]


def test_the_tests_run_line_by_line_and_run_again(open_page):
    page = open_page("/testing")
    for _ in range(2):
        page.click("#run-tests")
        page.locator("#results .test:not(.passed)").last.wait_for()
        page.get_by_text("5 passed", exact=True).wait_for()

    assert page.locator(".test.passed").count() == 5


@pytest.mark.parametrize("js", [True, False])
def test_a_prediction_is_made_by_keyboard(open_page, js):
    page = open_page("/testing?mutant=lease-late", js=js)
    page.get_by_role("checkbox", name="Job without an ack").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Run the tests against it").focus()
    page.keyboard.press("Enter")

    assert "Your prediction was right" in page.locator("#verdict").inner_text()


def test_the_results_are_there_without_script(open_page):
    page = open_page("/testing", js=False)
    page.click("#run-tests")
    page.wait_for_url("**/testing?run=1#promises")

    assert page.locator(".test.passed").count() == 5


def test_all_columns_of_the_matrix_fit_on_a_phone(open_page):
    page = open_page("/testing?matrix=1#matrix", viewport={"width": 390, "height": 844})

    assert page.evaluate(
        "document.querySelector('.matrix').offsetWidth <= document.querySelector('#matrix').clientWidth"
    )


@pytest.mark.parametrize(("address", "scheme", "width"), ADDRESSES)
def test_the_page_is_for_everyone(open_page, violations, address, scheme, width):
    page = open_page(address, color_scheme=scheme, viewport={"width": width, "height": 800}, errors=("400",))

    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
