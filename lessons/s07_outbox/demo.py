"""Orders in an outage of the queue: one is saved and then published, the others go through an outbox."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, Payload, QueueOptions
from lessons.reference.outbox import (
    SCHEMA,
    TOTAL_KOBO,
    QueueUnreachable,
    place_order_naive,
    place_order_with_outbox,
    relay_outbox,
)
from lessons.reference.worker import Delivery, PermanentJobError, Worker

CLAIM_MS = 60_000


@dataclass(frozen=True)
class Params:
    hasty: str = params.choice(
        "none",
        {
            "none": "Nobody",
            "permanent": "Order 1000, and its worker takes “not found” for permanent",
            "transient": "Order 1000, and its worker tries again",
        },
        label="Publishes before it saves",
        help="A worker gets the job at once, before there is such an order. This comes before the outage.",
    )
    rows: int = params.whole(
        1, low=1, high=150, label="Orders with an outbox", help="The relay takes up to 100 messages in a run."
    )
    queue_up_from_run: int = params.whole(
        2, low=1, high=10, label="Queue is back at relay run", help="Until then nobody can reach the queue."
    )
    relay_crashes: bool = params.flag(
        False,
        label="The relay crashes",
        help="Once, between publishing its first message and marking it as sent.",
    )
    consumer_done_before_repeat: bool = params.flag(
        False,
        label="The receipt is sent before the repeat",
        help="Whether a worker does the published job before the relay publishes it again. "
        "Only matters when the relay crashes.",
    )
    queue: str = which_queue.choice(
        "The lesson's forgets an id when its job is done, the hardened one remembers it for 5 minutes."
    )


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    options = QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=doubling(1_000, 60_000))
    queue = lab.watch_queue(which_queue.BY_NAME[p.queue](clock, options))
    db = lab.connect()
    db.executescript(SCHEMA)
    relay_run, crash_ahead = 0, p.relay_crashes
    receipts: list[object] = []

    def publish(type: str, payload: Payload, id: str) -> None:
        nonlocal crash_ahead
        if relay_run < p.queue_up_from_run:
            lab.step("refused", f"{lab.actor} tries to publish {id}: the queue is unreachable.")
            raise QueueUnreachable("queue unreachable")
        queue.enqueue(type, payload, id)
        if crash_ahead:
            crash_ahead = False
            lab.crash(f"The relay dies: {id} is published, but not marked as sent.")

    if p.hasty != "none":
        place_order_hastily(
            db, queue, clock, lab, not_found=PermanentJobError if p.hasty == "permanent" else LookupError
        )

    with lab.acting("the checkout"):
        try:
            place_order_naive(db, publish, 1001, "ada@example.com")
        except QueueUnreachable as error:
            lab.print(f"naive: order saved, then {error}")
        for order_id in range(1002, 1002 + p.rows):
            place_order_with_outbox(db, order_id, "bola@example.com")
        lab.print("outbox: order and message saved together" + (f", {p.rows} times" if p.rows > 1 else ""))

    published: int | None = None
    crashed = False
    while published != 0:
        clock.advance(CLAIM_MS if crashed else 1_000)
        relay_run += 1
        crashed, outcome = True, "crashed after publishing, before marking"
        with lab.acting("the relay"):
            try:
                published = relay_outbox(db, publish, clock.now(), claim_ms=CLAIM_MS)
                outcome = f"published {published}"
            except QueueUnreachable as error:
                outcome = f"{error} (nothing marked as sent)"
            crashed = False
        lab.print(f"relay run {relay_run}: {outcome}")
        if crashed and p.consumer_done_before_repeat:
            receipts += send_receipts(queue, lab)

    orders = [order_id for (order_id,) in db.execute("SELECT id FROM orders ORDER BY id")]
    lab.print(f"orders: [{shortened(orders)}]")
    jobs = [job.payload["order_id"] for job in queue.jobs.values()]
    lab.print(f"jobs in the queue: {len(jobs)}" + (f" - for order {shortened(jobs)}" if jobs else ""))

    receipts += send_receipts(queue, lab)
    if p.relay_crashes:
        lab.print(f"receipts sent: {len(receipts)} - for order {shortened(receipts)}")


def place_order_hastily(
    db: sqlite3.Connection,
    queue: JobQueue | HardenedQueue,
    clock: ManualClock,
    lab: Recorder,
    not_found: type[Exception],
) -> None:
    """Publish, then save: in between a worker looks for the order."""

    def send_receipt(job: Delivery) -> None:
        order_id = job.payload["order_id"]
        if not db.execute("SELECT id FROM orders WHERE id = ?", (order_id,)).fetchall():
            raise not_found(f"no order {order_id}")
        lab.effect("mail provider", f"receipt for order {order_id} sent to {job.payload['email']}")

    worker = Worker(queue, {"send-receipt": send_receipt}, clock, lab.print)
    with lab.acting("the hasty checkout"):
        queue.enqueue("send-receipt", {"order_id": 1000, "email": "ada@example.com"}, "order-1000-receipt")
    with lab.acting("the worker"):
        worker.drain()
    with lab.acting("the hasty checkout"):
        db.execute("INSERT INTO orders (id, email, total_kobo) VALUES (1000, 'ada@example.com', ?)", (TOTAL_KOBO,))
        lab.print("hasty: job published first, then order 1000 saved")
    clock.advance(1_000)
    with lab.acting("the worker"):
        worker.drain()


def send_receipts(queue: JobQueue | HardenedQueue, lab: Recorder) -> list[object]:
    sent = []
    with lab.acting("the worker"):
        while job := queue.claim():
            order_id, email = job.payload["order_id"], job.payload["email"]
            lab.effect("mail provider", f"receipt for order {order_id} sent to {email}")
            queue.ack(job.receipt)
            sent.append(order_id)
    return sent


def shortened(ids: Sequence[object]) -> str:
    """ "1, 2, 3"; a long list loses its middle."""
    return ", ".join(map(str, ids if len(ids) <= 5 else [*ids[:3], "…", ids[-1]]))
