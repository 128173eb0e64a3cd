import json
import sqlite3
import threading
from contextlib import closing, suppress

import pytest

from lessons.reference.outbox import (
    SCHEMA,
    QueueUnreachable,
    clean_up,
    place_order_naive,
    place_order_with_outbox,
    relay_outbox,
)


@pytest.fixture(autouse=True)
def tables(db):
    db.executescript(SCHEMA)


class FakeQueue:
    """Takes messages, unless it is told to raise an error for one of them."""

    def __init__(self, **errors):
        self.errors = {id.replace("_", "-"): error for id, error in errors.items()}
        self.ids = []

    def publish(self, type, payload, id):
        if id in self.errors:
            raise self.errors[id]
        self.ids.append(id)


def unreachable(type, payload, id):
    raise QueueUnreachable("queue unreachable")


def place_orders(db, count):
    for order_id in range(1001, 1001 + count):
        place_order_with_outbox(db, order_id, "ada@example.com")


def rows(db, columns):
    return db.execute(f"SELECT {columns} FROM outbox ORDER BY id").fetchall()


def column(db, name):
    return [value for (value,) in rows(db, name)]


def order_ids(db):
    return [id for (id,) in db.execute("SELECT id FROM orders ORDER BY id")]


# Placing an order


def test_a_checkout_that_publishes_itself_loses_the_message_when_the_queue_is_down(db):
    with pytest.raises(QueueUnreachable):
        place_order_naive(db, unreachable, 1001, "ada@example.com")

    assert [(1001, "ada@example.com", 2_042_500)] == db.execute("SELECT * FROM orders").fetchall()
    assert [] == rows(db, "*")


def test_a_checkout_that_publishes_itself_works_while_the_queue_is_up(db):
    published = []
    place_order_naive(db, lambda *message: published.append(message), 1001, "ada@example.com")

    assert [("send-receipt", {"order_id": 1001, "email": "ada@example.com"}, "order-1001-receipt")] == published


def test_order_and_message_are_saved_together(db):
    place_order_with_outbox(db, 1002, "bola@example.com")

    assert [(1002, "bola@example.com", 2_042_500)] == db.execute("SELECT * FROM orders").fetchall()
    assert [(1, "send-receipt", '{"order_id": 1002, "email": "bola@example.com"}', None)] == rows(
        db, "id, type, payload, sent_at_ms"
    )


def test_an_order_that_cannot_be_saved_leaves_no_message_and_the_other_way_round(db):
    place_order_with_outbox(db, 1001, "ada@example.com")
    with pytest.raises(sqlite3.IntegrityError):
        place_order_with_outbox(db, 1001, "ada@example.com")
    assert 1 == len(rows(db, "id"))
    db.execute("DROP TABLE outbox")
    with pytest.raises(sqlite3.OperationalError):
        place_order_with_outbox(db, 1002, "bola@example.com")

    assert [1001] == order_ids(db)


# Relaying


def test_a_queue_that_is_down_and_comes_back(db, make_queue):
    queue = make_queue()
    place_order_with_outbox(db, 1002, "bola@example.com")
    with pytest.raises(QueueUnreachable, match="queue unreachable"):
        relay_outbox(db, unreachable, now_ms=0)
    assert [(None, 0, None, 0)] == rows(db, "sent_at_ms, attempts, last_error, claimed_until_ms")

    assert [1, 0] == [relay_outbox(db, queue.enqueue, now_ms=0) for _ in range(2)]
    job = queue.claim()
    assert ("outbox-1", "send-receipt", 1002) == (job.id, job.type, job.payload["order_id"])
    assert [(0, 1)] == rows(db, "sent_at_ms, attempts")


def test_the_message_is_of_the_type_that_its_row_says(db):
    db.execute("INSERT INTO outbox (type, payload) VALUES ('pick-items', '{\"items\": [\"rice\"]}')")
    published = []
    relay_outbox(db, lambda *message: published.append(message), now_ms=0)

    assert [("pick-items", {"items": ["rice"]}, "outbox-1")] == published


def test_messages_are_published_in_the_order_of_their_ids(db):
    place_orders(db, 30)
    queue = FakeQueue()
    relay_outbox(db, queue.publish, now_ms=0)

    assert [f"outbox-{number}" for number in range(1, 31)] == queue.ids


def test_a_run_takes_a_hundred_messages_at_most(db):
    place_orders(db, 250)

    assert [100, 100, 50, 0] == [relay_outbox(db, FakeQueue().publish, now_ms=0) for _ in range(4)]


def test_the_size_of_a_batch_can_be_chosen(db):
    place_orders(db, 3)

    assert [2, 1] == [relay_outbox(db, FakeQueue().publish, now_ms=0, batch=2) for _ in range(2)]


def test_no_transaction_is_open_while_it_publishes(db):
    place_orders(db, 2)
    open_transactions = []
    relay_outbox(db, lambda *message: open_transactions.append(db.in_transaction), now_ms=0)

    assert [False, False] == open_transactions


