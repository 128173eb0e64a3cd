"""What cannot be given is said where and how it was asked for."""

import json
import re
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons import contents, params
from webapp import create_app

FORMS = {"": "text/html", "/run.json": "application/json", "/run.txt": "text/plain", "/stream": "text/plain"}
ODD_STEPS = ["0", "99999", "abc", "-1", "1.5", "٣", "", " 1", "+1", "1e1", "LAST", "9" * 5_000]
OF_A_PROGRAM = re.compile(r"Traceback|werkzeug|jinja|\.py\b|[a-z]Error\b")


def wrong_values(kind):
    """Texts that the kind of field does not allow."""
    match kind:
        case params.Whole(low=low, high=high):
            return ["", "abc", "-1", str(high + 1), "1.5", "1e3", "٣", "0x10", *([str(low - 1)] if low else [])]
        case params.Choice() | params.Flag():
            return ["", "nonsense", kind.options[0][0].upper(), kind.options[0][1] + "!"]
        case params.Text(max_length=most):
            return ["", "x" * (most + 1), "two\nlines", "nul\0"]
    raise AssertionError(f"no wrong values for {kind}")


FIELDS = [
    pytest.param(section, field, id=f"{section.slug}-{field.name}")
    for section in contents.sections()
    for field in params.fields(section.Params)
]
RESERVED = [
    *(("view", value) for value in ("", "wide", "PAGE")),
    *(("pace", value) for value in ("", "fast", "-1", "2001", "1.5", "٣")),
    *(("play", value) for value in ("", "yes", "2")),
    *(("steps", value) for value in ("", "yes", "2")),
    *(("from", value) for value in ("", "abc", "-1", "99999", "1.5")),
]


@pytest.fixture
def refused(client):
    """refused(path, query, **headers) -> the 400 for it, as (mimetype, body)."""

    def get(path, query, **headers):
        address = f"{path}?{query if isinstance(query, str) else urlencode(query)}"
        response = client.get(address, headers=headers)
        assert 400 == response.status_code, address
        assert not OF_A_PROGRAM.search(response.text)
        return response.mimetype, response.text

    return get


@pytest.fixture
def missing(client):
    """missing(path, **headers) -> the 404 for it, as (mimetype, body)."""

    def get(path, **headers):
        response = client.get(path, headers=headers)
        assert 404 == response.status_code, path
        assert not OF_A_PROGRAM.search(response.text)
        return response.mimetype, response.text

    return get


def value_of(control):
    """What a control shows."""
    if control.tag == "input":
        return control["value"]
    return control.one("option", selected=True)["value"]


# Fields of a run


@pytest.mark.parametrize(("section", "field"), FIELDS)
def test_a_wrong_value_stays_in_the_form_with_a_message_beside_it(section, field, refused, read):
    for value in wrong_values(field.kind):
        mimetype, html = refused(f"/{section.slug}", {field.name: value})
        page = read(html)
        box = next(box for box in page.all(class_="field") if box.all(id=f"p-{field.name}"))
        control, message = box.one(id=f"p-{field.name}"), box.one(class_="problem")

        assert "text/html" == mimetype
        assert (value, "true") == (value_of(control), control["aria-invalid"])
        assert message["id"] in control["aria-describedby"].split()
        assert f"{field.name} must be {field.allowed}" in message.text
        assert f"{message.text}." == page.one("ul", class_="problems").one("li").text
        assert 1 == len(page.all(aria_invalid=True))


@pytest.mark.parametrize(("section", "field"), FIELDS)
def test_a_wrong_value_is_named_with_what_is_allowed_in_data(section, field, refused):
    for value in wrong_values(field.kind):
        mimetype, body = refused(f"/{section.slug}/run.json", {field.name: value})
        (problem,) = json.loads(body)["problems"]

        assert "application/json" == mimetype
        assert {"field", "value", "allowed", "message"} == set(problem)
        assert [field.name, value, field.allowed] == [problem[name] for name in ("field", "value", "allowed")]
        assert problem["message"] == json.loads(body)["message"]
        for ending in ("/run.txt", "/stream"):
            assert ("text/plain", problem["message"] + "\n") == refused(f"/{section.slug}{ending}", {field.name: value})


