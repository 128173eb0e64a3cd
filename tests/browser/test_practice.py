"""Python in the browser, as a learner uses it: real Pyodide, real worker, real policy."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from lessons import contents, exercises

SLOW_MS = 120_000  # for Python to load on a machine that has much else to do
PHONE, WIDE = {"width": 390, "height": 844}, {"width": 1280, "height": 720}
EXERCISE = "/practice/limit-deliveries"
WITH_ASYNCIO = """
import asyncio
async def main():
    await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(3)))
    print("awake")
asyncio.run(main())
try:
    asyncio.get_event_loop()
except RuntimeError:
    print("no loop")
asyncio.run(main())
"""
DONE = """async (job) => {
  const names = performance.getEntriesByType("resource").map((one) => one.name);
  const { run } = await import(names.find((name) => name.includes("/runner.")));
  let output = "";
  const result = await run(job.source ?? "", { ...job, timeout: 60_000, onOutput: (text) => (output += text) });
  return { ...result, output };
}"""
PASTE = """(editor, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def write(page: Page, source: str) -> None:
    """Replace what is in the editor, by pasting."""
    editor = page.locator(".code-editor .cm-content")
    editor.focus()
    page.keyboard.press("ControlOrMeta+a")
    editor.evaluate(PASTE, source)


def run(page: Page, ended: str = "ok") -> None:
    """Press the run button, and wait for the end; the first run loads Python."""
    bench = page.locator(".bench")
    expect(page.locator(".code-editor")).to_be_visible()
    expect(bench).to_have_attribute("data-python", re.compile("off|ready"), timeout=SLOW_MS)
    bench.evaluate("bench => bench.removeAttribute('data-ended')")
    page.locator("[data-run]").click()
    expect(bench).to_have_attribute("data-ended", ended, timeout=SLOW_MS)


def exercise(page: Page, source: str, ended: str = "ok") -> None:
    write(page, source)
    run(page, ended)


def told(page: Page) -> str:
    return page.locator("[data-status]").inner_text()


def done(page: Page, **job: object) -> dict[str, Any]:
    """What comes of a job for py/runner.py in the page's own Python, with its output."""
    return page.evaluate(DONE, job)


@pytest.fixture(scope="module")
def ready(open_shared_page) -> Page:
    """An exercise's page whose Python is loaded, which takes seconds. Each test writes its own code."""
    page = open_shared_page(EXERCISE)
    run(page)
    return page


def test_python_comes_when_it_is_asked_for_and_not_before(open_page) -> None:
    page = open_page("/practice")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("link", name="Limit the deliveries").click()
    expect(page.locator(".code-editor")).to_be_visible()

    assert any("/editor/editor." in url for url in asked)
    assert [] == [url for url in asked if "pyodide" in url or "worker" in url]
    run(page)
    assert any("pyodide.asm.wasm" in url for url in asked)


@pytest.mark.parametrize("path", ["/", "/practice", "/retries"])
def test_pages_without_code_to_write_load_neither_editor_nor_python(open_page, path) -> None:
    page = open_page("/healthz")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path, wait_until="networkidle")

    assert [] == [url for url in asked if re.search("pyodide|editor|runner|worker", url)]


@pytest.mark.parametrize("options", [{}, {"viewport": PHONE}], ids=["wide", "phone"])
def test_an_exercise_is_failed_and_then_solved(open_page, options) -> None:
    page = open_page(EXERCISE, **options)
    posted: list[str] = []
    page.on("request", lambda request: request.method == "POST" and posted.append(request.url))
    run(page)

    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("Not yet")
    assert "Not yet. These 6 steps show the fault, below." == told(page)
    expect(page.locator("#afterwards .prose")).to_be_hidden()
    expect(verdict.locator(".steps li")).to_have_count(6)
    expect(verdict.locator(".expected")).to_have_text("nothing")
    expect(verdict.locator(".got")).to_have_text("a with 3 attempts")
    expect(page.locator("#output li").first).to_have_text("t=0s job-1, attempt 1: the worker dies")
    assert [] == [url for url in posted if "solved" in url]

    exercise(page, exercises.exercise("limit-deliveries").code.solution)
    expect(verdict).to_contain_text("Your code did what it should in all 306 schedules.")
    expect(page.locator("#afterwards .prose")).to_be_visible()
    assert "Solved" in told(page)
    assert ["/progress/solved/limit-deliveries"] == [url[url.index("/progress") :] for url in posted if "solved" in url]


