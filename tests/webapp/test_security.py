"""What a page may load and run, and what becomes of text that somebody else wrote."""

import json
import re
from urllib.parse import quote, urlencode

import pytest

from webapp import create_app

NASTY = '<script>alert("₦\'&")</script></title><img src=x onerror=alert(2)>{{7*7}}'
SENT = f"{NASTY}@x"  # with an @ it is an address to which receipts are sent
PAGES = ["/", "/retries", "/retries?step=last&view=present", "/outbox?step=9&play=1"]
PAGES += [f"/dead-letters?{urlencode({'email': SENT})}&step=last", "/sync-checkout?step=2"]
ERRORS = ["/retries?max_attempts=0", "/retries?step=0", "/no-such", "/static/no-such.css"]
DATA = ["/retries/run.txt", "/retries/run.json", "/retries/stream?pace=0", "/healthz", "/favicon.ico"]
DATA += ["/retries/run.json?max_attempts=0", "/retries/run.txt?step=0", "/no-such/stream"]


def rules(response):
    """The Content-Security-Policy of an answer: directive -> sources."""
    parts = response.headers["Content-Security-Policy"].split(";")
    return {part.split()[0]: part.split()[1:] for part in parts}


def unsafe(page):
    """What a strict policy would refuse, or what would need a looser one."""
    for element in page.inside():
        if element.tag in ("style", "base", "iframe", "object", "embed"):
            yield element
        if element.tag == "script" and (element.raw.strip() or not element.get("src", "").startswith("/static/")):
            yield element
        if element.tag == "link" and element["rel"] != "alternate" and not element["href"].startswith("/static/"):
            yield element
        for name, value in element.attrs.items():
            if name in ("style", "srcdoc", "srcset") or name.startswith(("on", "hx-on")):
                yield element
            if re.match(r"\s*(javascript|data|js|vbscript):", value, re.IGNORECASE):
                yield element
            if name == "hx-trigger" and "[" in value:  # a filter is a program
                yield element


@pytest.fixture
def answer(client, read):
    """answer(address) -> the page there, be it an error or not."""
    return lambda address: read(client.get(address).text)


# The policy


@pytest.mark.parametrize("address", [*PAGES, *ERRORS, *DATA])
def test_every_answer_has_a_policy_that_allows_only_our_own_files(address, client):
    response = client.get(address)
    policy = rules(response)

    assert ["'none'"] == policy.pop("default-src")
    assert [["'none'"]] * 2 == [policy.pop("base-uri"), policy.pop("frame-ancestors")]
    assert {"script-src", "style-src", "connect-src", "form-action"} <= set(policy)
    assert {"'self'"} == {source for sources in policy.values() for source in sources}
    assert "nosniff" == response.headers["X-Content-Type-Options"]
    assert "same-origin" == response.headers["Referrer-Policy"]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "POST"])
@pytest.mark.parametrize("address", ["/", "/retries", "/retries/run.json", "/retries/stream"])
def test_other_methods_have_the_same_policy(address, method, client):
    assert rules(client.get("/")) == rules(client.open(address, method=method))


def test_a_fault_of_ours_has_the_same_policy(client, monkeypatch):
    monkeypatch.delattr("webapp.moment.html")
    app = create_app()
    app.logger.disabled = True
    response = app.test_client().get("/retries")

    assert 500 == response.status_code
    assert rules(client.get("/")) == rules(response)
    assert "nosniff" == response.headers["X-Content-Type-Options"]


@pytest.mark.parametrize("address", [*PAGES, *ERRORS])
def test_nothing_on_a_page_is_inline_or_from_elsewhere(address, answer):
    shown = answer(address)

    assert [] == list(unsafe(shown))
    assert ["/static/vendor/htmx/htmx", "/static/app"] == [
        re.sub(r"\.[0-9a-f]{12}\.js$", "", script["src"]) for script in shown.all("script")
    ]


def test_events_of_a_stream_have_nothing_inline_either(section, played, read):
    for event in played(f"/{section.slug}/stream?pace=0"):
        moment = read(event.data)

        assert [] == list(unsafe(moment)) + moment.all("script") + moment.all("link")


def test_htmx_adds_no_style_of_its_own(answer):
    settings = json.loads(answer("/").one("meta", name="htmx-config")["content"])

    assert settings["includeIndicatorCSS"] is False


# Files


def test_the_files_of_a_page_may_be_kept_for_ever_and_are_what_they_say(answer, client):
    elements = list(answer("/retries").one("head").inside())
    addresses = {e.get("src") or e.get("href") for e in elements if e.tag in ("script", "link")}
    files = sorted(address for address in addresses if address and address.startswith("/static/"))
    responses = [client.get(address) for address in files]

    assert len(files) >= 4
    for response in responses:
        assert (200, "public, max-age=31536000, immutable") == (
            response.status_code,
            response.headers["Cache-Control"],
        )
        assert ("nosniff", True) == (
            response.headers["X-Content-Type-Options"],
            "Content-Security-Policy" in response.headers,
        )


