"""Four jobs, and the delivery that each needs: every answer is tried in runs with crashes and repeats.

A job is delivered at most once (acked before the work) or at least once (acked after the work). In the runs
the worker dies at every place where that makes a difference. The cheapest answer that meets the need in all
of them is the right one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from lessons import params
from lessons.exercises import Answer, Group

DELIVERIES = {
    "at-most-once": "At most once",
    "at-least-once": "At least once",
}
CONSUMERS = {  # the cheapest first
    "nothing": "Nothing more than the work",
    "single-use": "Make a repeat harmless: what it sends works once",
    "message-id": "Record the message's id in the same transaction as the effect, and skip a known one",
    "order-id": "Record the order's id in the same transaction as the effect, and skip a known one",
}
CRASHES = {
    "none": "no crash",
    "before": "a crash before the effect",
    "after": "a crash after the effect",
}


@dataclass(frozen=True)
class Message:
    id: str
    order: str


@dataclass(frozen=True)
class Case:
    """A job: the messages that may come, where its effect is, and whether the effects are what people need."""

    question: str
    arrivals: tuple[tuple[Message, ...], ...]
    effect: str
    in_our_database: bool
    met: Callable[[list[str], bool], bool]
    need: str
    why: str


CASES = {
    "wallet": Case(
        "Something is sold, and ₦5,000 go into the seller's wallet, a table in your database",
        ((Message("sale-1", "order-1"),),),
        "₦5,000 credited",
        True,
        lambda effects, single_use: len(effects) == 1,
        "exactly one credit",
        "A lost credit is money that you owe, a second one is money lost. The wallet is in your own database, so "
        "the id and the credit go into one transaction. The sale's id would do as well as the message's.",
    ),
    "online": Case(
        "A dashboard counts the customers who are online now",
        ((Message("count-1", ""), Message("count-2", "")),),
        "the counter is set",
        False,
        lambda effects, single_use: bool(effects),
        "a counter that is right again within seconds",
        "A lost update is put right by the next one, seconds later. All else is work for nothing.",
    ),
    "reset": Case(
        "E-mailing a password-reset link",
        ((Message("reset-1", ""),),),
        "link sent",
        False,
        lambda effects, single_use: len(effects) == 1 or (len(effects) > 1 and single_use),
        "at least one link that works only once",
        "A lost link locks the customer out. A second mail is harmless when the link works once. An e-mail cannot "
        "be in your transaction, so an id recorded beside it cannot stop the second mail.",
    ),
    "warehouse": Case(
        "The warehouse is told to pick an order. Its pick list is a table in your database. "
        "A checkout may repeat itself, under another message id",
        ((Message("paid-1", "order-1"),), (Message("paid-1", "order-1"), Message("paid-2", "order-1"))),
        "parcel picked",
        True,
        lambda effects, single_use: len(effects) == 1,
        "exactly one parcel",
        "An order that is never picked is a customer without goods, one picked twice ships two parcels. Two messages "
        "can be about one order, so the key is the order's id.",
    ),
}


def _choice(options: dict[str, str], label: str) -> str:
    return params.choice("open", {"open": "Choose …", **options}, label=label)


@dataclass(frozen=True)
class Params:
    wallet: str = _choice(DELIVERIES, "Delivery")
    wallet_consumer: str = _choice(CONSUMERS, "The consumer must")
    online: str = _choice(DELIVERIES, "Delivery")
    online_consumer: str = _choice(CONSUMERS, "The consumer must")
    reset: str = _choice(DELIVERIES, "Delivery")
    reset_consumer: str = _choice(CONSUMERS, "The consumer must")
    warehouse: str = _choice(DELIVERIES, "Delivery")
    warehouse_consumer: str = _choice(CONSUMERS, "The consumer must")


GROUPS = tuple(Group(name, case.question, (name, f"{name}_consumer")) for name, case in CASES.items())


def decide(answers: Params) -> list[Answer]:
    """One answer for each job of which both fields are chosen."""
    chosen = {name: (getattr(answers, name), getattr(answers, f"{name}_consumer")) for name in CASES}
    return [_decide(name, *choice) for name, choice in chosen.items() if "open" not in choice]


def _decide(name: str, delivery: str, consumer: str) -> Answer:
    case = CASES[name]
    for crash, effects, steps in _runs(case, delivery, consumer):
        if not case.met(effects, consumer == "single-use"):
            words = f"{case.need[0].upper()}{case.need[1:]} is needed. With {CRASHES[crash]} this is what happens:"
            return Answer(name, False, words, tuple(steps))
    if _cost(delivery, consumer) > min(_cost(*choice) for choice in _sufficient(case)):
        return Answer(name, False, f"This gives {case.need}, but something that costs less gives it too.")
    return Answer(name, True, case.why)


def _sufficient(case: Case) -> list[tuple[str, str]]:
    return [
        (delivery, consumer)
        for delivery, consumer in product(DELIVERIES, CONSUMERS)
        if all(case.met(effects, consumer == "single-use") for _, effects, _ in _runs(case, delivery, consumer))
    ]


def _runs(case: Case, delivery: str, consumer: str) -> list[tuple[str, list[str], list[str]]]:
    return [
        (crash, *run(case, messages, delivery, consumer, crash)) for messages, crash in product(case.arrivals, CRASHES)
    ]


def _cost(delivery: str, consumer: str) -> tuple[int, bool]:
    """More bookkeeping, more cost; which id is recorded makes none."""
    return min(list(CONSUMERS).index(consumer), 2), delivery == "at-least-once"


def run(
    case: Case, messages: tuple[Message, ...], delivery: str, consumer: str, crash: str
) -> tuple[list[str], list[str]]:
    """The effects and the steps of a run in which the worker dies once, in its first delivery."""
    effects: list[str] = []
    steps: list[str] = []
    recorded: set[str] = set()
    crash_ahead = crash
    for message in messages:
        done = False
        while not done:
            done = delivery == "at-most-once"
            if done:
                steps.append(f"{message.id} is delivered and acked before the work")
            else:
                steps.append(f"{message.id} is delivered")
            key = {"message-id": message.id, "order-id": message.order}.get(consumer, "")
            if key and key in recorded:
                steps.append(f"{key} is known: skipped")
                done = True
                continue
            dies, crash_ahead = crash_ahead, "none"
            if dies == "before":
                steps.append("the worker dies before the effect")
                continue
            effects.append(case.effect)
            if key and (case.in_our_database or dies == "none"):
                recorded.add(key)
                steps.append(f"{case.effect}, and {key} recorded")
            else:
                steps.append(case.effect)
            if dies == "after":
                steps.append("the worker dies after the effect")
            else:
                done = True
    return effects, [*steps, f"in the end: {case.effect}, {len(effects)} time{'s' if len(effects) != 1 else ''}"]