def test_every_solution_and_starter_gets_the_same_verdict_in_the_browser(ready) -> None:
    for one in exercises.exercises():
        if not one.code:
            continue
        job = {"check": one.code.check, "files": ready.request.get(f"/practice/{one.slug}/files.json").json()}
        starter, solution = (done(ready, source=text, **job) for text in (one.code.starter, one.code.solution))

        assert [False, True] == [result["verdict"]["solved"] for result in (starter, solution)], one.slug
        assert one.code.expected in ("", solution["output"])


def test_every_program_prints_in_the_browser_what_it_prints_on_the_server(ready) -> None:
    for section in contents.sections():
        texts = ready.request.get(f"/{section.slug}/edit/files.json").json()
        files = {f"lessons/{name}": text for name, text in texts.items()}
        module = f"lessons.{section.program[:-3].replace('/', '.')}"
        result = done(ready, section=module, params={}, files=files)

        assert result["output"] == ready.request.get(f"/{section.slug}/run.txt").text()


@pytest.mark.parametrize("run_of", ["job-queue{}?ops=enqueue+claim.A+crash.A", "retries{}?receipts=2&jitter=full"])
def test_a_program_runs_with_the_parameters_of_the_run_that_it_was_opened_from(open_page, run_of) -> None:
    page = open_page("/" + run_of.format(""))
    last = page.locator("#moment").get_attribute("data-total")
    page.get_by_role("link", name="Edit and run this program").click()
    run(page)

    assert "It printed the same as the original." == told(page)
    expect(page.locator("#steps summary")).to_have_text(f"All {last} steps of your run in words")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_loop_without_an_end_is_stopped_by_the_button_and_the_next_run_works(ready, size) -> None:
    page = ready
    page.set_viewport_size(size)
    exercise(page, "print('before')")
    write(page, "while True:\n    pass\n")
    page.locator("[data-run]").click()
    expect(page.locator(".bench")).to_have_attribute("data-python", "running")
    expect(page.get_by_role("button", name="Running")).to_be_disabled()
    assert "Running. What is shown is still from the run before." == told(page)
    expect(page.locator("#results")).to_have_css("opacity", "0.45")
    page.locator("[data-stop]").click()

    expect(page.locator(".bench")).to_have_attribute("data-ended", "stopped")
    assert "Stopped." == told(page)
    expect(page.locator("[data-run]")).to_be_focused()
    exercise(page, "print('alive')")
    expect(page.locator("#output")).to_have_text("alive")
    page.set_viewport_size(WIDE)


def test_code_that_lacks_the_function_has_no_steps_in_which_it_printed(ready) -> None:
    exercise(ready, "print('hi')\n")

    expect(ready.locator("#verdict")).to_contain_text("Your code cannot be tried yet.")
    expect(ready.locator("#verdict")).not_to_contain_text("Printed in these steps:")
    expect(ready.locator("#output")).to_have_text("hi")


def test_a_loop_without_an_end_is_stopped_after_a_while(ready) -> None:
    exercise(ready, "while True:\n    pass\n", ended="timeout")

    assert "did not end within ten seconds" in told(ready)
    assert "a loop without an end, or slow code outside a function?" in told(ready)


def test_the_next_run_has_the_python_of_a_long_one_and_need_not_wait(open_page) -> None:
    page = open_page(EXERCISE)
    ended: list[str] = []
    page.on("worker", lambda worker: worker.on("close", lambda worker: ended.append(worker.url)))
    exercise(page, "import time\ntime.sleep(2.5)")
    exercise(page, "print('at once')")

    expect(page.locator("#output")).to_have_text("at once")
    assert [] == ended


def test_a_flood_of_output_is_stopped(ready) -> None:
    exercise(ready, "while True:\n    print('flood')\n", ended="too much output")

    assert "more than 200,000 characters" in told(ready)
    expect(ready.locator("#output li")).to_have_count(501)


