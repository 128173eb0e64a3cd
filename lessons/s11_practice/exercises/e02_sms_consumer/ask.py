"""The question about the crash, answered by a run of the official solution."""

from dataclasses import dataclass

from lessons import params
from lessons.checking import Crash
from lessons.exercises import Answer, Group
from lessons.s11_practice.exercises.e02_sms_consumer.solution import OrderShipped, SmsConsumer


@dataclass(frozen=True)
class Params:
    crash: str = params.choice(
        "open",
        {
            "open": "Choose …",
            "lost": "The customer gets no SMS",
            "once": "The customer gets one SMS: the set knows the message",
            "twice": "The customer gets two SMS",
        },
        label="Your answer",
    )


GROUPS = (
    Group("crash", "The process dies after the provider took the SMS and before the id is recorded. "
          "The queue delivers the message again. What happens?", ("crash",)),
)  # fmt: skip


def decide(answers: Params) -> list[Answer]:
    """Whether the answer is what a run shows."""
    sent, steps = _run()
    outcome = {0: "lost", 1: "once", 2: "twice"}[sent]
    words = (
        f"{sent} SMS went out. An SMS and a row in your database cannot be in one transaction, so you cannot close "
        "this gap alone. If the provider takes an idempotency key, pass the message's id. If it does not, accept a "
        "rare second SMS: that is far better than a lost one."
    )
    return [Answer("crash", answers.crash == outcome, words, tuple(steps))]


def _run() -> tuple[int, list[str]]:
    processed: set[str] = set()
    sent: list[str] = []
    dies = True

    def send_sms(to: str, text: str) -> None:
        nonlocal dies
        sent.append(text)
        if dies:
            dies = False
            raise Crash

    message = OrderShipped("order-1001-shipped", "+2348031234567", 1001)
    steps = []
    try:
        SmsConsumer(send_sms, processed).on_order_shipped(message)
    except Crash:
        steps.append(f"Delivery 1: the provider takes the SMS, the process dies. Ids recorded: {len(processed)}.")
    answer = SmsConsumer(send_sms, processed).on_order_shipped(message)
    steps.append(f"Delivery 2: the consumer answers “{answer}”. SMS so far: {len(sent)}.")
    return len(sent), steps
