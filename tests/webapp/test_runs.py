"""Text, JSON and stream: neighbours of the page with the same query, which tell the same run."""

import dataclasses
import json
import re
from contextvars import copy_context

import pytest

from lessons import params
from lessons.recording import as_text
from webapp import create_app, runs

PACED = "/redelivery/stream?pace=400"


class Clock:
    """Stands in for the module `time`: sleeping takes no time, or a little more than was asked for."""

    def __init__(self, late_s=0.0):
        self.now_s, self.late_s, self.naps = 1_000.0, late_s, []

    def monotonic(self):
        return self.now_s

    def sleep(self, s):
        assert s > 0
        if s == runs.YIELD_S:  # lets others go first, and is no pause
            return
        self.naps.append(s)
        self.now_s += s + self.late_s


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(runs, "time", clock)
    monkeypatch.setattr(runs, "open_streams", 0)
    return clock


@pytest.fixture
def arrivals(client, clock):
    """arrivals(address) -> (seconds since the start, what came) for each part of a stream."""

    def get(address):
        start_s = clock.now_s
        response = client.get(address, buffered=False)
        return [(round(clock.now_s - start_s, 6), part.decode()) for part in response.iter_encoded()]

    return get


def ids(events):
    return [int(event.fields["id"]) for event in events]


# The same run in every form


def test_printed_text_is_what_is_expected_to_the_byte(section, client):
    response = client.get(f"/{section.slug}/run.txt")

    assert section.expected.encode() == response.data
    assert "text/plain; charset=utf-8" == response.headers["Content-Type"]


def test_text_is_what_the_command_line_prints(run, client):
    assert as_text(run.recording) == client.get(run.address("/run.txt")).text
    assert as_text(run.recording, steps=True) == client.get(run.address("/run.txt", steps=1)).text


def test_page_text_json_and_stream_tell_the_same_steps(run, client, page, read, told, played):
    lines = client.get(run.address("/run.txt", steps=1)).text.splitlines()
    as_steps = []
    for line in lines:
        if line.startswith("      > "):
            as_steps[-1][2].append(line.removeprefix("      > "))
        else:
            number, sentence = re.fullmatch(r" *(\d+)  t=[\d.]+s  (.+)", line).groups()
            as_steps.append((int(number), sentence, []))

    def shown(moment):
        number = moment["data-step"]
        printed = moment.one(id="log").all("li", data_step=number)
        return int(number), moment.one(class_="sentence").raw, [line for item in printed for line in [item.raw]]

    def in_json(step):
        return step["step"], step["sentence"], [step["printed"]] if step["printed"] is not None else []

    streamed = [read(event.data).one(id="moment") for event in played(run.address("/stream", pace=0))]

    assert as_steps == list(map(in_json, told(run)["steps"]))
    assert as_steps == list(map(shown, streamed))
    assert [as_steps[number - 1] for number in run.looked_at] == [
        shown(page(run.address(step=number)).one(id="moment")) for number in run.looked_at
    ]


def test_json_says_which_run_it_is(run, told):
    asked = params.read(run.section.Params, dict(run.query))
    answer = told(run)

    assert [run.section.slug, run.section.title] == [answer["section"], answer["title"]]
    assert dataclasses.asdict(asked) == answer["parameters"]
    assert [field.name for field in params.fields(run.section.Params)] == list(answer["parameters"])
    assert run.recording.version == answer["version"]
    assert [run.recording.printed, False] == [answer["printed"], answer["limit_reached"]]


def test_json_has_the_whole_state_after_each_step(run, told):
    for step, told_step in zip(run.recording.steps, told(run)["steps"], strict=True):
        state = told_step["state"]

        assert [step.at_ms, step.actor, step.kind, step.detail, step.job] == [
            told_step[name] for name in ("at_ms", "actor", "kind", "detail", "job")
        ]
        assert [dataclasses.asdict(place) for place in step.calls] == told_step["calls"]
        assert dataclasses.asdict(step.place) == told_step["source"]
        assert [queue.enqueued for queue in step.state.queues] == [sum(q["counts"].values()) for q in state["queues"]]
        assert [[dataclasses.asdict(job) for job in queue.jobs] for queue in step.state.queues] == [
            queue["jobs"] for queue in state["queues"]
        ]
        assert [[list(row) for row in table.rows] for table in step.state.tables] == [
            table["rows"] for table in state["tables"]
        ]
        assert [dataclasses.asdict(effect) for effect in step.state.effects] == state["effects"]


