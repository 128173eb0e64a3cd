"""The quiz, taken as a browser without JavaScript takes it: attempts, answers, verdicts, results."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lessons import contents, quiz
from webapp import create_app
from webapp import quiz as pages
from webapp.store import Drawn, Store

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("choose", "predict", "write")
ONE_OF_EACH = {kind: next(family for family in quiz.families() if family.kind == kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def app():
    return create_app({"TESTING": True, "DATABASE": "set by each test"})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept.sqlite3"


@pytest.fixture
def site(app, path):
    app.extensions["store"] = Store(path)
    return app


@pytest.fixture
def learner(site):
    """A browser: it keeps its cookie."""
    return site.test_client()


@pytest.fixture
def given(site, learner):
    """given(kind, seed) -> the question that is the first of the learner's open attempt."""

    def add(kind, seed=1):
        others = [family for family in quiz.families() if family not in ONE_OF_EACH.values()][:4]
        families = [ONE_OF_EACH[kind], *others]
        with site.extensions["store"].writing(None) as known:
            known.add(tuple(Drawn(family.id, seed, family.objective) for family in families))
        learner.set_cookie("learner", known.token)
        return families[0].make(seed)

    return add


def attempts(browser):
    return browser.get("/progress/export.json").json["quiz"]


def answer_to(question, right):
    """What to send to get it right, or wrong."""
    if question.kind == "choose":
        return {"answer": next(option.key for option in question.options if option.right == right)}
    if question.kind == "predict":
        return {"answer": question.expected if right else "nothing of the kind"}
    if right:
        return {"answer": question.solution, "outcome": "passed"}
    return {"answer": question.starter, "outcome": "given up"}


def asked(drawn):
    return pages._bank()[drawn["family"]].make(drawn["seed"])


def take(browser, right=5):
    """Take the quiz and get that many right; the address of the result."""
    address = browser.post("/quiz").headers["Location"]
    attempt = address.rpartition("/")[0]
    for number, drawn in enumerate(attempts(browser)[-1]["questions"], start=1):
        sent = browser.post(f"{attempt}/{number}", data=answer_to(asked(drawn), number <= right))
        assert 303 == sent.status_code
    return attempt


# Attempts


def test_an_attempt_has_five_questions_of_all_three_kinds(learner, read):
    form = read(learner.get("/quiz").text).one(class_="quiz-start").one("form")
    response = learner.post(form["action"])
    kinds = {asked(drawn).kind for drawn in attempts(learner)[0]["questions"]}

    assert ("post", 303, "/quiz/1/1") == (form["method"], response.status_code, response.headers["Location"])
    assert set(KINDS) == kinds
    assert "Question 1 of 5" == read(learner.get("/quiz/1/1").text).one("h1").text


def test_starting_twice_goes_on_with_the_same_attempt(learner, read):
    learner.post("/quiz")
    learner.post("/quiz/1/1", data=answer_to(asked(attempts(learner)[0]["questions"][0]), True))

    assert "/quiz/1/2" == learner.post("/quiz").headers["Location"]
    assert 1 == len(attempts(learner))
    assert "/quiz/1/2" in [link["href"] for link in read(learner.get("/quiz").text).all("a", class_="primary")]


def test_an_open_attempt_that_goes_away_meanwhile_is_followed_by_a_whole_one(given, learner, monkeypatch):
    given("choose")
    writing = Store.writing

    def late(store, token):
        with writing(store, token) as known:
            known.forget()
        return writing(store, token)

    monkeypatch.setattr(Store, "writing", late)

    assert "/quiz/1/1" == learner.post("/quiz").headers["Location"]
    assert [5] == [len(attempt["questions"]) for attempt in attempts(learner)]