@pytest.mark.parametrize(("section", "field"), FIELDS)
def test_a_field_that_is_given_twice_is_refused(section, field, refused, read):
    twice = f"{field.name}={quote(field.default_text)}&{field.name}={quote(field.default_text)}"
    page = read(refused(f"/{section.slug}", twice)[1])
    control = page.one(id=f"p-{field.name}")

    assert (field.default_text, "true") == (value_of(control), control["aria-invalid"])
    assert f"{field.name} must be given once, not 2 times" == page.one(id=f"e-{field.name}").text
    assert f"{field.name} must be given once, not 2 times\n" == refused(f"/{section.slug}/run.txt", twice)[1]


def test_a_field_that_the_section_does_not_have_is_refused(section, refused, read):
    allowed = "one of " + ", ".join(field.name for field in params.fields(section.Params))
    message = f'there is no field "colour": it must be {allowed}'
    page = read(refused(f"/{section.slug}", "colour=red")[1])
    (problem,) = json.loads(refused(f"/{section.slug}/run.json", "colour=red")[1])["problems"]

    assert f"{message}." == page.one("ul", class_="problems").one("li").text
    assert page.one(id="parameters").all("button")
    assert {"field": "colour", "value": "red", "allowed": allowed, "message": message} == problem


def test_all_that_is_wrong_is_said_at_once(refused, read):
    query = "max_attempts=0&base_ms=abc&receipts=2&colour=red&pace=fast&view=present"
    page = read(refused("/retries", query)[1])
    named = [problem["field"] for problem in json.loads(refused("/retries/run.json", query)[1])["problems"]]

    assert {"max_attempts", "base_ms", "colour", "pace"} == set(named)
    assert 4 == len(named) == len(page.one("ul", class_="problems").all("li"))
    assert {"p-max_attempts", "p-base_ms"} == {control["id"] for control in page.all(aria_invalid="true")}
    assert "2" == page.one(id="p-receipts")["value"], "what is right stays too"
    assert [("view", "present")] == [(field["name"], field["value"]) for field in page.all("input", type="hidden")]


def test_values_that_do_not_go_together_are_refused_beside_their_field(refused, read):
    message = "base_ms must not be more than cap_ms (500), not 1000"
    page = read(refused("/retries", "cap_ms=500")[1])

    assert ["p-base_ms"] == [control["id"] for control in page.all(aria_invalid="true")]
    assert ["1000", "500"] == [page.one(id=f"p-{name}")["value"] for name in ("base_ms", "cap_ms")]
    assert message == page.one(id="e-base_ms").text
    assert ("text/plain", message + "\n") == refused("/retries/run.txt", "cap_ms=500")


def test_the_form_of_a_refused_run_leads_back_to_the_section(section, refused, read):
    form = read(refused(f"/{section.slug}", "colour=red")[1]).one("form")

    assert ("get", f"/{section.slug}") == (form["method"], form["action"])
    assert [f"/{section.slug}"] == [link["href"] for link in form.all("a")]


# What is asked of a view


@pytest.mark.parametrize(("name", "value"), RESERVED)
@pytest.mark.parametrize(("ending", "mimetype"), FORMS.items())
def test_a_wrong_view_pace_or_place_is_refused(ending, mimetype, name, value, refused):
    found, body = refused(f"/redelivery{ending}", {name: value})

    assert mimetype == found
    assert f"{name} must be " in body
    if ending == "/run.json":
        assert [(name, value)] == [(p["field"], p["value"]) for p in json.loads(body)["problems"]]


@pytest.mark.parametrize("name", ["step", "view", "pace", "play", "from", "steps"])
@pytest.mark.parametrize("ending", FORMS)
def test_nothing_can_be_asked_for_twice(ending, name, refused):
    assert f"{name} must be given once, not 2 times" in refused(f"/redelivery{ending}", f"{name}=1&{name}=1")[1]


