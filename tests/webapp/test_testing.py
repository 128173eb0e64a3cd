"""The page on tests: results in every form, predictions, the table, the missing test, and what is refused."""

import json
import re

import pytest

from lessons import mutation
from webapp import create_app

LEASE_TEST = "test_job_without_an_ack_is_delivered_again"


@pytest.fixture(scope="module")
def client():
    return create_app({"TESTING": True}).test_client()


@pytest.fixture(scope="module")
def page(client):
    def get(query=""):
        response = client.get(f"/testing{query}")
        assert (200, "text/html") == (response.status_code, response.mimetype)
        return response.text

    return get


def results(html):
    return re.findall(r'<li id="r-\w+" class="test(?: (passed|failed))?" data-test="(\w+)"', html)


def test_before_a_run_nothing_has_passed(page):
    assert [("", test) for test in mutation.promises()] == results(page())


def test_a_run_shows_each_test_as_it_ended_without_script(page):
    assert [("passed", test) for test in mutation.promises()] == results(page("?run=1"))
    assert "<b>5 passed</b>" in page("?run=1")


def test_the_text_is_that_of_a_test_run_without_times(client):
    lines = client.get("/testing/run.txt").text.splitlines()

    assert [*(f"promises.py::{test} PASSED" for test in mutation.promises()), "5 passed"] == lines


def test_a_failure_tells_line_and_error_in_text_and_json(client):
    text = client.get("/testing/run.txt?mutant=lease-early").text
    data = client.get("/testing/run.json?mutant=lease-early").json
    failed = data["tests"][3]

    assert (1, 4, "failed", "AssertionError") == (data["failed"], data["passed"], failed["outcome"], failed["error"])
    assert f">   {failed['source']}\nE   AssertionError\npromises.py:{failed['line']}\n" in text
    assert text.endswith("\n1 failed, 4 passed\n")


def test_the_stream_tells_one_result_more_each_time_and_then_ends(client):
    response = client.get("/testing/stream?pace=0")
    *steps, end = [event for event in response.text.split("\n\n") if not event.startswith(":")][:-1]

    assert "text/event-stream" == response.mimetype
    assert [f"id: {number}" for number in range(1, 6)] == [step.splitlines()[0] for step in steps]
    assert [1, 2, 3, 4, 5] == [step.count('class="test passed"') for step in steps]
    assert "event: done\ndata: the run is over" == end


def test_a_stream_goes_on_where_it_broke(client):
    text = client.get("/testing/stream?pace=0", headers={"Last-Event-ID": "3"}).text

    assert ["4", "5"] == re.findall(r"^id: (\d)", text, re.MULTILINE)


def test_a_mutant_is_shown_as_a_change_of_the_source(page):
    html = page("?mutant=lease-zero")
    diff = re.findall(r'class="line (gone|new)" data-line="(\d+)"', html)

    assert [("gone", "75"), ("new", "75")] == diff
    assert "caught by" not in html and 'id="verdict"' not in html


@pytest.mark.parametrize(
    ("mutant", "catches", "said"),
    [
        ("lease-late", [LEASE_TEST], "Your prediction was right"),
        ("lease-late", [], "Your prediction was not right"),
        ("lease-late", [LEASE_TEST, "test_backoff_doubles_up_to_its_cap"], "Your prediction was not right"),
        ("ack-keeps", [], "Your prediction was right"),
    ],
)
def test_a_prediction_is_judged_by_the_run(client, mutant, catches, said):
    query = {"mutant": mutant, "predicted": "1", "catches": catches}

    assert said in client.get("/testing", query_string=query).text


def test_the_table_has_every_mutant_with_what_each_test_did(page):
    rows = re.findall(r'data-mutant="([\w-]+)">(.*?)</tr>', page("?matrix=1"), re.DOTALL)

    assert list(mutation.mutants()) == [slug for slug, _ in rows]
    for slug, row in rows:
        ended = mutation.keep_promises(slug)
        cells = re.findall(r'<td class="(hit|miss|alive)">', row)
        whole = "alive" if all(outcome.passed for outcome in ended) else "hit"
        assert [whole, *("miss" if outcome.passed else "hit" for outcome in ended)] == cells


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        ("test_ack_leaves_an_empty_queue", "This test was missing"),
        ("test_job_that_is_done_is_not_handed_out_at_once", "It passes on both."),
        ("test_id_stays_known_after_the_ack", "It fails on the real queue too."),
    ],
)
def test_a_sixth_test_is_tried_on_both(page, candidate, said):
    assert said in page(f"?survivor=ack-keeps&candidate={candidate}")


@pytest.mark.parametrize(
    ("query", "field", "allowed"),
    [
        ("?mutant=x", "mutant", "one of lease-end, "),
        ("?run=2", "run", "one of 1, 0"),
        ("?run=1&run=1", "run", "one value"),
        ("?pages=1", "pages", "one of mutant, run, "),
        ("?mutant=no-cap&catches=a%20b", "catches", "one of test_backoff"),
        ("?mutant=no-cap&catches=x", "catches", "one of test_backoff"),
        ("?catches=" + LEASE_TEST, "mutant", "one of lease-end, "),
        ("?survivor=no-cap", "survivor", "one of newest-first, "),
        ("?candidate=test_ack_leaves_an_empty_queue", "survivor", "one of newest-first, "),
    ],
)
def test_what_cannot_be_run_is_said_with_what_is_allowed(client, query, field, allowed):
    as_json = client.get(f"/testing{query}", headers={"Accept": "application/json"})
    as_page = client.get(f"/testing{query}")

    assert (400, 400) == (as_json.status_code, as_page.status_code)
    assert field == as_json.json["problems"][0]["field"]
    assert as_json.json["problems"][0]["allowed"].startswith(allowed)
    assert 'role="alert"' in as_page.text


@pytest.mark.parametrize("address", ["run.txt?mutant=x", "stream?pace=9999", "stream?pace=-1", "run.txt?run=1"])
def test_text_and_stream_refuse_in_text(client, address):
    response = client.get(f"/testing/{address}")

    assert (400, "text/plain") == (response.status_code, response.mimetype)


@pytest.mark.parametrize(
    ("query", "value", "ends"),
    [
        (f"mutant=no-cap&catches={LEASE_TEST}&catches=x", f"{LEASE_TEST}\nx", ', not "x"'),
        ("predicted=1", "", "mutant must be given with predicted"),
    ],
)
def test_only_what_is_wrong_is_said_to_be(client, query, value, ends):
    (problem,) = client.get(f"/testing?{query}", headers={"Accept": "application/json"}).json["problems"]

    assert (value, True) == (problem["value"], problem["message"].endswith(ends))


def test_json_refuses_in_json(client):
    response = client.get("/testing/run.json?mutant=%3Cb%3E")

    assert (400, "application/json") == (response.status_code, response.mimetype)
    assert "mutant" == json.loads(response.text)["problems"][0]["field"]


def test_the_same_address_gives_the_same_bytes(client):
    for address in ("/testing?matrix=1", "/testing/run.json?mutant=no-cap", "/testing/stream?pace=0&mutant=no-cap"):
        first, again = (re.sub(r"retry: \d+\n", "", client.get(address).text) for _ in range(2))
        assert first == again
