import pytest

from lessons.recorder import record
from lessons.s06_idempotent_consumer.demo import Params, run


def points(**asked):
    """What the customers have in the end: (7, the naive consumer's; 8, the careful one's)."""
    loyalty, _marks = record(run, Params(**asked)).steps[-1].state.tables
    assert ("customer_id", "points") == loyalty.columns
    return tuple(points for _customer, points in loyalty.rows)


@pytest.mark.parametrize(
    ("crash", "together", "mark_last", "mark_first"),
    [
        ("never", 204, 204, 204),
        ("before", 204, 204, 204),
        ("between", 204, 408, 0),
        ("after", 204, 204, 204),
    ],
)
def test_only_one_transaction_survives_a_crash_between_the_two_writes(crash, together, mark_last, mark_first):
    orders = ("together", "mark-last", "mark-first")

    assert [together, mark_last, mark_first] == [points(order=order, crash=crash)[1] for order in orders]


def test_the_naive_consumer_credits_each_delivery():
    assert (204 * 20, 204) == points(deliveries=20)


def test_the_crashed_delivery_is_printed_as_one():
    printed = record(run, Params(crash="between")).printed

    assert "delivery 1: naive credited, idempotent crashed" == printed[0]
    assert "delivery 2: naive credited, idempotent credited" == printed[1]
    assert "delivery 3: naive credited, idempotent duplicate, skipped" == printed[2]


def test_a_crash_in_the_transaction_takes_the_mark_back():
    steps = record(run, Params(crash="between")).steps
    (at,) = [at for at, step in enumerate(steps) if step.kind == "crash"]

    def marks(step):
        return [table.rows for table in step.state.tables if table.name == "processed_messages"]

    assert [(("order-1001-paid-8", 0),)] == marks(steps[at])
    assert [()] == marks(steps[at + 1])


@pytest.mark.parametrize(
    ("order", "careful"),
    [
        ("together", 612),  # INSERT ... ON CONFLICT DO NOTHING never meets a conflict
        ("mark-first", 612),
        ("mark-last", 204),  # it looks for the mark itself, and here nobody else looks at the same moment
    ],
)
def test_without_a_primary_key_a_second_mark_is_accepted(order, careful):
    assert (612, careful) == points(order=order, primary_key=False)


@pytest.mark.parametrize(
    ("amount_kobo", "each"), [(0, 0), (9_999, 0), (10_000, 1), (2_042_500, 204), (1_000_000_000, 100_000)]
)
def test_each_full_hundred_naira_is_a_point(amount_kobo, each):
    assert (3 * each, each) == points(amount_kobo=amount_kobo)


def test_a_single_delivery_that_crashes_leaves_nothing_behind():
    assert (204, 0) == points(deliveries=1, crash="between")