@pytest.mark.parametrize("address", [*PAGES, *ERRORS, "/retries/run.json", "/retries/run.txt"])
def test_what_can_change_with_the_code_is_asked_for_again(address, client):
    assert "no-cache" == client.get(address).headers["Cache-Control"]


# Text of others


@pytest.mark.parametrize("email", [NASTY, SENT])
def test_a_text_that_looks_like_a_page_stays_text_in_every_form(email, client, answer, read, played):
    query = urlencode({"email": email})
    moments = [read(event.data) for event in played(f"/dead-letters/stream?{query}&pace=0")]
    shown = answer(f"/dead-letters?{query}&step=last")
    data = json.loads(client.get(f"/dead-letters/run.json?{query}").data)

    assert email == data["parameters"]["email"]
    assert email in client.get(f"/dead-letters/run.txt?{query}").text
    assert any(email in moment.one(class_="sentence").raw for moment in moments)
    assert email in shown.one(id="log").raw
    assert email in shown.one(class_="all-steps").raw
    assert email == shown.one(id="p-email")["value"]
    for part in (shown, *moments):
        assert [] == list(unsafe(part)) + part.all("img")
    assert 2 == len(shown.all("script"))


@pytest.mark.parametrize("address", ["/dead-letters?{}&step=last", "/dead-letters/stream?{}&pace=0"])
@pytest.mark.parametrize("email", [NASTY, SENT])
def test_no_tag_of_such_a_text_reaches_a_browser(email, address, client):
    html = client.get(address.format(urlencode({"email": email}))).text

    assert [False, False, False] == [tag in html for tag in ("<script>", "<img", "</title><img")]
    assert "&lt;script&gt;alert(" in html


def test_such_a_text_is_drawn_and_listed_as_it_is(answer):
    shown = answer(f"/dead-letters?{urlencode({'email': SENT})}&step=last")
    titles = [title.raw for title in shown.one(class_="timeline").all("title")]

    assert any(title.endswith(f"sent to {SENT}.") for title in titles)
    assert shown.one(class_="effects").one("li").text.startswith(f"mail provider receipt for order 1002 sent to {SENT}")


def test_such_a_text_is_shown_as_the_error_of_a_job(answer):
    shown = answer(f"/dead-letters?{urlencode({'email': NASTY})}&step=4")
    error = f'not an e-mail address: "{NASTY}"'

    assert error == shown.one(class_="detail").raw
    assert f"last error: {error}" == shown.one("li", data_job="job-1").one(class_="error").raw


def test_links_carry_such_a_text_whole(answer, follow):
    shown = answer(f"/dead-letters?{urlencode({'email': NASTY})}&step=4").one(id="lab")
    links = [link["href"] for link in shown.all("a") if link["href"] != "/dead-letters"]  # the default run

    assert len(links) > 30
    assert {NASTY} == {follow(link)[1]["email"] for link in links}
    assert [NASTY] * 2 == [field["value"] for field in shown.all("input", name="email", type="hidden")]


@pytest.mark.parametrize(
    "address",
    [
        f"/retries?max_attempts={quote(NASTY)}",
        f"/retries?jitter={quote(NASTY)}",
        f"/retries?{quote(NASTY)}=1",
        f"/retries?view={quote(NASTY)}",
        f"/retries?step={quote(NASTY)}",
        f"/dead-letters?email={quote(NASTY * 2)}",
        f"/{quote(NASTY.replace('/', '!'))}",  # a name with a slash is no name of a section
    ],
)
def test_an_error_shows_such_a_text_as_text(address, client, answer):
    html, shown = client.get(address).text, answer(address)

    assert [] == list(unsafe(shown)) + shown.all("img")
    assert NASTY.partition("/")[0] in shown.one("main").raw
    assert [False, False] == ["<script>" in html, "<img" in html]


@pytest.mark.parametrize("ending", ["run.txt", "run.json", "stream"])
def test_data_with_such_a_text_is_never_taken_for_a_page(ending, client):
    for query in (urlencode({"email": SENT, "pace": 0}), urlencode({"email": NASTY * 2})):
        response = client.get(f"/dead-letters/{ending}?{query}")

        assert response.mimetype in ("text/plain", "application/json", "text/event-stream")
        assert "nosniff" == response.headers["X-Content-Type-Options"]


def test_a_line_break_in_a_value_makes_no_header_and_no_event(client):
    response = client.get("/dead-letters/stream?pace=0&email=a%0d%0aSet-Cookie:x%0a%0aevent:%20done")

    assert (400, "text/plain") == (response.status_code, response.mimetype)
    assert "Set-Cookie" not in response.headers


def test_no_answer_sets_a_cookie(client):
    answers = [client.get(address) for address in [*PAGES, *ERRORS, *DATA]]

    assert not any("Set-Cookie" in response.headers for response in answers)
