"""How to test a handler: deliver its message more often than once, and count the effect."""

import sqlite3

from lessons.reference.idempotent_consumer import SCHEMA, OrderPaid, idempotent_credit


def test_three_deliveries_are_one_credit() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    db.execute("INSERT INTO loyalty VALUES (7, 0)")
    message = OrderPaid("order-1001-paid", customer_id=7, amount_kobo=2_042_500)

    answers = [idempotent_credit(db, message, at_ms) for at_ms in (0, 30_000, 60_000)]

    assert answers == ["credited", "duplicate, skipped", "duplicate, skipped"]
    assert db.execute("SELECT points FROM loyalty").fetchone() == (204,)
