"""An outbox relay that one bad row does not hold up."""

import json
import sqlite3
from collections.abc import Callable

from lessons.reference.outbox import SCHEMA, QueueUnreachable

PAUSE_MS = 60_000


def relay(db: sqlite3.Connection, publish: Callable[[str, dict, str], object], now_ms: int) -> int:
    """How many messages were published; QueueUnreachable ends the run and goes on to the caller."""
    published = 0
    due = "SELECT id, type, payload FROM outbox WHERE sent_at_ms IS NULL AND try_at_ms <= ? ORDER BY id"
    rows = db.execute(due, (now_ms,)).fetchall()
    for id, type, payload in rows:
        try:
            publish(type, json.loads(payload), f"outbox-{id}")
        except QueueUnreachable:
            raise  # no fault of this row, and the others would fare no better
        except Exception as error:
            db.execute(
                "UPDATE outbox SET attempts = attempts + 1, last_error = ?, try_at_ms = ? WHERE id = ?",
                (str(error), now_ms + PAUSE_MS, id),
            )
        else:
            db.execute("UPDATE outbox SET sent_at_ms = ? WHERE id = ?", (now_ms, id))
            published += 1
    return published


if __name__ == "__main__":
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    for text in ['{"order_id": 1001}', "not JSON", '{"order_id": 1003}']:
        db.execute("INSERT INTO outbox (type, payload) VALUES ('send-receipt', ?)", (text,))

    def publish(type: str, payload: dict, id: str) -> None:
        if payload["order_id"] == 0:
            raise QueueUnreachable("queue unreachable")
        print(f"published {id}: {payload}")

    try:
        print("published in this run:", relay(db, publish, now_ms=1_000))
    except ValueError as error:
        print("the relay stops:", error)
    for row in db.execute("SELECT id, sent_at_ms, attempts, try_at_ms, last_error FROM outbox"):
        print(row)
