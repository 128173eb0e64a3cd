"""One receipt, two workers: when does the second one get the job, and how many receipts go out?"""

from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import QueueOptions
from lessons.reference.worker import Delivery
from lessons.simulation import Actor, claim_at, simulate, work


@dataclass(frozen=True)
class Params:
    visibility_ms: int = params.whole(
        30_000, low=1, high=3_600_000, unit="ms", label="Visibility timeout",
        help="How long a claimed job stays hidden. Without effect when jobs are deleted at the claim.",
    )  # fmt: skip
    work_ms: int = params.whole(
        0, low=0, high=3_600_000, unit="ms", label="The work takes", help="How long one run of the job takes."
    )
    a_dies: str = params.choice(
        "after",
        {"after": "After the receipt, before the ack", "before": "Before the receipt", "never": "Never"},
        label="Worker A dies",
        help="At the end of its work.",
    )
    first_look_ms: int = params.whole(
        10_000, low=0, high=3_600_000, unit="ms", label="Worker B looks for a job at",
        help="The earlier of the two looks comes first.",
    )  # fmt: skip
    second_look_ms: int = params.whole(
        30_000, low=0, high=3_600_000, unit="ms", label="Worker B looks again at",
        help="If worker B is still busy then, it looks when it is done.",
    )  # fmt: skip
    delivery: str = params.choice(
        "leased",
        {"leased": "Leased (at least once)", "deleted": "Deleted at the claim (at most once)"},
        label="A claimed job is",
        help="Leased: the worker acks after the work. Deleted: it acks before the work.",
    )
    queue: str = which_queue.choice("They differ only when an ack comes too late.")


A_ENDINGS = {
    ("leased", "before"): "crashed before it sent the receipt",
    ("leased", "after"): "sent the receipt, then crashed before ack",
    ("leased", "never"): "sent the receipt, then acked",
    ("deleted", "before"): "acked, then crashed before it sent the receipt",
    ("deleted", "after"): "acked, sent the receipt, then crashed",
    ("deleted", "never"): "acked, then sent the receipt",
}


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    options = QueueOptions(max_attempts=5, visibility_ms=p.visibility_ms, backoff=lambda attempt: 1_000)
    queue = lab.watch_queue(which_queue.BY_NAME[p.queue](clock, options))
    sent = []

    def send_receipt(job: Delivery) -> None:
        order_id, email = job.payload["order_id"], job.payload["email"]
        lab.effect("mail provider", f"receipt for order {order_id} sent to {email}")
        sent.append(f"receipt for {order_id}")

    def worker_a() -> Actor:
        yield claim_at(0)
        with lab.acting("worker A"):
            job = queue.claim()
            if p.delivery == "deleted":
                queue.ack(job.receipt)
        yield work(p.work_ms)
        ending = A_ENDINGS[p.delivery, p.a_dies]
        with lab.acting("worker A"):
            if p.a_dies == "before":
                lab.crash("Worker A dies before it has sent the receipt.")
            send_receipt(job)
            if p.a_dies == "after":
                lab.crash("Worker A dies right after it has sent the receipt.")
            if p.delivery == "leased":
                answer = queue.ack(job.receipt)
                ending += f": {answer}"
        lab.print(f"worker A {ending}")

    def worker_b() -> Actor:
        for look_ms in sorted([p.first_look_ms, p.second_look_ms]):
            yield claim_at(look_ms)
            with lab.acting("worker B"):
                job = queue.claim()
            if job is None:
                lab.print(f"after {seconds(clock.now())}s, claimable again? False")
                continue
            lab.print(f"after {seconds(clock.now())}s, delivered again: attempt {job.attempts}")
            yield work(p.work_ms)
            with lab.acting("worker B"):
                send_receipt(job)
                queue.ack(job.receipt)

    with lab.acting("the checkout"):
        queue.enqueue("send-receipt", {"order_id": 1001, "email": "ada@example.com"})
    simulate(clock, worker_a(), worker_b())
    lab.print(f"receipts sent: {sent}")
