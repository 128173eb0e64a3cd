"""Judges a replay of dead letters: clicked twice, with the id in use again, with two letters of one id."""

import random
from dataclasses import dataclass
from typing import Any

from lessons.checking import LONGEST_RANDOM, Diary, Schedule, Verdict, judge
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import JobQueue, QueueOptions

MAX_ATTEMPTS = 2
PAUSE_MS = 1_000
ERROR = "the renderer crashed"
DEAD: Schedule = (("enqueue", "a"), ("claim",), ("give up", "a"))
ADVERSARIAL: list[Schedule] = [
    (*DEAD, ("replay", "a"), ("replay", "a")),
    (*DEAD, ("replay", "a"), ("claim",), ("ack", "a"), ("replay", "a")),
    (*DEAD, ("enqueue", "a"), ("replay", "a"), ("claim",), ("ack", "a"), ("replay", "a")),
    (*DEAD, ("enqueue", "a"), ("claim",), ("replay", "a"), ("ack", "a")),
    (*DEAD, *DEAD, ("replay", "a"), ("replay", "a")),
    (*DEAD, ("replay", "a"), ("claim",), ("fail", "a"), ("advance", 1_000), ("claim",), ("fail", "a")),
    (*DEAD, ("replay", "b")),
    (*DEAD, ("enqueue", "b"), ("claim",), ("give up", "b"), ("replay", "b"), ("replay", "a")),
    (*DEAD, ("advance", 1_000), ("enqueue", "b"), ("replay", "a"), ("claim",)),
]


@dataclass
class Model:
    """A job as it should be."""

    id: str
    payload: str
    due_ms: int
    attempts: int = 0
    leased: bool = False

    def __str__(self) -> str:
        return _words(self.id, self.payload, self.attempts)


def check(source: str) -> Verdict:
    """The verdict on `replay`."""
    return judge(source, "replay", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    clock = ManualClock()
    queue = JobQueue(clock, QueueOptions(MAX_ATTEMPTS, 3_600_000, lambda attempt: PAUSE_MS))
    jobs: dict[str, Model] = {}
    dead: list[Model] = []
    numbers = iter(range(1, 100))
    for operation in schedule:
        at = f"t={seconds(clock.now())}s: "
        match operation:
            case ("enqueue", id) if id not in jobs:
                payload = f"order {1000 + next(numbers)}"
                jobs[id] = Model(id, payload, clock.now())
                queue.enqueue("render-invoice", {"of": payload}, id)
                diary.note(f"{at}job {id} is enqueued, for {payload}")
            case ("claim",):
                job = next((job for job in jobs.values() if job.due_ms <= clock.now() and not job.leased), None)
                if job is None:
                    continue
                job.attempts, job.leased = job.attempts + 1, True
                diary.step(f"{at}a worker claims a job", str(job), queue.claim, show=_shown)
            case ("ack", id) if id in jobs and jobs[id].leased:
                del jobs[id]
                queue.ack(id)
                diary.note(f"{at}the worker acks {id}")
            case ("fail" | "give up" as what, id) if id in jobs and jobs[id].leased:
                job = jobs[id]
                if what == "give up" or job.attempts >= MAX_ATTEMPTS:
                    dead.append(jobs.pop(id))
                    expected = "'dead'"
                else:
                    job.leased, job.due_ms = False, clock.now() + PAUSE_MS
                    expected = "'retry'"
                permanent = what == "give up"
                words = "fails permanently" if permanent else "fails"
                diary.step(f"{at}{id} {words}", expected, queue.fail, id, ERROR, permanent)
            case ("replay", id):
                letter = next((letter for letter in dead if letter.id == id), None)
                back = letter is not None and id not in jobs
                if letter is not None and back:
                    dead.remove(letter)
                    jobs[id] = Model(id, letter.payload, clock.now())
                diary.step(f"{at}somebody replays {id}", repr(back), piece, queue, id)
            case ("advance", ms):
                clock.advance(ms)
                diary.note(f"the clock moves on {seconds(ms)}s, to t={seconds(clock.now())}s")
            case _:
                continue
        diary.same("the jobs in the queue", jobs.values(), map(_shown, queue.jobs.values()))
        diary.same("the dead letters", dead, map(_shown, queue.dead))


def _shown(job: Any) -> str:
    return "nothing" if job is None else _words(job.id, job.payload.get("of"), job.attempts)


def _words(id: str, payload: str, attempts: int) -> str:
    return f"{id} for {payload} with {attempts} attempt{'s' if attempts != 1 else ''}"


def random_schedule(chance: random.Random) -> Schedule:
    operations: list[tuple[Any, ...]] = [
        ("enqueue", "a"), ("enqueue", "b"), ("claim",), ("claim",), ("ack", "a"), ("fail", "a"), ("fail", "b"),
        ("give up", "a"), ("give up", "b"), ("replay", "a"), ("replay", "a"), ("replay", "b"), ("advance", 1_000),
    ]  # fmt: skip
    picked = [chance.choice(operations) for _ in range(chance.randint(3, LONGEST_RANDOM))]
    return (*DEAD, *picked)
