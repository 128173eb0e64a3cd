"""Judges a queue with receipts: late acks and fails, receipts used twice, ids used again."""

import random
from dataclasses import dataclass
from functools import partial
from typing import Any

from lessons.checking import LONGEST_RANDOM, Diary, Schedule, Verdict, judge
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import QueueOptions

MAX_ATTEMPTS = 3
VISIBILITY_MS = 30_000
PAUSE_MS = 1_000
ERROR = "provider: 503"
TWICE: Schedule = (("enqueue", "a"), ("claim", "A"), ("advance", 30_000), ("claim", "B"))
ADVERSARIAL: list[Schedule] = [
    (*TWICE, ("ack", "A"), ("ack", "B")),
    (*TWICE, ("fail", "A"), ("ack", "B")),
    (*TWICE, ("ack", "B"), ("ack", "A")),
    (("enqueue", "a"), ("claim", "A"), ("ack", "A"), ("ack", "A")),
    (("enqueue", "a"), ("claim", "A"), ("fail", "A"), ("fail", "A")),
    (("enqueue", "a"), ("claim", "A"), ("ack", "A"), ("enqueue", "a"), ("claim", "B"), ("ack", "A"), ("ack", "B")),
    (("enqueue", "a"), ("claim", "A"), ("fail", "A"), ("advance", 1_000), ("claim", "B"), ("ack", "A"), ("ack", "B")),
    (("enqueue", "a"), ("claim", "A"), ("advance", 30_000), ("ack", "A")),
    (("enqueue", "a"), ("enqueue", "b"), ("claim", "A"), ("claim", "B"), ("ack", "A"), ("ack", "B")),
]


@dataclass
class Model:
    """A job as it should be. `holder` is the claim whose receipt counts, counted from 1."""

    id: str
    due_ms: int
    attempts: int = 0
    leased_until_ms: int = 0
    holder: int = 0

    def __str__(self) -> str:
        return f"{self.id}, attempt {self.attempts}"


def check(source: str) -> Verdict:
    """The verdict on `FencedQueue`."""
    return judge(source, "FencedQueue", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    clock = ManualClock()
    queue = piece(clock, QueueOptions(MAX_ATTEMPTS, VISIBILITY_MS, lambda attempt: PAUSE_MS))
    jobs: dict[str, Model] = {}
    receipts: dict[str, tuple[str, str, int]] = {}  # worker -> the receipt, the job's id, the claim's number
    claims = 0
    for operation in schedule:
        at = f"t={seconds(clock.now())}s: "
        match operation:
            case ("enqueue", id) if id not in jobs:
                jobs[id] = Model(id, clock.now())
                diary.step(f"{at}job {id} is enqueued", repr(id), queue.enqueue, "work", {}, id)
            case ("claim", worker):
                claims += 1
                job = _claim(jobs, clock.now(), claims)
                expected = str(job) if job else "nothing"
                claimed = diary.step(f"{at}worker {worker} claims a job", expected, queue.claim, show=_shown)
                if job:
                    receipts[worker] = claimed[0], job.id, claims
            case ("ack" | "fail" as what, worker) if worker in receipts:
                receipt, id, number = receipts[worker]
                held = jobs.get(id)
                answer = "lost"
                if held and held.holder == number:
                    answer = _settle(jobs, held, what, clock.now())
                act, words = (queue.ack, "acks") if what == "ack" else (partial(queue.fail, error=ERROR), "fails")
                sentence = f"{at}worker {worker} {words} {id} with its receipt {receipt!r}"
                diary.step(sentence, repr(answer), act, receipt)
            case ("advance", ms):
                clock.advance(ms)
                diary.note(f"the clock moves on {seconds(ms)}s, to t={seconds(clock.now())}s")


def _claim(jobs: dict[str, Model], now_ms: int, number: int) -> Model | None:
    for job in jobs.values():
        if job.due_ms <= now_ms and job.leased_until_ms <= now_ms:
            job.attempts, job.leased_until_ms, job.holder = job.attempts + 1, now_ms + VISIBILITY_MS, number
            return job
    return None


def _settle(jobs: dict[str, Model], job: Model, what: str, now_ms: int) -> str:
    if what == "fail" and job.attempts < MAX_ATTEMPTS:
        job.due_ms, job.leased_until_ms, job.holder = now_ms + PAUSE_MS, 0, 0
        return "retry"
    del jobs[job.id]
    return "done" if what == "ack" else "dead"


def _shown(claimed: Any) -> str:
    if claimed is None:
        return "nothing"
    _, job = claimed
    return f"{job.id}, attempt {job.attempts}"


def random_schedule(chance: random.Random) -> Schedule:
    operations: list[tuple[Any, ...]] = [
        ("enqueue", "a"), ("enqueue", "b"), ("claim", "A"), ("claim", "B"), ("claim", "C"),
        ("ack", "A"), ("ack", "B"), ("ack", "C"), ("fail", "A"), ("fail", "B"),
        ("advance", 1_000), ("advance", 29_999), ("advance", 30_000), ("advance", 30_000),
    ]  # fmt: skip
    picked = [chance.choice(operations) for _ in range(chance.randint(4, LONGEST_RANDOM))]
    return (("enqueue", "a"), *picked)
