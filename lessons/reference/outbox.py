"""An order and the message about it, saved together; a relay publishes the message afterwards.

    checkout   [ order + outbox row ]                      one transaction: both or neither
    relay      [ claim rows ]  publish each  [ mark it ]   publishing is slow, so no transaction is open

A relay may die between publishing and marking. Its rows then come back when the claim is over and are
published again, under the same id: at least once, like everything else that goes through a queue.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from lessons.reference.backoff import Backoff, doubling
from lessons.reference.database import transaction
from lessons.reference.job_queue import Payload

# AUTOINCREMENT: an id never comes twice, not even after a clean-up. The queue knows repeats by it.
SCHEMA = """
CREATE TABLE orders (
    id         INTEGER PRIMARY KEY,
    email      TEXT NOT NULL,
    total_kobo INTEGER NOT NULL
);
CREATE TABLE outbox (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    type             TEXT NOT NULL,
    payload          TEXT NOT NULL,               -- JSON
    claimed_until_ms INTEGER NOT NULL DEFAULT 0,  -- some relay is at work on it
    try_at_ms        INTEGER NOT NULL DEFAULT 0,  -- not before
    attempts         INTEGER NOT NULL DEFAULT 0,
    last_error       TEXT,
    sent_at_ms       INTEGER
);
CREATE INDEX unsent ON outbox (id) WHERE sent_at_ms IS NULL;
"""

TOTAL_KOBO = 2_042_500
GROWING_PAUSE = doubling(1_000, 60_000)

Publish = Callable[[str, Payload, str], object]
"""Called with type, payload and id, as a queue's `enqueue` is."""


class QueueUnreachable(ConnectionError):
    """The queue does not answer: not the fault of any one message."""


@dataclass(frozen=True)
class OutboxRow:
    id: int
    type: str
    payload: str
    attempts: int
    claimed_until_ms: int


def place_order_naive(db: sqlite3.Connection, publish: Publish, order_id: int, email: str) -> None:
    """Save the order, then publish. What happens in between can lose the message."""
    order = (order_id, email, TOTAL_KOBO)
    db.execute("INSERT INTO orders (id, email, total_kobo) VALUES (?, ?, ?)", order)
    publish("send-receipt", {"order_id": order_id, "email": email}, f"order-{order_id}-receipt")


def place_order_with_outbox(db: sqlite3.Connection, order_id: int, email: str) -> None:
    """Save the order and the message together."""
    order = (order_id, email, TOTAL_KOBO)
    message = ("send-receipt", json.dumps({"order_id": order_id, "email": email}))
    with transaction(db):
        db.execute("INSERT INTO orders (id, email, total_kobo) VALUES (?, ?, ?)", order)
        db.execute("INSERT INTO outbox (type, payload) VALUES (?, ?)", message)


def relay_outbox(
    db: sqlite3.Connection,
    publish: Publish,
    now_ms: int,
    *,
    batch: int = 100,
    claim_ms: int = 60_000,
    pause: Backoff = GROWING_PAUSE,
) -> int:
    """How many messages were published, of up to `batch` unsent ones.

    `claim_ms` must be longer than a batch takes, or a second relay begins it anew. QueueUnreachable ends
    the run and leaves the rest for the next one. Any other error concerns one message: it is tried again
    after a pause, and the others go on.
    """
    published = 0
    rows = claim_rows(db, now_ms, batch, claim_ms)
    for position, row in enumerate(rows):
        try:
            publish(row.type, json.loads(row.payload), f"outbox-{row.id}")
        except QueueUnreachable:
            release_rows(db, rows[position:])
            raise
        except Exception as error:
            record_failure(db, row, str(error), try_at_ms=now_ms + pause(row.attempts + 1))
        else:
            mark_sent(db, row, now_ms)
            published += 1
    return published


def claim_rows(db: sqlite3.Connection, now_ms: int, batch: int, claim_ms: int) -> list[OutboxRow]:
    """Unsent messages that no other relay touches until the claim is over, in the order of their ids."""
    with transaction(db):
        rows = db.execute(
            """
            UPDATE outbox SET claimed_until_ms = :now_ms + :claim_ms
            WHERE id IN (
                SELECT id FROM outbox
                WHERE sent_at_ms IS NULL AND claimed_until_ms <= :now_ms AND try_at_ms <= :now_ms
                ORDER BY id
                LIMIT :batch
            )
            RETURNING id, type, payload, attempts, claimed_until_ms
            """,
            {"now_ms": now_ms, "claim_ms": claim_ms, "batch": batch},
        ).fetchall()
    # RETURNING promises no order.
    return sorted((OutboxRow(*row) for row in rows), key=lambda row: row.id)


def mark_sent(db: sqlite3.Connection, row: OutboxRow, now_ms: int) -> None:
    """The row is done: only after its publish."""
    db.execute(
        "UPDATE outbox SET sent_at_ms = ?, attempts = attempts + 1 WHERE id = ? AND sent_at_ms IS NULL",
        (now_ms, row.id),
    )


def record_failure(db: sqlite3.Connection, row: OutboxRow, error: str, try_at_ms: int) -> None:
    """Note what went wrong and when to try again, if the row is still this relay's."""
    db.execute(
        """
        UPDATE outbox SET attempts = attempts + 1, last_error = ?, try_at_ms = ?, claimed_until_ms = 0
        WHERE id = ? AND claimed_until_ms = ?
        """,
        (error, try_at_ms, row.id, row.claimed_until_ms),
    )


def release_rows(db: sqlite3.Connection, rows: list[OutboxRow]) -> None:
    """Give back what was not published, as far as it is still this relay's."""
    with transaction(db):
        for row in rows:
            # Each claim ends later than the one before it, so its end tells them apart.
            db.execute(
                "UPDATE outbox SET claimed_until_ms = 0 WHERE id = ? AND claimed_until_ms = ?",
                (row.id, row.claimed_until_ms),
            )


def clean_up(db: sqlite3.Connection, sent_before_ms: int) -> int:
    """How many rows were deleted: those sent before then, and never an unsent one."""
    return db.execute("DELETE FROM outbox WHERE sent_at_ms < ?", (sent_before_ms,)).rowcount
