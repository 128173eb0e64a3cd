import pytest

from lessons.recorder import record
from lessons.s07_outbox.demo import Params, run


def receipts(recording):
    """The orders whose receipts were sent, in order of time."""
    return [int(effect.what.split()[3]) for effect in recording.steps[-1].state.effects]


def relay_runs(recording):
    return [line for line in recording.printed if line.startswith("relay run")]


def test_the_naive_order_is_saved_and_its_receipt_never_sent():
    recording = record(run, Params())
    orders = next(table for table in recording.steps[-1].state.tables if table.name == "orders")

    assert [1001, 1002] == [order_id for order_id, *_ in orders.rows]
    assert [1002] == receipts(recording)


@pytest.mark.parametrize(
    ("queue", "done_before_repeat", "sent"),
    [
        ("lesson", False, [1002]),  # the job is still in the queue, so its id is known
        ("lesson", True, [1002, 1002]),  # the id was forgotten with the ack
        ("hardened", False, [1002]),
        ("hardened", True, [1002]),
    ],
)
def test_a_repeat_is_ignored_as_long_as_the_queue_knows_the_id(queue, done_before_repeat, sent):
    asked = Params(relay_crashes=True, consumer_done_before_repeat=done_before_repeat, queue=queue)
    recording = record(run, asked)

    assert sent == receipts(recording)
    assert f"receipts sent: {len(sent)} - for order {', '.join(map(str, sent))}" == recording.printed[-1]


def test_the_crashed_relays_rows_come_back_when_its_claim_is_over():
    steps = record(run, Params(relay_crashes=True, rows=3)).steps
    (crash,) = [step for step in steps if step.kind == "crash"]
    repeat = next(step for step in steps if step.kind == "ignored")

    assert (2_000, 62_000) == (crash.at_ms, repeat.at_ms)
    assert "outbox-1" == repeat.job


def test_one_crash_repeats_one_message_at_most():
    recording = record(run, Params(rows=120, queue_up_from_run=1, relay_crashes=True, consumer_done_before_repeat=True))

    assert [1002, *range(1002, 1122)] == receipts(recording)


@pytest.mark.parametrize(("rows", "published"), [(1, [1, 0]), (100, [100, 0]), (101, [100, 1, 0]), (150, [100, 50, 0])])
def test_the_relay_takes_a_hundred_rows_in_a_run(rows, published):
    runs = relay_runs(record(run, Params(rows=rows, queue_up_from_run=1)))

    assert [f"relay run {number}: published {count}" for number, count in enumerate(published, 1)] == runs


@pytest.mark.parametrize("up_from", [1, 2, 10])
def test_nothing_is_lost_however_long_the_queue_is_away(up_from):
    recording = record(run, Params(queue_up_from_run=up_from))
    runs = relay_runs(recording)

    assert up_from + 1 == len(runs)
    assert all("queue unreachable (nothing marked as sent)" in line for line in runs[: up_from - 1])
    assert f"relay run {up_from}: published 1" == runs[up_from - 1]
    assert [1002] == receipts(recording)


def test_no_row_is_marked_while_the_queue_is_away():
    steps = record(run, Params(rows=3, queue_up_from_run=4)).steps

    def sent(step):
        outbox = next(table for table in step.state.tables if table.name == "outbox")
        column = outbox.columns.index("sent_at_ms")
        return [row[column] for row in outbox.rows]

    before = [step for step in steps if step.at_ms < 4_000 and len(sent(step)) == 3]

    assert before
    assert all([None, None, None] == sent(step) for step in before)
    assert [4_000, 4_000, 4_000] == sent(steps[-1])


def test_a_long_list_of_orders_is_shortened():
    printed = record(run, Params(rows=150)).printed

    assert "orders: [1001, 1002, 1003, …, 1151]" in printed
    assert "jobs in the queue: 150 - for order 1002, 1003, 1004, …, 1151" in printed


@pytest.mark.parametrize(("hasty", "sent"), [("none", [1002]), ("permanent", [1002]), ("transient", [1000, 1002])])
def test_a_job_that_is_published_before_its_order_is_saved_needs_a_second_try(hasty, sent):
    recording = record(run, Params(hasty=hasty))
    queue = recording.steps[-1].state.queues[0]

    assert sent == receipts(recording)
    assert (["order-1000-receipt"] if hasty == "permanent" else []) == [
        job.id for job in queue.jobs if job.lane == "dead"
    ]
