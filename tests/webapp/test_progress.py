"""What a learner has done: noted, shown, exported, imported, deleted, and only for their own browser."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from lessons import contents, exercises, quiz
from webapp import create_app, progress
from webapp.store import MOST_ANSWER_BYTES, MOST_ATTEMPTS, Store

FIRST, SECOND = (chapter.slug for chapter in contents.chapters()[:2])
DRIVEN = next(section.slug for section in contents.sections() if section.controls)
DEAD = "ops=enqueue+claim.A+fail.A.permanent"
TWICE = "ops=enqueue+claim.A+advance.30000+claim.B"
ANSWERED = {
    "family": "some-family",
    "seed": 7,
    "objective": 2,
    "answer": "a",
    "right": False,
    "answered_at": "2026-01-01T00:00:00Z",
}
OPEN = {**ANSWERED, "answer": None, "right": None, "answered_at": None}
FILE = {
    "format": "queue-lab-progress",
    "version": 1,
    "place": f"/{SECOND}?step=2",
    "seen": [{"section": FIRST, "at": "2026-01-01T00:00:00Z"}],
    "solved": [{"exercise": "full-jitter", "at": "2026-01-01T00:00:00Z"}],
    "goals": [{"goal": "dead-in-three", "at": "2026-01-01T00:00:00Z"}],
    "quiz": [{"started_at": "2026-01-01T00:00:00Z", "questions": [ANSWERED, OPEN, OPEN, OPEN, OPEN]}],
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept.sqlite3"


@pytest.fixture(scope="module")
def app():
    return create_app({"TESTING": True, "DATABASE": "set by each test"})


@pytest.fixture
def site(app, path):
    app.extensions["store"] = Store(path)
    return app


@pytest.fixture
def learner(site):
    """A browser: it keeps its cookie."""
    return site.test_client()


def send(browser, data, **headers):
    text = data if isinstance(data, str) else json.dumps(data)
    return browser.post("/progress/import", **form(('file"; filename="progress.json', text)), headers=headers)


def form(*parts):
    """What a browser sends; the test client's own form leaves a temporary file open when it is large."""
    each = [f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n' for name, text in parts]
    return {"data": "".join([*each, "--b--\r\n"]).encode(), "content_type": "multipart/form-data; boundary=b"}


# Noting


def test_reading_sets_no_cookie_and_makes_no_file(learner, path):
    for address in ("/", f"/{FIRST}", f"/{DRIVEN}", "/progress", "/quiz", "/progress/export.json", "/progress/delete"):
        assert "Set-Cookie" not in learner.get(address).headers, address
    assert not path.exists()


def test_a_section_s_page_is_the_same_for_everybody(learner, site):
    learner.post(f"/progress/seen/{FIRST}")

    assert site.test_client().get(f"/{FIRST}").data == learner.get(f"/{FIRST}").data


def test_a_section_can_be_marked_as_read_without_javascript(learner, read):
    form = read(learner.get(f"/{FIRST}?step=3").text).one("form", class_="mark-read")
    place = form.one("input", name="place")["value"]
    response = learner.post(form["action"], data={"place": place})

    assert (303, f"/{SECOND}") == (response.status_code, response.headers["Location"])
    contents_page = read(learner.get("/").text)
    go_on = contents_page.one("a", class_="primary")
    assert f"/{FIRST}?step=3" == go_on["href"]
    assert go_on.text.endswith(", step 3")
    marked = [card["data-section"] for card in contents_page.all("li", class_="card") if card.all(class_="solved")]
    assert [FIRST] == marked


def test_after_the_last_chapter_its_end_is_shown_again(learner):
    last = contents.chapters()[-1].slug

    assert f"/{last}#onward" == learner.post(f"/progress/seen/{last}").headers["Location"]


def test_a_place_alone_is_no_chapter_seen(learner):
    learner.post(f"/progress/place/{FIRST}", data={"place": f"/{FIRST}?step=2"})
    kept = learner.get("/progress/export.json").json

    assert ([], f"/{FIRST}?step=2") == (kept["seen"], kept["place"])


@pytest.mark.parametrize(("query", "ending"), [("", ""), ("?step=3", ", step 3"), ("?step=last", ""), ("?step=", "")])
def test_a_place_is_named_by_its_chapter_and_the_number_of_its_step(query, ending):
    assert contents.chapter(FIRST).title + ending == progress.title_of(f"/{FIRST}{query}")


def test_the_contents_page_shows_nothing_to_whoever_is_new(learner, read):
    assert [] == read(learner.get("/").text).all(id="progress")


def test_a_script_is_answered_in_json(learner):
    response = learner.post(f"/progress/seen/{FIRST}", headers={"Accept": "application/json"})

    assert (200, {"kept": True}) == (response.status_code, response.json)
    assert {"kept": True} == learner.post("/progress/solved/full-jitter", headers={"Sec-Fetch-Mode": "cors"}).json


@pytest.mark.parametrize(
    ("address", "status", "word"),
    [
        ("/progress/seen/no-such", 404, "no-such"),
        ("/progress/solved/No_Such", 404, "The exercises are full-jitter"),
        (f"/progress/solved/{'x' * 41}", 404, "There is no exercise"),
    ],
)
def test_what_cannot_be_noted_is_refused(address, status, word, learner):
    response = learner.post(address, headers={"Accept": "application/json"})

    assert status == response.status_code
    assert word in response.json["message"]
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    "place",
    [
        f"/{FIRST}/edit",
        f"/{FIRST}/",
        f"//{FIRST}",
        f"https://elsewhere/{FIRST}",
        f"/{SECOND}",
        f"/{FIRST}\n",
        f"/{FIRST}?{'x' * 5_000}",
    ],
)
def test_a_place_must_be_in_the_section(place, learner):
    response = learner.post(f"/progress/seen/{FIRST}", data={"place": place})

    assert 400 == response.status_code
    assert "place must be an address of this chapter" in response.text
    data = learner.post(f"/progress/seen/{FIRST}", data={"place": place}, headers={"Accept": "application/json"})
    assert [("place", place)] == [(one["field"], one["value"]) for one in data.json["problems"]]


