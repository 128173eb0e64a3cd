"""Receipts that are tried again until the mail provider is back."""

import random
from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import Backoff, equal_jitter, full_jitter
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import QueueOptions
from lessons.reference.worker import Delivery, Worker


@dataclass(frozen=True)
class Params:
    provider_up_at_ms: int = params.whole(
        5_000, low=0, high=3_600_000, unit="ms", label="Mail provider is back at",
        help="Until then every receipt fails with a 503.",
    )  # fmt: skip
    max_attempts: int = params.whole(
        5, low=1, high=100, label="Max attempts", help="The first try counts as an attempt."
    )
    base_ms: int = params.whole(
        1_000, low=1, high=600_000, unit="ms", label="Backoff base", help="The pause after the first failure."
    )
    cap_ms: int = params.whole(
        60_000, low=1, high=3_600_000, unit="ms", label="Backoff cap", help="No pause is ever longer."
    )
    jitter: str = params.choice(
        "none",
        {"none": "None (random is 1)", "equal": "Equal: half fixed, half random", "full": "Full: all random"},
        label="Jitter",
        help="Random pauses keep jobs that failed together from coming back together.",
    )
    seed: int = params.whole(
        1, low=0, high=999_999, label="Seed",
        help="The same seed gives the same random pauses. Without jitter nothing is random.",
    )  # fmt: skip
    receipts: int = params.whole(1, low=1, high=50, label="Receipts", help="How many orders are paid in the outage.")
    queue: str = which_queue.choice("Here both do the same; only the code beside the run differs.")

    def conflicts(self) -> dict[str, str]:
        if self.base_ms > self.cap_ms:
            return {"base_ms": f"base_ms must not be more than cap_ms ({self.cap_ms}), not {self.base_ms}"}
        return {}

    def backoff(self) -> Backoff:
        jitter = full_jitter if self.jitter == "full" else equal_jitter
        chance = random.Random(self.seed).random if self.jitter != "none" else lambda: 1.0
        return jitter(self.base_ms, self.cap_ms, chance)


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    options = QueueOptions(p.max_attempts, visibility_ms=30_000, backoff=p.backoff())
    queue = lab.watch_queue(which_queue.BY_NAME[p.queue](clock, options))

    def send_receipt(job: Delivery) -> None:
        if clock.now() < p.provider_up_at_ms:
            raise ConnectionError("mail provider: 503")
        receipt = f"receipt for order {job.payload['order_id']} sent to {job.payload['email']}"
        lab.effect("mail provider", receipt)
        lab.print(f"  ({receipt})")

    def render_invoice(job: Delivery) -> None:
        lab.print(f"  (invoice-{job.payload['order_id']}.pdf rendered)")

    worker = Worker(queue, {"send-receipt": send_receipt, "render-invoice": render_invoice}, clock, lab.print)

    with lab.acting("the checkout"):
        for order_id in range(1001, 1001 + p.receipts):
            queue.enqueue("send-receipt", {"order_id": order_id, "email": "ada@example.com"})
            queue.enqueue("render-invoice", {"order_id": order_id})

    with lab.acting("the worker"):
        while queue.pending > 0:
            worker.drain()
            clock.advance(1_000)
