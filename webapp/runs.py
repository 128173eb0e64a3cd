"""A run in the forms that programs read: text, JSON, and a stream that plays it."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request

from lessons import params
from lessons.recording import LANES, Step, as_text
from webapp import moment
from webapp.asked import Asked, asked

DEFAULTS = {
    # More open streams than this get the rest of their run at once: still whole, only not paced.
    "MAX_STREAMS": 2_500,
}
HEARTBEAT_S = 1.0
# Not 0: gevent runs many a callback before it looks at its sockets again, but a timer makes it look.
YIELD_S = 0.001
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}

bp = Blueprint("runs", __name__)
open_streams = 0
_counting = threading.Lock()


@bp.get("/<slug>/run.txt")
def text(slug: str) -> Response:
    here = asked(slug)
    return Response(as_text(here.recording, here.with_steps), mimetype="text/plain")


@bp.get("/<slug>/run.json")
def data(slug: str) -> Response:
    here = asked(slug)
    pieces = _json(here)
    # A long run is tens of megabytes: it leaves in pieces, and lets streams go on between them.
    return Response(pieces if here.last > 300 else "".join(pieces), mimetype="application/json")


@bp.get("/<slug>/stream")
def stream(slug: str) -> Response:
    here = asked(slug)
    return play(here.start, here.last, here.pace_ms, lambda n: moment.event(here.at(n, play=n < here.last)))


def play(start: int, last: int, pace_ms: int, event_of: Callable[[int], bytes]) -> Response:
    """Server-sent events: one for each number after `start`, or after the one that was seen last, each in its time."""
    resumed = request.headers.get("Last-Event-ID", "")
    if resumed in map(str, range(last + 1)):  # only a number that there is is a place to go on from
        start = int(resumed)
    if open_streams >= current_app.config["MAX_STREAMS"]:
        pace_ms = 0
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    events = _counted(_events(app, start, last, pace_ms, event_of))
    return Response(events, mimetype="text/event-stream", headers=STREAM_HEADERS)


def _events(app: Flask, start: int, last: int, pace_ms: int, event_of: Callable[[int], bytes]) -> Iterator[bytes]:
    yield b": open\n\n"  # the headers leave now, not with the first event
    began = time.monotonic()
    for count, number in enumerate(range(start + 1, last + 1), start=1):
        # Each event has a due time of its own: sleeps in a row would add up their delays.
        yield from _wait_until(began + count * pace_ms / 1_000)
        with app.app_context():  # for as long as it takes to render: a stream outlives its request
            event = event_of(number)
        if count == 1:  # a class that was cut off must not come back as one
            event = event.replace(b"\n", f"\nretry: {random.randint(400, 1_600)}\n".encode(), 1)
        yield event
    yield b"event: done\ndata: the run is over\n\n"


def _wait_until(due_s: float) -> Iterator[bytes]:
    """Sleep until then, with a sign of life now and again for the proxies on the way.

    When it is too late to sleep, still let others go first: a run without pauses must not hold up the rest.
    """
    if due_s <= time.monotonic():
        time.sleep(YIELD_S)
    while (left_s := due_s - time.monotonic()) > 0:
        time.sleep(min(left_s, HEARTBEAT_S))
        if left_s > HEARTBEAT_S:
            yield b": still here\n\n"


def _counted(events: Iterator[bytes]) -> Iterator[bytes]:
    """The events; as long as they last, the stream counts as open."""
    global open_streams
    with _counting:
        open_streams += 1
    try:
        yield from events
    finally:
        with _counting:
            open_streams -= 1


def _json(here: Asked) -> Iterator[str]:
    head = {
        "section": here.section.slug,
        "title": here.section.title,
        "parameters": {field.name: getattr(here.params, field.name) for field in params.fields(here.section.Params)},
        "version": here.recording.version,
        "limit_reached": here.recording.limit_reached,
        "printed": here.recording.printed,
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "steps": [\n'
    for step in here.recording.steps:
        yield json.dumps(_step(step), ensure_ascii=False) + (",\n" if step.number < here.last else "\n]}\n")
        if step.number % 20 == 0:
            time.sleep(YIELD_S)


def _step(step: Step) -> dict[str, Any]:
    return {
        "step": step.number,
        "at_ms": step.at_ms,
        "actor": step.actor,
        "kind": step.kind,
        "sentence": step.sentence,
        "printed": step.printed,
        "detail": step.detail,
        "job": step.job,
        "source": _fields(step.place) if step.place else None,
        "calls": [_fields(place) for place in step.calls],
        "state": {
            "queues": [
                {
                    "name": queue.name,
                    "enqueued": queue.enqueued,
                    "replayed": queue.replayed,
                    "counts": {lane: queue.count(lane) for lane in LANES},
                    "jobs": [_fields(job) for job in queue.jobs],
                }
                for queue in step.state.queues
            ],
            "tables": [_fields(table) for table in step.state.tables],
            "effects": [_fields(effect) for effect in step.state.effects],
        },
    }


def _fields(value: Any) -> dict[str, Any]:
    # dataclasses.asdict copies all the way down, which is most of the time that a long run would take.
    return {name: getattr(value, name) for name in value.__slots__}