def test_each_message_is_marked_after_its_own_publish(db):
    place_orders(db, 2)
    seen = []
    relay_outbox(db, lambda *message: seen.append(column(db, "sent_at_ms")), now_ms=5)

    assert [[None, None], [5, None]] == seen
    assert [5, 5] == column(db, "sent_at_ms")


def test_a_queue_that_goes_down_in_the_middle_keeps_what_was_sent_and_gives_back_the_rest(db):
    place_orders(db, 3)
    queue = FakeQueue(outbox_2=QueueUnreachable("queue unreachable"))
    with pytest.raises(QueueUnreachable):
        relay_outbox(db, queue.publish, now_ms=7)

    assert [(7, 1), (None, 0), (None, 0)] == rows(db, "sent_at_ms, attempts")
    assert 2 == relay_outbox(db, FakeQueue().publish, now_ms=7)


def test_a_message_that_fails_holds_up_no_other_and_is_tried_again_after_a_growing_pause(db):
    place_orders(db, 3)
    queue = FakeQueue(outbox_2=ValueError("payload too large"))

    assert 2 == relay_outbox(db, queue.publish, now_ms=0)
    assert ["outbox-1", "outbox-3"] == queue.ids
    assert [None, "payload too large", None] == column(db, "last_error")
    due_ms = [0]
    for now_ms in range(1, 20_000):
        relay_outbox(db, queue.publish, now_ms)
        if column(db, "attempts")[1] == len(due_ms) + 1:
            due_ms.append(now_ms)
    assert [0, 1_000, 3_000, 7_000, 15_000] == due_ms
    queue.errors.clear()
    assert 1 == relay_outbox(db, queue.publish, now_ms=31_000)
    assert (31_000, 6) == rows(db, "sent_at_ms, attempts")[1]


def test_a_hundred_messages_that_fail_do_not_block_the_ones_behind_them(db):
    place_orders(db, 101)
    queue = FakeQueue(**{f"outbox_{number}": ValueError("refused") for number in range(1, 101)})

    assert [0, 1] == [relay_outbox(db, queue.publish, now_ms=0) for _ in range(2)]
    assert ["outbox-101"] == queue.ids


def test_a_payload_that_cannot_be_read_is_an_error_of_its_row(db):
    db.execute("INSERT INTO outbox (type, payload) VALUES ('send-receipt', '{')")
    place_orders(db, 1)

    assert 1 == relay_outbox(db, FakeQueue().publish, now_ms=0)
    assert [1, 1] == column(db, "attempts")
    assert column(db, "last_error")[0]


def test_an_error_without_a_message_is_recorded_as_such(db):
    place_orders(db, 1)
    relay_outbox(db, FakeQueue(outbox_1=ValueError()).publish, now_ms=0)

    assert [("", 1)] == rows(db, "last_error, attempts")


# Crashes


class Crash(BaseException):
    pass


def test_o03_a_relay_that_dies_before_the_mark_publishes_again_under_the_same_id(db):
    place_orders(db, 2)
    queue = FakeQueue()

    def publish_and_die(*message):
        queue.publish(*message)
        raise Crash

    with pytest.raises(Crash):
        relay_outbox(db, publish_and_die, now_ms=0)
    assert [(None, 60_000), (None, 60_000)] == rows(db, "sent_at_ms, claimed_until_ms")

    assert [0, 2] == [relay_outbox(db, queue.publish, now_ms) for now_ms in (59_999, 60_000)]
    assert ["outbox-1", "outbox-1", "outbox-2"] == queue.ids


def test_o03_the_hardened_queue_ignores_the_repeat_even_when_the_job_is_done(db, make_hardened, clock):
    queue = make_hardened()
    place_orders(db, 1)

    def publish_and_die(*message):
        queue.enqueue(*message)
        raise Crash

    with pytest.raises(Crash):
        relay_outbox(db, publish_and_die, now_ms=0)
    queue.ack(queue.claim().receipt)
    clock.advance(60_000)

    assert 1 == relay_outbox(db, queue.enqueue, clock.now())
    assert 0 == queue.pending


@pytest.mark.parametrize("error", [QueueUnreachable, ValueError])
def test_a_relay_that_wakes_up_late_takes_nothing_out_of_the_hands_of_another(db, error):
    place_orders(db, 2)

    def die(*message):
        raise Crash

    def sleep_through_the_claim(*message):
        with suppress(Crash):  # the other one dies at work, so the rows are still its own
            relay_outbox(db, die, now_ms=60_000)
        raise error

    with suppress(QueueUnreachable):
        relay_outbox(db, sleep_through_the_claim, now_ms=0)

    assert [(120_000, 0, None)] * 2 == rows(db, "claimed_until_ms, attempts, last_error")


def test_a_late_failure_does_not_touch_what_another_relay_has_sent(db):
    place_orders(db, 1)

    def overtaken(*message):
        relay_outbox(db, FakeQueue().publish, now_ms=60_000)
        raise ValueError("too late")

    assert 0 == relay_outbox(db, overtaken, now_ms=0)
    assert [(60_000, 1, None)] == rows(db, "sent_at_ms, attempts, last_error")


