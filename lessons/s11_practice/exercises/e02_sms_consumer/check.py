"""Judges an SMS consumer under repeats, failures of the provider, and crashes at both sides of the SMS."""

import random
from dataclasses import dataclass
from typing import Any

from lessons.checking import CRASHED, LONGEST_RANDOM, Crash, Diary, Schedule, Verdict, judge

ADVERSARIAL: list[Schedule] = [
    (("deliver", 1), ("deliver", 1), ("deliver", 1)),
    (("deliver", 1), ("deliver", 2)),
    (("down", 1), ("deliver", 1)),
    (("crash before", 1), ("deliver", 1)),
    (("crash after", 1), ("deliver", 1), ("deliver", 1)),
    (("deliver", 1), ("restart",), ("deliver", 1)),
    (("deliver", 1), ("deliver", 3)),
]
MESSAGES = {
    1: ("order-1001-shipped", "+2348031234567", 1001),
    2: ("order-1002-shipped", "+2348030000002", 1002),
    3: ("order-1001-shipped-part-2", "+2348031234567", 1001),
}


@dataclass(frozen=True)
class Message:
    id: str
    phone: str
    order_id: int


def check(source: str) -> Verdict:
    """The verdict on `SmsConsumer`."""
    return judge(source, "SmsConsumer", play, ADVERSARIAL, random_schedule)


def play(piece: Any, schedule: Schedule, diary: Diary) -> None:
    processed: set[str] = set()
    known: set[str] = set()
    sent: list[str] = []
    weather = "deliver"

    def send_sms(to: str, text: str) -> None:
        if weather == "down":
            raise ConnectionError("SMS provider: 503")
        if weather == "crash before":
            raise Crash
        sent.append(f"{to}: {text}")
        if weather == "crash after":
            raise Crash

    consumer = piece(send_sms, processed)
    for operation in schedule:
        if operation == ("restart",):
            diary.note("the consumer's process is restarted; the set of ids is still there")
            consumer = piece(send_sms, processed)
            continue
        weather, number = operation
        message = Message(*MESSAGES[number])
        before = list(sent)
        text = f"{message.phone}: Order {message.order_id} is on its way"
        answer, ours = _expected(weather, message.id in known, text)
        when = {
            "deliver": "",
            "down": ", while the provider is down",
            "crash before": ", and the process dies before the provider has the SMS",
            "crash after": ", and the process dies right after the provider has taken the SMS",
        }[weather if message.id not in known else "deliver"]
        diary.step(
            f"{message.id} is delivered{when}",
            answer,
            consumer.on_order_shipped,
            message,
            show=str,
        )
        diary.same("the SMS of this delivery", ours, sent[len(before) :])
        if answer == "sent":
            known.add(message.id)
        if answer == CRASHED:
            consumer = piece(send_sms, processed)


def _expected(weather: str, is_known: bool, text: str) -> tuple[str, list[str]]:
    """What the consumer answers, and the SMS that go out."""
    if is_known:
        return "duplicate, skipped", []
    match weather:
        case "down":
            return "ConnectionError was raised", []
        case "crash before":
            return CRASHED, []
        case "crash after":
            return CRASHED, [text]
    return "sent", [text]


def random_schedule(chance: random.Random) -> Schedule:
    operations = ["deliver", "deliver", "down", "crash before", "crash after", "restart"]
    picked = [chance.choice(operations) for _ in range(chance.randint(2, LONGEST_RANDOM))]
    return tuple((name,) if name == "restart" else (name, chance.choice([1, 2, 3])) for name in picked)
