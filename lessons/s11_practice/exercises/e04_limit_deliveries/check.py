"""Judges a queue that limits deliveries, against a model, with workers that ack, fail and die."""

import random
from dataclasses import dataclass
from typing import Any

from lessons.checking import LONGEST_RANDOM, Diary, Schedule, Verdict, judge
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import QueueOptions

MAX_ATTEMPTS = 2
VISIBILITY_MS = 30_000
PAUSE_MS = 1_000
ERROR = "mail provider: 503"
ADVERSARIAL: list[Schedule] = [
    (("enqueue", "a"), *[("claim",), ("advance", 30_000)] * 4),
    (("enqueue", "a"), ("enqueue", "b"), *[("claim",), ("advance", 30_000)] * 4, ("claim",)),
    (("enqueue", "a"), ("claim",), ("advance", 30_000), ("claim",), ("advance", 29_999), ("claim",)),
    (("enqueue", "a"), ("claim",), ("fail", "a"), ("advance", 1_000), ("claim",), ("ack", "a"), ("claim",)),
    (("enqueue", "a"), ("claim",), ("fail", "a"), ("advance", 999), ("claim",)),
    (("enqueue", "a"), *[("claim",), ("advance", 30_000)] * 3, ("enqueue", "a"), ("claim",)),
]


@dataclass
class Model:
    """A job as it should be."""

    id: str
    due_ms: int
    attempts: int = 0
    leased_until_ms: int = 0

    def __str__(self) -> str:
        return f"{self.id} with {self.attempts} attempt{'s' if self.attempts != 1 else ''}"


def check(source: str) -> Verdict:
    """The verdict on `LimitedQueue`."""
    return judge(source, "LimitedQueue", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    clock = ManualClock()
    queue = piece(clock, QueueOptions(MAX_ATTEMPTS, VISIBILITY_MS, lambda attempt: PAUSE_MS))
    jobs: dict[str, Model] = {}
    dead: list[str] = []
    for operation in schedule:
        at = f"t={seconds(clock.now())}s: "
        match operation:
            case ("enqueue", id) if id not in jobs:
                jobs[id] = Model(id, clock.now())
                diary.step(f"{at}job {id} is enqueued", repr(id), queue.enqueue, "work", {}, id)
            case ("claim",):
                claimed, buried = _claim(jobs, clock.now())
                dead += [f"{job} (lease expired)" for job in buried]
                expected = str(claimed) if claimed else "nothing"
                diary.step(f"{at}a worker claims a job", expected, queue.claim, show=_shown)
            case ("ack" | "fail" as what, id) if id in jobs and jobs[id].leased_until_ms > clock.now():
                job = jobs[id]
                if what == "ack":
                    del jobs[id]
                    diary.step(f"{at}the worker acks {id}", "'done'", queue.ack, id)
                elif job.attempts >= MAX_ATTEMPTS:
                    del jobs[id]
                    dead.append(f"{job} ({ERROR})")
                    diary.step(f"{at}the work on {id} fails", "'dead'", queue.fail, id, ERROR)
                else:
                    job.due_ms, job.leased_until_ms = clock.now() + PAUSE_MS, 0
                    diary.step(f"{at}the work on {id} fails", "'retry'", queue.fail, id, ERROR)
            case ("advance", ms):
                lost = [job.id for job in jobs.values() if clock.now() < job.leased_until_ms <= clock.now() + ms]
                clock.advance(ms)
                ended = f": the lease on {', '.join(lost)} ends, its worker has died" if lost else ""
                diary.note(f"the clock moves on {seconds(ms)}s, to t={seconds(clock.now())}s{ended}")
            case _:
                continue
        diary.same("the dead letters", dead, (f"{_shown(letter)} ({letter.last_error})" for letter in queue.dead))
        diary.same("the jobs in the queue", jobs.values(), map(_shown, queue.jobs.values()))


def _claim(jobs: dict[str, Model], now_ms: int) -> tuple[Model | None, list[Model]]:
    """The job that is handed out, and those that are given up on the way to it."""
    buried: list[Model] = []
    for job in list(jobs.values()):
        if job.due_ms > now_ms or job.leased_until_ms > now_ms:
            continue
        if job.attempts < MAX_ATTEMPTS:
            job.attempts, job.leased_until_ms = job.attempts + 1, now_ms + VISIBILITY_MS
            return job, buried
        buried.append(jobs.pop(job.id))
    return None, buried


def _shown(job: Any) -> str:
    return "nothing" if job is None else str(Model(job.id, 0, job.attempts))


def random_schedule(chance: random.Random) -> Schedule:
    operations: list[tuple[Any, ...]] = [
        ("enqueue", "a"), ("enqueue", "b"), ("claim",), ("claim",), ("claim",),
        ("ack", "a"), ("fail", "a"), ("fail", "b"),
        ("advance", 1_000), ("advance", 29_999), ("advance", 30_000), ("advance", 30_000),
    ]  # fmt: skip
    picked = [chance.choice(operations) for _ in range(chance.randint(4, LONGEST_RANDOM))]
    return (("enqueue", "a"), *picked)