def test_json_is_utf_8_for_people_to_read(client):
    response = client.get("/sync-checkout/run.json")

    assert "application/json" == response.headers["Content-Type"]
    assert "₦".encode() in response.data


def test_a_run_that_is_cut_off_says_so_in_json(client):
    address = "/retries/run.json?receipts=50&provider_up_at_ms=3600000&max_attempts=100"

    assert json.loads(client.get(address).data)["limit_reached"]


@pytest.mark.parametrize("ending", ["run.txt", "run.json"])
def test_data_of_the_same_address_is_the_same_bytes(ending, run, client):
    address = run.address(f"/{ending}")

    assert client.get(address).data == create_app().test_client().get(address).data


@pytest.mark.parametrize("more", ["step=3", "view=present", "play=1", "pace=150", "from=2"])
@pytest.mark.parametrize("ending", ["run.txt", "run.json"])
def test_how_a_page_shows_a_run_does_not_change_its_data(ending, more, client):
    assert client.get(f"/redelivery/{ending}").data == client.get(f"/redelivery/{ending}?{more}").data


# The stream


def test_a_stream_is_not_to_be_stored_changed_or_held_back(client):
    headers = client.get("/redelivery/stream?pace=0", headers={"Accept-Encoding": "gzip, br"}).headers

    assert "text/event-stream; charset=utf-8" == headers["Content-Type"]
    assert "no-cache, no-transform" == headers["Cache-Control"]
    assert "no" == headers["X-Accel-Buffering"]
    assert [False, False] == ["Content-Encoding" in headers, "Content-Length" in headers]


def test_the_first_bytes_are_a_comment_and_come_at_once(arrivals):
    assert (0, ": open\n\n") == arrivals(PACED)[0]


def test_events_are_the_steps_in_order_and_then_done(run, client, events):
    comments, found = events(client.get(run.address("/stream", pace=0)).text)

    assert [": open"] == comments
    assert list(range(1, len(run.recording.steps) + 1)) == ids(found[:-1])
    assert {"event": "done", "data": "the run is over"} == found[-1].fields


def test_every_line_of_an_event_is_a_field(run, played):
    for event in played(run.address("/stream", pace=0)):
        names = [line.partition(": ")[0] for line in event.lines]

        assert len(names) > 20
        assert {"id", "data"} == set(names) - {"retry"}


def test_an_event_is_the_moment_that_the_page_shows(run, client, played):
    events = played(run.address("/stream", pace=0))
    for number in run.looked_at:
        playing = {"play": 1} if number < len(events) else {}  # the last one has stopped
        page = client.get(run.address(pace=0, step=number, **playing)).text

        assert events[number - 1].data.startswith('<div id="moment"')
        assert events[number - 1].data in page


def test_a_stream_carries_the_view_along(client, played):
    query = "view=present&max_attempts=3&pace=0"
    events = played(f"/retries/stream?{query}&from=3")

    assert events[0].data in client.get(f"/retries?{query}&step=4&play=1").text


def test_browsers_come_back_at_different_times(client, events):
    texts = [client.get("/redelivery/stream?pace=0&from=14").text for _ in range(20)]
    waits = {int(events(text)[1][0].fields["retry"]) for text in texts}

    assert len(waits) > 5
    assert 400 <= min(waits) <= max(waits) <= 1_600


def test_only_the_first_event_says_when_to_come_back(played):
    saying = [event.fields["id"] for event in played("/redelivery/stream?pace=0&from=4") if "retry" in event.fields]

    assert ["5"] == saying