@pytest.mark.parametrize(
    ("address", "sent", "message"),
    [
        (f"/progress/place/{FIRST}", {"data": {"plaace": f"/{FIRST}"}}, 'no field "plaace": it must be one of place'),
        (f"/progress/place/{FIRST}", {"data": {"goal": "delivered-twice"}}, 'no field "goal"'),
        (f"/progress/seen/{FIRST}", {"data": {"place": [f"/{FIRST}", f"/{FIRST}?step=2"]}}, "place must be given once"),
        (f"/progress/seen/{FIRST}", {"json": {"place": f"/{FIRST}"}}, "Content-Type must be application/x-www-form"),
        ("/progress/solved/full-jitter", {"data": {"solved": "yes"}}, 'no field "solved": it must be left out'),
    ],
)
def test_a_note_has_no_other_fields_and_comes_in_a_form(address, sent, message, learner, path):
    response = learner.post(address, headers={"Accept": "application/json"}, **sent)

    assert 400 == response.status_code
    assert message in response.json["message"]
    assert not path.exists()


# Goals


def goals(browser):
    return [one["goal"] for one in browser.get("/progress/export.json").json["goals"]]


def verdicts(page):
    return [" ".join(goal.one("b", class_="verdict").text.split()) for goal in page.all("li", class_="goal")]


@pytest.mark.parametrize("note", ["place", "seen"])
def test_goals_of_several_sessions_add_up(note, learner, read):
    for query in (DEAD, "ops=none", TWICE, f"{DEAD}&step=2"):
        form = read(learner.get(f"/{DRIVEN}?{query}").text).one("form", class_="mark-read")
        learner.post(f"/progress/{note}/{DRIVEN}", data={"place": form.one("input", name="place")["value"]})

    assert ["dead-in-three", "delivered-twice"] == sorted(goals(learner))


def test_the_solutions_of_all_goals_reach_all_of_them(learner, read):
    page = read(learner.get(f"/{DRIVEN}").text)
    for number in range(1, 8):
        learner.post(f"/progress/place/{DRIVEN}", data={"place": page.one("a", id=f"d-solve-{number}")["href"]})

    assert "Goals: 7 of 7" == read(learner.get(f"/{DRIVEN}?ops=none").text).one("a", class_="drive-reached").text


