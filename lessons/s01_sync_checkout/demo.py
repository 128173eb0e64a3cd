"""A checkout that does everything before it answers, and one that leaves the slow work to a queue."""

from dataclasses import dataclass

from lessons import params, which_queue
from lessons.recorder import Recorder
from lessons.reference.backoff import equal_jitter
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import QueueOptions
from lessons.reference.worker import Worker

PROVIDER_BACK_AT_MS = 5_000
PRICE_NAIRA = 20_425


@dataclass(frozen=True)
class Params:
    mode: str = params.choice(
        "request",
        {"request": "All the work in the request", "queue": "Charge, answer, leave the rest to a queue"},
        label="Checkout",
        help="Where the invoice and the receipt are made: before the answer, or later by a worker.",
    )
    provider_up: bool = params.flag(
        False,
        label="Mail provider is up",
        help="If not, it answers with a 503 until 5 s after the start.",
    )
    card_ms: int = params.whole(
        10, low=0, high=10_000, unit="ms", label="Card takes", help="How long the charge takes."
    )
    pdf_ms: int = params.whole(60, low=0, high=10_000, unit="ms", label="PDF takes", help="How long the invoice takes.")
    mail_ms: int = params.whole(
        30, low=0, high=10_000, unit="ms", label="Mail takes", help="How long the provider takes to answer."
    )
    customer_retries: bool = params.flag(
        False,
        label="Customer tries again",
        help="Once, at once, after an error. With the queue there is no error to see, so nothing changes.",
    )
    queue: str = which_queue.choice("Used only when the work is left to a queue.")


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    backoff = equal_jitter(base_ms=1_000, cap_ms=60_000, random=lambda: 1.0)
    options = QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=backoff)
    queue = which_queue.BY_NAME[p.queue](clock, options)
    if p.mode == "queue":
        lab.watch_queue(queue)

    def charge_card(order_id: int) -> None:
        with lab.doing("charges the card"):
            clock.advance(p.card_ms)
        lab.effect("card company", f"₦{PRICE_NAIRA:,} charged for order {order_id}")
        lab.print(f"order {order_id}: card charged ₦{PRICE_NAIRA:,}")

    def render_invoice(order_id: int) -> None:
        with lab.doing("renders the invoice"):
            clock.advance(p.pdf_ms)

    def send_receipt(order_id: int) -> None:
        with lab.doing("calls the mail provider"):
            clock.advance(p.mail_ms)
        if not p.provider_up and clock.now() < PROVIDER_BACK_AT_MS:
            lab.step("refused", "The mail provider answers 503 Service Unavailable: no receipt is sent.")
            raise ConnectionError("mail provider: 503 Service Unavailable")
        receipt = f"receipt for order {order_id} sent to ada@example.com"
        lab.effect("mail provider", receipt)
        lab.print(f"  ({receipt})")

    def checkout(order_id: int) -> str:
        try:
            charge_card(order_id)
            if p.mode == "queue":
                queue.enqueue("render-invoice", {"order_id": order_id})
                queue.enqueue("send-receipt", {"order_id": order_id})
            else:
                render_invoice(order_id)
                send_receipt(order_id)
            return "201 order placed"
        except ConnectionError as error:
            return f"500 {error}"

    for _click in range(2 if p.customer_retries else 1):
        clicked_at_ms = clock.now()
        with lab.acting("the checkout"):
            answer = checkout(1001)
        lab.print(f"customer sees: {answer}")
        lab.print(f"customer waited 100 ms or more: {clock.now() - clicked_at_ms >= 100}")
        if answer.startswith("201"):
            break

    handlers = {
        "render-invoice": lambda job: render_invoice(job.payload["order_id"]),
        "send-receipt": lambda job: send_receipt(job.payload["order_id"]),
    }
    worker = Worker(queue, handlers, clock, lab.print)
    with lab.acting("the worker"):
        worker.drain()
        while queue.pending > 0:
            clock.advance(1_000)
            worker.drain()
