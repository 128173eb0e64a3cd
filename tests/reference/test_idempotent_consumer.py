import sqlite3
from dataclasses import FrozenInstanceError

import pytest

from lessons.reference.database import transaction
from lessons.reference.idempotent_consumer import (
    SCHEMA,
    OrderPaid,
    UnknownCustomer,
    add_points,
    idempotent_credit,
    mark_processed,
    naive_credit,
    points_for,
)


@pytest.fixture(autouse=True)
def accounts(db):
    db.executescript(SCHEMA)
    db.execute("INSERT INTO loyalty (customer_id, points) VALUES (7, 0), (8, 0)")


def paid(customer_id, amount_kobo=2_042_500):
    return OrderPaid(f"order-1001-paid-{customer_id}", customer_id, amount_kobo)


def points(db):
    return dict(db.execute("SELECT customer_id, points FROM loyalty ORDER BY customer_id"))


def marks(db):
    return db.execute("SELECT message_id, processed_at_ms FROM processed_messages").fetchall()


@pytest.mark.parametrize(
    "amount_kobo, expected",
    [(0, 0), (9_999, 0), (10_000, 1), (19_999, 1), (2_042_500, 204), (2_049_999, 204)],
)
def test_a_point_for_each_full_100_naira(amount_kobo, expected):
    assert expected == points_for(amount_kobo)


def test_three_deliveries_of_one_message(db):
    lines = []
    for delivery in (1, 2, 3):
        naive, idempotent = naive_credit(db, paid(7)), idempotent_credit(db, paid(8), now_ms=0)
        lines.append(f"delivery {delivery}: naive {naive}, idempotent {idempotent}")

    assert [
        "delivery 1: naive credited, idempotent credited",
        "delivery 2: naive credited, idempotent duplicate, skipped",
        "delivery 3: naive credited, idempotent duplicate, skipped",
    ] == lines
    assert {7: 612, 8: 204} == points(db)


def test_the_first_delivery_leaves_its_mark_with_its_time(db):
    for now_ms in (1_000, 2_000):
        idempotent_credit(db, paid(8), now_ms)

    assert [("order-1001-paid-8", 1_000)] == marks(db)


def test_two_messages_are_two_credits(db):
    for message_id in ("order-1001-paid", "order-1002-paid"):
        assert "credited" == idempotent_credit(db, OrderPaid(message_id, 7, 10_000), 0)

    assert 2 == points(db)[7]


@pytest.mark.parametrize("credit", [lambda db, message: idempotent_credit(db, message, 0), naive_credit])
def test_a_customer_without_an_account_is_an_error_that_leaves_no_mark(db, credit):
    with pytest.raises(UnknownCustomer, match="customer 9"):
        credit(db, paid(9))

    assert issubclass(UnknownCustomer, LookupError)
    assert [] == marks(db)
    db.execute("INSERT INTO loyalty (customer_id, points) VALUES (9, 0)")
    assert "credited" == credit(db, paid(9))
    assert 204 == points(db)[9]


def test_a_mark_is_given_once(db):
    assert [True, False, True] == [mark_processed(db, id, 0) for id in ("a", "a", "b")]


def test_a_credit_of_no_points_is_not_an_unknown_customer(db):
    add_points(db, paid(7, amount_kobo=1))

    assert 0 == points(db)[7]


def test_a_message_without_an_id_is_refused(db):
    with pytest.raises(sqlite3.IntegrityError):
        mark_processed(db, None, 0)


def test_a_message_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        paid(7).amount_kobo = 1


# Where the process dies between the effect and the mark


class Crash(BaseException):
    pass


def after(db, message, now_ms, crash):
    if (message.message_id,) in db.execute("SELECT message_id FROM processed_messages"):
        return "duplicate, skipped"
    add_points(db, message)
    crash()
    mark_processed(db, message.message_id, now_ms)
    return "credited"


def before(db, message, now_ms, crash):
    if not mark_processed(db, message.message_id, now_ms):
        return "duplicate, skipped"
    crash()
    add_points(db, message)
    return "credited"


def together(db, message, now_ms, crash):
    with transaction(db):
        return before(db, message, now_ms, crash)


@pytest.mark.parametrize(
    "consumer, outcomes, total",
    [
        (after, ["crash", "credited", "duplicate, skipped"], 408),
        (before, ["crash", "duplicate, skipped", "duplicate, skipped"], 0),
        (together, ["crash", "credited", "duplicate, skipped"], 204),
    ],
)
def test_d01_a_crash_between_the_two_steps(db, consumer, outcomes, total):
    def crash_at_the_first_delivery():
        if now_ms == 0:
            raise Crash

    seen = []
    for now_ms in (0, 30_000, 60_000):
        try:
            seen.append(consumer(db, paid(7), now_ms, crash_at_the_first_delivery))
        except Crash:
            seen.append("crash")

    assert outcomes == seen
    assert total == points(db)[7]
