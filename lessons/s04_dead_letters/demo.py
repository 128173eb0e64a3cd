"""Two jobs that cannot succeed, the place they end in, and the way back out of it."""

from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import equal_jitter
from lessons.reference.clock import ManualClock, seconds
from lessons.reference.job_queue import QueueOptions
from lessons.reference.worker import Delivery, PermanentJobError, Worker


@dataclass(frozen=True)
class Params:
    max_attempts: int = params.whole(
        4,
        low=1,
        high=100,
        label="Max attempts",
        help="The first try counts. The run ends at 20 s, in which 5 attempts find room.",
    )
    email: str = params.text(
        "bola.example.com",
        max_length=100,
        label="E-mail address",
        help="Without an @ no receipt can be sent.",
    )
    renderer_fixed_at_ms: int | None = params.whole_or_never(
        None, low=0, high=3_600_000, unit="ms", label="PDF renderer is fixed at",
        help="Until then order 1003 crashes it.",
    )  # fmt: skip
    replay_at_ms: int | None = params.whole_or_never(
        None, low=0, high=3_600_000, unit="ms", label="Operator replays at",
        help="Then each dead letter so far goes back into the queue, and the worker goes on for 20 s more.",
    )  # fmt: skip
    queue: str = which_queue.choice("The hardened one has a replay of its own; with the lesson's it is done by hand.")


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    backoff = equal_jitter(base_ms=1_000, cap_ms=60_000, random=lambda: 1.0)
    options = QueueOptions(p.max_attempts, visibility_ms=30_000, backoff=backoff)
    queue = lab.watch_queue(which_queue.BY_NAME[p.queue](clock, options))

    def send_receipt(job: Delivery) -> None:
        email = str(job.payload["email"])
        if "@" not in email:
            raise PermanentJobError(f'not an e-mail address: "{email}"')
        lab.effect("mail provider", f"receipt for order {job.payload['order_id']} sent to {email}")
        lab.print(f"  (receipt sent to {email})")

    def render_invoice(job: Delivery) -> None:
        order_id = job.payload["order_id"]
        if p.renderer_fixed_at_ms is None or clock.now() < p.renderer_fixed_at_ms:
            raise RuntimeError(f"template for order {order_id} crashed the PDF renderer")
        lab.print(f"  (invoice-{order_id}.pdf rendered)")

    worker = Worker(queue, {"send-receipt": send_receipt, "render-invoice": render_invoice}, clock, lab.print)

    def work_until(end_ms: int) -> None:
        with lab.acting("the worker"):
            while clock.now() < end_ms and queue.pending > 0:
                worker.drain()
                clock.advance(min(1_000, end_ms - clock.now()))

    with lab.acting("the checkout"):
        queue.enqueue("send-receipt", {"order_id": 1002, "email": p.email})
        queue.enqueue("render-invoice", {"order_id": 1003})

    if p.replay_at_ms is not None:
        work_until(p.replay_at_ms)
        clock.advance(p.replay_at_ms - clock.now())
        with lab.acting("the operator"):
            lab.print(f"t={seconds(clock.now())}s the operator replays {len(queue.dead)} dead letter(s)")
            for letter in list(queue.dead):
                if p.queue == "hardened":
                    queue.replay(letter.id)
                else:
                    queue.dead.remove(letter)
                    queue.enqueue(letter.type, letter.payload, letter.id)
    work_until(clock.now() + 20_000)

    if queue.pending > 0:
        lab.print(f"still in the queue: {list(queue.jobs)}")
    letters = [f"{job.id} after {job.attempts} attempt(s): {job.last_error}" for job in queue.dead]
    lab.print(f"dead letters: {letters}")