@pytest.mark.parametrize(
    "place",
    [
        f"/{DRIVEN}?ops=enqueue+clam.A",
        f"/{DRIVEN}?{DEAD}&step=99",
        f"/{DRIVEN}?{DEAD}&view=no-such",
        f"/{DRIVEN}?{DEAD}&{DEAD}",
        f"/{DRIVEN}?{DEAD}&no-such=1",
        f"/{DRIVEN}?{DEAD}&step=%D9%A3",
    ],
)
def test_of_a_place_without_a_run_the_chapter_is_kept(place, learner):
    response = learner.post(f"/progress/place/{DRIVEN}", data={"place": place})

    assert 303 == response.status_code
    assert ([], f"/{DRIVEN}") == (goals(learner), learner.get("/progress/export.json").json["place"])


@pytest.mark.parametrize("place", [f"/{DRIVEN}?ops=none", f"/{DRIVEN}"])
def test_a_run_that_reaches_no_goal_keeps_none(place, learner):
    learner.post(f"/progress/place/{DRIVEN}", data={"place": place})

    assert ([], place) == (goals(learner), learner.get("/progress/export.json").json["place"])


def test_a_goal_is_judged_by_the_place_alone(learner):
    for slug, place in ((DRIVEN, f"/{DRIVEN}?ops=none"), (FIRST, f"/{FIRST}?{TWICE}")):
        learner.post(f"/progress/place/{slug}?{TWICE}", data={"place": place})

    assert [] == goals(learner)
    assert 404 == learner.post("/progress/goals/delivered-twice").status_code


def test_a_page_tells_goals_of_this_run_from_those_before(learner, read):
    learner.post(f"/progress/place/{DRIVEN}", data={"place": f"/{DRIVEN}?{DEAD}"})
    answer = learner.get(f"/{DRIVEN}?{TWICE}")
    page = read(answer.text)
    [time] = page.one("ol", id="goals").all("time")
    [at] = [one["at"] for one in learner.get("/progress/export.json").json["goals"]]

    assert ["reached", "reached before", *["open"] * 5] == verdicts(page)
    assert (at, at[:10]) == (time["datetime"], time.text)
    assert "Goals: 2 of 7" == page.one("a", class_="drive-reached").text
    assert "Goals: 2 of 7 reached" == page.one("details", id="d-goals").all("summary")[0].text
    assert ["delivered-twice"] == [goal["data-unkept"] for goal in page.all(data_unkept=True)]
    again = read(learner.get(f"/{DRIVEN}?{DEAD}").text)
    assert ["open", "reached", *["open"] * 5] == verdicts(again)
    assert [] == again.one("ol", id="goals").all("time") == again.all(data_unkept=True)


def test_the_run_itself_is_the_same_for_whoever_has_reached_a_goal(learner, site):
    learner.post(f"/progress/place/{DRIVEN}", data={"place": f"/{DRIVEN}?{DEAD}"})
    for ending in ("run.json", "run.txt", "stream"):
        address = f"/{DRIVEN}/{ending}?{DEAD}&pace=0"
        mine, other = (browser.get(address) for browser in (learner, site.test_client()))
        assert other.headers.get("Cache-Control") == mine.headers.get("Cache-Control")
        assert re.sub(r"retry: \d+", "", other.text) == re.sub(r"retry: \d+", "", mine.text)


# The cookie


@pytest.mark.parametrize(
    ("base", "headers", "secure"),
    [
        ("http://lab.example", {}, False),
        ("https://lab.example", {}, True),
        ("http://lab.example", {"Origin": "https://lab.example"}, True),  # a proxy has taken the TLS off
    ],
)
def test_the_cookie_is_for_this_site_and_no_script(base, headers, secure, learner):
    cookie = learner.post(f"/progress/seen/{FIRST}", base_url=base, headers=headers).headers["Set-Cookie"]

    assert re.match(r"learner=[\w-]{43};", cookie)
    assert {"HttpOnly", "SameSite=Lax", "Max-Age=31536000", "Path=/"} <= set(cookie.split("; "))
    assert secure == ("Secure" in cookie)


def test_the_same_browser_keeps_its_number(learner):
    first, again = (learner.post(f"/progress/seen/{FIRST}").headers["Set-Cookie"].split(";")[0] for _ in range(2))

    assert first == again


