"""A consumer that may get a message twice and still acts once.

The mark "this message is done" and the effect are one transaction: both are there, or neither is.
"""

import sqlite3
from dataclasses import dataclass
from typing import Literal

from lessons.reference.database import transaction

SCHEMA = """
CREATE TABLE loyalty (
    customer_id INTEGER PRIMARY KEY,
    points      INTEGER NOT NULL
);
CREATE TABLE processed_messages (
    message_id      TEXT PRIMARY KEY NOT NULL,
    processed_at_ms INTEGER NOT NULL
);
"""

KOBO_PER_POINT = 10_000


@dataclass(frozen=True)
class OrderPaid:
    message_id: str
    customer_id: int
    amount_kobo: int


class UnknownCustomer(LookupError):
    """There is no account to credit."""


def points_for(amount_kobo: int) -> int:
    """One point for each full 100 naira."""
    return amount_kobo // KOBO_PER_POINT


def naive_credit(db: sqlite3.Connection, message: OrderPaid) -> Literal["credited"]:
    """Credit the points, as often as the message comes."""
    add_points(db, message)
    return "credited"


def idempotent_credit(
    db: sqlite3.Connection, message: OrderPaid, now_ms: int
) -> Literal["credited", "duplicate, skipped"]:
    """Credit the points the first time the message comes."""
    with transaction(db):
        if not mark_processed(db, message.message_id, now_ms):
            return "duplicate, skipped"
        add_points(db, message)
        return "credited"


def mark_processed(db: sqlite3.Connection, message_id: str, now_ms: int) -> bool:
    """Whether this is the first time: of all deliveries, the primary key lets one insert its row."""
    rows = db.execute(
        """
        INSERT INTO processed_messages (message_id, processed_at_ms) VALUES (?, ?)
        ON CONFLICT DO NOTHING
        RETURNING message_id
        """,
        (message_id, now_ms),
    ).fetchall()
    return len(rows) == 1


def add_points(db: sqlite3.Connection, message: OrderPaid) -> None:
    """Credit the customer; UnknownCustomer if there is no such account."""
    updated = db.execute(
        "UPDATE loyalty SET points = points + ? WHERE customer_id = ?",
        (points_for(message.amount_kobo), message.customer_id),
    )
    if updated.rowcount == 0:
        raise UnknownCustomer(f"no loyalty account for customer {message.customer_id}")
