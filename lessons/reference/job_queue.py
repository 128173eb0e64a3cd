"""A job queue with leases.

    enqueue -> waiting -- claim --> leased -- ack --> gone
                  ^                    |
                  |   run_at reached   +-- fail, attempts left ------------> waiting until run_at
                  |                    +-- fail, permanent or none left ---> dead letters
                  +--- lease over -----+

Only an ack removes a job. This is the queue as the lesson builds it, holes included;
hardened_queue.py closes them one by one.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

from lessons.reference.backoff import Backoff
from lessons.reference.clock import Clock

Payload = Mapping[str, object]


@dataclass(frozen=True)
class QueueOptions:
    max_attempts: int
    visibility_ms: int
    backoff: Backoff

    def __post_init__(self) -> None:
        for name, value in (("max_attempts", self.max_attempts), ("visibility_ms", self.visibility_ms)):
            if type(value) is not int or value < 1:
                raise ValueError(f"{name} must be a whole number, 1 or more, not {value!r}")


@dataclass
class Job:
    id: str
    type: str
    payload: Payload
    run_at_ms: int
    attempts: int = 0
    leased_until_ms: int = 0
    last_error: str | None = None

    @property
    def receipt(self) -> str:
        """What a worker shows to settle the job. Here it is just the id, the same for every delivery."""
        return self.id


class JobQueue:
    def __init__(self, clock: Clock, options: QueueOptions) -> None:
        self.clock = clock
        self.options = options
        self.jobs: dict[str, Job] = {}
        self.dead: list[Job] = []
        self._next_number = 1

    def enqueue(self, type: str, payload: Payload, id: str | None = None) -> str:
        """The job's id. One that is still in the queue is ignored, so a producer may safely repeat itself."""
        if id is None:
            id = f"job-{self._next_number}"
            self._next_number += 1
        if id not in self.jobs:
            self.jobs[id] = Job(id, type, deepcopy(payload), run_at_ms=self.clock.now())
        return id

    def claim(self) -> Job | None:
        """The first job that is due, now leased and with one more attempt; None when nothing is due."""
        now = self.clock.now()
        for job in self.jobs.values():
            if job.run_at_ms <= now and job.leased_until_ms <= now:
                job.attempts += 1
                job.leased_until_ms = now + self.options.visibility_ms
                return job
        return None

    def ack(self, receipt: str) -> Literal["done"]:
        """Remove the job for good. The answer is "done" even when there was no such job."""
        self.jobs.pop(receipt, None)
        return "done"

    def fail(self, receipt: str, error: str, permanent: bool = False) -> Literal["retry", "dead"]:
        """Whether the job is tried again or went to the dead letters ("dead" for an unknown job, too)."""
        job = self.jobs.get(receipt)
        if job is None:
            return "dead"
        job.last_error = error
        job.leased_until_ms = 0
        if permanent or job.attempts >= self.options.max_attempts:
            del self.jobs[job.id]
            self.dead.append(job)
            return "dead"
        job.run_at_ms = self.clock.now() + self.options.backoff(job.attempts)
        return "retry"

    @property
    def pending(self) -> int:
        """How many jobs are in the queue: waiting, delayed or leased."""
        return len(self.jobs)
