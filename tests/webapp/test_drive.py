"""The page of a section that is driven by hand, as a browser without JavaScript has it."""

import json
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from lessons import contents
from webapp import create_app, lifecycle

SECTIONS = [section for section in contents.sections() if section.controls]
STALE = "?ops=enqueue+claim.A+advance.30000+claim.B+ack.A+fail.B"
A_ROW = re.compile(r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td><td>(.*?)</td></tr>")


@pytest.fixture(scope="module")
def browser():
    return create_app({"TESTING": True}).test_client()


@pytest.fixture(params=SECTIONS, ids=lambda section: section.slug)
def driven(request):
    return request.param


def links(html):
    """id -> address of the panel's links that can be followed."""
    found = re.findall(r'<a id="(d-[\w-]+)"[^>]*? href="([^"]+)"(?! aria-disabled)', html)
    return {id: unescape(address) for id, address in found}


def asked(address):
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_a_section_is_driven_and_the_others_have_no_buttons_for_it(browser):
    assert SECTIONS
    for section in contents.sections():
        html = browser.get(f"/{section.slug}").text
        assert bool(section.controls) == ('id="drive"' in html)
        assert bool(section.controls) == any("/drive." in tag for tag in re.findall(r"<script[^>]*>", html))


def test_every_press_leads_to_the_last_step_of_a_run(driven, browser):
    for query in ("", STALE, STALE + "&queue=hardened", "?ops=none"):
        html = browser.get(f"/{driven.slug}{query}").text
        for id, address in links(html).items():
            assert "step" not in asked(address), id
            page = browser.get(address)
            assert 200 == page.status_code, id
            step, total = re.search(r'data-step="(\d+)" data-total="(\d+)"', page.text).groups()
            assert step == total, id


def test_a_press_adds_one_operation_and_undo_takes_it_back(driven, browser):
    first = f"/{driven.slug}{STALE}"
    pressed = links(browser.get(first).text)["d-claim-a"]

    assert asked(first)["ops"] + " claim.A" == asked(pressed)["ops"]
    assert asked(first)["ops"] == asked(links(browser.get(pressed).text)["d-undo"])["ops"]


def test_the_panel_keeps_view_speed_and_queue(driven, browser):
    html = browser.get(f"/{driven.slug}{STALE}&queue=hardened&pace=400&view=present").text
    pressed = asked(links(html)["d-claim-a"])

    assert ("hardened", "400", "present") == (pressed["queue"], pressed["pace"], pressed["view"])


def test_what_cannot_be_used_is_reached_by_keyboard_leads_nowhere_else_and_says_why(driven, browser):
    address = f"/{driven.slug}?ops=none"
    html = browser.get(address).text
    disabled = re.findall(r'href="([^"]+)" aria-disabled="true" aria-describedby="([^"]+)"', html)

    assert len(disabled) > 10
    for link, reason in disabled:
        assert address == link
        assert f'id="{reason}"' in html


def test_the_form_adds_a_job_under_a_chosen_id(driven, browser):
    html = browser.get(f"/{driven.slug}{STALE}&queue=hardened&step=2").text
    form = re.search(r'<form id="f-producer".*?</form>', html, re.S)[0]
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    value = re.findall(r'<option value="([^"]+)"', form)[-1]
    page = browser.get(f"/{driven.slug}", query_string={**hidden, "ops": value})

    assert {"queue": "hardened"} == hidden
    assert "The checkout enqueues order-1 (render-invoice)." in page.text


def test_both_queues_are_compared_by_a_run_of_each(driven, browser):
    def rows(query):
        return A_ROW.findall(browser.get(f"/{driven.slug}{query}").text)

    assert ["5. ack.A", "6. fail.B", "In the end: job-1"] == [what for what, _, _ in rows(STALE)]
    assert [(what, there, here) for what, here, there in rows(STALE)] == rows(STALE + "&queue=hardened")


def test_goals_are_marked_by_a_word(driven, browser):
    words = re.findall(r'<b class="verdict">.*?</svg> (\w+)</b>', browser.get(f"/{driven.slug}{STALE}").text, re.S)

    assert ["reached", "open", "reached", "open", "open", "open", "open"] == words


def test_a_wrong_operation_is_refused_in_every_form(driven, browser):
    answers = [browser.get(f"/{driven.slug}{ending}?ops=enqueue+clam.A") for ending in ("", "/run.json", "/run.txt")]

    assert [400] * 3 == [answer.status_code for answer in answers]
    for answer in answers:
        assert 'operation 2, "clam.A", is none of these' in unescape(answer.text).replace('\\"', '"')
    assert "ops" == json.loads(answers[1].text)["problems"][0]["field"]


def test_a_session_is_text_and_json_too(driven, browser):
    lines = browser.get(f"/{driven.slug}/run.txt{STALE}").text.splitlines()
    data = browser.get(f"/{driven.slug}/run.json{STALE}").json

    assert 7 == len(lines)
    assert lines == data["printed"]


# The life of a job


def life(driven, query, step=None):
    recording = driven.record(driven.Params(**query))
    return lifecycle.life(recording, recording.steps[(step or len(recording.steps)) - 1])


@pytest.mark.parametrize(
    ("ops", "queue", "way", "lane"),
    [
        ("enqueue", "lesson", "enqueue", "waiting"),
        ("enqueue claim.A", "lesson", "claim", "leased"),
        ("enqueue claim.A ack.A", "lesson", "ack", "done"),
        ("enqueue claim.A fail.A", "lesson", "retry", "delayed"),
        ("enqueue claim.A fail.A.permanent", "lesson", "dead", "dead"),
        ("enqueue claim.A fail.A advance.1000", "lesson", "due", "waiting"),
        ("enqueue claim.A advance.30000", "lesson", "lease over", "waiting"),
        ("enqueue claim.A advance.1", "lesson", "", "leased"),
        ("enqueue claim.A renew.A", "hardened", "renew", "leased"),
        ("enqueue claim.A release.A", "hardened", "release", "waiting"),
        ("enqueue claim.A fail.A.permanent replay.job-1", "lesson", "replay", "waiting"),
        ("enqueue claim.A advance.30000 claim.B ack.A fail.B", "lesson", "", "done"),
        ("none", "lesson", "", None),
    ],
)
def test_the_way_of_the_step_is_lit(driven, ops, queue, way, lane):
    found = life(driven, {"ops": ops, "queue": queue})

    assert (way, lane) == (found.now, found.lane)


def test_the_ways_gone_are_told_in_order(driven):
    found = life(driven, {"ops": "enqueue claim.A crash.A advance.30000 claim.B ack.B"})

    assert ("enqueue", "claim", "lease over", "claim", "ack") == found.gone
    assert (
        "job-1 is done. Its way: enqueued, claimed, its lease ended, claimed, acked. In this step: acked." == found.told
    )


def test_the_page_lights_one_way_and_says_it_in_words(driven, browser):
    html = browser.get(f"/{driven.slug}?ops=enqueue+claim.A&step=last").text

    assert ["claim"] == re.findall(r'class="life-way[^"]* going[^"]*" data-way="([\w ]+)"', html)
    assert "In this step: claimed." in html
