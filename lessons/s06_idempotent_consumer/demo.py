"""The same message, delivered again and again to a naive and to a careful consumer."""

import sqlite3
from dataclasses import dataclass

from lessons import params
from lessons.recorder import Recorder
from lessons.reference.clock import ManualClock
from lessons.reference.idempotent_consumer import (
    SCHEMA,
    OrderPaid,
    add_points,
    idempotent_credit,
    mark_processed,
    naive_credit,
)

LEASE_MS = 30_000


@dataclass(frozen=True)
class Params:
    deliveries: int = params.whole(3, low=1, high=20, label="Deliveries", help="How often the same message arrives.")
    amount_kobo: int = params.whole(
        2_042_500, low=0, high=1_000_000_000, unit="kobo", label="Amount paid",
        help="Each full 10,000 kobo (100 naira) are one point.",
    )  # fmt: skip
    order: str = params.choice(
        "together",
        {
            "together": "Mark and points in one transaction",
            "mark-last": "Two steps: the points, then the mark",
            "mark-first": "Two steps: the mark, then the points",
        },
        label="The careful consumer writes",
        help="The mark is the row that says: this message is done.",
    )
    crash: str = params.choice(
        "never",
        {
            "never": "Never",
            "before": "Before it writes anything",
            "between": "Between the mark and the points",
            "after": "After both, before its ack",
        },
        label="The careful consumer crashes",
        help="Once, at the first delivery. It is started again for the next one.",
    )
    primary_key: bool = params.flag(
        True,
        label="The message id is a primary key",
        help="If not, a second mark with the same id is accepted. "
        "Without effect when the points come first: then the consumer itself looks for the mark.",
    )


def run(p: Params, lab: Recorder) -> None:
    clock = lab.watch_clock(ManualClock())
    db = lab.connect()
    db.executescript(SCHEMA if p.primary_key else SCHEMA.replace("TEXT PRIMARY KEY", "TEXT"))
    db.execute("INSERT INTO loyalty (customer_id, points) VALUES (7, 0)")
    db.execute("INSERT INTO loyalty (customer_id, points) VALUES (8, 0)")
    careful_credit = {
        "together": idempotent_credit,
        "mark-last": credit_then_mark,
        "mark-first": mark_then_credit,
    }[p.order]

    for delivery in range(1, p.deliveries + 1):
        if delivery > 1:
            clock.advance(LEASE_MS)  # the queue got no ack, so it hands the message out again

        with lab.acting("the naive consumer"):
            naive = naive_credit(db, OrderPaid("order-1001-paid-7", 7, p.amount_kobo))

        careful = "crashed"
        with lab.acting("the careful consumer"):
            crash = p.crash if delivery == 1 else "never"
            if crash == "before":
                lab.crash("The careful consumer dies before it has written anything.")
            if crash == "between":
                db.kill_after(FIRST_WRITE[p.order], "The careful consumer dies between its two writes.")
            answer = careful_credit(db, OrderPaid("order-1001-paid-8", 8, p.amount_kobo), clock.now())
            if crash == "after":
                lab.crash("The careful consumer dies when both are saved, before its ack.")
            careful = answer

        lab.print(f"delivery {delivery}: naive {naive}, idempotent {careful}")

    accounts = db.execute("SELECT customer_id, points FROM loyalty ORDER BY customer_id").fetchall()
    lab.print(str([{"customer_id": customer_id, "points": points} for customer_id, points in accounts]))


def credit_then_mark(db: sqlite3.Connection, message: OrderPaid, now_ms: int) -> str:
    mark = "SELECT message_id FROM processed_messages WHERE message_id = ?"
    if db.execute(mark, (message.message_id,)).fetchone():
        return "duplicate, skipped"
    add_points(db, message)
    mark_processed(db, message.message_id, now_ms)
    return "credited"


def mark_then_credit(db: sqlite3.Connection, message: OrderPaid, now_ms: int) -> str:
    if not mark_processed(db, message.message_id, now_ms):
        return "duplicate, skipped"
    add_points(db, message)
    return "credited"


FIRST_WRITE = {
    "together": "INSERT INTO processed_messages",
    "mark-last": "UPDATE loyalty",
    "mark-first": "INSERT INTO processed_messages",
}
