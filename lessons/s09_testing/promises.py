"""What the job queue promises: five tests, one promise each. Nothing waits, and nothing really fails."""

from typing import Any

from lessons.reference.backoff import Backoff, equal_jitter
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions


def backoff() -> Backoff:
    """1 s at first, at most 4 s; the random part is always whole."""
    return equal_jitter(base_ms=1_000, cap_ms=4_000, random=lambda: 1)


def queue_at_zero(max_attempts: int = 3) -> tuple[Any, ManualClock]:
    """An empty queue with a lease of 30 s, and its clock, which stands at 0.

    Any: where a test wants a job, None may only fail the test.
    """
    clock = ManualClock()
    return JobQueue(clock, QueueOptions(max_attempts, visibility_ms=30_000, backoff=backoff())), clock


def test_backoff_doubles_up_to_its_cap() -> None:
    wait_ms = backoff()

    assert [wait_ms(attempt) for attempt in range(1, 6)] == [1_000, 2_000, 4_000, 4_000, 4_000]


def test_failed_job_stays_hidden_until_its_retry_time() -> None:
    queue, clock = queue_at_zero()
    receipt_job = queue.enqueue("send-receipt", {"order_id": 1})

    queue.fail(queue.claim().receipt, "503")
    assert queue.claim() is None

    clock.advance(1_000)
    assert queue.claim().id == receipt_job


def test_last_attempt_leads_to_the_dead_letters() -> None:
    queue, clock = queue_at_zero(max_attempts=2)
    queue.enqueue("send-receipt", {"order_id": 1})

    assert queue.fail(queue.claim().receipt, "503") == "retry"
    clock.advance(1_000)
    assert queue.fail(queue.claim().receipt, "503") == "dead"

    assert queue.pending == 0
    assert queue.dead[0].attempts == 2


def test_job_without_an_ack_is_delivered_again() -> None:
    queue, clock = queue_at_zero()
    queue.enqueue("send-receipt", {"order_id": 1})
    queue.claim()

    clock.advance(29_999)
    assert queue.claim() is None

    clock.advance(1)
    assert queue.claim().attempts == 2


def test_second_enqueue_with_the_same_id_is_ignored() -> None:
    queue, _ = queue_at_zero()

    for _repeat in range(2):
        queue.enqueue("send-receipt", {"order_id": 1}, id="order-1-receipt")

    assert queue.pending == 1