@pytest.mark.parametrize(
    ("address", "headers", "first"),
    [
        ("?pace=0", {}, 1),
        ("?pace=0&from=0", {}, 1),
        ("?pace=0&from=4", {}, 5),
        ("?pace=0", {"Last-Event-ID": "6"}, 7),
        ("?pace=0&from=4", {"Last-Event-ID": "6"}, 7),
        ("?pace=0&from=4", {"Last-Event-ID": "2"}, 3),
        ("?pace=0&from=4", {"Last-Event-ID": "0"}, 1),
        ("?pace=0&step=9", {}, 1),
    ],
)
def test_a_stream_starts_after_the_step_that_was_seen_last(address, headers, first, played):
    assert list(range(first, 16)) == ids(played(f"/redelivery/stream{address}", **headers))


@pytest.mark.parametrize("address", ["?from=15", "?from=3"])
def test_after_the_last_step_only_the_end_is_left(address, client, events):
    headers = {"Last-Event-ID": "15"} if address == "?from=3" else {}
    comments, found = events(client.get(f"/redelivery/stream{address}", headers=headers).text)

    assert ([": open"], ["done"]) == (comments, [event.fields["event"] for event in found])


@pytest.mark.parametrize(
    "odd", ["", " ", "abc", "-1", "1.5", "16", "999999", "9" * 5_000, "0x3", "٣", "²", "3;4", "3 4", "null"]
)
def test_a_last_event_id_that_the_run_does_not_have_is_no_place_to_resume(odd, played):
    headers = {"Last-Event-ID": odd.encode().decode("latin-1")}

    assert list(range(5, 16)) == ids(played("/redelivery/stream?pace=0&from=4", **headers))


def test_a_break_in_the_middle_loses_and_repeats_nothing(played):
    whole = played("/retries/stream?pace=0")
    for seen in (1, 13, 27):
        rest = played("/retries/stream?pace=0", **{"Last-Event-ID": str(seen)})

        assert [event.data for event in whole[seen:]] == [event.data for event in rest]


# Pace


def test_steps_come_one_pace_apart_from_the_first(arrivals):
    times = [at_s for at_s, part in arrivals(PACED) if part.startswith("id: ")]

    assert [round(0.4 * count, 6) for count in range(1, 16)] == times


def test_due_times_do_not_drift(arrivals, clock):
    clock.late_s = 0.05
    times = [at_s for at_s, part in arrivals(PACED) if part.startswith("id: ")]

    assert [round(0.4 * count + 0.05, 6) for count in range(1, 16)] == times


def test_a_stream_that_fell_behind_catches_up(arrivals, clock):
    clock.late_s = 1.0
    times = [at_s for at_s, part in arrivals(PACED) if part.startswith("id: ")]

    assert times[-1] < 15 * 0.4 + 1.1
    assert sorted(times) == times


def test_the_default_pace_is_told_by_the_page(arrivals, page):
    chosen = page("/redelivery").one(id="pace").one("option", selected=True)
    times = [at_s for at_s, part in arrivals("/redelivery/stream") if part.startswith("id: ")]

    assert ("Normal", int(chosen["value"]) / 1_000) == (chosen.text, times[0])


def test_without_a_pace_all_comes_at_once(arrivals, clock):
    assert {0} == {at_s for at_s, _ in arrivals("/redelivery/stream?pace=0")}
    assert [] == clock.naps


def test_a_long_wait_has_signs_of_life(arrivals):
    parts = [(at_s, part.partition(": ")[0] or part) for at_s, part in arrivals("/redelivery/stream?pace=2000&from=13")]

    assert [
        (0, ": open\n\n"),
        (1, ": still here\n\n"),
        (2, "id"),
        (3, ": still here\n\n"),
        (4, "id"),
        (4, "event"),
    ] == parts


def test_no_nap_is_longer_than_a_heartbeat(arrivals, clock):
    arrivals("/redelivery/stream?pace=2000")

    assert runs.HEARTBEAT_S == max(clock.naps)


def test_a_short_wait_needs_no_sign_of_life(arrivals):
    assert not [part for _, part in arrivals("/redelivery/stream?pace=1000") if part.startswith(": still")]


