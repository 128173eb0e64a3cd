"""The question about the crash, answered by a run of the official solution."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessons import params
from lessons.checking import Crash
from lessons.exercises import Answer, Group


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
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(Path(__file__).with_name("solution.py").read_text(encoding="utf-8"), namespace)
    processed: set[str] = set()
    sent: list[str] = []
    dies = True

    def send_sms(to: str, text: str) -> None:
        nonlocal dies
        sent.append(text)
        if dies:
            dies = False
            raise Crash

    message = namespace["OrderShipped"]("order-1001-shipped", "+2348031234567", 1001)
    steps = []
    try:
        namespace["SmsConsumer"](send_sms, processed).on_order_shipped(message)
    except Crash:
        steps.append(f"Delivery 1: the provider takes the SMS, the process dies. Ids recorded: {len(processed)}.")
    answer = namespace["SmsConsumer"](send_sms, processed).on_order_shipped(message)
    steps.append(f"Delivery 2: the consumer answers “{answer}”. SMS so far: {len(sent)}.")
    return len(sent), steps
