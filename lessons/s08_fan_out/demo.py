"""One event for three subscribers: a queue for each of them, or one job that serves all three."""

from collections.abc import Callable
from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.fan_out import Subscriber, publish
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.idempotent_consumer import points_for
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Delivery
from lessons.simulation import Actor, claim_at, simulate, work

SUBSCRIBERS = ("email", "warehouse", "loyalty")
JOB_TYPES = {
    "email": "send-receipt",
    "warehouse": "pick-items",
    "loyalty": "credit-points",
    "shared": "serve-all-three",
}
EFFECTS = {
    "email": ("mail provider", "receipt for order {order_id} sent"),
    "warehouse": ("warehouse", "items of order {order_id} picked"),
    "loyalty": ("loyalty accounts", "{points} points for order {order_id} credited to customer {customer_id}"),
}
COUNTED = {"email": "receipts", "warehouse": "picks", "loyalty": "credits"}
Serve = Callable[[str, Delivery], Actor]


@dataclass(frozen=True)
class Params:
    publishes: int = params.whole(
        2, low=1, high=10, label="Published", help="How often the checkout publishes the same event."
    )
    orders: int = params.whole(
        1, low=1, high=5, label="Orders paid", help="Each is an event of its own, and all are paid at t=0."
    )
    layout: str = params.choice(
        "queues",
        {"queues": "One queue for each subscriber", "one-job": "One job runs all three"},
        label="Layout",
        help="In the one job e-mail comes first, then the warehouse, then loyalty.",
    )
    failing: str = params.choice(
        "none",
        {"none": "Nobody", "email": "E-mail", "warehouse": "The warehouse", "loyalty": "Loyalty"},
        label="Who fails",
        help="It answers with an error, and its job is tried again with backoff.",
    )
    failures: int = params.whole(
        4, low=0, high=10, label="Failures",
        help="How many calls fail before one works. A job has 5 attempts. Only matters if somebody fails.",
    )  # fmt: skip
    warehouse_ms: int = params.whole(
        0, low=0, high=60_000, unit="ms", label="Warehouse takes", help="How long it works on one order."
    )
    publish_when_done: bool = params.flag(
        False, label="Published again afterwards", help="Once more, when all jobs are done or dead letters."
    )
    queue: str = which_queue.choice(
        "They differ only when the event is published again afterwards: "
        "the hardened one still knows the ids, for 5 minutes."
    )


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    options = QueueOptions(max_attempts=5, visibility_ms=120_000, backoff=doubling(1_000, 60_000))
    new_queue = which_queue.BY_NAME[p.queue]
    names = SUBSCRIBERS if p.layout == "queues" else ("shared",)
    queues = {name: lab.watch_queue(new_queue(clock, options), name) for name in names}
    subscribers = [Subscriber(name, JOB_TYPES[name], queues[name]) for name in names]

    failures_left = {p.failing: p.failures}
    served: dict[str, list[str]] = {name: [] for name in SUBSCRIBERS}

    def serve(name: str, job: Delivery) -> Actor:
        if failures_left.get(name, 0) > 0:
            failures_left[name] -= 1
            raise ConnectionError(f"{name}: 503")
        if name == "warehouse":
            yield work(p.warehouse_ms)
        target, what = EFFECTS[name]
        lab.effect(target, what.format(points=points_for(int(str(job.payload["amount_kobo"]))), **job.payload))
        served[name].append(f"order {job.payload['order_id']} at t={seconds(clock.now())}s")

    def orders_are_paid(times: int) -> None:
        with lab.acting("the checkout"):
            for order_id in range(1001, 1001 + p.orders):
                order = {"order_id": order_id, "customer_id": 7, "amount_kobo": 2_042_500}
                for _ in range(times):
                    publish(f"order-{order_id}-paid", order, subscribers)
        lab.print(" ".join(f"{name}: {queue.pending}" for name, queue in queues.items()))
        workers = {f"the {name} worker": worker(name, queue, serve, clock) for name, queue in queues.items()}
        simulate(clock, *(played_by(who, actor, lab) for who, actor in workers.items()))

    orders_are_paid(times=p.publishes)
    if p.publish_when_done:
        orders_are_paid(times=1)

    if p.failing != "none" or p.warehouse_ms > 0 or p.publish_when_done:
        for name in SUBSCRIBERS:
            lab.print(f"{COUNTED[name]}: {len(served[name])} - {', '.join(served[name])}".removesuffix(" - "))
        lab.print(f"dead letters: {[job.id for queue in queues.values() for job in queue.dead]}")


def worker(name: str, queue: JobQueue | HardenedQueue, serve: Serve, clock: ManualClock) -> Actor:
    """Does the jobs of one queue, one after the other, until there are none."""
    while queue.pending > 0:
        job = queue.claim()
        if job is None:
            yield claim_at(clock.now() + 1_000)
            continue
        try:
            for subscriber in SUBSCRIBERS if name == "shared" else (name,):
                yield from serve(subscriber, job)
        except ConnectionError as error:
            queue.fail(job.receipt, str(error))
        else:
            queue.ack(job.receipt)


def played_by(who: str, actor: Actor, lab: Recorder) -> Actor:
    """The same actor, under a name."""
    while True:
        with lab.acting(who):
            pause = next(actor, None)
        if pause is None:
            return
        yield pause