def test_what_a_run_has_done_to_python_is_gone_in_the_next(ready) -> None:
    exercise(ready, "import io, sys, time\nsys.stdout, time.sleep = io.StringIO(), None\nprint('unheard')")
    exercise(ready, "import time\nprint(time.sleep)")
    expect(ready.get_by_role("region", name="Your program printed")).to_contain_text("function sleep")

    exercise(ready, 'import js\njs.postMessage(js.JSON.parse(\'{"type": "done", "data": {"verdict": {}}}\'))')
    assert "Python broke" in told(ready)
    exercise(ready, "print('whole again')")
    expect(ready.get_by_role("region", name="Your program printed")).to_contain_text("whole again")

    exercise(ready, "import js\njs.close()", ended="error")
    expect(ready.locator("#error")).to_contain_text("Only the page can end this worker: press Stop")
    exercise(ready, WITH_ASYNCIO)
    expect(ready.locator("#output li")).to_have_text(["awake", "no loop", "awake"])


def test_an_error_is_told_with_the_right_line(ready) -> None:
    exercise(ready, "def third():\n    x = 1\n    return x / 0\n\n\nthird()\n", ended="error")

    lines = ready.locator("#error").inner_text().splitlines()
    assert [6, 3] == [int(n) for n in re.findall(r'File "exercise\.py", line (\d+)', "\n".join(lines))]
    assert "ZeroDivisionError: division by zero" == lines[-1]
    expect(ready.locator(".code-editor .cm-broken")).to_have_text("    return x / 0")


def test_code_that_is_no_python_is_told_with_its_line(ready) -> None:
    exercise(ready, "x = 1\nif x\n", ended="error")

    expect(ready.locator("#error")).to_contain_text('File "exercise.py", line 2')
    expect(ready.locator(".code-editor .cm-broken")).to_have_text("if x")


def test_a_learners_code_can_call_nothing_of_the_application(open_page, server) -> None:
    page = open_page(EXERCISE, errors=("Content Security Policy", "ERR_", "Fetch API"))
    addresses = [f"{server.url}{path}" for path in ("/", "/progress/solved/full-jitter", "/python/lessons.json")]
    source = f"""
import js
for address in {addresses}:
    request = js.XMLHttpRequest.new()
    request.open("POST", address, False)
    try:
        request.send()
        print("answered", request.status)
    except BaseException as error:
        print("refused")
"""
    answered: list[str] = []
    exercise(page, "print('warm')")
    page.on("response", lambda response: answered.append(response.request.method))
    exercise(page, source)

    expect(page.locator("#output li")).to_have_text(["refused"] * len(addresses))
    assert "POST" not in answered


def test_work_is_kept_over_a_reload_and_a_reset_asks_and_can_be_undone(open_page) -> None:
    page = open_page(EXERCISE)
    expect(page.locator("[data-changed]")).to_be_hidden()
    write(page, "print('mine')")
    expect(page.locator("[data-changed]")).to_be_visible()
    page.reload()
    editor = page.locator(".code-editor .cm-content")

    expect(editor).to_have_text("print('mine')")
    page.locator("[data-reset]").click()
    page.get_by_role("button", name="Keep my text").click()
    expect(editor).to_have_text("print('mine')")
    page.locator("[data-reset]").click()
    page.get_by_role("button", name="Reset", exact=True).last.click()
    expect(editor).to_contain_text("class LimitedQueue")
    expect(page.locator("[data-changed]")).to_be_hidden()
    page.locator("[data-undo]").click()
    expect(editor).to_have_text("print('mine')")


def test_the_keyboard_alone_runs_and_leaves_the_editor(ready) -> None:
    page = ready
    editor = page.locator(".code-editor .cm-content")
    expect(editor).to_have_attribute("aria-description", re.compile("Press Escape, then Tab, to leave"))
    editor.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.type("if True:")
    page.keyboard.press("Enter")
    page.keyboard.type("print('typed')")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    assert "if True:\n    print('typed')\n        " == page.locator("textarea").input_value()
    page.keyboard.press("Backspace")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert "data-run" in page.evaluate("document.activeElement.outerHTML")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    editor.focus()
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("#output")).to_have_text("typed", timeout=SLOW_MS)


