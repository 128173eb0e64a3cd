"""The pages of the exercises and of programs to edit; what they send to the browser, and what they do not."""

import json
import re
import subprocess
import sys
from pathlib import Path

import brotli
import pytest

from lessons import contents, excerpts, exercises, params
from lessons.recording import as_text

GENERATOR = """
import asyncio
async def numbers():
    yield 1
async def main():
    async for number in numbers():
        print(number)
        break
"""
RUNNER = Path(__file__).parents[2] / "static/py/runner.py"
PAGES = [f"/practice/{exercise.slug}" for exercise in exercises.exercises()]
WITH_CODE = [exercise for exercise in exercises.exercises() if exercise.code]
RIGHT = {
    "wallet": "at-least-once", "wallet_consumer": "message-id",
    "online": "at-most-once", "online_consumer": "nothing",
    "reset": "at-least-once", "reset_consumer": "single-use",
    "warehouse": "at-least-once", "warehouse_consumer": "order-id",
}  # fmt: skip


@pytest.fixture(scope="module")
def asset(app):
    return app.jinja_env.globals["asset"]


def test_the_overview_leads_to_every_exercise_in_order(page):
    cards = page("/practice").all("li", class_="card")

    assert [exercise.slug for exercise in exercises.exercises()] == [c["data-exercise-card"] for c in cards]
    assert PAGES == [card.all("a")[0]["href"] for card in cards]


@pytest.mark.parametrize("exercise", exercises.exercises(), ids=lambda exercise: exercise.slug)
def test_an_exercise_shows_everything_without_a_script(page, exercise):
    shown = page(f"/practice/{exercise.slug}")

    assert exercise.title == shown.one("h1").text
    hints = [hint.all("summary")[0].text for hint in shown.all("details", class_="hint")]
    assert [f"Hint {n} of {len(exercise.hints)}" for n in range(1, len(exercise.hints) + 1)] == hints
    afterwards, *solution = shown.all("details", class_="solution")
    if exercise.code:
        assert exercise.code.starter.strip() == shown.one("textarea").raw.strip()
        assert [exercise.code.solution.rstrip("\n")] == [one.one("pre").raw.rstrip("\n") for one in solution]
    assert afterwards.one("div", class_="prose").text


def test_each_hint_lies_in_the_one_before_it(page):
    hint = page(PAGES[0]).all("details", class_="hint")[0]

    assert 4 == 1 + len(hint.all("details", class_="hint"))


@pytest.mark.parametrize("path", ["/", "/practice", *(f"/{chapter.slug}" for chapter in contents.chapters())])
def test_other_pages_load_neither_editor_nor_python(client, path):
    html = client.get(path).text

    assert not re.search(r"pyodide|/editor|runner|workbench|practice\.\w+\.js|/edit\.\w+\.js", html)


@pytest.mark.parametrize("path", [PAGES[0], "/retries/edit"])
def test_a_page_with_an_editor_does_not_name_python(client, path):
    assert "pyodide" not in client.get(path).text


def test_python_is_as_large_as_the_button_says(client, asset, app):
    names = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
    answers = [client.get(asset(f"vendor/pyodide/{name}"), headers={"Accept-Encoding": "br"}) for name in names]

    assert 6 == round(sum(len(answer.data) for answer in answers) / 1_000_000)
    assert "about 6 MB" in client.get(PAGES[0]).text


def test_python_keeps_its_names_in_a_folder_with_a_hash(client, asset):
    addresses = [asset(f"vendor/pyodide/{name}") for name in ("pyodide.mjs", "pyodide.asm.wasm")]
    folders = {address.rpartition("/")[0] for address in addresses}

    assert 1 == len(folders)
    assert re.fullmatch(r"/static/vendor/pyodide\.[0-9a-f]{12}", *folders)
    assert ["pyodide.mjs", "pyodide.asm.wasm"] == [address.rpartition("/")[2] for address in addresses]
    wasm = client.get(addresses[1], headers={"Accept-Encoding": "br"})
    assert ("application/wasm", "public, max-age=31536000, immutable") == (
        wasm.mimetype,
        wasm.headers["Cache-Control"],
    )
    assert b"\0asm" == brotli.decompress(wasm.data)[:4]


def test_the_worker_names_python_by_its_address(client, asset):
    worker = client.get(asset("py-worker.mjs"))

    assert "text/javascript" == worker.mimetype
    assert asset("vendor/pyodide/pyodide.mjs").removeprefix("/static") in worker.text
    assert asset("py/runner.py").removeprefix("/static") in worker.text


def test_the_worker_may_fetch_python_and_its_runner_and_nothing_else(client, asset):
    headers = client.get(asset("py-worker.mjs")).headers
    policy = headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    python = "localhost" + asset("vendor/pyodide/pyodide.mjs").rpartition("/")[0] + "/"

    assert {
        "default-src": "'none'",
        "script-src": f"{python} 'wasm-unsafe-eval'",
        "connect-src": f"{python} localhost{asset('py/runner.py')}",
        "worker-src": "'none'",
    } == rules
    assert "no-store" == headers["Cache-Control"], "another policy must reach those who were here before"


