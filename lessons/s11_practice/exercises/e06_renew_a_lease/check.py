"""Judges a long job: pages of many lengths, a second worker that waits for its chance, and pauses of the first."""

import random
from typing import Any

from lessons.checking import Diary, Schedule, Verdict, Wrong, judge
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import QueueOptions

VISIBILITY_MS = 30_000
ID = "export-1"
# ("page", ms): how long each page takes
ADVERSARIAL: list[Schedule] = [
    (("page", 20_000), ("page", 20_000)),
    (("page", 30_000), ("page", 30_000)),
    (("page", 29_999), ("page", 1), ("page", 1)),
    (("page", 10_000),) * 7,
    (("page", 30_001), ("page", 1_000)),
    (("page", 10_000), ("page", 40_000), ("page", 10_000)),
    (("page", 40_000),),
]


def check(source: str) -> Verdict:
    """The verdict on `export_orders`."""
    return judge(source, "export_orders", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    clock = ManualClock()
    queue = HardenedQueue(clock, QueueOptions(5, VISIBILITY_MS, lambda attempt: 1_000))
    queue.enqueue("export-orders", {}, ID)
    job = queue.claim()
    lengths = [ms for _, ms in schedule]
    too_long = next((page for page, ms in enumerate(lengths, start=1) if ms > VISIBILITY_MS), None)
    taken = False

    def other_worker_looks() -> None:
        nonlocal taken
        if taken or queue.claim() is None:
            return
        taken = True
        at = seconds(clock.now())
        diary.note(f"t={at}s: worker B looks for a job and gets {ID}")
        if not too_long or clock.now() < sum(lengths[: too_long - 1]) + VISIBILITY_MS:
            raise Wrong("the job stays with A: no page so far took longer than the lease", f"B has it at t={at}s")

    def write(page: int) -> None:
        other_worker_looks()  # A has had its chance to renew in this millisecond
        if ID not in queue.jobs:
            raise Wrong("an ack after the last page", f"page {page} is written after the ack")
        if taken:
            raise Wrong("A stops, for the job is B's", f"A goes on and writes page {page}, so it is written twice")
        end_ms = clock.now() + lengths[page - 1]
        lease_ends_ms = queue.jobs[ID].leased_until_ms
        if end_ms > lease_ends_ms:
            clock.advance(lease_ends_ms - clock.now())
            other_worker_looks()
        clock.advance(end_ms - clock.now())
        diary.note(f"t={seconds(clock.now())}s: A has written page {page}, which took {seconds(lengths[page - 1])}s")
        written.append(page)

    written: list[int] = []
    pages = list(range(1, len(lengths) + 1))
    diary.step(
        f"t=0s: worker A has claimed {ID} for 30s and exports {len(pages)} page{'s' if len(pages) != 1 else ''}",
        "'lost'" if too_long else "'done'",
        piece,
        queue,
        job,
        pages,
        write,
    )
    diary.same("the pages that A wrote", pages[:too_long], written)
    diary.same("the jobs in the queue", [ID] if too_long else [], queue.jobs)


def random_schedule(chance: random.Random) -> Schedule:
    lengths = [1, 10_000, 20_000, 29_999, 30_000, 30_000, 30_001, 45_000]
    return tuple(("page", chance.choice(lengths)) for _ in range(chance.randint(1, 6)))