def test_the_editor_takes_over_focus_and_selection_of_the_field_whose_place_it_takes(open_page) -> None:
    page = open_page("/practice")
    held: list[Route] = []
    page.route("**/editor/editor.*", lambda route: held.append(route))
    page.goto(EXERCISE, wait_until="commit")
    page.locator("textarea.code").focus()
    while not held:
        page.wait_for_timeout(50)
    area = page.locator("textarea.code")
    text = area.input_value()
    area.evaluate("area => area.setSelectionRange(0, 3)")
    held[0].continue_()

    expect(page.locator(".code-editor")).to_be_focused()
    page.keyboard.type("#")
    expect(area).to_have_value("#" + text[3:])


def test_a_changed_program_is_compared_line_by_line(open_page) -> None:
    page = open_page("/retries/edit")
    expect(page.locator(".code-editor")).to_be_visible()
    page.locator("[data-file]").select_option("reference/backoff.py")
    text = page.locator("textarea").input_value()
    write(page, text.replace("base_ms * 2 **", "base_ms * 3 **"))
    run(page)

    expect(page.locator("#compare .differs").first).to_contain_text("retry at t=4s")
    assert re.search(r"\d lines? differs? from the original's", told(page).replace("differ ", "differs "))
    expect(page.locator("[data-file] option", has_text="(changed)")).to_have_text("reference/backoff.py (changed)")
    expect(page.locator("#steps")).to_contain_text("steps of your run in words")
    write(page, "if x\n")
    run(page, ended="error")
    expect(page.locator("#error")).to_contain_text("SyntaxError")
    expect(page.locator("#error")).not_to_contain_text("importlib")
    expect(page.locator("#compare .differs")).to_have_count(0)
    assert "Your program raised an error before it printed anything." == told(page)


def test_an_error_in_another_file_brings_that_file_up(open_page) -> None:
    page = open_page("/retries/edit")
    expect(page.locator(".code-editor")).to_be_visible()
    page.locator("[data-file]").select_option("reference/clock.py")
    write(page, page.locator("textarea").input_value().replace("self._now_ms += ms", "self._now_ms += hours"))
    page.locator("[data-file]").select_option("s03_retries/demo.py")
    run(page, ended="error")

    expect(page.locator("[data-file]")).to_have_value("reference/clock.py")
    expect(page.locator(".cm-broken")).to_have_text("        self._now_ms += hours")
    expect(page.locator("#error")).to_contain_text('File "lessons/reference/clock.py"')


@pytest.mark.parametrize("path", [EXERCISE, "/practice", "/practice/pick-the-guarantee", "/outbox/edit"])
@pytest.mark.parametrize("width", [320, 390])
def test_nothing_sticks_out_on_a_phone(open_page, path, width) -> None:
    page = open_page(path, viewport={"width": width, "height": 800})

    assert width == page.evaluate("document.documentElement.scrollWidth")


def test_no_exercise_sticks_out_on_a_phone(open_page) -> None:
    page = open_page("/practice", viewport=PHONE)
    wide = []
    for one in exercises.exercises():
        page.goto(f"/practice/{one.slug}")
        wide += [one.slug] * (page.evaluate("document.documentElement.scrollWidth") > PHONE["width"])

    assert [] == wide


@pytest.mark.parametrize("path", ["/practice/full-jitter", EXERCISE, "/retries/edit"])
def test_the_run_button_can_be_seen_at_once(open_page, path) -> None:
    page = open_page(path, viewport={"width": 1440, "height": 900})

    expect(page.locator(".code-editor")).to_be_visible()
    expect(page.locator("[data-run]")).to_be_in_viewport(ratio=1)