@pytest.mark.parametrize("path", ["/practice", PAGES[0], "/retries/edit", "/python/lessons.json"])
def test_a_page_has_the_strict_policy(client, path):
    policy = client.get(path).headers["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_package_for_the_browser_has_the_tools_and_the_reference_and_no_answers(client):
    files = client.get("/python/lessons.json").json

    assert {"lessons/__init__.py", "lessons/recording.py", "lessons/checking.py"} <= set(files)
    assert "lessons/reference/job_queue.py" in files
    assert [] == [name for name in files if re.search(r"/s\d\d_|quiz|solution|ask|contents|exercises", name)]
    for name, text in files.items():
        assert (excerpts.LESSONS.parent / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("exercise", WITH_CODE, ids=lambda exercise: exercise.slug)
def test_an_exercise_sends_its_checker_alone(client, exercise):
    files = client.get(f"/practice/{exercise.slug}/files.json").json

    assert f"lessons/{exercise.folder}/check.py" in files
    assert {"__init__.py", "check.py"} == {name.rpartition("/")[2] for name in files}
    module = exercise.code.check.replace(".", "/") + ".py"
    assert module in files


def test_an_exercise_without_code_has_no_files(client):
    assert 404 == client.get("/practice/pick-the-guarantee/files.json").status_code


def test_answers_are_judged_by_their_address(client, read):
    shown = read(client.get("/practice/pick-the-guarantee", query_string=RIGHT).text)

    assert 4 == len(shown.all("div", class_="right"))
    assert "yes" == shown.one("div", class_="bench")["data-solved"]
    assert "open" in shown.one("details", id="afterwards").attrs


@pytest.mark.parametrize(("query", "said"), [({}, False), (dict.fromkeys(RIGHT, "open"), True), (RIGHT, False)])
def test_that_nothing_was_chosen_is_said(client, read, query, said):
    shown = read(client.get("/practice/pick-the-guarantee", query_string=query).text)

    assert said == ("hidden" not in shown.one("p", id="nothing").attrs)


def test_a_wrong_answer_is_shown_with_its_run_and_stays_chosen(client, read):
    asked = {"wallet": "at-most-once", "wallet_consumer": "nothing"}
    shown = read(client.get("/practice/pick-the-guarantee", query_string=asked).text)

    (answer,) = shown.all("div", class_="answer")
    assert "Not yet." in answer.text
    assert "0 times" in answer.all("li")[-1].text
    chosen = [option["value"] for option in shown.all("option", selected=True)]
    assert ["at-most-once", "nothing"] == chosen
    assert "data-solved" not in shown.one("div", class_="bench").attrs


def test_the_page_does_not_carry_the_answers(page):
    html = page("/practice/pick-the-guarantee")

    assert [] == html.all("div", class_="answer")


@pytest.mark.parametrize(
    ("query", "field", "allowed"),
    [
        ("wallet=exactly-once", "wallet", "one of open, at-most-once, at-least-once"),
        ("colour=red", "colour", "one of wallet, wallet_consumer"),
    ],
)
def test_an_answer_that_cannot_be_is_named_in_the_form_asked_for(client, query, field, allowed):
    path = f"/practice/pick-the-guarantee?{query}"
    shown, data, text = (
        client.get(path, headers={"Accept": kind}) for kind in ("text/html", "application/json", "text/plain")
    )

    assert [400] * 3 == [answer.status_code for answer in (shown, data, text)]
    assert allowed in text.text
    assert allowed in shown.text
    (problem,) = json.loads(data.data)["problems"]
    assert field == problem["field"]


def test_an_unknown_exercise_lists_those_that_there_are(client):
    answer = client.get("/practice/quantum", headers={"Accept": "text/plain"})

    assert 404 == answer.status_code
    assert 'There is no exercise "quantum". The exercises are full-jitter, ' in answer.text


@pytest.fixture(scope="module")
def python():
    """python(job) -> the result and the output of py/runner.py in a Python of its own."""

    def run(job):
        program = f"print(end=chr(0) + run({json.dumps(job)!r}))"
        command = [sys.executable, "-c", f"{RUNNER.read_text()}\n{program}"]
        done = subprocess.run(command, cwd=excerpts.LESSONS.parent, capture_output=True, text=True, check=True)
        assert "" == done.stderr
        output, _, result = done.stdout.partition("\0")
        return json.loads(result), output

    return run


def printed(shown):
    return [row.all("td")[1].raw for row in shown.one("table", id="compare").one("tbody").all("tr")]


def test_a_run_leads_to_its_program_and_back(page, run):
    edit = run.address("/edit")

    assert [edit] == [a["href"] for a in page(run.address()).all("a") if "/edit" in a.get("href", "")]
    assert run.address() in [a.get("href") for a in page(edit).all("a")]


def test_a_program_is_shown_with_what_the_run_prints(page, run):
    shown = page(run.address("/edit"))
    text = (excerpts.LESSONS / run.section.program).read_text(encoding="utf-8")

    assert text.strip() == shown.one("textarea").raw.strip()
    assert as_text(run.recording).splitlines() == printed(shown)
    assert dict(run.query) == json.loads(shown.one("div", class_="bench")["data-params"])


def test_the_program_says_how_its_run_is_not_the_default_one(page, run):
    said = page(run.address("/edit")).all("p", class_="changed")
    labels = [field.label for field in params.fields(run.section.Params) if field.name in dict(run.query)]

    assert bool(run.query) == len(said)
    for line in said:
        assert len(labels) == line.text.count("(default ")
        assert [] == [label for label in labels if label not in line.text]
        assert [run.address()] == [a["href"] for a in line.all("a")]


def test_a_queue_that_was_driven_by_hand_is_edited_with_its_operations(page):
    shown = page("/job-queue/edit?ops=enqueue+claim.A&max_attempts=1")

    (said,) = shown.all("p", class_="changed")
    assert said.text.startswith("Changed: Operations enqueue claim.A (default enqueue enqueue.invoice claim.A")
    assert said.text.endswith("; Max attempts 1 (default 3). Back to this run")
    assert "t=0s worker A claims job-1: attempt 1, leased until t=30s" == printed(shown)[-1]


@pytest.mark.parametrize("query", ["max_attempts=0", "jitter=often", "colour=red", "receipts=1&receipts=2", "step=999"])
@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/plain"])
def test_a_run_that_cannot_be_made_cannot_be_edited(client, query, kind):
    page, edit = (client.get(f"/retries{end}?{query}", headers={"Accept": kind}) for end in ("", "/edit"))

    assert page.status_code in (400, 404)
    assert (page.status_code, page.text) == (edit.status_code, edit.text.replace('"/retries/edit"', '"/retries"'))


def test_a_corrected_run_is_edited_in_the_same_file(client, read):
    form = read(client.get("/retries/edit?file=reference/clock.py&max_attempts=0").text).one("form", id="parameters")

    assert ("/retries/edit", "reference/clock.py") == (form["action"], form.one("input", name="file")["value"])


def test_another_file_of_a_run_stays_with_that_run(page):
    fields = page("/retries/edit?max_attempts=2&pace=400").one("form", class_="bench-file").all("input")

    assert {"max_attempts": "2", "pace": "400"} == {field["name"]: field["value"] for field in fields}


def test_the_browser_makes_the_run_that_it_is_asked_for(python, run):
    module = f"lessons.{run.section.program[:-3].replace('/', '.')}"
    result, output = python({"section": module, "params": dict(run.query)})

    assert (None, as_text(run.recording)) == (result["error"], output)
    assert len(run.recording.steps) == len(result["steps"])


def test_the_browser_says_too_that_a_run_is_cut_off(python):
    asked = {"receipts": "50", "max_attempts": "100", "provider_up_at_ms": "3600000"}
    retries = contents.section("retries")
    _, output = python({"section": "lessons.s03_retries.demo", "params": asked})

    assert "The run is cut off here" in output
    assert as_text(retries.record(params.read(retries.Params, asked))) == output


def test_what_a_learner_has_taken_out_of_the_parameters_is_not_asked_for(python):
    result, output = python({"section": "lessons.s03_retries.demo", "params": {"taken_out": "2"}})

    assert (None, contents.section("retries").expected) == (result["error"], output)


def test_asyncio_waits_and_a_wait_without_an_end_is_an_error(python):
    start = "import asyncio\nasync def main():\n    await "
    _, output = python({"source": f"{start}asyncio.sleep(0.01)\n    print('awake')\nasyncio.run(main())"})
    result, _ = python({"source": f"{start}asyncio.Event().wait()\nasyncio.run(main())"})

    _, left = python({"source": f"{GENERATOR}\nasyncio.run(main())"})

    assert ("awake\n", "1\n") == (output, left)
    assert "nothing is left that could wake one up" in result["error"].splitlines()[-1]


def test_another_file_is_chosen_by_its_name(page):
    shown = page("/retries/edit?file=reference/backoff.py")
    names = [option.text for option in shown.one("select").all("option")]

    assert (excerpts.LESSONS / "reference/backoff.py").read_text().strip() == shown.one("textarea").raw.strip()
    assert contents.section("retries").program == names[0]
    assert "reference/job_queue.py" in names


def test_the_files_to_edit_are_those_of_the_chooser(client, page):
    names = [option.text for option in page("/retries/edit").one("select").all("option")]

    assert names == list(client.get("/retries/edit/files.json").json)


@pytest.mark.parametrize("name", ["../pyproject.toml", "s07_outbox/demo.py", ""])
def test_no_other_file_is_shown(client, name):
    answer = client.get("/retries/edit", query_string={"file": name}, headers={"Accept": "text/plain"})

    assert 404 == answer.status_code
    assert "file must be one of s03_retries/demo.py, " in answer.text


def test_a_chapter_without_a_program_has_nothing_to_edit(client):
    assert 404 == client.get("/practice/edit").status_code
