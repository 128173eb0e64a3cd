"""Dead letters come back when their cause is repaired: each one once, as the job that it was."""

from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions


def replay(queue: JobQueue, id: str) -> bool:
    """Whether a dead letter with that id is back in the queue."""
    for letter in queue.dead:
        if letter.id == id:
            queue.enqueue(letter.type, letter.payload)
            return True
    return False


if __name__ == "__main__":
    queue = JobQueue(ManualClock(), QueueOptions(max_attempts=1, visibility_ms=30_000, backoff=lambda attempt: 1_000))
    queue.enqueue("render-invoice", {"order_id": 1003}, "invoice-1003")
    queue.claim()
    queue.fail("invoice-1003", "the template crashed the PDF renderer")
    for click in [1, 2]:
        print(f"click {click}: {replay(queue, 'invoice-1003')}")
    print("in the queue:", [f"{job.id}, attempts: {job.attempts}" for job in queue.jobs.values()])
    print("dead letters:", [letter.id for letter in queue.dead])