def test_what_shows_progress_is_not_stored_on_the_way(learner):
    learner.post(f"/progress/seen/{FIRST}")
    pages = ("/", "/progress", "/progress/export.json", "/quiz", "/practice", "/practice/full-jitter", f"/{DRIVEN}")
    for address in pages:
        answer = learner.get(address)
        assert ("private, no-store", True) == (answer.headers["Cache-Control"], "Cookie" in answer.vary), address


def test_a_solved_exercise_says_so_on_its_own_page(learner):
    assert 'class="chip solved"' not in learner.get("/practice/full-jitter").text
    learner.post("/progress/solved/full-jitter")

    assert 'class="chip solved"' in learner.get("/practice/full-jitter").text
    assert 'class="chip solved"' not in learner.get("/practice/limit-deliveries").text


# Where a request comes from


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize(
    "address",
    [f"/progress/seen/{FIRST}", "/progress/solved/full-jitter", "/progress/import", "/progress/delete", "/quiz"],
)
def test_what_another_site_sends_is_refused(address, headers, learner, path):
    response = learner.post(address, headers=headers)

    assert (403, False) == (response.status_code, path.exists())
    assert "another site" in response.text


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}, {"Origin": "https://localhost"}]
)
def test_what_our_pages_send_is_taken(headers, learner):
    assert 303 == learner.post(f"/progress/seen/{FIRST}", headers=headers).status_code


# The page, out and in


def test_the_page_lists_what_is_kept(learner, read):
    send(learner, FILE)
    shown = read(learner.get("/progress").text)
    sections = shown.one("section", aria_labelledby="h-chapters").all("li")

    assert [chapter.title for chapter in contents.chapters()] == [one.one("a").text for one in sections]
    assert [True] + [False] * (len(sections) - 1) == ["is-done" in one.classes for one in sections]
    [solved] = shown.one("section", aria_labelledby="h-exercises").all("li")
    exercise = exercises.exercise("full-jitter")
    assert (exercise.title, f"/practice/{exercise.slug}") == (solved.one("a").text, solved.one("a")["href"])
    panel = shown.one("section", aria_labelledby="h-goals")
    section = contents.section(DRIVEN)
    assert (section.title, f"/{DRIVEN}#goals") == (panel.one("a").text, panel.one("a")["href"])
    assert f"{section.title}: 1 of 7" == panel.one("p").text
    assert "2026-01-01T00:00:00Z" == panel.one("li").one("time")["datetime"]
    assert "open at question 2" in shown.one("section", aria_labelledby="h-quiz").text
    assert f"/{SECOND}?step=2" in [link["href"] for link in shown.all("a", class_="primary")]


def test_what_was_exported_can_be_imported_elsewhere(learner, site):
    send(learner, FILE)
    exported = learner.get("/progress/export.json")
    other = site.test_client()
    for _ in range(2):
        assert "/progress?imported=1" == send(other, exported.text).headers["Location"]

    assert 'attachment; filename="queue-lab-progress.json"' == exported.headers["Content-Disposition"]
    assert FILE == exported.json == other.get("/progress/export.json").json


def test_a_file_from_before_goals_were_kept_can_be_imported(learner):
    send(learner, FILE)
    old = {name: value for name, value in FILE.items() if name != "goals"}

    assert "/progress?imported=1" == send(learner, old).headers["Location"]
    assert FILE == learner.get("/progress/export.json").json


