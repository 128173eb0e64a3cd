"""A job that takes longer than its lease: keep the lease alive, and stop when it is lost."""

from collections.abc import Callable, Iterable

from lessons.reference.clock import ManualClock, seconds
from lessons.reference.hardened_queue import FrozenJob, HardenedQueue
from lessons.reference.job_queue import QueueOptions


def export_orders(queue: HardenedQueue, job: FrozenJob, pages: Iterable[int], write: Callable[[int], None]) -> str:
    """Write all pages, then ack: "done", or "lost" if somebody else has the job now."""
    for page in pages:
        write(page)
        if not queue.renew(job.receipt):
            return "lost"  # somebody else has the job: every further page would be written twice
    return queue.ack(job.receipt)


if __name__ == "__main__":
    clock = ManualClock()
    queue = HardenedQueue(clock, QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=lambda attempt: 1_000))
    queue.enqueue("export-orders", {"pages": 4})
    job = queue.claim()

    def write(page: int) -> None:
        clock.advance(20_000)
        print(f"t={seconds(clock.now())}s page {page} is written")
        if other := queue.claim():
            print(f"t={seconds(clock.now())}s worker B claims the job too: attempt {other.attempts}")

    if job:
        print(export_orders(queue, job, [1, 2, 3, 4], write))
