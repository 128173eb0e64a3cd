"""A run, observed: every operation of a program becomes a Step.

The programs and the reference implementation know nothing of steps. A program hands its clock, queues and
database connection to a Recorder to watch, and says aloud only what code cannot show: what it prints,
what reaches the outside world, who is acting, who crashes.
"""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

from lessons.recording import Effect, Place, Recording, State, Step, in_seconds, listed, place
from lessons.watched_database import WatchedConnection
from lessons.watched_queue import WatchedQueue

STEP_LIMIT = 1_500


class Crash(BaseException):
    """A process died. Not an Exception: no handler of the dead process may catch it."""


class StepLimitReached(BaseException):
    """The run has as many steps as a recording may hold."""


def record(run: Callable[[Any, "Recorder"], None], params: Any, step_limit: int = STEP_LIMIT) -> Recording:
    """Run a program and return its Recording; one that never ends is cut off with a last step that says so."""
    recorder = Recorder(step_limit)
    try:
        run(params, recorder)
    except StepLimitReached:
        return Recording(tuple(recorder.steps), limit_reached=True)
    finally:
        recorder.close()
    return Recording(tuple(recorder.steps))


class Recorder:
    """What a program is given to be watched with. All methods that record take the time from the watched clock."""

    def __init__(self, step_limit: int = STEP_LIMIT) -> None:
        self.steps: list[Step] = []
        self._step_limit = step_limit
        self.now: Callable[[], int] = lambda: 0
        self._actors = ["the program"]
        self._queues: list[WatchedQueue] = []
        self._database: WatchedConnection | None = None
        self._effects: tuple[Effect, ...] = ()
        self._idle_from_ms: int | None = None
        self._doing: str | None = None
        self.in_hand: dict[str, str] = {}  # actor -> the job it works on

    # What a program says

    def print(self, line: str) -> None:
        """A line of the program's output."""
        words = line.strip() if len(line) <= 200 else line[:199].strip() + "…"
        self.step("print", f"{self.actor} prints: {words}", printed=line)

    def also_print(self, line: str) -> None:
        """A line of output that tells the last step: it belongs to that step and makes none of its own."""
        self.steps[-1] = replace(self.steps[-1], printed=line)

    def effect(self, target: str, what: str, sentence: str = "") -> None:
        """Something happens outside that nobody can undo, such as a receipt that is sent."""
        self._effects += (Effect(self.now(), target, what),)
        self.step("effect", sentence or f"{_capital(target)}: {what}.", job=self.in_hand.get(self.actor))

    def crash(self, sentence: str) -> None:
        """The actor's process dies here: the rest of its `acting` block does not happen."""
        self.step("crash", sentence, job=self.in_hand.pop(self.actor, None))
        raise Crash(sentence)

    @contextmanager
    def acting(self, actor: str) -> Iterator[None]:
        """Who does what happens in this block. A crash ends the block and goes no further."""
        self._actors.append(actor)
        try:
            yield
        except Crash:
            pass
        finally:
            self._actors.pop()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """What the actor does while the clock moves in this block: "renders the invoice"."""
        self._doing = what
        try:
            yield
        finally:
            self._doing = None

    @property
    def actor(self) -> str:
        """Who acts at the moment."""
        return self._actors[-1]

    # What a program lets be watched

    def watch_clock(self, clock: Any) -> Any:
        """The same clock; each `advance` is a step, and so is each lease that ends on the way."""
        self.now, advance = clock.now, clock.advance

        def watched(ms: int) -> None:
            before_ms = self.now()
            advance(ms)
            if ms:
                self._moved(before_ms, self.now())

        clock.advance = watched
        return clock

    def watch_queue(self, queue: Any, name: str = "jobs") -> Any:
        """The same queue; each call of its methods is a step."""
        self._queues.append(WatchedQueue(self, queue, name))
        return queue

    def connect(self) -> WatchedConnection:
        """A new SQLite database in memory, in autocommit mode; each statement is a step."""
        self._database = sqlite3.connect(":memory:", isolation_level=None, factory=WatchedConnection)
        self._database.recorder = self
        return self._database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def step(
        self,
        kind: str,
        sentence: str,
        *,
        printed: str | None = None,
        detail: str | None = None,
        job: str | None = None,
        inside: Place | None = None,
    ) -> None:
        """Add one step, with the state as it is now."""
        if len(self.steps) == self._step_limit - 1:
            kind, printed, detail, job, inside = "limit", None, None, None, None
            sentence = f"The run is cut off here: it has reached the limit of {self._step_limit:,} steps."
        calls = _calls(sys._getframe(1))
        now_ms = self.now()
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                at_ms=now_ms,
                actor=self.actor,
                kind=kind,
                sentence=_capital(sentence),
                printed=printed,
                detail=detail,
                job=job,
                calls=(*calls, inside) if inside else calls,
                state=State(
                    tuple(queue.state(now_ms) for queue in self._queues),
                    self._database.tables if self._database is not None else (),
                    self._effects,
                ),
            )
        )
        if kind == "limit":
            raise StepLimitReached

    def _moved(self, before_ms: int, now_ms: int) -> None:
        # A program that looks at its queues once a second for an hour would bury what matters under
        # thousands of steps: looks that found nothing, and the moves between them, become one move.
        looks = 0
        # A look that printed a line is told by it and stays.
        while looks < len(self.steps) and (look := self.steps[-1 - looks]).kind == "idle" and look.printed is None:
            looks += 1
        idle = ""
        # A move in which somebody works is that actor's, and stays.
        follows = 0 < looks < len(self.steps) and self.steps[-1 - looks].kind == "advance"
        if follows and self._idle_from_ms is not None and not self._doing:
            del self.steps[-1 - looks :]
            before_ms = self._idle_from_ms
            idle = " On the way every look at the queue found nothing due."
        self._idle_from_ms = None if self._doing else before_ms
        due = [job.id for queue in self._queues for job in queue.due_between(before_ms, now_ms)]
        again = f" {listed(due)} {'is' if len(due) == 1 else 'are'} due again." if due else ""
        moves = f"the clock moves on {in_seconds(now_ms - before_ms)}, to t={in_seconds(now_ms)}.{idle}{again}"
        self.step("advance", f"{self.actor} {self._doing}: {moves}" if self._doing else moves)
        for queue in self._queues:
            for job, holder in queue.leases_ended_between(before_ms, now_ms):
                self.step(
                    "lease expired",
                    f"{holder}'s lease on {job.id} ended at t={in_seconds(job.leased_until_ms)} without an ack "
                    "or a fail: the job is visible again.",
                    job=job.id,
                )


def _calls(frame: FrameType | None) -> tuple[Place, ...]:
    places = []
    while frame is not None and frame.f_code is not record.__code__:
        places.append(place(frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(filter(None, reversed(places)))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
