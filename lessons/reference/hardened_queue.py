"""The queue of job_queue.py with its holes closed, for every place that one fits.

    hole                                                        closed by
    a worker that lost its lease settles another's delivery     a new receipt for every claim
    a job that kills its workers is delivered for ever          the limit on attempts, checked in claim too
    work that outlasts the lease is done twice                  renew
    a worker that stops keeps its job until the lease ends      release
    a dead letter comes back only as a new, unrelated job       replay
    a repeat counts as new once the first job is done           ids remembered for remember_ms
    other content under a known id is dropped without a word    IdConflict
    an id of the queue's own making can meet one from outside   _unused_id
    the queue's own records are handed out                      FrozenJob
    claim looks at job after job                                two heaps

What an id stands for is decided by type and payload, compared with ==: a payload is plain data.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from types import MappingProxyType
from typing import Literal

from lessons.reference.clock import Clock
from lessons.reference.job_queue import Payload, QueueOptions

FIVE_MINUTES_MS = 300_000


class IdConflict(ValueError):
    """The id already stands for a job with other content."""


@dataclass(frozen=True)
class FrozenJob:
    """A job as it is at one moment. Each change makes a new value, so what was handed out stays true."""

    id: str
    type: str
    _payload: Payload
    place: int
    run_at_ms: int
    attempts: int = 0
    leased_until_ms: int = 0
    last_error: str | None = None
    receipt: str = ""
    replays: int = 0

    @property
    def payload(self) -> Payload:
        """A copy for whoever asks: changing it changes no job."""
        return deepcopy(self._payload)

    @property
    def claimable_at_ms(self) -> int:
        return max(self.run_at_ms, self.leased_until_ms)


class HardenedQueue:
    def __init__(self, clock: Clock, options: QueueOptions, *, remember_ms: int = FIVE_MINUTES_MS) -> None:
        """`remember_ms`: how long after its ack a job's id still counts as known."""
        if type(remember_ms) is not int or remember_ms < 0:
            raise ValueError(f"remember_ms must be a whole number, 0 or more, not {remember_ms!r}")
        self.clock = clock
        self.options = options
        self.remember_ms = remember_ms

        self._jobs: dict[str, FrozenJob] = {}
        self._dead: dict[str, FrozenJob] = {}
        self._done: dict[str, FrozenJob] = {}
        self._forget_at: list[tuple[int, str]] = []  # a heap: (time, id) for each of _done

        # A job's place is its turn among the due ones. Heaps cannot be searched, so an entry stays when its
        # job changes or goes: claim throws it away on meeting it.
        self._due: list[tuple[int, int, str]] = []  # (place, claimable_at_ms, id)
        self._later: list[tuple[int, int, str]] = []  # (claimable_at_ms, place, id)

        self._places = count(1)
        self._receipts = count(1)
        self._numbers = count(1)

    def enqueue(self, type: str, payload: Payload, id: str | None = None) -> str:
        """The job's id. A repeat of a known id changes nothing; with other content it is an IdConflict."""
        self._forget()
        if id is None:
            id = self._unused_id()
        known = self._known(id)
        if known is None:
            self._put(FrozenJob(id, type, deepcopy(payload), next(self._places), run_at_ms=self.clock.now()))
        elif (known.type, known.payload) != (type, payload):
            raise IdConflict(f"the id {id!r} belongs to a {known.type} job with other content")
        return id

    def claim(self) -> FrozenJob | None:
        """The first job that is due, now leased and with one more attempt; None when nothing is due.

        A job that is due without an attempt left goes to the dead letters instead.
        O(log n), averaged over many calls.
        """
        now = self.clock.now()
        while self._later and self._later[0][0] <= now:
            claimable_at_ms, place, id = heappop(self._later)
            heappush(self._due, (place, claimable_at_ms, id))
        while self._due:
            place, claimable_at_ms, id = heappop(self._due)
            job = self._jobs.get(id)
            if job is None or (job.place, job.claimable_at_ms) != (place, claimable_at_ms):
                continue  # an entry from before the job's last change
            if claimable_at_ms > now:  # the clock was set back
                heappush(self._later, (claimable_at_ms, place, id))
            elif job.attempts >= self.options.max_attempts:
                self._bury(job, "lease expired" if job.leased_until_ms else "released")
            else:
                leased = replace(
                    job,
                    attempts=job.attempts + 1,
                    leased_until_ms=now + self.options.visibility_ms,
                    receipt=f"{id}#{next(self._receipts)}",
                )
                self._put(leased)
                return leased
        return None

    def ack(self, receipt: str) -> Literal["done", "lost"]:
        """Remove the job for good; "lost" if the receipt no longer counts."""
        job = self._held(receipt)
        if job is None:
            return "lost"
        del self._jobs[job.id]
        self._done[job.id] = job
        heappush(self._forget_at, (self.clock.now() + self.remember_ms, job.id))
        return "done"

    def fail(self, receipt: str, error: str, permanent: bool = False) -> Literal["retry", "dead", "lost"]:
        """Whether the job is tried again or went to the dead letters; "lost" as for ack."""
        job = self._held(receipt)
        if job is None:
            return "lost"
        if permanent or job.attempts >= self.options.max_attempts:
            self._bury(job, error)
            return "dead"
        run_at_ms = self.clock.now() + self.options.backoff(job.attempts)
        self._put(replace(job, run_at_ms=run_at_ms, leased_until_ms=0, last_error=error))
        return "retry"

    def renew(self, receipt: str) -> bool:
        """Start the lease anew, as a long job does while it works; False means stop, the job is not yours."""
        job = self._held(receipt)
        if job is None:
            return False
        self._put(replace(job, leased_until_ms=self.clock.now() + self.options.visibility_ms))
        return True

    def release(self, receipt: str) -> bool:
        """Give the job back, due at once, its attempt counted; False if the receipt no longer counts."""
        job = self._held(receipt)
        if job is None:
            return False
        self._put(replace(job, run_at_ms=self.clock.now(), leased_until_ms=0))
        return True

    def replay(self, id: str) -> bool:
        """Put a dead letter back, at the end and with a new budget of attempts; False if there is none."""
        job = self._dead.pop(id, None)
        if job is None:
            return False
        place, now = next(self._places), self.clock.now()
        self._put(replace(job, place=place, run_at_ms=now, attempts=0, replays=job.replays + 1))
        return True

    @property
    def jobs(self) -> Mapping[str, FrozenJob]:
        """The jobs in the queue by id, to look at and not to change."""
        return MappingProxyType(self._jobs)

    @property
    def dead(self) -> list[FrozenJob]:
        """The dead letters, newest last: a new list each time, so O(dead letters)."""
        return list(self._dead.values())

    @property
    def pending(self) -> int:
        """How many jobs are in the queue: waiting, delayed or leased."""
        return len(self._jobs)

    def _held(self, receipt: str) -> FrozenJob | None:
        """The job of this receipt, unless it was settled, given back or claimed again since."""
        id, _, _ = receipt.rpartition("#")
        job = self._jobs.get(id)
        held = job is not None and job.leased_until_ms > 0 and job.receipt == receipt
        return job if held else None

    def _put(self, job: FrozenJob) -> None:
        """Keep a job's newest value and note when it can be claimed."""
        self._jobs[job.id] = job
        heappush(self._later, (job.claimable_at_ms, job.place, job.id))
        if len(self._due) + len(self._later) > 2 * len(self._jobs) + 10:
            # More than half is outdated. Starting over costs O(n log n), but comes only once in n calls.
            self._due = []
            self._later = sorted((job.claimable_at_ms, job.place, job.id) for job in self._jobs.values())

    def _bury(self, job: FrozenJob, error: str) -> None:
        del self._jobs[job.id]
        self._dead[job.id] = replace(job, leased_until_ms=0, last_error=error)

    def _known(self, id: str) -> FrozenJob | None:
        return self._jobs.get(id) or self._dead.get(id) or self._done.get(id)

    def _forget(self) -> None:
        """Drop the ids that were remembered long enough."""
        while self._forget_at and self._forget_at[0][0] <= self.clock.now():
            _, id = heappop(self._forget_at)
            del self._done[id]

    def _unused_id(self) -> str:
        """job-1, job-2 ... without those that somebody else has given to a job."""
        while True:
            id = f"job-{next(self._numbers)}"
            if self._known(id) is None:
                return id