def test_another_attempt_has_other_questions_until_the_bank_is_used_up(site):
    bank = {family.id for family in quiz.families()}
    taken, seen = (), set()
    for _ in range(len(bank) // 5):
        drawn = pages._draw(taken)
        families = {one.family for one in drawn}
        assert 5 == len(families - seen)
        seen |= families
        taken += (pages.Attempt(len(taken) + 1, "", drawn),)
    for _ in range(2):  # what is left is filled up; then it begins anew, but not with what was there just now
        drawn = pages._draw(taken)
        assert {one.family for one in drawn}.isdisjoint(one.family for one in taken[-1].questions)
        taken += (pages.Attempt(len(taken) + 1, "", drawn),)


def test_each_learner_has_attempts_of_their_own(site, learner):
    learner.post("/quiz")
    other = site.test_client()

    assert 404 == other.get("/quiz/1/1").status_code
    other.post("/quiz")
    assert attempts(learner)[0]["questions"] != attempts(other)[0]["questions"]


# Before and after an answer


@each_kind
def test_before_the_answer_the_page_does_not_give_it_away(kind, given, learner):
    question = given(kind)
    html = learner.get("/quiz/1/1").text
    secrets = [question.explanation[:40], question.proof, *(option.why for option in question.options)]
    secrets += [text for text in (question.expected, question.solution) if text]

    assert [] == [secret for secret in secrets if secret in html or json.dumps(secret)[1:-1] in html]
    assert "verdict" not in html
    assert not re.search(r"data-right|is_right|\bright=", html)


@each_kind
@pytest.mark.parametrize("right", [True, False])
def test_after_the_answer_the_page_says_what_is_right_and_why(kind, right, given, learner, read):
    question = given(kind)
    sent = learner.post("/quiz/1/1", data=answer_to(question, right))
    shown = read(learner.get("/quiz/1/1").text)
    verdict = shown.one(id="verdict")

    assert (303, "/quiz/1/1#verdict") == (sent.status_code, sent.headers["Location"])
    assert ("Right" if right else "Not solved" if kind == "write" else "Wrong") == verdict.one("h2").text
    assert verdict.one("h2").all("svg")
    assert question.proof == shown.one("a", class_="proof")["href"]
    assert "/quiz/1/2" == shown.one(class_="quiz-on").one("a")["href"]
    assert [] == shown.all("form")
    if kind == "choose":
        chosen = next(o for o in question.options if o.key == answer_to(question, right)["answer"])
        best = next(o for o in question.options if o.right)
        assert " ".join(chosen.why.split()) in verdict.text
        assert " ".join(best.text.split()) in (shown if right else verdict).text
        marks = [li.one("small").text for li in shown.one(class_="options").all("li") if li.all("small")]
        assert (["the right answer, your answer"] if right else ["the right answer", "your answer"]) == sorted(marks)
    if kind == "predict":
        assert question.expected.strip() == shown.all("pre", class_="plain")[-1].raw.strip()
    if kind == "write":
        assert (
            question.solution.split()
            == " ".join(line.raw for line in shown.all("section")[-1].all(class_="line")).split()
        )


def test_the_proof_of_an_answer_can_be_opened(given, learner):
    for kind in KINDS:
        assert 200 == learner.get(given(kind).proof).status_code


def test_every_form_works_without_javascript(given, learner, read):
    for kind in KINDS:
        question = given(kind)
        shown = read(learner.get("/quiz/1/1").text)
        form = shown.one("form", class_="quiz-answer")
        names = {one["name"] for one in form.inside() if one.get("name")}

        assert ("post", "/quiz/1/1") == (form["method"], form["action"])
        assert names == {"outcome" if kind == "write" else "answer"}
        if kind == "choose":
            options = [(o.one("input")["value"], o.one("span").text) for o in form.all("label", class_="option")]
            assert [(o.key, " ".join(o.text.split())) for o in question.options] == options
        if kind == "write":
            assert "given up" == form.one("input", name="outcome")["value"]
            area = shown.one("textarea")
            assert question.starter.strip() == area.raw.strip()
            assert ("answer", form["id"]) == (area["name"], area["form"])
            assert "readonly" not in area.attrs
            assert "needs JavaScript" in shown.one("p", id="keys-help").text


def test_only_a_page_with_code_to_write_loads_the_editor(given, learner, read):
    for kind in KINDS:
        given(kind)
        scripts = [script["src"] for script in read(learner.get("/quiz/1/1").text).all("script")]
        assert (kind == "write") == any("/quiz." in src for src in scripts)


# Reload, back, second tab, second process


@each_kind
def test_the_first_answer_counts_whatever_comes_later(kind, given, learner):
    question = given(kind)
    for right in (False, True, True):
        sent = learner.post("/quiz/1/1", data=answer_to(question, right))
        assert (303, "/quiz/1/1#verdict") == (sent.status_code, sent.headers["Location"])
    [attempt] = attempts(learner)

    assert False is attempt["questions"][0]["right"]
    assert [None] * 4 == [one["right"] for one in attempt["questions"][1:]]


def test_an_attempt_goes_on_in_another_process(given, learner, path):
    question = given("choose")
    program = (
        "import sys; from webapp import create_app\n"
        "browser = create_app({'DATABASE': sys.argv[1]}).test_client(); browser.set_cookie('learner', sys.argv[2])\n"
        "print(browser.post('/quiz/1/1', data={'answer': sys.argv[3]}).status_code)\n"
    )
    token = learner.get_cookie("learner").value
    right = answer_to(question, True)["answer"]
    done = subprocess.run([sys.executable, "-c", program, path, token, right], cwd=ROOT, capture_output=True, text=True)

    assert ("303\n", "") == (done.stdout, done.stderr)
    assert True is attempts(learner)[0]["questions"][0]["right"]


def test_pages_of_the_quiz_are_not_kept_by_a_browser(given, learner):
    given("choose")
    for address in ("/quiz", "/quiz/1", "/quiz/1/1"):
        assert "private, no-store" == learner.get(address).headers["Cache-Control"]


def test_past_the_most_attempts_that_are_kept_one_lives_in_its_address(given, learner, read, monkeypatch):
    question = given("choose")
    monkeypatch.setattr("webapp.store.MOST_ATTEMPTS", 1)
    assert "/quiz/1/1" == learner.post("/quiz").headers["Location"], "the open one goes on"
    learner.post("/quiz/1/1", data=answer_to(question, True))
    for number, drawn in enumerate(attempts(learner)[0]["questions"][1:], start=2):
        learner.post(f"/quiz/1/{number}", data=answer_to(asked(drawn), True))
    address = learner.post("/quiz").headers["Location"]

    assert "not kept" in read(learner.get(address).text).one(class_="notice").text
    assert 1 == len(attempts(learner))


def test_an_answer_past_the_most_that_is_kept_is_still_judged(given, learner, monkeypatch):
    question = given("write")
    monkeypatch.setattr("webapp.store.MOST_ANSWER_BYTES", 10)
    learner.post("/quiz/1/1", data=answer_to(question, True))
    first = attempts(learner)[0]["questions"][0]

    assert ("", True) == (first["answer"], first["right"])
    assert "Your code passes the check" in learner.get("/quiz/1/1").text


# The result


@pytest.mark.parametrize(
    ("right", "title"), [(5, "Passed"), (4, "Passed"), (3, "Not passed yet"), (0, "Not passed yet")]
)
def test_four_of_five_pass(right, title, learner, read):
    shown = read(learner.get(take(learner, right)).text)

    assert title == shown.one("h1").text
    assert f"{right} of 5 right" in shown.one(class_="score").text
    wrong = [asked(drawn) for drawn in attempts(learner)[0]["questions"][right:]]
    again = shown.all("section", class_="again-list")
    assert bool(wrong) == bool(again)
    if wrong:
        links = {link["href"] for link in again[0].all("a")}
        assert {question.proof for question in wrong} <= links
        assert {quiz.OBJECTIVES[q.objective - 1] for q in wrong} == {b.text for b in again[0].all("b")}
    assert ("post", "/quiz") == (shown.one("form")["method"], shown.one("form")["action"])


def test_an_attempt_that_is_not_over_says_where_it_waits(given, learner, read):
    given("choose")
    shown = read(learner.get("/quiz/1").text)

    assert "Not finished yet" == shown.one("h1").text
    assert "/quiz/1/1" == shown.one("a", class_="primary")["href"]


def test_trying_again_gives_five_other_questions(learner):
    take(learner, 2)
    learner.post("/quiz")
    first, again = ({one["family"] for one in attempt["questions"]} for attempt in attempts(learner))

    assert (5, 5, set()) == (len(first), len(again), first & again)


# What cannot be


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/quiz/9", "There is no attempt"),
        ("/quiz/x.y", "not known any more"),
        ("/quiz/1/9", "questions 1 to 5; there is no question"),
        ("/quiz/1/0", "there is no question"),
        ("/quiz/1/two", "there is no question"),
        ("/quiz/9/1", "There is no attempt"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_not_there_is_404_and_says_what_is(address, message, method, given, learner):
    if method == "POST" and address.count("/") < 3:
        return
    given("choose")
    page = learner.open(address, method=method)
    data = learner.open(address, method=method, headers={"Accept": "application/json"})

    assert (404, 404) == (page.status_code, data.status_code)
    assert message in page.text
    assert message in data.json["message"]


@pytest.mark.parametrize(
    ("kind", "sent", "message"),
    [
        ("choose", {}, "answer must not be empty"),
        ("choose", {"answer": "z"}, "answer must be one of a, b, c"),
        ("predict", {"answer": " \n"}, "answer must not be empty"),
        ("predict", {"answer": "x" * 20_001}, "answer must have at most 20,000 characters, not 20,001"),
        ("write", {"answer": "x"}, "outcome must be passed or given up"),
        ("write", {"answer": "x", "outcome": "brilliant"}, "outcome must be passed or given up"),
        ("write", {"answer": "x" * 20_001, "outcome": "passed"}, "answer must have at most"),
    ],
)
def test_an_answer_that_cannot_be_one_is_400_and_not_kept(kind, sent, message, given, learner, read):
    given(kind)
    page = learner.post("/quiz/1/1", data=sent)
    data = learner.post("/quiz/1/1", data=sent, headers={"Accept": "application/json"})
    text = learner.post("/quiz/1/1", data=sent, headers={"Accept": "text/plain"})

    assert [400] * 3 == [answer.status_code for answer in (page, data, text)]
    assert message in read(page.text).one(id="problem").text
    assert message in data.json["message"]
    [problem] = data.json["problems"]
    field = message.partition(" ")[0]
    assert {**problem, "field": field, "value": sent.get(field, ""), "message": data.json["message"]} == problem
    assert problem["allowed"]
    assert message in text.text
    assert None is attempts(learner)[0]["questions"][0]["right"]


def test_a_question_that_left_the_bank_still_counts_and_blocks_nothing(site, learner, read):
    gone = Drawn("gone", 1, 1)
    wrong, right = (Drawn("gone", 1, 1, "a", right, "2027-01-01T00:00:00Z") for right in (False, True))
    with site.extensions["store"].writing(None) as known:
        known.add((gone, gone, gone, wrong, right))
    learner.set_cookie("learner", known.token)

    assert "Your answer was right, and still counts" in learner.get("/quiz/1/5").text
    assert "no longer in the quiz" in learner.get("/quiz/1/1").text
    assert 400 == learner.post("/quiz/1/1", data={"answer": "a"}).status_code
    again = read(learner.get("/quiz/1").text).one("section", class_="again-list")
    assert ["/quiz/1/4"] == [link["href"] for link in again.all("a")]
    assert "/quiz/2/1" == learner.post("/quiz").headers["Location"]


# Without a database


def test_without_a_database_an_attempt_lives_in_its_address(path, learner, read):
    path.write_bytes(b"this is no database, " * 500)
    start = learner.post("/quiz")
    address = start.headers["Location"]
    assert (303, False) == (start.status_code, "Set-Cookie" in start.headers)
    for number in range(1, 6):
        assert len(address) < 4_000
        _, _, attempt, _ = address.partition("#")[0].split("/")
        _, drawn = pages.signed.loads(attempt)
        question = pages._bank()[drawn[number - 1][0]].make(drawn[number - 1][1])
        sent = learner.post(f"/quiz/{attempt}/{number}", data=answer_to(question, number > 1))
        address = sent.headers["Location"]
        shown = read(learner.get(address).text)
        assert ("wrong" if number == 1 else "right") in shown.one(id="verdict").classes
        assert "not kept" in shown.one(class_="notice").text
    result = learner.get(shown.one(class_="quiz-on").one("a")["href"])

    assert "Passed" == read(result.text).one("h1").text
    assert "4 of 5" in result.text


def test_nobody_writes_an_address_with_results_of_their_own(path, learner):
    forged = pages.URLSafeSerializer(b"another key", "quiz").dumps(["", [["x", 1, 1, "a", True, ""]] * 5])

    assert 404 == learner.get(f"/quiz/{forged}").status_code


def test_the_quiz_is_the_last_chapter():
    assert "quiz" == contents.chapters()[-1].slug