def test_the_end_of_the_run_is_the_last_place_to_go_on_from(refused, client):
    message = 'from must be a whole number from 0 to 15, the run\'s last step, not "16"\n'

    assert message == refused("/redelivery/stream", "from=16")[1]
    assert 200 == client.get("/redelivery/stream?from=15").status_code


# Steps and sections that are not there


def test_from_a_step_that_is_not_there_the_way_back_is_the_run(run, missing, read, page):
    shown = read(missing(run.address(step=99_999))[1])
    (back,) = shown.one("main").all("a")

    assert run.address() == back["href"]
    assert f"This run has the steps 1 to {len(run.recording.steps)}, " in shown.one(class_="lede").text
    opens_at = len(run.recording.steps) if run.section.controls else 1
    assert str(opens_at) == page(back["href"]).one(id="moment")["data-step"]


@pytest.mark.parametrize("step", ODD_STEPS)
def test_a_step_that_the_run_does_not_have_is_not_here(step, missing, read):
    mimetype, html = missing(f"/retries?{urlencode({'max_attempts': 3, 'step': step})}")

    assert "text/html" == mimetype
    assert ["/retries?max_attempts=3"] == [link["href"] for link in read(html).one("main").all("a")]


@pytest.mark.parametrize("step", ODD_STEPS)
def test_a_step_that_is_not_there_is_said_in_data_too(step, missing):
    query = urlencode({"max_attempts": 3, "step": step})
    mimetype, body = missing(f"/retries/run.json?{query}")
    answer = json.loads(body)

    assert ("application/json", "Not here", "/retries?max_attempts=3") == (mimetype, answer["error"], answer["back"])
    for ending in ("/run.txt", "/stream"):
        assert ("text/plain", answer["message"] + "\n") == missing(f"/retries{ending}?{query}")
    assert len(answer["message"]) < 200


@pytest.mark.parametrize(("ending", "mimetype"), FORMS.items())
@pytest.mark.parametrize("slug", ["no-such", "Retries", "s03_retries", "retries%00", "%ff", "..", "%E2%82%A6"])
def test_an_unknown_section_is_not_here_and_the_others_are_named(slug, ending, mimetype, missing, read):
    found, body = missing(f"/{slug}{ending}")

    assert mimetype == found
    assert "The chapters are " + ", ".join(chapter.slug for chapter in contents.chapters()) in body
    if not ending:
        assert ["/"] == [link["href"] for link in read(body).one("main").all("a")]
    if ending == "/run.json":
        assert "/" == json.loads(body)["back"]


@pytest.mark.parametrize(
    ("path", "mimetype"),
    [
        ("/retries/", "text/html"),
        ("/retries/nothing", "text/html"),
        ("/retries/run.txt/", "text/html"),
        ("/a/b/c", "text/html"),
        ("/static/app.css", "text/html"),
        ("/retries/other.json", "application/json"),
        ("/a/b/c.txt", "text/plain"),
    ],
)
def test_an_address_with_nothing_behind_it_says_so_and_leads_home(path, mimetype, missing, read):
    found, body = missing(path)

    assert mimetype == found
    assert "There is nothing at this address." in body
    if mimetype == "text/html":
        assert ["/"] == [link["href"] for link in read(body).one("main").all("a")]


# In the form that was asked for