def largest():
    """A file with as much as may be in one, but for its answers."""
    question = {**OPEN, "family": "f" * 80, "objective": 100}
    started = datetime(2026, 1, 1)
    attempts = [
        {
            "started_at": (started + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "questions": [{**question, "seed": 2**53 - place} for place in range(quiz.DRAWN)],
        }
        for number in range(MOST_ATTEMPTS)
    ]
    at = "2026-01-01T00:00:00Z"
    seen = [{"section": chapter.slug, "at": at} for chapter in contents.chapters()]
    solved = [{"exercise": exercise.slug, "at": at} for exercise in exercises.exercises()]
    reached = [{"goal": name, "at": at} for name in sorted(progress._goals())]
    kept = {"seen": seen, "solved": solved, "goals": reached, "quiz": attempts}
    return {**FILE, "place": f"/{SECOND}?" + '"' * 4_000, **kept}


@pytest.mark.parametrize("text", ["\x01", "\x7f", '"', "₦", "😀", "x"])
def test_the_most_that_can_be_kept_can_be_exported_and_imported(text, learner, site, monkeypatch):
    monkeypatch.setattr(site.json, "compact", False)  # as with --debug, where the file is longer
    assert 303 == send(learner, largest()).status_code
    with site.extensions["store"].writing(learner.get_cookie("learner").value) as known:
        for n in range(MOST_ATTEMPTS * quiz.DRAWN):  # long ones first, short ones where no long one fits
            known.answer(n // 5 + 1, n % 5 + 1, text * max(quiz.LONGEST_ANSWER >> n // 10, 1), False)
    exported = learner.get("/progress/export.json")
    other = site.test_client()
    answers = [question["answer"] for attempt in exported.json["quiz"] for question in attempt["questions"]]

    assert MOST_ATTEMPTS * quiz.DRAWN == len(answers)
    assert 0 <= MOST_ANSWER_BYTES - sum(len(json.dumps(answer)) - 2 for answer in answers) < len(json.dumps(text)) - 2
    assert "/progress?imported=1" == send(other, exported.text).headers.get("Location")
    assert exported.json == other.get("/progress/export.json").json


def test_what_the_lesson_no_longer_has_is_not_exported(learner, site):
    send(learner, FILE)
    with site.extensions["store"].writing(learner.get_cookie("learner").value) as known:
        known.see("an-old-section")
        known.solve("an-old-exercise")
        known.reach("an-old-goal")

    assert FILE == learner.get("/progress/export.json").json
    assert "an-old" not in learner.get("/progress").text
    words = " ".join(re.sub("<[^>]*>", "", learner.get("/progress").text).split())
    assert "1 exercise solved 1 goal reached" in words


def test_of_a_name_that_a_file_has_twice_the_first_time_counts(learner):
    times = [f"2026-0{month}-01T00:00:00Z" for month in (2, 1, 3)]
    seen = [{"section": FIRST, "at": at} for at in times]
    solved = [{"exercise": "full-jitter", "at": at} for at in times]
    reached = [{"goal": "dead-in-three", "at": at} for at in times]
    send(learner, {**FILE, "seen": seen, "solved": solved, "goals": reached})
    kept = learner.get("/progress/export.json").json

    assert [[times[1]]] * 3 == [[one["at"] for one in kept[name]] for name in ("seen", "solved", "goals")]


def test_importing_keeps_what_is_there(learner):
    learner.post(f"/progress/seen/{SECOND}", data={"place": f"/{SECOND}?step=9"})
    send(learner, FILE)
    merged = learner.get("/progress/export.json").json

    assert {FIRST, SECOND} == {one["section"] for one in merged["seen"]}
    assert f"/{SECOND}?step=9" == merged["place"]


def changed(*path_and_value):
    *way, last, value = path_and_value
    data = json.loads(json.dumps(FILE))
    there = data
    for step in way:
        there = there[step]
    there[last] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("no json", "file must be JSON"),
        ("[" * 100_000, "file must be JSON"),
        ([], "format must be"),
        (changed("format", "other"), "format must be"),
        (changed("version", 2), "version must be 1, not 2"),
        (changed("version", True), "version must be 1, not true"),
        (changed("place", "//elsewhere"), 'place must be an address in this lesson, such as /name?step=3, not "//els'),
        (changed("seen", None), "seen must be a list"),
        (changed("seen", 0, 5), "seen[0] must be an object, not 5"),
        (changed("seen", 0, "section", "A B"), f"seen[0].section must be one of {FIRST}, {SECOND}, "),
        (changed("seen", 0, "section", [FIRST]), f"seen[0].section must be one of {FIRST}, {SECOND}, "),
        (changed("seen", 0, "at", "yesterday"), "seen[0].at must be a time from 2020 to now, such as"),
        (changed("solved", 0, "exercise", None), "solved[0].exercise must be one of full-jitter, "),
        (changed("solved", 0, "exercise", "no-such"), "solved[0].exercise must be one of full-jitter, "),
        (changed("goals", None), "goals must be a list"),
        (changed("goals", 0, "goal", "no-such"), "goals[0].goal must be one of delivered-twice, dead-in-three, "),
        (changed("goals", 0, "at", "yesterday"), "goals[0].at must be a time from 2020 to now, such as"),
        (changed("quiz", {}), "quiz must be a list of 0 to 500 objects"),
        (changed("quiz", 0, "questions", []), "quiz[0].questions must be a list of 5 objects"),
        (changed("quiz", 0, "questions", [ANSWERED] * 4), "quiz[0].questions must be a list of 5 objects"),
        (changed("quiz", 0, "questions", [ANSWERED] * 20), "quiz[0].questions must be a list of 5 objects"),
        (changed("quiz", 0, "questions", 0, "seed", -1), "quiz[0].questions[0].seed must be a whole number"),
        (changed("quiz", 0, "questions", 0, "seed", True), "quiz[0].questions[0].seed must be a whole number"),
        (changed("quiz", 0, "questions", 0, "right", 1), "quiz[0].questions[0].right must be true, false or null"),
        (changed("quiz", 0, "questions", 0, "answer", "\ud800"), "quiz[0].questions[0].answer must be text"),
        (changed("quiz", 0, "questions", 0, "answer", "x" * 20_001), "quiz[0].questions[0].answer must be text"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 60 else "",
)
def test_a_file_that_cannot_be_used_names_the_field_and_changes_nothing(data, message, learner, path, read):
    response = send(learner, data)
    problem = read(response.text).one(id="e-file").text

    assert 400 == response.status_code
    assert message in problem
    assert not path.exists()
    told = send(learner, data, Accept="application/json").json
    [one] = told["problems"]
    assert {"field", "value", "allowed", "message"} == set(one)
    assert message in told["message"] == one["message"]
    assert message.startswith(one["field"])


@pytest.mark.parametrize(
    "time",
    [
        "2019-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "-026-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z",
        pytest.param((datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ"), id="in two days"),
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01",
        "٢٠٢٦-01-01T00:00:00Z",
        1_767_225_600,
    ],
)
@pytest.mark.parametrize(
    "way",
    [
        ("seen", 0, "at"),
        ("solved", 0, "at"),
        ("goals", 0, "at"),
        ("quiz", 0, "started_at"),
        ("quiz", 0, "questions", 0, "answered_at"),
    ],
)
def test_a_time_that_cannot_have_been_is_refused(way, time, learner):
    told = send(learner, changed(*way, time), Accept="application/json")
    [problem] = told.json["problems"]

    assert (400, "a time from 2020 to now, such as 2026-01-31T09:30:00Z") == (told.status_code, problem["allowed"])
    assert f"{way[-1]} must be a time from 2020 to now, " in problem["message"]


def test_no_file_and_too_large_a_file_are_refused(learner):
    none = learner.post("/progress/import")
    large = send(learner, "x" * 1_000_001)

    assert (400, 413) == (none.status_code, large.status_code)
    assert "file must be chosen" in none.text
    assert "file must have at most 1,000,000 bytes" in large.text
    large = send(learner, "x" * 1_000_001, Accept="application/json")
    assert (413, ["file"]) == (large.status_code, [problem["field"] for problem in large.json["problems"]])


@pytest.mark.parametrize("address", ["/progress/import", f"/progress/seen/{FIRST}"])
@pytest.mark.parametrize("parts", [[("part", "x")] * 1_001, [("part", "x" * 500_001)]], ids=len)
def test_a_form_of_too_many_parts_is_not_called_too_large_a_file(address, parts, learner):
    response = learner.post(address, **form(*parts))

    assert 413 == response.status_code
    assert "at most 1,000 parts, 500,000 bytes beside its files, and 1,000,000 bytes in all." in response.text
    assert "file must have" not in response.text


def test_no_address_takes_more_than_a_file_to_import(learner):
    for address in (f"/progress/seen/{FIRST}", "/quiz/1/1"):
        learner.post("/quiz")
        file = ('file"; filename="large', "x" * 1_000_001)
        assert 413 == learner.post(address, **form(file)).status_code


def test_deleting_asks_first_and_leaves_nothing(learner, read):
    send(learner, FILE)
    link = read(learner.get("/progress").text).one("a", class_="danger")["href"]
    form = read(learner.get(link).text).one("form")
    response = learner.post(form["action"])

    assert "post" == form["method"]
    assert (303, "/progress?deleted=1") == (response.status_code, response.headers["Location"])
    assert learner.get_cookie("learner") is None
    assert ([], []) == (learner.get("/progress/export.json").json["seen"], goals(learner))
    assert "All of it is deleted" in learner.get("/progress?deleted=1").text


# Without a database


@pytest.fixture
def spoilt(path):
    path.write_bytes(b"this is no database, " * 500)


def test_without_a_database_the_pages_work_and_say_what_is_missing(spoilt, learner, caplog):
    learner.set_cookie("learner", "a token")
    for address in ("/", f"/{FIRST}", f"/{DRIVEN}?{DEAD}", "/progress", "/quiz", "/progress/delete"):
        assert 200 == learner.get(address).status_code, address
    assert progress.NOT_KEPT in learner.get("/progress").text
    for method, address in (("post", f"/progress/seen/{FIRST}"), ("get", "/progress/export.json")):
        assert 503 == getattr(learner, method)(address).status_code
    asked = {"Sec-Fetch-Mode": "cors", "Accept": "application/json"}
    script = learner.post(f"/progress/seen/{FIRST}", headers=asked)
    assert (200, False) == (script.status_code, script.json["kept"])
    deleted = learner.post("/progress/delete", headers=asked)
    assert (503, True) == (deleted.status_code, "Nothing was deleted" in deleted.json["message"])
    assert "Set-Cookie" not in deleted.headers
    assert 503 == learner.get("/progress/export.json", headers=asked).status_code
    assert 1 == len(caplog.records)


@pytest.mark.parametrize("place", [b"\xff\x00", "x", "", "/", 7, "/\u202e"])
def test_a_place_that_no_one_can_have_noted_breaks_no_page(place, learner, path):
    learner.post(f"/progress/seen/{FIRST}")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE learners SET place = ?", (place,))
        connection.commit()
    for address in ("/", f"/{DRIVEN}", "/progress", "/quiz", "/practice"):
        assert 200 == learner.get(address).status_code, address


def test_the_path_comes_from_the_setting_then_the_environment_then_the_home(tmp_path, monkeypatch):
    def path(**settings):
        return create_app(settings).extensions["store"].path

    monkeypatch.setenv("QUEUE_LAB_DATA", "")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    assert tmp_path / ".queue-lab" / "queue-lab.sqlite3" == path() == path(DATABASE=None)
    monkeypatch.setenv("QUEUE_LAB_DATA", str(tmp_path / "b"))
    assert tmp_path / "b" == path()
    assert tmp_path / "c" == path(DATABASE=str(tmp_path / "c"))


@pytest.mark.parametrize(
    ("field", "value"),
    [("version", '"\\ud800"'), ("place", '"\\ud800"'), ("place", "[" * 900 + "]" * 900), ("seen", '["\\ud800"]')],
)
def test_a_file_with_what_no_text_can_be_is_refused_by_name(field, value, learner):
    rest = {"format": progress.FORMAT, "version": progress.FORMAT_VERSION, "seen": [], "solved": [], "quiz": []}
    text = json.dumps({**rest, field: 0}).replace(f'"{field}": 0', f'"{field}": {value}')
    response = send(learner, text)

    assert 400 == response.status_code
    assert field in response.text


def test_imports_cannot_add_up_without_end(learner, monkeypatch):
    monkeypatch.setattr("webapp.store.MOST_ATTEMPTS", 3)
    asked = [{"family": "a", "seed": 1, "objective": 1, "right": None}] * 5

    def imported(year):
        attempts = [{"started_at": f"{year}-01-0{day}T00:00:00Z", "questions": asked} for day in (1, 2)]
        kept = {"format": progress.FORMAT, "version": progress.FORMAT_VERSION, "seen": [], "solved": []}
        return send(learner, json.dumps({**kept, "quiz": attempts}), Accept="application/json")

    assert 303 == imported(2025).status_code
    refused = imported(2026)
    assert (400, True) == (refused.status_code, "more than the 3 attempts" in refused.text)
    assert ["quiz"] == [problem["field"] for problem in refused.json["problems"]]