# Open streams


class Listener:
    """A client that takes a stream part by part. It has a context of its own, as each connection has."""

    def __init__(self, client, address=PACED):
        self.context = copy_context()
        self.response = self.context.run(client.get, address, buffered=False)
        self.parts = self.response.iter_encoded()

    def take(self, count):
        return [self.context.run(next, self.parts) for _ in range(count)]

    def take_all(self):
        return self.context.run(list, self.parts)

    def go_away(self):
        self.context.run(self.response.close)


@pytest.fixture
def small(clock):
    """A client of an application that has room for one stream."""
    return create_app({"TESTING": True, "MAX_STREAMS": 1}).test_client()


def test_over_the_limit_a_stream_comes_whole_and_at_once(small, clock, events):
    first = Listener(small)
    first.take(2)
    naps = list(clock.naps)
    second = b"".join(Listener(small).take_all()).decode()
    comments, found = events(second)

    assert naps == clock.naps
    assert ([": open"], list(range(1, 16))) == (comments, ids(found[:-1]))
    first.go_away()


@pytest.mark.parametrize("leave", [Listener.take_all, Listener.go_away])
def test_a_stream_that_is_over_makes_room(leave, small, clock):
    first = Listener(small)
    first.take(2)
    leave(first)
    clock.naps.clear()
    Listener(small).take_all()

    assert 15 == len(clock.naps)


def test_open_streams_are_counted_until_they_end(client, clock):
    listeners = [Listener(client) for _ in range(3)]
    for listener in listeners:
        listener.take(2)
    counts = [runs.open_streams]
    for listener in listeners:
        listener.take_all()
        counts.append(runs.open_streams)

    assert [3, 2, 1, 0] == counts


def test_a_client_that_goes_away_in_mid_stream_is_counted_out(client, clock):
    listener = Listener(client)
    listener.take(4)
    before = runs.open_streams
    listener.go_away()

    assert [1, 0] == [before, runs.open_streams]
    assert 3 == len(clock.naps)


def test_a_client_that_goes_away_at_once_is_counted_out(client, clock):
    Listener(client).go_away()

    assert 0 == runs.open_streams


def test_a_stream_that_breaks_is_counted_out(client, clock, monkeypatch):
    def broken(here):
        raise RuntimeError("the code is wrong")

    listener = Listener(client)
    monkeypatch.setattr(runs.moment, "event", broken)
    with pytest.raises(RuntimeError):
        listener.take_all()

    assert 0 == runs.open_streams


def test_head_opens_no_stream(client, clock):
    response = client.head(PACED)

    assert (200, b"", 0) == (response.status_code, response.data, runs.open_streams)
    assert [] == clock.naps


def test_moments_that_look_alike_share_one_event_wherever_the_stream_began(client, clock, monkeypatch):
    rendered = []
    html = runs.moment.html
    monkeypatch.setattr(runs.moment, "html", lambda here: rendered.append(here.step_number) or html(here))
    runs.moment._events.clear()
    for start in (0, 3, 7):
        assert client.get(f"/redelivery/stream?pace=0&from={start}").data.endswith(b"the run is over\n\n")

    assert list(range(1, 16)) == rendered


def test_kept_events_have_a_bound_and_the_oldest_go_first(client, clock, monkeypatch):
    runs.moment._events.clear()
    client.get("/redelivery/stream?pace=0").get_data()
    last_four = list(runs.moment._events.values())[-4:]
    monkeypatch.setattr(runs.moment, "MOST_EVENT_BYTES", sum(map(len, last_four)))
    runs.moment._events.clear()
    client.get("/redelivery/stream?pace=0").get_data()

    assert [12, 13, 14, 15] == [looks[2] for looks in runs.moment._events]


def test_a_run_that_is_cut_off_says_so_in_text(client):
    text = client.get("/retries/run.txt?receipts=50&max_attempts=100&provider_up_at_ms=3600000").text

    assert text.splitlines()[-1].startswith("The run is cut off here")