@pytest.mark.parametrize(
    ("accept", "mimetype"),
    [
        ("application/json", "application/json"),
        ("text/plain", "text/plain"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
        ("*/*", "text/html"),
        ("image/png", "text/html"),
        ("", "text/html"),
        ("text/plain;q=0.5, application/json", "application/json"),
        ("nonsense", "text/html"),
    ],
)
def test_at_the_address_of_a_page_the_accept_header_says_in_which_form(accept, mimetype, refused, missing, client):
    assert mimetype == refused("/retries", "max_attempts=0", Accept=accept)[0]
    assert mimetype == missing("/retries?step=0", Accept=accept)[0]
    assert mimetype == missing("/no-such", Accept=accept)[0]
    assert mimetype == client.post("/retries", headers={"Accept": accept}).mimetype


@pytest.mark.parametrize(("ending", "mimetype"), FORMS.items())
def test_at_the_address_of_data_the_address_alone_says_it(ending, mimetype, refused):
    if ending:
        assert mimetype == refused(f"/retries{ending}", "max_attempts=0", Accept="image/png, text/html")[0]


@pytest.mark.parametrize("accept", ["application/json", "text/plain", "image/png", ""])
def test_what_can_be_given_does_not_depend_on_the_accept_header(accept, client):
    assert client.get("/retries").data == client.get("/retries", headers={"Accept": accept}).data


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("path", "mimetype"),
    [("/", "text/html"), ("/healthz", "text/plain"), *((f"/retries{e}", mimetype) for e, mimetype in FORMS.items())],
)
def test_everything_is_only_to_be_read(path, mimetype, method, client):
    response = client.open(path, method=method)

    assert (405, mimetype) == (response.status_code, response.mimetype)
    assert {"GET", "HEAD", "OPTIONS"} == response.allow.as_set(preserve_casing=True)
    assert not OF_A_PROGRAM.search(response.text)


@pytest.mark.parametrize(("ending", "mimetype"), FORMS.items())
def test_a_fault_of_ours_is_told_without_its_inside(ending, mimetype, monkeypatch):
    def broken(*args):
        raise ZeroDivisionError("a secret of the program")

    app = create_app()
    app.logger.disabled = True
    monkeypatch.setattr("webapp.asked.params.read", broken)
    response = app.test_client().get(f"/retries{ending}")

    assert (500, mimetype) == (response.status_code, response.mimetype)
    assert "secret" not in response.text
    assert not OF_A_PROGRAM.search(response.text)


# Odd bytes


@pytest.mark.parametrize(
    "query",
    [
        "\xe9=\xff",  # bytes that no browser sends, but others do
        "%00",
        "%00=%00",
        "%ff",
        "%ff=%fe",
        "max_attempts=%00",
        "max_attempts=%ff",
        "max_attempts=%ED%A0%80",
        "max_attempts=%0d%0aSet-Cookie:%20a=b",
        "max_attempts=%",
        "max_attempts=%zz",
        "max_attempts=%u0041",
        "step=%00",
        "step=%ff",
        "pace=%00",
        "view=%00",
        "from=%ff",
        "=",
        "=1",
        "a=b=c",
        ";;;",
        "max_attempts=" + "9" * 100_000,
        "step=" + "9" * 100_000,
        "x" * 100_000 + "=1",
        "max_attempts=" + "x" * 100_000,
        "&".join(f"a{n}=1" for n in range(2_000)),
        "max_attempts=1&" * 2_000,
    ],
    ids=lambda query: query[:30],
)
@pytest.mark.parametrize("ending", FORMS)
def test_odd_bytes_in_a_query_are_refused_politely(ending, query, client):
    response = client.get(f"/retries{ending}", environ_overrides={"QUERY_STRING": query})

    assert response.status_code in (400, 404)
    assert not OF_A_PROGRAM.search(response.text)
    assert response.text.strip()


@pytest.mark.parametrize("query", ["", "&", "&&&"])
def test_a_query_that_asks_for_nothing_is_none(query, client):
    response = client.get("/retries", environ_overrides={"QUERY_STRING": query})

    assert client.get("/retries").data == response.data


@pytest.mark.parametrize(
    "path", ["/\x00", "/\xff", "/\xff\xfe/run.json", "/retries\x00/run.txt", "/retries/\xff", "/" + "x" * 100_000, "/%"]
)
def test_odd_bytes_in_a_path_are_not_here(path, client):
    response = client.get("/", environ_overrides={"PATH_INFO": path})

    assert 404 == response.status_code
    assert not OF_A_PROGRAM.search(response.text)
    assert len(response.text) < 20_000


