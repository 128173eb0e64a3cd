"""Candidates for a sixth test. Some see a change that the five promises do not see, and some only seem to."""

from typing import Any

from lessons.reference.backoff import equal_jitter
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions


def queue_at_zero(max_attempts: int = 3) -> tuple[Any, ManualClock]:
    """An empty queue with a lease of 30 s and a backoff of 1 s, 2 s, 4 s, and its clock, which stands at 0.

    Any: where a test wants a job, None may only fail the test.
    """
    clock = ManualClock()
    backoff = equal_jitter(base_ms=1_000, cap_ms=4_000, random=lambda: 1)
    return JobQueue(clock, QueueOptions(max_attempts, visibility_ms=30_000, backoff=backoff)), clock


def test_job_that_is_done_is_not_handed_out_at_once() -> None:
    queue, _ = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1})

    queue.ack(queue.claim().receipt)

    assert queue.claim() is None


def test_ack_leaves_an_empty_queue() -> None:
    queue, _ = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1})

    queue.ack(queue.claim().receipt)

    assert queue.pending == 0


def test_permanent_error_on_the_only_attempt_is_the_end() -> None:
    queue, _ = queue_at_zero(max_attempts=1)
    queue.enqueue("send-receipt", {"order_id": 1})

    assert queue.fail(queue.claim().receipt, "no @ in the address", permanent=True) == "dead"


def test_permanent_error_on_the_first_of_three_attempts_is_the_end() -> None:
    queue, _ = queue_at_zero(max_attempts=3)
    queue.enqueue("send-receipt", {"order_id": 1})

    assert queue.fail(queue.claim().receipt, "no @ in the address", permanent=True) == "dead"


def test_repeat_does_not_give_a_leased_job_away() -> None:
    queue, _ = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1}, id="order-1-receipt")
    queue.claim()

    queue.enqueue("send-receipt", {"order_id": 1}, id="order-1-receipt")

    assert queue.claim() is None


def test_id_stays_known_after_the_ack() -> None:
    queue, _ = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1}, id="order-1-receipt")
    queue.ack(queue.claim().receipt)

    queue.enqueue("send-receipt", {"order_id": 1}, id="order-1-receipt")

    assert queue.pending == 0


def test_late_ack_leaves_the_job_to_its_new_holder() -> None:
    queue, clock = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1})
    late = queue.claim().receipt
    clock.advance(30_000)
    queue.claim()

    queue.ack(late)

    assert queue.pending == 1


def test_half_a_millisecond_is_rounded_up() -> None:
    wait_ms = equal_jitter(base_ms=1_001, cap_ms=4_000, random=lambda: 0)

    assert wait_ms(1) == 501


def test_least_random_number_halves_the_wait() -> None:
    wait_ms = equal_jitter(base_ms=1_000, cap_ms=4_000, random=lambda: 0)

    assert [wait_ms(attempt) for attempt in (1, 2, 3)] == [500, 1_000, 2_000]


def test_second_wait_begins_at_the_second_failure() -> None:
    queue, clock = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1})
    queue.fail(queue.claim().receipt, "503")
    clock.advance(1_000)
    queue.fail(queue.claim().receipt, "503")

    clock.advance(1_999)
    assert queue.claim() is None

    clock.advance(1)
    assert queue.claim().attempts == 3


def test_jobs_are_claimed_in_the_order_of_enqueue() -> None:
    queue, _ = queue_at_zero()
    ids = [queue.enqueue("send-receipt", {"order_id": order_id}) for order_id in (1, 2)]

    assert ids == [queue.claim().id, queue.claim().id]


def test_producer_cannot_change_a_job_that_is_in_the_queue() -> None:
    queue, _ = queue_at_zero()
    payload = {"order_id": 1}
    queue.enqueue("send-receipt", payload)

    payload["order_id"] = 2

    assert queue.claim().payload == {"order_id": 1}


def test_dead_letter_says_what_went_wrong() -> None:
    queue, _ = queue_at_zero(max_attempts=1)
    queue.enqueue("send-receipt", {"order_id": 1})

    queue.fail(queue.claim().receipt, "503")

    assert queue.dead[0].last_error == "503"
