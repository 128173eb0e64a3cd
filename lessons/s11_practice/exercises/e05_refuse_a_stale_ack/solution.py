"""A worker that has lost its lease must not settle somebody else's delivery."""

from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import Job, JobQueue, Payload, QueueOptions


class FencedQueue:
    """A JobQueue inside, and a receipt for each delivery outside."""

    def __init__(self, clock: ManualClock, options: QueueOptions) -> None:
        self.queue = JobQueue(clock, options)
        self.receipts: dict[str, str] = {}  # receipt -> job id, for the deliveries that count
        self.claims = 0

    def enqueue(self, type: str, payload: Payload, id: str) -> str:
        return self.queue.enqueue(type, payload, id)

    def claim(self) -> tuple[str, Job] | None:
        """A receipt for this delivery, and the job."""
        job = self.queue.claim()
        if job is None:
            return None
        self.claims += 1
        self._forget(job.id)
        receipt = f"{job.id}#{self.claims}"  # never the same again, not even when an id is used again
        self.receipts[receipt] = job.id
        return receipt, job

    def ack(self, receipt: str) -> str:
        """ "done", or "lost" if the receipt no longer counts."""
        id = self.receipts.pop(receipt, None)
        return "lost" if id is None else self.queue.ack(id)

    def fail(self, receipt: str, error: str) -> str:
        """ "retry" or "dead", or "lost" if the receipt no longer counts."""
        id = self.receipts.pop(receipt, None)
        return "lost" if id is None else self.queue.fail(id, error)

    def _forget(self, id: str) -> None:
        """The job is delivered anew: an earlier receipt no longer counts."""
        self.receipts = {receipt: job_id for receipt, job_id in self.receipts.items() if job_id != id}


if __name__ == "__main__":
    clock = ManualClock()
    queue = FencedQueue(clock, QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=lambda attempt: 1_000))
    queue.enqueue("charge-card", {"order_id": 1001}, "order-1001-charge")
    receipts = {}
    for worker in ["A", "B"]:
        claimed = queue.claim()
        if claimed:
            receipts[worker] = claimed[0]
            print(f"worker {worker} claims the job: receipt {claimed[0]}")
        clock.advance(30_000 if worker == "A" else 5_000)
    print("worker A wakes up and acks:", queue.ack(receipts["A"]))
    print("worker B acks:", queue.ack(receipts["B"]))