def test_a_message_about_a_very_long_value_is_short(refused):
    assert len(refused("/retries/run.txt", {"max_attempts": "x" * 100_000})[1]) < 200
    assert len(refused("/retries/run.txt", {"x" * 100_000: "1"})[1]) < 300
    assert len(refused("/retries/run.txt", {"view": "x" * 100_000})[1]) < 200


fields = [field.name for section in contents.sections() for field in params.fields(section.Params)]
names = st.sampled_from(["step", "view", "play", "pace", "from", "steps", *fields])
values = st.one_of(
    st.sampled_from(["", "0", "1", "5", "last", "never", "yes", "no", "queue", "hardened", "page", "present"]),
    st.integers(-2, 3_000).map(str),
    st.text(max_size=12),
)
queries = st.one_of(
    st.lists(st.tuples(names, values), max_size=4).map(urlencode),
    st.lists(st.tuples(st.text(max_size=8), values), max_size=3).map(urlencode),
    st.binary(max_size=40).map(lambda octets: octets.decode("latin-1")),
)


@settings(max_examples=150, deadline=None)
@given(
    slug=st.sampled_from([section.slug for section in contents.sections()]),
    ending=st.sampled_from(["", "/run.txt", "/run.json"]),
    query=queries,
)
def test_whatever_is_asked_there_is_an_answer(slug, ending, query, client):
    response = client.get(f"/{slug}{ending}", environ_overrides={"QUERY_STRING": query})

    assert response.status_code in (200, 400, 404)
    assert response.status_code == 200 or FORMS[ending] == response.mimetype


@pytest.mark.parametrize("path", ["/progress", "/practice/full-jitter", "/retries/edit", "/testing", "/glossary", "/"])
def test_a_query_that_is_no_text_is_refused_everywhere(client, path):
    response = client.get(path, environ_overrides={"QUERY_STRING": "step=\xff"})

    assert (400, True) == (response.status_code, "not UTF-8" in response.text)


def test_an_answer_given_twice_to_an_exercise_is_refused(client):
    response = client.get("/practice/sms-consumer?crash=once&crash=twice")

    assert (400, True) == (response.status_code, "crash must be given once, not 2 times" in response.text)


# Pages without a run


@pytest.mark.parametrize("path", ["/retries/edit", "/progress", "/testing/run.json"])
def test_a_field_that_a_page_does_not_have_is_refused(path, refused):
    mimetype, body = refused(path, "colour=red", Accept="application/json")
    (problem,) = json.loads(body)["problems"]

    assert "application/json" == mimetype
    assert ("colour", "red") == (problem["field"], problem["value"])
    assert f'there is no field "colour": it must be {problem["allowed"]}' == problem["message"]


@pytest.mark.parametrize("path", ["/", "/glossary", "/recap", "/practice", "/practice/full-jitter", "/healthz"])
def test_what_somebody_adds_to_the_address_of_a_page_without_fields_is_no_matter(path, client):
    assert 200 == client.get(f"{path}?fbclid=1").status_code


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/retries/edit?file=a&file=b", "file must be given once, not 2 times"),
        ("/progress?imported=1&imported=1", "imported must be given once, not 2 times"),
        ("/progress?deleted=yes", 'deleted must be 1, not "yes"'),
        ("/progress?colour=red", 'there is no field "colour": it must be one of imported, deleted'),
    ],
)
def test_a_field_that_cannot_be_read_is_named_with_what_is_allowed(address, message, client):
    response = client.get(address, headers={"Accept": "text/plain"})

    assert (400, message + "\n") == (response.status_code, response.text)


def test_what_is_not_there_stays_so_whatever_is_asked(missing):
    for path in ("/no-such", "/practice/no-such", "/no-such/run.txt", "/a/b/c"):
        missing(f"{path}?colour=red")
