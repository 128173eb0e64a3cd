"""Several actors over virtual time: who goes next, and when, is always the same.

An actor is a generator. It does what it does at one moment and yields when it will go on:

    def worker():
        yield claim_at(10_000)      # asleep until then
        job = queue.claim()
        yield work(30_000)          # busy for that long
        queue.ack(job.receipt)

What falls into the same millisecond has an order: workers settle or renew their running jobs first,
then everything else happens, and jobs are claimed last; among equals, who said so first goes first.
"""

import heapq
from collections.abc import Generator
from dataclasses import dataclass
from itertools import count
from typing import Protocol

SETTLE, EVENT, CLAIM = range(3)


class Clock(Protocol):
    def now(self) -> int: ...
    def advance(self, ms: int) -> None: ...


@dataclass(frozen=True)
class Pause:
    """Until when an actor has nothing to do: a moment, or so long from now."""

    turn: int
    at_ms: int = 0
    for_ms: int = 0


def work(ms: int) -> Pause:
    """Busy with a job for that long, then first in its millisecond: to ack, fail or renew it."""
    return Pause(SETTLE, for_ms=ms)


def event_at(ms: int) -> Pause:
    """Something else that happens at that time."""
    return Pause(EVENT, at_ms=ms)


def claim_at(ms: int) -> Pause:
    """Idle until that time, then last in its millisecond: to claim a job."""
    return Pause(CLAIM, at_ms=ms)


Actor = Generator[Pause, None, None]


def simulate(clock: Clock, *actors: Actor) -> None:
    """Let the actors act in the order of time until all have ended; `actor.close()` ends one early.

    A moment that has passed already means now.
    """
    order = count()
    agenda = [(clock.now(), EVENT, next(order), actor) for actor in actors]
    while agenda:
        at_ms, _, _, actor = heapq.heappop(agenda)
        if at_ms > clock.now():
            clock.advance(at_ms - clock.now())
        pause = next(actor, None)
        if pause is not None:
            at_ms = max(pause.at_ms, clock.now() + pause.for_ms)
            heapq.heappush(agenda, (at_ms, pause.turn, next(order), actor))