# Two relays on one database


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.executescript(SCHEMA)
        place_orders(db, 3)
    return file


def test_o05_a_second_relay_finds_nothing_while_the_first_is_at_work(file):
    queue, second_runs = FakeQueue(), []
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as first,
        closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as second,
    ):

        def publish(*message):
            second_runs.append(relay_outbox(second, queue.publish, now_ms=0))
            queue.publish(*message)

        assert 3 == relay_outbox(first, publish, now_ms=0)

    assert [0, 0, 0] == second_runs
    assert ["outbox-1", "outbox-2", "outbox-3"] == queue.ids


def test_o05_relays_that_take_turns_share_the_rows(file):
    queue = FakeQueue()
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as first,
        closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as second,
    ):

        def publish(*message):
            relay_outbox(second, queue.publish, now_ms=0)
            queue.publish(*message)

        assert 1 == relay_outbox(first, publish, now_ms=0, batch=1)

    assert ["outbox-2", "outbox-3", "outbox-1"] == queue.ids


def test_o05_relays_in_parallel_publish_each_row_once(file):
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        for order_id in range(2001, 2058):
            place_order_with_outbox(db, order_id, "ada@example.com")
    queue, published = FakeQueue(), []
    together = threading.Barrier(3)

    def relay():
        with closing(sqlite3.connect(file, isolation_level=None, timeout=60)) as db:
            db.execute("PRAGMA synchronous = OFF")  # it is about locks, not about a power cut
            together.wait()
            while count := relay_outbox(db, queue.publish, now_ms=0, batch=7):
                published.append(count)

    relays = [threading.Thread(target=relay) for _ in range(3)]
    for thread in relays:
        thread.start()
    for thread in relays:
        thread.join()

    assert 60 == sum(published)
    assert sorted(f"outbox-{number}" for number in range(1, 61)) == sorted(queue.ids)


def test_o08_a_checkout_does_not_wait_for_a_slow_queue(file):
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as relay,
        closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as checkout,
    ):

        def slow_publish(type, payload, id):
            place_order_with_outbox(checkout, payload["order_id"] + 1_000, "bola@example.com")

        assert 3 == relay_outbox(relay, slow_publish, now_ms=0)
        assert [1001, 1002, 1003, 2001, 2002, 2003] == order_ids(checkout)


def test_o02_a_row_that_appears_late_is_not_passed_over(db):
    db.execute("INSERT INTO outbox (id, type, payload) VALUES (2, 'send-receipt', '{}')")
    queue = FakeQueue()
    relay_outbox(db, queue.publish, now_ms=300)
    db.execute("INSERT INTO outbox (id, type, payload) VALUES (1, 'send-receipt', '{}')")
    relay_outbox(db, queue.publish, now_ms=600)

    assert ["outbox-2", "outbox-1"] == queue.ids


# Cleaning up


def test_only_what_was_sent_long_enough_ago_is_deleted(db):
    place_orders(db, 3)
    for now_ms in (1_000, 2_000):
        relay_outbox(db, FakeQueue().publish, now_ms, batch=1)

    assert 1 == clean_up(db, sent_before_ms=2_000)
    assert [2, 3] == column(db, "id")
    assert 1 == clean_up(db, sent_before_ms=10**15)
    assert [(3, None)] == rows(db, "id, sent_at_ms")
    assert 0 == clean_up(db, sent_before_ms=10**15)


def test_an_id_does_not_come_back_after_a_clean_up(db):
    place_orders(db, 2)
    relay_outbox(db, FakeQueue().publish, now_ms=0)
    clean_up(db, sent_before_ms=1)
    place_order_with_outbox(db, 2001, "bola@example.com")

    assert [3] == column(db, "id")


def test_o07_a_clean_up_now_and_then_keeps_the_table_small(db):
    for second in range(60):
        for number in range(10):
            place_order_with_outbox(db, 1_000 + 10 * second + number, "ada@example.com")
        now_ms = 1_000 * second
        relay_outbox(db, FakeQueue().publish, now_ms)
        clean_up(db, sent_before_ms=now_ms - 9_000)

    assert 100 == len(rows(db, "id"))


def test_the_relay_finds_unsent_rows_without_walking_past_the_sent_ones(db):
    plan = db.execute(
        "EXPLAIN QUERY PLAN SELECT id FROM outbox "
        "WHERE sent_at_ms IS NULL AND claimed_until_ms <= 0 AND try_at_ms <= 0 ORDER BY id LIMIT 100"
    ).fetchall()

    assert any("INDEX unsent" in row[3] for row in plan), plan


def test_the_payload_is_json_whatever_the_address_is(db):
    email = """O'Brien "ada" <ada@example.com>"""
    place_order_with_outbox(db, 1001, email)
    published = []
    relay_outbox(db, lambda *message: published.append(message), now_ms=0)

    assert email == published[0][1]["email"]
    assert published[0][1] == json.loads(column(db, "payload")[0])