def test_the_button_waits_for_python_and_tries_again_when_it_does_not_come(open_page) -> None:
    page = open_page(EXERCISE, errors=("ERR_FAILED",))
    bench, button, held = page.locator(".bench"), page.locator("[data-run]"), []
    page.route("**/python/lessons.json", lambda route: held.append(route))
    button.click()
    expect(page.get_by_role("button", name="Waits for Python")).to_be_disabled()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator("[data-progress]")).not_to_have_js_property("value", 0, timeout=SLOW_MS)
    loaded = "Loaded. Python is starting. Your code runs then."
    expect(page.locator("[data-status]")).to_have_text(loaded, timeout=SLOW_MS)
    held[0].abort()
    expect(bench).to_have_attribute("data-python", "failed", timeout=SLOW_MS)
    assert re.fullmatch(r"Loading Python failed: .*\. Is there a connection\? Then try again\.", told(page))
    page.unroute("**/python/lessons.json")
    page.route("**/pyodide.asm.wasm", lambda route: route.abort())
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("[data-status]")).to_contain_text("Python is loading, about 6 MB. Your code runs as soon as")
    expect(bench).to_have_attribute("data-python", "failed", timeout=20_000)
    page.unroute("**/pyodide.asm.wasm")
    page.get_by_role("button", name="Try again").click()
    expect(bench).to_have_attribute("data-ended", "ok", timeout=SLOW_MS)

    expect(page.locator("#verdict")).to_contain_text("Not yet")
    expect(button).to_have_text("Run and check")


def test_a_program_whose_files_do_not_come_says_so(open_page) -> None:
    page = open_page("/practice", errors=("500",))
    page.route("**/retries/edit/files.json", lambda route: route.fulfill(status=500))
    page.goto("/retries/edit")

    expect(page.locator("[data-status]")).to_contain_text("The files could not be loaded: the server answered 500.")
    page.unroute("**/retries/edit/files.json")
    page.get_by_role("link", name="Load this page again").click()
    expect(page.locator("[data-run]")).to_be_visible()


def test_answers_that_are_not_chosen_are_no_part_of_the_address(open_page) -> None:
    page = open_page("/practice/pick-the-guarantee")
    address = page.url
    page.get_by_role("button", name="Check my answers").click()

    expect(page.get_by_role("alert")).to_contain_text("Nothing is chosen yet")
    assert address == page.url
    page.locator("#q-wallet").select_option("at-least-once")
    page.get_by_role("button", name="Check my answers").click()
    page.wait_for_url("**/pick-the-guarantee?wallet=at-least-once#questions")
    expect(page.get_by_text("Not checked: choose the other answer too.")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_page, violations, scheme) -> None:
    page = open_page("/practice", color_scheme=scheme)
    assert violations(page) == []
    for path in [
        EXERCISE,
        "/practice/sms-consumer?crash=once",
        "/practice/pick-the-guarantee?wallet=at-most-once&wallet_consumer=nothing",
        "/outbox/edit",
    ]:
        page.goto(path)
        expect(page.locator(".code-editor")).to_have_count(0 if "pick" in path else 1)

        assert violations(page) == [], path


def test_axe_finds_nothing_on_a_phone_with_a_verdict_and_the_question_of_the_reset(open_page, violations) -> None:
    page = open_page(EXERCISE, viewport=PHONE)
    exercise(page, exercises.exercise("limit-deliveries").code.starter + "\n")
    expect(page.locator("#verdict")).to_be_visible()

    assert PHONE["width"] == page.evaluate("document.documentElement.scrollWidth")
    assert violations(page) == []
    page.locator("[data-reset]").click()
    assert violations(page) == []


def test_without_a_script_questions_are_answered_and_everything_is_shown(open_page) -> None:
    page = open_page("/practice/sms-consumer", js=False)
    page.get_by_label("Your answer").select_option("twice")
    page.get_by_role("button", name="Check my answer").click()

    expect(page.locator(".answer")).to_contain_text("Right.")
    page.get_by_text("Hint 1 of 3").click()
    page.get_by_text("Hint 2 of 3").click()
    expect(page.get_by_text("before anything is sent")).to_be_visible()
    page.get_by_text("The official solution").click()
    expect(page.locator(".solution").last).to_contain_text("self.processed.add(message.id)")
    expect(page.locator("[data-run]")).to_be_hidden()
    expect(page.locator("textarea")).to_have_value(re.compile("class SmsConsumer"))


def test_without_webassembly_the_page_says_so_and_shows_the_rest(open_page) -> None:
    page = open_page("/practice")
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto(EXERCISE)

    expect(page.locator("[data-status]")).to_contain_text("no WebAssembly")
    expect(page.locator("[data-run]")).to_be_hidden()
    expect(page.locator(".code-editor")).to_be_visible()
